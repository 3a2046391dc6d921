//! The linear loop: a second machine on the same engine, journal and replay.

mod body;
mod config;
mod notes;

use std::sync::Arc;

pub use body::{LinearBody, LinearStep};
pub use config::{LeadOrder, LinearConfig};

use crate::belief::Belief;
use crate::budget::{AnsweredBy, Spent, Usage};
use crate::contract::packet::ContextPacket;
use crate::contract::{AbductivePolicy, ContextContract, ContextRequest, Failure};
use crate::diagnosis::Diagnosis;
use crate::diagnosis::conclude::Conclusion;
use crate::digest::Digest;
use crate::ids::EntityId;
use crate::incident::case::Case;
use crate::incident::window::Window;
use crate::ledger::body::Body;
use crate::ledger::record::{Forked, Opened, RecordedAnswer};
use crate::ledger::restore_error::RestoreError;
use crate::ledger::{Entry, Ledger};
use crate::machine::emission::Emission;
use crate::machine::exchange::{Input, InputError, Output, Ticket};
use crate::machine::inquiry::{ContextAndPolicy, Inquiry, Reply};
use crate::machine::judgements::{Judged, Judgements};
use crate::machine::question::Question;
use crate::machine::{Machine, OfMachine};
use crate::stop::{StopReason, Unreachable};
use notes::{Note, Notes};

/// A linear loop in the manner of ReAct: one entity after the other, none evaluated twice on
/// purpose. The baseline that [`Controller`](crate::Controller) is compared with.
///
/// - It follows the newest lead (a claimed cause or a proposal), then older leads, then the starts. When
///   nothing is left it ends.
/// - What it remembers of others is the inbox of the next question, as if they had sent messages, and
///   one evaluation shows it what others see in several ([`ContextRequest::whole`]). So it lacks no
///   information that other controllers have; what it noted before is never revised.
/// - It answers with the first origin it sees ([`LinearConfig::commits`]), or, at the end, with all
///   that it remembers.
///
/// One question is open at a time, and no entry says that it was stopped: stopped and resumed, its
/// ledger is that of a run that never was. It takes no observations.
#[derive(Clone, Debug)]
pub struct Linear {
    config: LinearConfig,
    window: Window,
    starts: Vec<EntityId>,
    judgements: Judgements,
    notes: Notes,
    ledger: Ledger<LinearBody>,
    spent: Spent,
    underway: Option<Underway>,
    next_ticket: u64,
    emission: Emission,
    /// The reason of the caller not to begin anything more, if any.
    halted: Option<StopReason>,
}

/// The one question that is open.
#[derive(Clone, Debug)]
struct Underway {
    ticket: Ticket,
    question: Inquiry,
    /// Handed out.
    asked: bool,
}

impl Linear {
    /// The beliefs that are remembered, by entity name.
    pub fn beliefs(&self) -> impl Iterator<Item = (&EntityId, &Belief)> {
        self.judgements.beliefs()
    }

    fn empty(config: LinearConfig, case: &Case) -> Self {
        Self {
            window: case.window,
            starts: case.seeds.iter().map(|seed| seed.entity.clone()).collect(),
            judgements: Judgements::new(case, config.checks),
            config,
            notes: Notes::default(),
            ledger: Ledger::default(),
            spent: Spent::default(),
            underway: None,
            next_ticket: 0,
            emission: Emission::default(),
            halted: None,
        }
    }

    /// The entities that it could evaluate, the next first.
    fn candidates(&self) -> Vec<EntityId> {
        if self.config.commits && self.judgements.has_origin() {
            return Vec::new();
        }
        let mut candidates = self.notes.leads();
        candidates.retain(|lead| self.judgements.is_known(lead));
        for start in &self.starts {
            if !self.notes.knows(start) && !candidates.contains(start) {
                candidates.push(start.clone());
            }
        }
        match &self.config.order {
            LeadOrder::Newest => {}
            LeadOrder::Permuted { seed } => candidates
                .sort_by_cached_key(|entity| Digest::of(&(seed, self.ledger.next_seq(), entity))),
            LeadOrder::Ranked(ranks) => {
                candidates.sort_by_key(|entity| ranks.get(entity).copied().unwrap_or(u64::MAX));
            }
        }
        candidates
    }

    /// Why nothing more may be begun, although there are entities left to evaluate.
    fn withheld(&self) -> Option<StopReason> {
        let calls = self.spent.hops + self.spent.remembered;
        let which = self.config.budget.exhausted(calls, self.spent.usage);
        which.map(|which| StopReason::BudgetExhausted { which }).or(self.halted)
    }

    /// Whether the next step repeats the one before.
    fn repeats_now(&self) -> bool {
        let answered = self.config.commits && self.judgements.has_origin();
        let again = self.notes.latest().is_some_and(|note| note.entry.is_some());
        again && !answered && self.config.repeats.contains(&self.spent.evaluations)
    }

    /// Begins the next step, if there is one: a question, or an entry of a step that repeats the one
    /// before, for which no policy is called.
    fn begin(&mut self) {
        if self.repeats_now() {
            return self.repeat_latest();
        }
        let Some(entity) = self.candidates().into_iter().next() else { return };
        let around = self.judgements.neighbours(&entity).into_iter().map(|it| it.entity);
        self.ask(Inquiry::Context(ContextRequest::whole(entity, self.window, around)));
    }

    fn ask(&mut self, question: Inquiry) {
        let ticket = Ticket::new(self.next_ticket);
        self.next_ticket += 1;
        self.underway = Some(Underway { ticket, question, asked: false });
    }

    /// The same question has the same answer, and no policy is called.
    fn repeat_latest(&mut self) {
        let Some(note) = self.notes.latest().cloned() else { return };
        if let Some(entry) = note.entry {
            let judged = note.belief.clone().into();
            self.spent.count(AnsweredBy::Memory);
            self.commit(None, RecordedAnswer::Remembered { entry }, judged, note);
        }
    }

    /// Takes the answer to a question.
    fn take(
        &mut self,
        ticket: Ticket,
        result: Result<Reply, Failure>,
        usage: Usage,
    ) -> Result<(), InputError> {
        let open = self.underway.as_ref().filter(|open| open.ticket == ticket);
        let question = open.ok_or(InputError::UnknownTicket(ticket))?.question.clone();
        match (question, result) {
            (Inquiry::Context(request), Ok(Reply::Context(context))) => {
                let entity = request.entity;
                let neighbours = self.judgements.neighbours(&entity);
                let (window, inbox) = (self.window, self.notes.inbox(&entity));
                let reach = self.config.reach.then(|| self.judgements.reach(&entity));
                let own = self.config.alerts.then(|| self.judgements.anomalies(&entity));
                let packet = ContextPacket {
                    entity,
                    window,
                    context,
                    neighbours,
                    inbox,
                    anomalies: own.unwrap_or_default(),
                    notice: None,
                    former: None,
                    hints: Vec::new(),
                    quoted: Vec::new(),
                    reach,
                    case_file: self.judgements.case_file(),
                    queries_left: 0,
                };
                self.ask(Inquiry::Decision(Arc::new(packet)));
            }
            (Inquiry::Decision(packet), Ok(Reply::Decision(decision))) => {
                let entity = packet.entity.clone();
                self.step(entity, Some(&packet), RecordedAnswer::Decided(decision));
            }
            (Inquiry::Context(request), Err(failure)) if failure.kind.is_context() => {
                self.step(request.entity, None, RecordedAnswer::Failed(failure.as_recorded()));
            }
            (Inquiry::Decision(packet), Err(failure)) if !failure.kind.is_context() => {
                let answer = RecordedAnswer::Failed(failure.as_recorded());
                self.step(packet.entity.clone(), Some(&packet), answer);
            }
            (question, result) => {
                let given = match result {
                    Ok(Reply::Context(_)) => "context",
                    Ok(Reply::Decision(_)) => "decision",
                    Err(_) => "failure of this kind",
                };
                return Err(InputError::NotExpected { entity: question.key().clone(), given });
            }
        }
        self.spent.usage += usage;
        Ok(())
    }

    /// Judges an entity by what was answered.
    fn step(&mut self, entity: EntityId, packet: Option<&ContextPacket>, answer: RecordedAnswer) {
        self.underway = None;
        let seq = self.ledger.next_seq();
        if let Some(packet) = packet {
            self.judgements.learn(&entity, &packet.context, seq);
        }
        let (by, judged) = match &answer {
            RecordedAnswer::Decided(decision) => {
                (AnsweredBy::Policy, self.judgements.judge(&entity, packet, decision))
            }
            RecordedAnswer::Failed(failure) => {
                (AnsweredBy::None, self.judgements.fail(&entity, failure))
            }
            RecordedAnswer::Remembered { .. } => return,
        };
        self.spent.count(by);
        let note = Note::of(entity, seq, judged.belief.clone(), &answer);
        self.commit(packet, answer, judged, note);
    }

    /// Records a step, notes it, and forgets what exceeds the limit.
    fn commit(
        &mut self,
        packet: Option<&ContextPacket>,
        answer: RecordedAnswer,
        judged: Judged,
        note: Note,
    ) {
        let entity = note.entity.clone();
        let context = packet.map(|packet| self.ledger.record_context(&packet.context));
        let packet = packet.map(Digest::of);
        let forgotten = self.notes.add(note, self.config.memory);
        for entity in &forgotten {
            self.judgements.forget(entity);
        }
        let Judged { belief, refusals, warnings } = judged;
        let step =
            LinearStep { entity, context, packet, answer, refusals, warnings, belief, forgotten };
        self.ledger.append(LinearBody::Stepped(Box::new(step)));
    }

    /// Derives a recorded step again: gives the questions that come next what the entry records.
    fn derive(&mut self, seq: u64, step: &LinearStep) -> Result<(), RestoreError> {
        self.begin();
        let mut replies = Vec::new();
        if let Some(record) = &step.context {
            let known = || self.ledger.context(&record.digest);
            let context = record.body.as_ref().or_else(known).cloned();
            let missing = || RestoreError::differs(seq, "a recorded context", record.digest);
            replies.push(Ok(Reply::Context(context.ok_or_else(missing)?)));
        }
        match &step.answer {
            RecordedAnswer::Decided(decision) => {
                replies.push(Ok(Reply::Decision(decision.clone())));
            }
            RecordedAnswer::Failed(failure) => replies.push(Err(failure.clone())),
            RecordedAnswer::Remembered { .. } => {}
        }
        for reply in replies {
            let open = self.underway.as_ref().map(|open| open.ticket);
            let ticket = open.unwrap_or(Ticket::new(self.next_ticket));
            let taken = self.take(ticket, reply, Usage::default());
            taken.map_err(|error| RestoreError::differs(seq, "an answer that fits", error))?;
        }
        Ok(())
    }
}

impl OfMachine for LinearBody {
    type Machine = Linear;
}

impl OfMachine for LinearConfig {
    type Machine = Linear;
}

impl Machine for Linear {
    type Body = LinearBody;
    type Question = Inquiry;
    type Settings = LinearConfig;
    type ByPolicy<C: ContextContract, P: AbductivePolicy> = ContextAndPolicy<C, P>;

    const NAME: &'static str = "linear";

    fn by_policy<C: ContextContract, P: AbductivePolicy>(
        contract: C,
        policy: P,
    ) -> ContextAndPolicy<C, P> {
        ContextAndPolicy { contract, policy }
    }

    fn open(settings: LinearConfig, case: Case) -> Self {
        let mut linear = Self::empty(settings.clone(), &case);
        let opened = Opened { format: LinearBody::FORMAT, config: settings, case };
        linear.ledger.append(LinearBody::LinearOpened(Box::new(opened)));
        linear
    }

    fn poll(&mut self) -> Output<LinearBody, Inquiry> {
        let settled = self.emission.is_settled(&self.ledger);
        if settled && self.underway.is_none() && self.stop().is_none() {
            self.begin();
        }
        if let Some(entry) = self.emission.next(&self.ledger) {
            return Output::Append(entry);
        }
        match &mut self.underway {
            Some(open) if settled && !open.asked => {
                open.asked = true;
                Output::Ask { ticket: open.ticket, question: open.question.clone() }
            }
            _ => self.stop().map_or(Output::Idle, Output::Done),
        }
    }

    fn handle(&mut self, input: Input) -> Result<(), InputError> {
        match input {
            Input::Appended(seq) => self.emission.acknowledge(seq)?,
            Input::Answer(ticket, reply, usage) => self.take(ticket, Ok(reply), usage)?,
            Input::Failed(ticket, Failure { exhausted: Some(which), usage, .. })
                if self.underway.as_ref().is_some_and(|open| open.ticket == ticket) =>
            {
                // It was not answered, so it is asked again when the loop goes on.
                self.underway = None;
                self.spent.usage += usage;
                self.halted = Some(StopReason::BudgetExhausted { which });
            }
            Input::Failed(ticket, failure) => {
                let usage = failure.usage;
                self.take(ticket, Err(failure), usage)?;
            }
            Input::Observe(_) => {
                return Err(InputError::TakesNoObservations { machine: Self::NAME });
            }
            Input::Cancel => {
                self.underway = None;
                self.halted = Some(StopReason::Cancelled);
            }
            Input::Deadline => {
                self.halted.get_or_insert(StopReason::Deadline);
            }
            Input::Spent(usage) => self.spent.usage += usage,
            Input::Resume => self.halted = None,
        }
        Ok(())
    }

    fn ledger(&self) -> &Ledger<LinearBody> {
        &self.ledger
    }

    fn settings(&self) -> &LinearConfig {
        &self.config
    }

    fn spent(&self) -> Spent {
        self.spent
    }

    fn stop(&self) -> Option<StopReason> {
        if self.underway.is_some() || !self.emission.is_settled(&self.ledger) {
            None
        } else if self.candidates().is_empty() && !self.repeats_now() {
            Some(Unreachable::or_converged(&self.ledger, 0))
        } else {
            self.withheld()
        }
    }

    fn conclusion(&self) -> Conclusion {
        let unreachable = Unreachable::of(&self.ledger);
        Conclusion { unreachable, ..self.judgements.conclusion() }
    }

    fn diagnosis(&self) -> Diagnosis {
        let waiting = self.candidates().len();
        let mut diagnosis =
            self.judgements.diagnosis(&self.ledger, waiting, self.spent, self.stop());
        diagnosis.conclusion.unreachable = Unreachable::of(&self.ledger);
        diagnosis
    }

    fn in_flight(&self) -> u32 {
        u32::from(self.underway.is_some())
    }

    fn reopen(first: &Arc<Entry<LinearBody>>) -> Result<Self, RestoreError> {
        let LinearBody::LinearOpened(opened) = &first.body else {
            return Err(RestoreError::NotOpened);
        };
        let mut linear = Self::empty(opened.config.clone(), &opened.case);
        linear.ledger.expect(first);
        linear.ledger.append(first.body.clone());
        linear.ledger.must_end_with(first)?;
        linear.emission = Emission::settled(&linear.ledger);
        Ok(linear)
    }

    fn repeat(
        &mut self,
        entry: &Arc<Entry<LinearBody>>,
        _next: Option<&Arc<Entry<LinearBody>>>,
    ) -> Result<(), RestoreError> {
        self.ledger.expect(entry);
        match &entry.body {
            LinearBody::LinearOpened(_) => {
                return Err(RestoreError::differs(entry.seq, "a step", "an opening"));
            }
            LinearBody::Stepped(step) => self.derive(entry.seq, step)?,
            LinearBody::Forked(forked) => self.depart(forked.as_ref().clone()),
        }
        self.ledger.must_end_with(entry)?;
        self.emission = Emission::settled(&self.ledger);
        Ok(())
    }

    fn depart(&mut self, forked: Forked<LinearConfig>) {
        self.underway = None;
        self.halted = None;
        if let Some(config) = &forked.changes.config {
            self.config = config.clone();
        }
        if let Some(case_file) = &forked.changes.case_file {
            self.judgements.show(Arc::clone(case_file));
        }
        self.ledger.append(LinearBody::Forked(Box::new(forked)));
        self.emission = Emission::default();
    }
}
