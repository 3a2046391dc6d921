//! A service on call under load for as long as is asked for: memory and descriptors stay where they are.
//!
//! `EOG_SOAK=3600 cargo test --release -p eog-cli --test soak -- --nocapture` runs for an hour and prints a chart. Without the
//! variable it runs for a few seconds, and says nothing about time.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;
#[allow(dead_code)]
mod on_call_lab;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use on_call_lab::{Receiver, Service, alert, count, folder, stored};

/// How many samples are taken in all.
const SAMPLES: u32 = 60;
/// Groups of alerts that come and go: no multiple of a kind of request, so that each kind meets all.
const GROUPS: u64 = 41;
/// Seconds in which all alerts fire, and then in which all are resolved: incidents are opened, investigated, closed and
/// removed.
const PHASE: u64 = 10;

struct Sample {
    resident_mib: f64,
    descriptors: usize,
    threads: usize,
    investigations: usize,
    requests: u64,
}

fn sample(process: u32, state: &Path, requests: &AtomicU64) -> Sample {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kib: f64 = line.trim().strip_suffix(" kB").unwrap().trim().parse().unwrap();
    let of_process = |what: &str| count(Path::new(&format!("/proc/{process}/{what}")), "");
    Sample {
        resident_mib: kib / 1024.0,
        descriptors: of_process("fd"),
        threads: of_process("task"),
        investigations: stored(state),
        requests: requests.load(Ordering::Relaxed),
    }
}

/// Alerts that fire and are resolved, requests of all kinds, clients that say half a word, until it is over.
fn load(
    service: &Service,
    worker: u64,
    began: Instant,
    is_over: &AtomicBool,
    requests: &AtomicU64,
) {
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let headers = "Host: localhost\r\nAccept: application/json, text/event-stream\r\n\
                   Content-Type: application/json\r\n";
    let mut turn = worker;
    while !is_over.load(Ordering::Relaxed) {
        turn = turn.wrapping_add(7);
        let (group, fingerprint) =
            (format!("g{}", turn % GROUPS), format!("f{}", turn % (4 * GROUPS)));
        let now = eog::Timestamp::now().to_string();
        let ends = (began.elapsed().as_secs() / PHASE % 2 == 1).then_some(now.as_str());
        let answered = match turn % 8 {
            0..4 => service.post("/alerts", &alert(&group, &fingerprint, "A", "web", ends)),
            4 => service.get("/incidents"),
            5 => service.get("/metrics"),
            6 => service.raw(&common::request("POST", "/mcp", headers, hello)),
            _ => {
                drop(std::net::TcpStream::connect(("127.0.0.1", service.port)));
                service.get("/healthz")
            }
        };
        if let Some((status, body)) = answered {
            assert!(status != 500, "{status}: {body}");
            requests.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A line of bars, from nothing to the most.
fn chart(values: impl Iterator<Item = f64> + Clone) -> String {
    let most = values.clone().fold(f64::MIN_POSITIVE, f64::max);
    let bars: Vec<char> = "▁▂▃▄▅▆▇█".chars().collect();
    values.map(|value| bars[((value / most * 8.0).ceil() as usize).clamp(1, 8) - 1]).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn memory_and_descriptors_stay_where_they_are() {
    let asked = std::env::var("EOG_SOAK").ok().map(|text| text.parse::<u64>().unwrap());
    let time = Duration::from_secs(asked.unwrap_or(6));
    let receiver = Receiver::start();
    let settings = "[pace]\nsettle = '0s'\npause = '1s'\nquiet = '1s'\n[keep]\nincidents = 50\n";
    let place = folder(settings, &receiver.hook("a"));
    let service = Service::start(place.path());
    let (is_over, requests) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut samples = Vec::new();
    let (began, state) = (Instant::now(), place.path().join("state"));
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (service, is_over, requests) = (&service, &is_over, &requests);
            scope.spawn(move || load(service, worker, began, is_over, requests));
        }
        for number in 1..=SAMPLES {
            std::thread::sleep((time * number / SAMPLES).saturating_sub(began.elapsed()));
            samples.push(sample(service.id(), &state, &requests));
            if let (Some(_), Some(sample)) = (asked, samples.last()) {
                println!(
                    "{:>6} s {:>8.1} MiB {:>4} descriptors {:>3} threads {:>5} investigations {:>9} requests",
                    began.elapsed().as_secs(),
                    sample.resident_mib,
                    sample.descriptors,
                    sample.threads,
                    sample.investigations,
                    sample.requests
                );
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    println!("memory      {}", chart(samples.iter().map(|it| it.resident_mib)));
    println!("descriptors {}", chart(samples.iter().map(|it| it.descriptors as f64)));
    assert!(samples.last().unwrap().requests > 0, "it answers");
    assert!(samples.iter().all(|it| it.descriptors < 700), "a bound whatever the time");
    if asked.is_none() {
        return;
    }
    // After it has grown warm: the third quarter compared with the last.
    let part = |from: usize, of: fn(&Sample) -> f64| {
        median(samples[from..from + samples.len() / 4].iter().map(of).collect())
    };
    let (third, last) = (samples.len() / 2, 3 * samples.len() / 4);
    for (what, of, slack) in [
        ("memory", (|it| it.resident_mib) as fn(&Sample) -> f64, 4.0),
        ("descriptors", |it| it.descriptors as f64, 16.0),
        ("threads", |it| it.threads as f64, 16.0),
    ] {
        let (before, after) = (part(third, of), part(last, of));
        println!("{what}: {before:.1} in the third quarter, {after:.1} in the last");
        assert!(after <= before * 1.05 + slack, "{what} grows: {before} to {after}");
    }
}
