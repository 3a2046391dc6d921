//! What an answer may name and cite: numbers stand for evidence, names for entities.

use std::collections::BTreeMap;

use eog_core::contract::Route;
use eog_core::evidence::{EvidenceTime, Signal, Trend};
use eog_core::incident::Neighbour;
use eog_core::{ContextPacket, EntityId, EvidenceId, EvidenceKind, Finding, Message, Timestamp};

use super::ExploreClaim;
use crate::phases::names::Names;

/// What the numbers and names of one question stand for. No template sees it.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) entity: EntityId,
    /// In the order of the numbers, which begin with 1.
    pub(super) cited: Vec<Citable>,
    numbers: BTreeMap<EvidenceId, u32>,
    /// What is shown in full, of whatever entity: outside systems are named in it.
    shown: BTreeMap<EvidenceId, Finding>,
    /// Every entity that may be named.
    names: Names,
    pub(super) neighbours: Vec<Neighbour>,
    /// The ways that findings describe.
    routes: Vec<Route>,
    /// How many pages of evidence there are after what is shown.
    pub(super) pages_left: u32,
    /// How many searches may still be asked for.
    pub(super) queries_left: u32,
    /// The last time any alert became active, if alerts are known.
    pub(super) last_onset: Option<Timestamp>,
    /// Whether the kinds of evidence that show harm were recorded of the entity: then silence speaks for it.
    pub(super) is_watched: bool,
    /// Whether a neighbour's message explains this entity.
    pub(super) is_explained: bool,
}

/// A piece of evidence with a number.
#[derive(Clone, Debug)]
pub(super) struct Citable {
    pub(super) id: EvidenceId,
    /// Whether its text stands among the evidence, rather than only its number in a message.
    pub(super) is_listed: bool,
    /// Whether it stands in the case file.
    pub(super) is_in_case_file: bool,
    /// What is known of it, if it is evidence of the entity itself.
    pub(super) own: Option<Facts>,
    /// Whether it says that a fault experiment ran, of whatever entity: a schedule owns what runs.
    pub(super) is_run: bool,
}

/// What the checks ask about a local finding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) kind: EvidenceKind,
    pub(super) signal: Signal,
    trend: Trend,
    time: EvidenceTime,
}

impl Facts {
    pub(super) fn start(&self) -> Timestamp {
        self.time.start()
    }

    /// A change that can be a cause. A restart is an effect.
    pub(super) fn is_change(&self) -> bool {
        self.kind == EvidenceKind::Change && self.signal != Signal::Restart
    }

    /// A hard failure, or a fault experiment that ran.
    pub(super) fn is_failure(&self) -> bool {
        let recorded = !matches!(self.kind, EvidenceKind::Change | EvidenceKind::Note);
        let hard = [Signal::Exhaustion, Signal::Availability, Signal::Experiment];
        recorded && hard.contains(&self.signal) && self.trend != Trend::Steady || self.is_run()
    }

    /// A fault experiment that ran, rather than one that is defined.
    pub(super) fn is_run(&self) -> bool {
        self.signal == Signal::Experiment
            && !matches!(self.kind, EvidenceKind::Change | EvidenceKind::Note)
    }

    /// A sign that the entity does worse.
    pub(super) fn is_harm(&self) -> bool {
        use Signal::{Availability, Errors, Exhaustion, Latency, Output, Saturation};
        let recorded = !matches!(self.kind, EvidenceKind::Change | EvidenceKind::Note);
        let worse = match self.signal {
            Errors | Latency | Saturation | Exhaustion => self.trend == Trend::Rising,
            Availability => self.trend != Trend::Steady,
            Output => self.trend == Trend::Falling,
            _ => false,
        };
        recorded && worse
    }
}

impl Subject {
    /// A subject that may name what a packet names, before anything is numbered.
    pub(super) fn of(packet: &ContextPacket) -> Self {
        let mut subject = Self {
            entity: packet.entity.clone(),
            cited: Vec::new(),
            numbers: BTreeMap::new(),
            shown: BTreeMap::new(),
            names: Names::default(),
            neighbours: packet.neighbours.clone(),
            routes: packet.context.routes.clone(),
            pages_left: packet.context.pages_left,
            queries_left: packet.queries_left,
            last_onset: None,
            is_watched: packet.context.coverage.as_ref().is_some_and(|coverage| {
                let shows_harm = [EvidenceKind::Metric, EvidenceKind::Log, EvidenceKind::Span];
                coverage.own.iter().any(|kind| shows_harm.contains(kind))
            }),
            is_explained: packet.inbox.iter().any(|message| {
                message.belief.claims.iter().any(|claim| claim.effect == packet.entity)
            }),
        };
        subject.names.add(&packet.entity);
        packet.neighbours.iter().for_each(|neighbour| subject.names.add(&neighbour.entity));
        packet.context.named().iter().for_each(|entity| subject.names.add(entity));
        for Message { sender, belief } in &packet.inbox {
            subject.names.add(sender);
            for claim in &belief.claims {
                // An outside system is named by what quotes it.
                if !claim.outside {
                    subject.names.add(&claim.cause);
                }
                subject.names.add(&claim.effect);
            }
        }
        let in_case_file = packet.case_file.iter().flat_map(|file| &file.findings);
        let shown = packet.context.findings.iter().chain(&packet.quoted).chain(in_case_file);
        subject.shown = shown.map(|finding| (finding.id().clone(), finding.clone())).collect();
        subject
    }

    /// Allows an entity to be named.
    pub(super) fn name(&mut self, entity: &EntityId) {
        self.names.add(entity);
    }

    /// The number of a finding of the case file.
    pub(super) fn number_in_case_file(&mut self, finding: &Finding) -> u32 {
        let number = self.number_finding(finding);
        if let Some(citable) = self.cited.last_mut().filter(|last| last.id == *finding.id()) {
            citable.is_in_case_file = true;
        }
        number
    }

    /// The number of a local finding.
    pub(super) fn number_finding(&mut self, finding: &Finding) -> u32 {
        let facts = Facts {
            kind: finding.kind,
            signal: finding.signal,
            trend: finding.trend,
            time: finding.time,
        };
        let own = (finding.entity == self.entity).then_some(facts);
        let id = finding.id().clone();
        self.number(Citable {
            id,
            is_listed: true,
            is_in_case_file: false,
            own,
            is_run: facts.is_run(),
        })
    }

    /// The number of evidence that a message cites.
    pub(super) fn number_cited(&mut self, id: &EvidenceId) -> u32 {
        let id = id.clone();
        self.number(Citable {
            id,
            is_listed: false,
            is_in_case_file: false,
            own: None,
            is_run: false,
        })
    }

    fn number(&mut self, citable: Citable) -> u32 {
        if let Some(number) = self.numbers.get(&citable.id) {
            return *number;
        }
        let id = citable.id.clone();
        self.cited.push(citable);
        let number = u32::try_from(self.cited.len()).unwrap_or(u32::MAX);
        self.numbers.insert(id, number);
        number
    }

    /// The number that a piece of evidence has, if it is listed.
    pub(super) fn number_of(&self, id: &EvidenceId) -> Option<u32> {
        self.numbers.get(id).copied()
    }

    /// What a number stands for.
    pub(super) fn get(&self, number: u32) -> Option<&Citable> {
        self.cited.get((number as usize).checked_sub(1)?)
    }

    /// The local findings among numbers, with their numbers. Others are passed over.
    pub(super) fn own(&self, numbers: impl IntoIterator<Item = u32>) -> Vec<(u32, Facts)> {
        let own = |number| self.get(number)?.own.map(|facts| (number, facts));
        numbers.into_iter().filter_map(own).collect()
    }

    /// Whether a cited finding describes a way with a hop from a cause right to an effect.
    pub(super) fn leads(&self, numbers: &[u32], cause: &EntityId, effect: &EntityId) -> bool {
        let cited = |route: &&Route| self.cites(numbers, route);
        self.routes.iter().filter(cited).any(|route| route.leads(cause, effect))
    }

    /// The way from a cause to an effect that do not stand side by side, with the finding that describes
    /// it: one that is cited, if any is.
    pub(super) fn way(
        &self,
        numbers: &[u32],
        cause: &EntityId,
        effect: &EntityId,
    ) -> Option<(&EvidenceId, &[EntityId])> {
        let is_neighbour = |other: &EntityId| {
            *other != self.entity && self.neighbours.iter().any(|it| it.entity == *other)
        };
        if is_neighbour(cause) || is_neighbour(effect) {
            return None;
        }
        let between = |route: &'_ Route| {
            let start = route.hops.iter().position(|hop| hop == cause)?;
            let end = start + route.hops.get(start..)?.iter().position(|hop| hop == effect)?;
            (end > start + 1).then_some(start..end + 1)
        };
        let mut found: Vec<_> =
            self.routes.iter().filter_map(|route| Some((route, between(route)?))).collect();
        found.sort_by_key(|(route, hops)| (!self.cites(numbers, route), hops.len()));
        let (route, hops) = found.into_iter().next()?;
        Some((&route.finding, route.hops.get(hops)?))
    }

    fn cites(&self, numbers: &[u32], route: &Route) -> bool {
        self.numbers.get(&route.finding).is_some_and(|number| numbers.contains(number))
    }

    /// The cause that a claim names: an entity, or an outside system that a line which the claim cites quotes; and whether it
    /// is outside.
    ///
    /// # Errors
    /// What is wrong with the name.
    pub(super) fn cause(&self, claim: &ExploreClaim) -> Result<(EntityId, bool), String> {
        let name = claim.cause.as_str();
        let problem = match self.resolve(name) {
            Ok(entity) => return Ok((entity.clone(), false)),
            Err(problem) => problem,
        };
        let cited = claim.evidence.iter().filter_map(|number| self.get(*number));
        let mut shown = cited.filter_map(|citable| self.shown.get(&citable.id));
        match EntityId::new(name) {
            Ok(system) if !self.names.is_shown(name) && shown.any(|it| it.quotes(name)) => {
                Ok((system, true))
            }
            _ => Err(format!("{problem}; an outside system must be named in a line that is cited")),
        }
    }

    /// The entity of a name.
    ///
    /// # Errors
    /// What is wrong with the name, and which there are.
    pub(super) fn resolve(&self, name: &str) -> Result<&EntityId, String> {
        self.names.resolve(name)
    }
}

pub(super) fn touches(claim: &eog_core::Claim, entity: &EntityId) -> bool {
    claim.cause == *entity || claim.effect == *entity
}
