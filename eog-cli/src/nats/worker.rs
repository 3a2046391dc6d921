//! `eog worker`: takes investigations from the queue, one after the other.

use std::sync::Arc;
use std::time::Duration;

use crate::shown::clean_line;
use eog::DecisionMemory;
use eog_nats::{NatsError, Task};
use eog_session::judge::{Chosen, Policies as _};
use eog_session::run::Remembered;

use super::incidents::Incidents;
use super::order::Order;
use super::reach::Reached;
use super::say::go_on;
use super::state::{State, Status};
use super::work::{Outcome, Work, is_interrupted};
use crate::args;
use crate::error::{CliError, Exit};
use crate::interrupt::interrupted;
use crate::rules::choose;
use crate::runtime::runtime;

/// How long the queue is asked at a time. A signal is handled in between.
const ASKED: Duration = Duration::from_secs(1);
/// How long to wait while the cluster cannot be used.
const PAUSE: Duration = Duration::from_secs(5);

/// `eog worker`.
pub(crate) fn worker(arguments: &args::Worker) -> Result<Exit, CliError> {
    let chosen = choose(&arguments.judging)?.with_limits(arguments.limits());
    let reached = Reached::preparing(&arguments.nats)?;
    let chosen = spending(chosen, &reached, arguments)?;
    drop(interrupted());
    let name = name();
    let warn = |line: &str| eprintln!("{}", clean_line(&format!("eog: {line}")));
    let say = |line: &str| {
        if !arguments.quiet {
            warn(line);
        }
    };
    let silence = reached.queue.silence();
    if let Some(wanted) = arguments.nats.silence.filter(|wanted| *wanted != silence) {
        say(&format!(
            "note: the queue exists already, and a worker counts as dead after {} s of silence, not {}",
            silence.as_secs(),
            wanted.as_secs()
        ));
    }
    say(&format!("worker {name} is ready; policy {}; Ctrl-C ends it", chosen.name()));
    let memory = arguments.memory.then(|| DecisionMemory::on(reached.cluster.decisions()));
    let incidents = Incidents::new(arguments.reading.clone());
    let work = Work {
        reached: &reached,
        chosen: &chosen,
        arguments,
        name: &name,
        incidents: &incidents,
        memory: memory.clone(),
    };
    let mut is_unstored = false;
    let mut is_cut_off = false;
    while !is_interrupted() {
        match next(&reached, arguments) {
            Ok(Next::Task(task)) => {
                is_cut_off = false;
                if let Err(error) = one(&work, *task, &say, &warn) {
                    warn(&error.to_string());
                }
                let unstored = memory.as_ref().and_then(DecisionMemory::first_write_error);
                if let Some(error) = unstored.filter(|_| !is_unstored) {
                    is_unstored = true;
                    warn(&format!("a decision could not be stored in the memory: {error}"));
                }
            }
            Ok(Next::Nothing) => is_cut_off = false,
            Ok(Next::Empty) => break,
            Err(error) if passes(&error) => {
                if !is_cut_off {
                    warn(&format!("{error}; retrying"));
                }
                is_cut_off = true;
                pause()?;
            }
            Err(error) => {
                crate::memory::print(memory.as_ref().map(remembered).as_ref(), arguments.quiet);
                return Err(error.into());
            }
        }
    }
    crate::memory::print(memory.as_ref().map(remembered).as_ref(), arguments.quiet);
    Ok(Exit::Diagnosed)
}

/// What the memory was good for.
fn remembered(memory: &DecisionMemory) -> Remembered {
    let (first_write_error, first_damage) = (memory.first_write_error(), memory.first_damage());
    Remembered { figures: memory.figures(), first_write_error, first_damage }
}

/// The policy, with the account named on the command line.
fn spending(
    chosen: Chosen,
    reached: &Reached,
    arguments: &args::Worker,
) -> Result<Chosen, CliError> {
    let Some(account) = &arguments.account else { return Ok(chosen) };
    if !chosen.settings.asks_models() {
        let reason = "--account has no effect, because no language model is used; omit it";
        return Err(CliError::Usage(reason.to_owned()));
    }
    let purse = reached.cluster.purse(&account.parse()?, chosen.budget()?);
    Ok(chosen.spending_from(Arc::new(purse)))
}

/// What the queue has.
enum Next {
    Task(Box<Task>),
    Nothing,
    /// Nothing waits, nothing is under way, and then the worker is to end.
    Empty,
}

fn next(reached: &Reached, arguments: &args::Worker) -> Result<Next, NatsError> {
    if let Some(task) = reached.queue.take(ASKED)? {
        return Ok(Next::Task(Box::new(task)));
    }
    match arguments.until_empty && reached.queue.waiting()? == 0 {
        true => Ok(Next::Empty),
        false => Ok(Next::Nothing),
    }
}

/// Works on one investigation, and says what became of it. `warn` is for what is said even when quiet.
fn one(
    work: &Work<'_>,
    task: Task,
    say: &dyn Fn(&str),
    warn: &dyn Fn(&str),
) -> Result<(), CliError> {
    let (id, attempts) = (task.id().clone(), task.attempts());
    let register = &work.reached.register;
    let set = |state: &State| -> Result<(), CliError> {
        register.set_state(&id, &state.written()?)?;
        Ok(())
    };
    if is_interrupted() {
        return Ok(task.hand_back(Duration::ZERO)?);
    }
    let order = Order::read(task.order());
    let outcome = match &order {
        Ok(order) => {
            set(&State::new(Status::Running, work.name, attempts, String::new()))?;
            let again = if attempts > 1 { " again" } else { "" };
            say(&format!("{id}: taken{again}"));
            work.on(&id, order, attempts)
        }
        Err(error) => Outcome::Back { note: error.to_string(), after: PAUSE * 6 },
    };
    match outcome {
        Outcome::Ended(state, received) => {
            set(&state)?;
            task.done()?;
            let say = if state.status == Status::Failed { warn } else { say };
            say(&format!("{id}: {}", summary(&state)));
            // What was said since the register was last read found it in the queue.
            if let (Ok(order), Some(_)) = (&order, said_since(work.reached, &id, received)?) {
                go_on(work.reached, &id, order)?;
            }
        }
        Outcome::Back { note, after } => {
            warn(&format!("{id}: returned to the queue: {note}"));
            set(&State::new(Status::Waiting, work.name, attempts, note))?;
            task.hand_back(after)?;
        }
        // Neither is for this worker to say anything about to the queue.
        Outcome::Taken => say(&format!("{id}: another worker has it")),
        Outcome::Gone => {
            say(&format!("{id}: it was removed"));
            task.done()?;
        }
    }
    Ok(())
}

fn said_since(
    reached: &Reached,
    id: &eog_nats::InvestigationId,
    received: u64,
) -> Result<Option<()>, NatsError> {
    match received {
        u64::MAX => Ok(None),
        received => Ok(reached.register.said(id, received)?.map(drop)),
    }
}

/// How it ended, in one line.
pub(super) fn summary(state: &State) -> String {
    let mut line = state.status.as_str().to_owned();
    if !state.confidence.is_empty() {
        line += &format!(", {}", state.confidence);
    }
    if !state.origins.is_empty() {
        line += &format!(": {}", state.origins.join(", "));
    } else if !state.note.is_empty() {
        line += &format!(": {}", state.note);
    }
    line
}

/// Whether the cluster may answer later.
fn passes(error: &NatsError) -> bool {
    matches!(error, NatsError::NoLeader { .. } | NatsError::Unreachable { .. })
}

fn pause() -> Result<(), CliError> {
    runtime()?.block_on(async {
        tokio::select! {
            () = interrupted() => {}
            () = tokio::time::sleep(PAUSE) => {}
        }
    });
    Ok(())
}

/// What this worker is called in lists: its machine and its process.
fn name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let host = host.or_else(|| std::env::var("HOSTNAME").ok());
    let host = host.as_deref().map_or("worker", str::trim);
    format!("{host}:{}", std::process::id())
}
