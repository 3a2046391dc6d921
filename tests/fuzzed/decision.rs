//! What holds of an investigation whatever a program decides. The fuzz target includes this file.

use eog::{Budget, Config, Decision};
use eog_testkit::{MemoryContext, alert, assert_that, case, finding, policy_fn, run, topology};

/// Investigates with a policy that always decides the same.
///
/// # Panics
/// When the ledger is broken, or restoring it leads to something else.
pub(crate) fn check(bytes: &[u8]) {
    let Ok(decision) = serde_json::from_slice::<Decision>(bytes) else { return };
    let case = case(topology("web calls db"), [alert("web", "HttpErrors", "10:05")]);
    let contract = MemoryContext::default()
        .with(finding("web").measured(900.0, 20.0, "ms").during("10:05", "10:30"))
        .with(finding("db").change("pool.size", "50", "5").at("10:04"));
    let policy = policy_fn(move |_| decision.clone());
    let budget = Budget { model_calls: Some(12), ..Budget::default() };
    let run = run(Config { budget, ..Config::default() }, case, &contract, &policy);
    assert_that(&run).is_intact();
}
