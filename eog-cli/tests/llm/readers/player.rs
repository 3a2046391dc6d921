//! A model that gives recorded answers: to the same prompt, or else to what it was asked then about the same
//! entity.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::numbers::renumber;
use super::recording::{Answered, Recording, shown};
use crate::llm::server::{Asked, Reply};

/// Lines of a difference that are shown, of each side.
const MOST_LINES: usize = 12;

/// What was other than it was recorded.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) changed: usize,
    pub(crate) unanswered: usize,
    pub(crate) report: String,
    /// By place: which answers were given already.
    given: Vec<bool>,
    /// The last answer: what is asked to be mended.
    last: Option<String>,
}

pub(crate) struct Player {
    recording: Recording,
    changes: Arc<Mutex<Changes>>,
}

impl Player {
    pub(crate) fn of(recording: &Recording) -> Self {
        let given = vec![false; recording.asked.len()];
        let changes = Arc::new(Mutex::new(Changes { given, ..Changes::default() }));
        Self { recording: recording.clone(), changes }
    }

    pub(crate) fn changes(&self) -> Arc<Mutex<Changes>> {
        Arc::clone(&self.changes)
    }

    pub(crate) fn answer(&self, asked: &Asked) -> Reply {
        let mut changes = self.changes.lock().unwrap();
        let (messages, form) = shown(&asked.body);
        let all = &self.recording.asked;
        let is_same = |it: &Answered| {
            let texts = it.messages.iter().map(|place| self.recording.text(*place));
            self.recording.text(it.form) == form && texts.eq(messages.iter().map(String::as_str))
        };
        if let Some(place) = first(all, &changes.given, is_same) {
            changes.given[place] = true;
            let answer = self.recording.text(all[place].answer).to_owned();
            changes.last = Some(answer.clone());
            return Reply::Answer(answer);
        }
        let (phase, entity) = (asked.phase(), asked.entity());
        let is_alike = |it: &Answered| {
            it.phase == phase && it.entity == entity && it.messages.len() == messages.len()
        };
        let of = if entity.is_empty() { String::new() } else { format!(" of {entity}") };
        let what = format!("request {}, {phase}{of}", asked.at + 1);
        let Some(place) = first(all, &changes.given, is_alike) else {
            // What is to be mended and never was is said again.
            let mended = changes.last.clone().filter(|_| messages.len() > 2);
            let count =
                if mended.is_some() { &mut changes.changed } else { &mut changes.unanswered };
            *count += 1;
            let ending = if mended.is_some() {
                "a correction that was not asked for"
            } else {
                "no recorded answer"
            };
            let _ = writeln!(changes.report, "{what}: {ending}\n");
            return mended.map_or(Reply::Status(400, "x-reader", "none"), Reply::Answer);
        };
        changes.given[place] = true;
        changes.changed += 1;
        let joined = |texts: &[&str]| texts.join("\n");
        let then: Vec<&str> =
            all[place].messages.iter().map(|it| self.recording.text(*it)).collect();
        let then = joined(&then);
        let now = joined(&messages.iter().map(String::as_str).collect::<Vec<_>>());
        let answer = self.recording.text(all[place].answer);
        let (answer, lost) = match serde_json::from_str::<Value>(answer) {
            Ok(mut answer) => {
                let lost = renumber(&mut answer, &then, &now);
                (answer.to_string(), lost)
            }
            Err(_) => (answer.to_owned(), Vec::new()),
        };
        let _ = writeln!(changes.report, "{what}: answered as request {} was", place + 1);
        if !lost.is_empty() {
            let _ =
                writeln!(changes.report, "  evidence that it cites and is not shown now: {lost:?}");
        }
        if self.recording.text(all[place].form) != form {
            let _ = writeln!(changes.report, "  the form of the answer is another");
        }
        let _ = writeln!(changes.report, "{}", difference(&then, &now));
        changes.last = Some(answer.clone());
        Reply::Answer(answer)
    }
}

/// The first that is not given yet, else the last one.
fn first(all: &[Answered], given: &[bool], is_meant: impl Fn(&Answered) -> bool) -> Option<usize> {
    let meant: Vec<usize> = (0..all.len()).filter(|place| is_meant(&all[*place])).collect();
    meant.iter().find(|place| !given[**place]).or(meant.last()).copied()
}

/// The lines that only one of two prompts has.
fn difference(then: &str, now: &str) -> String {
    let mut text = String::new();
    for (mark, one, other) in [('-', then, now), ('+', now, then)] {
        let other: Vec<&str> = other.lines().collect();
        let only: Vec<&str> = one.lines().filter(|line| !other.contains(line)).collect();
        for line in only.iter().take(MOST_LINES) {
            let _ = writeln!(text, "{mark} {line}");
        }
        if only.len() > MOST_LINES {
            let _ = writeln!(text, "{mark} and {} more lines", only.len() - MOST_LINES);
        }
    }
    text
}
