//! What a packet includes, beyond the context that goes into it.

use std::collections::{BTreeMap, BTreeSet};

use super::active::Reason;
use super::config::Config;
use super::message;
use crate::contract::packet::{
    ContextPacket, EvidenceQuery, FormerBelief, Hint, LocalContext, Notice, Reach,
};
use crate::evidence::Finding;
use crate::ids::{EntityId, EvidenceId};
use crate::incident::topology::Neighbour;
use crate::ledger::Ledger;
use crate::state::{Broadcast, Node, State};

/// What a packet is made from: what the controller knows, and what the dispatch of its entity fixes.
pub(super) struct Asked<'a> {
    pub(super) config: &'a Config,
    pub(super) state: &'a State,
    pub(super) ledger: &'a Ledger,
    pub(super) entity: &'a EntityId,
    /// Why it is evaluated again, if nothing about it changed.
    pub(super) notice: Option<&'a Notice>,
    pub(super) neighbours: Vec<Neighbour>,
    /// The messages by sender, each as it was sent.
    pub(super) inbox: Vec<(&'a EntityId, &'a Broadcast)>,
    /// The senders of new messages, by name.
    pub(super) new_from: Vec<EntityId>,
    /// How many anomalies may be shown, the first ones.
    pub(super) anomalies: usize,
    /// Which anomalies its effects can reach.
    pub(super) reach: Option<Reach>,
    pub(super) page: Page,
}

/// Which page of a context is asked for, and what the packet holds beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// How many pages come before it.
    pub(super) before: u32,
    /// The entry whose context holds the other pages that were given. Pages once given stay in the
    /// packets of their entity.
    pub(super) others: Option<u64>,
    /// What to search for in place of a page, with the answer counted as one.
    pub(super) query: Option<EvidenceQuery>,
}

impl Page {
    /// What an entity is to be shown next, given why it is active.
    pub(super) fn next(node: Option<&Node>, reason: Option<Reason>, ledger: &Ledger) -> Self {
        let (pages, paged) = node.map_or((0, None), |node| (node.pages, node.paged));
        let query = match (reason, paged) {
            (Some(Reason::Page | Reason::Query), None) => return Self::default(),
            (Some(Reason::Page), _) => None,
            (Some(Reason::Query), Some(asked)) => {
                ledger.decided(asked).and_then(|decision| decision.query.as_deref().cloned())
            }
            _ => return Self { before: 0, others: paged.filter(|_| pages > 0), query: None },
        };
        Self { before: pages.saturating_add(1), others: paged, query }
    }
}

impl Asked<'_> {
    /// The packet that a page of a context goes into.
    pub(super) fn packet(self, page: LocalContext) -> ContextPacket {
        let mut context = match self.other_pages() {
            Some(others) if self.page.query.is_some() => others.clone().with_found(page),
            Some(others) if self.page.before > 0 => others.clone().followed_by(page),
            Some(others) => page.followed_by(others.clone()),
            None => page,
        };
        if self.config.briefing.as_ref().is_none_or(|briefing| briefing.pages == 0) {
            // Packets offer no entity that cannot be asked about.
            context.pages_left = 0;
        }
        let hints = self.hints();
        let quoted = self.quoted(&context);
        let former = self.former();
        let asked = self.state.get(self.entity).map_or(0, |node| node.page_turns);
        let queries = self.config.briefing.as_ref().map_or(0, |briefing| briefing.queries);
        ContextPacket {
            entity: self.entity.clone(),
            window: self.state.window,
            inbox: self.inbox.iter().map(|(from, sent)| message(from, &sent.belief)).collect(),
            anomalies: self.state.anomalies_of(self.entity, self.anomalies),
            notice: self.notice.cloned(),
            neighbours: self.neighbours,
            context,
            former,
            hints,
            quoted,
            reach: self.reach,
            case_file: self.state.case_file.clone(),
            queries_left: queries.saturating_sub(asked),
        }
    }

    fn other_pages(&self) -> Option<&LocalContext> {
        let seen = self.ledger.evaluation(self.page.others?)?.context.as_ref()?;
        self.ledger.context(&seen.digest)
    }

    fn former(&self) -> Option<FormerBelief> {
        let is_included = self.config.briefing.as_ref().is_some_and(|briefing| briefing.former);
        // Where nothing is new, the question is the same as before, and may be remembered.
        let is_news = !self.new_from.is_empty() || self.notice.is_some();
        let node = self.state.get(self.entity).filter(|_| is_included && is_news);
        let node = node.filter(|node| node.settled)?;
        Some(FormerBelief { belief: node.belief.clone()?, new_from: self.new_from.clone() })
    }

    fn hints(&self) -> Vec<Hint> {
        if !self.config.briefing.as_ref().is_some_and(|briefing| briefing.hints) {
            return Vec::new();
        }
        let mut anomalies: BTreeMap<&EntityId, u32> = BTreeMap::new();
        for anomaly in self.state.anomalies.iter().take(self.anomalies) {
            *anomalies.entry(&anomaly.entity).or_default() += 1;
        }
        if anomalies.is_empty() && self.state.changes.is_empty() {
            return Vec::new();
        }
        // A neighbour that is related in several ways is listed as often.
        let neighbours: BTreeSet<&EntityId> = self.neighbours.iter().map(|it| &it.entity).collect();
        let hint = |entity: &EntityId| {
            let anomalies = anomalies.get(entity).copied().unwrap_or_default();
            let changes = self.state.changes.get(entity).copied().unwrap_or_default();
            let entity = entity.clone();
            (anomalies + changes > 0).then_some(Hint { entity, anomalies, changes })
        };
        neighbours.into_iter().filter_map(hint).collect()
    }

    /// Findings that messages rest on: first those of claims about the entity, and of new messages
    /// before others. What the senders had from others is not found in their contexts.
    fn quoted(&self, context: &LocalContext) -> Vec<Finding> {
        let most = self.config.briefing.as_ref().map_or(0, |briefing| briefing.quotes as usize);
        if most == 0 || self.inbox.is_empty() {
            return Vec::new();
        }
        let mut known: BTreeSet<&EvidenceId> = context.findings.iter().map(Finding::id).collect();
        let (new, read): (Vec<_>, Vec<_>) =
            self.inbox.iter().partition(|(sender, _)| self.new_from.binary_search(*sender).is_ok());
        let mut quoted = Vec::new();
        for (sender, sent) in new.into_iter().chain(read) {
            let own_claims = sent.belief.claims.iter().filter(|claim| {
                let ends = [&claim.cause, &claim.effect];
                ends.contains(&self.entity)
            });
            let cited = own_claims.flat_map(|claim| &claim.evidence).chain(&sent.belief.evidence);
            let mut of_sender = 0;
            for id in cited {
                if quoted.len() >= most {
                    return quoted;
                }
                if of_sender >= QUOTES_OF_ONE || known.contains(id) {
                    continue;
                }
                if let Some(found) = self.finding(sender, sent, id) {
                    known.insert(id);
                    quoted.push(found.clone());
                    of_sender += 1;
                }
            }
        }
        quoted
    }

    /// A finding by its id, in what a sender had seen when it sent a message.
    fn finding(&self, sender: &EntityId, sent: &Broadcast, id: &EvidenceId) -> Option<&Finding> {
        let learnt = &self.state.get(sender)?.learnt;
        let until = learnt.iter().rev().filter(|entry| **entry <= sent.entry);
        until.copied().find_map(|entry| {
            let seen = self.ledger.evaluation(entry)?.context.as_ref()?;
            self.ledger.context(&seen.digest)?.findings.iter().find(|it| it.id() == id)
        })
    }
}

/// At most this many findings of one message are quoted.
const QUOTES_OF_ONE: usize = 3;
