//! The record of changes: those that are causes, and many that are not.

use eog_simulate::Stream;

use super::Recorder;
use crate::generated::names;
use crate::generated::system::{LinkKind, Role};
use crate::generated::trouble::Trouble;

/// Changes are on record from so many seconds before the telemetry.
pub(super) const RECORDED_BEFORE: f64 = 7_200.0;

/// The share of incidents with a harmless change in the minute before the first alert, with one
/// between harm and alert, and with one on the way of the effects within minutes of the harm.
const JUST_BEFORE: f64 = 0.5;
const BETWEEN: f64 = 0.5;
const ON_THE_WAY: f64 = 0.6;

impl Recorder<'_> {
    /// `alert` is the time of the first alert, in seconds.
    pub(super) fn put_changes(&mut self, troubles: &[Trouble], alert: f64, draw: &mut Stream) {
        let changed =
            [Role::Serving, Role::Group, Role::Store, Role::Worker, Role::Queue, Role::Step];
        let parts = self.system.having(&changed);
        let one = |draw: &mut Stream| parts[draw.position(parts.len())];
        let per_hour = 3.0 + 7.0 * draw.share();
        // A Poisson process over the record and over the parts.
        let mut at = -RECORDED_BEFORE;
        loop {
            at += -(1.0 - draw.share()).ln() * 3_600.0 / per_hour;
            if at >= self.course.timing.length {
                break;
            }
            let (part, words) = (one(draw), names::any(draw));
            self.put_change(part, at, words);
        }
        if draw.chance(JUST_BEFORE) {
            let (part, words) = (one(draw), names::deploy(draw));
            self.put_change(part, alert - 3.0 - 57.0 * draw.share(), words);
        }
        let harm = troubles.iter().map(Trouble::shows).fold(f64::INFINITY, f64::min);
        if draw.chance(BETWEEN) {
            let (part, words) = (one(draw), names::any(draw));
            self.put_change(part, harm + (alert - harm).max(1.0) * draw.share(), words);
        }
        let way = troubles.first().map(|trouble| self.way(trouble.part)).unwrap_or_default();
        let way: Vec<usize> = way.into_iter().filter(|part| parts.contains(part)).collect();
        if draw.chance(ON_THE_WAY) && !way.is_empty() {
            let part = way[draw.position(way.len())];
            let at = harm - 420.0 + 540.0 * draw.share();
            let words = names::any(draw);
            self.put_change(part, at, words);
        }
        for trouble in troubles {
            if let Some(words) = trouble.change.clone() {
                self.put_change(trouble.part, trouble.at, words);
            }
        }
        self.bundle.changes.sort_by(|a, b| (a.time, &a.entity).cmp(&(b.time, &b.entity)));
    }

    /// Those who call a part, and their callers, up to the entry.
    fn way(&self, part: usize) -> Vec<usize> {
        let mut way = vec![part];
        let mut next = 0;
        while let Some(&callee) = way.get(next) {
            for link in &self.system.links {
                if link.to == callee && link.kind == LinkKind::Calls && !way.contains(&link.from) {
                    way.push(link.from);
                }
            }
            next += 1;
        }
        way.remove(0);
        way
    }
}
