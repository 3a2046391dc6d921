//! Investigations to tell, and models that tell them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eog::{Config, Label};
use eog_evidence::{Bundle, BundleContext, EvidencePolicy, open_case};
use eog_prompts::phases::{
    FinalizeAnswer, FinalizeInput, ToldAlert, ToldAnswer, ToldEntity, ToldMoment, ToldPropagation,
    ToldTime,
};
use eog_prompts::{Finalized, Finalizer, Material, MockModel, Narrative, Pack, Prompter, Reply};
use eog_sre::{ReadOptions, Snapshot, SnapshotContext};
use eog_testkit::{
    MemoryContext, alert, case, claim, finding, origin, policy_fn, run, symptom_of, topology,
};

/// The shipped example: a sale on the frontend overloads a database.
pub(crate) fn flash_sale() -> Material {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale");
    let bundle = Bundle::read(&folder).unwrap();
    let case = open_case(&bundle.incident(), None).unwrap();
    let contract = BundleContext::new(bundle);
    let finished = run(Config::default(), case, &contract, &EvidencePolicy::default());
    Material::of(&finished.machine)
}

/// The partial recording that lies beside the checkout, or nothing with a message.
pub(crate) fn recording() -> Option<Material> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/itbench");
    let (folder, architecture): (PathBuf, PathBuf) =
        (data.join("scenario-2-partial"), data.join("architecture.json"));
    if !folder.is_dir() || !architecture.is_file() {
        eprintln!("skipped: no recording at {}", data.display());
        return None;
    }
    let options = ReadOptions { architecture: Some(architecture), ..ReadOptions::default() };
    let snapshot = Snapshot::open(&folder, &options).unwrap();
    let graph = snapshot.graph();
    let case = open_case(&snapshot.incident(&graph), None).unwrap();
    let contract = SnapshotContext::new(snapshot, graph);
    let finished = run(Config::default(), case, &contract, &EvidencePolicy::default());
    Some(Material::of(&finished.machine))
}

/// A frontend fails, its database was changed, and nobody calls that an origin. An idle cache was
/// changed, too.
pub(crate) fn undiagnosed() -> Material {
    let case = case(topology("web calls db; web calls cache"), [alert("web", "Errors", "10:05")]);
    let contract = MemoryContext::default()
        .with(finding("web").at("10:05").excerpt("5 % of requests fail"))
        .with(finding("db").change("pool.size", "50", "5").at("10:04"))
        .with(finding("cache").change("ttl", "60", "30").at("10:20"));
    let policy = policy_fn(|packet| match packet.entity.as_str() {
        "web" => symptom_of(packet, "db"),
        _ => {
            let cited = packet.context.findings.iter();
            eog::Decision::new(Label::Defer, "changed, but it is not understood").citing(cited)
        }
    });
    let finished = run(Config::default(), case, &contract, &policy);
    let material = Material::of(&finished.machine);
    assert!(!material.is_diagnosed());
    material
}

/// A database that calls itself an origin without having seen a change.
pub(crate) fn unexplained_origin(evidence: &[eog_testkit::FindingBuilder]) -> Material {
    let case = case(topology("web calls db"), [alert("web", "Errors", "10:05")]);
    let web = finding("web").at("10:05").excerpt("5 % of requests fail");
    let contract = MemoryContext::default().with(web).with_all(evidence.to_vec());
    let policy = policy_fn(|packet| match packet.entity.as_str() {
        "web" => symptom_of(packet, "db"),
        _ => origin(packet).claiming(claim("db", "web", &packet.context.findings)),
    });
    Material::of(&run(Config::default(), case, &contract, &policy).machine)
}

/// What a model that has read the flash sale says.
pub(crate) fn honest(input: &FinalizeInput) -> FinalizeAnswer {
    let sale = number(input, "campaigns.spring-sale.active");
    let out_of_memory = number(input, "OutOfMemory");
    let answer = |answer: &str, evidence: &[u32]| ToldAnswer {
        answer: answer.to_owned(),
        evidence: evidence.to_vec(),
    };
    let symptom = |name: &str, reasoning: &str, evidence: Vec<u32>| ToldEntity {
        name: name.to_owned(),
        reasoning: reasoning.to_owned(),
        evidence,
        ..ToldEntity::default()
    };
    FinalizeAnswer {
        summary: "The spring sale went live at 12:00; its traffic exhausted the database, and \
                  checkouts failed."
            .to_owned(),
        timeline: vec![
            ToldMoment { evidence: sale, what: "the spring sale goes live".to_owned() },
            ToldMoment { evidence: out_of_memory, what: "the database is killed".to_owned() },
        ],
        entities: vec![
            symptom("database", "It ran out of memory under load.", vec![out_of_memory]),
            ToldEntity {
                name: "frontend".to_owned(),
                contributing_factor: true,
                what_changed: answer("the spring sale was switched on", &[sale]),
                when: ToldTime { time: "2026-03-20 12:00:00Z".to_owned(), evidence: vec![sale] },
                how_it_explains: answer(
                    "its traffic went through gateway and processor to the database",
                    &[sale, out_of_memory],
                ),
                reasoning: "The sale came first, and nothing else changed.".to_owned(),
                evidence: vec![sale],
                differs_because: String::new(),
            },
            symptom("gateway", "It passed on what it got.", vec![]),
            symptom("processor", "It waited for the database.", vec![]),
        ],
        propagations: vec![ToldPropagation {
            source: "frontend".to_owned(),
            target: "gateway".to_owned(),
            condition: "a fifth more requests".to_owned(),
            effect: "failed checkouts".to_owned(),
        }],
        alerts: vec![ToldAlert {
            alert: 1,
            explanation: "checkouts failed under the traffic of the sale".to_owned(),
            explained: true,
        }],
    }
}

/// The number of the first finding whose text has these words.
pub(crate) fn number(input: &FinalizeInput, words: &str) -> u32 {
    let line = input.evidence.iter().find(|line| line.text.contains(words));
    let line = line.unwrap_or_else(|| panic!("no evidence says {words}: {:#?}", input.evidence));
    u32::try_from(line.number).unwrap()
}

/// What a model is shown of an investigation.
pub(crate) fn shown(material: &Material) -> FinalizeInput {
    FinalizeInput::of(material, 200)
}

/// What the models tell.
pub(crate) fn ask(material: &Material, models: Vec<MockModel>) -> Finalized {
    let models = models.into_iter().map(|model| Arc::new(model) as _).collect();
    let finalizer = Finalizer::new(Prompter::new(Arc::new(Pack::sre()), models));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(finalizer.finalize(material))
}

/// What a model's answer becomes.
pub(crate) fn told(material: &Material, answer: &FinalizeAnswer) -> Narrative {
    let model = MockModel::new("mock/teller").then(Reply::json(answer).unwrap());
    ask(material, vec![model]).narrative
}

/// The flash sale, told by a model whose honest answer was changed.
pub(crate) fn sale_told(change: impl Fn(&FinalizeInput, &mut FinalizeAnswer)) -> Narrative {
    let material = flash_sale();
    let input = shown(&material);
    let mut answer = honest(&input);
    change(&input, &mut answer);
    told(&material, &answer)
}

/// The names of the contributing factors.
pub(crate) fn factors(narrative: &Narrative) -> Vec<&str> {
    let factors = narrative.entities.iter().filter(|entity| entity.contributing_factor);
    factors.map(|entity| entity.name.as_str()).collect()
}

/// One entity of a narrative.
pub(crate) fn entity<'n>(narrative: &'n Narrative, name: &str) -> &'n eog_prompts::NarratedEntity {
    narrative.entities.iter().find(|entity| entity.name.as_str() == name).unwrap()
}

/// Why something with these words was refused.
pub(crate) fn reason<'n>(narrative: &'n Narrative, words: &str) -> &'n str {
    let refused = narrative.refused.iter().find(|refused| refused.what.contains(words));
    let refused = refused.unwrap_or_else(|| panic!("{words}: {:#?}", narrative.refused));
    &refused.reason
}
