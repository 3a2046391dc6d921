//! What is missing of the telemetry, and clocks that disagree.

use eog::Timestamp;
use eog::evidence::Signal;
use eog_evidence::{BundleWriter, Series};
use eog_simulate::Stream;
use jiff::SignedDuration;

/// A kind of telemetry that an incident does without.
#[derive(Clone, Copy)]
enum Gap {
    Traces,
    Logs,
    MetricsOfSome,
    Traffic,
}

/// The shares of incidents that do without something; the rest have everything.
const GAPS: [(f64, Gap); 4] =
    [(0.1, Gap::Traces), (0.05, Gap::Logs), (0.05, Gap::MetricsOfSome), (0.05, Gap::Traffic)];

/// The share of parts whose metrics are missing where those of some are.
const UNMEASURED: f64 = 0.3;

/// The share of incidents in which the clock of logs or traces is 2 to 5 minutes behind.
const SKEWED: f64 = 0.08;

/// Takes out what is missing, and turns back clocks.
pub(super) fn apply(bundle: &mut BundleWriter, draw: &mut Stream) {
    match draw.kind(&GAPS) {
        None => {}
        Some(Gap::Traces) => bundle.spans.clear(),
        Some(Gap::Logs) => bundle.logs.clear(),
        Some(Gap::Traffic) => bundle.metrics.retain(|series| series.signal != Signal::Traffic),
        Some(Gap::MetricsOfSome) => unmeasure(bundle, draw),
    }
    if draw.chance(SKEWED) {
        let seconds = i64::try_from(draw.between(120, 300)).unwrap_or(120);
        let behind = SignedDuration::from_secs(seconds);
        let turn = |time: &mut Timestamp| *time = time.checked_sub(behind).unwrap_or(*time);
        if draw.chance(0.5) {
            bundle.logs.iter_mut().for_each(|(_, line)| turn(&mut line.time));
        } else {
            bundle.spans.iter_mut().for_each(|span| turn(&mut span.time));
        }
    }
}

/// Parts with alerts are measured: those follow from what was.
fn unmeasure(bundle: &mut BundleWriter, draw: &mut Stream) {
    let entities = bundle.manifest.topology.entities.clone();
    let alerting = |name| bundle.alerts.iter().any(|alert| &alert.entity == name);
    let gone: Vec<_> =
        entities.iter().filter(|name| draw.chance(UNMEASURED) && !alerting(*name)).collect();
    bundle.metrics.retain(|series: &Series| !gone.contains(&&series.entity));
}
