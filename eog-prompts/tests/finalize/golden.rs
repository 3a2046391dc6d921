//! Narratives and prompts written down: a change of them is a change for readers.

use std::sync::Arc;

use eog_prompts::{
    Finalizer, MockModel, Narrative, Pack, Prompter, answer_form, narrate, not_strict,
};

use crate::making::{flash_sale, honest, recording, shown, told};

fn json(narrative: &Narrative) -> String {
    serde_json::to_string_pretty(narrative).unwrap()
}

#[test]
fn the_flash_sale_by_rules() {
    insta::assert_snapshot!(json(&narrate(&flash_sale())));
}

#[test]
fn the_recording_by_rules() {
    let Some(material) = recording() else { return };
    insta::assert_snapshot!(json(&narrate(&material)));
}

#[test]
fn the_flash_sale_by_an_honest_model() {
    let material = flash_sale();
    let narrative = told(&material, &honest(&shown(&material)));
    assert_eq!((&narrative.refused[..], &narrative.deviations[..]), (&[][..], &[][..]));
    insta::assert_snapshot!(json(&narrative));
}

#[test]
fn what_a_model_is_asked() {
    let models = vec![Arc::new(MockModel::new("mock/teller")) as _];
    let finalizer = Finalizer::new(Prompter::new(Arc::new(Pack::sre()), models));
    let request = finalizer.prompt(&flash_sale()).unwrap();
    let texts: Vec<&str> = request.messages.iter().map(|message| message.text.as_str()).collect();
    insta::assert_snapshot!(texts.join("\n\n=====\n\n"));
}

#[test]
fn a_narrative_is_read_back() {
    let narrative = narrate(&flash_sale());
    assert_eq!(serde_json::from_str::<Narrative>(&json(&narrative)).unwrap(), narrative);
    let forged = json(&narrative).replacen("{", "{\"suggestions\": [],", 1);
    assert!(serde_json::from_str::<Narrative>(&forged).is_err());
}

#[test]
fn the_form_is_strict_and_asks_for_no_fixes() {
    let form = answer_form::<eog_prompts::phases::FinalizeAnswer>("finalize");
    assert_eq!(not_strict(&form.schema), Vec::<String>::new());
    let schemas = [form.schema, eog_core::json_schema::<Narrative>()];
    for schema in schemas.map(|schema| schema.to_string().to_lowercase()) {
        for word in ["\"fix", "\"remed", "\"recommend", "\"mitigat", "\"action", "\"suggest"] {
            assert!(!schema.contains(word), "{word} in {schema}");
        }
    }
}

#[test]
fn equal_ledgers_give_equal_narratives() {
    assert_eq!(json(&narrate(&flash_sale())), json(&narrate(&flash_sale())));
}
