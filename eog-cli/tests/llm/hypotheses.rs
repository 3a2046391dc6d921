//! Search by hypotheses with a model in every role.

mod apart;
mod harm;
mod killed;
mod lanes;
mod narrative;
mod servers;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::detective::{PHASES, SPECIALISTS, detect, specialist};
use super::lab::{Lab, causes};
use super::server::{Asked, Reply, Server};

const HYPOTHESES: [&str; 2] = ["--controller", "hypotheses"];

fn of<'a>(asked: &'a [Asked], phase: &str) -> Vec<&'a Asked> {
    asked.iter().filter(|asked| asked.phase() == phase).collect()
}

/// The ledger of a run of the shipped example in which nothing goes wrong, and what was asked.
fn undisturbed(options: &[&str]) -> (String, Vec<Asked>) {
    let server = Server::start(detect);
    let (run, ledger) = Lab::at(&server, "").ledger(&[&HYPOTHESES, options].concat());
    assert_eq!(run.code, Some(0), "{}", run.said);
    (ledger, server.take())
}

fn entries(ledger: &str) -> Vec<Value> {
    ledger.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The lanes of a ledger, by specialist.
fn lanes(ledger: &str) -> Vec<Value> {
    let bodies = entries(ledger).into_iter().map(|mut entry| entry["body"]["investigated"].take());
    bodies.filter(Value::is_object).collect()
}

#[test]
fn a_model_plans_investigates_and_weighs() {
    let server = Server::start(detect);
    let lab = Lab::at(&server, "");
    let (run, ledger) = lab.ledger(&HYPOTHESES);
    assert_eq!(run.code, Some(0), "{}", run.said);
    assert_eq!(causes(&run.result()), ["frontend"]);
    let asked = server.take();
    for phase in PHASES.iter().chain(&["explore", "finalize"]) {
        assert!(!of(&asked, phase).is_empty(), "{phase} was never asked");
    }
    assert!(of(&asked, "unknown").is_empty());
    let agents: BTreeSet<String> =
        lanes(&ledger).iter().map(|lane| lane["agent"].as_str().unwrap().to_owned()).collect();
    assert_eq!(agents.len(), 3, "{agents:?}");

    // The report is written from what was recorded, and everything follows from the ledger alone.
    let author = run.result()["narrative"]["author"].to_string();
    assert!(author.contains("openai/served"), "{author}");
    let path = lab.path("out/ledger.jsonl");
    let replay = lab.run(&["replay", path.to_str().unwrap()]);
    assert_eq!(replay.code, Some(0), "{}", replay.said);
    let tree = lab.run(&["tree", path.to_str().unwrap()]);
    assert!(tree.printed.contains("frontend"), "{}", tree.printed);
    assert!(server.seen().is_empty());
    if std::env::var_os("EOG_SHOW").is_some() {
        for asked in &asked {
            println!("=== {} {}\n{}\n", asked.at, asked.phase(), asked.whole());
        }
    }
}

/// The first requests of all three lanes are under way before any of them is answered.
#[test]
fn specialists_work_side_by_side() {
    let (waiting, arrived) = (Mutex::new(BTreeSet::new()), Condvar::new());
    let server = Server::start(move |asked| {
        if asked.phase() == "search_investigate" && asked.said().is_empty() {
            let mut waiting = waiting.lock().unwrap();
            waiting.insert(specialist(asked));
            arrived.notify_all();
            let limit = Duration::from_secs(30);
            let all = arrived.wait_timeout_while(waiting, limit, |it| it.len() < 3).unwrap();
            assert_eq!(all.0.len(), 3, "they wait for each other");
        }
        detect(asked)
    });
    let (run, ledger) = Lab::at(&server, "").ledger(&HYPOTHESES);
    assert_eq!(run.code, Some(0), "{}", run.said);
    assert_eq!(ledger, undisturbed(&[]).0, "and the ledger does not show who was first");
}

/// Wall time with answers that take half a second:
/// `cargo test -p eog-cli --test all wall_time -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn wall_time() {
    const DELAY: Duration = Duration::from_millis(500);
    let [alone, side_by_side] = ["1", "3"].map(|width| {
        // When the first request of a lane came, and when the last one was answered.
        let lanes = Arc::new(Mutex::new(None::<(Instant, Instant)>));
        let shared = Arc::clone(&lanes);
        let server = Server::start(move |asked| {
            let came = Instant::now();
            std::thread::sleep(DELAY);
            if asked.phase() == "search_investigate" {
                let mut lanes = shared.lock().unwrap();
                let first = lanes.map_or(came, |(first, _)| first.min(came));
                *lanes = Some((first, Instant::now()));
            }
            detect(asked)
        });
        let lab = Lab::at(&server, "");
        let began = Instant::now();
        let (run, _) =
            lab.ledger(&[&HYPOTHESES[..], &["--rounds", "1", "--width", width]].concat());
        let whole = began.elapsed();
        assert_eq!(run.code, Some(0), "{}", run.said);
        let asked = server.take();
        let of_lanes = of(&asked, "search_investigate").len();
        let (first, last) = lanes.lock().unwrap().unwrap();
        let lanes = last - first;
        println!(
            "width {width}: {} requests in {whole:?}, {of_lanes} of lanes in {lanes:?}",
            asked.len()
        );
        (whole, lanes)
    });
    let ratio = |one: Duration, three: Duration| one.as_secs_f64() / three.as_secs_f64();
    println!("lanes {:.2}x", ratio(alone.1, side_by_side.1));
    println!("whole {:.2}x", ratio(alone.0, side_by_side.0));
}

/// Each role is played by its own model, and by its own fallback where that gives no usable answer.
#[test]
fn each_role_has_its_own_models() {
    let server = Server::start(|asked| match asked.body["model"].as_str() {
        Some("lane") => Reply::Refusal("I'd rather not.".into()),
        Some("score") => Reply::TooLong("{ \"because\": ".into()),
        _ => detect(asked),
    });
    let models = ["test", "thinker", "lane", "spare", "score", "second"]
        .map(|name| format!("[llm.models.\"openai/{name}\"]\nbase_url = \"{}\"\n", server.url));
    let lab = Lab::with(&format!(
        "policy = \"llm\"\n[llm]\nmodel = \"openai/test\"\nfallbacks = [\"openai/second\"]\n\
         [llm.roles]\nplanner = {{ model = \"openai/thinker\" }}\n\
         executor = {{ model = \"openai/lane\", fallbacks = [\"openai/spare\"] }}\n\
         evaluator = {{ model = \"openai/score\" }}\n{}",
        models.concat()
    ));
    let (run, ledger) = lab.ledger(&HYPOTHESES);
    assert_eq!(run.code, Some(0), "{}", run.said);
    assert_eq!(causes(&run.result()), ["frontend"]);
    let asked = server.take();
    let models = |phase: &str| -> BTreeSet<String> {
        let of_phase = of(&asked, phase).into_iter();
        of_phase.map(|asked| asked.body["model"].as_str().unwrap().to_owned()).collect()
    };
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(models("search_hypothesize"), named(&["thinker"]));
    assert_eq!(models("search_investigate"), named(&["lane", "spare"]));
    assert_eq!(models("search_weigh"), named(&["score", "second"]));
    assert_eq!(models("explore"), named(&["test"]));
    let name = "llm:openai/test,openai/second, planner openai/thinker,openai/second, \
                executor openai/lane,openai/spare, evaluator openai/score,openai/second";
    assert!(ledger.contains(name), "{}", ledger.lines().next().unwrap_or_default());

    let doctor = lab.run(&["doctor"]);
    assert!(doctor.printed.contains("openai/spare"), "{}{}", doctor.printed, doctor.said);
    let misspelt = Lab::with(
        "policy = \"llm\"\n[llm]\nmodel = \"openai/test\"\n[llm.roles.plannner]\nmodel = \"x\"\n",
    );
    let run = misspelt.investigate(&HYPOTHESES);
    assert_eq!(run.code, Some(4), "{}", run.said);
    assert!(run.said.contains("plannner"), "{}", run.said);
}

#[test]
fn recorded_traffic_and_a_memory_each_make_a_run_that_asks_nothing() {
    let server = Server::start(detect);
    let lab = Lab::at(&server, "");
    let kept = ["--cassette", "traffic.jsonl", "--memory", "memory"];
    let (run, expected) = lab.ledger(&[&HYPOTHESES[..], &kept].concat());
    assert_eq!(run.code, Some(0), "{}", run.said);
    server.take();
    for recorded in [&kept[..2], &kept[2..]] {
        let (run, ledger) = lab.ledger(&[&HYPOTHESES[..], recorded].concat());
        assert_eq!(run.code, Some(0), "{}", run.said);
        assert!(ledger == expected, "{recorded:?}: another ledger");
        let asked = server.take();
        let played = asked.iter().filter(|asked| asked.phase().starts_with("search_"));
        assert_eq!(played.count(), 0, "{recorded:?}");
    }
}

#[test]
fn a_dry_run_counts_what_specialists_may_ask() {
    let server = Server::start(detect);
    let run = Lab::at(&server, "").investigate(&[&HYPOTHESES[..], &["--dry-run"]].concat());
    let line = run.printed.lines().find(|line| line.starts_with("UPPER BOUND")).unwrap().to_owned();
    // 270 acts, 21 scores with two retries each, 6 questions for hypotheses.
    assert!(line.contains("339 calls for other roles"), "{line}");
    assert!(server.seen().is_empty());
}

/// The recording of a real incident and its architecture, if they are at hand.
fn recording() -> Option<(PathBuf, PathBuf)> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/itbench");
    let (snapshot, architecture) =
        (data.join("scenario-2-partial"), data.join("architecture.json"));
    let is_there = snapshot.is_dir() && architecture.is_file();
    if !is_there {
        eprintln!("skipped: no recording at {}", data.display());
    }
    is_there.then_some((snapshot, architecture))
}

fn marks_of(agent: &str) -> &'static str {
    SPECIALISTS.iter().find(|(name, _)| *name == agent).map_or("", |(_, mark)| mark)
}
