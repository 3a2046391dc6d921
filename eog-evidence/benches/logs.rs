//! What it costs to find the patterns of log lines, in one thread.

use std::fmt::Write;

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use eog_core::evidence::Trend;
use eog_core::{EntityId, Timestamp, Window};
use eog_evidence::{LogLine, LogPatterns, Miner, Periods, template};

const LINES: usize = 100_000;

fn main() {
    divan::main();
}

/// Kinds of lines: `{}` stands for a number that differs from line to line, `[]` for letters that do.
const KINDS: [&str; 10] = [
    "10.0.{}.7 - \"GET /api/v1/carts/{}/items?currency=EUR HTTP/1.1\" status: 200 len: {} time: 0.2477829",
    "Received block blk_{} of size {} from /10.250.19.102 in 31 ms, acknowledged by every replica",
    "level=warning msg=\"retrying call to payment\" attempt={} trace=4bf92f3577b34da6a3ce929d0e0e4736",
    "session opened for user root by (uid={}) on terminal pts/{} after 3 attempts without a password",
    "{\"level\":\"info\",\"message\":\"order {} placed\",\"user\":\"ann lee\",\"total\":{},\"currency\":\"EUR\"}",
    "Connection to node-{} (broker.shop.internal:9092) could not be established. Broker may not be available.",
    "Block broadcast_{}_piece0 stored as bytes in memory (estimated size 5.2 KB, free 14.0 KB of 384.1 MB)",
    "com.shop.cart.CartStore.get:{} took too long, waiting for a connection from the pool of 10 connections",
    "[instance: 54fadb41-2c4e-40cd-baed-9335e4c35a9e] VM Resumed (Lifecycle Event) after {} s by scheduler",
    "2026-01-01T10:00:00.{}Z controller reconciled object in queue, nothing to do until the next full resync",
];

/// Lines of all kinds; with letters, every tenth ends with an id of letters of its own.
fn lines(ids: bool) -> Vec<String> {
    let one = |index: usize| {
        let mut line = KINDS[index % KINDS.len()].replace("{}", &(index * 7919).to_string());
        if ids && index.is_multiple_of(10) {
            line.push_str(" request=");
            let mut rest = index;
            for _ in 0..6 {
                let letter = char::from(b'a' + u8::try_from(rest % 26).unwrap_or_default());
                let _ = line.write_char(letter);
                rest /= 26;
            }
        }
        line
    };
    (0..LINES).map(one).collect()
}

fn bytes(lines: &[String]) -> usize {
    lines.iter().map(String::len).sum()
}

/// `template`, line by line.
#[divan::bench(sample_count = 21, sample_size = 1)]
fn masks(bencher: Bencher) {
    let lines = lines(false);
    let bencher = bencher.counter(ItemsCount::new(LINES)).counter(BytesCount::new(bytes(&lines)));
    bencher.bench_local(|| {
        for line in &lines {
            black_box(template(line));
        }
    });
}

/// `Miner`: all lines, then the patterns. With ids, every tenth line has a template of its own.
#[divan::bench(args = [false, true], sample_count = 21, sample_size = 1)]
fn mine(bencher: Bencher, ids: bool) {
    let lines = lines(ids);
    let bencher = bencher.counter(ItemsCount::new(LINES)).counter(BytesCount::new(bytes(&lines)));
    bencher.bench_local(|| {
        let mut miner = Miner::new();
        for line in &lines {
            black_box(miner.add(line));
        }
        miner.mine()
    });
}

/// Lines of one entity, one after the other, nearly all of them information.
fn log_lines(ids: bool) -> Vec<LogLine> {
    let level = |index: usize| if index.is_multiple_of(17) { "ERROR" } else { "info" };
    let one = |(index, message): (usize, String)| LogLine {
        time: Timestamp::from_millisecond(36 * index as i64).expect("it is a time"),
        level: level(index).to_owned(),
        message,
        signal: None,
        peer: None,
        trace: None,
    };
    lines(ids).into_iter().enumerate().map(one).collect()
}

/// `LogPatterns`: the whole way of a line into a bundle, after it was read.
#[divan::bench(args = [false, true], sample_count = 21, sample_size = 1)]
fn groups(bencher: Bencher, ids: bool) {
    let lines = log_lines(ids);
    let entity = EntityId::new("cart").expect("it is a name");
    let bencher = bencher.counter(ItemsCount::new(LINES));
    bencher.bench_local(|| {
        let mut patterns = LogPatterns::new(entity.clone());
        for line in &lines {
            patterns.add(black_box(line));
        }
        patterns
    });
}

/// `LogPatterns::findings`: all lines compared with the usual ones.
#[divan::bench(sample_count = 21, sample_size = 1)]
fn compares(bencher: Bencher) {
    let mut patterns = LogPatterns::new(EntityId::new("cart").expect("it is a name"));
    log_lines(false).iter().for_each(|line| patterns.add(line));
    let at = |second: i64| Timestamp::from_second(second).expect("it is a time");
    let window = |from, to| Window::new(at(from), at(to)).expect("it is no empty window");
    let periods = Periods { observed: Some(window(0, 3600)), ..Periods::new(window(1800, 3600)) };
    let bencher = bencher.counter(ItemsCount::new(LINES));
    bencher.bench_local(|| {
        let findings = patterns.findings(black_box(&periods), "logs.csv");
        assert!(findings.iter().all(|finding| finding.trend == Trend::Steady));
        findings
    });
}
