//! Cases are investigated again, and compared with what was concluded when they were closed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use eog::ledger::RecordedAnswer;
use eog::{AbductivePolicy, Answer, BoxFuture, Case, ContextPacket, Decision, Digest, Failure};
use eog_session::controllers::{AnyLedger, AnySettings, ControllerName};
use eog_session::judge::{Evidence, ForRun, Judge, JudgeError, Policies, split_prompts};
use eog_session::run::{Course, Start};
use eog_session::source::{Opened, ReadOptions, open_folder};
use serde::Serialize;

use crate::case::{ClosedCase, Concluded};
use crate::error::CaseError;
use crate::folder::{CaseFolder, INCIDENT, LEDGER};
use crate::grade::Grade;
use crate::pack::unpack;

/// Differences of probability below this are none, in thousandths.
const SAME_PROBABILITY: u16 = 10;

/// The policies for investigating cases again: each case's recorded one, unless one policy judges all.
#[derive(Clone, Copy)]
pub struct Judges<'a> {
    /// The evidence policy, for the cases that one has judged. Those of a model or a program are answered from their ledgers.
    pub evidence: &'a dyn Policies,
    /// The beginning of the digest of the prompts as they are now, where models can be asked: recorded answers to another
    /// wording say nothing of this one.
    pub prompts: Option<&'a str>,
    /// The policy for all cases, if there is one.
    pub all: Option<&'a dyn Policies>,
}

/// What became of a case that was investigated again.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Checked {
    /// The case.
    pub case: String,
    /// What it comes to.
    pub outcome: Outcome,
    /// The grade when it was closed, and now, as far as there are any.
    pub grades: Option<(Grade, Option<Grade>)>,
    /// What was concluded then.
    pub before: Option<String>,
    /// What is concluded now.
    pub after: Option<String>,
    /// What a person should know of it, such as why it cannot be used.
    pub note: Option<String>,
}

/// What a case comes to when it is investigated again, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A file of it is not what was stored, or cannot be used.
    Damaged,
    /// The conclusion has a worse grade.
    Worse,
    /// The ledger has no answer to a question that is asked now: a model or a program would have to be asked.
    Unanswered,
    /// The same grade, said with less confidence.
    LessSure,
    /// The same grade for another conclusion.
    Other,
    /// The same grade, said with more confidence.
    Surer,
    /// The conclusion has a better grade.
    Better,
    /// The same conclusion by another ledger.
    SameConclusion,
    /// The same ledger, byte for byte.
    Identical,
    /// No incident was kept with it; its ledger was verified.
    LedgerOnly,
}

impl Outcome {
    /// All of them, the worst first.
    pub const ALL: [Self; 10] = [
        Self::Damaged,
        Self::Worse,
        Self::Unanswered,
        Self::LessSure,
        Self::Other,
        Self::Surer,
        Self::Better,
        Self::SameConclusion,
        Self::Identical,
        Self::LedgerOnly,
    ];

    /// Whether a change that has it should not go in unseen.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Damaged | Self::Worse | Self::Unanswered)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Damaged => "damaged",
            Self::Worse => "worse",
            Self::Unanswered => "unanswered",
            Self::LessSure => "less sure",
            Self::Other => "other conclusion",
            Self::Surer => "surer",
            Self::Better => "better",
            Self::SameConclusion => "same conclusion",
            Self::Identical => "identical",
            Self::LedgerOnly => "ledger only",
        })
    }
}

/// Investigates a case again. What is wrong with it is in the result: one damaged case keeps no other from being checked.
pub async fn check(folder: &CaseFolder, name: &str, judges: Judges<'_>) -> Checked {
    let mut checked = Checked {
        case: name.to_owned(),
        outcome: Outcome::Damaged,
        grades: None,
        before: None,
        after: None,
        note: None,
    };
    let note = match compare(folder, name, judges, &mut checked).await {
        Ok(note) => note,
        Err(reason) => Some(reason),
    };
    Checked { note, ..checked }
}

/// Fills in what became of a case, with a note.
async fn compare(
    folder: &CaseFolder,
    name: &str,
    judges: Judges<'_>,
    checked: &mut Checked,
) -> Result<Option<String>, String> {
    let in_words = |error: CaseError| error.to_string();
    let case = folder.case(name).map_err(in_words)?;
    checked.grades = Some((case.grade, None));
    checked.before = Some(case.concluded.in_words());
    let text = folder.file(&case, LEDGER).map_err(in_words)?;
    let ledger = read_ledger(&text)?;
    if !case.kept.contains_key(INCIDENT) {
        ledger.restore(|| None).map_err(|error| error.to_string())?;
        checked.outcome = Outcome::LedgerOnly;
        return Ok(None);
    }
    if let (None, Some(now), (_, Some(then))) =
        (judges.all, judges.prompts, split_prompts(&case.concluded.judge))
        && now != then
    {
        checked.outcome = Outcome::Unanswered;
        return Ok(Some(format!(
            "the prompts have changed since ({then}, now {now}), and its answers are to the earlier ones"
        )));
    }
    let packed = folder.file(&case, INCIDENT).map_err(in_words)?;
    let again = again(&case, &ledger, &packed, judges).await?;
    let (outcome, grade) = compared(&case, &text, &again);
    checked.outcome = outcome;
    checked.grades = Some((case.grade, grade));
    checked.after = Some(again.concluded.in_words());
    Ok(match (again.unanswered, outcome) {
        (unanswered, Outcome::Unanswered) => Some(format!(
            "its ledger has no answer to {unanswered} of the questions that are asked now"
        )),
        (_, Outcome::Identical) => None,
        _ if case.reproduced == Some(false) => {
            Some("its incident gave another ledger already when it was closed".to_owned())
        }
        _ => None,
    })
}

/// Whether what is kept of a case gives its ledger; nothing where that cannot be said without asking a model or a program.
pub(crate) async fn reproduces(
    case: &ClosedCase,
    files: &BTreeMap<String, Vec<u8>>,
) -> Option<bool> {
    let (text, packed) = (files.get(LEDGER)?, files.get(INCIDENT)?);
    if case.concluded.judge != Evidence.name() {
        return None;
    }
    let ledger = read_ledger(text).ok()?;
    let judges = Judges { evidence: &Evidence, prompts: None, all: None };
    let again = again(case, &ledger, packed, judges).await;
    Some(again.is_ok_and(|again| again.ledger.as_bytes() == text))
}

fn read_ledger(text: &[u8]) -> Result<AnyLedger, String> {
    let text = std::str::from_utf8(text).map_err(|error| format!("{LEDGER}: {error}"))?;
    AnyLedger::from_json_lines(text).map_err(|error| format!("{LEDGER}: {error}"))
}

/// A case that was investigated again.
struct Again {
    ledger: String,
    concluded: Concluded,
    /// Questions without a recorded answer.
    unanswered: usize,
}

async fn again(
    case: &ClosedCase,
    ledger: &AnyLedger,
    packed: &[u8],
    judges: Judges<'_>,
) -> Result<Again, String> {
    let began = ledger.case().ok_or("its ledger has no first entry")?;
    let settings = AnySettings::at(ledger, 0).ok_or("its ledger has no settings")?;
    let place = tempfile::Builder::new().prefix("eog-case-").tempdir();
    let place = place.map_err(|error| format!("its incident cannot be unpacked: {error}"))?;
    let folder = case.folder.as_deref().unwrap_or_default();
    let unpacked =
        unpack(packed, folder, place.path()).map_err(|error| format!("{INCIDENT}: {error}"))?;
    let options = ReadOptions { architecture: unpacked.architecture, ..ReadOptions::default() };
    let source = open_folder(&unpacked.folder, &options).map_err(|error| error.to_string())?;
    let is_recorded = judges.all.is_none() && !is_evidence(&case.concluded.judge);
    let recorded = is_recorded.then(|| Recorded::of(ledger)).transpose()?;
    let policies: &dyn Policies = match (judges.all, &recorded) {
        (Some(all), _) => all,
        (None, Some(recorded)) => recorded,
        (None, None) => judges.evidence,
    };
    let settings = settings.judged_by(Some(policies.name()));
    let mut start = start(&source, settings, began).map_err(|error| error.to_string())?;
    if is_recorded && source.is_case(began) {
        // Where to start may have been an answer of the model, too.
        start.by_rule = began.clone();
    }
    let ended = Course::new(policies, source).begin(start).await;
    let finished = ended.map_err(|error| error.to_string())?.finished;
    Ok(Again {
        ledger: finished.to_json_lines(),
        concluded: Concluded::of(&finished.diagnosis(), ledger.controller().name()),
        unanswered: recorded.map_or(0, |recorded| recorded.unanswered()),
    })
}

/// Begins as then: with the window that was asked for, if one was.
fn start(
    source: &Opened,
    settings: AnySettings,
    began: &Case,
) -> Result<Start, eog_evidence::StartError> {
    let by_rule = Start::of(source, settings.clone(), None);
    match by_rule {
        Ok(start) if start.by_rule.window == began.window => Ok(start),
        _ => Start::of(source, settings, Some(began.window)),
    }
}

/// Whether the evidence policy judged, by its name in ledgers. Roles by a model are recorded behind it.
fn is_evidence(judge: &str) -> bool {
    judge.starts_with("evidence") && !judge.contains("llm:")
}

/// What a new conclusion is beside that of the case.
fn compared(case: &ClosedCase, ledger: &[u8], again: &Again) -> (Outcome, Option<Grade>) {
    let (before, after) = (&case.concluded, &again.concluded);
    if again.ledger.as_bytes() == ledger {
        return (Outcome::Identical, Some(case.grade));
    }
    if again.unanswered > 0 {
        return (Outcome::Unanswered, None);
    }
    let grade = Grade::of(&case.truth, after);
    let probabilities = before.probability().zip(after.probability());
    let outcome = if grade != case.grade {
        if grade > case.grade { Outcome::Better } else { Outcome::Worse }
    } else if before.entities().ne(after.entities()) {
        Outcome::Other
    } else if before.said != after.said {
        if after.said > before.said { Outcome::Surer } else { Outcome::LessSure }
    } else {
        match probabilities {
            Some((before, after)) if after >= before.saturating_add(SAME_PROBABILITY) => {
                Outcome::Surer
            }
            Some((before, after)) if before >= after.saturating_add(SAME_PROBABILITY) => {
                Outcome::LessSure
            }
            _ => Outcome::SameConclusion,
        }
    };
    (outcome, Some(grade))
}

/// The answers that a ledger holds, by question.
#[derive(Clone)]
struct Recorded {
    name: String,
    answers: Arc<BTreeMap<Digest, Result<Decision, Failure>>>,
    unanswered: Arc<AtomicUsize>,
    reads_case_file: bool,
}

impl Recorded {
    /// Those of a ledger, or why it does not hold all of them.
    fn of(ledger: &AnyLedger) -> Result<Self, String> {
        let controller = ledger.controller();
        if !matches!(controller, ControllerName::Eog | ControllerName::Linear) {
            return Err(format!("a ledger of {controller} does not hold all answers of its model"));
        }
        let finished = ledger.restore(|| None).map_err(|error| error.to_string())?;
        let mut answers = BTreeMap::new();
        for evaluation in finished.evaluations() {
            let Some(question) = evaluation.packet else { continue };
            match evaluation.answer {
                RecordedAnswer::Decided(decision) => {
                    answers.insert(question, Ok(decision.clone()));
                }
                RecordedAnswer::Failed(failure) => {
                    answers.entry(question).or_insert_with(|| Err(failure.clone()));
                }
                RecordedAnswer::Remembered { .. } => {}
            }
        }
        Ok(Self {
            name: ledger.judge_at(0).unwrap_or_default().to_owned(),
            answers: Arc::new(answers),
            unanswered: Arc::default(),
            reads_case_file: ledger.case().is_some_and(|case| case.case_file.is_some()),
        })
    }

    fn unanswered(&self) -> usize {
        self.unanswered.load(Ordering::Relaxed)
    }
}

impl Policies for Recorded {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn judge(&self, _run: ForRun<'_>) -> Result<Box<dyn Judge>, JudgeError> {
        Ok(Box::new(self.clone()))
    }
}

impl Judge for Recorded {
    fn reads_case_file(&self) -> bool {
        self.reads_case_file
    }

    fn policy(&self, _case: &Case) -> Box<dyn AbductivePolicy> {
        Box::new(self.clone())
    }
}

impl AbductivePolicy for Recorded {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        let answer = self.answers.get(&Digest::of(packet)).cloned().unwrap_or_else(|| {
            self.unanswered.fetch_add(1, Ordering::Relaxed);
            Err(Failure::policy("the case has no answer to this question"))
        });
        Box::pin(std::future::ready(answer.map(Answer::from)))
    }
}
