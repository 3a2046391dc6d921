//! What pages for people show of the investigations of a server, and what they may do to them.

use std::sync::Arc;

use eog::{EntityId, Spent, Timestamp};
use eog_cases::{CaseFolder, similar};
use eog_report::{Report, Step};
use eog_session::source::{Opened, Word, Words};
use eog_session::store::InvestigationId;
use eog_session::watched::{Phase, Watched};
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::error::Problem;
use super::investigations::Standing;
use super::work::{Begin, Done, Work};
use super::{Server, arguments};

/// The tool that begins investigations.
const INVESTIGATE: &str = "investigate";
/// Most similar incidents that a page lists.
const MAX_SIMILAR: usize = 3;

/// One investigation in short.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stored {
    /// Its id.
    pub id: String,
    /// What the incident is called. Untrusted.
    pub name: String,
    /// When it was begun, if that is known.
    pub began: Option<Timestamp>,
    /// `running`, `finished`, or `interrupted`.
    pub status: &'static str,
    /// How sure the result is, if there is one.
    pub confidence: Option<String>,
    /// The origins that explain an alert. Untrusted.
    pub origins: Vec<String>,
}

/// What is known of an investigation by now.
#[derive(Debug)]
#[non_exhaustive]
pub struct SoFar {
    /// The report, by the rules.
    pub report: Report,
    /// The entries of the ledger.
    pub steps: Vec<Step>,
    /// Where its evidence comes from, if that can still be read.
    pub source: Option<Opened>,
}

impl Server {
    /// The investigations of this server, newest first. Blocks.
    pub fn stored(&self) -> Vec<Stored> {
        let store = &self.0.store;
        let row = |id: InvestigationId| {
            let (began, ended) = (store.began(&id).ok(), store.ended(&id));
            Stored {
                began: began.as_ref().and_then(|began| began.at),
                name: began.map(|began| began.name).unwrap_or_default(),
                status: self.status(&id, ended.as_ref()),
                confidence: ended.as_ref().map(|ended| ended.confidence.clone()),
                origins: ended.map(|ended| ended.origins).unwrap_or_default(),
                id: id.to_string(),
            }
        };
        store.ids().into_iter().rev().map(row).collect()
    }

    /// An investigation to be watched, if there is one of this id. Blocks.
    pub fn watched(&self, id: &str) -> Option<Arc<Watched>> {
        let id = self.0.store.find(id).ok()?;
        let watched = self.0.board.watched(&id);
        let status = watched.status();
        if !self.0.runner.is_live(&id) && status.phase == Phase::Running && status.entries == 0 {
            // It was never watched.
            let ended = self.0.store.ended(&id);
            let why = ended.as_ref().map_or("it was interrupted".to_owned(), |it| it.stop.clone());
            if let Ok((_, read)) = self.recorded(&id) {
                watched.recall(&read.ledger.any_entries(), self.0.store.people(&id).words());
            }
            watched.end(why, ended.is_none_or(|ended| ended.is_unfinished));
        }
        // What was spent by runs that were not watched is in the journal.
        if !self.0.runner.is_live(&id)
            && watched.status().spent == Spent::default()
            && let Ok(Standing { finished, .. }) = self.standing(&id)
        {
            watched.spent(finished.spent());
        }
        Some(watched)
    }

    /// What is known of an investigation by now. Blocks.
    ///
    /// # Errors
    /// Why that cannot be said.
    pub fn so_far(&self, id: &str) -> Result<SoFar, String> {
        let id = self.0.store.find(id).map_err(|error| error.to_string())?;
        let Standing { began, finished, read } =
            self.standing(&id).map_err(|problem| problem.to_string())?;
        let mut report = Report::new(began.name.as_str(), finished.diagnosis());
        report.is_running = self.0.runner.is_live(&id);
        if report.is_running {
            report.diagnosis.spent = self.0.board.watched(&id).status().spent;
        }
        if let Ok(cases) = CaseFolder::open(self.cases()) {
            let like = similar::cases_like(&cases, &read.ledger, &report.diagnosis, MAX_SIMILAR);
            report.similar = like.unwrap_or_default();
        }
        let source = self.source(&began, &CancellationToken::new(), self.until(None)).ok();
        Ok(SoFar { report, steps: finished.steps(), source })
    }

    /// Stops an investigation that runs here. What it has found so far is its result.
    ///
    /// # Errors
    /// When it does not run.
    pub fn stop(&self, id: &str) -> Result<(), String> {
        let id = self.0.store.find(id).map_err(|error| error.to_string())?;
        let steering = self.0.board.steering(&id).ok_or("it is not running on this server")?;
        steering.cancel();
        Ok(())
    }

    /// Passes operator input about an entity to an investigation. One that has ended goes on with it.
    ///
    /// # Errors
    /// Why that cannot be.
    pub async fn tell(&self, id: &str, entity: EntityId, word: Word) -> Result<(), String> {
        let id = self.0.store.find(id).map_err(|error| error.to_string())?;
        let began = self.0.store.began(&id).map_err(|error| error.to_string())?;
        if !began.config.takes_words() {
            return Err("this controller takes no input; start a new investigation".to_owned());
        }
        let said = Words::from([(entity.clone(), word.clone())]);
        if let Some(run) = self.0.board.steering(&id) {
            self.take_in(&id, said.clone()).map_err(|problem| problem.to_string())?;
            self.0.board.watched(&id).add_word(entity.clone(), word.clone());
            if run.add_word(entity, word).await {
                return Ok(());
            }
        }
        self.go_on_with(id, said)
    }

    /// Begins an investigation with the arguments of the tool `investigate`; it runs on its own. Its id, once its folder was read.
    ///
    /// # Errors
    /// Why it cannot begin.
    pub async fn start(&self, arguments: Map<String, Value>) -> Result<String, String> {
        let problem = |problem: Problem| problem.to_string();
        let Some((_, offered)) = self.0.catalogue.find(INVESTIGATE) else {
            return Err(format!("this server does not offer {INVESTIGATE}"));
        };
        let asked = arguments::read(INVESTIGATE, &offered.arguments, &Value::Object(arguments));
        let (begun, began) = oneshot::channel();
        let work = Begin { begun: Some(begun), ..Begin::new(asked.map_err(problem)?) }.into();
        let server = self.clone();
        let run = self.0.tracker.spawn(async move { server.run_alone(work).await });
        match (began.await, run) {
            (Ok(id), _) => Ok(id.to_string()),
            (Err(_), run) => match run.await {
                Ok(done) => done.map(|done| done.id.to_string()).map_err(problem),
                Err(error) => Err(error.to_string()),
            },
        }
    }

    /// The folders right below the roots, of which investigations can begin. Blocks.
    pub fn folders(&self) -> Vec<String> {
        self.0.roots.inside()
    }

    /// Goes on with an investigation that has ended, where something is left to do.
    ///
    /// # Errors
    /// Why that cannot be.
    pub fn go_on(&self, id: &str) -> Result<(), String> {
        let id = self.0.store.find(id).map_err(|error| error.to_string())?;
        self.go_on_with(id, Words::new())
    }

    /// Runs in the background.
    fn go_on_with(&self, id: InvestigationId, said: Words) -> Result<(), String> {
        if said.is_empty() && self.0.runner.is_live(&id) {
            return Err("it is already running".to_owned());
        }
        let watched = self.0.board.watched(&id);
        for (entity, word) in &said {
            watched.add_word(entity.clone(), word.clone());
        }
        let (server, work) =
            (self.clone(), Work::GoOn { id, seconds: None, answers: Vec::new(), said });
        self.0.tracker.spawn(async move {
            if let Err(problem) = server.run_alone(work).await
                && !matches!(problem, Problem::Cancelled(_))
            {
                eog_session::Listener::notice(&*watched, &problem.to_string());
            }
        });
        Ok(())
    }

    pub(super) async fn run_alone(&self, work: Work) -> Result<Done, Problem> {
        self.run(work, None, &self.0.stop).await
    }
}
