//! Events: kills, what nodes, disks and certificates say of themselves, and probes that fail.

use eog::evidence::Signal;
use eog_evidence::EventRecord;
use eog_simulate::Stream;

use super::Recorder;
use crate::generated::flow::STEP;
use crate::generated::system::Role;
use crate::generated::trouble::{Effect, Trouble};

/// The share of causes that say so themselves, of those that can.
const REPORTED: f64 = 0.5;

impl Recorder<'_> {
    pub(super) fn put_events(&mut self, troubles: &[Trouble], draw: &mut Stream) {
        for (step, states) in self.course.steps.iter().enumerate() {
            for (part, _) in states.iter().enumerate().filter(|(_, state)| state.killed) {
                let said = "killed: out of memory";
                let at = step as f64 * STEP;
                let event = self.event(part, at, "OutOfMemory", Signal::Exhaustion, said);
                self.bundle.events.push(event);
            }
        }
        for trouble in troubles {
            let is_reported = draw.chance(REPORTED);
            let at = trouble.shows() + 30.0 + 20.0 * draw.share();
            let Some((after, reason, signal, said)) = notice(trouble).filter(|_| is_reported)
            else {
                continue;
            };
            let event = self.event(trouble.part, at + after, reason, signal, said);
            self.bundle.events.push(event);
        }
        // Noise: probes of parts that are well.
        let parts = self.system.having(&[Role::Serving, Role::Store, Role::Worker, Role::Step]);
        for _ in 0..draw.between(2, 6) {
            let part = parts[draw.position(parts.len())];
            let at = self.course.timing.length * draw.share();
            let said = "readiness probe took too long";
            let event = self.event(part, at, "ProbeFailed", Signal::Other, said);
            self.bundle.events.push(event);
        }
        self.bundle.events.sort_by(|a, b| (a.time, &a.entity).cmp(&(b.time, &b.entity)));
    }

    fn event(&self, part: usize, at: f64, reason: &str, signal: Signal, said: &str) -> EventRecord {
        EventRecord {
            time: self.at(at),
            entity: self.name(part).clone(),
            reason: reason.to_owned(),
            signal,
            message: said.to_owned(),
            peer: None,
        }
    }
}

/// What the part with the cause may say of it: after how many seconds, and what.
fn notice(trouble: &Trouble) -> Option<(f64, &'static str, Signal, &'static str)> {
    let certificate = trouble.group == "certificate";
    match trouble.effect {
        Effect::SickNode(_) => Some((0.0, "DiskPressure", Signal::Saturation, "disk is slow")),
        Effect::FullDisk(_) => {
            Some((trouble.ramp, "DiskFull", Signal::Exhaustion, "no space left on device"))
        }
        Effect::Unreachable(_) if certificate => {
            let said = "the certificate has expired";
            Some((0.0, "CertificateExpired", Signal::Availability, said))
        }
        _ => None,
    }
}
