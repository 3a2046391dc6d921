//! The score of the reasoning (appendix D.3.2 of the paper), which needs a judge who understands
//! words.

use std::fmt;

use serde::Serialize;

use super::named::NamedEntity;
use super::output::Output;
use super::truth::GroundTruth;

/// The longest text that a judge is given of one reason, in characters.
const MAX_CHARS: usize = 2_000;

/// The most reasons that a judge is given of one cause.
const MAX_REASONS: usize = 10;

/// A judge that compares what an output says of a cause with what the truth says, such as a language model.
///
/// ```
/// use eog_eval::itbench::{CauseToJudge, Judged, ReasoningJudge, Verdict};
/// struct Lenient;
/// impl ReasoningJudge for Lenient {
///     fn name(&self) -> String {
///         "lenient".to_owned()
///     }
///     fn judge(&self, causes: &[CauseToJudge]) -> Result<Vec<Judged>, String> {
///         let right = Judged { verdict: Verdict::Right, because: "why not".to_owned() };
///         Ok(vec![right; causes.len()])
///     }
/// }
/// ```
pub trait ReasoningJudge {
    /// What it is called in reports.
    fn name(&self) -> String;

    /// Judges every cause of one run, in their order.
    ///
    /// # Errors
    /// Why there is no judgement; the run has no score of its reasoning then.
    fn judge(&self, causes: &[CauseToJudge]) -> Result<Vec<Judged>, String>;
}

/// A cause that an output names rightly, and what is said of it on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CauseToJudge {
    /// Its number in the question, counted from 1.
    pub number: usize,
    /// As the output names it.
    pub cause: String,
    /// What the truth says of it; never empty.
    pub truth: Vec<String>,
    /// What the output says of it; never empty. Untrusted.
    pub said: Vec<String>,
}

/// What a judge says of one cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judged {
    /// Its verdict.
    pub verdict: Verdict,
    /// Why, in a sentence. Untrusted.
    pub because: String,
}

/// How far a reason agrees with the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It says something else, or nothing: 0.
    Wrong,
    /// It is about the same thing, but a key detail is missing or not exact: 0.5.
    Partial,
    /// It means the same: 1.
    Right,
}

impl Verdict {
    /// Its worth.
    pub fn score(self) -> f64 {
        match self {
            Self::Wrong => 0.0,
            Self::Partial => 0.5,
            Self::Right => 1.0,
        }
    }
}

/// The score of one run's reasoning.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reasoning {
    /// The mean over the root causes that were named.
    Scored {
        /// From 0 to 1.
        score: f64,
        /// Why, one entry for each.
        because: Vec<String>,
    },
    /// There is no score.
    LeftOut {
        /// Why not.
        reason: String,
    },
}

impl Reasoning {
    /// The score, if there is one.
    pub fn score(&self) -> Option<f64> {
        match self {
            Self::Scored { score, .. } => Some(*score),
            Self::LeftOut { .. } => None,
        }
    }

    /// Why, in one line.
    pub(crate) fn because(&self) -> String {
        match self {
            Self::Scored { because, .. } => because.join(" | "),
            Self::LeftOut { reason } => format!("not scored: {reason}"),
        }
    }

    /// Scores the reasoning of an output, or of a run without any. The judge is asked about causes
    /// that are named rightly and with a reason. By the rules of the appendix all else is 0: no
    /// root cause named, or no reason given. A judge that fails never makes a 0.
    pub(crate) fn of(
        output: Option<&Output>,
        truth: &GroundTruth,
        judge: &dyn ReasoningJudge,
    ) -> Self {
        let roots = truth.root_causes();
        let mut found: Vec<Found> = Vec::new();
        for entity in output.into_iter().flat_map(Output::predicted) {
            let classes = truth.classes_of(entity);
            let mut wanted: Vec<String> = Vec::new();
            for class in classes.intersection(&roots) {
                wanted.extend(truth.conditions(class).into_iter().map(short));
            }
            if classes.is_disjoint(&roots) {
                continue;
            }
            let said = output.map(|output| output.reasons_of(entity).map(short).collect());
            found.push(Found { entity, truth: wanted, said: said.unwrap_or_default() });
        }
        if found.is_empty() {
            let because = vec!["no root cause is named".to_owned()];
            return Self::Scored { score: 0.0, because };
        }
        if let Some(mute) = found.iter().find(|cause| cause.truth.is_empty()) {
            let reason = format!("the ground truth gives no condition for {}", mute.entity);
            return Self::LeftOut { reason };
        }
        let asked: Vec<CauseToJudge> = found
            .iter()
            .filter(|cause| !cause.said.is_empty())
            .zip(1..)
            .map(|(cause, number)| cause.to_judge(number))
            .collect();
        let mut answers = match asked.is_empty() {
            true => Vec::new(),
            false => match judge.judge(&asked) {
                Ok(answers) if answers.len() == asked.len() => answers,
                Ok(answers) => {
                    let (returned, wanted) = (answers.len(), asked.len());
                    let reason =
                        format!("the judge returned {returned} verdicts for {wanted} causes");
                    return Self::LeftOut { reason };
                }
                Err(reason) => return Self::LeftOut { reason },
            },
        }
        .into_iter();
        let mut because = Vec::new();
        let mut sum = 0.0;
        for cause in &found {
            let answer = if cause.said.is_empty() { None } else { answers.next() };
            sum += answer.as_ref().map_or(0.0, |judged| judged.verdict.score());
            let why = answer.map_or_else(|| "no reason is given".to_owned(), |a| short(&a.because));
            because.push(format!("{}: {why}", cause.entity));
        }
        Self::Scored { score: sum / found.len() as f64, because }
    }
}

/// A root cause that is named.
struct Found<'a> {
    entity: &'a NamedEntity,
    truth: Vec<String>,
    said: Vec<String>,
}

impl Found<'_> {
    fn to_judge(&self, number: usize) -> CauseToJudge {
        let few = |texts: &[String]| texts.iter().take(MAX_REASONS).cloned().collect();
        let cause = self.entity.to_string();
        CauseToJudge { number, cause, truth: few(&self.truth), said: few(&self.said) }
    }
}

/// A text on one line, cut where it is too long.
fn short(text: &str) -> String {
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = text.chars().map(visible).collect();
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// What the reasoning of all runs scored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReasoningReport {
    /// The judge.
    pub judge: String,
    /// The mean over the runs that have a score; nothing when none has.
    pub mean: Option<f64>,
    /// How many have one.
    pub scored: usize,
    /// How many have none.
    pub left_out: usize,
}

impl ReasoningReport {
    pub(crate) fn of<'a>(judge: String, runs: impl IntoIterator<Item = &'a Reasoning>) -> Self {
        let scores: Vec<Option<f64>> = runs.into_iter().map(Reasoning::score).collect();
        let scored = scores.iter().flatten().count();
        let mean = scores.iter().flatten().sum::<f64>() / scored.max(1) as f64;
        let mean = (scored > 0).then_some(mean);
        Self { judge, mean, scored, left_out: scores.len() - scored }
    }
}

impl fmt::Display for ReasoningReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { judge, mean, scored, left_out } = self;
        let mean = mean.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.3}"));
        let runs = scored + left_out;
        writeln!(f, "  {:<24}{mean} over {scored} of {runs} runs, judged by {judge}", "reasoning")
    }
}
