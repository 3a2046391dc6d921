//! Investigations that a service has made, such as for alerts: of folders that it has recorded.

use std::path::{Path, PathBuf};

use eog::EntityId;
use eog::ledger::Observation;
use eog_report::Report;
use eog_session::Listener;
use eog_session::controllers::{AnyLedger, AnySettings};
use eog_session::run::MAX_OBSERVATIONS;
use eog_session::source::Words;
use eog_session::store::InvestigationId;
use serde_json::{Map, Value};

use super::Server;
use super::arguments::Investigate;
use super::course::BUDGET;
use super::error::Problem;
use super::work::{Begin, Done, Work};

/// An investigation that is to be made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Order {
    /// The folder of the incident, below a root.
    pub folder: PathBuf,
    /// Further arguments of the tool `investigate`: `controller`, `profile`, `budget`, `seconds`.
    pub settings: Map<String, Value>,
    /// The investigation that this folder is news for. One that has seen the folder before, or began
    /// with it, goes on where it was.
    pub of: Option<String>,
    /// What is known of entities beside the folder, such as that the repair of one changed nothing.
    pub said: Words,
}

/// What came of an order.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The id of the investigation.
    pub id: String,
    /// Its result.
    pub report: Report,
}

/// Why an order has no result.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct OrderError {
    /// In words.
    pub reason: String,
    /// What becomes of it.
    pub fate: Fate,
}

/// What becomes of an order that has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The same order can be given again: it was stopped, or the server ends.
    Again,
    /// It would fail again.
    Lost,
}

impl Outcome {
    /// The outcome of an order that another host has carried out.
    pub fn new(id: String, report: Report) -> Self {
        Self { id, report }
    }
}

/// The settings that arguments of the tool `investigate` ask for: `controller`, `profile`, `budget`.
///
/// # Errors
/// All that is wrong with them.
pub fn settings_of(settings: &Map<String, Value>) -> Result<AnySettings, String> {
    let read = arguments(settings.clone()).map_err(|problem| problem.to_string())?;
    let made = read.settings(String::new(), BUDGET).map_err(|problem| problem.to_string())?;
    Ok(made.judged_by(None))
}

impl Order {
    /// An investigation of a folder, with default settings.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, settings: Map::new(), of: None, said: Words::new() }
    }
}

impl Server {
    /// Checks further settings of orders, before there is any, and before there is a server.
    ///
    /// # Errors
    /// All that is wrong with them.
    pub fn check_settings(settings: &Map<String, Value>) -> Result<(), String> {
        let read = arguments(settings.clone()).map_err(|problem| problem.to_string())?;
        // The policy changes nothing of whether they are right.
        let made = read.settings(String::new(), BUDGET);
        made.map(drop).map_err(|problem| problem.to_string())
    }

    /// Whether investigations with these settings take in what is observed while they run and after.
    pub fn takes_news(&self, id: &str) -> bool {
        let began = self.0.store.find(id).and_then(|id| self.0.store.began(&id));
        began.is_ok_and(|began| began.config.takes_words())
    }

    /// Makes an investigation, or goes on with it, and waits for its end. The same order may be given
    /// again after a crash: what was judged is not asked for again.
    ///
    /// # Errors
    /// Why there is no result, and whether the order can be given again.
    pub async fn carry_out(&self, order: Order) -> Result<Outcome, OrderError> {
        let server = self.clone();
        let work = tokio::task::spawn_blocking(move || server.work_of(order)).await;
        let work = match work {
            Ok(Ok(work)) => work,
            Ok(Err(problem)) => return Err(refused(&problem)),
            Err(error) => return Err(OrderError { reason: error.to_string(), fate: Fate::Lost }),
        };
        let id = match work {
            Next::Run(work) => match self.run_alone(work).await {
                Ok(Done { id, report, .. }) => return Ok(Outcome { id: id.to_string(), report }),
                // It was stopped on its page: what it has found so far is its result.
                Err(Problem::Cancelled(Some(id))) if !self.0.stop.is_cancelled() => id,
                Err(problem) => return Err(refused(&problem)),
            },
            Next::Ended(id) => id,
        };
        let server = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            let standing = server.standing(&id)?;
            let report = Report::new(standing.began.name, standing.finished.diagnosis());
            Ok(Outcome { id: id.to_string(), report })
        });
        match done.await {
            Ok(outcome) => outcome.map_err(|problem: Problem| refused(&problem)),
            Err(error) => Err(OrderError { reason: error.to_string(), fate: Fate::Lost }),
        }
    }

    /// Removes an investigation unless it runs, and lets go of its folder in memory. Whether it is gone.
    pub fn forget(&self, id: &str) -> bool {
        let Ok(id) = self.0.store.find(id) else { return true };
        let began = self.0.store.began(&id);
        let is_gone = !self.0.runner.is_live(&id) && self.0.store.remove(&id);
        if let (true, Ok(began)) = (is_gone, began) {
            self.0.library.forget(&began.folder);
        }
        is_gone
    }

    fn work_of(&self, order: Order) -> Result<Next, Problem> {
        let Order { folder, mut settings, of, said } = order;
        // What a service names begins where it runs, not below a root.
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        let real = self.0.roots.folder_at(&folder)?.path().to_owned();
        let seconds = settings.get("seconds").and_then(Value::as_u64);
        if let Some(id) = of {
            let id = self.0.store.find(&id)?;
            if self.0.store.began(&id)?.folder != real {
                return Ok(Next::Run(Work::Renew { id, folder: real, seconds, said }));
            }
            return Ok(self.onward(id, seconds, said));
        }
        // Killed between its begin and the note that it has begun.
        if let Some(id) = self.of_folder(&real)
            && !self.came_to_nothing(&id)
        {
            return Ok(self.onward(id, seconds, said));
        }
        settings.insert("path".to_owned(), Value::String(real.display().to_string()));
        Ok(Next::Run(Begin { said, ..Begin::new(arguments(settings)?) }.into()))
    }

    fn of_folder(&self, folder: &Path) -> Option<InvestigationId> {
        let store = &self.0.store;
        let is_of = |id: &InvestigationId| store.began(id).is_ok_and(|it| it.folder == folder);
        store.ids().into_iter().rev().find(is_of)
    }

    /// Whether an investigation was cut off before it had a journal, so that it cannot be resumed. It is removed
    /// then.
    fn came_to_nothing(&self, id: &InvestigationId) -> bool {
        let store = &self.0.store;
        let may_begin = self.0.runner.is_live(id) || store.journal(id).exists();
        !may_begin && store.discard(id)
    }

    fn onward(&self, id: InvestigationId, seconds: Option<u64>, said: Words) -> Next {
        match self.0.store.ended(&id) {
            Some(ended) if !ended.is_unfinished => Next::Ended(id),
            _ => Next::Run(Work::Renew {
                folder: self.0.store.began(&id).map(|it| it.folder).unwrap_or_default(),
                id,
                seconds,
                said,
            }),
        }
    }

    /// What a folder has beyond a ledger: alerts, the entities joined with them, and changes.
    pub(super) fn news(
        &self,
        id: &InvestigationId,
        ledger: &AnyLedger,
        source: &eog_session::source::Opened,
    ) -> Result<Vec<Observation>, Problem> {
        let began = ledger.case().ok_or_else(|| Problem::Empty(id.clone()))?;
        let finished = ledger.restore(|| None).map_err(|error| Problem::unusable(id, &error))?;
        let diagnosis = finished.diagnosis();
        let now = source.case(None).map_err(|error| Problem::Input {
            folder: source.path().display().to_string(),
            reason: error.to_string(),
        })?;
        let is_known = |found: &eog::Anomaly| {
            let same = |it: &eog::Anomaly| it.name == found.name && it.entity == found.entity;
            diagnosis.anomalies.iter().any(same)
        };
        let alerts: Vec<&eog::Anomaly> = now.anomalies.iter().filter(|it| !is_known(it)).collect();
        let is_new = |entity: &EntityId| {
            alerts.iter().any(|alert| alert.entity == *entity)
                && !diagnosis.topology.contains(entity)
        };
        let edges = now.topology.edges();
        let edges = edges.filter(|edge| is_new(&edge.source) || is_new(&edge.target)).cloned();
        let known = began.record.as_ref().map(|record| record.changes.as_slice());
        let changed = now.record.iter().flat_map(|record| &record.changes);
        let changed = changed.filter(|change| !known.unwrap_or_default().contains(change));
        let mut changed: Vec<EntityId> = changed.map(|change| change.entity.clone()).collect();
        changed.sort();
        changed.dedup();
        let alerts = alerts.iter().map(|alert| Observation::Anomaly((*alert).clone()));
        // First the alerts, which must be explained; the rest within what a run takes in.
        let mut news: Vec<Observation> = alerts.collect();
        if news.len() > MAX_OBSERVATIONS {
            let notice = format!(
                "{} new alerts; the first {MAX_OBSERVATIONS} are taken in by this run",
                news.len()
            );
            Listener::notice(&*self.0.board.watched(id), &notice);
        }
        news.extend(changed.into_iter().map(Observation::NewEvidence));
        news.extend(edges.map(Observation::EdgeAdded));
        news.truncate(MAX_OBSERVATIONS);
        Ok(news)
    }
}

/// The arguments of an investigation, as an agent would give them.
fn arguments(settings: Map<String, Value>) -> Result<Investigate, Problem> {
    serde_json::from_value(Value::Object(settings)).map_err(|error| Problem::Arguments {
        tool: "investigate".to_owned(),
        wrong: vec![error.to_string()],
    })
}

/// What is to be done for an order.
enum Next {
    Run(Work),
    Ended(InvestigationId),
}

fn refused(problem: &Problem) -> OrderError {
    let fate = match problem {
        Problem::Cancelled(_) | Problem::GoingDown | Problem::Busy(_) | Problem::StillRuns(_) => {
            Fate::Again
        }
        _ => Fate::Lost,
    };
    OrderError { reason: problem.to_string(), fate }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::server::{Evidence, Settings};

    #[tokio::test(flavor = "multi_thread")]
    async fn of_an_investigation_the_last_folder_is_in_memory_and_none_when_it_is_gone() {
        let state = tempfile::tempdir().unwrap();
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
        let settings = Settings::new(vec![examples.clone()], state.path().to_owned());
        let server = Server::open(settings, Arc::new(Evidence)).unwrap();
        let mut order = Order::new(examples.join("flash-sale"));
        let id = server.carry_out(order.clone()).await.unwrap().id;
        order.folder = examples.join("bottling-line");
        order.of = Some(id.clone());
        assert_eq!(server.carry_out(order).await.unwrap().id, id);
        assert_eq!(server.0.library.loaded(), 1);
        assert!(server.forget(&id));
        assert_eq!(server.0.library.loaded(), 0);
    }
}
