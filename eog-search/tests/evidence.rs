//! All controllers have the same evidence: whatever one of them asks of an entity, in one
//! evaluation or in several, it is given the same findings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

use eog_core::contract::Failure;
use eog_core::machine::drive;
use eog_core::{
    BoxFuture, Budget, Case, Config, ContextContract, ContextRequest, Controller, EntityId,
    EvidenceId, Linear, LinearConfig, LocalContext, Machine,
};
use eog_evidence::{Bundle, BundleContext, EvidencePolicy, open_case};
use eog_search::{SearchConfig, SearchController};

type Seen = BTreeMap<EntityId, BTreeSet<EvidenceId>>;

/// A bundle that notes what it gave of each entity.
#[derive(Clone)]
struct Noting {
    bundle: BundleContext,
    given: Arc<Mutex<Seen>>,
}

impl ContextContract for Noting {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        let context = self.bundle.local_context(request);
        let ids = context.findings.iter().map(|finding| finding.id().clone());
        let mut given = self.given.lock().expect("no holder panicked");
        given.entry(request.entity.clone()).or_default().extend(ids);
        Box::pin(async { Ok(context) })
    }
}

/// What a controller was given, by entity.
fn given<M: Machine>(settings: M::Settings, case: &Case, bundle: &BundleContext) -> Seen {
    let contract = Noting { bundle: bundle.clone(), given: Arc::default() };
    let mut machine = M::open(settings, case.clone());
    let world = M::by_policy(contract.clone(), EvidencePolicy::default());
    drive(&mut machine, &world).expect("a bundle answers at once");
    contract.given.lock().expect("no holder panicked").clone()
}

/// A search that ends before it has a score has evaluated all the same: its best guess is one of those.
#[test]
fn what_was_evaluated_is_ranked_although_no_way_was_chosen() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale");
    let bundle = Bundle::read(&folder).expect("it is shipped");
    let case = open_case(&bundle.incident(), None).expect("it has alerts");
    for config in [SearchConfig::lats(), SearchConfig::treeseeker(), SearchConfig::hypotheses()] {
        let profile = config.profile();
        let mut search = SearchController::open(config.with_budget(Budget::hops(1)), case.clone());
        let world = SearchController::by_policy(
            BundleContext::new(bundle.clone()),
            EvidencePolicy::default(),
        );
        drive(&mut search, &world).expect("a bundle answers at once");
        let diagnosis = search.diagnosis();
        assert_eq!(diagnosis.spent.hops, 1, "{profile:?}");
        assert!(!diagnosis.choice().is_empty(), "{profile:?}: {:?}", diagnosis.ranking);
    }
}

#[test]
fn every_controller_is_given_the_same_evidence() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale");
    let bundle = Bundle::read(&folder).expect("it is shipped");
    let case = open_case(&bundle.incident(), None).expect("it has alerts");
    let bundle = BundleContext::new(bundle);
    // All there is of an entity, by any number of visits.
    let all = |entity: &EntityId| -> BTreeSet<EvidenceId> {
        let around: Vec<_> = case.topology.entities().cloned().collect();
        let request = |visit| ContextRequest {
            entity: entity.clone(),
            window: case.window,
            page: 1,
            visit,
            changed_neighbours: around.iter().cloned().collect(),
            query: None,
        };
        let contexts = (1..4).map(|visit| bundle.local_context(&request(visit)));
        let findings = contexts.flat_map(|context| context.findings);
        findings.map(|finding| finding.id().clone()).collect()
    };
    let silent = Config { broadcast: false, ..Config::default() };
    let once = LinearConfig { commits: false, ..LinearConfig::default() };
    let search = |config| given::<SearchController>(config, &case, &bundle);
    let controllers = [
        ("eog", given::<Controller>(Config::default(), &case, &bundle)),
        ("eog, without messages", given::<Controller>(silent, &case, &bundle)),
        ("linear", given::<Linear>(once, &case, &bundle)),
        ("lats", search(SearchConfig::lats())),
        ("bfs", search(SearchConfig::bfs())),
        ("beam", search(SearchConfig::beam())),
        ("hypotheses", search(SearchConfig::hypotheses())),
        ("treeseeker", search(SearchConfig::treeseeker())),
        ("react", search(SearchConfig::react())),
    ];
    for (controller, seen) in &controllers {
        assert!(seen.len() >= 2, "{controller}: {seen:?}");
        for (entity, findings) in seen {
            assert_eq!(*findings, all(entity), "{controller}: {entity}");
        }
    }
    // A first visit alone shows less, so this test can fail.
    let first = |entity: &EntityId| {
        let (entity, window) = (entity.clone(), case.window);
        let changed_neighbours = BTreeSet::new();
        let request =
            ContextRequest { entity, window, page: 1, visit: 1, changed_neighbours, query: None };
        bundle.local_context(&request).findings.len()
    };
    assert!(controllers[0].1.keys().any(|entity| first(entity) < all(entity).len()));
}
