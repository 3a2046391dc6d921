//! Alerts and when they were active, from the series that Prometheus keeps of them.

use std::collections::BTreeMap;

use super::answer::Raw;
use super::{Asking, Prometheus};
use crate::error::AskError;
use crate::piece::{Alert, Millis, Piece, Place, Run};

/// What holds since when the condition of an alert is so, as its value.
const SINCE: &str = "ALERTS_FOR_STATE";

pub(super) async fn ask(source: &Prometheus<'_>, asking: &Asking) -> Result<Piece, AskError> {
    let query = format!("ALERTS{{alertstate=\"firing\"{}}}", asking.matchers);
    let (mut piece, firing) = source.range(&query, asking).await?;
    let query = format!("{SINCE}{{{}}}", asking.matchers.trim_start_matches(','));
    // Without it, an alert begins when it was seen first.
    let since = match source.range(&query, asking).await {
        Ok((more, series)) => {
            piece.join(more);
            series
        }
        Err(error) => {
            piece.missing.push(format!("since when alerts are so ({SINCE}): {error}"));
            Vec::new()
        }
    };
    let since: BTreeMap<_, _> = since.into_iter().map(|raw| (labels(&raw), raw.points)).collect();
    for raw in firing {
        let labels = labels(&raw);
        let name = raw.label("alertname").to_owned();
        if name.is_empty() {
            continue;
        }
        let since = since.get(&labels).map(Vec::as_slice).unwrap_or_default();
        piece.alerts.push(Alert {
            who: asking.inventory.host(&raw),
            name,
            labels,
            description: String::new(),
            said: Vec::new(),
            place: Place::default(),
            runs: runs(&raw.points, since, asking.step),
        });
    }
    Ok(piece)
}

fn labels(raw: &Raw) -> BTreeMap<String, String> {
    let mut labels = raw.labels.clone();
    labels.retain(|name, _| name != "__name__" && name != "alertstate");
    labels
}

/// The times that an alert was firing: sightings no further apart than what one missed scrape leaves.
fn runs(points: &[(Millis, f64)], since: &[(Millis, f64)], step: Millis) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (at, _) in points {
        match runs.last_mut().filter(|run| at - run.last <= 2 * step) {
            Some(run) => run.last = *at,
            None => runs.push(Run { active_at: began(*at, since), first: *at, last: *at }),
        }
    }
    runs
}

fn began(at: Millis, since: &[(Millis, f64)]) -> Millis {
    let known = since.iter().find(|(seen, _)| *seen == at);
    let known = known.map(|(_, seconds)| (seconds * 1000.0) as Millis);
    known.filter(|began| *began > 0 && *began <= at).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_that_came_again_has_two_runs() {
        let at = |times: &[Millis]| times.iter().map(|at| (*at, 1.0)).collect::<Vec<_>>();
        let points = at(&[60_000, 75_000, 105_000, 300_000]);
        let since = [(60_000, 40.5), (300_000, 290.0)];
        let expected = [
            Run { active_at: 40_500, first: 60_000, last: 105_000 },
            Run { active_at: 290_000, first: 300_000, last: 300_000 },
        ];
        assert_eq!(runs(&points, &since, 15_000), expected);
        assert_eq!(
            runs(&points, &[(60_000, 99.0)], 15_000)[0].active_at,
            60_000,
            "not in the future"
        );
    }
}
