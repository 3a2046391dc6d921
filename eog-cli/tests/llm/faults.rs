//! Models and providers that do not do as they should. The investigation goes on.

use std::sync::Mutex;

use super::diagnosis::PHASES;
use super::lab::{KEY, Lab, Run, causes, flash_sale};
use super::reader::{Start, read};
use super::server::{Asked, Reply, Server};

/// Nothing is asked again. The time is more than a busy machine needs for an answer.
const ONE_ATTEMPT: &str = "retries = 0\ntimeout_s = 2.5";

fn reader(asked: &Asked) -> Reply {
    read(asked, Start::Change)
}

/// The ledger of a run in which nothing goes wrong.
fn undisturbed() -> String {
    let server = Server::start(reader);
    let (run, ledger) = Lab::at(&server, "").ledger(&[]);
    assert_eq!(run.code, Some(0), "{}", run.said);
    ledger
}

/// A model whose first answers of some phases are others.
fn at_first(phases: &[&'static str], reply: fn() -> Reply) -> Server {
    let left = Mutex::new(phases.to_vec());
    Server::start(move |asked| {
        let mut left = left.lock().unwrap();
        match left.iter().position(|phase| *phase == asked.phase()) {
            Some(at) => {
                left.remove(at);
                reply()
            }
            None => reader(asked),
        }
    })
}

const HALF: &str = "{ \"because\": \"the sale";

/// What it is called, the answer, and what is said of it.
type Wrong = (&'static str, fn() -> Reply, &'static str);

fn wrong_answers() -> [Wrong; 6] {
    [
        ("malformed", || Reply::Answer("no JSON".into()), "not JSON"),
        ("misfit", || Reply::Answer("{\"label\": \"guilty\"}".into()), "required property"),
        ("refused", || Reply::Refusal("I'd rather not.".into()), "refused to answer"),
        ("empty", || Reply::Answer(String::new()), "is empty"),
        ("too long", || Reply::TooLong(HALF.into()), "cut before its end"),
        ("broken off", || Reply::Broken(HALF.into()), "cut before its end"),
    ]
}

#[test]
fn an_answer_that_is_mended_changes_nothing() {
    let expected = undisturbed();
    let phases = PHASES;
    for (name, reply, wrong) in wrong_answers() {
        let server = at_first(&phases, reply);
        let (run, ledger) = Lab::at(&server, "").ledger(&[]);
        assert_eq!(run.code, Some(0), "{name}: {}", run.said);
        assert!(ledger == expected, "{name}: another ledger");
        let seen = server.seen();
        let mended: Vec<_> = seen.iter().filter(|asked| asked.correction().is_some()).collect();
        let of: Vec<_> = mended.iter().map(|asked| asked.phase()).collect();
        assert_eq!(of, phases, "{name}");
        for asked in mended {
            let (_, correction) = asked.correction().unwrap();
            assert!(correction.contains(wrong), "{name}: {correction}");
        }
    }
}

/// The failures of a result, and the origins that it names all the same.
fn failures_and_causes(run: &Run) -> (Vec<String>, Vec<String>) {
    let result = run.result();
    let failures = result["failures"].as_array().unwrap();
    let failures = failures.iter().map(|failure| failure.as_str().unwrap().to_owned());
    (failures.collect(), causes(&result))
}

#[test]
fn an_answer_that_stays_wrong_is_a_recorded_failure_of_one_entity() {
    for (name, reply, wrong) in wrong_answers().into_iter().step_by(2) {
        let server = Server::start(move |asked| match asked.explores("gateway") {
            true => reply(),
            false => reader(asked),
        });
        let (run, ledger) = Lab::at(&server, "").ledger(&[]);
        let (failures, causes) = failures_and_causes(&run);
        assert_eq!((run.code, causes), (Some(0), vec!["frontend".to_owned()]), "{name}");
        assert!(failures[0].contains("gateway"), "{name}: {failures:?}");
        assert!(failures[0].contains("still invalid after a correction"), "{failures:?}");
        assert!(failures[0].contains(wrong), "{name}: {failures:?}");
        assert!(ledger.contains("still invalid after a correction"), "{name}");
    }
}

#[test]
fn providers_that_are_busy_or_broken_are_asked_again() {
    let expected = undisturbed();
    for reply in [
        || Reply::Status(429, "retry-after", "1"),
        || Reply::Status(500, "content-type", "text/plain"),
    ] {
        let server = at_first(&["explore"], reply);
        let (run, ledger) = Lab::at(&server, "").ledger(&[]);
        assert_eq!(run.code, Some(0), "{}", run.said);
        assert!(ledger == expected, "another ledger");
        let seen = server.seen();
        let asked: Vec<_> = seen.iter().filter(|asked| asked.phase() == "explore").collect();
        assert_eq!(asked[0].body, asked[1].body, "the same is asked again");
        assert_eq!(run.result()["spent"]["usage"]["model_calls"], seen.len());
    }
}

/// The call fails at once, without a sleep of ten minutes.
#[test]
fn a_provider_that_asks_for_a_long_wait_is_not_waited_for() {
    let server = Server::start(|asked| match asked.explores("gateway") {
        true => Reply::Status(429, "retry-after", "600"),
        false => reader(asked),
    });
    let (run, _) = Lab::at(&server, "").ledger(&[]);
    let (failures, causes) = failures_and_causes(&run);
    assert_eq!((run.code, causes), (Some(0), vec!["frontend".to_owned()]), "{}", run.said);
    assert!(failures[0].contains("HTTP status 429: too many requests"), "{failures:?}");
    let said = "the provider asks for a delay of 600 s, and the limit is 120 s";
    assert!(failures[0].contains(said), "{failures:?}");
    let evaluations = failures.iter().filter(|failure| failure.contains("gateway")).count();
    let asked = server.seen().iter().filter(|asked| asked.explores("gateway")).count();
    assert_eq!(asked, evaluations, "once each");
}

#[test]
fn a_long_wait_is_said_unless_quiet() {
    for (option, is_said) in [("--bootstrap=rules", true), ("--quiet", false)] {
        let server = at_first(&["explore"], || Reply::Status(429, "retry-after", "5"));
        let (run, _) = Lab::at(&server, "").ledger(&[option]);
        assert_eq!(run.code, Some(0), "{}", run.said);
        let said = run.said.contains("too many requests") && run.said.contains("retrying in 5 s");
        assert_eq!(said, is_said, "{}", run.said);
    }
}

/// What is not there is asked once, with all attempts, and not again for every phase.
#[test]
fn a_host_that_is_not_there_is_given_up_once() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", free.local_addr().unwrap());
    drop(free);
    let lab = Lab::with(&format!(
        "policy = \"llm\"\n[llm]\nmodel = \"openai/test\"\nretries = 1\n\
         [llm.models.\"openai/test\"]\nbase_url = \"{url}\"\n"
    ));
    let (run, _) = lab.ledger(&[]);
    assert_eq!(run.code, Some(1), "{}", run.said);
    let result = run.result();
    assert_eq!(result["spent"]["usage"]["model_calls"], 2, "both attempts of one request");
    let said = result["warnings"].to_string() + &result["failures"].to_string();
    assert_eq!(said.matches("cannot be reached: check the network").count(), 1, "{said}");
    let later = "not called, because its provider could not be reached before";
    assert!(said.matches(later).count() >= 4, "{said}");
}

#[test]
fn a_provider_that_does_not_answer_is_given_up_in_time() {
    let server = Server::start(|asked| match asked.explores("gateway") {
        true => Reply::Hang,
        false => reader(asked),
    });
    let (run, _) = Lab::at(&server, ONE_ATTEMPT).ledger(&[]);
    let (failures, causes) = failures_and_causes(&run);
    assert_eq!((run.code, causes), (Some(0), vec!["frontend".to_owned()]), "{}", run.said);
    let said = "no answer within 2.5 s: raise llm.timeout_s";
    assert!(failures[0].contains("gateway") && failures[0].contains(said), "{failures:?}");
}

#[test]
fn an_opening_that_fails_is_chosen_by_rule_and_says_so() {
    let server = Server::start(|asked| match asked.phase() {
        "explore" | "finalize" => reader(asked),
        _ => Reply::Status(500, "content-type", "text/plain"),
    });
    let (run, ledger) = Lab::at(&server, ONE_ATTEMPT).ledger(&[]);
    assert_eq!(
        (run.code, failures_and_causes(&run).1.as_slice()),
        (Some(0), ["frontend".to_owned()].as_slice())
    );
    let warnings = run.result()["warnings"].to_string();
    let said = "bootstrap: chosen by the rules, because no model could";
    assert!(warnings.contains(said) && ledger.contains(said), "{warnings}");
}

#[test]
fn a_key_that_is_not_taken_ends_the_run_at_once() {
    let server = Server::start(|_| Reply::Status(401, "content-type", "text/plain"));
    let lab = Lab::at(&server, "");
    let path = flash_sale();
    let output = lab.eog(&["investigate", path.to_str().unwrap()]).output().unwrap();
    let run = Run::of(&output);
    assert_eq!(run.code, Some(1), "{}", run.said);
    let said = "HTTP status 401: the key is invalid or has no access to this model";
    assert!(run.said.contains(said), "{}", run.said);
    assert!(server.seen().len() <= 4, "once for each phase of the opening, and then no more");
}

#[test]
fn a_result_that_no_model_writes_is_written_by_rule_and_says_so() {
    let server = Server::start(|asked| match asked.phase() {
        "finalize" => Reply::Answer("{}".into()),
        _ => reader(asked),
    });
    let (run, ledger) = Lab::at(&server, "").ledger(&[]);
    assert_eq!(run.code, Some(0), "{}", run.said);
    assert_eq!(ledger, undisturbed());
    let author = run.result()["narrative"]["author"].to_string();
    assert!(author.contains("rules_after_failure"), "{author}");
    assert!(author.contains("still invalid after a correction"), "{author}");
}

/// Every kind of failure leads on to another provider, with its own address and key.
#[test]
fn the_next_provider_is_asked_when_the_first_gives_no_answer() {
    const SECOND: &str = "planted-second-1a2b3c";
    let first = Server::start(|asked| match (asked.phase(), asked.entity().as_str()) {
        ("explore", "gateway") => Reply::Hang,
        ("explore", _) => Reply::Answer("no JSON".into()),
        ("finalize", _) => Reply::Refusal("I'd rather not.".into()),
        _ => Reply::Status(401, "content-type", "text/plain"),
    });
    let second = Server::start(reader);
    let lab = Lab::at(
        &first,
        &format!(
            "{ONE_ATTEMPT}\nfallbacks = [\"anthropic/claude-sonnet-4-5\"]\n\
             [llm.providers.anthropic]\nbase_url = \"{}\"\nkey_env = \"SECOND\"",
            second.url
        ),
    );
    let path = flash_sale();
    let mut eog =
        lab.eog(&["investigate", path.to_str().unwrap(), "--format", "json", "--out", "out"]);
    let run = Run::of(&eog.env("SECOND", SECOND).output().unwrap());
    assert_eq!(run.code, Some(0), "{}", run.said);
    assert_eq!(causes(&run.result()), ["frontend"]);
    let author = &run.result()["narrative"]["author"]["model"]["name"];
    assert_eq!(author, "anthropic/served", "the model that answered");
    let ledger = std::fs::read_to_string(lab.path("out/ledger.jsonl")).unwrap();
    assert!(ledger.contains("llm:openai/test,anthropic/claude-sonnet-4-5"), "the chain");
    assert_eq!(second.phases(), PHASES);
    for asked in second.seen() {
        assert_eq!(asked.path, "/v1/messages");
        assert!(asked.head.contains(SECOND) && !asked.head.contains(KEY), "{}", asked.head);
    }
    assert!(!first.seen().iter().any(|asked| asked.head.contains(SECOND)));
}
