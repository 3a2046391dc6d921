//! Narratives and prompts written down: a change of them is a change for readers.

use std::sync::Arc;

use eog_prompts::{Finalizer, MockModel, Pack, Prompter, answer_form, not_strict};
use eog_report::Narrative;

use crate::incidents::flash_sale;
use crate::making::{honest, narrative_of, shown};

fn json(narrative: &Narrative) -> String {
    serde_json::to_string_pretty(narrative).unwrap()
}

#[test]
fn the_flash_sale_by_an_honest_model() {
    let diagnosis = flash_sale();
    let narrative = narrative_of(&diagnosis, &honest(&shown(&diagnosis)));
    assert_eq!((&narrative.refused[..], &narrative.deviations[..]), (&[][..], &[][..]));
    insta::assert_snapshot!(json(&narrative));
}

#[test]
fn what_a_model_is_asked() {
    let models = vec![Arc::new(MockModel::new("mock/writer")) as _];
    let finalizer = Finalizer::new(Prompter::new(Arc::new(Pack::sre()), models));
    let request = finalizer.prompt(&flash_sale()).unwrap();
    let texts: Vec<&str> = request.messages.iter().map(|message| message.text.as_str()).collect();
    insta::assert_snapshot!(texts.join("\n\n=====\n\n"));
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
