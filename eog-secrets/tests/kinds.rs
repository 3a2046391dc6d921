//! Every kind of secret that telemetry was seen to quote, in several forms each.
//!
//! `table/mod.rs` has the table. Each form is tried with canaries drawn by seed, alone and inside
//! surroundings drawn by seed: no canary survives, and what stands around it does.

mod table;

use eog_secrets::Masker;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use table::{KINDS, Kind, Reach};

/// Draws for every form of every kind.
const SEEDS: u64 = 40;

/// Ordinary words, so that surroundings name no secret themselves.
const WORDS: [&str; 14] = [
    "level=error",
    "pod/cart-7d9f8b6c5-x2x9k",
    "GET /api/v1/carts 200",
    "2025-12-15T17:30:49Z",
    "größer als",
    "{\"msg\": \"x\",",
    "trace_id=4bf92f3577b34da6a3ce929d0e0e4736",
    "[worker-3]",
    "日本",
    "latency 42ms;",
    "retry (2/5)",
    "image: app@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "it's",
    "\t",
];

fn surroundings(random: &mut ChaCha8Rng) -> String {
    let count = random.random_range(0..6);
    let words: Vec<&str> = (0..count).filter_map(|_| WORDS.choose(random).copied()).collect();
    words.join(" ")
}

fn planted(form: &str, canary: &str) -> String {
    form.replace("{}", canary)
}

#[test]
fn no_canary_of_any_kind_survives() {
    let masker = Masker::new();
    let mut failures = Vec::new();
    for Kind { name, forms, canary, .. } in KINDS {
        for form in *forms {
            for seed in 0..SEEDS {
                let canary = canary.draw(&mut ChaCha8Rng::seed_from_u64(seed));
                let text = planted(form, &canary.text);
                let masked = masker.mask(&text);
                if canary.survives(&masked) {
                    failures.push(format!("{name}: {text}\n  -> {masked}"));
                    break;
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn no_canary_survives_inside_surroundings() {
    let masker = Masker::new();
    let mut failures = Vec::new();
    for (at, Kind { name, forms, canary, .. }) in KINDS.iter().enumerate() {
        for seed in 0..SEEDS {
            let mut random = ChaCha8Rng::seed_from_u64(1_000 * at as u64 + seed);
            let form = forms.choose(&mut random).expect("a kind has forms");
            let canary = canary.draw(&mut random);
            let gap = *["\n", " \n", "\r\n"].choose(&mut random).expect("a gap");
            let (before, after) = (surroundings(&mut random), surroundings(&mut random));
            let text = format!("{before}{gap}{}{gap}{after}", planted(form, &canary.text));
            let masked = masker.mask(&text);
            if canary.survives(&masked) {
                failures.push(format!("{name}: {text}\n  -> {masked}"));
                break;
            }
            assert_eq!(masker.mask(&masked), masked, "{name}: masked twice");
        }
    }
    assert!(failures.is_empty(), "{}\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn what_stands_around_a_secret_stays() {
    let masker = Masker::new();
    let mut failures = Vec::new();
    for Kind { name, forms, canary, reach } in KINDS {
        for form in *forms {
            let canary = canary.draw(&mut ChaCha8Rng::seed_from_u64(7));
            let planted = planted(form, &canary.text);
            let text = format!("pod cart-7d9f failed at 17:30\n{planted}\nafter 3 restarts");
            let masked = masker.mask(&text);
            let before = masked.starts_with("pod cart-7d9f failed at 17:30\n");
            let after = *reach == Reach::Rest || masked.ends_with("\nafter 3 restarts");
            if !before || !after {
                failures.push(format!("{name}: {text}\n  -> {masked}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn the_table_has_every_kind_once() {
    let mut names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), KINDS.len());
    assert!(KINDS.len() >= 55, "{}", KINDS.len());
    assert!(KINDS.iter().all(|kind| kind.forms.len() > 1), "several forms each");
}
