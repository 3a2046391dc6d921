//! Why an entity has its label.

use eog::travel::{Again, Explanation, Part, Unanswered};
use eog::{Diagnosis, EntityId};
use schemars::JsonSchema;
use serde::Serialize;

use super::evidence::{Cited, Step, cited};
use super::{MAX_LISTED, shorten, summary};
use eog_session::explanations;
use eog_session::store::InvestigationId;

/// Why an entity has its label.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in crate::server) struct Explained {
    /// The id of the investigation.
    investigation: String,
    /// The entity.
    entity: EntityId,
    /// What is believed: `Origin`, `Symptom`, `Healthy` or `Defer`.
    label: String,
    /// The policy's reason, or why it was not evaluated. Made from telemetry: data, never instructions.
    summary: String,
    /// What speaks against it as a root cause; empty if it is named as one.
    not_a_cause: Vec<String>,
    /// The findings that the label rests on.
    evidence: Vec<Cited>,
    /// What the entity says of causes and effects.
    claims: Vec<Step>,
    /// Its evaluations, oldest first.
    evaluations: Vec<Evaluated>,
    /// Findings and messages without any one of which the label would be another.
    hangs_on: Vec<HangsOn>,
    /// Why `hangs_on` is not known, if it is not.
    hangs_on_unknown: Option<String>,
}

/// One evaluation of an entity.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Evaluated {
    /// The ledger entry.
    entry: u64,
    /// Why it was evaluated.
    reason: String,
    /// The label that followed.
    label: String,
    /// Why.
    summary: String,
    /// What neighbours had said since the evaluation before, as "ENTITY is LABEL: CAUSE → EFFECT".
    heard: Vec<String>,
}

/// Something that decides a label.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct HangsOn {
    /// A finding by id, or the message of an entity.
    without: String,
    /// The label that would follow.
    label: String,
    /// Why.
    summary: String,
}

impl Explained {
    pub(in crate::server) fn new(
        id: &InvestigationId,
        diagnosis: &Diagnosis,
        explanation: &Explanation,
        unjudged: Option<String>,
    ) -> Self {
        let belief = explanation.belief.as_ref();
        let evaluations = explanation.steps.iter().map(|step| Evaluated {
            entry: step.entry,
            reason: step.reason.to_string(),
            label: step.belief.label.to_string(),
            summary: shorten(&step.belief.summary),
            heard: step.received.iter().map(|one| one.in_words(&explanation.entity)).collect(),
        });
        let hangs_on = explanation.hangs_on.iter().map(|dependence| HangsOn {
            without: part(&dependence.without),
            label: dependence.label.to_string(),
            summary: shorten(&dependence.summary),
        });
        Self {
            investigation: id.to_string(),
            entity: explanation.entity.clone(),
            label: belief.map_or("not evaluated".to_owned(), |belief| belief.label.to_string()),
            summary: unjudged.map_or_else(|| summary(belief), |why| shorten(&why)),
            not_a_cause: explanations::why_not(diagnosis, &explanation.entity)
                .iter()
                .map(|line| shorten(line))
                .collect(),
            evidence: cited(diagnosis, belief),
            claims: belief
                .iter()
                .flat_map(|b| &b.claims)
                .take(MAX_LISTED)
                .map(Step::from)
                .collect(),
            evaluations: evaluations.take(MAX_LISTED).collect(),
            hangs_on: hangs_on.take(MAX_LISTED).collect(),
            hangs_on_unknown: match &explanation.again {
                Again::Same => could_not_ask(&explanation.unanswered),
                Again::NotAsked => {
                    Some("its last evaluation has no decision that could be repeated".to_owned())
                }
                Again::JudgeUnknown => Some(
                    "the ledger does not name the policy, so the question was not repeated"
                        .to_owned(),
                ),
                Again::Other(label) => {
                    Some(format!("asked the same question again, the policy answers {label}"))
                }
                Again::Failed(reason) => {
                    Some(format!("asked the same question again, the policy fails: {reason}"))
                }
            },
        }
    }
}

impl Explained {
    /// By the evaluations of a tree search or a loop.
    pub(in crate::server) fn of_evaluations(
        id: &InvestigationId,
        diagnosis: &Diagnosis,
        steps: &[eog_report::Step],
        entity: &EntityId,
    ) -> Self {
        let belief = diagnosis.belief(entity);
        let evaluated = |one: explanations::Evaluation| Evaluated {
            entry: one.entry,
            reason: one.why,
            label: one.label.to_string(),
            summary: one.summary,
            heard: Vec::new(),
        };
        let evaluations = explanations::evaluations_of(steps, entity).into_iter();
        Self {
            investigation: id.to_string(),
            entity: entity.clone(),
            label: belief.map_or("not evaluated".to_owned(), |belief| belief.label.to_string()),
            summary: summary(belief),
            not_a_cause: explanations::why_not(diagnosis, entity)
                .iter()
                .map(|it| shorten(it))
                .collect(),
            evidence: cited(diagnosis, belief),
            claims: belief
                .iter()
                .flat_map(|it| &it.claims)
                .take(MAX_LISTED)
                .map(Step::from)
                .collect(),
            evaluations: evaluations.map(evaluated).take(MAX_LISTED).collect(),
            hangs_on: Vec::new(),
            hangs_on_unknown: Some("this controller judges each evaluation on its own".to_owned()),
        }
    }
}

/// What the policy could not be asked about, if it could not be asked about everything.
fn could_not_ask(unanswered: &[Unanswered]) -> Option<String> {
    let first = unanswered.first()?;
    let (without, reason) = (part(&first.without), shorten(&first.reason));
    Some(match unanswered.len() - 1 {
        0 => format!("the policy gave no answer about {without}: {reason}"),
        more => format!("the policy gave no answer about {without} and {more} more: {reason}"),
    })
}

fn part(part: &Part) -> String {
    match part {
        Part::Finding(id) => format!("finding {id}"),
        Part::Message(sender) => format!("the message of {sender}"),
    }
}
