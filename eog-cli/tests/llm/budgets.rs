//! Limits of calls, tokens and money: what was found is reported, and a larger limit goes on from there.

use super::lab::{Lab, causes, flash_sale};
use super::reader::{SUMMARY, Start, read};
use super::server::Server;

fn server() -> Server {
    Server::start(|asked| read(asked, Start::Alerts))
}

/// Wherever the calls end, in the opening, between judgements or before the report: no limit is exceeded, there is
/// a report, and with more calls it ends like a run without a limit.
#[test]
fn a_run_that_may_make_few_calls_is_completed_with_more() {
    let server = server();
    let (run, expected) = Lab::at(&server, "").ledger(&[]);
    assert_eq!(run.code, Some(0), "{}", run.said);
    let all = server.take();
    let before_last = all.len() - 1;
    for most in [2, before_last] {
        let lab = Lab::at(&server, "");
        let limit = most.to_string();
        let (run, _) = lab.ledger(&["--max-model-calls", &limit, "--journal", "run.journal"]);
        let done = most == before_last;
        assert_eq!(run.code, Some(if done { 0 } else { 3 }), "{most}: {}", run.said);
        let result = run.result();
        let stop = if done { "converged" } else { "budget_exhausted" };
        assert!(result["stop"].to_string().contains(stop), "{most}: {}", result["stop"]);
        let author = result["narrative"]["author"].to_string();
        let said = format!("the budget of {most} requests is used up: raise llm.budget.calls");
        assert!(author.contains(&said) && !author.contains("shorter"), "{most}: {author}");
        assert_eq!(server.seen().len(), most, "no more was asked");

        let path = flash_sale();
        let path = path.to_str().unwrap();
        let onward = format!("continue with: eog resume run.journal {path} --max-model-calls");
        assert!(run.said.contains(&onward), "{most}: {}", run.said);
        let run = lab.run(&[
            "resume",
            "run.journal",
            path,
            "--max-model-calls",
            "100",
            "--out",
            "out",
            "--format",
            "json",
        ]);
        assert_eq!(run.code, Some(0), "{most}: {}", run.said);
        assert_eq!(causes(&run.result()), ["frontend"]);
        let calls = &run.result()["spent"]["usage"]["model_calls"];
        assert_eq!(calls, all.len(), "{most}: both runs count");
        let summary = run.result()["narrative"]["summary"].as_str().unwrap().to_owned();
        assert!(summary.starts_with(SUMMARY), "{most}: {summary}");
        let ledger = std::fs::read_to_string(lab.path("out/ledger.jsonl")).unwrap();
        assert!(ledger == expected, "{most}: another ledger");
        // What was asked before the limit is not asked again.
        let seen: Vec<_> = server.take().into_iter().map(|asked| asked.body).collect();
        let once: Vec<_> = all.iter().map(|asked| asked.body.clone()).collect();
        assert!(seen == once, "{most}: {} requests", seen.len());
    }
}

#[test]
fn tokens_are_limited_before_they_are_spent() {
    let server = server();
    let lab = Lab::at(&server, "");
    // A question may take its prompt and 8,192 tokens; the answers say that they took 1,100.
    let (run, _) = lab.ledger(&["--max-tokens", "11000", "--journal", "run.journal"]);
    assert_eq!(run.code, Some(3), "{}", run.said);
    assert!(run.result()["stop"].to_string().contains("tokens"), "{}", run.result()["stop"]);
    assert!(run.said.contains("--max-tokens"), "{}", run.said);
    let asked = server.seen().len();
    assert!((1..8).contains(&asked), "{asked}");
}

#[test]
fn money_cannot_be_limited_without_prices() {
    let server = server();
    let lab = Lab::at(&server, "");
    let (run, ledger) = lab.ledger(&["--max-usd", "1.50", "--journal", "run.journal"]);
    assert_eq!((run.code, ledger.as_str(), run.printed.as_str()), (Some(2), "", ""));
    let said = "llm.models.\"openai/test\".prices: cost is limited, but the prices of this model \
                are unknown";
    assert!(run.said.contains(said), "{}", run.said);
    assert!(!lab.path("run.journal").exists(), "nothing has begun");
    assert!(server.seen().is_empty());

    // At a cent per 1,000 tokens, a question may cost about ten.
    let settings = std::fs::read_to_string(lab.path("eog.toml")).unwrap();
    lab.set(&format!("{settings}prices = {{ input = 10.0, output = 10.0 }}\n"));
    let (run, _) = lab.ledger(&["--max-usd", "0.11", "--journal", "run.journal"]);
    assert_eq!(run.code, Some(3), "{}", run.said);
    assert!(run.result()["stop"].to_string().contains("cost"), "{}", run.result()["stop"]);
    let spent = run.result()["spent"]["usage"]["cost_micro_usd"].as_u64().unwrap();
    assert!((1..150_000).contains(&spent), "{spent}");
    assert!(run.said.contains("--max-usd"), "{}", run.said);
}
