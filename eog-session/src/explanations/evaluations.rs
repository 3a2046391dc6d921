//! Why an entity has its label, in a tree search or a loop: its evaluations, step by step. No policy is
//! called again, since each evaluation was judged for itself.

use eog::{Diagnosis, EntityId};
use eog_report::clean::{clean, clean_to};
use eog_report::page::{BOLD, DIM, PLAIN, Page};
use eog_report::{Answer, Lookup, Step, StepKind};

use super::explanation::{evidence, not_named};

/// Characters of why, and of what came of it.
const MAX_REASON: usize = 400;

/// One evaluation of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// The ledger entry.
    pub entry: u64,
    /// Why it was evaluated, in words.
    pub why: String,
    /// The label that followed, or `failed`.
    pub label: String,
    /// Why, or why it failed.
    pub summary: String,
}

/// The evaluations of an entity, oldest first.
pub fn evaluations_of(steps: &[Step], entity: &EntityId) -> Vec<Evaluation> {
    let of = |step: &&Step| step.kind == StepKind::Looked && step.entity.as_ref() == Some(entity);
    let evaluation = |step: &Step| {
        let (label, summary) = match (&step.answer, &step.belief) {
            (Answer::Failed(reason), _) => ("failed".to_owned(), reason.clone()),
            (_, Some(belief)) => (belief.label.to_string(), belief.summary.clone()),
            (_, None) => (String::from("not judged"), step.words.clone()),
        };
        let why = match step.trail.why.as_str() {
            "" => String::new(),
            why => clean_to(why, MAX_REASON),
        };
        Evaluation { entry: step.seq, why, label, summary: clean_to(&summary, MAX_REASON) }
    };
    steps.iter().filter(of).map(evaluation).collect()
}

/// Why an entity has its label, by its evaluations. Wraps at `width` columns, if given. With `lookup`, the
/// commands that show the evidence are named.
pub fn evaluations(
    diagnosis: &Diagnosis,
    steps: &[Step],
    entity: &EntityId,
    lookup: Option<&Lookup>,
    width: Option<usize>,
) -> String {
    let mut page = Page::new(width);
    let belief = diagnosis.belief(entity);
    let label = belief.map_or("not evaluated".to_owned(), |belief| belief.label.to_string());
    page.line("", BOLD, &format!("{}: {label}", clean(entity.as_str())));
    if let Some(belief) = belief {
        page.line("  ", PLAIN, &clean(&belief.summary));
        evidence(&mut page, diagnosis, belief, lookup);
    }
    let evaluations = evaluations_of(steps, entity);
    if evaluations.is_empty() {
        page.line("  ", PLAIN, "No step evaluated it.");
    } else {
        page.title("HISTORY");
    }
    for Evaluation { entry, why, label, summary } in evaluations {
        page.line("  ", PLAIN, &format!("entry {entry}: {label}: {summary}"));
        if !why.is_empty() {
            page.line("    ", DIM, &why);
        }
    }
    not_named(&mut page, diagnosis, entity);
    page.into_text()
}
