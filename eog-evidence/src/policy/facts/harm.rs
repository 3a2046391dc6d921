//! What the entity shows of trouble, and since when.

use eog_core::evidence::{EvidenceTime, PeerRole, Quantity, Signal, Trend};
use eog_core::incident::Onset;
use eog_core::{Anomaly, EvidenceKind, Finding, Timestamp};

use super::Facts;
use crate::effect_map::ABOUT_AS_NEAR;
use crate::policy::times::{before, first_of, made, surely_before};
use crate::signs::{MORE, role};

impl<'a> Facts<'a> {
    /// Since when the entity does worse, by measured onsets: of trouble of the kind that an alert
    /// here speaks of if there is any, else of what users notice, else of anything. What the entity
    /// itself does worse comes before what its callees do to it: a callee that has failed for long,
    /// and that nobody here noticed, is not the harm that is asked about.
    pub(in crate::policy) fn harm_since(&self) -> Option<Onset> {
        let alerted: Vec<Signal> = self.alerted().collect();
        let asked = |harm: &Finding| alerted.contains(&harm.signal);
        let noticed = |harm: &Finding| harm.signal != Signal::Saturation;
        let own = |harm: &Finding| role(harm) != Some(PeerRole::Callee);
        let of = |wanted: &dyn Fn(&Finding) -> bool| -> Vec<&Finding> {
            let dated = self.harms.iter().filter(|harm| wanted(harm) && harm.onset.is_some());
            dated.copied().collect()
        };
        let some = |dated: Vec<&'a Finding>| Some(dated).filter(|dated| !dated.is_empty());
        // A line of a log dates trouble where nothing else does: it need not be about the requests that fail.
        let counted = |harm: &Finding| harm.kind != EvidenceKind::Log;
        let dated = some(of(&|harm| asked(harm) && own(harm) && counted(harm)))
            .or_else(|| some(of(&|harm| asked(harm) && own(harm))))
            .or_else(|| some(of(&asked)))
            .or_else(|| some(of(&|harm| noticed(harm) && own(harm))))
            .or_else(|| some(of(&noticed)))
            .or_else(|| some(of(&|_| true)))?;
        let since = first_of(dated.iter().filter_map(|harm| harm.onset))?;
        let since = self.by_alert(since, &dated);
        // An event is recorded when somebody notices: less may have been served before that.
        if dated.iter().any(|harm| harm.kind != EvidenceKind::Event) {
            return Some(since);
        }
        let noticed = Onset::between(before(since.earliest(), ABOUT_AS_NEAR), since.latest());
        let drop = self.drop_of_traffic().and_then(|drop| drop.onset);
        let near = |drop: &Onset| noticed.earliest() <= drop.earliest();
        Some(drop.filter(near).map_or(noticed, |drop| first_of([since, drop]).unwrap_or(noticed)))
    }

    /// When measured harm began, where an alert here tells that it was there before it stood out. An alert of another kind
    /// counts by as much as alerts may be late.
    pub(super) fn by_alert(&self, since: Onset, dated: &[&Finding]) -> Onset {
        let late = before(since.earliest(), ABOUT_AS_NEAR);
        let is_of_kind = |alert: &Anomaly| dated.iter().any(|harm| harm.signal == alert.signal);
        let told = self.packet.anomalies.iter().flat_map(|alert| {
            let counts = move |at: &Timestamp| is_of_kind(alert) || late <= *at;
            alert.onsets().filter(counts)
        });
        let first = told.min().unwrap_or(since.earliest());
        Onset::between(first.min(since.earliest()), since.latest())
    }

    /// The harm that is dated to have begun first, for each kind that alerts here speak of; without an
    /// alert, for each kind that users notice.
    pub(in crate::policy) fn dating_harms(&self) -> Vec<&'a Finding> {
        let mut alerted: Vec<Signal> = self.alerted().collect();
        if alerted.is_empty() {
            alerted = vec![Signal::Errors, Signal::Latency, Signal::Availability];
        }
        alerted.sort_unstable();
        alerted.dedup();
        let first = |signal: Signal| {
            let of_kind = self.harms.iter().filter(|harm| harm.signal == signal);
            let dated = of_kind.filter(|harm| role(harm) != Some(PeerRole::Callee));
            let dated = dated.filter_map(|harm| Some((harm.onset?, *harm)));
            let line = |harm: &Finding| harm.kind == EvidenceKind::Log;
            let first =
                dated.min_by_key(|(onset, harm)| (line(harm), onset.latest(), harm.id().clone()));
            first.map(|(_, harm)| harm)
        };
        alerted.into_iter().filter_map(first).collect()
    }

    /// What the alerts on the entity speak of.
    pub(in crate::policy) fn alerted(&self) -> impl Iterator<Item = Signal> {
        let own = self.packet.anomalies.iter().map(|anomaly| anomaly.signal);
        let alerts = self.harms.iter().filter(|harm| harm.kind == EvidenceKind::Alert);
        own.chain(alerts.map(|alert| alert.signal))
    }

    /// Whether somebody asks about the entity: it has an alert, or a neighbour names it.
    pub(in crate::policy) fn is_concerned(&self) -> bool {
        self.alerted().next().is_some() || !self.accusations.is_empty()
    }

    /// Own changes that were not surely made after the harm began.
    pub(in crate::policy) fn timely_changes(&self) -> impl Iterator<Item = &'a Finding> {
        let since = self.harm_since();
        let late =
            move |change: &Finding| since.is_some_and(|since| surely_before(&since, &made(change)));
        self.changes.iter().copied().filter(move |change| !late(change))
    }

    /// Whether the entity itself does worse in a way.
    pub(super) fn suffers(&self, kind: Signal) -> bool {
        let own = |harm: &&Finding| harm.signal == kind && role(harm) != Some(PeerRole::Callee);
        self.harms.iter().copied().any(|harm| own(&harm))
    }

    /// The first change elsewhere that has a path here and does not come after a finding.
    pub(in crate::policy) fn route_before(&self, finding: &Finding) -> Option<&'a Finding> {
        self.routes.iter().copied().find(|route| route.time.start() <= begun_by(finding))
    }

    /// Whether the entity failed, and nothing that is known here explains it.
    pub(in crate::policy) fn fails_by_itself(&self) -> bool {
        let Some(since) = self.failures.iter().map(|failure| failure.time.start()).min() else {
            return false;
        };
        // Where the search ends, whoever was changed was asked.
        let is_open = !self.at_dead_end();
        let explained_by_change =
            is_open && self.routes.iter().any(|route| route.time.start() < since);
        let own = |failure: &&Finding| failure.signal != Signal::Availability;
        let explained_by_neighbour =
            !self.failures.iter().any(own) && !self.degraded_upstream().is_empty();
        // An alert says that something is wrong; that it is this needs another sign.
        let is_seen = self.harms.iter().any(|harm| harm.kind != EvidenceKind::Alert);
        is_seen && self.early_surges().is_empty() && !explained_by_change && !explained_by_neighbour
    }

    /// What is measured of the entity's work is all as usual: it shows no harm, nothing fell, and nothing that it does
    /// for others is known to harm them.
    pub(in crate::policy) fn works_as_usual(&self) -> bool {
        let of_work = |finding: &&Finding| {
            let served = matches!(
                finding.signal,
                Signal::Latency | Signal::Errors | Signal::Traffic | Signal::Output
            );
            let measured = matches!(finding.kind, EvidenceKind::Metric | EvidenceKind::Span);
            measured && served && role(finding) != Some(PeerRole::Callee)
        };
        let is_harmless = |finding: &Finding| {
            let falls = matches!(finding.signal, Signal::Traffic | Signal::Output);
            finding.trend == Trend::Steady || (finding.trend == Trend::Rising) == falls
        };
        let mut work = self.findings().iter().filter(of_work).peekable();
        let harms_others = self.crowding_out().chain(self.ends_others()).chain(self.holds_up());
        self.harms.is_empty()
            && work.peek().is_some()
            && work.all(is_harmless)
            && harms_others.chain(self.left_out()).chain(self.more_sent()).next().is_none()
    }

    /// The requests of the entity that fail are counted, and are no more than usual.
    pub(in crate::policy) fn fails_as_usual(&self) -> bool {
        let counted = |finding: &&Finding| {
            finding.signal == Signal::Errors
                && matches!(finding.kind, EvidenceKind::Metric | EvidenceKind::Span)
                && role(finding) != Some(PeerRole::Callee)
        };
        // What was recorded for too short a time to be compared is not as usual where it is half more.
        let is_usual = |finding: &Finding| {
            let quantity = finding.quantity.as_ref();
            let more =
                |now: &Quantity| now.baseline.is_some_and(|usual| now.observed > MORE * usual);
            finding.trend != Trend::Rising && !quantity.is_some_and(more)
        };
        let mut counted = self.findings().iter().filter(counted).peekable();
        counted.peek().is_some() && counted.all(is_usual)
    }

    /// The first sign of harm that begins after an instant.
    pub(in crate::policy) fn first_harm_after(&self, at: Timestamp) -> Option<&'a Finding> {
        self.harms.iter().copied().find(|harm| begins_after(harm, at))
    }

    pub(in crate::policy) fn is_degraded(&self) -> bool {
        !self.harms.is_empty()
    }
}

/// By when what a finding tells of had begun: where that was measured, the time of a comparison, which
/// is that of its split, does not count.
pub(in crate::policy) fn begun_by(finding: &Finding) -> Timestamp {
    finding.onset.map_or(finding.time.start(), |onset| onset.latest())
}

/// Whether a finding begins after an instant.
pub(in crate::policy) fn begins_after(finding: &Finding, at: Timestamp) -> bool {
    finding.time.start() > at
}

/// Whether a sign of harm was still there after an instant although it began before. An alert
/// whose end is not known counts as still active.
pub(in crate::policy) fn lasts_beyond(finding: &Finding, at: Timestamp) -> bool {
    match finding.time {
        EvidenceTime::During(window) => window.end() > at,
        EvidenceTime::At(_) => finding.kind == EvidenceKind::Alert,
    }
}
