//! Which parts of a service the failed requests hit: one pod among several, or one version.

use std::collections::BTreeMap;

use eog_core::evidence::{EvidenceTime, Quantity, Signal, Trend};
use eog_core::{EntityId, EvidenceKind, Finding, Timestamp};
use eog_evidence::share_onset;

use super::spans::{MIN_ERRORS, View};
use super::{Compare, Draft, rounded, selector};
use crate::read::Resource;
use crate::store::Spans;

/// The shares of a part and of the others differ by more than chance beyond this many standard
/// deviations, as levels do.
const MIN_SIGMAS: f64 = 4.0;

/// Failed requests and all of them.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    failed: usize,
    all: usize,
}

impl Count {
    fn share(self) -> f64 {
        self.failed as f64 / self.all.max(1) as f64
    }

    fn without(self, part: Self) -> Self {
        Self { failed: self.failed - part.failed, all: self.all - part.all }
    }

    /// Whether a larger share fails than of others, by more than chance (two proportions, pooled).
    fn stands_out(self, others: Self) -> bool {
        let (own, rest) = (self.all as f64, others.all as f64);
        let pooled = (self.failed + others.failed) as f64 / (own + rest).max(1.0);
        let deviation = (pooled * (1.0 - pooled) * (1.0 / own + 1.0 / rest)).sqrt();
        let enough = self.failed >= MIN_ERRORS && others.all > 0;
        enough && self.share() - others.share() >= MIN_SIGMAS * deviation && deviation > 0.0
    }
}

/// The part that fails more than the others in the second period, if one does; `part` tells a
/// sender's part, empty where it does not say. `noun` is what parts are, for people.
pub(super) fn part_finding(
    (entity, noun): (&EntityId, &str),
    part: impl Fn(&Resource) -> &str,
    wanted: Option<&str>,
    (spans, view): (&Spans, &View<'_>),
    compare: &Compare,
) -> Option<Finding> {
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    let mut total = Count::default();
    for row in view.after {
        let span = spans.get(*row);
        let name = part(span.sender());
        if !name.is_empty() {
            for count in [counts.entry(name).or_default(), &mut total] {
                count.failed += usize::from(span.failed());
                count.all += 1;
            }
        }
    }
    let worst = counts.into_iter().filter(|(name, _)| wanted.is_none_or(|wanted| wanted == *name));
    let worst = worst.filter(|(_, count)| count.stands_out(total.without(*count)));
    let (name, count) = worst.max_by(|(_, a), (_, b)| a.share().total_cmp(&b.share()))?;
    let others = total.without(count);
    let own = view.all.iter().map(|row| spans.get(*row));
    let own = own.filter(|span| part(span.sender()) == name);
    let requests: Vec<(Timestamp, bool)> = own.map(|span| (span.at(), span.failed())).collect();
    let source = spans.get(*view.after.first()?).file();
    let draft = Draft {
        entity,
        kind: EvidenceKind::Span,
        signal: Signal::Errors,
        trend: Trend::Rising,
        time: EvidenceTime::During(compare.after),
        quantity: Some(Quantity {
            observed: count.share(),
            baseline: Some(others.share()),
            unit: "ratio".into(),
        }),
        peer: None,
        source,
        query: format!("{source} {} {noun}={name} after={}", selector(entity), compare.after),
        excerpt: format!(
            "failed requests hit {noun} {name}: {} of {} in the incident window (ratio {}), of \
             other {noun}s {} of {} (ratio {})",
            count.failed,
            count.all,
            rounded(count.share()),
            others.failed,
            others.all,
            rounded(others.share()),
        ),
        onset: share_onset(&requests),
    };
    Some(draft.finding())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_part_stands_out_where_chance_does_not_explain_it() {
        let count = |failed, all| Count { failed, all };
        // Pooled 21/350 = 0.06; the deviation is sqrt(0.06 · 0.94 · (1/50 + 1/300)) = 0.036.
        assert!(count(20, 50).stands_out(count(1, 300)));
        // Pooled 0.1; sqrt(0.09 · (1/50 + 1/50)) = 0.06: 0.12 is two of them.
        assert!(!count(8, 50).stands_out(count(2, 50)));
        assert!(!count(2, 2).stands_out(count(0, 300)), "too few");
        assert!(!count(20, 50).stands_out(count(0, 0)), "no others");
        assert!(!count(50, 50).stands_out(count(50, 50)), "all fail");
    }
}
