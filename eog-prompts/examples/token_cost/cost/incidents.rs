//! The incidents: shipped examples, recordings, and generated ones.

use std::path::Path;
use std::sync::Arc;

use eog_core::{
    Anomaly, BoxFuture, Case, ContextContract, ContextRequest, EntityId, Failure, LocalContext,
    Timestamp,
};
use eog_evidence::{Bundle, BundleContext, open_case};
use eog_prompts::Pack;
use eog_sre::tools::Toolbox;
use eog_sre::{ReadOptions, Snapshot};
use eog_testkit::truth::{TruthGraph, TruthSpec};

use super::Failed;
use super::judge::Judge;

/// Where an incident comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Written for this repository, or drawn from a seed.
    Simulated,
    /// Recorded, whole or in part.
    Recorded,
}

/// An incident, and its policy.
pub(crate) struct Incident {
    pub(crate) name: String,
    pub(crate) origin: Origin,
    /// What an opening chooses from; nothing where the seeds are given.
    pub(crate) source: Option<eog_evidence::Incident>,
    pub(crate) case: Case,
    pub(crate) contract: Box<dyn ContextContract>,
    /// Answers questions about objects; only for recordings.
    pub(crate) toolbox: Option<Arc<Toolbox>>,
    /// Whether page 0 is everything; else pages are asked for until none is left.
    pub(crate) page_zero: bool,
    pub(crate) judge: Judge,
    pub(crate) pack: Pack,
}

impl Incident {
    /// The last time that any alert became active.
    pub(crate) fn last_onset(&self) -> Option<Timestamp> {
        self.case.anomalies.iter().flat_map(Anomaly::onsets).max()
    }

    /// Everything on the entity of a request: all pages.
    pub(crate) async fn whole(&self, request: &ContextRequest) -> Result<LocalContext, Failure> {
        let page = |page| ContextRequest { page, ..request.clone() };
        if self.page_zero {
            return self.contract.get_context(&page(0)).await;
        }
        let mut whole = self.contract.get_context(&page(1)).await?;
        for number in 2.. {
            let more = self.contract.get_context(&page(number)).await?;
            let known = whole.findings.len();
            add_new(&mut whole, more);
            if whole.findings.len() == known {
                break;
            }
        }
        whole.omitted.clear();
        Ok(whole)
    }
}

impl Incident {
    /// The object behind an entity as it was last seen, as JSON; nothing where none was recorded.
    pub(crate) fn spec(&self, entity: &EntityId) -> Option<String> {
        let toolbox = self.toolbox.as_ref()?;
        let answer = toolbox.call("get_k8_spec", serde_json::json!({ "entity": entity })).ok()?;
        serde_json::to_string_pretty(&answer).ok()
    }
}

/// The context contract of a recording.
struct Recording(Arc<Toolbox>);

impl ContextContract for Recording {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        self.0.context().get_context(request)
    }
}

/// Adds the findings that a context does not hold yet.
pub(crate) fn add_new(context: &mut LocalContext, more: LocalContext) {
    for finding in more.findings {
        if !context.findings.iter().any(|known| known.id() == finding.id()) {
            context.findings.push(finding);
        }
    }
}

/// The shipped flash sale, judged by the rules for evidence.
pub(crate) fn flash_sale() -> Result<Incident, Failed> {
    bundle("flash-sale", "sre", Judge::Evidence)
}

/// The shipped bottling line, judged by a table.
pub(crate) fn bottling_line() -> Result<Incident, Failed> {
    bundle("bottling-line", "plant", Judge::BottlingLine)
}

fn bundle(name: &str, pack: &str, judge: Judge) -> Result<Incident, Failed> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name);
    let bundle = Bundle::read(&folder)?;
    let source = bundle.incident();
    Ok(Incident {
        name: name.to_owned(),
        origin: Origin::Simulated,
        case: open_case(&source, None)?,
        source: Some(source),
        contract: Box::new(BundleContext::new(bundle)),
        toolbox: None,
        page_zero: false,
        judge,
        pack: Pack::named(pack)?,
    })
}

/// A snapshot, judged by the rules for evidence.
pub(crate) fn recorded(
    folder: &Path,
    architecture: Option<&Path>,
    origin: Origin,
) -> Result<Incident, Failed> {
    let architecture = architecture.map(Path::to_path_buf);
    let snapshot = Snapshot::open(folder, &ReadOptions { architecture, ..Default::default() })?;
    let graph = snapshot.graph();
    let source = snapshot.incident(&graph);
    let case = open_case(&source, None)?;
    let toolbox = Arc::new(Toolbox::new(Arc::new(snapshot)));
    let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
    Ok(Incident {
        name,
        origin,
        source: Some(source),
        case,
        contract: Box::new(Recording(Arc::clone(&toolbox))),
        toolbox: Some(toolbox),
        page_zero: true,
        judge: Judge::Evidence,
        pack: Pack::sre(),
    })
}

/// A generated incident of so many entities, judged by its truth table.
pub(crate) fn generated(entities: usize, seed: u64) -> Result<Incident, Failed> {
    let truth = TruthGraph::generate(&TruthSpec::drawn(entities, seed), seed)?;
    Ok(Incident {
        name: format!("generated {seed}"),
        origin: Origin::Simulated,
        source: None,
        case: truth.case(),
        contract: Box::new(truth),
        toolbox: None,
        page_zero: false,
        judge: Judge::Truth,
        pack: Pack::sre(),
    })
}
