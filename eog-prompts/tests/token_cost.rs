//! What holds of the measurement of tokens whatever its figures are.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../examples/token_cost/cost/mod.rs"]
#[allow(dead_code, reason = "the example uses all of it")]
mod cost;

use std::path::Path;

use cost::{
    Cost, Incident, MAX_PROMPT_TOKENS, Origin, Prompts, around, bottling_line, fixed_tokens,
    flash_sale, generated, measure, recorded,
};
use eog_core::Config;

/// Every behaviour that is compared, the paper's first and ours second.
fn measured(incident: &Incident) -> Vec<Cost> {
    let profiles = [
        (Config::paper(), Prompts::Literal),
        (Config::default(), Prompts::Ours),
        (Config::paper(), Prompts::Ours),
        (Config::default(), Prompts::Literal),
        (Config::paper(), Prompts::WithSpecs),
        (Config::paper(), Prompts::Spare),
    ];
    profiles
        .into_iter()
        .map(|(config, prompts)| measure(incident, config, prompts).unwrap())
        .collect()
}

fn names(cost: &Cost) -> Vec<&str> {
    cost.frontier.iter().map(eog_core::EntityId::as_str).collect()
}

/// All behaviours end alike, no prompt is too long, and ours takes less of what no cache can serve.
fn holds(incident: &Incident) -> Vec<Cost> {
    let name = &incident.name;
    let costs = measured(incident);
    for cost in &costs {
        assert_eq!(cost.frontier, costs[0].frontier, "{name}");
        assert!(cost.calls > 0 && cost.calls <= cost.evaluations, "{name}: {cost:?}");
        assert!(cost.longest <= MAX_PROMPT_TOKENS, "{name}: {cost:?}");
        assert!(cost.cached < cost.tokens_in, "{name}: {cost:?}");
    }
    // The same judge: only what needs no model is not asked.
    assert!(
        costs[2].calls <= costs[0].calls && costs[1].calls <= costs[3].calls,
        "{name}: {costs:?}"
    );
    let [paper, ours] = [&costs[0], &costs[1]];
    assert!(ours.uncached() < paper.uncached(), "{name}: {ours:?} {paper:?}");
    assert!(costs[5].tokens() < paper.tokens() && paper.tokens() <= costs[4].tokens(), "{name}");
    costs
}

#[test]
fn shipped_incidents_end_alike_and_take_less() {
    // Without log-odds, the sum's second origin of the flash sale is not outweighed by the first.
    let sale: &[&str] = &["frontend", "processor"];
    let line: &[&str] = &["utilities/compressor-2"];
    for (incident, origins) in [(flash_sale().unwrap(), sale), (bottling_line().unwrap(), line)] {
        let costs = holds(&incident);
        assert_eq!(names(&costs[0]), origins);
        let around = around(&incident).unwrap();
        let [paper, ours] = around.opening.unwrap();
        assert!(paper.calls >= 3 && ours.calls == 1, "{paper:?} {ours:?}");
        assert!(around.report.iter().all(|cost| cost.calls == 1 && cost.tokens_in > 0));
    }
}

#[test]
fn generated_incidents_end_with_their_true_origins() {
    for seed in 0..3 {
        let incident = generated(20, seed).unwrap();
        let costs = holds(&incident);
        assert!(costs[1].tokens() < costs[0].tokens(), "seed {seed}");
        let spec = eog_testkit::truth::TruthSpec::drawn(20, seed);
        let truth = eog_testkit::truth::TruthGraph::generate(&spec, seed).unwrap();
        assert_eq!(costs[0].frontier, truth.linked_origins(), "seed {seed}");
        assert!(around(&incident).unwrap().opening.is_none());
    }
}

#[test]
fn a_recording_ends_alike_and_takes_less() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/itbench");
    let folder = data.join("scenario-2-partial");
    if !folder.is_dir() {
        eprintln!("skipped: no recordings at ../shared/data/itbench beside the workspace");
        return;
    }
    let architecture = data.join("architecture.json");
    let incident = recorded(&folder, Some(&architecture), Origin::Recorded).unwrap();
    let costs = holds(&incident);
    assert!(costs[4].tokens() > costs[0].tokens(), "objects were recorded");
    assert!(costs[1].tokens() < costs[0].tokens());
}

/// A cache serves beginnings of 1,024 tokens or more: ours should be as long before an entity's name.
#[test]
fn the_beginning_of_our_questions_is_long_enough_for_caches() {
    let incident = flash_sale().unwrap();
    let [_, ours] = fixed_tokens(&incident).unwrap();
    assert!(ours > 1_024, "{ours}");
    let cost = measure(&incident, Config::default(), Prompts::Ours).unwrap();
    assert!(cost.cached >= 1_024 * (cost.calls - 1), "{cost:?}");
}
