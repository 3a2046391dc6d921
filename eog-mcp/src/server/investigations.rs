//! Running an investigation for a client: begin it, go on with it, ask about what is missing.

use eog::{Controller, EntityId, Event, EventStream, Finished, Journal, StopReason};
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock};
use tokio_util::sync::CancellationToken;

use super::answers::Investigated;
use super::arguments::Investigate;
use super::ask::Gap;
use super::course::{Cancel, Steering};
use super::error::Problem;
use super::handler::{Asked, Voice};
use super::store::{Began, Ended, InvestigationId};
use super::{Server, words};

/// What is to be run.
pub(super) enum Work {
    /// A new investigation.
    Begin(Box<Investigate>),
    /// One that is stored, with what people answered meanwhile.
    GoOn { id: InvestigationId, seconds: Option<u64>, answers: Answers },
}

/// What people said of entities; nothing where they skipped.
pub(super) type Answers = Vec<(EntityId, Option<String>)>;

/// A run that has ended.
pub(super) struct Run {
    pub(super) id: InvestigationId,
    pub(super) answer: Investigated,
    pub(super) text: String,
    /// What a person may know more about.
    pub(super) questions: Vec<Gap>,
}

impl Run {
    fn into_response(self) -> Result<CallToolResponse, Problem> {
        result(&self.answer, self.text).map(CallToolResponse::Complete)
    }
}

/// Structured content with readable text beside it.
pub(super) fn result(
    answer: &impl serde::Serialize,
    text: String,
) -> Result<CallToolResult, Problem> {
    let value = serde_json::to_value(answer)
        .map_err(|error| Problem::Store(format!("the answer cannot be written: {error}")))?;
    let mut result = CallToolResult::structured(value);
    result.content = vec![ContentBlock::text(text)];
    Ok(result)
}

/// Cancels a run when nobody waits for it any more.
struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Server {
    /// Runs to the end, and asks about what is missing if that is wanted and possible.
    pub(super) async fn conduct(
        &self,
        mut work: Work,
        ask: bool,
        voice: &mut Voice,
        cancel: &CancellationToken,
    ) -> Result<CallToolResponse, Problem> {
        loop {
            let run = self.run(work, voice, cancel).await?;
            if !ask || run.questions.is_empty() {
                return run.into_response();
            }
            let asked = voice.ask(&run.id, &run.questions, self.0.settings.answer_time);
            let answers = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(Problem::Cancelled(Some(run.id))),
                asked = asked => match asked? {
                    Asked::Nobody => return run.into_response(),
                    Asked::Later(question) => return Ok(CallToolResponse::InputRequired(question)),
                    Asked::Now(answers) => answers,
                },
            };
            if answers.iter().all(|(_, answer)| answer.is_none()) {
                self.note(&run.id, &answers)?;
                return run.into_response();
            }
            work = Work::GoOn { id: run.id, seconds: None, answers };
        }
    }

    /// One run, on a thread of its own, with its progress told as it comes.
    async fn run(
        &self,
        work: Work,
        voice: &mut Voice,
        cancel: &CancellationToken,
    ) -> Result<Run, Problem> {
        if self.0.stop.is_cancelled() {
            return Err(Problem::GoingDown);
        }
        let turn = self.0.runner.turn(cancel).await?;
        let (steering, mut stream) = Steering::new();
        let watched = CancelOnDrop(steering.cancel());
        let server = self.clone();
        let mut done = self.0.tracker.spawn_blocking(move || {
            let _turn = turn;
            server.run_here(work, steering)
        });
        follow(&mut stream, voice, cancel, &watched.0, &self.0.stop).await;
        let run = tokio::select! {
            biased;
            run = &mut done => run,
            () = either(cancel, &self.0.stop) => {
                watched.0.cancel();
                (&mut done).await
            }
        };
        let run = run.map_err(|error| {
            Problem::Store(format!("the investigation broke off, which is a defect: {error}"))
        })?;
        drop(watched);
        run
    }

    /// How an investigation stands: from its journal, whether it runs, has ended or was killed.
    pub(super) fn standing(&self, id: &InvestigationId) -> Result<(Began, Finished), Problem> {
        let began = self.0.store.began(id)?;
        let ledger = Journal::read(self.0.store.journal(id))?.ledger;
        if ledger.entries().is_empty() {
            return Err(Problem::Empty(id.clone()));
        }
        let mut controller = Controller::restore(&ledger).map_err(|error| unusable(id, &error))?;
        // A ledger holds what was committed, not why it ends.
        let stop = match controller.poll() {
            eog::Output::Done(stop) => stop,
            _ => StopReason::Cancelled,
        };
        Ok((began, Finished::new(stop, controller)))
    }

    /// `running`, `finished` or `interrupted`.
    pub(super) fn status(&self, id: &InvestigationId, ended: Option<&Ended>) -> &'static str {
        match ended {
            _ if self.0.runner.is_live(id) => "running",
            Some(ended) if !ended.is_unfinished => "finished",
            _ => "interrupted",
        }
    }
}

pub(super) fn unusable(id: &InvestigationId, error: &eog::RestoreError) -> Problem {
    Problem::Store(format!("{id}: its ledger cannot be used: {error}"))
}

/// Tells each entry, and hands cancellation on, until the run has ended.
async fn follow(
    stream: &mut EventStream,
    voice: &mut Voice,
    cancel: &CancellationToken,
    run: &Cancel,
    stop: &CancellationToken,
) {
    let mut is_cancelled = false;
    loop {
        tokio::select! {
            biased;
            () = either(cancel, stop), if !is_cancelled => {
                is_cancelled = true;
                run.cancel();
            }
            event = stream.next() => match event {
                Some(Event::Appended(entry)) if !is_cancelled => {
                    voice.progress(entry.seq, words::step(&entry)).await;
                }
                Some(_) => {}
                None => return,
            },
        }
    }
}

async fn either(one: &CancellationToken, other: &CancellationToken) {
    tokio::select! {
        () = one.cancelled() => {}
        () = other.cancelled() => {}
    }
}
