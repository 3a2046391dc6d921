//! What one finding says, as a typed observation with a size that is comparable across units.

use eog_core::contract::ContextPacket;
use eog_core::evidence::{PeerRole, Quantity, Signal, Trend, Verdict};
use eog_core::{EntityId, EvidenceKind, Finding};

use crate::note::Note;
use crate::signs::{is_executed_experiment, is_full_without_past, is_real_change, is_share, role};

/// A finding with what it says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed<'a> {
    pub(super) finding: &'a Finding,
    pub(super) what: Observation<'a>,
}

/// What a finding says of its entity. Sizes are natural logarithms of ratios to the usual, from -4 to 5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Observation<'a> {
    /// An own quantity is worse than usual by this size.
    Worse(Trouble, f64),
    /// An own quantity did not shift; the size is what it differs by all the same.
    AsUsual(Trouble, f64),
    /// Calls to another entity are worse than usual.
    CallWorse(&'a EntityId),
    /// It failed, or a resource of it ran out.
    Failure { exhausted: bool },
    /// It is well at the end, since the time of the finding.
    Recovered,
    /// More error lines than usual, about calls to another entity where one is named.
    ErrorLines { callee: Option<&'a EntityId>, size: f64 },
    /// So many requests have their first error line here.
    FirstErrors(f64),
    /// A neighbour accounts for this share of what it shows.
    Share(&'a EntityId, f64),
    /// No upstream neighbour accounts for this share of what it shows.
    Remainder(f64),
    /// It can account for at most this share of what an alert elsewhere shows.
    ContributionBound(f64),
    /// This share of what bad requests of an alerting entity show lies on it.
    CriticalPath(&'a EntityId, f64),
    /// It takes up what others have for all that rest on the peer.
    Contention,
    /// Another entity takes up what it has for all that rest on it.
    Contended(&'a EntityId),
    /// Calls to it fill up what its callers have for requests.
    HoldsUpCallers,
    /// Requests of a caller end with its answers, more often than usual.
    EndsRequests(f64),
    /// Requests of its own end with the answers of a callee.
    EndedBy(&'a EntityId),
    /// It sends more requests than usual, without more demand on itself.
    SendsMore(f64),
    /// It serves more requests than usual.
    MoreLoad(f64),
    /// More requests than usual come from a caller.
    MoreDemand(&'a EntityId),
    /// It does what it does not usually do since before any alert on it.
    EarlyDeviation,
    /// It was changed.
    Change,
    /// Words of a change of its own are in alerts or new errors; the size is how rare they are among changes.
    ChangeWords(f64),
    /// A change elsewhere has a path here; the peer is the next hop towards it.
    Route(&'a EntityId),
    /// An alert followed an own change.
    Impact(Option<&'a EntityId>),
    /// It has an alert.
    Alert,
    /// A fault experiment ran on it.
    Experiment,
    /// A person's verdict.
    Verdict(Verdict),
    /// Nothing that is weighed.
    Nothing,
}

/// What an own quantity measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trouble {
    /// Time taken, and its own part of it.
    Latency,
    /// Requests that fail, and availability.
    Errors,
    /// How much of a resource is in use.
    Saturation,
    /// What it delivers.
    Output,
}

/// What the findings of a packet say, in their order.
pub(super) fn observe(packet: &ContextPacket) -> Vec<Observed<'_>> {
    let findings = packet.context.findings.iter();
    findings.map(|finding| Observed { finding, what: Observation::of(finding) }).collect()
}

impl<'a> Observation<'a> {
    /// Reads the typed fields of a finding, never its excerpt.
    pub(super) fn of(finding: &'a Finding) -> Self {
        if let Some(verdict) = finding.verdict() {
            return Self::Verdict(verdict);
        }
        match finding.kind {
            EvidenceKind::Change if is_real_change(finding) => Self::Change,
            // It was restarted, and nothing else changed.
            EvidenceKind::Change => Self::Nothing,
            EvidenceKind::Alert => Self::Alert,
            EvidenceKind::Event if is_executed_experiment(finding) => Self::Experiment,
            EvidenceKind::Event => Self::of_event(finding),
            EvidenceKind::Metric | EvidenceKind::Span => Self::of_series(finding),
            EvidenceKind::Log => Self::of_lines(finding),
            EvidenceKind::Note => Self::of_note(finding),
        }
    }

    fn of_event(finding: &Finding) -> Self {
        let is_bad = finding.trend == Trend::Rising;
        match finding.signal {
            Signal::Exhaustion if is_bad => Self::Failure { exhausted: true },
            Signal::Availability if is_bad => Self::Failure { exhausted: false },
            Signal::Availability if finding.trend == Trend::Falling => Self::Recovered,
            Signal::Other if is_bad => Self::EarlyDeviation,
            _ => Self::Nothing,
        }
    }

    fn of_series(finding: &'a Finding) -> Self {
        if is_full_without_past(finding) {
            return Self::Worse(Trouble::Saturation, FULL);
        }
        let Some(quantity) = &finding.quantity else { return Self::Nothing };
        let Some(baseline) = quantity.baseline else { return Self::Nothing };
        let worse = size(quantity, baseline);
        if matches!(finding.signal, Signal::Traffic | Signal::Demand) {
            return Self::of_load(finding, worse);
        }
        let falls_short = -worse;
        let (trouble, worse, bad) = match finding.signal {
            Signal::Latency => (Trouble::Latency, worse, Trend::Rising),
            Signal::Errors => (Trouble::Errors, worse, Trend::Rising),
            Signal::Availability if is_share(finding) => {
                (Trouble::Errors, size_of_the_rest(quantity, baseline), Trend::Falling)
            }
            Signal::Availability => (Trouble::Errors, worse, Trend::Rising),
            Signal::Saturation | Signal::Exhaustion => (Trouble::Saturation, worse, Trend::Rising),
            Signal::Output => (Trouble::Output, falls_short, Trend::Falling),
            _ => return Self::Nothing,
        };
        let of_calls = role(finding) == Some(PeerRole::Callee);
        match (&finding.peer, finding.trend) {
            (Some(peer), trend) if of_calls && trend == bad => Self::CallWorse(&peer.entity),
            _ if of_calls => Self::Nothing,
            (_, trend) if trend == bad => Self::Worse(trouble, worse),
            (_, Trend::Steady) => Self::AsUsual(trouble, worse),
            _ => Self::Nothing,
        }
    }

    /// Load that rose: at the entity as a whole, or from one caller.
    fn of_load(finding: &'a Finding, more: f64) -> Self {
        match &finding.peer {
            _ if finding.trend != Trend::Rising => Self::Nothing,
            None => Self::MoreLoad(more),
            Some(peer) if peer.role == PeerRole::Caller => Self::MoreDemand(&peer.entity),
            Some(_) => Self::Nothing,
        }
    }

    fn of_lines(finding: &'a Finding) -> Self {
        let Some(quantity) = finding.quantity.as_ref().filter(|_| finding.trend == Trend::Rising)
        else {
            return Self::Nothing;
        };
        if finding.signal != Signal::Errors {
            return Self::Nothing;
        }
        // What a caller writes of an entity that writes nothing itself speaks of that entity.
        let of_another = finding.peer.as_ref().filter(|peer| peer.role != PeerRole::Caller);
        let peer = of_another.map(|peer| &peer.entity);
        // Lines that were joined by request count requests.
        if quantity.unit == "requests" {
            return match peer {
                None => Self::FirstErrors(libm::log1p(quantity.observed.max(0.0))),
                Some(_) => Self::Nothing,
            };
        }
        let size = size(quantity, quantity.baseline.unwrap_or(0.0));
        Self::ErrorLines { callee: peer, size }
    }

    fn of_note(finding: &'a Finding) -> Self {
        let Some(note) = Note::of(finding) else { return Self::Nothing };
        match note {
            Note::Share { upstream, fraction, .. } => Self::Share(upstream, fraction),
            Note::Remainder { fraction, .. } => Self::Remainder(fraction),
            // All replicas together may account for more than one of them.
            Note::ContributionBound { own, with_replicas, .. } => {
                Self::ContributionBound(own.max(with_replicas.unwrap_or(0.0)).min(1.0))
            }
            Note::CriticalPath { alerting, fraction, has_baseline: true, .. } => {
                Self::CriticalPath(alerting, fraction)
            }
            Note::CriticalPath { alerting, fraction, .. } => {
                Self::CriticalPath(alerting, fraction / 2.0)
            }
            Note::Contention { .. } => Self::Contention,
            Note::Contended { by, .. } => Self::Contended(by),
            Note::HoldsUpCallers { .. } => Self::HoldsUpCallers,
            Note::EndsRequests { usual, now, .. } => {
                Self::EndsRequests(log_ratio(now, usual, floor_of("share", usual)))
            }
            Note::EndedBy { callee, .. } => Self::EndedBy(callee),
            Note::SendsMore { times, .. } => Self::SendsMore(libm::log(times.max(1.0))),
            Note::MoreDemand { caller, .. } => Self::MoreDemand(caller),
            Note::EarlyDeviation => Self::EarlyDeviation,
            Note::ChangeWords { rarity } => Self::ChangeWords(rarity),
            Note::Route { hop, .. } => Self::Route(hop),
            Note::Impact { hop, .. } => Self::Impact(hop),
            Note::OwnCriticalPath { .. }
            | Note::Lead { .. }
            | Note::Retries { .. }
            | Note::SkippedCalls { .. } => Self::Nothing,
        }
    }

    /// The entity that the observation attributes the trouble to, where it is another one.
    pub(super) fn points_to(&self) -> Option<&'a EntityId> {
        match *self {
            Self::CallWorse(other)
            | Self::Share(other, _)
            | Self::Contended(other)
            | Self::EndedBy(other)
            | Self::MoreDemand(other)
            | Self::Route(other)
            | Self::ErrorLines { callee: Some(other), .. } => Some(other),
            _ => None,
        }
    }
}

/// What follows from a kind of observation.
impl Observation<'_> {
    /// Whether it says what the entity does to others.
    pub(super) fn is_of_others(&self) -> bool {
        matches!(
            self,
            Self::Contention
                | Self::HoldsUpCallers
                | Self::EndsRequests(_)
                | Self::SendsMore(_)
                | Self::EarlyDeviation
                | Self::CriticalPath(..)
                | Self::FirstErrors(_)
                | Self::Remainder(_)
        )
    }

    /// Whether it says that its calls to another do worse.
    pub(super) fn is_of_calls(&self) -> bool {
        matches!(self, Self::CallWorse(_) | Self::ErrorLines { callee: Some(_), .. })
    }

    /// Whether it says that the entity does worse, alerts included.
    pub(super) fn is_harm(&self) -> bool {
        matches!(
            self,
            Self::Worse(..)
                | Self::Failure { .. }
                | Self::ErrorLines { .. }
                | Self::CallWorse(_)
                | Self::Alert
        )
    }
}

/// The size of a resource that is full and of which no earlier level is known.
const FULL: f64 = 1.5;

/// How much more than usual, as a logarithm. Small values weigh little: what is less than a unit's floor is noise.
fn size(quantity: &Quantity, baseline: f64) -> f64 {
    log_ratio(quantity.observed, baseline, floor_of(&quantity.unit, baseline))
}

/// The same of what is missing to the whole, such as failed requests beside available ones.
fn size_of_the_rest(quantity: &Quantity, baseline: f64) -> f64 {
    let whole = if quantity.unit == "ratio" { 1.0 } else { 100.0 };
    let rest = |value: f64| (1.0 - value / whole).max(0.0);
    log_ratio(rest(quantity.observed), rest(baseline), floor_of("ratio", 0.0))
}

fn log_ratio(observed: f64, baseline: f64, floor: f64) -> f64 {
    let ratio = (observed.abs() + floor) / (baseline.abs() + floor);
    if ratio.is_finite() && ratio > 0.0 { libm::log(ratio).clamp(-4.0, 5.0) } else { 0.0 }
}

/// Below which a difference says nothing, by unit; a twentieth of the usual where the unit is not known.
fn floor_of(unit: &str, baseline: f64) -> f64 {
    match unit {
        "ratio" => 0.02,
        "percent" | "%" => 2.0,
        "ms" => 1.0,
        "s" => 0.002,
        "us" | "µs" => 1_000.0,
        "cores" => 0.01,
        "bytes" => 1e6,
        "requests" => 2.0,
        "lines" | "events" | "failed requests" | "" => 1.0,
        "calls" => 0.05,
        "share" => 0.02,
        "1/s" | "requests/s" => 0.2,
        _ => (0.05 * baseline.abs()).max(1e-6),
    }
}
