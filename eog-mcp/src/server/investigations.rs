//! Running an investigation for a client: begin it, go on with it, ask about what is missing.

use std::sync::Arc;

use eog_session::controllers::AnyFinished;
use eog_session::run::{Cancel, Steering};
use eog_session::source::Words;
use eog_session::travel::{self, Read};
use eog_session::{Listener, Step};
use eog_sre::Stop;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::error::Problem;
use super::voice::{Asked, Voice};
use super::work::{Done, Work};
use super::{Server, words};
use eog_session::store::{Began, Ended, InvestigationId};

/// How an investigation stands.
pub(super) struct Standing {
    pub(super) began: Began,
    pub(super) read: Read,
    pub(super) finished: AnyFinished,
}

/// Hands the steps of a run on to the caller. A slow one misses some.
struct Steps(mpsc::Sender<(u64, String)>);

impl Listener for Steps {
    fn step(&self, step: &Step) {
        if let Step::Stored { seq, words, .. } = step {
            let _ = self.0.try_send((*seq, words::step(*seq, words)));
        }
    }
}

fn respond(done: Done) -> Result<CallToolResponse, Problem> {
    result(&done.answer, done.text).map(CallToolResponse::Complete)
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

/// Cancels a run when its caller is gone, and what is read for it.
struct CancelOnDrop(Cancel, CancellationToken);

impl CancelOnDrop {
    fn cancel(&self) {
        self.0.cancel();
        self.1.cancel();
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.cancel();
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
            if self.0.stop.is_cancelled() {
                return Err(Problem::GoingDown);
            }
            let run = self.run(work, Some(voice), cancel).await?;
            if !ask || run.questions.is_empty() {
                return respond(run);
            }
            let asked = voice.ask(&run.id, &run.questions, self.0.settings.answer_time);
            let answers = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(Problem::Cancelled(Some(run.id))),
                asked = asked => match asked? {
                    Asked::Unable => return respond(run),
                    Asked::Later(question) => return Ok(CallToolResponse::InputRequired(question)),
                    Asked::Now(answers) => answers,
                },
            };
            if answers.iter().all(|(_, answer)| answer.is_none()) {
                self.note(&run.id, &answers)?;
                return respond(run);
            }
            let said = Words::new();
            work = Work::GoOn { id: run.id, seconds: None, answers, said };
        }
    }

    /// One run, on a thread of its own, with its progress reported as it comes if the caller wants it.
    pub(super) async fn run(
        &self,
        work: Work,
        voice: Option<&mut Voice>,
        cancel: &CancellationToken,
    ) -> Result<Done, Problem> {
        let turn = self.0.runner.turn(cancel).await?;
        let (steering, cancelling) = Steering::new();
        let (steps, mut stream) = mpsc::channel(eog::EVENT_BUFFER);
        let gone = CancellationToken::new();
        let watched = CancelOnDrop(cancelling, gone.clone());
        let server = self.clone();
        let mut done = self.0.tracker.spawn_blocking(move || {
            let _turn = turn;
            server.run_here(work, steering, Arc::new(Steps(steps)), &gone)
        });
        follow(&mut stream, voice, cancel, &watched, &self.0.stop).await;
        let run = tokio::select! {
            biased;
            run = &mut done => run,
            () = either(cancel, &self.0.stop) => {
                watched.cancel();
                (&mut done).await
            }
        };
        let run = run.map_err(|error| {
            Problem::Store(format!("the investigation broke off, which is a defect: {error}"))
        })?;
        drop(watched);
        run
    }

    /// Ends the reading of what is no longer waited for: when this call is over, or the server.
    pub(super) fn gone(&self, call: &CancellationToken) -> Stop {
        let (call, server) = (call.clone(), self.0.stop.clone());
        Stop::when(move || call.is_cancelled() || server.is_cancelled())
    }

    /// How an investigation stands: from its journal, whether it runs, has ended or was killed.
    pub(super) fn standing(&self, id: &InvestigationId) -> Result<Standing, Problem> {
        let (began, read) = self.recorded(id)?;
        let finished = read.restore(|_| ()).map_err(|error| Problem::unusable(id, &error))?;
        Ok(Standing { began, read, finished })
    }

    /// How an investigation began, and what its journal holds.
    pub(super) fn recorded(&self, id: &InvestigationId) -> Result<(Began, Read), Problem> {
        let began = self.0.store.began(id)?;
        let read = travel::read_journal(&self.0.store.journal(id))?;
        match read.ledger.is_empty() {
            true => Err(Problem::Empty(id.clone())),
            false => Ok((began, read)),
        }
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

/// Reports each entry and forwards cancellation, until the run has ended.
async fn follow(
    stream: &mut mpsc::Receiver<(u64, String)>,
    mut voice: Option<&mut Voice>,
    cancel: &CancellationToken,
    run: &CancelOnDrop,
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
            step = stream.recv() => match step {
                Some((seq, words)) => if let (Some(voice), false) = (&mut voice, is_cancelled) {
                    voice.progress(seq, words).await;
                },
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
