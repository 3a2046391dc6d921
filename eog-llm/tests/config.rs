//! Models from the section `[llm]`, and what `eog doctor` says of it.

use crate::support;

use std::fs;
use std::path::Path;

use eog_llm::{CheckStatus, LlmConfig, StructuredOutput};
use eog_prompts::{ChatErrorKind, ChatModel, ChatRequest};
use support::{KEY, Reply, Server, openai, request};

fn config(text: &str) -> LlmConfig {
    toml::from_str(text).expect("a configuration")
}

fn no_env(_: &str) -> Option<String> {
    None
}

fn refused(text: &str) -> String {
    let env = |name: &str| (name == "OPENAI_API_KEY").then(|| KEY.to_owned());
    config(text).build(&env).err().expect("refused").to_string()
}

#[tokio::test]
async fn chains_budgets_and_addresses_come_from_the_configuration() {
    let server = Server::start(vec![
        Reply::Events(openai("one", "stop")),
        Reply::Events(openai("two", "stop")),
    ])
    .await;
    let text = format!(
        r#"
        model = "openai/gpt-4o-mini"
        finalize_model = "ollama/big"
        fallbacks = ["ollama/small", "openai/gpt-4o-mini"]
        seed = 11
        retries = 0
        budget = {{ calls = 2, usd = 1.0 }}
        [providers.openai]
        base_url = "{0}/of-openai"
        [models."openai/gpt-4o-mini"]
        prices = {{ input = 1.0, cached_input = 0.5, output = 4.0 }}
        [models."ollama/big"]
        base_url = "{0}/of-big"
        capabilities = {{ seed = false }}
        "#,
        server.url
    );
    let env = |name: &str| (name == "OPENAI_API_KEY").then(|| KEY.to_owned());
    let models = config(&text).build(&env).expect("models");
    let names = |chain: &[std::sync::Arc<dyn ChatModel>]| -> Vec<String> {
        chain.iter().map(|model| model.info().name.clone()).collect()
    };
    assert_eq!(names(&models.explore), ["openai/gpt-4o-mini", "ollama/small"]);
    assert_eq!(names(&models.finalize), ["ollama/big", "ollama/small", "openai/gpt-4o-mini"]);

    let first = models.explore[0].chat(&request()).await.expect("an answer");
    // 36 tokens at 1, 64 at 0.5 and 20 at 4 dollars per million.
    assert_eq!((first.text.as_str(), first.usage.cost_micro_usd), ("one", 148));
    models.finalize[0].chat(&request()).await.expect("an answer");
    let seen = server.seen();
    assert_eq!(seen[0].path, "/of-openai/chat/completions");
    assert_eq!((seen[0].body["seed"].as_u64(), seen[1].body["seed"].as_u64()), (Some(11), None));
    assert_eq!(seen[1].path, "/of-big/chat/completions");
    assert_eq!(seen[1].headers["authorization"], "Bearer none", "its own key or none");
    let spent = models.meter.spent();
    assert_eq!((spent.model_calls, spent.cost_micro_usd), (2, 148));
    assert_eq!((spent.tokens_in, spent.tokens_out), (200, 40));
    let error = models.explore[0].chat(&request()).await.expect_err("two calls were allowed");
    assert_eq!(
        (error.kind, server.seen().len()),
        (ChatErrorKind::OverBudget(eog_core::BudgetKind::ModelCalls), 2)
    );
}

#[test]
fn errors_say_what_to_do() {
    for (text, expected) in [
        ("", "set it to PROVIDER/NAME"),
        ("model = \"openai\"", "write provider/model"),
        ("model = \"opnai/gpt-4o\"", "openai"),
        ("model = \"anthropic/claude-sonnet-4-5\"", "set ANTHROPIC_API_KEY"),
        ("model = \"vllm/m\"", "set base_url"),
        ("model = \"openai/gpt-4o\"\nbudget.usd = 1.0", "prices = {"),
        ("model = \"openai/gpt-4o\"\nbudget.usd = -1.0", "US dollars"),
        ("model = \"openai/gpt-4o\"\nbudget.calls = 0", "llm.budget.calls: with 0 no model"),
        ("model = \"openai/gpt-4o\"\nbudget.tokens = 0", "llm.budget.tokens: with 0 no model"),
        ("model = \"openai/gpt-4o\"\ntimeout_s = 0.0", "write seconds"),
        ("model = \"openai/gpt-4o\"\n[providers.opnai]", "openai"),
        ("model = \"openai/gpt-4o\"\n[models.\"opnai/x\"]", "openai"),
        (
            "model = \"openai/gpt-4o\"\n[models.\"openai/gpt-4o\"]\nreasoning_effort = \"low\"",
            "reasoning_effort = true",
        ),
        (
            "model = \"openai/gpt-4o\"\nproviders.openai = { key_env = \"A\", key_file = \"b\" }",
            "set one of them",
        ),
        ("model = \"openai/gpt-4o\"\nproviders.openai.key_env = \"OTHER\"", "OTHER"),
        ("model = \"openai/gpt-4o\"\nproviders.openai.key_file = \"no/such\"", "no/such"),
        (
            "model = \"openai/gpt-4o\"\ncassette = { path = \"no/such\", mode = \"replay\" }",
            "\"auto\"",
        ),
        (
            "model = \"openai/gpt-4o\"\ncassette = { path = \"no/such\", mode = \"auto\" }",
            "its folder does not exist: create it",
        ),
    ] {
        let error = refused(text);
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn settings_that_would_be_left_out_silently_are_refused() {
    let text = "model = \"anthropic/claude-sonnet-4-5\"\n\
                providers.anthropic.key_env = \"OPENAI_API_KEY\"\n\
                models.\"anthropic/claude-sonnet-4-5\".capabilities.seed = true";
    assert!(refused(text).contains("seed cannot be sent"), "{}", refused(text));
}

#[test]
fn an_unusable_budget_is_reported_once() {
    let checks = config("model = \"ollama/a\"\nbudget.calls = 0").check(&no_env);
    let wrong: Vec<&str> = checks
        .iter()
        .filter(|check| check.status == CheckStatus::Wrong)
        .map(|check| check.what.as_str())
        .collect();
    assert_eq!(wrong, ["llm.budget.calls"], "{checks:?}");
}

#[test]
fn misspelt_keys_are_refused() {
    for text in ["modle = \"x\"", "budget = { dollars = 1 }", "[providers.openai]\nkey = \"sk-1\""]
    {
        let error = toml::from_str::<LlmConfig>(text).expect_err("misspelt").to_string();
        assert!(error.contains("unknown field"), "{error}");
    }
    let error = toml::from_str::<LlmConfig>(
        "[models.\"openai/x\"]\nprices = { input = -1.0, output = 1.0 }",
    );
    assert!(error.expect_err("no price").to_string().contains("price"));
}

#[test]
fn only_variables_of_configured_models_are_read() {
    let asked = std::cell::RefCell::new(Vec::new());
    let env = |name: &str| {
        asked.borrow_mut().push(name.to_owned());
        Some(KEY.to_owned())
    };
    config("model = \"openai/gpt-4o\"\nfallbacks = [\"ollama/qwen3\"]")
        .build(&env)
        .expect("models");
    assert!(asked.borrow().iter().all(|name| name == "OPENAI_API_KEY"), "{asked:?}");
}

#[cfg(unix)]
fn permit(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
}

#[cfg(unix)]
#[test]
fn a_key_file_that_others_can_read_is_warned_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("key");
    fs::write(&path, format!("{KEY}\n")).expect("written");
    let config = config(&format!(
        "model = \"openai/gpt-4o\"\nproviders.openai.key_file = {path:?}\nbudget.calls = 9"
    ));
    let mut states = Vec::new();
    for mode in [0o644, 0o600] {
        permit(&path, mode);
        config.build(&no_env).expect("models");
        let checks = config.check(&no_env);
        assert!(checks.iter().all(|check| !check.detail.contains(KEY)), "{checks:?}");
        states.push(checks.iter().map(|check| check.status).collect::<Vec<_>>());
    }
    use CheckStatus::{Ok, Warning};
    assert_eq!(states, [vec![Ok, Warning, Ok], vec![Ok, Ok]]);
}

#[test]
fn the_doctor_says_everything_at_once() {
    let config = config(
        "model = \"openai/gpt-4o\"\nfinalize_model = \"vllm/m\"\nfallbacks = [\"ollama/qwen3\"]\n\
         providers.vllm = { base_url = \"http://models.example/v1\", key_env = \"SET\" }\n\
         cassette = { path = \"no/such\", mode = \"auto\" }",
    );
    let env = |name: &str| (name == "SET").then(|| KEY.to_owned());
    let checks = config.check(&env);
    let statuses: Vec<(&str, CheckStatus)> =
        checks.iter().map(|check| (check.what.as_str(), check.status)).collect();
    use CheckStatus::{Ok, Warning, Wrong};
    assert_eq!(
        statuses,
        [
            ("openai/gpt-4o", Wrong),
            ("ollama/qwen3", Ok),
            ("vllm/m", Ok),
            ("vllm/m", Warning),
            ("llm.budget", Warning),
            ("llm.cassette", Wrong),
        ]
    );
    assert!(checks[0].detail.contains("set OPENAI_API_KEY"), "{checks:?}");
    assert!(checks[3].detail.contains("unencrypted"), "{checks:?}");
    assert!(checks[5].detail.contains("its folder does not exist"), "{checks:?}");
    assert_eq!(LlmConfig::default().check(&no_env)[0].status, Wrong);
}

#[test]
fn sections_of_unused_models_are_reported() {
    let words = |section: &str| -> Vec<String> {
        let text = format!(
            "model = \"openai/gpt-5-mini\"\nfallbacks = [\"vllm/small\"]\n\
             models.\"vllm/small\" = {{}}\nmodels.{section:?} = {{}}"
        );
        let idle = config(&text).idle_models();
        idle.iter().map(|idle| format!("{}: {}", idle.section(), idle.words())).collect()
    };
    assert_eq!(
        words("openai/gtp-5-mini"),
        ["llm.models.\"openai/gtp-5-mini\": no configured model has this name; did you mean \
             \"openai/gpt-5-mini\"?"]
    );
    let others = ["openai/gpt-4-mini", "ollama/qwen3", "vllm/smal"];
    for other in others {
        let notes = words(other);
        assert_eq!(notes.len(), 1, "{notes:?}");
        let said = "it has no effect, because no configured model has this name; configured: \
                    openai/gpt-5-mini, vllm/small";
        assert!(notes[0].ends_with(said), "{notes:?}");
    }
    assert_eq!(words("openai/gpt-5-mini"), [""; 0]);
    let doctor = config("model = \"ollama/a\"\nmodels.\"ollama/b\" = {}").check(&no_env);
    assert_eq!(
        (doctor[0].what.as_str(), doctor[0].status),
        ("llm.models.\"ollama/b\"", CheckStatus::Warning)
    );
}

#[test]
fn names_of_unused_models_are_checked_without_a_key() {
    let said = |text: &str| -> Vec<String> {
        let checks = config(text).check_idle_names();
        assert!(checks.iter().all(|it| it.status == CheckStatus::Warning), "{checks:?}");
        checks.iter().map(|it| format!("{}: {}", it.what, it.detail)).collect()
    };
    assert_eq!(said("model = \"openai/gpt-5-mini\""), [""; 0]);
    assert_eq!(said(""), [""; 0]);
    let slip = "opnai/gpt-5-mini: \"opnai\" is not a known provider; did you mean \
                \"openai/gpt-5-mini\"?";
    assert_eq!(said("model = \"opnai/gpt-5-mini\"\nfinalize_model = \"opnai/gpt-5-mini\""), [slip]);
    let bare = "gpt-5: the provider is missing before the model; write PROVIDER/NAME, such as \
                openai/gpt-5-mini, anthropic/claude-sonnet-4-5 or ollama/qwen3";
    assert_eq!(said("fallbacks = [\"gpt-5\"]"), [bare]);
    let strange = &said("model = \"unknown/x\"")[0];
    let expected =
        "unknown/x: \"unknown\" is not a known provider; write PROVIDER/NAME with one of ";
    assert!(strange.starts_with(expected) && strange.contains(" openai, "), "{strange}");
    let section = &said("model = \"openai/x\"\nproviders.opnai.key_env = \"K\"")[0];
    assert!(section.starts_with("llm.providers.opnai: there is no such provider"), "{section}");
}

#[tokio::test]
async fn a_key_is_asked_for_when_something_must_be_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("traffic.jsonl");
    let server = Server::start(vec![Reply::Events(openai("one", "stop"))]).await;
    let config = config(&format!(
        "model = \"openai/gpt-4o\"\nproviders.openai.base_url = {:?}\n\
         budget = {{ calls = 5 }}\ncassette = {{ path = {path:?}, mode = \"auto\" }}",
        server.url
    ));
    // Nothing is recorded yet, so something must be asked.
    let error = config.build(&no_env).err().expect("no key").to_string();
    assert!(error.contains("set OPENAI_API_KEY"), "{error}");
    let env = |name: &str| (name == "OPENAI_API_KEY").then(|| KEY.to_owned());
    let models = config.build(&env).expect("models");
    models.explore[0].chat(&request()).await.expect("an answer");

    let models = config.build(&no_env).expect("models");
    let replayed = models.explore[0].chat(&request()).await.expect("recorded");
    assert_eq!(replayed.text, "one");
    let other = ChatRequest { max_output_tokens: 7, ..request() };
    let error = models.explore[0].chat(&other).await.expect_err("not recorded");
    assert_eq!(error.kind, ChatErrorKind::NotAllowed);
    assert!(error.message.contains("set OPENAI_API_KEY"), "{error}");
    let doctor = config.check(&no_env);
    assert_eq!(doctor[0].status, CheckStatus::Warning, "{doctor:?}");
}

#[test]
fn what_a_model_takes_is_known_without_a_key() {
    let config = config(
        "models.\"vllm/m\".capabilities = { context_tokens = 1000, structured_output = \"none\" }",
    );
    assert_eq!(config.info("vllm/m").expect("a name").context_tokens, 1000);
    assert_eq!(config.capabilities("vllm/m").structured_output, StructuredOutput::None);
    assert!(config.info("unknown/m").is_err());
}
