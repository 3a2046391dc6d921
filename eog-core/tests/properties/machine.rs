//! Arbitrary sequences of inputs, wrong ones among them: no panic, wrong inputs change nothing, and
//! what remains is the ledger that answers in dispatch order give.

use std::num::NonZeroU32;

use eog_core::controller::Concurrency;
use eog_core::ledger::Observation;
use eog_core::machine::{Inquiry, Ticket};
use eog_core::{
    BudgetKind, Config, Controller, Decision, Failure, Input, Label, LocalContext, Output,
    StopReason, Usage,
};
use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

use super::cases;
use super::determinism::{course_of, observations};
use super::drive::{Question, run_on};
use eog_testkit::prop::{World, worlds};

/// One thing a caller does, right or wrong.
#[derive(Clone, Debug)]
enum Move {
    /// Takes one output.
    Poll,
    /// Says that the next entry is stored.
    Store,
    /// Answers one of the open questions.
    Answer(usize),
    Observe(Observation),
    Cancel,
    Deadline,
    Resume,
    /// Spends tokens outside the evaluations.
    Spend(u64),
    /// Answers what was answered before.
    AnswerAgain(usize),
    /// Gives a context for a decision, or the reverse.
    AnswerWrongly(usize, bool),
    /// Says that another entry is stored.
    StoreWrongly(u64),
}

/// What the test knows without the controller: the input, and which stops were called for.
#[derive(Clone, Debug)]
struct Known {
    world: World,
    config: Config,
    cancelled: bool,
    deadline: bool,
    reopened: bool,
}

struct Calls;

impl ReferenceStateMachine for Calls {
    type State = Known;
    type Transition = Move;

    fn init_state() -> BoxedStrategy<Known> {
        let hops = prop::option::weighted(0.2, 0..10u64);
        let tokens = prop::option::weighted(0.3, 1..20u64);
        (worlds(true), 1..4u32, hops, tokens)
            .prop_map(|(world, width, hops, tokens)| {
                let width = NonZeroU32::new(width).expect("is not 0");
                let budget = eog_core::Budget { hops, tokens, ..eog_core::Budget::default() };
                let concurrency = Concurrency::Window(width);
                let config = Config { concurrency, budget, ..Config::default() };
                Known { world, config, cancelled: false, deadline: false, reopened: false }
            })
            .boxed()
    }

    fn transitions(_: &Known) -> BoxedStrategy<Move> {
        prop_oneof![
            20 => Just(Move::Poll),
            12 => Just(Move::Store),
            12 => any::<usize>().prop_map(Move::Answer),
            3 => observations().prop_map(Move::Observe),
            1 => prop::bool::weighted(0.3).prop_map(|c| if c { Move::Cancel } else { Move::Poll }),
            1 => prop::bool::weighted(0.3).prop_map(|d| if d { Move::Deadline } else { Move::Poll }),
            2 => any::<usize>().prop_map(Move::AnswerAgain),
            2 => (any::<usize>(), any::<bool>()).prop_map(|(w, f)| Move::AnswerWrongly(w, f)),
            1 => (0..20u64).prop_map(Move::StoreWrongly),
            1 => Just(Move::Resume),
            1 => (0..9u64).prop_map(Move::Spend),
        ]
        .boxed()
    }

    fn apply(mut state: Known, transition: &Move) -> Known {
        // An observation after the end re-opens the run, whatever ended it.
        let stopped = state.cancelled || state.deadline;
        state.reopened |= stopped && matches!(transition, Move::Observe(_) | Move::Resume);
        state.cancelled |= matches!(transition, Move::Cancel);
        state.deadline |= matches!(transition, Move::Deadline);
        state
    }
}

/// The controller with everything its caller has to keep.
struct Caller {
    controller: Controller,
    world: World,
    open: Vec<Question>,
    answered: Vec<Ticket>,
    handed_out: u64,
    stored: u64,
    /// The number of entries when the run was first asked to stop.
    stopped_at: Option<usize>,
    stop: Option<StopReason>,
}

impl Caller {
    fn poll(&mut self) {
        match self.controller.poll() {
            Output::Append(entry) => {
                assert_eq!(entry.seq, self.handed_out, "entries come in order");
                self.handed_out += 1;
            }
            Output::Ask { ticket, question: Inquiry::Context(request) } => {
                let twin = self.open.iter().any(|question| match question {
                    Question::Context(_, other) => other.entity == request.entity,
                    Question::Decision(_, packet) => packet.entity == request.entity,
                });
                assert!(!twin, "{} is under evaluation twice", request.entity);
                self.open.push(Question::Context(ticket, request));
            }
            Output::Ask { ticket, question: Inquiry::Decision(packet) } => {
                self.open.push(Question::Decision(ticket, packet));
            }
            Output::Done(stop) => {
                assert_eq!(self.stored, self.controller.ledger().next_seq());
                assert!(self.open.is_empty(), "done, but {:?} is open", self.open);
                self.stop = Some(stop);
            }
            _ => {}
        }
    }

    fn store(&mut self) {
        if self.stored < self.handed_out {
            self.accept(Input::Appended(self.stored));
            self.stored += 1;
        }
    }

    fn answer(&mut self, which: usize) {
        if !self.open.is_empty() {
            let question = self.open.remove(which % self.open.len());
            self.answered.push(question.ticket());
            let input = question.answer(&mut &self.world);
            self.accept(input);
        }
    }

    fn accept(&mut self, input: Input) {
        self.stop = None;
        self.controller.handle(input).expect("a right input is taken");
    }

    /// A wrong input is refused, and everything is as before.
    fn refuse(&mut self, input: &Input) {
        let before = format!("{:?}", self.controller);
        let result = self.controller.handle(input.clone());
        assert!(result.is_err(), "{input:?} was taken");
        assert_eq!(before, format!("{:?}", self.controller), "{input:?} left a trace");
    }
}

fn decision() -> Decision {
    Decision::new(Label::Healthy, "out of turn")
}

impl StateMachineTest for Caller {
    type SystemUnderTest = Self;
    type Reference = Calls;

    fn init_test(known: &Known) -> Self {
        Self {
            controller: Controller::new(known.config.clone(), known.world.case.clone()),
            world: known.world.clone(),
            open: Vec::new(),
            answered: Vec::new(),
            handed_out: 0,
            stored: 0,
            stopped_at: None,
            stop: None,
        }
    }

    fn apply(mut caller: Self, _: &Known, transition: Move) -> Self {
        match transition {
            Move::Poll => caller.poll(),
            Move::Store => caller.store(),
            Move::Answer(which) => caller.answer(which),
            Move::Observe(observation) => {
                let removes_nothing = match &observation {
                    Observation::EdgeRemoved(edge) => {
                        !caller.controller.topology().edges().any(|other| other == edge)
                    }
                    _ => false,
                };
                let input = Input::Observe(observation);
                if removes_nothing { caller.refuse(&input) } else { caller.accept(input) }
            }
            Move::Cancel | Move::Deadline => {
                caller.stopped_at.get_or_insert(caller.controller.ledger().entries().len());
                if matches!(transition, Move::Cancel) {
                    caller.answered.extend(caller.open.drain(..).map(|question| question.ticket()));
                    caller.accept(Input::Cancel);
                } else {
                    caller.accept(Input::Deadline);
                }
            }
            Move::Resume => caller.accept(Input::Resume),
            Move::Spend(tokens_in) => {
                caller.stopped_at.get_or_insert(caller.controller.ledger().entries().len());
                caller.accept(Input::Spent(Usage { tokens_in, ..Usage::default() }));
            }
            Move::AnswerAgain(which) if !caller.answered.is_empty() => {
                let ticket = caller.answered[which % caller.answered.len()];
                if caller.open.iter().any(|question| question.ticket() == ticket) {
                    return caller;
                }
                caller.refuse(&Input::context(ticket, LocalContext::default()));
                caller.refuse(&Input::decision(ticket, decision(), Usage::default()));
                caller.refuse(&Input::Failed(ticket, Failure::context("late")));
            }
            Move::AnswerWrongly(which, failing) if !caller.open.is_empty() => {
                let wrong = match (&caller.open[which % caller.open.len()], failing) {
                    (Question::Context(ticket, _), false) => {
                        Input::decision(*ticket, decision(), Usage::default())
                    }
                    (Question::Context(ticket, _), true) => {
                        Input::Failed(*ticket, Failure::policy("was not asked"))
                    }
                    (Question::Decision(ticket, _), false) => {
                        Input::context(*ticket, LocalContext::default())
                    }
                    (Question::Decision(ticket, _), true) => {
                        Input::Failed(*ticket, Failure::context("was not asked"))
                    }
                };
                caller.refuse(&wrong);
            }
            Move::StoreWrongly(entry) if entry != caller.stored || entry >= caller.handed_out => {
                caller.refuse(&Input::Appended(entry));
            }
            Move::AnswerAgain(_) | Move::AnswerWrongly(..) | Move::StoreWrongly(_) => {}
        }
        caller
    }

    fn check_invariants(caller: &Self, known: &Known) {
        let controller = &caller.controller;
        let Concurrency::Window(width) = known.config.concurrency else { return };
        assert!(caller.open.len() <= width.get() as usize);
        assert_eq!(controller.ledger().verify(), Ok(()));
        let evaluations = controller.ledger().evaluations().count() as u64;
        assert_eq!(controller.spent().evaluations, evaluations);
        let spent = controller.spent();
        assert_eq!(spent.hops + spent.remembered, spent.evaluations);
        let waiting: Vec<_> = controller.active().map(|(entity, _)| entity).collect();
        let distinct: std::collections::BTreeSet<_> = waiting.iter().collect();
        assert_eq!(waiting.len(), distinct.len(), "an entity waits twice");
        match caller.stop {
            None => {}
            Some(StopReason::Cancelled) => assert!(known.cancelled),
            Some(StopReason::Deadline) => {
                assert!(known.deadline && (known.reopened || !known.cancelled));
            }
            Some(StopReason::BudgetExhausted { which: BudgetKind::Tokens }) => {
                assert!(Some(spent.usage.tokens_in) >= known.config.budget.tokens);
            }
            Some(StopReason::BudgetExhausted { .. }) => {
                assert!(known.reopened || (!known.deadline && !known.cancelled));
                assert_eq!(Some(spent.hops), known.config.budget.hops);
            }
            Some(stop) => assert!(stop.is_at_rest() && waiting.is_empty(), "{stop}"),
        }
    }

    fn teardown(mut caller: Self, known: Known) {
        // Whatever was left open is finished.
        for _ in 0..20_000 {
            caller.poll();
            if caller.stop.is_some() {
                break;
            }
            caller.store();
            if caller.stored == caller.controller.ledger().next_seq() {
                let first = (0..caller.open.len()).min_by_key(|&at| caller.open[at].ticket());
                if let (Some(first), Output::Idle) = (first, caller.controller.clone().poll()) {
                    caller.answer(first);
                }
            }
        }
        assert!(caller.stop.is_some(), "the run does not end");
        Self::check_invariants(&caller, &known);

        // Whatever happened, every part of the ledger leads to a controller.
        let whole = caller.controller.ledger().next_seq();
        for part in [1, whole / 3, whole / 2, whole - 1, whole] {
            let part = caller.controller.ledger().before(part.max(1));
            let restored = Controller::restore(&part).expect("it follows");
            assert_eq!(restored.ledger(), &part);
        }

        // The same observations at the same positions give the same entries. After a stop no more:
        // what is then committed meets entities that still wait, where a run that goes on has
        // dispatched them.
        let ledger = caller.controller.ledger();
        let course = course_of(ledger);
        let (other, _) =
            run_on(&known.config, &known.world.case, &mut &known.world, 20_000, &course);
        let comparable = caller.stopped_at.unwrap_or(ledger.entries().len());
        for (position, entry) in ledger.entries().iter().take(comparable).enumerate() {
            assert_eq!(Some(entry), other.ledger().entries().get(position));
        }
        if caller.stopped_at.is_none() {
            assert_eq!(ledger.entries().len(), other.ledger().entries().len());
        }
    }
}

prop_state_machine! {
    #![proptest_config(cases(40))]

    #[test]
    fn any_sequence_of_calls_is_survived(sequential 1..80 => Caller);
}
