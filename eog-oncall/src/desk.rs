//! All incidents: those that are open in memory, and each in a file of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use eog::durable::{self, Disk};
use eog_core::EntityId;
use eog_core::evidence::Verdict;
use eog_page::Row;
use eog_session::recovery::Asked;
use eog_session::source::{Word, Words};
use eog_sources::{SentAlert, Surroundings};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};

use crate::alert::{Alert, Notification};
use crate::config::{Config, Limits, Neighbours};
use crate::incident::{Incident, Meaning, Pace, Repair, id};
use crate::metrics::{Kind, Metrics};

/// Longest file of an incident, in bytes.
const MAX_FILE: u64 = 256 << 20;

/// All incidents. Clones are the same.
#[derive(Clone)]
pub(crate) struct Desk(Arc<Shared>);

struct Shared {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    group_by: Option<Vec<String>>,
    neighbours: Neighbours,
    pace: Pace,
    limits: Limits,
    /// By the latest capture.
    surroundings: Mutex<Option<Arc<Surroundings>>>,
    state: Mutex<State>,
    writer: mpsc::Sender<(u64, oneshot::Sender<Result<(), String>>)>,
    news: Notify,
    metrics: Arc<Metrics>,
}

#[derive(Default)]
struct State {
    open: BTreeMap<u64, Incident>,
    by_key: BTreeMap<String, u64>,
    /// What alerts of those that are open are about, by incident and alert, as far as it is known.
    places: BTreeMap<u64, BTreeMap<String, EntityId>>,
    /// Alerts of all that are open.
    alerts: usize,
    closed: BTreeMap<u64, Closed>,
    last: u64,
    /// Files that could not be read when the service began.
    damaged: usize,
    unwritten: Option<String>,
}

/// What is held in memory of an incident that is over.
#[derive(Clone, Debug)]
pub(crate) struct Closed {
    pub(crate) at: Timestamp,
    pub(crate) investigation: Option<String>,
    title: String,
}

/// A run that is to be made.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) number: u64,
    /// The number of its capture.
    pub(crate) run: u32,
    pub(crate) title: String,
    pub(crate) alerts: Vec<SentAlert>,
    pub(crate) investigation: Option<String>,
    /// Since when there was something to investigate.
    pub(crate) since: Timestamp,
    /// Causes whose repair had no effect.
    pub(crate) withdrawn: Words,
}

/// A check of the sources for the repair of a cause.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) number: u64,
    /// The run whose result is watched.
    pub(crate) run: u32,
    pub(crate) title: String,
    pub(crate) alerts: Vec<SentAlert>,
    pub(crate) investigation: String,
    pub(crate) asked: Asked,
}

/// Why alerts are not taken in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The bounds are reached; the sender tries again.
    Full(String),
    /// They cannot be stored.
    NotStored(String),
}

impl Desk {
    /// Reads what is there.
    ///
    /// # Errors
    /// Which file cannot be used, and why.
    pub(crate) fn open(
        folder: &Path,
        config: &Config,
        metrics: Arc<Metrics>,
        disk: Arc<dyn Disk>,
    ) -> Result<Self, String> {
        let folder = folder.join("incidents");
        let unusable = |place: &Path, reason: String| format!("{}: {reason}", place.display());
        durable::create_folders(&*disk, &folder).map_err(|it| unusable(&folder, it.to_string()))?;
        let mut state = State::default();
        let entries = folder.read_dir().map_err(|it| unusable(&folder, it.to_string()))?;
        for entry in entries.flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|ending| ending != "json") {
                continue;
            }
            // Its number is not given again, whatever it holds.
            state.last = state.last.max(number_of(&path).unwrap_or_default());
            match read(&path) {
                Ok(incident) => {
                    state.last = state.last.max(incident.number);
                    state.keep(incident);
                }
                Err(reason) => {
                    tracing::error!(file = %path.display(), ?reason, "an incident is damaged; it \
                                                                      is set aside");
                    put_aside(&*disk, &path, &reason);
                    state.damaged += 1;
                }
            }
        }
        let (writer, wanted) = mpsc::channel();
        let shared = Shared {
            disk,
            folder,
            group_by: config.group_by.clone(),
            neighbours: config.neighbours,
            surroundings: Mutex::new(None),
            pace: config.pace,
            limits: config.limits,
            state: Mutex::new(state),
            writer,
            news: Notify::new(),
            metrics,
        };
        let desk = Self(Arc::new(shared));
        let weak = Arc::downgrade(&desk.0);
        let thread = std::thread::Builder::new().name("incidents".to_owned());
        thread.spawn(move || write_all(&wanted, &weak)).map_err(|error| error.to_string())?;
        Ok(desk)
    }

    /// Takes a request in. When this returns, what follows from it is on disk.
    pub(crate) async fn receive(
        &self,
        request: Notification,
        now: Timestamp,
    ) -> Result<(), Refused> {
        let touched = self.take_in(request, now)?;
        let written: Vec<_> = touched.iter().map(|number| self.write(*number)).collect();
        self.0.news.notify_one();
        for written in written {
            match written.await {
                Ok(Ok(())) => {}
                Ok(Err(reason)) => return Err(Refused::NotStored(reason)),
                Err(_) => return Err(Refused::NotStored("the service ends".to_owned())),
            }
        }
        Ok(())
    }

    fn take_in(&self, request: Notification, now: Timestamp) -> Result<BTreeSet<u64>, Refused> {
        let shared = &self.0;
        let group = (request.key, request.labels);
        let places = shared.places(&group, &request.alerts);
        let mut state = shared.state();
        let mut touched = BTreeSet::new();
        let room = shared.limits.all_alerts.saturating_sub(state.alerts);
        let is_unknown = |(fingerprint, alert): &&(String, Alert)| {
            let (key, _) = shared.group(&group, alert);
            let open = state.by_key.get(&key).and_then(|number| state.open.get(number));
            alert.is_firing() && open.is_none_or(|it| !it.alerts.contains_key(fingerprint))
        };
        let unknown: Vec<_> = request.alerts.iter().filter(is_unknown).collect();
        let keys: BTreeSet<String> =
            unknown.iter().map(|(_, alert)| shared.group(&group, alert).0).collect();
        let opens = keys.iter().filter(|key| !state.by_key.contains_key(*key)).count();
        if unknown.len() > room || state.open.len() + opens > shared.limits.incidents {
            return Err(Refused::Full(format!(
                "{} incidents with {} alerts are open, which is the maximum (limits)",
                state.open.len(),
                state.alerts
            )));
        }
        for (fingerprint, alert) in request.alerts {
            let (key, labels) = shared.group(&group, &alert);
            let (number, is_first) = match state.by_key.get(&key) {
                Some(number) => (*number, false),
                // An unknown alert that is over is no incident.
                None if !alert.is_firing() => {
                    shared.count(Meaning::Stale);
                    continue;
                }
                None => {
                    let place = places.get(&fingerprint);
                    match place.and_then(|place| shared.near(&state, place, alert.starts_at)) {
                        Some(number) => {
                            tracing::info!(incident = %id(number), alert = ?alert.name(), "a neighbour joins");
                            state.join(key, number);
                            (number, false)
                        }
                        None => (state.begin(key, labels, now), true),
                    }
                }
            };
            let most = shared.limits.alerts;
            let Some(incident) = state.open.get_mut(&number) else { continue };
            if is_first {
                tracing::info!(incident = %id(number), alert = ?alert.name(), "incident opened");
            }
            let before = incident.alerts.len();
            let meaning = incident.receive(&fingerprint, alert, now, most);
            let more = incident.alerts.len() - before;
            state.alerts += more;
            if let (Some(place), Meaning::New) = (places.get(&fingerprint), meaning) {
                state.places.entry(number).or_default().insert(fingerprint, place.clone());
            }
            shared.count(meaning);
            touched.insert(number);
        }
        if let (Some(first), true) = (touched.first(), request.truncated > 0)
            && let Some(incident) = state.open.get_mut(first)
        {
            incident.left_out = incident.left_out.max(request.truncated);
        }
        Ok(touched)
    }

    /// Takes over what a capture has found to be near what. Blocks.
    pub(crate) fn know(&self, surroundings: Surroundings) {
        let shared = &self.0;
        if shared.neighbours.hops == 0 {
            return;
        }
        let unplaced: Vec<(u64, String, SentAlert)> = {
            let state = shared.state();
            let alerts = state.open.values().flat_map(|incident| {
                let alerts = incident.alerts.iter();
                alerts.map(move |(name, alert)| (incident.number, name, alert))
            });
            let is_open = |(number, name, alert): &(u64, &String, &Alert)| {
                let known = state.places.get(number);
                alert.is_firing() && known.is_none_or(|known| !known.contains_key(*name))
            };
            let sent = |(number, name, alert): (u64, &String, &Alert)| {
                (number, name.clone(), alert.sent())
            };
            alerts.filter(is_open).map(sent).collect()
        };
        let placed: Vec<(u64, String, EntityId)> = unplaced
            .into_iter()
            .filter_map(|(number, name, alert)| Some((number, name, surroundings.entity(&alert)?)))
            .collect();
        let known = (!surroundings.is_empty()).then(|| Arc::new(surroundings));
        *shared.surroundings.lock().unwrap_or_else(PoisonError::into_inner) = known;
        let mut state = shared.state();
        for (number, name, place) in placed {
            // It may have been closed in between.
            if state.open.contains_key(&number) {
                state.places.entry(number).or_default().insert(name, place);
            }
        }
    }

    /// The next run that is to be made, longest waiting first.
    pub(crate) fn next(&self, now: Timestamp) -> Option<Job> {
        let pace = self.0.pace;
        let mut state = self.0.state();
        let due = state.open.values().filter(|incident| incident.is_due(now, &pace));
        let incident = due.min_by_key(|it| (it.run.is_none(), it.news_at, it.number))?.number;
        let incident = state.open.get_mut(&incident)?;
        let since = incident.news_at.unwrap_or(incident.opened_at);
        incident.begin();
        let of_run = incident.run.as_ref().map(|run| run.alerts.clone()).unwrap_or_default();
        let alerts = of_run.iter().filter_map(|name| incident.alerts.get(name));
        Some(Job {
            number: incident.number,
            run: incident.runs,
            title: incident.title(),
            alerts: alerts.map(Alert::sent).collect(),
            investigation: incident.investigation.clone(),
            since,
            withdrawn: words(&incident.withdrawn),
        })
    }

    /// The next check that is due, longest waiting first.
    pub(crate) fn next_check(&self, now: Timestamp) -> Option<Check> {
        let pace = self.0.pace;
        let mut state = self.0.state();
        let due = state.open.values_mut().filter(|incident| incident.is_check_due(now, &pace));
        let incident =
            due.min_by_key(|it| (it.watch.as_ref().map(|watch| watch.checked_at), it.number))?;
        let (run, title) = (incident.runs, incident.title());
        let alerts = incident.alerts.values().map(Alert::sent).collect();
        let investigation = incident.investigation.clone()?;
        let watch = incident.watch.as_mut()?;
        (watch.is_under_way, watch.checked_at) = (true, now);
        let asked = watch.asked();
        Some(Check { number: incident.number, run, title, alerts, investigation, asked })
    }

    /// Changes an incident that is open, and has it written.
    pub(crate) fn change<T>(
        &self,
        number: u64,
        change: impl FnOnce(&mut Incident) -> T,
    ) -> Option<T> {
        let done = self.0.state().open.get_mut(&number).map(change);
        drop(self.write(number));
        self.0.news.notify_one();
        done
    }

    /// Takes in the report of a repair. When this returns, it is on disk. Nothing if no such incident is open.
    pub(crate) async fn report(
        &self,
        name: &str,
        repair: Repair,
        now: Timestamp,
    ) -> Option<Result<(), String>> {
        let number = number_named(name)?;
        if self.0.pace.watch.is_zero() {
            return Some(Err("repairs are not watched: pace.watch is 0s".to_owned()));
        }
        let reported = self.0.state().open.get_mut(&number)?.report(repair, now);
        if let Err(reason) = reported {
            return Some(Err(reason.to_owned()));
        }
        let written = self.write(number);
        self.0.news.notify_one();
        Some(written.await.unwrap_or_else(|_| Err("the service ends".to_owned())))
    }

    /// The incidents that are over by now.
    pub(crate) fn over(&self, now: Timestamp) -> Vec<Incident> {
        let pace = self.0.pace;
        let mut state = self.0.state();
        state.open.values_mut().for_each(|incident| incident.clock_says(now));
        state.open.values().filter(|it| it.is_over(now, &pace)).cloned().collect()
    }

    /// Waits until something has changed.
    pub(crate) async fn changed(&self) {
        self.0.news.notified().await;
    }

    /// Has an incident written; the answer comes when it is on disk.
    pub(crate) fn write(&self, number: u64) -> oneshot::Receiver<Result<(), String>> {
        let (reply, written) = oneshot::channel();
        // Without a writer the process ends.
        let _ = self.0.writer.send((number, reply));
        written
    }

    /// Whether alerts can be taken in.
    pub(crate) fn is_ready(&self) -> Result<(), String> {
        match &self.0.state().unwritten {
            Some(reason) => Err(format!("incidents cannot be stored: {reason}")),
            None => Ok(()),
        }
    }

    /// The incidents that are closed, oldest first.
    pub(crate) fn closed(&self) -> Vec<(u64, Closed)> {
        let state = self.0.state();
        state.closed.iter().map(|(number, one)| (*number, one.clone())).collect()
    }

    /// Removes an incident that is closed.
    pub(crate) fn remove(&self, number: u64) {
        if self.0.state().closed.remove(&number).is_some() {
            // What stays is read again, and removed again.
            let _ = std::fs::remove_file(self.0.file(number));
        }
    }

    /// The incidents that are open and have no investigation yet, newest first, for the list of the pages.
    pub(crate) fn waiting(&self) -> Vec<Row> {
        let state = self.0.state();
        let without = state.open.values().rev().filter(|it| it.investigation.is_none());
        let row = |it: &Incident| Row {
            path: format!("/incidents/{}", it.id()),
            id: it.id(),
            name: it.title(),
            began: Some(it.opened_at),
            status: it.stage().to_owned(),
            confidence: String::new(),
            origins: Vec::new(),
        };
        without.map(row).collect()
    }

    /// All incidents in short.
    pub(crate) fn list(&self) -> Value {
        let state = self.0.state();
        let open = state.open.values().rev().map(|it| {
            json!({
                "id": it.id(),
                "title": eog_report::clean::clean_up_to(&it.title(), 300),
                "stage": it.stage(),
                "opened_at": it.opened_at,
                "alerts": it.alerts.len(),
                "alerts_left_out": it.left_out,
                "not_looked_at": it.alerts.len() - it.alerts.keys().filter(|name| it.seen.contains(*name)).count(),
                "flaps": it.flaps,
                "runs": it.runs,
                "investigation": it.investigation,
                "confidence": it.confidence,
                "causes": it.causes,
                "problem": it.problem,
                "recovery": it.recovery(),
                "case": it.case,
            })
        });
        let closed = state.closed.iter().rev().map(|(number, it)| {
            json!({
                "id": id(*number),
                "title": eog_report::clean::clean_up_to(&it.title, 300),
                "stage": "closed",
                "closed_at": it.at,
                "investigation": it.investigation,
            })
        });
        json!({ "incidents": open.chain(closed).collect::<Vec<_>>(), "damaged_files": state.damaged })
    }

    /// One incident with all that is kept of it. Blocks.
    pub(crate) fn one(&self, name: &str) -> Option<Incident> {
        let number = number_named(name)?;
        if let Some(incident) = self.0.state().open.get(&number) {
            return Some(incident.clone());
        }
        read(&self.0.file(number)).ok()
    }

    /// Brings the figures up to date.
    pub(crate) fn measure(&self) {
        let state = self.0.state();
        let mut stages: BTreeMap<&str, i64> =
            ["queued", "running", "firing", "resolved"].map(|stage| (stage, 0)).into();
        for incident in state.open.values() {
            *stages.entry(incident.stage()).or_default() += 1;
        }
        stages.insert("closed", i64::try_from(state.closed.len()).unwrap_or(i64::MAX));
        stages.insert("damaged", i64::try_from(state.damaged).unwrap_or(i64::MAX));
        for (stage, count) in stages {
            self.0.metrics.incidents.get_or_create(&Kind::of(stage)).set(count);
        }
    }
}

impl State {
    fn begin(&mut self, key: String, labels: BTreeMap<String, String>, now: Timestamp) -> u64 {
        self.last += 1;
        self.by_key.insert(key.clone(), self.last);
        self.open.insert(self.last, Incident::new(self.last, key, labels, now));
        self.last
    }

    /// Lets a further group belong to an incident.
    fn join(&mut self, key: String, number: u64) {
        self.by_key.insert(key.clone(), number);
        if let Some(incident) = self.open.get_mut(&number) {
            incident.joined.insert(key);
        }
    }

    fn keep(&mut self, incident: Incident) {
        let number = incident.number;
        match incident.closed_at {
            Some(at) => {
                let (title, investigation) = (incident.title(), incident.investigation);
                self.closed.insert(number, Closed { at, investigation, title });
            }
            None => {
                self.alerts += incident.alerts.len();
                self.by_key.extend(incident.keys().map(|key| (key.clone(), number)));
                self.open.insert(number, incident);
            }
        }
    }

    /// Lets go of an incident that was closed and is on disk.
    fn let_go(&mut self, number: u64) {
        if self.open.get(&number).is_some_and(|it| it.closed_at.is_some())
            && let Some(incident) = self.open.remove(&number)
        {
            self.alerts -= incident.alerts.len().min(self.alerts);
            self.places.remove(&number);
            self.keep(incident);
        }
    }

    /// What is to be written of an incident, and whether it is closed there. One that is closed has no group any more: the next alert
    /// begins another.
    fn text(&mut self, number: u64) -> Option<(Vec<u8>, bool)> {
        let incident = self.open.get(&number)?;
        let is_closed = incident.closed_at.is_some();
        for key in incident.keys().filter(|_| is_closed) {
            if self.by_key.get(key) == Some(&number) {
                self.by_key.remove(key);
            }
        }
        serde_json::to_vec(incident).ok().map(|text| (durable::sealed(text), is_closed))
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{}.json", id(number)))
    }

    /// By what an alert is grouped.
    fn group(
        &self,
        given: &(String, BTreeMap<String, String>),
        alert: &Alert,
    ) -> (String, BTreeMap<String, String>) {
        let Some(names) = &self.group_by else { return given.clone() };
        let value = |name: &String| alert.labels.get(name).cloned().unwrap_or_default();
        let labels: BTreeMap<String, String> =
            names.iter().map(|name| (name.clone(), value(name))).collect();
        (serde_json::to_string(&labels).unwrap_or_default(), labels)
    }

    /// What the alerts of a request that are new are about, as far as it is known.
    fn places(
        &self,
        group: &(String, BTreeMap<String, String>),
        alerts: &[(String, Alert)],
    ) -> BTreeMap<String, EntityId> {
        let known = self.surroundings.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(surroundings) = known else { return BTreeMap::new() };
        let new: Vec<&(String, Alert)> = {
            let state = self.state();
            let is_new = |(name, alert): &&(String, Alert)| {
                let number = state.by_key.get(&self.group(group, alert).0);
                let open = number.and_then(|number| state.open.get(number));
                alert.is_firing() && open.is_none_or(|open| !open.alerts.contains_key(name))
            };
            alerts.iter().filter(is_new).collect()
        };
        new.into_iter()
            .filter_map(|(name, alert)| Some((name.clone(), surroundings.entity(&alert.sent())?)))
            .collect()
    }

    /// The open incident with an alert on a neighbour that began at about the same time, the nearest in time.
    fn near(&self, state: &State, place: &EntityId, starts_at: Timestamp) -> Option<u64> {
        let known = self.surroundings.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let around = &known?.around(place, self.neighbours.hops);
        let window = self.neighbours.window;
        let open = state.open.values().filter(|incident| incident.closed_at.is_none());
        let near = open.flat_map(move |incident| {
            let places = state.places.get(&incident.number).into_iter().flatten();
            let near = places.filter(move |(_, place)| around.contains(*place));
            near.filter_map(move |(name, _)| {
                let apart = incident.alerts.get(name)?.starts_at.duration_since(starts_at).abs();
                (apart <= window).then_some((apart, incident.number))
            })
        });
        near.min().map(|(_, number)| number)
    }

    fn count(&self, meaning: Meaning) {
        let kind = match meaning {
            Meaning::New => "new",
            Meaning::Known => "known",
            Meaning::Resolved => "resolved",
            Meaning::LeftOut => "left_out",
            Meaning::Stale => "stale",
        };
        self.metrics.alerts.get_or_create(&Kind::of(kind)).inc();
    }
}

/// Verdicts on the causes whose repair had no effect.
fn words(withdrawn: &BTreeMap<EntityId, String>) -> Words {
    let verdict = |text: &String| Word::verdict(Verdict::NotCause, text.as_str());
    withdrawn.iter().map(|(entity, text)| (entity.clone(), verdict(text))).collect()
}

/// The number of the incident of a name: `in-000001`.
fn number_named(name: &str) -> Option<u64> {
    name.strip_prefix("in-")?.parse().ok().filter(|it| id(*it) == name)
}

/// The number in the name of a file: `in-000001.json`.
fn number_of(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.strip_prefix("in-")?.parse().ok()
}

/// Moves a file that cannot be used into the folder `damaged` beside it, with a note that says why, for people.
/// What cannot be moved stays where it is.
fn put_aside(disk: &dyn Disk, path: &Path, reason: &str) {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
    let damaged = folder.join("damaged");
    let moved = durable::create_folders(disk, &damaged).and_then(|()| {
        disk.rename(path, &damaged.join(name))?;
        std::fs::write(damaged.join(name).with_extension("txt"), format!("{reason}\n"))
    });
    if let Err(error) = moved {
        tracing::error!(file = %path.display(), %error, "it cannot be set aside");
    }
}

fn read(path: &Path) -> Result<Incident, String> {
    let size = path.metadata().map_err(|error| error.to_string())?.len();
    if size > MAX_FILE {
        return Err(format!("longer than {MAX_FILE} bytes"));
    }
    let text = std::fs::read(path).map_err(|error| error.to_string())?;
    let incident: Incident =
        serde_json::from_slice(&durable::unsealed(&text)?).map_err(|error| error.to_string())?;
    match number_of(path) {
        Some(number) if number != incident.number => {
            Err(format!("it holds incident {}, unlike its file name", incident.number))
        }
        _ => Ok(incident),
    }
}

type Wanted = mpsc::Receiver<(u64, oneshot::Sender<Result<(), String>>)>;

/// Writes incidents. What is wanted while one is written is written together, once.
fn write_all(wanted: &Wanted, shared: &std::sync::Weak<Shared>) {
    while let Ok(first) = wanted.recv() {
        let mut asked: BTreeMap<u64, Vec<oneshot::Sender<_>>> = BTreeMap::new();
        for (number, reply) in std::iter::once(first).chain(wanted.try_iter()) {
            asked.entry(number).or_default().push(reply);
        }
        for (number, replies) in asked {
            let Some(shared) = shared.upgrade() else { return };
            let text = shared.state().text(number);
            // It may be closed while it is written as it was before.
            let is_closed = text.as_ref().is_some_and(|(_, is_closed)| *is_closed);
            let written = match text {
                Some((text, _)) => {
                    let file = shared.file(number);
                    let temporary = file.with_extension("tmp");
                    durable::replace(&*shared.disk, &file, &temporary, &[&text])
                        .map_err(|error| format!("{}: {error}", file.display()))
                }
                // It was closed and written before.
                None => Ok(()),
            };
            let mut state = shared.state();
            match (&state.unwritten, &written) {
                (None, Err(reason)) => {
                    tracing::error!(incident = %id(number), ?reason, "incidents cannot be stored");
                }
                (Some(_), Ok(())) => tracing::info!("incidents can be stored again"),
                _ => {}
            }
            state.unwritten = written.clone().err();
            if written.is_ok() && is_closed {
                state.let_go(number);
            }
            drop(state);
            for reply in replies {
                // A caller that does not wait any more does not matter.
                let _ = reply.send(written.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use eog::durable::RealDisk;
    use eog_sre::AlertForm;
    use eog_testkit::SimFolders;

    use super::*;

    fn incident() -> Incident {
        let mut incident = Incident::new(1, "k".to_owned(), BTreeMap::new(), Timestamp::UNIX_EPOCH);
        let labels = BTreeMap::from([("alertname".to_owned(), "A".to_owned())]);
        let starts_at = Timestamp::UNIX_EPOCH;
        let alert = Alert { labels, annotations: BTreeMap::new(), starts_at, ends_at: None };
        incident.receive("a", alert, Timestamp::UNIX_EPOCH, 3);
        incident
    }

    const SOURCE: &str = "[prometheus]\nurl = 'http://localhost:1'\n";

    fn config(folder: &Path, source: &str, more: &str) -> Config {
        std::fs::write(folder.join("source.toml"), source).unwrap();
        let hook = "[[webhook]]\nname = 'a'\nurl = 'http://b/c'\n";
        let text = format!("source = 'source.toml'\n{more}\n{hook}");
        std::fs::write(folder.join("oncall.toml"), text).unwrap();
        Config::read(&folder.join("oncall.toml")).unwrap()
    }

    fn open(folder: &Path, disk: Arc<dyn Disk>) -> Desk {
        let config = config(folder, SOURCE, "");
        Desk::open(folder, &config, Arc::new(Metrics::new()), disk).unwrap()
    }

    /// One alert of a group.
    fn request(group: u32, fingerprint: u32) -> Notification {
        let labels = BTreeMap::from([("alertname".to_owned(), "A".repeat(300))]);
        let starts_at = Timestamp::UNIX_EPOCH;
        let alert = Alert { labels, annotations: BTreeMap::new(), starts_at, ends_at: None };
        Notification {
            key: format!("g{group}"),
            labels: BTreeMap::new(),
            alerts: vec![(fingerprint.to_string(), alert)],
            truncated: 0,
            form: AlertForm::AlertmanagerWebhook,
            notes: Vec::new(),
            subscription: None,
        }
    }

    /// The alerts by group.
    fn alerts(desk: &Desk) -> BTreeSet<(String, String)> {
        let state = desk.0.state();
        let all = state.open.values();
        all.flat_map(|it| it.alerts.keys().map(|name| (it.key.clone(), name.clone()))).collect()
    }

    /// Of a group of its own, on a service since a minute.
    fn on(service: &str, minute: i64, number: u32) -> Notification {
        let mut request = request(number, number);
        let (_, alert) = &mut request.alerts[0];
        alert.labels.insert("service".to_owned(), service.to_owned());
        alert.starts_at = Timestamp::from_second(minute * 60).unwrap();
        request
    }

    /// The numbers of the alerts of each open incident.
    fn incidents(desk: &Desk) -> Vec<String> {
        let state = desk.0.state();
        let alerts = |it: &Incident| it.alerts.keys().cloned().collect::<Vec<_>>().join(" ");
        state.open.values().map(alerts).collect()
    }

    #[test]
    fn alerts_on_neighbours_of_about_the_same_time_are_one_incident() {
        let edge = |source: &str, target: &str| {
            format!(
                "{{ source = '{source}', target = '{target}', relation = 'calls', effects = 'target_to_source' }}"
            )
        };
        let edges = [edge("web", "cart"), edge("cart", "db"), edge("db", "disk")].join(", ");
        let topology = format!("{SOURCE}[topology]\nentities = ['mailer']\nedges = [{edges}]\n");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let sent = [
            on("web", 0, 1),
            on("db", 5, 2),
            on("mailer", 5, 3),
            // Three hops from web, one from db.
            on("disk", 15, 4),
            // Long after.
            on("db", 26, 5),
            on("stranger", 5, 6),
        ];
        let after = |more: &str, known_after: usize| {
            let place = tempfile::tempdir().unwrap();
            let config = config(place.path(), &topology, more);
            let open = || {
                let metrics = Arc::new(Metrics::new());
                Desk::open(place.path(), &config, metrics, Arc::new(RealDisk)).unwrap()
            };
            let desk = open();
            for (number, request) in sent.iter().enumerate() {
                if number == known_after {
                    desk.know(Surroundings::of(&config.source, None));
                }
                let received = desk.receive(request.clone(), Timestamp::UNIX_EPOCH);
                runtime.block_on(received).unwrap();
            }
            let found = incidents(&desk);
            drop(desk);
            // A group stays where it is, also after a restart, and with what is known no more.
            let desk = open();
            for request in &sent {
                runtime.block_on(desk.receive(request.clone(), Timestamp::UNIX_EPOCH)).unwrap();
            }
            assert_eq!(incidents(&desk), found);
            found
        };
        let apart = ["1", "2", "3", "4", "5", "6"];
        assert_eq!(after("", 0), ["1 2 4", "3", "5", "6"]);
        assert_eq!(after("", 1), ["1 2 4", "3", "5", "6"], "also what came before it was known");
        assert_eq!(after("", 9), apart, "nothing is known");
        assert_eq!(after("[neighbours]\nhops = 0", 0), apart);
        assert_eq!(after("[neighbours]\nhops = 1", 0), ["1", "2 4", "3", "5", "6"]);
        assert_eq!(after("[neighbours]\nwindow = '30m'", 0), ["1 2 4 5", "3", "6"]);
        assert_eq!(after("[neighbours]\nwindow = '1m'", 0), apart);
    }

    #[test]
    fn what_was_taken_in_outlives_a_crash_and_what_is_damaged_later_is_put_aside() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for seed in 0..200_u64 {
            let (place, disk) = (tempfile::tempdir().unwrap(), SimFolders::default());
            let desk = open(place.path(), Arc::new(disk.clone()));
            disk.cut_power_after(seed % 31);
            let mut taken = BTreeSet::new();
            for number in 0..8 {
                let group = number % 3;
                let received = desk.receive(request(group, number), Timestamp::UNIX_EPOCH);
                if runtime.block_on(received).is_ok() {
                    taken.insert((format!("g{group}"), number.to_string()));
                }
            }
            drop(desk);
            disk.crash(seed);
            let desk = open(place.path(), Arc::new(disk.clone()));
            let found = alerts(&desk);
            assert!(found.is_superset(&taken), "seed {seed}: {taken:?} of {found:?}");
            assert_eq!(desk.0.state().damaged, 0, "seed {seed}: nothing is half written");
            let names: BTreeMap<u64, String> =
                desk.0.state().open.values().map(|it| (it.number, it.key.clone())).collect();
            drop(desk);
            if found.is_empty() {
                continue;
            }
            let damage = if seed % 2 == 0 { SimFolders::rot } else { SimFolders::lose_sector };
            let file = damage(&place.path().join("incidents"), seed);
            if file.extension().is_none_or(|ending| ending != "json") {
                // What a crash left of a file that was being written; it is never read.
                continue;
            }
            let desk = open(place.path(), Arc::new(disk.clone()));
            let lost = number_of(&file).and_then(|number| names.get(&number));
            let left = found.into_iter().filter(|(key, _)| Some(key) != lost).collect();
            assert_eq!(alerts(&desk), left, "seed {seed}: {file:?}");
            assert_eq!(desk.0.state().damaged, 1, "seed {seed}: {file:?}");
        }
    }

    /// A disk on which an incident is closed while it is written.
    #[derive(Default)]
    struct Closing(Mutex<Option<Desk>>);

    impl std::fmt::Debug for Closing {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("Closing")
        }
    }

    impl Disk for Closing {
        fn sync(&self, _: &std::fs::File, _: &Path) -> std::io::Result<()> {
            if let Some(desk) = self.0.lock().unwrap().take() {
                desk.change(1, |incident| incident.closed_at = Some(Timestamp::UNIX_EPOCH));
            }
            Ok(())
        }
    }

    #[test]
    fn an_incident_that_is_closed_while_it_is_written_is_closed_after_a_restart() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (place, disk) = (tempfile::tempdir().unwrap(), Arc::new(Closing::default()));
        let desk = open(place.path(), disk.clone());
        *disk.0.lock().unwrap() = Some(desk.clone());
        runtime.block_on(desk.receive(request(1, 1), Timestamp::UNIX_EPOCH)).unwrap();
        // What was wanted before this is written before it.
        runtime.block_on(desk.write(1)).unwrap().unwrap();
        assert_eq!(desk.closed().len(), 1);
        drop(desk);
        assert_eq!(open(place.path(), Arc::new(RealDisk)).closed().len(), 1);
    }

    #[test]
    fn an_incident_in_the_place_of_another_is_put_aside() {
        let (place, disk) = (tempfile::tempdir().unwrap(), SimFolders::default());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let desk = open(place.path(), Arc::new(disk.clone()));
        for group in 0..3 {
            if group == 2 {
                disk.misdirect(&place.path().join("incidents/in-000001.json"));
            }
            let received = desk.receive(request(group, group), Timestamp::UNIX_EPOCH);
            runtime.block_on(received).unwrap();
        }
        drop(desk);
        let desk = open(place.path(), Arc::new(disk));
        assert_eq!(alerts(&desk), BTreeSet::from([("g1".to_owned(), "1".to_owned())]));
        assert_eq!(desk.0.state().damaged, 2);
    }

    /// Every bit of a file, and every length of it: it is never taken for something else, and never stops the
    /// service.
    #[test]
    fn a_damaged_incident_is_put_aside_and_the_others_are_there() {
        let text = serde_json::to_vec(&incident()).unwrap();
        let whole = durable::sealed(text.clone());
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("in-000001.json");
        let taken = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            read(&file).ok().map(|it| serde_json::to_vec(&it).unwrap())
        };
        assert_eq!(taken(&whole), Some(text.clone()));
        assert_eq!(taken(&text), Some(text.clone()), "as versions before stored it");
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                assert_eq!(taken(&bytes), None, "bit {bit} of byte {at}");
            }
            assert_eq!(taken(&whole[..at]), None, "cut to {at}");
        }
        std::fs::rename(&file, place.path().join("in-000002.json")).unwrap();

        let folder = place.path().join("incidents");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("in-000001.json"), &whole).unwrap();
        // Written to the place of another, and torn.
        std::fs::write(folder.join("in-000007.json"), &whole).unwrap();
        std::fs::write(folder.join("in-000009.json"), &whole[..40]).unwrap();
        let desk = open(place.path(), Arc::new(RealDisk));
        let list = desk.list();
        assert_eq!(list["incidents"].as_array().unwrap().len(), 1, "{list}");
        assert_eq!(list["damaged_files"], 2);
        let mut aside: Vec<String> = folder
            .join("damaged")
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        aside.sort();
        assert_eq!(aside, ["in-000007.json", "in-000007.txt", "in-000009.json", "in-000009.txt"]);
        let note = std::fs::read_to_string(folder.join("damaged/in-000007.txt")).unwrap();
        assert_eq!(note, "it holds incident 1, unlike its file name\n");
        let next = desk.0.state().begin("x".to_owned(), BTreeMap::new(), Timestamp::UNIX_EPOCH);
        assert_eq!(next, 10, "no number is given twice");
    }
}
