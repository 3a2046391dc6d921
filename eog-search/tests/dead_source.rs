//! A dead source is reported as such by every profile: in the stop reason and in the conclusion.

use eog_core::contract::Failure;
use eog_core::ledger::restore;
use eog_core::machine::drive;
use eog_core::{Machine, StopReason};
use eog_search::{SearchConfig, SearchController, SearchResponder};
use eog_testkit::{MemoryContext, alert, case, finding, healthy, policy_fn, topology};

#[test]
fn every_profile_tells_a_source_that_gives_nothing() {
    let profiles = [
        ("lats", SearchConfig::lats()),
        ("bfs", SearchConfig::bfs()),
        ("beam", SearchConfig::beam()),
        ("hypotheses", SearchConfig::hypotheses()),
        ("treeseeker", SearchConfig::treeseeker()),
        ("react", SearchConfig::react()),
    ];
    for (profile, config) in profiles {
        for is_dead in [true, false] {
            let alerts = ["a", "b"].map(|name| alert(name, "HttpErrors", "10:05"));
            let case = case(topology("a calls b"), alerts);
            let mut contract = MemoryContext::default().with_all(["a", "b"].map(finding));
            if is_dead {
                let refused = || Failure::context("refused");
                contract = contract.fail("a", refused()).fail("b", refused());
            }
            let mut search = SearchController::open(config.clone(), case);
            let world = SearchResponder::new(contract, policy_fn(healthy));
            let stop = drive(&mut search, &world).expect("it is ready");
            let conclusion = search.diagnosis().conclusion;
            let reported = matches!(stop, StopReason::SourceUnreachable { .. });
            assert_eq!(reported, is_dead, "{profile}: {stop:?}");
            assert_eq!(conclusion.unreachable.is_some(), is_dead, "{profile}: {conclusion}");
            assert_eq!(
                conclusion.to_string().contains("out of reach"),
                is_dead,
                "{profile}: {conclusion}"
            );
            let again: SearchController = restore(search.ledger()).expect("it follows");
            assert_eq!(again.ledger().head(), search.ledger().head(), "{profile}");
        }
    }
}
