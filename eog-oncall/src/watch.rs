//! The watch on a cause that was named: whether what it explains returns once it is repaired.
//!
//! ```text
//! a result names a cause ─► checks (every `pace.watch`) ─► a repair is on record, or was reported ─► verdict
//! ```

use eog_core::EntityId;
use eog_evidence::{mask_text, shorten};
use eog_report::clean::clean_up_to;
use eog_session::recovery::{Asked, Judged, Outcome, Subject, Verdict, Verification};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::incident::is_due_at;

/// Most entries of each list, and characters of each entry.
const MAX_LISTED: usize = 20;
const MAX_LINE: usize = 400;
/// Longest time that a repair is watched: predictions have an hour at most, and what returned has to last as long again.
const LONGEST: SignedDuration = SignedDuration::from_hours(3);

/// The watch on the cause of an incident's last result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// When the last check of the sources began, or else when the cause was named.
    pub checked_at: Timestamp,
    /// How many checks were made.
    pub checks: u32,
    /// The repair that was reported.
    pub reported: Option<Repair>,
    /// When they did.
    pub reported_at: Option<Timestamp>,
    /// Whether the last check found that nothing had returned. The verdict needs two in a row: senders report the end of alerts
    /// late.
    pub seems_ineffective: bool,
    /// The repair that was found or reported, and what followed.
    pub recovery: Option<Recovery>,
    /// Why the last check failed.
    pub problem: Option<String>,
    /// Whether a check is under way. Never after a restart.
    #[serde(skip)]
    pub is_under_way: bool,
}

/// A repair as reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repair {
    /// When it was made.
    pub at: Timestamp,
    /// An origin of the cause that was repaired. It is needed where several causes are named.
    #[serde(default)]
    pub cause: Option<EntityId>,
    /// What was done. Untrusted.
    #[serde(default)]
    pub action: String,
}

/// What followed a repair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recovery {
    /// `verified`, `partial`, `withdrawn`, `too_early` or `undecided`.
    pub verdict: String,
    /// The origins of the cause that was repaired.
    pub causes: Vec<String>,
    /// What was done.
    pub repair: String,
    /// When it was done, in RFC 3339.
    pub repaired_at: String,
    /// Whether the repair is on record, rather than reported by a person.
    pub is_recorded: bool,
    /// What returned in time.
    pub returned: Vec<String>,
    /// What returned late or not at all.
    pub not_returned: Vec<String>,
    /// What has to return yet.
    pub awaited: Vec<String>,
    /// All of it in a sentence.
    pub summary: String,
}

impl Watch {
    pub(crate) fn begin(now: Timestamp) -> Self {
        Self {
            checked_at: now,
            checks: 0,
            reported: None,
            reported_at: None,
            seems_ineffective: false,
            recovery: None,
            problem: None,
            is_under_way: false,
        }
    }

    /// Whether no verdict is final yet.
    pub fn is_open(&self) -> bool {
        self.recovery.as_ref().is_none_or(Recovery::is_open)
    }

    /// Whether a check is due: after so long, or at once where a repair was reported.
    pub(crate) fn is_due(&self, now: Timestamp, pace: SignedDuration) -> bool {
        let next = self.checked_at.checked_add(pace).unwrap_or(Timestamp::MAX);
        self.is_open() && !self.is_under_way && (self.is_reported() || is_due_at(next, now, pace))
    }

    /// Whether a repair was reported since the last check began.
    fn is_reported(&self) -> bool {
        self.reported_at.is_some_and(|at| at >= self.checked_at)
    }

    /// Whether an incident whose alerts were resolved at a time stays open for it: until a check was made since,
    /// and if a repair was found there, until what followed is certain.
    pub(crate) fn holds(&self, resolved_at: Timestamp, now: Timestamp) -> bool {
        match &self.recovery {
            None => self.is_under_way || self.checked_at < resolved_at || self.is_reported(),
            Some(found) => found.is_open() && now.duration_since(resolved_at) < LONGEST,
        }
    }

    /// What is asked of the sources.
    pub(crate) fn asked(&self) -> Asked {
        let Some(Repair { at, cause, action }) = self.reported.clone() else {
            return Asked::default();
        };
        Asked { at: Some(at), action: Some(action).filter(|it| !it.is_empty()), cause }
    }
}

impl Repair {
    /// Without secrets, and not longer than is shown.
    #[must_use]
    pub fn masked(self) -> Self {
        Self { action: mask_text(&shorten(self.action.trim(), MAX_LINE)), ..self }
    }
}

impl Recovery {
    pub(crate) fn new(found: &Verification) -> Self {
        let of = |is_meant: fn(Outcome) -> bool| -> Vec<String> {
            let meant = found.returns.iter().filter(|one| is_meant(one.outcome));
            meant.take(MAX_LISTED).map(in_words).collect()
        };
        let line = |text: &str| clean_up_to(text, MAX_LINE);
        let mut recovery = Self {
            summary: String::new(),
            verdict: name(found.verdict).to_owned(),
            causes: found.origins.iter().map(|it| line(it.as_str())).collect(),
            repair: line(&found.intervention.what),
            repaired_at: found.intervention.at.to_string(),
            is_recorded: found.intervention.is_recorded,
            returned: of(|it| matches!(it, Outcome::Returned { .. })),
            not_returned: of(|it| matches!(it, Outcome::Late { .. } | Outcome::NotReturned)),
            awaited: of(|it| it == Outcome::Open),
        };
        let causes = recovery.causes.join(", ");
        let meaning = match found.verdict {
            Verdict::Verified => format!("{causes} was the cause"),
            Verdict::Withdrawn => format!("{causes} is not the cause"),
            Verdict::Partial => format!("{causes} may not be the whole cause"),
            Verdict::TooEarly => format!("{causes} was repaired; it is too early to say"),
            Verdict::Undecided => format!("{causes} was repaired; this decides nothing"),
        };
        recovery.summary = format!("{meaning}: {}.", recovery.in_words());
        recovery
    }

    fn is_open(&self) -> bool {
        self.verdict == name(Verdict::TooEarly)
    }

    /// Whether the repair has shown that the cause was the cause.
    pub fn is_verified(&self) -> bool {
        self.verdict == name(Verdict::Verified)
    }

    /// What the repair shows, in a sentence.
    pub(crate) fn in_words(&self) -> String {
        let of = |list: &[String]| list.join(", ");
        let Self { repair, repaired_at, .. } = self;
        let followed = match (self.returned.as_slice(), self.not_returned.as_slice()) {
            ([], []) if self.awaited.is_empty() => "nothing on record decides".to_owned(),
            ([], []) => format!("{} must return yet", of(&self.awaited)),
            ([], not) => format!("{} did not return in time", of(not)),
            (some, []) => format!("{} returned in time", of(some)),
            (some, not) => {
                format!("{} returned in time, {} did not", of(some), of(not))
            }
        };
        format!("{repair} at {repaired_at}: {followed}")
    }
}

fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Verified => "verified",
        Verdict::Partial => "partial",
        Verdict::Withdrawn => "withdrawn",
        Verdict::TooEarly => "too_early",
        Verdict::Undecided => "undecided",
    }
}

fn in_words(one: &Judged) -> String {
    let text = match &one.subject {
        Subject::Alert { name, entity } => format!("{name} on {entity}"),
        Subject::Series { entity, text, .. } => format!("{entity}: {text}"),
    };
    clean_up_to(&text, MAX_LINE)
}
