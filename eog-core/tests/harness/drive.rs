//! Drives a controller through a case: context from the evidence table, decisions from the rules.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use eog_core::contract::Route;
use eog_core::machine::{Inquiry, Ticket};
use eog_core::{
    ContextPacket, ContextRequest, Controller, Decision, EntityId, EvidenceId, Failure, Input,
    LocalContext, Output, StopReason, Usage,
};

use super::script::{Condition, Event, Happening, Moment, Run, Script};

/// More inputs than any case needs.
const INPUT_LIMIT: usize = 5_000;

pub(crate) struct Finished {
    pub(crate) controller: Controller,
    /// Every reason it stopped for, in order; more than one when an observation re-opened it.
    pub(crate) stops: Vec<StopReason>,
}

/// Runs a case to its end.
pub(crate) fn drive(script: &Script, run: &Run) -> Result<Finished, String> {
    let mut driver = Driver {
        script,
        controller: Controller::new(run.config.clone(), script.case.clone()),
        requests: Vec::new(),
        numbers: BTreeMap::new(),
        observed: BTreeSet::new(),
        pending: script.events.iter().collect(),
    };
    let mut stops = Vec::new();
    for _ in 0..INPUT_LIMIT {
        match driver.controller.poll() {
            Output::Append(entry) => {
                driver.give(Input::Appended(entry.seq))?;
                driver.happen(Moment::After(entry.seq))?;
            }
            Output::Ask { ticket, question: Inquiry::Context(request) } => {
                driver.numbers.insert(ticket, driver.numbers.len() as u64 + 1);
                driver.requests.push(Request::Fetch(ticket, request));
            }
            Output::Ask { ticket, question: Inquiry::Decision(packet) } => {
                driver.requests.push(Request::Decide(ticket, packet));
            }
            Output::Idle => {
                let newest = driver.requests.len().checked_sub(1);
                let newest = newest.ok_or("the controller waits, and nothing was asked")?;
                let next = driver.requests.remove(if run.newest_first { newest } else { 0 });
                driver.answer(next)?;
            }
            Output::Done(stop) => {
                stops.push(stop);
                if !driver.happen(Moment::AtEnd)? {
                    return driver.finish(stops);
                }
            }
        }
    }
    Err(format!("still running after {INPUT_LIMIT} outputs"))
}

enum Request {
    Fetch(Ticket, ContextRequest),
    Decide(Ticket, Arc<ContextPacket>),
}

struct Driver<'s> {
    script: &'s Script,
    controller: Controller,
    requests: Vec<Request>,
    /// The evaluation of each ticket.
    numbers: BTreeMap<Ticket, u64>,
    observed: BTreeSet<EvidenceId>,
    pending: Vec<&'s Event>,
}

impl Driver<'_> {
    fn give(&mut self, input: Input) -> Result<(), String> {
        self.controller.handle(input).map_err(|error| error.to_string())
    }

    /// Lets happen what is due at a moment: everything after an entry, one thing at an end.
    fn happen(&mut self, moment: Moment) -> Result<bool, String> {
        let mut happened = false;
        while let Some(position) = self.pending.iter().position(|e| e.moment == moment) {
            happened = true;
            match &self.pending.remove(position).what {
                Happening::Observe(observation, evidence) => {
                    self.observed.extend(evidence.clone());
                    self.give(Input::Observe(observation.clone()))?;
                }
                Happening::Cancel => {
                    self.requests.clear();
                    self.give(Input::Cancel)?;
                }
                Happening::Deadline => self.give(Input::Deadline)?,
            }
            if moment == Moment::AtEnd {
                break;
            }
        }
        Ok(happened)
    }

    fn answer(&mut self, request: Request) -> Result<(), String> {
        let (ticket, is_context) = match &request {
            Request::Fetch(ticket, _) => (*ticket, true),
            Request::Decide(ticket, _) => (*ticket, false),
        };
        let number = self.numbers.get(&ticket).copied().unwrap_or_default();
        let failure = self.script.failures.get(&number).filter(|kind| {
            is_context == matches!(kind, eog_core::contract::FailureKind::ContextFailed)
        });
        if let Some(kind) = failure {
            return self.give(Input::Failed(ticket, Failure::new(*kind, "scripted")));
        }
        match request {
            Request::Fetch(_, request) => {
                let context = self.context(&request);
                self.give(Input::context(ticket, context))
            }
            Request::Decide(_, packet) => {
                let decision = decide(self.script, &packet)?;
                let usage =
                    Usage { model_calls: 1, tokens_in: 90, tokens_out: 10, cost_micro_usd: 5 };
                self.give(Input::decision(ticket, decision, usage))
            }
        }
    }

    fn context(&self, request: &ContextRequest) -> LocalContext {
        if let Some(query) = &request.query {
            let all = self.script.evidence.iter();
            let of = all.filter(|evidence| evidence.finding.entity == query.entity);
            return query.answer(of.map(|evidence| evidence.finding.clone()), None);
        }
        let visible = self.script.evidence.iter().filter(|evidence| {
            evidence.finding.entity == request.entity
                && request.visit >= evidence.from_visit
                && (evidence.when_new.is_empty()
                    || !evidence.when_new.is_disjoint(&request.changed_neighbours))
                && (!evidence.observed_only || self.observed.contains(evidence.finding.id()))
        });
        let visible: Vec<_> = visible.collect();
        let pages = visible.iter().map(|evidence| evidence.page).max().unwrap_or(1);
        let on_page = || visible.iter().filter(|evidence| evidence.page == request.page);
        let routes = on_page().filter(|evidence| !evidence.route.is_empty());
        LocalContext {
            findings: on_page().map(|evidence| evidence.finding.clone()).collect(),
            routes: routes
                .map(|evidence| Route {
                    finding: evidence.finding.id().clone(),
                    hops: evidence.route.clone(),
                })
                .collect(),
            pages_left: pages.saturating_sub(request.page),
            ..LocalContext::default()
        }
    }

    fn finish(self, stops: Vec<StopReason>) -> Result<Finished, String> {
        // Whatever stopped it and was observed meanwhile, the ledger alone rebuilds it.
        let restored = Controller::restore(self.controller.ledger());
        let restored = restored.map_err(|error| error.to_string())?;
        if restored.ledger() != self.controller.ledger() {
            return Err("the restored ledger is another".to_owned());
        }
        if self.pending.is_empty() {
            Ok(Finished { controller: self.controller, stops })
        } else {
            Err(format!("{} events never came about", self.pending.len()))
        }
    }
}

/// The decision of the first rule that fits the packet.
fn decide(script: &Script, packet: &ContextPacket) -> Result<Decision, String> {
    let fits = |condition: &Condition| holds(condition, packet);
    let mut rules = script.rules.iter().filter(|rule| rule.entity == packet.entity);
    let rule = rules.find(|rule| rule.conditions.iter().all(fits));
    rule.map(|rule| rule.decision.clone()).ok_or_else(|| {
        let names: Vec<&str> = packet.context.findings.iter().map(|f| f.query.as_str()).collect();
        let senders: Vec<&str> = packet.inbox.iter().map(|m| m.sender.as_str()).collect();
        format!("no rule on {} fits; it sees {names:?}, has messages of {senders:?}", packet.entity)
    })
}

fn holds(condition: &Condition, packet: &ContextPacket) -> bool {
    let sees = |id: &EvidenceId| packet.context.findings.iter().any(|f| f.id() == id);
    let message = |sender: &EntityId| packet.message_from(sender);
    match condition {
        Condition::Sees(id) => sees(id),
        Condition::Lacks(id) => !sees(id),
        Condition::Received(sender) => message(sender).is_some(),
        Condition::Missing(sender) => message(sender).is_none(),
        Condition::Near(entity) => packet.neighbours.iter().any(|n| n.entity == *entity),
        Condition::Alerts(name) => packet.anomalies.iter().any(|anomaly| anomaly.name == *name),
        Condition::Was(label) => {
            packet.former.as_ref().is_some_and(|former| former.belief.label == *label)
        }
        Condition::News(sender) => {
            packet.former.as_ref().is_some_and(|former| former.new_from.contains(sender))
        }
        Condition::Hint(entity) => packet.hints.iter().any(|hint| hint.entity == *entity),
        Condition::Quotes(id) => packet.quoted.iter().any(|finding| finding.id() == id),
        Condition::Asked(reason, count) => packet
            .notice
            .as_ref()
            .is_some_and(|notice| (notice.reason, notice.count) == (*reason, *count)),
        Condition::Rival(name) => {
            packet.notice.as_ref().is_some_and(|notice| notice.rivals.contains(name))
        }
        Condition::Beside(name) => packet
            .notice
            .as_ref()
            .is_some_and(|notice| notice.others.iter().any(|other| other.entity == *name)),
        Condition::Unlinked(name) => packet
            .notice
            .as_ref()
            .is_some_and(|notice| notice.unlinked.iter().any(|other| other.entity == *name)),
        Condition::Is(sender, label) => message(sender).is_some_and(|b| b.label == *label),
        Condition::Claims(sender, cause, effect) => message(sender).is_some_and(|belief| {
            belief.claims.iter().any(|c| c.cause == *cause && c.effect == *effect)
        }),
    }
}
