//! What all workers spend together, on a simulated stream in virtual time: they change the sum at once, die
//! with calls under way, and get lost, late, old, duplicated and reordered answers. Two invariants:
//!
//! 1. never more is spent than the budget;
//! 2. the sum is never smaller than what was spent.
//!
//! A fault that is planted into the stream must be found by each, and so must an account that adds without a
//! condition.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic as tests may")]

mod support;

use std::sync::{Arc, Mutex};

use eog::purse::Short;
use eog::{Budget, Usage};
use eog_nats::{Account, Body, NatsError, Record, Subject};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use support::stream::{Plant, Simulated};

/// Of calls and tokens.
const BUDGET: Budget =
    Budget { hops: None, model_calls: Some(12), tokens: Some(700), cost_micro_usd: None };

fn usage(tokens_in: u64) -> Usage {
    Usage { model_calls: 1, tokens_in, ..Usage::default() }
}

/// An account, as workers see it.
trait Spends: Send + Sync {
    fn take(&self, most: Usage) -> Result<Result<(), Short>, NatsError>;
    fn settle(&self, taken: Usage, used: Usage) -> Result<(), NatsError>;
}

impl Spends for Account<Simulated> {
    fn take(&self, most: Usage) -> Result<Result<(), Short>, NatsError> {
        Account::take(self, &BUDGET, most)
    }

    fn settle(&self, taken: Usage, used: Usage) -> Result<(), NatsError> {
        Account::settle(self, taken, used)
    }
}

/// What an account must not be: it reads the sum, and writes another one.
struct Naive(Simulated);

impl Naive {
    fn change(&self, change: impl Fn(u64) -> Option<u64>) -> bool {
        let last = self.0.last().ok().flatten();
        let sum = last.as_ref().map_or(0, |last| match &last.record.body {
            Body::Inline(bytes) => std::str::from_utf8(bytes).unwrap().parse().unwrap(),
            Body::Block(_) => unreachable!("it is short"),
        });
        let Some(sum) = change(sum) else { return false };
        let (after, body) = (last.map_or(0, |last| last.sequence), sum.to_string());
        let record = Record { after, at: 0, write: body.clone(), body: Body::Inline(body.into()) };
        self.0.publish(after, &record).is_ok()
    }
}

impl Spends for Naive {
    fn take(&self, most: Usage) -> Result<Result<(), Short>, NatsError> {
        let fits = self.change(|sum| Some(sum + most.tokens_in).filter(|sum| *sum <= 700));
        let short = Short { kind: eog::BudgetKind::Tokens, limit: 700, left: 0, most: 0 };
        Ok(fits.then_some(()).ok_or(short))
    }

    fn settle(&self, taken: Usage, used: Usage) -> Result<(), NatsError> {
        self.change(|sum| Some(sum.saturating_sub(taken.tokens_in) + used.tokens_in));
        Ok(())
    }
}

/// What really is spent, wherever it is counted.
#[derive(Debug, Default)]
struct Truth {
    /// Of calls that have ended.
    used: Usage,
    /// The most of those under way, or whose worker died.
    open: Vec<Usage>,
    refused: usize,
    taken: usize,
}

impl Truth {
    fn whole(&self) -> Usage {
        let mut whole = self.used;
        self.open.iter().for_each(|most| whole += *most);
        whole
    }
}

/// One thing that a worker does.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Begins a call that may use so many tokens.
    Begin(u64),
    /// Ends the call that began first, with so many tokens less than it might have used.
    End(u64),
    /// Dies with all its calls, and is followed by another one.
    Die,
}

struct Workers<F> {
    stream: Simulated,
    connect: F,
    accounts: Vec<(Simulated, Arc<dyn Spends>)>,
    calls: Vec<Vec<Usage>>,
    truth: Arc<Mutex<Truth>>,
}

impl<F: Fn(Simulated, String) -> Arc<dyn Spends>> Workers<F> {
    fn new(stream: Simulated, connect: F) -> Self {
        let mut workers = Self {
            stream,
            connect,
            accounts: Vec::new(),
            calls: vec![Vec::new(); 3],
            truth: Arc::default(),
        };
        for who in 0..3 {
            let made = workers.one(who);
            workers.accounts.push(made);
        }
        workers
    }

    fn one(&self, who: usize) -> (Simulated, Arc<dyn Spends>) {
        let connection = self.stream.connect();
        let name = format!("worker-{who}-{}", self.stream.stream.lock().unwrap().log.len());
        let name = format!("{name}-{}", self.truth.lock().unwrap().open.len());
        (connection.clone(), (self.connect)(connection, name))
    }

    fn step(&mut self, who: usize, step: Step, rival: Option<u64>) -> Result<(), String> {
        if let Some(most) = rival {
            // Another worker begins a call while this one waits for the stream.
            let (other, truth) =
                (Arc::clone(&self.accounts[(who + 1) % 3].1), Arc::clone(&self.truth));
            let begin = move || {
                begin(&*other, &truth, usage(most));
            };
            self.stream.stream.lock().unwrap().rival = Some(Box::new(begin));
        }
        match step {
            Step::Begin(most) => {
                let most = usage(most);
                if begin(&*self.accounts[who].1, &self.truth, most) {
                    self.calls[who].push(most);
                }
            }
            Step::End(less) if !self.calls[who].is_empty() => {
                let most = self.calls[who].remove(0);
                let used = usage(most.tokens_in.saturating_sub(less));
                let settled = self.accounts[who].1.settle(most, used);
                let mut truth = self.truth.lock().unwrap();
                let at = truth.open.iter().position(|open| *open == most).unwrap();
                truth.open.remove(at);
                truth.used += used;
                drop(truth);
                drop(settled);
            }
            Step::End(_) => {}
            Step::Die => {
                self.accounts[who].0.die();
                self.calls[who].clear();
                self.accounts[who] = self.one(who);
            }
        }
        self.stream.stream.lock().unwrap().rival = None;
        let whole = self.truth.lock().unwrap().whole();
        match whole.model_calls <= 12 && whole.tokens_in <= 700 {
            true => Ok(()),
            false => Err(format!("more than the budget is spent: {whole:?}")),
        }
    }
}

/// Begins a call if the account allows it.
fn begin(account: &dyn Spends, truth: &Mutex<Truth>, most: Usage) -> bool {
    let taken = account.take(most);
    let mut truth = truth.lock().unwrap();
    match taken {
        Ok(Ok(())) => {
            truth.open.push(most);
            truth.taken += 1;
            true
        }
        Ok(Err(_)) => {
            truth.refused += 1;
            false
        }
        // Nothing is known, so nothing is begun.
        Err(_) => false,
    }
}

type Steps = Vec<(usize, Step, Option<u64>)>;

fn steps() -> impl Strategy<Value = (Steps, Vec<u8>)> {
    let step = prop_oneof![
        5 => (1..120_u64).prop_map(Step::Begin),
        4 => (0..120_u64).prop_map(Step::End),
        1 => Just(Step::Die),
    ];
    let rival = prop::option::weighted(0.4, 1..120_u64);
    let step = (0..3_usize, step, rival);
    (prop::collection::vec(step, 1..40), prop::collection::vec(any::<u8>(), 0..300))
}

/// Calls that were taken, calls that were refused, and what happened.
fn course(plant: Plant, kept: usize, steps: &Steps, draws: &[u8]) -> Result<[usize; 2], String> {
    let stream = Simulated::new(plant, draws.to_vec());
    stream.stream.lock().unwrap().kept = kept;
    let mut workers =
        Workers::new(stream.clone(), |stream, name| Arc::new(Account::new(stream, name)));
    for (who, step, rival) in steps {
        workers.step(*who, *step, *rival)?;
    }
    stream.calm();
    let truth = workers.truth.lock().unwrap();
    let whole = truth.whole();
    match Account::new(stream, "the-last".into()).spending() {
        Ok(found) => {
            let found = found.total;
            if found.model_calls < whole.model_calls || found.tokens_in < whole.tokens_in {
                return Err(format!("the sum is too small: {found:?}, and {whole:?} is spent"));
            }
        }
        // Where more was changed than is kept, further spending is refused.
        Err(NatsError::Damaged { .. }) if kept < usize::MAX => {}
        Err(error) => return Err(format!("the sum cannot be read: {error}")),
    }
    Ok([truth.taken, truth.refused])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_budget_holds_whatever_happens(
        (steps, draws) in steps(),
        plant in prop::sample::select(Plant::HARMLESS.to_vec()),
        kept in prop::sample::select(vec![usize::MAX, 64, 6]),
    ) {
        let spent = course(plant, kept, &steps, &draws);
        prop_assert!(spent.is_ok(), "{:?}", spent);
    }
}

/// The first error of so many courses that says this.
fn first(
    courses: usize,
    mut course: impl FnMut(&Steps, &[u8]) -> Result<(), String>,
    said: &str,
) -> Option<String> {
    let mut runner = TestRunner::deterministic();
    (0..courses).find_map(|_| {
        let (steps, draws) = steps().new_tree(&mut runner).unwrap().current();
        course(&steps, &draws).err().filter(|error| error.contains(said))
    })
}

/// A check that finds nothing proves nothing.
#[test]
fn every_planted_fault_is_found() {
    for invariant in ["more than the budget is spent", "the sum is too small"] {
        let forgets = first(
            2_000,
            |steps, draws| course(Plant::Forgets, usize::MAX, steps, draws).map(drop),
            invariant,
        );
        assert!(forgets.is_some(), "a stream that forgets is not found: {invariant}");
    }
    let naive = |steps: &Steps, draws: &[u8]| {
        let stream = Simulated::new(Plant::NoExpectation, draws.to_vec());
        let mut workers = Workers::new(stream, |stream, _| Arc::new(Naive(stream)));
        steps.iter().try_for_each(|(who, step, rival)| workers.step(*who, *step, *rival))
    };
    let found = first(2_000, naive, "more than the budget is spent");
    assert!(found.is_some(), "an account without a condition is not found");
}

/// What the property draws has to contain what it is about.
#[test]
fn calls_are_taken_and_refused() {
    let (mut taken, mut refused) = (0, 0);
    let none = first(
        300,
        |steps, draws| {
            let [more, fewer] = course(Plant::Nothing, usize::MAX, steps, draws)?;
            (taken, refused) = (taken + more, refused + fewer);
            Ok(())
        },
        "",
    );
    assert_eq!(none, None);
    assert!(taken > 750 && refused > 150, "{taken} taken, {refused} refused");
}
