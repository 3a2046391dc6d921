//! The numbers of one packet that the terms of the sum are made of.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::contract::{ContextPacket, Reach};
use eog_core::evidence::Signal;
use eog_core::incident::{Direction, Onset};
use eog_core::{Belief, EntityId, Finding, Timestamp};

use super::observation::{Observation, Observed, Trouble};
use super::times::{made, surely_before};

/// Numbers of one packet. Sizes are natural logarithms of ratios; shares go from 0 to 1.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    /// How much worse it does by its own evidence, failures apart.
    worst: f64,
    pub(super) saturation: f64,
    /// How many own golden signals did not shift.
    pub(super) as_usual: usize,
    /// What was measured and did not shift.
    pub(super) usual: BTreeSet<Trouble>,
    pub(super) error_lines: f64,
    pub(super) first_errors: f64,
    /// 1 for a failure that is there at the end of the window, 0 for none or one seen long before.
    pub(super) failing: f64,
    /// The same for failures that were over by then.
    failed: f64,
    pub(super) shares: BTreeMap<EntityId, f64>,
    pub(super) remainder: Option<f64>,
    pub(super) bound: Option<f64>,
    pub(super) critical_path: f64,
    pub(super) contention: bool,
    pub(super) holds_up: bool,
    pub(super) ends_requests: f64,
    pub(super) sends_more: f64,
    pub(super) more_load: f64,
    /// Whether a caller sends more than usual.
    pub(super) is_demanded_more: bool,
    /// Whether a change of its own is one of demand, such as a campaign.
    pub(super) changed_demand: bool,
    /// Whether an alert that its own change can have led to followed the change, be it by load.
    pub(super) has_impact: bool,
    pub(super) deviates_early: bool,
    /// The share of a downstream neighbour's harm that its message puts down to the entity.
    pub(super) attributed: f64,
    /// How near an own change lies before what follows it: 1 at once, a half after five minutes.
    pub(super) change: f64,
    /// How rare the words are that a timely change of its own shares with alerts and new errors: a sum of logarithms.
    pub(super) change_words: f64,
    pub(super) has_alert: bool,
    /// The greatest harm of an upstream neighbour, by its message.
    pub(super) upstream: f64,
    pub(super) reach: Option<Reach>,
}

impl Numbers {
    pub(super) fn of(
        packet: &ContextPacket,
        observed: &[Observed<'_>],
        since: Option<Onset>,
    ) -> Self {
        let mut numbers = Self { reach: packet.reach, ..Self::default() };
        let mut last_failure: Option<Timestamp> = None;
        let recovered = observed.iter().find(|one| one.what == Observation::Recovered);
        let recovered = recovered.map(|one| one.finding.time.start());
        for Observed { finding, what } in observed {
            numbers.add(finding, what);
            if let Observation::Failure { exhausted } = what {
                let end = finding.time.end();
                if recovered.is_some_and(|at| end <= at) {
                    numbers.failed = 1.0;
                    continue;
                }
                let stands = if *exhausted { EXHAUSTION_STANDS_S } else { 0 };
                let until = end.as_second().saturating_add(stands);
                let until = Timestamp::from_second(until).unwrap_or(end);
                last_failure = last_failure.max(Some(until.min(packet.window.end())));
            }
        }
        if let Some(last) = last_failure {
            let age = packet.window.end().duration_since(last).as_secs_f64().max(0.0);
            numbers.failing = (1.0 - age / FAILURE_FADES_S).max(0.0);
            numbers.failed = numbers.failed.max(1.0 - numbers.failing);
        }
        numbers.has_alert |= !packet.anomalies.is_empty();
        numbers.change = change_before(observed, since);
        if numbers.change > 0.0 {
            numbers.change_words = words_of_changes(observed, since);
        }
        let by_load = |sender: &EntityId| {
            observed.iter().any(|one| one.what == Observation::Impact(Some(sender)))
        };
        for message in &packet.inbox {
            // What its own change reaches by load is no cause of it, though it lies upstream by its effects.
            let is_cause = is_upstream(packet, &message.sender) && !by_load(&message.sender);
            numbers.take_in(packet, is_cause, &message.belief);
        }
        numbers
    }

    fn add(&mut self, finding: &Finding, what: &Observation<'_>) {
        let raise = |to: &mut f64, by: f64| *to = to.max(by);
        if !matches!(what, Observation::Failure { .. }) {
            raise(&mut self.worst, in_harm(what));
        }
        match *what {
            Observation::Worse(Trouble::Saturation, size) => raise(&mut self.saturation, size),
            Observation::AsUsual(trouble, _) => {
                self.as_usual += usize::from(trouble != Trouble::Output);
                self.usual.insert(trouble);
            }
            Observation::ErrorLines { callee: None, size } => raise(&mut self.error_lines, size),
            Observation::FirstErrors(size) => raise(&mut self.first_errors, size),
            Observation::Share(of, share) => {
                raise(self.shares.entry(of.clone()).or_default(), share);
            }
            Observation::Remainder(share) => {
                self.remainder = Some(self.remainder.unwrap_or(0.0).max(share));
            }
            Observation::ContributionBound(share) => {
                self.bound = Some(self.bound.unwrap_or(0.0).max(share));
            }
            Observation::CriticalPath(_, share) => raise(&mut self.critical_path, share),
            Observation::Contention => self.contention = true,
            Observation::HoldsUpCallers => self.holds_up = true,
            Observation::EndsRequests(size) => raise(&mut self.ends_requests, size),
            Observation::SendsMore(size) => raise(&mut self.sends_more, size),
            Observation::MoreLoad(size) => raise(&mut self.more_load, size),
            Observation::MoreDemand(_) => self.is_demanded_more = true,
            Observation::Impact(_) => self.has_impact = true,
            Observation::Change => self.changed_demand |= finding.signal == Signal::Demand,
            Observation::EarlyDeviation => self.deviates_early = true,
            Observation::Alert => {
                self.has_alert |= !matches!(finding.signal, Signal::Traffic | Signal::Demand);
            }
            _ => {}
        }
    }

    /// Takes in what a neighbour's message says in numbers.
    fn take_in(&mut self, packet: &ContextPacket, is_cause: bool, belief: &Belief) {
        let Some(measures) = &belief.measures else { return };
        if is_cause {
            self.upstream = self.upstream.max(f64::from(measures.harm) / 1e3);
        }
        if let Some(share) = measures.shares.get(&packet.entity) {
            self.attributed = self.attributed.max(f64::from(*share) / 1e3);
        }
    }

    /// How much worse the entity does, by its own evidence.
    pub(super) fn harm(&self) -> f64 {
        let failure = (FAILING_IN_HARM * self.failing).max(UNSHIFTED_IN_HARM * self.failed);
        self.worst.max(failure)
    }

    /// How much of its harm upstream neighbours account for.
    pub(super) fn explained(&self) -> f64 {
        let by_demand = if self.is_demanded_more { DEMAND_EXPLAINS } else { 0.0 };
        self.shares.values().sum::<f64>().clamp(by_demand, 1.0)
    }

    pub(super) fn is_within_reach(&self) -> bool {
        self.has_impact || self.reach.is_none_or(|reach| reach.hops.is_some())
    }

    /// How much more it sends, where no caller asks it for more.
    pub(super) fn source_of_demand(&self) -> f64 {
        let served = match (self.is_demanded_more, self.changed_demand) {
            (true, _) => 0.0,
            (false, true) if self.more_load > 0.0 => DEMAND_CHANGED,
            (false, _) => self.more_load,
        };
        self.sends_more.max(served)
    }
}

/// The share of its harm that more demand accounts for at least, where a caller sends more.
const DEMAND_EXPLAINS: f64 = 0.3;
/// A change of demand, such as a campaign, after which load rose, counts as if load had risen so much: a logarithm.
const DEMAND_CHANGED: f64 = 2.0;

/// How much one observation counts as harm of the entity.
pub(super) fn in_harm(what: &Observation<'_>) -> f64 {
    match *what {
        Observation::Worse(Trouble::Saturation, size) => SATURATION_IN_HARM * size,
        Observation::Worse(_, size) => size,
        Observation::AsUsual(Trouble::Latency | Trouble::Errors, size) => {
            UNSHIFTED_IN_HARM * size.min(1.0)
        }
        Observation::ErrorLines { callee: None, size } => LINES_IN_HARM * size,
        Observation::Failure { .. } => FAILING_IN_HARM,
        _ => 0.0,
    }
}

/// What is worth less as harm than time and failures: users notice a full resource by what it leads to.
const SATURATION_IN_HARM: f64 = 0.3;
/// One fault may write many lines.
const LINES_IN_HARM: f64 = 0.25;
/// A failure counts as if seven times as much were wrong.
const FAILING_IN_HARM: f64 = 2.0;
/// What did not shift, or is over, counts half.
const UNSHIFTED_IN_HARM: f64 = 0.5;

/// A failure that was last seen so many seconds before the end is over: kubelets and schedulers repeat themselves within it.
const FAILURE_FADES_S: f64 = 90.0;
/// A resource that ran out stays so without a word for as long as this.
const EXHAUSTION_STANDS_S: i64 = 600;
/// A change weighs half as much after so many seconds.
const CHANGE_HALVES_S: f64 = 300.0;
/// A change that follows within so many seconds may have been recorded late.
const RECORDED_LATE_S: f64 = 60.0;

/// Whether effects of a neighbour reach the entity, as declared.
pub(super) fn is_upstream(packet: &ContextPacket, other: &EntityId) -> bool {
    let mut rows = packet.neighbours.iter().filter(|row| row.entity == *other);
    rows.any(|row| row.direction != Direction::Downstream)
}

/// How much a change weighs that lies so many seconds before what follows it: 1 at once, a half after five minutes.
pub(super) fn nearness(delay_s: f64) -> f64 {
    1.0 / (1.0 + delay_s.max(0.0) / CHANGE_HALVES_S)
}

/// Whether a change can have been made before the harm began.
fn is_in_time(made: &Onset, since: Option<Onset>) -> bool {
    since.is_none_or(|since| !surely_before(&since, made))
}

/// How much the words of the own change say that says most, of those that can have led to the harm.
fn words_of_changes(observed: &[Observed<'_>], since: Option<Onset>) -> f64 {
    let sizes = observed.iter().filter_map(|one| match one.what {
        Observation::ChangeWords(size) if is_in_time(&made(one.finding), since) => Some(size),
        _ => None,
    });
    sizes.fold(0.0, f64::max)
}

/// How near the best own change lies before an alert that it reaches, or own harm; 0 where nothing follows it.
fn change_before(observed: &[Observed<'_>], since: Option<Onset>) -> f64 {
    let follows = observed.iter().filter_map(|one| match one.what {
        Observation::Impact(_) => Some(one.finding.time.start()),
        Observation::Worse(..)
        | Observation::Failure { .. }
        | Observation::Alert
        | Observation::MoreLoad(_) => {
            Some(one.finding.onset.map_or(one.finding.time.start(), |onset| onset.latest()))
        }
        _ => None,
    });
    let follows: Vec<Timestamp> = follows.collect();
    let changes = observed.iter().filter(|one| one.what == Observation::Change);
    let changes = changes.map(|one| made(one.finding));
    let near = |made: Timestamp| {
        let delays = follows.iter().map(|at| at.duration_since(made).as_secs_f64());
        delays.filter(|delay| *delay >= -RECORDED_LATE_S).reduce(f64::min).map(nearness)
    };
    let nearest =
        changes.filter(|made| is_in_time(made, since)).filter_map(|made| near(made.latest()));
    nearest.fold(0.0, f64::max)
}
