//! What a note says, as one type. Findings are how notes are stored and sent; the two functions here are the only ones
//! that put the one into the fields of the other.

use eog_core::evidence::{EvidenceTime, FindingContent, PeerRole, Quantity, Signal, Trend};
use eog_core::{EntityId, EvidenceKind, Finding};

/// What is derived of an entity from its own record and that of others. Fractions are from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Note<'a> {
    /// An upstream neighbour accounts for this fraction of the entity's excess.
    Share { of: Signal, upstream: &'a EntityId, fraction: f64 },
    /// No upstream neighbour accounts for this fraction of the entity's excess.
    Remainder { of: Signal, fraction: f64 },
    /// The entity can account for at most this fraction of what an alert elsewhere shows; its replicas together for more.
    ContributionBound { of: Signal, own: f64, with_replicas: Option<f64> },
    /// This fraction of what bad requests of an alerting entity show lies on the entity. Without a baseline all requests
    /// are taken, so that one of them has to have the most.
    CriticalPath { of: Signal, alerting: &'a EntityId, fraction: f64, has_baseline: bool },
    /// The greatest part of what bad requests of the entity show lies on itself.
    OwnCriticalPath { of: Signal, has_baseline: bool },
    /// Where to check next upstream, without a fraction.
    Lead { of: Signal, upstream: &'a EntityId, is_sure: bool },
    /// This fraction of calls to a callee are made again.
    Retries { callee: &'a EntityId, usual: f64, now: f64 },
    /// The entity exhausts what the peer has for all that rest on it, with this fraction of the increase.
    Contention { host: &'a EntityId, fraction: f64 },
    /// The peer exhausts what the entity has for all that rest on it, with this fraction of the increase.
    Contended { by: &'a EntityId, fraction: f64 },
    /// Calls to the entity fill up what a caller has for requests: from one fraction in use to another.
    HoldsUpCallers { caller: &'a EntityId, usual: f64, now: f64 },
    /// The fraction of a caller's requests that end with the answer of the entity.
    EndsRequests { caller: &'a EntityId, usual: f64, now: f64 },
    /// The fraction of the entity's own requests that end with the answer of a callee.
    EndedBy { callee: &'a EntityId, usual: f64, now: f64 },
    /// The entity sends so many times the usual requests to a callee.
    SendsMore { callee: &'a EntityId, times: f64 },
    /// A caller sends so many times the usual requests to the entity.
    MoreDemand { caller: &'a EntityId, times: f64 },
    /// So many calls are made to a callee for each request, fewer than usual.
    SkippedCalls { callee: &'a EntityId, usual: f64, now: f64 },
    /// The entity deviated before any alert on it.
    EarlyDeviation,
    /// Words of the entity's change are in alerts or new errors: the sum of natural logarithms of how rare each is among
    /// changes.
    ChangeWords { rarity: f64 },
    /// A change elsewhere can reach the entity; the peer is the next hop towards it.
    Route { hop: &'a EntityId, is_demand: bool },
    /// An alert followed the entity's own change; the peer is the next hop towards it, if it is on another entity.
    Impact { hop: Option<&'a EntityId>, is_demand: bool },
}

const SHARE: &str = "share";
const TIMES: &str = "times";
const RARITY: &str = "rarity";

impl<'a> Note<'a> {
    /// The note as a finding on an entity, without source, query, excerpt and onset.
    pub(crate) fn content(&self, entity: &EntityId, time: EvidenceTime) -> FindingContent {
        let (signal, trend) = self.points();
        let content = FindingContent::new(entity.clone(), EvidenceKind::Note, signal, time);
        let content = FindingContent { trend, quantity: self.quantity(), ..content };
        match self.peer() {
            Some((peer, role)) => content.with_peer(peer.clone(), role),
            None => content,
        }
    }

    fn points(&self) -> (Signal, Trend) {
        let rising_if = |rises| if rises { Trend::Rising } else { Trend::Steady };
        match *self {
            Self::Share { of, .. } | Self::Remainder { of, .. } => (of, Trend::Rising),
            Self::ContributionBound { of, .. } => (of, Trend::Steady),
            Self::CriticalPath { of, has_baseline, .. }
            | Self::OwnCriticalPath { of, has_baseline } => (of, rising_if(has_baseline)),
            Self::Lead { of, is_sure, .. } => (of, rising_if(is_sure)),
            Self::Retries { .. } => (Signal::Errors, Trend::Rising),
            Self::Contention { .. } | Self::Contended { .. } | Self::HoldsUpCallers { .. } => {
                (Signal::Saturation, Trend::Rising)
            }
            Self::EndsRequests { .. } | Self::EndedBy { .. } => (Signal::Output, Trend::Falling),
            Self::SendsMore { .. } | Self::MoreDemand { .. } => (Signal::Traffic, Trend::Rising),
            Self::SkippedCalls { .. } => (Signal::Traffic, Trend::Falling),
            Self::EarlyDeviation => (Signal::Other, Trend::Rising),
            Self::ChangeWords { .. } => (Signal::Configuration, Trend::Rising),
            Self::Route { is_demand, .. } => (Signal::Route, rising_if(is_demand)),
            Self::Impact { is_demand, .. } => (Signal::Impact, rising_if(is_demand)),
        }
    }

    fn quantity(&self) -> Option<Quantity> {
        let (observed, baseline, unit) = match *self {
            Self::Share { fraction, .. }
            | Self::Remainder { fraction, .. }
            | Self::CriticalPath { fraction, .. } => (fraction, None, SHARE),
            // The number to compare it with is that of all replicas.
            Self::ContributionBound { own, with_replicas, .. } => (own, with_replicas, SHARE),
            Self::EarlyDeviation => (1.0, None, SHARE),
            Self::Contention { fraction, .. } | Self::Contended { fraction, .. } => {
                (fraction, None, "ratio")
            }
            Self::HoldsUpCallers { usual, now, .. } => (now, Some(usual), "ratio"),
            Self::Retries { usual, now, .. }
            | Self::EndsRequests { usual, now, .. }
            | Self::EndedBy { usual, now, .. } => (now, Some(usual), SHARE),
            Self::SendsMore { times, .. } | Self::MoreDemand { times, .. } => {
                (times, Some(1.0), TIMES)
            }
            Self::SkippedCalls { usual, now, .. } => (now, Some(usual), "calls"),
            Self::ChangeWords { rarity } => (rarity, None, RARITY),
            Self::OwnCriticalPath { .. }
            | Self::Lead { .. }
            | Self::Route { .. }
            | Self::Impact { .. } => return None,
        };
        Some(Quantity { observed, baseline, unit: unit.into() })
    }

    fn peer(&self) -> Option<(&'a EntityId, PeerRole)> {
        match *self {
            Self::Share { upstream, .. } | Self::Lead { upstream, .. } => {
                Some((upstream, PeerRole::NextUpstream))
            }
            Self::Route { hop, .. } => Some((hop, PeerRole::NextUpstream)),
            Self::Contention { host, .. } => Some((host, PeerRole::NextDownstream)),
            Self::Impact { hop, .. } => hop.map(|hop| (hop, PeerRole::NextDownstream)),
            Self::CriticalPath { alerting: other, .. } | Self::Contended { by: other, .. } => {
                Some((other, PeerRole::Mentioned))
            }
            Self::HoldsUpCallers { caller, .. }
            | Self::EndsRequests { caller, .. }
            | Self::MoreDemand { caller, .. } => Some((caller, PeerRole::Caller)),
            Self::Retries { callee, .. }
            | Self::EndedBy { callee, .. }
            | Self::SendsMore { callee, .. }
            | Self::SkippedCalls { callee, .. } => Some((callee, PeerRole::Callee)),
            Self::Remainder { .. }
            | Self::ContributionBound { .. }
            | Self::OwnCriticalPath { .. }
            | Self::EarlyDeviation
            | Self::ChangeWords { .. } => None,
        }
    }

    /// What a finding of kind `note` says; nothing where it is none of these, as those of other sources may be.
    pub(crate) fn of(finding: &'a Finding) -> Option<Self> {
        let of = finding.signal;
        let is_rising = finding.trend == Trend::Rising;
        let quantity = finding.quantity.as_ref();
        let in_unit = |unit: &str| quantity.filter(|it| it.unit == unit);
        let share = in_unit(SHARE).map(|it| it.observed.clamp(0.0, 1.0));
        let from_usual = || quantity.map(|it| (it.baseline.unwrap_or(0.0), it.observed));
        let peer = finding.peer.as_ref().map(|peer| (&peer.entity, peer.role));
        Some(match (of, finding.trend, peer) {
            (Signal::Route, _, Some((hop, _))) => Self::Route { hop, is_demand: is_rising },
            (Signal::Impact, _, peer) => {
                Self::Impact { hop: peer.map(|(hop, _)| hop), is_demand: is_rising }
            }
            (Signal::Configuration, Trend::Rising, None) => {
                Self::ChangeWords { rarity: in_unit(RARITY)?.observed }
            }
            (Signal::Saturation, _, Some((host, PeerRole::NextDownstream))) => {
                Self::Contention { host, fraction: quantity.map_or(0.0, |it| it.observed) }
            }
            (Signal::Saturation, _, Some((by, PeerRole::Mentioned))) => {
                Self::Contended { by, fraction: quantity.map_or(0.0, |it| it.observed) }
            }
            (Signal::Saturation, _, Some((caller, PeerRole::Caller))) => {
                let (usual, now) = from_usual().unwrap_or_default();
                Self::HoldsUpCallers { caller, usual, now }
            }
            (Signal::Output, _, Some((caller, PeerRole::Caller))) => {
                let (usual, now) = from_usual()?;
                Self::EndsRequests { caller, usual, now }
            }
            (Signal::Output, _, Some((callee, PeerRole::Callee))) => {
                let (usual, now) = from_usual().unwrap_or_default();
                Self::EndedBy { callee, usual, now }
            }
            (Signal::Traffic, Trend::Rising, Some((callee, PeerRole::Callee))) => {
                Self::SendsMore { callee, times: in_unit(TIMES)?.observed }
            }
            (Signal::Traffic, Trend::Rising, Some((caller, PeerRole::Caller))) => {
                Self::MoreDemand { caller, times: in_unit(TIMES).map_or(1.0, |it| it.observed) }
            }
            (Signal::Traffic, Trend::Falling, Some((callee, PeerRole::Callee))) => {
                let (usual, now) = from_usual()?;
                Self::SkippedCalls { callee, usual, now }
            }
            (Signal::Errors, Trend::Rising, Some((callee, PeerRole::Callee))) => {
                let (usual, now) = from_usual()?;
                Self::Retries { callee, usual, now }
            }
            (_, Trend::Rising | Trend::Steady, Some((upstream, PeerRole::NextUpstream))) => {
                match share.filter(|_| is_rising) {
                    Some(fraction) => Self::Share { of, upstream, fraction },
                    None => Self::Lead { of, upstream, is_sure: is_rising },
                }
            }
            (_, Trend::Rising | Trend::Steady, Some((alerting, PeerRole::Mentioned))) => {
                Self::CriticalPath { of, alerting, fraction: share?, has_baseline: is_rising }
            }
            (Signal::Other, Trend::Rising, None) if share.is_some() => Self::EarlyDeviation,
            (_, Trend::Rising, None) => match share {
                Some(fraction) => Self::Remainder { of, fraction },
                None => Self::OwnCriticalPath { of, has_baseline: true },
            },
            (_, Trend::Steady, None) => match in_unit(SHARE) {
                Some(it) => Self::ContributionBound {
                    of,
                    own: it.observed.clamp(0.0, 1.0),
                    with_replicas: it.baseline,
                },
                None => Self::OwnCriticalPath { of, has_baseline: false },
            },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each kind, with numbers that differ.
    fn of_each_kind(peer: &EntityId) -> Vec<Note<'_>> {
        let of = Signal::Latency;
        let (usual, now) = (0.25, 0.75);
        vec![
            Note::Share { of, upstream: peer, fraction: 0.4 },
            Note::Remainder { of, fraction: 0.6 },
            Note::ContributionBound { of, own: 0.2, with_replicas: Some(0.3) },
            Note::ContributionBound { of, own: 0.2, with_replicas: None },
            Note::CriticalPath { of, alerting: peer, fraction: 0.5, has_baseline: true },
            Note::CriticalPath { of, alerting: peer, fraction: 0.5, has_baseline: false },
            Note::OwnCriticalPath { of, has_baseline: true },
            Note::OwnCriticalPath { of, has_baseline: false },
            Note::Lead { of, upstream: peer, is_sure: true },
            Note::Lead { of, upstream: peer, is_sure: false },
            Note::Retries { callee: peer, usual, now },
            Note::Contention { host: peer, fraction: 0.5 },
            Note::Contended { by: peer, fraction: 0.5 },
            Note::HoldsUpCallers { caller: peer, usual, now },
            Note::EndsRequests { caller: peer, usual, now },
            Note::EndedBy { callee: peer, usual, now },
            Note::SendsMore { callee: peer, times: 3.0 },
            Note::MoreDemand { caller: peer, times: 3.0 },
            Note::SkippedCalls { callee: peer, usual, now },
            Note::EarlyDeviation,
            Note::ChangeWords { rarity: 2.5 },
            Note::Route { hop: peer, is_demand: true },
            Note::Route { hop: peer, is_demand: false },
            Note::Impact { hop: Some(peer), is_demand: true },
            Note::Impact { hop: None, is_demand: false },
        ]
    }

    #[test]
    fn a_note_survives_its_finding() {
        let [entity, peer] = ["shop", "db"].map(|name| EntityId::new(name).unwrap());
        let at = EvidenceTime::At(eog_core::Timestamp::UNIX_EPOCH);
        for note in of_each_kind(&peer) {
            let finding = Finding::from(note.content(&entity, at));
            assert_eq!(Note::of(&finding), Some(note));
        }
    }

    #[test]
    fn a_remark_of_another_source_says_nothing() {
        let entity = EntityId::new("shop").unwrap();
        let at = EvidenceTime::At(eog_core::Timestamp::UNIX_EPOCH);
        let remark = FindingContent::new(entity, EvidenceKind::Note, Signal::Other, at)
            .with_trend(Trend::Falling);
        assert_eq!(Note::of(&remark.into()), None);
    }
}
