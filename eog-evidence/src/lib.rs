//! Domain-neutral evidence for eog: what any domain needs between raw telemetry and the controller.
//!
//! - [`Incident`] and [`open_case`]: from alerts, changes and a topology to the start of an
//!   investigation (window, seeds), without a model.
//! - [`effect_path`], [`demand_path`] and [`EffectMap`]: which change can have caused which
//!   anomaly, by the way effects travel.
//! - Statistics: [`shift_finding`] and its kin turn series, events, logs and spans into findings.
//! - [`Bundle`], [`BundleWriter`], [`BundleContext`]: a directory of JSON and CSV files as the
//!   source of an investigation. The format is described in `docs/bundle.md`.
//! - [`EvidencePolicy`]: judges one packet by a fitted sum of weights of evidence, `docs/evidence-policy.md`.

mod alarms;
mod alerts;
mod attribution;
mod bundle;
mod case_file;
mod change_words;
mod chart;
mod effect_map;
mod events;
mod folder;
mod harm;
mod held;
mod incident;
mod intervals;
mod likeness;
mod line_orders;
mod line_rates;
mod log_joins;
mod logs;
mod mask;
mod measured;
mod names;
mod near;
mod note;
mod onsets;
mod order;
mod paths;
mod patterns;
mod policy;
mod record;
mod recorded;
mod seeds;
mod self_time;
mod series;
mod shift;
mod signs;
mod spans;
mod spread;
mod start;
mod states;
mod stats;
mod steps;
mod template;
mod text;
mod ways;
#[cfg(test)]
mod worlds;

pub use alerts::alert_findings;
pub use attribution::{Accounts, FoundSoFar, Measurements, Sources};
pub use bundle::{
    BUNDLE_FORMAT, BUNDLE_VERSION, Bundle, BundleContext, BundleError, BundleSource,
    BundleWriteError, BundleWriter, ChangeRecord, FINDINGS_PER_PAGE, MAX_BORROWED, MAX_CSV_BYTES,
    MAX_FAILURES, MAX_FIELD_BYTES, MAX_JSON_BYTES, MAX_LISTED, MAX_ROWS, Manifest, ManifestEdge,
    ManifestTopology, NO_PLACE_TO_START, SiblingName, bundle_schemas,
};
pub use case_file::{case_file, entities_of_case_file};
pub use change_words::TroubleWords;
pub use chart::{Band, Chart, MAX_CHART_POINTS};
pub use effect_map::{EffectMap, Notes, harm_of_alert};
pub use events::{EventRecord, event_findings};
pub use folder::{
    Entry, FilePlace, FolderHandle, is_absolute_inside, is_ground_truth, is_irregular,
    leads_outside,
};
pub use harm::upstream_of;
pub use incident::Incident;
pub use intervals::Intervals;
pub use likeness::{MIN_LIKENESS, Observations, Rarity};
pub use line_orders::{Reordered, reordered};
pub use line_rates::{ComparedTimes, LineRate, RateChange, have_common_volume, line_rates};
pub use log_joins::{Depths, RequestError, joined_errors, request_id};
pub use logs::{LinesRecorded, LogLine, LogPattern, LogPatterns, MAX_LOG_PATTERNS};
pub use mask::{MASK, is_secret_field, mask_named, mask_text, masked, masked_json, masked_value};
pub use measured::{JudgedSeries, series_findings};
pub use near::{near_entities, near_names};
pub use onsets::{counted_share_onset, level_onset, rate_onset, share_onset};
pub use order::strongest_first;
pub use paths::{DEMAND_RELATIONS, MAX_PATH_HOPS, demand_path, effect_path};
pub use patterns::{MAX_TEMPLATES, Miner, Patterns};
pub use policy::{
    BoundByVerdicts, ClosedCases, EvidencePolicy, OrEvidence, Precedent, Weights, WeightsError,
    stands_out,
};
pub use recorded::{holes, recorded_seconds};
pub use self_time::{SpanPlace, TracedSpan};
pub use series::{MIN_BASELINE, Periods, Series};
pub use shift::{Shift, find_shift, full_finding, shift_finding, shift_of, steady_finding};
pub use spans::{SPAN_BUCKET_SECONDS, SpanIds, SpanRecord, span_series};
pub use start::{StartError, open_case};
pub use states::{ObjectState, StateHistory, StateRecord};
pub use stats::{rates_differ, shares_differ};
pub use template::{HOLE, template};
pub use text::{bytes_in_words, rounded, shorten, shorten_change, shorten_line, words};

/// The source of what masks texts. A cache of masked texts is stale when it changes.
#[doc(hidden)]
pub const TEXT_SOURCES: [&str; 6] = [
    include_str!("mask.rs"),
    include_str!("template.rs"),
    include_str!("template/values.rs"),
    include_str!("patterns.rs"),
    include_str!("patterns/tokens.rs"),
    include_str!("patterns/partition.rs"),
];
