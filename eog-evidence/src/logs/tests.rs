use eog_core::evidence::Trend;

use super::*;

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn patterns(lines: impl IntoIterator<Item = (i64, &'static str, String)>) -> LogPatterns {
    let mut patterns = LogPatterns::new(EntityId::new("cart").unwrap());
    for (at, level, message) in lines {
        let (time, level) = (second(at), level.to_owned());
        patterns.add(&LogLine { time, level, message, signal: None, peer: None, trace: None });
    }
    patterns
}

/// The second of two hours is of interest.
fn periods(baseline: bool) -> Periods {
    let window = Window::new(second(3600), second(7200)).unwrap();
    let observed = baseline.then(|| Window::new(second(0), second(7200)).unwrap());
    Periods { observed, ..Periods::new(window) }
}

fn excerpts(patterns: &LogPatterns) -> Vec<(Trend, String)> {
    let findings = patterns.findings(&periods(true), "logs.csv");
    findings.into_iter().map(|finding| (finding.trend, finding.excerpt.clone())).collect()
}

/// A line of a level every so many seconds, from one second on until another.
fn every(
    step: usize,
    (from, to): (i64, i64),
    level: &'static str,
    message: &'static str,
) -> impl Iterator<Item = (i64, &'static str, String)> {
    (from..to).step_by(step).map(move |at| (at, level, format!("{message} {at}")))
}

#[test]
fn messages_that_differ_in_values_are_one_pattern() {
    let lines = ["request 4711 of \"ann\" took 12.5ms", "request 7 of \"lee\" took 3ms"];
    let patterns = patterns(lines.map(|message| (3660, "error", message.to_owned())));
    let findings = patterns.findings(&periods(false), "logs.csv");
    let queries: Vec<&str> = findings.iter().map(|finding| finding.query.as_str()).collect();
    assert_eq!(queries, ["entity=cart level=error message=\"request # of # took #\""]);
}

#[test]
fn errors_rise_by_more_than_chance_or_without_a_baseline() {
    let trends = |minutes: &[i64], baseline: bool| -> Vec<(Trend, f64)> {
        let lines =
            minutes.iter().map(|minute| (minute * 60, "error", format!("failed at {minute}")));
        let findings = patterns(lines).findings(&periods(baseline), "logs.csv");
        findings.iter().map(|f| (f.trend, f.quantity.as_ref().unwrap().observed)).collect()
    };
    let many: Vec<i64> = (90..120).collect();
    let cases = [
        (&[61, 70][..], true, vec![(Trend::Steady, 2.0)]),
        (&many, true, vec![(Trend::Rising, 30.0)]),
        (&[5, 61, 70, 80], true, vec![(Trend::Steady, 3.0)]),
        (&[5, 61, 70], false, vec![(Trend::Rising, 2.0)]),
        (&[5, 120], true, vec![]),
    ];
    for (minutes, baseline, expected) in cases {
        assert_eq!(trends(minutes, baseline), expected, "{minutes:?}");
    }
}

#[test]
fn errors_in_many_words_rise_together() {
    let words = ["refused", "reset", "timed out", "unreachable", "closed", "aborted"];
    let lines = words.into_iter().zip(0..).flat_map(|(word, n)| {
        [4000 + 90 * n, 4700 + 80 * n].map(|at| (at, "error", format!("connection {word}")))
    });
    let mut found = excerpts(&patterns(lines));
    assert_eq!(found.len(), words.len());
    assert_eq!(
        found.remove(0),
        (Trend::Rising, "error, 2 times, never before: connection aborted".into())
    );
    assert!(found.iter().all(|(trend, _)| *trend == Trend::Rising));
}

#[test]
fn what_is_usually_said_is_missed() {
    let served = || every(10, (0, 7200), "INFO", "served");
    let cases = [
        (every(60, (0, 7200), "info", "heartbeat").collect::<Vec<_>>(), vec![]),
        (
            every(60, (0, 4801), "info", "heartbeat").collect(),
            vec!["info, 0 times since 1970-01-01T01:20:00Z (normally 39.8): heartbeat 0"],
        ),
        (
            every(60, (5000, 7200), "debug", "cache is cold").collect(),
            vec!["debug, 37 times, never before: cache is cold 5000"],
        ),
        (
            every(60, (0, 3600), "", "job").chain(every(12, (3600, 7200), "", "job")).collect(),
            vec!["no level, 300 times (normally 60): job 0"],
        ),
    ];
    for (lines, expected) in cases {
        let found = excerpts(&patterns(served().chain(lines)));
        let found: Vec<String> = found.into_iter().map(|(_, excerpt)| excerpt).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn a_source_that_falls_silent_alone_is_not_distinguished_from_a_record_that_ends() {
    assert_eq!(excerpts(&patterns(every(60, (0, 4801), "info", "heartbeat"))), []);
}

#[test]
fn more_requests_are_one_finding() {
    const STEPS: [&str; 6] = ["begun", "looked up", "priced", "paid", "packed", "sent"];
    let lines = STEPS.into_iter().zip(0..).flat_map(|(step, offset)| {
        every(30, (offset, 3600), "info", step).chain(every(
            10,
            (3600 + offset, 7200),
            "info",
            step,
        ))
    });
    assert_eq!(
        excerpts(&patterns(lines)),
        [(
            Trend::Rising,
            "all lines except errors and warnings, 2160 times (normally 720)".to_owned()
        )]
    );
}

#[test]
fn a_usual_order_that_breaks_is_found() {
    let begun = every(20, (0, 7200), "info", "payment begun");
    let order = |from: i64, to: i64| if from < 5000 { from + 3 } else { to };
    let done =
        (0..7200).step_by(20).map(|at| (order(at, at - 3), "info", format!("payment done {at}")));
    let done: Vec<_> = done.collect();
    assert_eq!(
        excerpts(&patterns(begun.chain(done))),
        [(
            Trend::Falling,
            "info, followed as normal 70 of 179 times (expected 179; 109 times it comes before): \
             payment begun 0; then: payment done 0"
                .to_owned()
        )]
    );
}

#[test]
fn patterns_are_bounded() {
    for level in ["warn", "info"] {
        let letters = |index: usize| -> String {
            let digits = format!("{index:03}");
            digits.bytes().map(|digit| char::from(digit - b'0' + b'g')).collect()
        };
        let lines = (0..MAX_LOG_PATTERNS + 3).map(|index| (60, level, letters(index)));
        assert_eq!(patterns(lines).beyond(), 3);
    }
}

#[test]
fn findings_are_bounded() {
    let word = |n: i64| -> String {
        format!("{n:03}").bytes().map(|digit| char::from(digit - b'0' + b'g')).collect()
    };
    for (level, most) in [("error", 20), ("info", 6)] {
        let lines =
            (0..100).flat_map(|n| (0..40).map(move |m| (5000 + 50 * m + n % 7, level, word(n))));
        let usual = every(10, (0, 7200), "info", "served");
        assert_eq!(excerpts(&patterns(lines.chain(usual))).len(), most, "{level}");
    }
}

#[test]
fn the_order_of_lines_does_not_matter() {
    let lines: Vec<_> = every(10, (0, 7200), "info", "served")
        .chain(every(60, (5000, 7200), "error", "failed"))
        .collect();
    let reversed: Vec<_> = lines.iter().rev().cloned().collect();
    assert_eq!(patterns(lines.clone()), patterns(reversed.clone()));
    assert_eq!(excerpts(&patterns(lines)), excerpts(&patterns(reversed)));
}
