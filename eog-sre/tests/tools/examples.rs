//! The examples of the tools, on a snapshot that has what they name.

use eog_sre::tools::tools;
use serde_json::json;

use crate::support::{Recording, workload};
use crate::{call, opened};

#[test]
fn every_example_is_answered() {
    let mut recording = Recording::new();
    recording.object("10:00:00", workload("Deployment", "cart", json!({"name": "c"}), json!([])));
    let row = |metric: &str, tags: &str| {
        format!("{metric}\t2026-01-01 10:00:00\t1\tcart-6d5f7c8b9-abcde\tshop\t{tags}\n")
    };
    let metrics = [
        "metric_name\ttimestamp\tvalue\tpod_name\tnamespace\ttags\n".to_owned(),
        row("container_memory_cache", "{}"),
        row("queue_size", "{}"),
        row("calls_total", "{'status_code': 'STATUS_CODE_ERROR'}"),
    ];
    recording.file("metrics/pod_cart-6d5f7c8b9-abcde_raw.tsv", metrics.concat());
    recording.log("10:00:00", "cart", "ERROR", "timeout");
    recording.trace("10:00:00", &["Server cart 5"]);
    let toolbox = opened(&recording);
    let mut answered = 0;
    for name in ["get_trace_error_tree", "get_metric_anomalies", "metric_analysis", "log_analysis"]
    {
        let tool = tools().iter().find(|tool| tool.name == name).unwrap();
        for example in tool.examples {
            call(&toolbox, name, serde_json::from_str(example).unwrap());
            answered += 1;
        }
    }
    assert_eq!(answered, 10);
}
