//! A run that any number of people watch: what has happened so far, within bounds.
//!
//! Nothing is pushed: a reader keeps the number of the last entry it has, and takes what came after. So a
//! stalled reader costs nothing and delays no other; one that was away too long learns how much it missed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use eog::ledger::LedgerError;
use eog::machine::QuestionKind;
use eog::{Budget, EntityId, Label, Spent};
use eog_report as report;
use tokio::sync::watch;

use crate::controllers::{AnyEntry, AnyLedger};
use crate::listener::{Listener, Step};
use crate::source::{Verdict, Word, Words};

/// Entries that a reader may lag behind before it misses some.
pub const MAX_RECENT: usize = 2_048;
/// Most entries that a reader takes at once.
const MAX_AT_ONCE: usize = 64;
/// Most questions and origins that are listed.
const MAX_LISTED: usize = 50;
/// Characters kept of a notice.
const MAX_NOTICE: usize = 600;

/// A run that is watched. It is a [`Listener`]; clones of the `Arc` around it are readers.
#[derive(Debug)]
pub struct Watched {
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It goes on.
    Running,
    /// It has ended; why, in words.
    Ended(String),
}

/// How a run stands, in figures and lists.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status {
    /// Whether it goes on.
    pub phase: Phase,
    /// What is being done.
    pub now: String,
    /// What was spent so far, by this run and those before it.
    pub spent: Spent,
    /// What may be spent.
    pub budget: Budget,
    /// How many entries the ledger has.
    pub entries: u64,
    /// Entities that were put off with nothing to cite, and why: a person may know more.
    pub questions: Vec<(EntityId, String)>,
    /// Entities that are held for an origin at this moment.
    pub origins: Vec<EntityId>,
    /// What people said.
    pub words: Words,
    /// How many runs have ended.
    pub ended: u64,
    /// Whether it has ended with something left to do.
    pub is_unfinished: bool,
    /// Whether its controller takes in what people say.
    pub takes_words: bool,
    /// What a person who waits wants to know, such as why news was left out.
    pub notice: String,
}

#[derive(Debug)]
struct State {
    status: Status,
    entries: Vec<AnyEntry>,
    recent: VecDeque<Arc<report::Step>>,
    held: BTreeMap<EntityId, Held>,
}

/// What is held of an entity, as far as this module asks.
#[derive(Debug)]
struct Held {
    label: Label,
    cites: bool,
    summary: String,
}

impl Default for Watched {
    fn default() -> Self {
        let status = Status {
            phase: Phase::Running,
            now: String::new(),
            spent: Spent::default(),
            budget: Budget::default(),
            entries: 0,
            questions: Vec::new(),
            origins: Vec::new(),
            words: Words::new(),
            ended: 0,
            is_unfinished: false,
            takes_words: true,
            notice: String::new(),
        };
        let state =
            State { status, entries: Vec::new(), recent: VecDeque::new(), held: BTreeMap::new() };
        Self { state: Mutex::new(state), changed: watch::channel(0).0 }
    }
}

impl Watched {
    /// How it stands.
    pub fn status(&self) -> Status {
        let state = self.state();
        let held = |label: Label| state.held.iter().filter(move |(_, held)| held.label == label);
        let is_answered = |entity: &EntityId| state.status.words.contains_key(entity);
        let open = held(Label::Defer).filter(|(entity, held)| !held.cites && !is_answered(entity));
        let open = open.map(|(entity, held)| (entity.clone(), held.summary.clone()));
        let origins = held(Label::Origin).map(|(entity, _)| entity.clone());
        Status {
            questions: open.take(MAX_LISTED).collect(),
            origins: origins.take(MAX_LISTED).collect(),
            ..state.status.clone()
        }
    }

    /// The next entries from number `next` on, and how many of them a reader has missed because it was
    /// away too long. Empty where there are none yet.
    pub fn since(&self, next: u64) -> (u64, Vec<Arc<report::Step>>) {
        let state = self.state();
        let wanted = state.recent.iter().skip_while(|step| step.seq < next);
        let steps: Vec<_> = wanted.take(MAX_AT_ONCE).cloned().collect();
        let missed = steps.first().map_or(0, |first| first.seq.saturating_sub(next));
        (missed, steps)
    }

    /// Wakes whenever something has changed.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// The ledger so far, if this has seen it from its beginning.
    ///
    /// # Errors
    /// [`LedgerError`] when entries were missed.
    pub fn ledger(&self) -> Result<AnyLedger, LedgerError> {
        let entries = self.state().entries.clone();
        AnyLedger::of_entries(&entries)
    }

    /// Takes in the entries that a run goes on with, and what was said before.
    pub fn recall(&self, entries: &[AnyEntry], words: Words) {
        for entry in entries {
            self.entry(entry);
        }
        self.update(|state| state.status.words.extend(words));
    }

    /// What all runs have spent that were not watched.
    pub fn spent(&self, spent: Spent) {
        self.update(|state| state.status.spent = spent);
    }

    /// A run begins, or goes on.
    pub fn begin(&self) {
        self.update(|state| {
            state.status.phase = Phase::Running;
            state.status.is_unfinished = false;
            state.status.notice.clear();
        });
    }

    /// A run has ended: why, and whether something is left to do.
    pub fn end(&self, why: String, is_unfinished: bool) {
        self.update(|state| {
            state.status.phase = Phase::Ended(why);
            state.status.is_unfinished = is_unfinished;
            state.status.now.clear();
            state.status.ended += 1;
        });
    }

    /// Adds what a person said of an entity.
    pub fn add_word(&self, entity: EntityId, word: Word) {
        self.update(|state| drop(state.status.words.insert(entity, word)));
    }

    fn update(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.send_modify(|version| *version = version.wrapping_add(1));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for Watched {
    fn step(&self, step: &Step) {
        match step {
            Step::Asking { about, kind } => {
                let doing = match kind {
                    QuestionKind::Context => "reading",
                    QuestionKind::Policy => "judging",
                };
                let now = report::clean::clean_up_to(&format!("{doing} {about}"), MAX_NOTICE);
                self.update(|state| state.status.now = now);
            }
            Step::Spent(spent) => self.update(|state| state.status.spent = *spent),
            Step::Refused(reason) => self.notice(reason),
            Step::Stored { .. } | Step::Missed(_) => {}
        }
    }

    fn entry(&self, entry: &AnyEntry) {
        let step = Arc::new(entry.step());
        self.update(|state| {
            if step.seq == 0
                && let Some(settings) = entry.settings()
            {
                state.status.budget = settings.budget();
                state.status.takes_words = settings.takes_words();
            }
            state.status.entries = step.seq + 1;
            if let (Some(entity), Some(belief)) = (&step.entity, &step.belief) {
                let (label, cites) = (belief.label, !belief.cited.is_empty());
                let held = Held { label, cites, summary: belief.summary.clone() };
                state.held.insert(entity.clone(), held);
            }
            state.entries.push(entry.clone());
            state.recent.push_back(step);
            if state.recent.len() > MAX_RECENT {
                state.recent.pop_front();
            }
        });
    }

    fn asking_model(&self, model: &str, phase: &str) {
        let now = report::clean::clean_up_to(&format!("asking {model}: {phase}"), MAX_NOTICE);
        self.update(|state| state.status.now = now);
    }

    fn notice(&self, line: &str) {
        let notice = report::clean::clean_up_to(line, MAX_NOTICE);
        self.update(|state| state.status.notice = notice);
    }
}

/// What a verdict is called.
pub fn verdict_words(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Cause) => "this is the cause",
        Some(Verdict::NotCause) => "this is not the cause",
        None => "a remark",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries of a ledger that grew by one entity after the other.
    fn entries(count: u64) -> Vec<AnyEntry> {
        use eog::ledger::Observation;
        use eog::{Case, Config, Controller, Input, Output, Topology, Window};
        let at = |text: &str| text.parse().unwrap();
        let window = Window::new(at("2026-01-01T10:00:00Z"), at("2026-01-01T11:00:00Z")).unwrap();
        let case = Case::from_anomalies(Topology::default(), window, vec![]);
        let mut controller = Controller::new(Config::default(), case);
        let mut entries = Vec::new();
        for number in 0..count {
            while let Output::Append(entry) = controller.poll() {
                controller.handle(Input::Appended(entry.seq)).unwrap();
                entries.push(AnyEntry::Eog(entry));
            }
            let news = Observation::NewEvidence(EntityId::new(format!("e{number}")).unwrap());
            controller.handle(Input::Observe(news)).unwrap();
        }
        entries
    }

    #[test]
    fn a_reader_that_was_away_too_long_learns_how_much_it_missed() {
        let watched = Watched::default();
        let many = MAX_RECENT as u64 + 10;
        let all = entries(many);
        for entry in &all {
            watched.entry(entry);
        }
        let (missed, steps) = watched.since(0);
        assert_eq!((missed, steps.len()), (10, MAX_AT_ONCE), "what is held is bounded");
        assert_eq!(steps[0].seq, 10);
        assert_eq!(watched.since(many - 2).1.len(), 2);
        assert_eq!(watched.since(many), (0, vec![]));
        assert_eq!(watched.ledger().unwrap().len(), many);
    }

    #[test]
    fn readers_are_woken_and_never_waited_for() {
        let watched = Watched::default();
        let mut reader = watched.changes();
        reader.mark_unchanged();
        for entry in entries(3) {
            watched.entry(&entry);
        }
        assert!(reader.has_changed().unwrap());
        watched.end("done".to_owned(), false);
        let status = watched.status();
        assert_eq!(status.phase, Phase::Ended("done".to_owned()));
        assert_eq!((status.entries, status.ended), (3, 1));
    }
}
