//! How far the results of tree searches depend on the scores of their model-free roles: each score halved
//! and doubled, on generated incidents.
//!
//! `cargo run --release -p eog-eval --example search_sensitivity -- 40`

use std::error::Error;

use eog::machine::drive;
use eog::{Config, EntityId, Machine};
use eog_eval::generated::{Generated, Kind, incident};
use eog_eval::suite::Truth;
use eog_evidence::{Bundle, EvidencePolicy};
use eog_search::{PolicyRoles, PolicyScores, Profile, SearchController, SearchResponder};
use eog_session::run::Start;
use eog_session::source::{OfBundle, Opened};

type Change = fn(&mut PolicyScores) -> &mut u16;

const SCORES: [(&str, Change); 9] = [
    ("origin with a change (900)", |scores| &mut scores.origin_with_change),
    ("origin (700)", |scores| &mut scores.origin),
    ("origin joined to no alert (600)", |scores| &mut scores.unjoined),
    ("symptom of somebody (500)", |scores| &mut scores.symptom_of),
    ("symptom (350)", |scores| &mut scores.symptom),
    ("not understood, with proposals (320)", |scores| &mut scores.defer_with_proposals),
    ("not understood (250)", |scores| &mut scores.defer),
    ("healthy (50)", |scores| &mut scores.healthy),
    ("expanded above (300)", |scores| &mut scores.expand_above),
];

fn main() -> Result<(), Box<dyn Error>> {
    let seeds: u64 = std::env::args().nth(1).map_or(Ok(20), |seeds| seeds.parse())?;
    let mut incidents = Vec::new();
    for kind in [Kind::Services, Kind::Pipeline] {
        for seed in 1..=seeds {
            let Generated { bundle, truth } = incident(kind, seed)?;
            let folder = tempfile::tempdir()?;
            bundle.write(folder.path())?;
            incidents.push((Bundle::read(folder.path())?, truth));
        }
    }
    println!("mean F1 of {} generated incidents (services and pipeline)\n", incidents.len());
    let names = Profile::ALL.map(Profile::name).join(" | ");
    println!("| score | {names} |\n|---|{}", "---:|".repeat(Profile::ALL.len()));
    row("as specified", &incidents, PolicyScores::default())?;
    row(
        "without the policy's own scores",
        &incidents,
        PolicyScores { own: false, ..PolicyScores::default() },
    )?;
    for (name, score) in SCORES {
        for (how, by) in [("halved", (1, 2)), ("doubled", (2, 1))] {
            let mut scores = PolicyScores::default();
            let value = score(&mut scores);
            *value = (*value * by.0 / by.1).min(1000);
            row(&format!("{name} {how}"), &incidents, scores)?;
        }
    }
    Ok(())
}

fn row(
    name: &str,
    incidents: &[(Bundle, Truth)],
    scores: PolicyScores,
) -> Result<(), Box<dyn Error>> {
    let mut cells = Vec::new();
    for profile in Profile::ALL {
        let mut sum = 0.0;
        for incident in incidents {
            sum += f1(incident, profile, scores)?;
        }
        cells.push(format!("{:.3}", sum / incidents.len() as f64));
    }
    println!("| {name} | {} |", cells.join(" | "));
    Ok(())
}

fn f1(
    (bundle, truth): &(Bundle, Truth),
    profile: Profile,
    scores: PolicyScores,
) -> Result<f64, Box<dyn Error>> {
    let source = Opened::new("", OfBundle::new(bundle.clone()));
    let start = Start::of(&source, Config::default(), None)?;
    let roles =
        SearchResponder::new(&source, EvidencePolicy::default()).with_roles(PolicyRoles { scores });
    let mut search = SearchController::open(profile.config(), start.by_rule);
    drive(&mut search, &roles)?;
    let diagnosis = search.diagnosis();
    let named: std::collections::BTreeSet<&EntityId> =
        diagnosis.causes().flat_map(|group| &group.origins).collect();
    let right = named.iter().filter(|entity| truth.causes.contains(**entity)).count() as f64;
    let all = (named.len() + truth.causes.len()) as f64;
    Ok(if all == 0.0 { 1.0 } else { 2.0 * right / all })
}
