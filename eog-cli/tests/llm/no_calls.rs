//! What makes no calls: the dry run, the doctor, the prompts.

use std::os::unix::fs::PermissionsExt;

use eog_prompts::{ChatMessage, ChatRequest, TokenCounter, phases};

use super::lab::{KEY, Lab, Run, flash_sale};
use super::reader::{Start, read};
use super::server::Server;

fn server() -> Server {
    Server::start(|asked| read(asked, Start::Alerts))
}

#[test]
fn a_dry_run_shows_what_would_be_asked_and_makes_no_calls() {
    let server = server();
    let lab = Lab::at(&server, "");
    let path = flash_sale();
    let mut eog = lab.eog(&["investigate", path.to_str().unwrap(), "--dry-run", "--out", "out"]);
    let run = Run::of(&eog.env_remove("OPENAI_API_KEY").output().unwrap());
    assert_eq!(run.code, Some(0), "{}", run.said);
    let text = &run.printed;
    assert!(text.contains("\nPACKET gateway ("), "{text}");
    assert!(text.contains("UPPER BOUND for the whole investigation: 35 judgements of 7 entities"));
    assert!(text.contains("Limits that may end it earlier: 500 requests."), "{text}");
    assert!(server.seen().is_empty(), "no calls");
    assert!(!lab.path("out").exists(), "nothing is written");

    // The prompt is as it is sent, and is counted as it is by its tokenizer.
    let (_, prompt) = text.split_once("--- system\n").unwrap();
    let (system, rest) = prompt.split_once("--- user\n").unwrap();
    let (user, _) = rest.split_once("\nUPPER BOUND").unwrap();
    let line = text.lines().find(|line| line.starts_with("FIRST PROMPT to openai/test: ")).unwrap();
    let tokens = line.rsplit_once(" tokens, counted with gpt2").unwrap().0;
    let tokens: u64 = tokens.rsplit(' ').next().unwrap().parse().unwrap();
    let by_rule = lab.investigate(&["--bootstrap", "rules"]);
    assert_eq!(by_rule.code, Some(0), "{}", by_rule.said);
    let seen = server.seen();
    let first = &seen[0];
    assert_eq!((first.system().trim(), first.question().trim()), (system.trim(), user.trim()));
    let request = ChatRequest {
        phase: "explore".to_owned(),
        messages: vec![ChatMessage::system(first.system()), ChatMessage::user(first.question())],
        answer: phases::answer_forms().into_iter().find(|form| form.name == "explore"),
        max_output_tokens: 1,
        drawn: None,
    };
    assert_eq!(tokens, TokenCounter::new("gpt2").request(&request));
}

#[test]
fn the_doctor_says_what_is_missing_and_makes_no_calls() {
    let server = server();
    let lab = Lab::at(&server, "");
    let doctor = |arguments: &[&str], key: bool| {
        let mut eog = lab.eog(&[&["doctor"], arguments].concat());
        if !key {
            eog.env_remove("OPENAI_API_KEY");
        }
        let run = Run::of(&eog.output().unwrap());
        assert!(!run.printed.contains(KEY) && !run.said.contains(KEY), "{}", run.printed);
        (run.code, run.printed + &run.said)
    };
    let (code, text) = doctor(&[], true);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("openai/test: ready: key from the environment variable OPENAI_API_KEY"));
    assert!(text.contains("policy: llm:openai/test") && text.contains("settings: eog.toml"));

    let (code, text) = doctor(&[], false);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("ERROR") && text.contains("OPENAI_API_KEY"), "{text}");

    let (code, text) = doctor(&["--model", "opanai/test"], true);
    assert_eq!(code, Some(4), "{text}");
    let said = "\"opanai\" is not a known provider; did you mean \"openai/test\"?";
    assert!(text.contains(said), "{text}");

    let settings = std::fs::read_to_string(lab.path("eog.toml")).unwrap();
    lab.set(&format!("{settings}key_file = \"key\"\n"));
    let (code, text) = doctor(&[], true);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("ERROR") && text.contains("key"), "{text}");
    std::fs::write(lab.path("key"), KEY).unwrap();
    let readable = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(lab.path("key"), permissions).unwrap();
    };
    readable(0o600);
    assert_eq!(doctor(&[], false).0, Some(0));
    readable(0o644);
    let (code, text) = doctor(&[], false);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("warning  openai/test: "), "{text}");
    assert!(server.seen().is_empty(), "no calls");
}

#[test]
fn prompts_are_listed_shown_exported_and_changed() {
    let server = server();
    let lab = Lab::at(&server, "");
    let list = lab.run(&["prompt", "list"]);
    assert_eq!(list.code, Some(0), "{}", list.said);
    for phase in super::diagnosis::ALL_PHASES {
        assert!(list.printed.contains(&format!("  {phase}\n")), "{}", list.printed);
        let shown = lab.run(&["prompt", "show", phase]);
        assert!(shown.printed.contains(&format!("--- {phase}.system.hbs")), "{}", shown.said);
        let schema = lab.run(&["prompt", "show", phase, "--schema"]);
        let schema: serde_json::Value = serde_json::from_str(&schema.printed).unwrap();
        assert_eq!(schema["additionalProperties"], false);
    }
    assert_eq!(lab.run(&["prompt", "export", "words"]).code, Some(0));
    assert_eq!(lab.run(&["prompt", "export", "words"]).code, Some(2), "nothing is replaced");

    // What was exported says the same; what is changed in it is said.
    let (_, expected) = lab.ledger(&[]);
    let bodies = || -> Vec<_> { server.take().into_iter().map(|asked| asked.body).collect() };
    let before = bodies();
    let (run, ledger) = lab.ledger(&["--prompts", "words"]);
    assert_eq!((run.code, ledger), (Some(0), expected), "{}", run.said);
    assert!(bodies() == before, "other prompts");
    std::fs::write(lab.path("words/role.hbs"), "You keep the shop of the flash sale.").unwrap();
    let shown = lab.run(&["prompt", "show", "explore", "--prompts", "words"]);
    assert!(shown.printed.contains("You keep the shop of the flash sale."), "{}", shown.printed);
    let (run, _) = lab.ledger(&["--prompts", "words"]);
    assert_eq!(run.code, Some(0), "{}", run.said);
    for asked in server.take() {
        assert!(asked.system().contains("You keep the shop of the flash sale."));
    }
}

#[test]
fn broken_prompts_are_found_before_anything_is_asked() {
    let server = server();
    let lab = Lab::at(&server, "");
    std::fs::create_dir(lab.path("words")).unwrap();
    let text = "# Entity: {{name entity}}\n{{#each findings}}\n{{nmber}}\n{{/each}}\n";
    std::fs::write(lab.path("words/explore.user.hbs"), text).unwrap();
    let said = "words/explore.user.hbs, line 3: there is no field \"nmber\" here; did you mean \
                \"number\"?";
    let (run, _) = lab.ledger(&["--prompts", "words"]);
    assert_eq!(run.code, Some(2), "{}", run.said);
    assert!(run.said.contains(said), "{}", run.said);
    let settings = std::fs::read_to_string(lab.path("eog.toml")).unwrap();
    lab.set(&format!("prompts = \"words\"\n{settings}"));
    let run = lab.investigate(&[]);
    assert!(run.code == Some(2) && run.said.contains(said), "{}", run.said);
    let run = lab.run(&["doctor"]);
    assert_eq!(run.code, Some(4), "{}", run.printed);
    assert!(run.printed.contains("ERROR") && run.printed.contains(said), "{}", run.printed);
    assert!(server.seen().is_empty(), "no calls");
}

#[test]
fn the_doctor_finds_the_program_and_does_not_run_it() {
    let lab = Lab::with("");
    let program = lab.path("judge.sh");
    std::fs::write(&program, "#!/bin/sh\ntouch \"$0.ran\"\n").unwrap();
    let policy = format!("command:{}", program.display());
    let doctor = |policy: &str| lab.run(&["doctor", "--policy", policy]);
    for policy in ["command:nothere", &policy] {
        let run = doctor(policy);
        assert_eq!(run.code, Some(4), "{}", run.printed);
        let said = "ERROR    policy: there is no executable program ";
        assert!(run.printed.contains(said), "{}", run.printed);
    }
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = doctor(&policy);
    assert_eq!(run.code, Some(0), "{}", run.printed);
    assert!(!lab.path("judge.sh.ran").exists(), "it was run");
    let run = doctor("llm");
    assert_eq!(run.code, Some(4), "{}", run.printed);
    assert!(run.printed.contains("ERROR    llm.model: no model is configured"), "{}", run.printed);
}

#[test]
fn a_misspelt_section_of_a_model_is_said() {
    let server = server();
    let lab = Lab::at(&server, "");
    let settings = std::fs::read_to_string(lab.path("eog.toml")).unwrap();
    let model = format!(
        "model = \"openai/test\"\nbudget = {{ tokens = 1 }}\n\
                         providers.openai.base_url = \"{}\"",
        server.url
    );
    lab.set(
        &settings
            .replace("model = \"openai/test\"", &model)
            .replace("models.\"openai/test\"", "models.\"openai/tets\""),
    );
    let said = "llm.models.\"openai/tets\": no configured model has this name; did you mean \
                \"openai/test\"?";
    let run = lab.run(&["doctor"]);
    assert!(run.printed.contains(&format!("warning  {said}")), "{}", run.printed);
    let run = lab.investigate(&[]);
    assert!(run.said.contains(&format!("eog: note: {said}")), "{}", run.said);
}

#[test]
fn the_doctor_checks_names_of_unused_models() {
    let lab = Lab::with("policy = \"evidence\"\n[llm]\nmodel = \"opnai/gpt-5-mini\"\n");
    let run = Run::of(&lab.eog(&["doctor"]).env_remove("OPENAI_API_KEY").output().unwrap());
    assert_eq!(run.code, Some(0), "{}", run.printed);
    let said = "warning  opnai/gpt-5-mini: \"opnai\" is not a known provider; did you mean \
                \"openai/gpt-5-mini\"?";
    assert!(run.printed.contains(said), "{}", run.printed);
    lab.set("[llm]\nmodel = \"openai/gpt-5-mini\"\n");
    let run = lab.run(&["doctor"]);
    assert!(!run.printed.contains("warning"), "{}", run.printed);
}

#[test]
fn advice_on_keys_is_given_only_where_a_key_may_stand() {
    let said = |text: &str| {
        let run = Lab::with(text).run(&["doctor"]);
        assert_eq!(run.code, Some(4), "{text}: {}", run.said);
        run.said
    };
    let advice = "Do not write keys of providers into this file";
    for text in [
        "polcy = \"llm\"",
        "[llm]\nmax_tokens = \"many\"",
        "[llm]\nbudget = { tokens = \"many\" }",
        "[llm]\nmodel = ",
        "[llm",
    ] {
        let said = said(text);
        assert!(said.contains("eog.toml") && !said.contains(advice), "{text}: {said}");
    }
    for text in [
        "[llm]\napi_key = \"x\"",
        "[llm]\nproviders.openai = { base_url = \"http://a\", apiKey = \"x\" }",
        "[llm.providers.openai]\n\"auth-token\" = \"x\"",
        "[llm.providers.openai]\nkey_env = x",
    ] {
        assert!(said(text).contains(advice), "{text}: {}", said(text));
    }
}

#[test]
fn a_key_that_stands_in_the_settings_is_not_repeated() {
    let path = flash_sale();
    for line in [
        format!("api_key = \"{KEY}\""),
        format!("key_env = {KEY}"),
        format!("providers.openai.key_env = \"{KEY}\""),
        format!("[llm.providers.openai]\nkey = \"{KEY}\""),
    ] {
        let lab = Lab::with(&format!("policy = \"llm\"\n[llm]\nmodel = \"openai/test\"\n{line}\n"));
        for arguments in [vec!["doctor"], vec!["investigate", path.to_str().unwrap()]] {
            let run = lab.run(&arguments);
            assert!(matches!(run.code, Some(2 | 4)), "{line}: {:?} {}", run.code, run.said);
            let all = run.printed + &run.said;
            assert!(!all.contains(KEY), "{line}: {all}");
            assert!(all.contains("key_env"), "what to do: {all}");
        }
    }
}

#[test]
fn the_text_says_who_wrote_the_result() {
    let server = server();
    let lab = Lab::at(&server, "");
    let by_model = lab.investigate(&[]);
    assert!(by_model.printed.contains("SUMMARY BY openai/"), "{}", by_model.printed);
    let by_rules = lab.investigate(&["--finalize", "rules"]);
    assert!(!by_rules.printed.contains("SUMMARY BY"), "{}", by_rules.printed);
    let silent = Server::start(|asked| match asked.phase() {
        "finalize" => super::server::Reply::Answer("{}".into()),
        _ => read(asked, Start::Alerts),
    });
    let failed = Lab::at(&silent, "").investigate(&[]);
    assert!(failed.printed.contains("NO SUMMARY BY A MODEL\n  "), "{}", failed.printed);
}
