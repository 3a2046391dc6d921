//! Closed incidents through the real binary.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{
    BOTTLING_LINE, FLASH_SALE, Run, command, copy_tree, json_of, read, run, start,
};

/// A folder with investigations and cases.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Investigates an incident, and names the folder of the result.
    fn investigated(&self, incident: &Path, options: &[&str]) -> PathBuf {
        let out = self.path(&format!("run-{}", fs::read_dir(&self.0).unwrap().count()));
        run!("investigate", incident, "--out", out, options);
        out
    }

    fn close(&self, run: &Path, incident: &Path, options: &[&str]) -> Run {
        run!("close", run, incident, "--cases", self.path("cases"), options)
    }

    fn cases(&self, what: &[&str]) -> Run {
        run!("cases", what, "--cases", self.path("cases"))
    }

    fn checked(&self, options: &[&str]) -> Value {
        self.cases(&[&["check", "--format", "json"], options].concat()).json()
    }

    /// The outcomes by case, in the order of names.
    fn outcomes(&self, options: &[&str]) -> Vec<String> {
        let checked = self.checked(options);
        let cases = checked["cases"].as_array().unwrap().iter();
        cases.map(|case| case["outcome"].as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn a_closed_incident_is_graded_listed_and_the_same_when_it_is_investigated_again() {
    let desk = Desk::new();
    let sale = desk.investigated(FLASH_SALE.as_ref(), &[]);
    let line = desk.investigated(BOTTLING_LINE.as_ref(), &[]);
    desk.close(&sale, FLASH_SALE.as_ref(), &["--cause", "frontend", "--by", "ada"])
        .exits(0)
        .prints(&["flash-sale-", ": exact", "gives the same ledger"]);
    desk.close(&line, BOTTLING_LINE.as_ref(), &["--nothing-wrong"]).exits(0).prints(&[": wrong"]);
    desk.cases(&["list"]).exits(0).prints(&["flash-sale-", "exact", "ada", "nothing wrong"]);
    let listed = desk.cases(&["list", "--format", "json"]).json();
    assert_eq!(listed.as_array().unwrap().len(), 2);
    desk.cases(&["check"]).exits(0).prints(&["2 cases checked, judged as before: 2 identical"]);
    desk.cases(&["stats"]).exits(0).prints(&["2 cases: 1 exact", "1 wrong", "fewer than 30 cases"]);
    let alike = desk.path("alike");
    copy_tree(&sale, &alike);
    // What was closed itself is like others alone.
    desk.cases(&["similar", alike.to_str().unwrap()]).exits(0).prints(&["no case is like it"]);

    let other = desk.investigated(FLASH_SALE.as_ref(), &["--not-cause", "database"]);
    let cases = desk.path("cases");
    desk.cases(&["similar", other.to_str().unwrap()]).exits(0).prints(&["flash-sale-"]);
    let like = ["SIMILAR INCIDENTS", "flash-sale-", "% alike", "it was frontend"];
    run!("report", other, "--cases", cases).exits(0).prints(&like);
    run!("investigate", FLASH_SALE, "--cases", desk.path("none"), "--out", other).exits(2);

    // The same investigation is one case, whatever it is called.
    desk.close(&alike, FLASH_SALE.as_ref(), &["--cause", "database"])
        .exits(2)
        .says(&["is there already", "--replace"]);
    desk.close(&alike, FLASH_SALE.as_ref(), &["--cause", "database", "--replace"])
        .exits(0)
        .prints(&[": wrong"]);
    let archive = desk.path("all.tar.gz");
    desk.cases(&["export", archive.to_str().unwrap()]).exits(0).prints(&["2 cases"]);
    desk.cases(&["forget", "--keep", "0"]).exits(0).prints(&["2 cases removed"]);
    desk.cases(&["list"]).exits(0).says(&["there are no cases"]);
    desk.cases(&["import", archive.to_str().unwrap()]).exits(0).prints(&["2 cases added"]);
    // A folder of cases is a suite of incidents with known causes.
    run!("eval", "suite", desk.path("cases")).exits(0).prints(&["1 incident, 1 fault-free period"]);
}

#[test]
fn a_cause_that_the_incident_does_not_have_is_refused_with_the_nearest() {
    let desk = Desk::new();
    let sale = desk.investigated(FLASH_SALE.as_ref(), &[]);
    let close = |options: &[&str]| desk.close(&sale, FLASH_SALE.as_ref(), options);
    close(&["--cause", "fronted"]).exits(2).says(&["did you mean frontend?", "--not-in-topology"]);
    close(&["--cause", "frontend", "--change", "chg-00"]).exits(2).says(&["it has chg-"]);
    close(&[]).exits(2).says(&["--cause <ENTITY>"]);
    close(&["--nothing-wrong", "--cause", "frontend"]).exits(2);
    close(&["--nothing-wrong", "--change", "chg-00"]).exits(2);
    desk.close(&sale, BOTTLING_LINE.as_ref(), &["--nothing-wrong"])
        .exits(4)
        .says(&["different input"]);
    assert!(!desk.path("cases").exists(), "nothing is made for what is refused");
    desk.cases(&["list"]).exits(2).says(&["there is no folder of cases", "`eog close`"]);
    close(&["--not-in-topology", "provider", "--note", "password=hunter2 at night"]).exits(0);
    let name = fs::read_dir(desk.path("cases")).unwrap().flatten();
    let name = name.map(|entry| entry.path()).find(|path| path.is_dir()).unwrap();
    let case = read(name.join("case.json"));
    assert!(case.contains("at night") && !case.contains("hunter2"), "{case}");
    assert_eq!(json_of(&case)["grade"], "wrong", "it named an entity, and the cause lay outside");
    let name = name.file_name().unwrap().to_str().unwrap().to_owned();
    desk.cases(&["show", &name]).exits(0).prints(&["outside: provider", "[masked]"]);
    desk.cases(&["show", "flash-sale"]).exits(2).says(&["did you mean flash-sale-"]);
}

#[test]
fn other_weights_show_what_they_do_to_the_history() {
    let desk = Desk::new();
    let sale = desk.investigated(FLASH_SALE.as_ref(), &[]);
    desk.close(&sale, FLASH_SALE.as_ref(), &["--cause", "frontend"]).exits(0);
    let shipped =
        read(concat!(env!("CARGO_MANIFEST_DIR"), "/../eog-evidence/src/policy/weights.toml"));
    let weights = desk.path("weights.toml");
    let with = |text: &str| {
        fs::write(&weights, text).unwrap();
        ["--weights", weights.to_str().unwrap()].map(str::to_owned)
    };
    let options = with(&shipped);
    let same: Vec<&str> = options.iter().map(String::as_str).collect();
    assert_eq!(desk.outcomes(&same), ["identical"]);
    with(
        &shipped
            .replace("origin = 2000", "origin = 200000")
            .replace("dead_end = 850", "dead_end = 90000"),
    );
    let worse = desk.cases(&[&["check"], &same[..]].concat()).exits(1);
    let worse =
        worse.prints(&["worse", "(exact → abstained)", "confirmed: frontend → inconclusive"]);
    assert!(worse.err.is_empty(), "{}", worse.err);
    let junit = desk.path("cases.xml");
    desk.cases(&[&["check", "--junit", junit.to_str().unwrap()], &same[..]].concat()).exits(1);
    let junit = read(junit);
    assert!(junit.contains("tests=\"1\" failures=\"1\"") && junit.contains("now: inconclusive"));
    with(&shipped.replace("\"excess\"", "\"exces\""));
    desk.cases(&[&["check"], &same[..]].concat()).exits(4).says(&["weights.toml", "\"exces\""]);
    run!("investigate", FLASH_SALE, "--policy", "command:/bin/cat", "--weights", weights)
        .exits(2)
        .says(&["--weights: only the evidence policy"]);
}

#[test]
fn a_damaged_case_is_named_and_the_others_are_checked() {
    let desk = Desk::new();
    for incident in [FLASH_SALE, BOTTLING_LINE] {
        let run = desk.investigated(incident.as_ref(), &[]);
        desk.close(&run, incident.as_ref(), &["--nothing-wrong"]).exits(0);
    }
    let names: Vec<String> = strings_of(&desk.cases(&["list", "--format", "json"]).json());
    let sale = names.iter().find(|name| name.starts_with("flash-sale")).unwrap();
    let ledger = desk.path("cases").join(sale).join("ledger.jsonl");
    let text = read(&ledger);
    fs::write(&ledger, text.replacen("confirmed", "denied___", 1) + "\n").unwrap();
    assert_eq!(desk.outcomes(&[]), ["identical", "damaged"]);
    desk.cases(&["check"]).exits(1).prints(&["damaged", "ledger.jsonl", "1 identical"]);
}

fn strings_of(rows: &Value) -> Vec<String> {
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn weights_adapt_to_own_cases_only_as_far_as_they_carry() {
    let desk = Desk::new();
    let sale = desk.investigated(FLASH_SALE.as_ref(), &[]);
    desk.close(&sale, FLASH_SALE.as_ref(), &["--cause", "frontend"]).exits(0);
    let (cases, out) = (desk.path("cases"), desk.path("weights.toml"));
    let fitted = |incidents: &str| {
        let _ = fs::remove_file(&out);
        let prior = ["--prior", "shipped", "--prior-incidents", incidents];
        let tried = ["--held", cases.to_str().unwrap(), "--generated", "0"];
        let run = run!("eval", "fit", cases, prior, tried, "--out", out, "--format", "json");
        let fitted = run.exits(0).json();
        assert_eq!(fitted["effects"].as_array().unwrap().len(), 2);
        let weights = fitted["weights"].as_array().unwrap().clone();
        let moved = weights.iter().map(|it| {
            (it["fitted"].as_i64().unwrap() - it["before"].as_i64().unwrap()).unsigned_abs()
        });
        moved.sum::<u64>()
    };
    let (little, much) = (fitted("1000000"), fitted("0.01"));
    assert!(little <= 5 && much > 20 * little.max(1), "{little} {much}");
    run!("investigate", FLASH_SALE, "--weights", out).exits(0).prints(&["frontend"]);
    run!("eval", "fit", cases, "--prior", "shipped", "--shrinkage", "2").exits(2);
    run!("eval", "fit", cases, "--prior", desk.path("none.toml")).exits(4).says(&["none.toml"]);
}

#[test]
fn cases_are_checked_at_once_with_the_same_result() {
    let desk = Desk::new();
    for (incident, options) in [
        (FLASH_SALE, &[][..]),
        (BOTTLING_LINE, &[]),
        (FLASH_SALE, &["--not-cause", "frontend"]),
        (FLASH_SALE, &["--budget", "3"]),
    ] {
        let run = desk.investigated(incident.as_ref(), options);
        desk.close(&run, incident.as_ref(), &["--nothing-wrong"]).exits(0);
    }
    let names = strings_of(&desk.cases(&["list", "--format", "json"]).json());
    let damaged = desk.path("cases").join(&names[1]).join("ledger.jsonl");
    fs::write(&damaged, read(&damaged) + "\n").unwrap();
    for format in [&["--verbose"][..], &["--format", "json"]] {
        let checked = |count: &str| {
            let run = desk.cases(&[&["check", "--concurrency", count], format].concat());
            run.exits(1).prints(&["damaged", "identical"])
        };
        assert_eq!(checked("1"), checked("4"));
    }
    desk.cases(&["check", "--concurrency", "0"]).exits(2);
}

#[test]
fn closed_cases_are_a_prior_only_where_they_are_asked_for() {
    let desk = Desk::new();
    let sale = desk.investigated(FLASH_SALE.as_ref(), &[]);
    desk.close(&sale, FLASH_SALE.as_ref(), &["--cause", "frontend"]).exits(0);
    // The same incident of another day.
    let later = desk.path("later");
    copy_tree(Path::new(FLASH_SALE), &later);
    for file in fs::read_dir(&later).unwrap().flatten().filter(|file| file.path().is_file()) {
        let text = read(file.path());
        fs::write(file.path(), text.replace("2026-03-20", "2026-03-25")).unwrap();
    }
    let table = desk.path("prior.toml");
    let file = table.to_str().unwrap();
    desk.cases(&["prior", file, "--weight", "0.3"]).exits(0).prints(&["1 case written"]);
    let term = |incident: &Path| {
        let options = ["--weights", file];
        let run = desk.investigated(incident, &options);
        let report = run!("replay", run, "--format", "json").json();
        let frontend = report["weights"]["frontend"].as_array().unwrap().clone();
        let of_cases = frontend.into_iter().find(|term| term["name"] == "closed cases");
        (run, of_cases)
    };
    let (run, of_later) = term(&later);
    let of_later = of_later.expect("a term");
    assert_eq!(of_later["log_odds"], 100, "one of three nearest, wholly alike");
    assert!(of_later["text"].as_str().unwrap().contains("it was frontend"), "{of_later}");
    assert_eq!(term(FLASH_SALE.as_ref()).1, None, "no case is a precedent of itself");
    // The table is part of the judge's name, so that the case is the same when it is investigated again.
    desk.close(&run, &later, &["--cause", "frontend"]).exits(0);
    let checked = |options: &[&str]| {
        let mut outcomes = desk.outcomes(options);
        outcomes.sort();
        outcomes
    };
    assert_eq!(checked(&["--weights", file]), ["identical", "same_conclusion"]);
    assert_eq!(
        checked(&[]),
        ["identical", "less_sure"],
        "without the table the later one lacks a precedent"
    );
    // A fit keeps it.
    let fitted = desk.path("fitted.toml");
    let options = ["--prior", file, "--generated", "0", "--out", fitted.to_str().unwrap()];
    run!("eval", "fit", desk.path("cases"), options).exits(0);
    assert!(read(&fitted).contains("[closed_cases]"));
    for weight in ["0", "1.5", "x"] {
        desk.cases(&["prior", file, "--weight", weight]).exits(2).says(&["from 0.001 to 1"]);
    }
}

/// Kills `eog close` at many moments, half of them while it writes to the folder of cases.
#[cfg(unix)]
#[test]
fn a_case_is_whole_or_absent_wherever_closing_it_is_killed() {
    const KILLS: u32 = 40;
    let desk = Desk::new();
    let sale = desk.investigated(FLASH_SALE.as_ref(), &[]);
    let line = desk.investigated(BOTTLING_LINE.as_ref(), &[]);
    desk.close(&line, BOTTLING_LINE.as_ref(), &["--nothing-wrong"]).exits(0);
    let cases = desk.path("cases");
    let mut closing = command!("close", sale, FLASH_SALE, "--cause", "frontend", "--replace");
    closing.arg("--cases").arg(&cases);
    let begin = std::time::Instant::now();
    Run::of(&mut closing).exits(0);
    let whole = begin.elapsed();
    let is_written = || {
        let entries = fs::read_dir(&cases).unwrap().flatten();
        let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.any(|name| name.starts_with('.'))
    };
    for number in 0..KILLS {
        if number % 4 == 0 {
            let names = strings_of(&desk.cases(&["list", "--format", "json"]).json());
            let sales: Vec<&str> = names.iter().map(String::as_str).collect();
            let sales = sales.iter().filter(|name| name.starts_with("flash-sale"));
            let forget: Vec<&str> = ["forget"].iter().chain(sales).copied().collect();
            if forget.len() > 1 {
                desk.cases(&forget).exits(0);
            }
        }
        let mut child = start(&mut closing);
        let wait = std::time::Instant::now();
        let until = whole * number / KILLS;
        while wait.elapsed() < until || number % 2 == 1 && !is_written() {
            if child.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::yield_now();
        }
        let _ = child.kill();
        child.wait().unwrap();
        // Readers find whole cases at once, and who writes next finds the folder in order.
        let listed = desk.cases(&["list", "--format", "json"]).exits(0);
        assert!(listed.err.is_empty(), "{listed:?}");
        let names = strings_of(&listed.json());
        assert!(names.iter().any(|name| name.starts_with("bottling-line")), "{names:?}");
        let outcomes = desk.outcomes(&[]);
        assert!(outcomes.iter().all(|it| it == "identical"), "kill {number}: {outcomes:?}");
    }
    Run::of(&mut closing).exits(0);
    assert_eq!(desk.outcomes(&[]), ["identical", "identical"]);
    assert!(!is_written(), "nothing unfinished is left");
}
