//! The modes of failure, each with the rule that decides it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use eog_search::lane::RECORD_FINDING;
use serde::Serialize;
use serde_json::Value;

use super::{Outcome, Step, Trajectory};

/// A mode of failure: those of MAST, with 1.3 in two, and what the EoG paper counts beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// 1.1 Parts of answers that were refused, and answers of no use.
    DisobeyedTask,
    /// 1.2 Calls that were refused, of a tool that another role of the same trajectory had an answer from.
    DisobeyedRole,
    /// 1.3 An equal call in the same conversation, when the last one of them had failed.
    RepeatedFailure,
    /// 1.3 The same, when it had been answered.
    RepeatedSuccess,
    /// 1.4 An equal call in the same conversation as one before a summary, and none since. Not also 1.3.
    LostHistory,
    /// 1.5 Calls after all alerts were explained.
    UnawareOfEnd,
    /// 2.1 Not decidable.
    Reset,
    /// 2.2 Not decidable.
    NoClarification,
    /// 2.3 Not decidable.
    Derailed,
    /// 2.4 Not decidable.
    Withheld,
    /// 2.5 Not decidable.
    IgnoredInput,
    /// 2.6 Steps that name a step of the plan that is not to be done.
    Mismatch,
    /// 3.1 Steps of the plan that were open, and alerts that were not explained, at the answer; where the truth is
    /// known and the answer names no true cause, also true causes that no call was about.
    PrematureEnd,
    /// 3.2 Entities that the answer names and that no call was about.
    NotVerified,
    /// 3.3 An accepted answer that names no true cause. Needs the truth.
    WrongVerification,
    /// Steps of the plan that were neither done nor withdrawn.
    AbandonedPlan,
    /// Calls that were not made, since they did not fit a tool.
    SyntacticFailure,
    /// Calls that were made, and failed.
    SemanticFailure,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 18] = [
        Self::DisobeyedTask,
        Self::DisobeyedRole,
        Self::RepeatedFailure,
        Self::RepeatedSuccess,
        Self::LostHistory,
        Self::UnawareOfEnd,
        Self::Reset,
        Self::NoClarification,
        Self::Derailed,
        Self::Withheld,
        Self::IgnoredInput,
        Self::Mismatch,
        Self::PrematureEnd,
        Self::NotVerified,
        Self::WrongVerification,
        Self::AbandonedPlan,
        Self::SyntacticFailure,
        Self::SemanticFailure,
    ];

    /// What a column with its counts is called.
    pub fn column(self) -> &'static str {
        self.words()[0]
    }

    /// Its column, and its name with its number in MAST.
    fn words(self) -> [&'static str; 2] {
        match self {
            Self::DisobeyedTask => ["mast_1_1", "1.1 disobeyed the task"],
            Self::DisobeyedRole => ["mast_1_2", "1.2 disobeyed the role"],
            Self::RepeatedFailure => ["mast_1_3_failed", "1.3 repeated a call that failed"],
            Self::RepeatedSuccess => ["mast_1_3_answered", "1.3 repeated a call with an answer"],
            Self::LostHistory => ["mast_1_4", "1.4 lost history"],
            Self::UnawareOfEnd => ["mast_1_5", "1.5 went on after the end"],
            Self::Reset => ["mast_2_1", "2.1 reset the conversation"],
            Self::NoClarification => ["mast_2_2", "2.2 did not ask"],
            Self::Derailed => ["mast_2_3", "2.3 derailed"],
            Self::Withheld => ["mast_2_4", "2.4 withheld information"],
            Self::IgnoredInput => ["mast_2_5", "2.5 ignored others"],
            Self::Mismatch => ["mast_2_6", "2.6 not the step it names"],
            Self::PrematureEnd => ["mast_3_1", "3.1 ended too early"],
            Self::NotVerified => ["mast_3_2", "3.2 named without a look"],
            Self::WrongVerification => ["mast_3_3", "3.3 accepted the wrong one"],
            Self::AbandonedPlan => ["plan_abandoned", "-   abandoned steps of a plan"],
            Self::SyntacticFailure => ["calls_syntactic", "-   calls that did not fit"],
            Self::SemanticFailure => ["calls_semantic", "-   calls that failed"],
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words()[1])
    }
}

/// How often each mode happened in one trajectory; nothing where that cannot be decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Counts(BTreeMap<Mode, Option<u32>>);

impl Counts {
    /// Counts the failures of a trajectory. `truth` are the true causes, if they are known.
    pub fn of(trajectory: &Trajectory, truth: Option<&BTreeSet<String>>) -> Self {
        let calls = || trajectory.steps.iter().filter(|step| step.is_call());
        let of = |came: Outcome| number(calls().filter(|step| step.came == came).count());
        let (failed, answered, lost) = repeated(&trajectory.steps);
        let counted = |mode: Mode| match mode {
            Mode::DisobeyedTask => Some(trajectory.steps.iter().map(|step| step.refused).sum()),
            Mode::DisobeyedRole => {
                let roles: BTreeSet<&str> = calls().map(role).collect();
                (roles.len() > 1).then(|| number(other_roles(&trajectory.steps)))
            }
            Mode::RepeatedFailure => Some(failed),
            Mode::RepeatedSuccess => Some(answered),
            Mode::LostHistory => Some(lost),
            Mode::UnawareOfEnd => trajectory.explained_after.map(|after| match after {
                0 => 0,
                after => number(
                    trajectory.steps.iter().skip(after as usize).filter(|it| it.is_call()).count(),
                ),
            }),
            Mode::Mismatch => {
                let planned = || trajectory.steps.iter().filter_map(|step| step.planned);
                planned().next().map(|_| number(planned().filter(|planned| !planned).count()))
            }
            Mode::PrematureEnd => {
                let alerts = trajectory.unexplained.as_ref().map(|alerts| number(alerts.len()));
                let missed = truth.and_then(|truth| missed(trajectory, truth));
                match (alerts, trajectory.open_plan, missed) {
                    (None, None, None) => None,
                    (alerts, open, missed) => {
                        Some(alerts.unwrap_or(0) + open.unwrap_or(0) + missed.unwrap_or(0))
                    }
                }
            }
            Mode::NotVerified => {
                let seen: BTreeSet<&str> =
                    calls().filter_map(|step| step.entity.as_deref()).collect();
                let named: BTreeSet<&str> = trajectory.named.iter().map(String::as_str).collect();
                let has_calls = calls().next().is_some();
                has_calls.then(|| number(named.difference(&seen).count()))
            }
            Mode::WrongVerification => truth.map(|truth| {
                let right = trajectory.named.iter().any(|named| truth.contains(named));
                u32::from(trajectory.accepted && !right)
            }),
            Mode::AbandonedPlan => trajectory.open_plan,
            Mode::SyntacticFailure => Some(of(Outcome::Syntactic)),
            Mode::SemanticFailure => Some(of(Outcome::Semantic)),
            Mode::Reset
            | Mode::NoClarification
            | Mode::Derailed
            | Mode::Withheld
            | Mode::IgnoredInput => None,
        };
        Self(Mode::ALL.map(|mode| (mode, counted(mode))).into())
    }

    /// The counts as cells of a table, in the order of [`Mode::ALL`]; empty where a mode cannot be decided.
    pub(crate) fn cells(&self) -> impl Iterator<Item = String> {
        let cell = |mode| self.get(mode).map_or_else(String::new, |count| count.to_string());
        Mode::ALL.map(cell).into_iter()
    }

    /// How often a mode happened; nothing where that cannot be decided.
    pub fn get(&self, mode: Mode) -> Option<u32> {
        self.0.get(&mode).copied().flatten()
    }
}

/// True causes that no call was about, unless the answer names one; nothing where there are no calls.
fn missed(trajectory: &Trajectory, truth: &BTreeSet<String>) -> Option<u32> {
    let seen: BTreeSet<&String> = trajectory
        .steps
        .iter()
        .filter(|it| it.is_call())
        .filter_map(|it| it.entity.as_ref())
        .collect();
    let is_right = trajectory.named.iter().any(|named| truth.contains(named));
    let missed = truth.iter().filter(|cause| !seen.contains(cause)).count();
    let has_calls = trajectory.steps.iter().any(Step::is_call);
    has_calls.then(|| if is_right { 0 } else { number(missed) })
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Conversations are named by role, then by where they take place.
fn role(step: &Step) -> &str {
    step.who.split_whitespace().next().unwrap_or_default()
}

/// Calls as they are compared: arguments that are JSON whatever their order and spaces.
fn call(step: &Step) -> (String, String, String) {
    let arguments = serde_json::from_str::<Value>(&step.arguments)
        .map_or_else(|_| step.arguments.clone(), |value| sorted(value).to_string());
    (step.who.clone(), step.tool.clone(), arguments)
}

/// The same value with the keys of all objects in order.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<String, Value> =
                fields.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// Equal calls after one that failed, after one that was answered, and after a summary of it.
fn repeated(steps: &[Step]) -> (u32, u32, u32) {
    let (mut failed, mut answered, mut lost) = (0, 0, 0);
    // The last equal call, and whether it was summarised since.
    let mut last: BTreeMap<(String, String, String), (Outcome, bool)> = BTreeMap::new();
    for step in steps {
        if step.compacted {
            for ((who, ..), (_, summarised)) in &mut last {
                *summarised |= *who == step.who;
            }
        }
        if !step.is_call() || step.came == Outcome::Remembered {
            continue;
        }
        match last.insert(call(step), (step.came, false)) {
            None => {}
            Some((_, true)) => lost += 1,
            Some((Outcome::Syntactic | Outcome::Semantic, false)) => failed += 1,
            Some((Outcome::Answered | Outcome::Remembered, false)) => answered += 1,
        }
    }
    (failed, answered, lost)
}

fn other_roles(steps: &[Step]) -> usize {
    let of = |came: Outcome| steps.iter().filter(move |step| step.is_call() && step.came == came);
    let is_others = |refused: &&Step| {
        of(Outcome::Answered).any(|it| it.tool == refused.tool && role(it) != role(refused))
            && !of(Outcome::Answered).any(|it| it.tool == refused.tool && role(it) == role(refused))
    };
    // Every specialist may record findings.
    let is_own = |refused: &&Step| refused.tool == RECORD_FINDING;
    of(Outcome::Syntactic).filter(|it| !is_own(it)).filter(is_others).count()
}

/// How often each mode happened over many trajectories.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ModeTable {
    /// How many trajectories.
    pub trajectories: usize,
    /// For each mode how often, in how many trajectories, and in how many it could be decided.
    pub modes: BTreeMap<Mode, (u32, usize, usize)>,
}

impl ModeTable {
    /// Sums up trajectories.
    pub fn of<'a>(all: impl IntoIterator<Item = &'a Counts>) -> Self {
        let mut table = Self::default();
        for counts in all {
            table.trajectories += 1;
            for mode in Mode::ALL {
                let (times, in_so_many, decided) = table.modes.entry(mode).or_default();
                let Some(count) = counts.get(mode) else { continue };
                *times += count;
                *in_so_many += usize::from(count > 0);
                *decided += 1;
            }
        }
        table
    }
}

impl fmt::Display for ModeTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.trajectories;
        writeln!(
            f,
            "failures by MAST category: how often, in how many trajectories, of how many that decide it ({all} in all)"
        )?;
        for (mode, (times, in_so_many, decided)) in &self.modes {
            match decided {
                0 => writeln!(f, "  {mode:<36}  not counted")?,
                _ => writeln!(f, "  {mode:<36}{times:>6}{in_so_many:>6}{decided:>6}")?,
            }
        }
        Ok(())
    }
}
