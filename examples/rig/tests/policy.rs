//! A policy that a model of rig judges. The model is rig's mock.

use std::path::Path;
use std::sync::Arc;

use eog::{Config, Engine, Label};
use eog_evidence::{Bundle, BundleContext, open_case};
use eog_example_rig::RigModel;
use eog_prompts::{LlmPolicy, Pack, Prompter};
use rig_core::completion::Usage;
use rig_core::test_utils::{MockCompletionModel, MockTurn};

fn answer(label: &str, because: &str) -> MockTurn {
    let text = format!(
        r#"{{ "because": "{because}", "label": "{label}", "evidence": [1], "next_page": false, "search": [],
              "claims": [], "proposals": [], "other_causes": [] }}"#
    );
    MockTurn::text(text).with_usage(Usage::new().input_tokens(900).output_tokens(40))
}

async fn investigate(turns: Vec<MockTurn>) -> (eog::Diagnosis, MockCompletionModel) {
    let mock = MockCompletionModel::from_turns(turns);
    let model = RigModel::new(mock.clone(), 32_000, 2_000);
    let policy = LlmPolicy::new(Prompter::new(Arc::new(Pack::sre()), vec![Arc::new(model)]));

    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../flash-sale"));
    let bundle = Bundle::read(folder).unwrap();
    let case = open_case(&bundle.incident(), None).unwrap();
    let mut config = Config::default();
    // One evaluation: the entity with the first alert.
    config.budget.hops = Some(1);
    let finished = Engine::new(BundleContext::new(bundle), policy).investigate(config, case).await;
    (finished.diagnosis(), mock)
}

#[tokio::test]
async fn a_model_of_rig_judges() {
    let (diagnosis, mock) = investigate(vec![answer("healthy", "It answers as usual.")]).await;
    let (_, belief) = diagnosis.beliefs.first_key_value().expect("one entity was judged");
    assert_eq!(belief.label, Label::Healthy);
    assert_eq!(belief.summary, "It answers as usual.");
    assert_eq!(diagnosis.spent.usage.tokens_in, 900);

    let request = &mock.requests()[0];
    assert!(request.system_instructions().is_some(), "instructions come first");
    assert!(request.output_schema.is_some(), "the form of the answer is asked for");
}

#[tokio::test]
async fn what_is_no_answer_is_asked_again_and_what_the_provider_says_is_reported() {
    let turns = vec![MockTurn::text("I think it is fine."), answer("healthy", "All as usual.")];
    let (diagnosis, mock) = investigate(turns).await;
    assert_eq!(mock.request_count(), 2, "one correction");
    assert!(diagnosis.beliefs.values().all(|belief| belief.label == Label::Healthy));

    let (diagnosis, _) = investigate(vec![MockTurn::error("the model is gone")]).await;
    let failure = diagnosis.failures[0].failure.to_string();
    assert!(failure.contains("the model is gone"), "{failure}");
}
