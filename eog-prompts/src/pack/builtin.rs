//! The shipped templates, and the wording for the shipped domains.

/// Name and text of a template or partial.
type Named = (&'static str, &'static str);

macro_rules! templates {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../", $folder, "/", $name, ".hbs")))),*]
    };
}

/// Templates of all phases, and partials that are independent of the domain.
pub(super) const TEMPLATES: &[Named] = templates!(
    "templates":
    "alert_lines",
    "bootstrap.system",
    "bootstrap.user",
    "came_answer",
    "classify_evidence.system",
    "classify_evidence.user",
    "correction",
    "data_rules",
    "explore.system",
    "explore.user",
    "filter_events.system",
    "filter_events.user",
    "filter_spec_changes.system",
    "filter_spec_changes.user",
    "finding_line",
    "found_line",
    "finalize.system",
    "finalize.user",
    "incident",
    "item_line",
    "lead_line",
    "look_line",
    "memory_line",
    "neighbour_line",
    "path_line",
    "search_act.system",
    "search_act.user",
    "search_candidates",
    "search_compact.system",
    "search_compact.user",
    "search_data",
    "search_decompose.system",
    "search_decompose.user",
    "search_evaluate.system",
    "search_evaluate.user",
    "search_facts",
    "search_goals",
    "search_hypothesize.system",
    "search_hypothesize.user",
    "search_investigate.came",
    "search_investigate.system",
    "search_investigate.user",
    "search_known",
    "search_looks",
    "search_path",
    "search_plan.system",
    "search_plan.user",
    "search_progress.system",
    "search_progress.user",
    "search_propose.system",
    "search_propose.user",
    "search_react.system",
    "search_react.user",
    "search_reflect.system",
    "search_reflect.user",
    "search_request",
    "search_steer.system",
    "search_steer.user",
    "search_step.system",
    "search_step.user",
    "search_step_lines",
    "search_tested",
    "search_tools",
    "search_weigh.system",
    "search_weigh.user",
    "select_investigation_window.system",
    "select_investigation_window.user",
    "tested_line",
);

/// The domains, the default first. Each has the same partials.
pub(super) const DOMAINS: [(&str, &[Named]); 2] = [
    (
        "sre",
        templates!(
            "packs/sre": "changes", "events", "naming", "noise", "role", "signals",
            "specialist_logs", "specialist_metrics", "specialist_traces",
        ),
    ),
    (
        "plant",
        templates!(
            "packs/plant": "changes", "events", "naming", "noise", "role", "signals",
            "specialist_logs", "specialist_metrics", "specialist_traces",
        ),
    ),
];
