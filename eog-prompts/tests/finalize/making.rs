//! Models that write what an investigation found.

use std::sync::Arc;

use eog_core::Diagnosis;
use eog_prompts::phases::{
    FinalizeAnswer, FinalizeInput, StatedAlert, StatedAnswer, StatedEntity, StatedMoment,
    StatedPropagation, StatedTime,
};
use eog_prompts::{Finalized, Finalizer, MockModel, Pack, Prompter, Reply};
use eog_report::{NarratedEntity, Narrative};

use crate::incidents::flash_sale;

/// What a model that has read the flash sale says.
pub(crate) fn honest(input: &FinalizeInput) -> FinalizeAnswer {
    let sale = number(input, "campaigns.spring-sale.active");
    let out_of_memory = number(input, "OutOfMemory");
    let answer = |answer: &str, evidence: &[u32]| StatedAnswer {
        answer: answer.to_owned(),
        evidence: evidence.to_vec(),
    };
    let symptom = |name: &str, reasoning: &str, evidence: Vec<u32>| StatedEntity {
        name: name.to_owned(),
        reasoning: reasoning.to_owned(),
        evidence,
        ..StatedEntity::default()
    };
    FinalizeAnswer {
        summary: "The spring sale went live at 12:00; its traffic exhausted the database, and \
                  checkouts failed."
            .to_owned(),
        timeline: vec![
            StatedMoment { evidence: sale, what: "the spring sale goes live".to_owned() },
            StatedMoment { evidence: out_of_memory, what: "the database is killed".to_owned() },
        ],
        entities: vec![
            symptom("database", "It ran out of memory under load.", vec![out_of_memory]),
            StatedEntity {
                name: "frontend".to_owned(),
                contributing_factor: true,
                what_changed: answer("the spring sale was switched on", &[sale]),
                when: StatedTime { time: "2026-03-20 12:00:00Z".to_owned(), evidence: vec![sale] },
                how_it_explains: answer(
                    "its traffic went through gateway and processor to the database",
                    &[sale, out_of_memory],
                ),
                reasoning: "The sale came first, and nothing else changed.".to_owned(),
                evidence: vec![sale],
                differs_because: String::new(),
            },
            symptom("gateway", "It passed on what it got.", vec![]),
            symptom("processor", "It waited for the database.", vec![]),
        ],
        propagations: vec![StatedPropagation {
            source: "frontend".to_owned(),
            target: "gateway".to_owned(),
            condition: "a fifth more requests".to_owned(),
            effect: "failed checkouts".to_owned(),
        }],
        alerts: vec![StatedAlert {
            alert: 1,
            explanation: "checkouts failed under the traffic of the sale".to_owned(),
            explained: true,
        }],
    }
}

/// The number of the first finding whose text has these words.
pub(crate) fn number(input: &FinalizeInput, words: &str) -> u32 {
    let line = input.evidence.iter().find(|line| line.text.contains(words));
    let line = line.unwrap_or_else(|| panic!("no evidence says {words}: {:#?}", input.evidence));
    u32::try_from(line.number).unwrap()
}

/// What a model is shown of an investigation.
pub(crate) fn shown(diagnosis: &Diagnosis) -> FinalizeInput {
    FinalizeInput::of(diagnosis, 200)
}

/// What the models write.
pub(crate) fn ask(diagnosis: &Diagnosis, models: Vec<MockModel>) -> Finalized {
    let models = models.into_iter().map(|model| Arc::new(model) as _).collect();
    let finalizer = Finalizer::new(Prompter::new(Arc::new(Pack::sre()), models));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(finalizer.finalize(diagnosis))
}

/// What a model's answer becomes.
pub(crate) fn narrative_of(diagnosis: &Diagnosis, answer: &FinalizeAnswer) -> Narrative {
    let model = MockModel::new("mock/writer").then(Reply::json(answer).unwrap());
    ask(diagnosis, vec![model]).narrative
}

/// The flash sale, written by a model whose honest answer was changed.
pub(crate) fn altered_sale(change: impl Fn(&FinalizeInput, &mut FinalizeAnswer)) -> Narrative {
    let diagnosis = flash_sale();
    let input = shown(&diagnosis);
    let mut answer = honest(&input);
    change(&input, &mut answer);
    narrative_of(&diagnosis, &answer)
}

/// The names of the contributing factors.
pub(crate) fn factors(narrative: &Narrative) -> Vec<&str> {
    let factors = narrative.entities.iter().filter(|entity| entity.contributing_factor);
    factors.map(|entity| entity.name.as_str()).collect()
}

/// One entity of a narrative.
pub(crate) fn entity<'n>(narrative: &'n Narrative, name: &str) -> &'n NarratedEntity {
    narrative.entities.iter().find(|entity| entity.name.as_str() == name).unwrap()
}

/// Why something with these words was refused.
pub(crate) fn reason<'n>(narrative: &'n Narrative, words: &str) -> &'n str {
    let refused = narrative.refused.iter().find(|refused| refused.what.contains(words));
    let refused = refused.unwrap_or_else(|| panic!("{words}: {:#?}", narrative.refused));
    &refused.reason
}
