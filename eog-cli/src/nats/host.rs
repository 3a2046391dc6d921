//! The investigations of a cluster, for pages and for the on-call service. Pages are made from what is stored,
//! whichever worker runs the investigation.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use eog::journal::Medium;
use eog::side::SideFile;
use eog::{BoxFuture, EntityId, Spent, Usage};
use eog_live::{Host, Standing};
use eog_nats::{InvestigationId, NatsError, Part, Tail};
use eog_page::Row;
use eog_report::Report;
use eog_session::controllers::AnyLedger;
use eog_session::source::Word;
use eog_session::watched::Watched;
use eog_session::{Listener as _, Step};

use super::incidents::Incidents;
use super::list::lines;
use super::order::{Order, Saying};
use super::reach::Reached;
use super::say::go_on;
use super::state::{State, Status};
use crate::args::Reading;

/// How often the cluster is asked for what is new.
const ASKED: Duration = Duration::from_millis(300);
/// How long an investigation that is not watched is still followed.
const KEPT: Duration = Duration::from_secs(30);

/// The investigations of a cluster. Clones are the same.
#[derive(Clone)]
pub(super) struct ClusterHost(pub(super) Arc<Shared>);

pub(super) struct Shared {
    pub(super) reached: Reached,
    pub(super) incidents: Incidents,
    viewed: Mutex<BTreeMap<InvestigationId, Weak<Watched>>>,
}

impl ClusterHost {
    pub(super) fn new(reached: Reached, reading: Reading) -> Self {
        let incidents = Incidents::new(reading);
        Self(Arc::new(Shared { reached, incidents, viewed: Mutex::default() }))
    }

    fn find(&self, id: &str) -> Result<(InvestigationId, Order), String> {
        self.0.reached.find(id).map_err(|error| error.to_string())
    }

    /// What is known of an investigation by now. Blocks.
    pub(super) fn report(&self, id: &str) -> Result<(Report, Vec<eog_report::Step>), String> {
        let (id, order) = self.find(id)?;
        let Shared { reached, .. } = &*self.0;
        let said = |error: &dyn std::fmt::Display| error.to_string();
        let medium = match reached.cluster.read(Part::Ledger, &id) {
            Err(NatsError::NoSuch { .. }) => return Err("Waiting for a worker.".to_owned()),
            medium => medium.map_err(|error| said(&error))?,
        };
        let (ledger, _) = AnyLedger::read_journal_on(&medium).map_err(|error| said(&error))?;
        if ledger.is_empty() {
            return Err("Choosing where to start.".to_owned());
        }
        let finished = ledger.restore(|| None).map_err(|error| said(&error))?;
        let mut report = Report::new(order.name.as_str(), finished.diagnosis());
        let state = self.state(&id);
        report.is_running = state.is_none_or(|state| !state.status.has_ended());
        if let Ok(side) = reached.cluster.read(Part::Side, &id)
            && let Ok(records) = SideFile::read_on(&side)
        {
            report.diagnosis.spent.usage = records.usage_so_far();
        }
        Ok((report, finished.steps()))
    }

    fn state(&self, id: &InvestigationId) -> Option<State> {
        let state = self.0.reached.register.state(id).ok().flatten()?;
        State::read(&state).ok().flatten()
    }

    fn say(&self, id: &InvestigationId, saying: &Saying) -> Result<(), String> {
        let written = saying.written().map_err(|error| error.to_string())?;
        self.0.reached.register.say(id, &written).map_err(|error| error.to_string())
    }

    pub(super) fn tell_now(&self, id: &str, entity: EntityId, word: Word) -> Result<(), String> {
        let (id, order) = self.find(id)?;
        if !order.settings.takes_words() {
            return Err(
                "this controller takes no input while it runs; start again with --cause or \
                        --not-cause"
                    .to_owned(),
            );
        }
        let incident = self.0.incidents.open(&self.0.reached, &id, &order);
        let incident = incident.map_err(|trouble| trouble.to_string())?;
        let topology = &incident.opened.incident().topology;
        if !topology.contains(&entity) {
            let near = eog_evidence::near_entities(topology, entity.as_str());
            return Err(match near.as_slice() {
                [] => "the incident has no such entity; use the name on the page".to_owned(),
                near => {
                    format!("the incident has no such entity; did you mean {}?", near.join(" or "))
                }
            });
        }
        self.say(&id, &Saying::Word { entity, word })?;
        go_on(&self.0.reached, &id, &order).map_err(|error| error.to_string())
    }

    fn go_on_now(&self, id: &str) -> Result<(), String> {
        let (id, order) = self.find(id)?;
        if self.state(&id).is_some_and(|state| state.status == Status::Running) {
            return Err("it is already running".to_owned());
        }
        self.say(&id, &Saying::GoOn)?;
        go_on(&self.0.reached, &id, &order).map_err(|error| error.to_string())
    }

    /// Runs what blocks on a thread of its own.
    pub(super) async fn aside<T: Send + 'static>(
        &self,
        what: impl FnOnce(&Self) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let host = self.clone();
        let done = tokio::task::spawn_blocking(move || what(&host)).await;
        done.unwrap_or_else(|error| Err(error.to_string()))
    }
}

impl Host for ClusterHost {
    fn rows(&self) -> Vec<Row> {
        let row = |line: super::list::Line| Row {
            path: format!("/i/{}", line.id),
            id: line.id,
            name: line.name,
            began: (line.submitted > eog::Timestamp::UNIX_EPOCH).then_some(line.submitted),
            status: line.status.to_owned(),
            confidence: line.confidence,
            origins: line.origins,
        };
        lines(&self.0.reached).unwrap_or_default().into_iter().map(row).collect()
    }

    fn watched(&self, id: &str) -> Option<Arc<Watched>> {
        let (id, _) = self.find(id).ok()?;
        let mut viewed = self.0.viewed.lock().unwrap_or_else(PoisonError::into_inner);
        viewed.retain(|_, watched| watched.strong_count() > 0);
        if let Some(watched) = viewed.get(&id).and_then(Weak::upgrade) {
            return Some(watched);
        }
        let watched = Arc::new(Watched::default());
        let mut view = View::new(self.0.reached.clone(), id.clone());
        view.advance(&watched);
        viewed.insert(id, Arc::downgrade(&watched));
        let followed = watched.clone();
        let thread = std::thread::Builder::new().name("watching".to_owned());
        // Without it the page is as it was when it was opened.
        let host = self.clone();
        let _ = thread.spawn(move || view.follow(&followed, &host));
        Some(watched)
    }

    fn standing(&self, id: &str) -> Result<Standing, String> {
        let (report, steps) = self.report(id)?;
        let (id, order) = self.find(id)?;
        let incident = self.0.incidents.open(&self.0.reached, &id, &order).ok();
        Ok(Standing::new(report, steps, incident.as_ref().map(|incident| &incident.opened)))
    }

    fn stop(&self, id: &str) -> Result<(), String> {
        let (id, _) = self.find(id)?;
        if self.state(&id).is_some_and(|state| state.status.has_ended()) {
            return Err("it is not running".to_owned());
        }
        self.say(&id, &Saying::Cancel)
    }

    fn go_on<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), String>> {
        let id = id.to_owned();
        Box::pin(self.aside(move |host| host.go_on_now(&id)))
    }

    fn remark<'a>(
        &'a self,
        id: &'a str,
        entity: EntityId,
        word: Word,
    ) -> BoxFuture<'a, Result<(), String>> {
        let id = id.to_owned();
        Box::pin(self.aside(move |host| host.tell_now(&id, entity, word)))
    }
}

/// An investigation as it grows on the cluster.
struct View {
    reached: Reached,
    id: InvestigationId,
    ledger: Tail,
    side: Tail,
    /// Entries that were reported.
    reported: usize,
    /// The last that was said.
    said: u64,
    state: Option<Option<State>>,
}

impl View {
    fn new(reached: Reached, id: InvestigationId) -> Self {
        let ledger = reached.cluster.tail(Part::Ledger, &id);
        let side = reached.cluster.tail(Part::Side, &id);
        Self { reached, id, ledger, side, reported: 0, said: 0, state: None }
    }

    /// Reports what comes, until it has not been watched for a while.
    fn follow(mut self, watched: &Arc<Watched>, host: &ClusterHost) {
        let mut watched_at = Instant::now();
        loop {
            if Arc::strong_count(watched) > 1 {
                watched_at = Instant::now();
            } else if watched_at.elapsed() >= KEPT {
                // A page being opened holds this lock: it is either counted here, or begins anew.
                let mut viewed = host.0.viewed.lock().unwrap_or_else(PoisonError::into_inner);
                if Arc::strong_count(watched) == 1 {
                    viewed.remove(&self.id);
                    return;
                }
            }
            let began = Instant::now();
            self.advance(watched);
            // Reading a long ledger again and again must not be all that is done.
            std::thread::sleep(ASKED.max(began.elapsed() * 4));
        }
    }

    fn advance(&mut self, watched: &Watched) {
        if let Err(error) = self.try_to_advance(watched) {
            watched.notice(&error);
        }
    }

    fn try_to_advance(&mut self, watched: &Watched) -> Result<(), String> {
        let said = |error: NatsError| error.to_string();
        while let Some(saying) = self.reached.register.said(&self.id, self.said).map_err(said)? {
            self.said = saying.sequence;
            if let Ok(Saying::Word { entity, word }) = serde_json::from_slice(&saying.bytes) {
                watched.add_word(entity, word);
            }
        }
        // Asked before the ledger is read: what has ended has all its entries.
        let state = self.reached.register.state(&self.id).map_err(said)?.unwrap_or_default();
        let state = State::read(&state).map_err(|error| error.to_string())?;
        if self.ledger.advance().map_err(said)? {
            let (ledger, _) = AnyLedger::read_journal_on(&Held(self.ledger.bytes()))
                .map_err(|error| error.to_string())?;
            let entries = ledger.any_entries();
            for entry in entries.iter().skip(self.reported) {
                watched.entry(entry);
            }
            self.reported = self.reported.max(entries.len());
        }
        if self.side.advance().map_err(said)? {
            self.spent(watched);
        }
        if self.state.as_ref() != Some(&state) {
            report_state(state.as_ref(), watched);
            self.state = Some(state);
        }
        Ok(())
    }

    fn spent(&self, watched: &Watched) {
        let Ok(records) = SideFile::read_on(&Held(self.side.bytes())) else { return };
        let usage: Usage = records.usage_so_far();
        let evaluations = records
            .records
            .iter()
            .filter(|record| matches!(record, eog::side::SideRecord::Evaluation { .. }));
        let evaluations = evaluations.count() as u64;
        let spent = Spent { usage, evaluations, hops: evaluations, ..Spent::default() };
        watched.step(&Step::Spent(spent));
    }
}

fn report_state(state: Option<&State>, watched: &Watched) {
    match state {
        None => {
            watched.begin();
            watched.notice("it is waiting for a worker");
        }
        Some(state) if state.status.has_ended() => {
            let is_unfinished = matches!(state.status, Status::Interrupted | Status::Cancelled);
            watched.end(state.note.clone(), is_unfinished);
        }
        Some(state) => {
            watched.begin();
            if state.status == Status::Waiting {
                watched.notice(&state.note);
            }
        }
    }
}

/// Bytes as a medium to read from.
#[derive(Debug)]
struct Held<'a>(&'a [u8]);

impl Medium for Held<'_> {
    fn path(&self) -> &Path {
        Path::new("nats:")
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn reader(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(self.0))
    }

    fn write_at(&mut self, _offset: u64, _bytes: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn set_len(&mut self, _size: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync_data(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn sync_all(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn is_still_there(&self) -> bool {
        true
    }
}
