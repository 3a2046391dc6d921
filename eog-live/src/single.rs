//! The one investigation of a command, from its start until the command ends.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use eog::{BoxFuture, BudgetKind, CallRecorder, EntityId, StopReason, Timestamp};
use eog_page::Row;
use eog_report::{Report, Step};
use eog_session::run::Cancel;
use eog_session::source::{Opened, Word, Words, keep_words};
use eog_session::watched::{Phase, Watched};
use tokio::sync::Notify;

use crate::{Host, Standing};

/// The id of the one investigation.
const ID: &str = "run";

/// The one investigation of a command. Clones share it.
#[derive(Clone)]
pub struct Single(Arc<Shared>);

struct Shared {
    /// When the command began it, or resumed it.
    began: Timestamp,
    source: Opened,
    watched: Arc<Watched>,
    recorder: CallRecorder,
    state: Mutex<State>,
    /// Remarks are kept one after the other.
    keeping: tokio::sync::Mutex<()>,
    wanted: Notify,
}

#[derive(Default)]
struct State {
    /// The control of the run that goes on.
    steering: Option<Cancel>,
    /// The result of the last run.
    result: Option<(Report, Vec<Step>)>,
    /// Entities with remarks made after the run had ended.
    news: BTreeSet<EntityId>,
    /// Entities with remarks made while it ran: it may be cancelled before it takes them in.
    remarked: BTreeSet<EntityId>,
    wants_more: bool,
}

impl Single {
    /// An investigation of this source, whose remarks this recorder keeps.
    pub fn new(source: Opened, recorder: CallRecorder) -> Self {
        Self(Arc::new(Shared {
            began: Timestamp::now(),
            source,
            watched: Arc::new(Watched::default()),
            recorder,
            state: Mutex::default(),
            keeping: tokio::sync::Mutex::default(),
            wanted: Notify::new(),
        }))
    }

    /// The listener of its progress.
    pub fn watched(&self) -> Arc<Watched> {
        self.0.watched.clone()
    }

    /// A run begins, or goes on, which this controls. It knows the remarks so far.
    pub fn begin(&self, steering: Cancel) {
        let mut state = self.0.state();
        state.wants_more = false;
        state.remarked.clear();
        state.steering = Some(steering);
        drop(state);
        self.0.watched.begin();
    }

    /// The run has ended with this result.
    pub fn end(&self, report: Report, steps: Vec<Step>) {
        let (why, is_unfinished) = (report.stop.to_string(), is_unfinished(&report));
        let mut state = self.0.state();
        state.steering = None;
        if !matches!(report.stop, StopReason::Cancelled | StopReason::Deadline) {
            state.remarked.clear();
        }
        state.result = Some((report, steps));
        drop(state);
        self.0.watched.end(why, is_unfinished);
    }

    /// Waits until a client wants to go on, and returns the entities with new remarks.
    pub async fn wanted(&self) -> Vec<EntityId> {
        loop {
            let wanted = self.0.wanted.notified();
            {
                let mut state = self.0.state();
                if state.wants_more || !state.news.is_empty() {
                    let mut entities = std::mem::take(&mut state.news);
                    entities.append(&mut state.remarked);
                    state.wants_more = false;
                    return entities.into_iter().collect();
                }
            }
            wanted.await;
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn steering(&self) -> Option<Cancel> {
        self.state().steering.clone()
    }

    async fn remark(&self, entity: EntityId, word: Word) -> Result<(), String> {
        if !self.source.incident().topology.contains(&entity) {
            let near =
                eog_evidence::near_entities(&self.source.incident().topology, entity.as_str());
            return Err(match near.as_slice() {
                [] => "the incident has no such entity; use the name on the page".to_owned(),
                near => {
                    format!("the incident has no such entity; did you mean {}?", near.join(" or "))
                }
            });
        }
        if !self.watched.status().takes_words {
            return Err(
                "this controller takes no input while it runs; start again with what you know"
                    .to_owned(),
            );
        }
        let _turn = self.keeping.lock().await;
        let words = Words::from([(entity.clone(), word.clone())]);
        let kept = keep_words(&self.recorder, words).await;
        kept.map_err(|error| format!("your input cannot be stored: {error}"))?;
        self.watched.add_word(entity.clone(), word.clone());
        let taken = match self.steering() {
            Some(run) => run.add_word(entity.clone(), word).await,
            None => false,
        };
        let mut state = self.state();
        if taken {
            state.remarked.insert(entity);
        } else {
            // It has ended, or is just ending: it goes on with the remark.
            state.news.insert(entity);
            self.wanted.notify_one();
        }
        Ok(())
    }
}

/// Whether it can go on. A budget of policy calls is part of the ledger, and would end it again at once.
fn is_unfinished(report: &Report) -> bool {
    !matches!(
        report.stop,
        StopReason::Converged { .. }
            | StopReason::SearchExhausted { .. }
            | StopReason::BudgetExhausted { which: BudgetKind::Hops }
    )
}

impl Host for Single {
    fn rows(&self) -> Vec<Row> {
        let state = self.0.state();
        let result = state.result.as_ref().filter(|_| state.steering.is_none());
        let causes = |report: &Report| -> Vec<String> {
            let all = report.diagnosis.causes().flat_map(|group| &group.origins);
            all.map(ToString::to_string).collect()
        };
        let status = match result {
            None => "running",
            Some((report, _)) if is_unfinished(report) => "interrupted",
            Some(_) => "finished",
        };
        vec![Row {
            path: format!("/i/{ID}"),
            id: ID.to_owned(),
            name: self.0.source.incident().name.clone(),
            began: Some(self.0.began),
            status: status.to_owned(),
            confidence: result.map_or_else(String::new, |(report, _)| {
                report.diagnosis.conclusion.confidence.to_string()
            }),
            origins: result.map(|(report, _)| causes(report)).unwrap_or_default(),
        }]
    }

    fn watched(&self, id: &str) -> Option<Arc<Watched>> {
        (id == ID).then(|| self.watched())
    }

    fn standing(&self, _id: &str) -> Result<Standing, String> {
        let shared = &self.0;
        if shared.watched.status().phase != Phase::Running {
            let state = shared.state();
            if let Some((report, steps)) = &state.result {
                let (report, steps) = (report.clone(), steps.clone());
                drop(state);
                return Ok(Standing::new(report, steps, Some(&shared.source)));
            }
        }
        let ledger = shared.watched.ledger().map_err(|error| error.to_string())?;
        if ledger.is_empty() {
            return Err("Choosing where to start.".to_owned());
        }
        let finished = ledger.restore(|| None).map_err(|error| error.to_string())?;
        let mut report = Report::new(shared.source.incident().name.as_str(), finished.diagnosis());
        report.is_running = true;
        report.diagnosis.spent = shared.watched.status().spent;
        Ok(Standing::new(report, finished.steps(), Some(&shared.source)))
    }

    fn stop(&self, _id: &str) -> Result<(), String> {
        let run = self.0.steering().ok_or("it is not running")?;
        run.cancel();
        Ok(())
    }

    fn go_on<'a>(&'a self, _id: &'a str) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async {
            let mut state = self.0.state();
            if state.steering.is_some() {
                return Err("it is already running".to_owned());
            }
            state.wants_more = true;
            self.0.wanted.notify_one();
            Ok(())
        })
    }

    fn remark<'a>(
        &'a self,
        _id: &'a str,
        entity: EntityId,
        word: Word,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(self.0.remark(entity, word))
    }
}
