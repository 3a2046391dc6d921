//! Scrapes of calls, by those who make them; and of the load that people send.

use eog::evidence::{PeerRole, Signal};
use eog_simulate::Stream;

use super::{Measure, Recorder, counted, normal};
use crate::generated::system::{Link, LinkKind, Role};

/// The share of systems whose callers measure all their calls, not those to outside services alone.
const MESHES: f64 = 0.4;

impl Recorder<'_> {
    pub(super) fn scrape_calls(&mut self, draw: &mut Stream) {
        let is_mesh = draw.chance(MESHES);
        for link in self.system.links.clone() {
            let [from, to] = [link.from, link.to].map(|part| self.system.parts[part].role);
            let offset = (self.interval * draw.share()).floor();
            let count = (self.course.timing.length / self.interval) as usize;
            for scrape in 1..count {
                let at = scrape as f64 * self.interval + offset;
                if at >= self.course.timing.length || link.kind != LinkKind::Calls {
                    continue;
                }
                if from == Role::Clients {
                    self.scrape_people(&link, at, draw);
                } else if to == Role::Outside
                    || (is_mesh && to != Role::Queue && from != Role::Group)
                {
                    self.scrape_call(&link, at, draw);
                }
            }
        }
    }

    fn scrape_people(&mut self, link: &Link, at: f64, draw: &mut Stream) {
        let sent = self.mean(link.from, at, |state| state.arrivals) * link.share;
        let peer = self.peer(link.from, PeerRole::Caller);
        let one =
            Measure { metric: "requests of", signal: Signal::Traffic, unit: "requests", peer };
        self.put(link.to, at, &one, counted(sent * self.interval, draw));
    }

    fn scrape_call(&mut self, link: &Link, at: f64, draw: &mut Stream) {
        let calls = self.mean(link.from, at, |state| state.arrivals) * link.share;
        let calls = counted(calls * self.interval, draw);
        let errors =
            self.mean(link.to, at, |state| 1.0 - (1.0 - state.errors) * (1.0 - state.unreachable));
        let delays = self.mean(link.to, at, |state| state.delay_to)
            + self.mean(link.from, at, |state| state.delay_from);
        let time = self.mean(link.to, at, |state| state.latency) + 2.0 * link.network + delays;
        let late = ((time - link.timeout) / link.timeout).clamp(0.0, 1.0);
        let failed = counted(calls * (1.0 - (1.0 - errors) * (1.0 - late)), draw).min(calls);
        let measure = |metric, signal, unit| Measure {
            metric,
            signal,
            unit,
            peer: self.peer(link.to, PeerRole::Callee),
        };
        let (sent, lost) = (
            measure("calls", Signal::Traffic, "requests"),
            measure("failed calls", Signal::Errors, "requests"),
        );
        let mean = measure("call time mean", Signal::Latency, "ms");
        self.put(link.from, at, &sent, calls);
        self.put(link.from, at, &lost, failed);
        if calls > 0.0 {
            let noise = 1.0 + 0.05 * normal(draw);
            self.put(link.from, at, &mean, time.min(link.timeout) * noise);
        }
    }
}
