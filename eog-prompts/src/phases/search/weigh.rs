//! How far the evidence supports a hypothesis.

use eog_core::{EntityId, EvidenceId};
use eog_search::Verdict;
use eog_search::ask::{Tested, WeighAsk};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path::{Detail, FoundLine, TestedLine, Writer};
use super::{empty, kept, score};
use crate::Phase;
use crate::phases::frame::IncidentLines;

/// Most gaps that are kept.
const MAX_GAPS: usize = 5;

/// Above this score, something must speak for a hypothesis.
const WITHOUT_EVIDENCE: u16 = 300;

/// Gives a score to a hypothesis.
#[derive(Clone, Copy, Debug)]
pub struct Weigh;

/// A hypothesis, and what was recorded.
#[derive(Clone, Debug, Serialize)]
pub struct WeighInput {
    #[serde(flatten)]
    incident: IncidentLines,
    /// The hypotheses on the way to the weighed one.
    path: Vec<TestedLine>,
    /// The one that is weighed.
    weighed: Vec<TestedLine>,
    /// Every other one that was investigated.
    others: Vec<TestedLine>,
    known: Vec<FoundLine>,
    more_known: usize,
    accept: u16,
    /// The ids behind the numbers of what is known.
    #[serde(skip)]
    ids: Vec<EvidenceId>,
}

impl WeighInput {
    /// The input for a question of a search.
    pub fn new(ask: &WeighAsk, detail: Detail) -> Self {
        let mut writer = Writer::new(&ask.scene, detail);
        let (weighed, above) = match ask.path.split_last() {
            // An earlier score of it would be repeated.
            Some((last, above)) => (Some(Tested { verdict: None, ..last.clone() }), above),
            None => (None, &[][..]),
        };
        let entities: Vec<&EntityId> =
            ask.path.iter().rev().map(|it| it.seen.action.entity()).collect();
        let (known, ids, more_known) = writer.known(&ask.known, &entities);
        Self {
            path: above.iter().map(|it| writer.tested(it)).collect(),
            weighed: weighed.iter().map(|it| writer.tested(it)).collect(),
            others: ask.others.iter().map(|it| writer.tested(it)).collect(),
            incident: writer.incident(),
            known,
            more_known,
            accept: ask.accept,
            ids,
        }
    }

    fn id(&self, number: u32) -> Option<&EvidenceId> {
        self.ids.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }
}

/// A score with its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WeighAnswer {
    /// one or two sentences: what the evidence shows, for and against
    pub because: String,
    /// numbers of the findings that the score rests on
    pub evidence: Vec<u32>,
    /// what is missing for a higher score, at most 5, each in one sentence
    pub gaps: Vec<String>,
    /// 0 to 1000
    pub score: u16,
}

impl WeighAnswer {
    /// The verdict of an answer without problems.
    pub fn verdict(&self, input: &WeighInput) -> Verdict {
        let mut verdict = Verdict::new(self.score, kept(&self.because));
        for id in self.evidence.iter().filter_map(|number| input.id(*number)) {
            if !verdict.key_evidence.contains(id) {
                verdict.key_evidence.push(id.clone());
            }
        }
        let gaps = self.gaps.iter().map(|gap| kept(gap)).filter(|gap| !gap.is_empty());
        verdict.gaps = gaps.take(MAX_GAPS).collect();
        verdict
    }
}

impl Phase for Weigh {
    const NAME: &'static str = "search_weigh";
    type Input = WeighInput;
    type Answer = WeighAnswer;

    fn problems(input: &WeighInput, answer: &WeighAnswer) -> Vec<String> {
        let mut problems = Vec::new();
        empty("because", &answer.because, &mut problems);
        score("score", answer.score, &mut problems);
        for number in &answer.evidence {
            if input.id(*number).is_none() {
                let most = input.ids.len();
                problems.push(format!("evidence: there is no finding {number}, only 1 to {most}"));
            }
        }
        if answer.score > WITHOUT_EVIDENCE && answer.evidence.is_empty() {
            problems.push(format!(
                "evidence: a score above {WITHOUT_EVIDENCE} rests on findings; name them, or give less"
            ));
        }
        problems
    }

    /// Numbers that do not exist support nothing; the others still do.
    fn without_refused(input: &WeighInput, answer: &WeighAnswer) -> Option<WeighAnswer> {
        let evidence = answer.evidence.iter().copied().filter(|it| input.id(*it).is_some());
        let rest = WeighAnswer { evidence: evidence.collect(), ..answer.clone() };
        Self::problems(input, &rest).is_empty().then_some(rest)
    }
}
