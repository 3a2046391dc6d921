//! What single requests tell: which calls they make, after whose answer they end, where their errors begin.

use eog_core::evidence::{PeerRole, Signal, Trend};
use eog_core::{EntityId, EvidenceKind, Finding};

use super::Facts;
use crate::signs::role;

impl<'a> Facts<'a> {
    /// Notes on callees that are called less often for each request than before.
    pub(in crate::policy) fn left_out(&self) -> impl Iterator<Item = &'a Finding> {
        self.findings().iter().filter(|finding| {
            finding.kind == EvidenceKind::Note
                && (finding.signal, finding.trend) == (Signal::Traffic, Trend::Falling)
                && role(finding) == Some(PeerRole::Callee)
        })
    }

    /// Notes on callees whose answers end requests of this entity.
    pub(in crate::policy) fn ended_by(&self) -> impl Iterator<Item = &'a Finding> {
        self.endings(PeerRole::Callee)
    }

    /// Notes on callers whose requests end with answers of this entity.
    pub(in crate::policy) fn ends_others(&self) -> impl Iterator<Item = &'a Finding> {
        self.endings(PeerRole::Caller)
    }

    pub(super) fn endings(&self, other: PeerRole) -> impl Iterator<Item = &'a Finding> {
        self.findings().iter().filter(move |finding| {
            (finding.kind, finding.signal) == (EvidenceKind::Note, Signal::Output)
                && role(finding) == Some(other)
        })
    }

    /// Requests of which the first error line is the entity's own, more than usual.
    pub(in crate::policy) fn errors_begun(&self) -> impl Iterator<Item = &'a Finding> {
        self.joined_errors().filter(|joined| joined.peer.is_none())
    }

    /// Requests with an error line here of which somebody else has an earlier one, more than usual; and who.
    pub(in crate::policy) fn errors_passed_on(
        &self,
    ) -> impl Iterator<Item = (&'a EntityId, &'a Finding)> {
        self.joined_errors().filter_map(|joined| Some((&joined.peer.as_ref()?.entity, joined)))
    }

    pub(super) fn joined_errors(&self) -> impl Iterator<Item = &'a Finding> {
        let is_joined = |finding: &&Finding| {
            let unit = finding.quantity.as_ref().map(|quantity| quantity.unit.as_str());
            finding.kind == EvidenceKind::Log
                && (finding.signal, finding.trend) == (Signal::Errors, Trend::Rising)
                && unit == Some("requests")
        };
        self.findings().iter().filter(is_joined)
    }
}
