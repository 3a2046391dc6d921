//! What metrics say about changes: versions, starts of processes, reloads of configurations.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::evidence::Signal;

use super::answer::Raw;
use super::{Asking, Prometheus};
use crate::error::AskError;
use crate::period::shown;
use crate::piece::{Change, Happened, Millis, Piece, Who};

/// Labels that say what was built, best first.
const VERSIONS: [&str; 6] = ["version", "revision", "commit", "git_commit", "tag", "branch"];

/// Processes that started.
pub(super) async fn starts(source: &Prometheus<'_>, asking: &Asking) -> Result<Piece, AskError> {
    let (mut piece, series) = values(source, "process_start_time_seconds", asking).await?;
    for raw in &series {
        let Some(who) = asking.inventory.whose(&source.naming, raw) else { continue };
        for at in newer(raw).into_iter().filter(|at| asking.period.contains(*at)) {
            piece.events.push(Happened {
                at,
                who: who.clone(),
                reason: "ProcessStarted".to_owned(),
                signal: Signal::Availability,
                message: format!("instance {} was started anew", raw.label("instance")),
            });
        }
    }
    Ok(piece)
}

/// Configurations that were loaded.
pub(super) async fn reloads(
    source: &Prometheus<'_>,
    metric: &str,
    asking: &Asking,
) -> Result<Piece, AskError> {
    let (mut piece, series) = values(source, metric, asking).await?;
    for raw in &series {
        let Some(who) = asking.inventory.whose(&source.naming, raw) else { continue };
        for at in newer(raw).into_iter().filter(|at| asking.period.contains(*at)) {
            piece.changes.push(Change {
                at,
                who: who.clone(),
                signal: Signal::Configuration,
                path: "configuration".to_owned(),
                old: None,
                new: Some(format!("loaded {}", shown(at))),
                description: format!("a configuration was loaded, by {metric}"),
            });
        }
    }
    same_at_once(&mut piece.changes);
    Ok(piece)
}

/// Versions that were replaced by others.
pub(super) async fn build(
    source: &Prometheus<'_>,
    metric: &str,
    asking: &Asking,
) -> Result<Piece, AskError> {
    let by = format!("{}, instance, {}", source.naming.by_service(), VERSIONS.join(", "));
    let of_all = asking.matchers.trim_start_matches(',');
    let query = format!("max by ({by}) ({metric}{{{of_all}}})");
    let (mut piece, series) = source.range(&query, asking).await?;
    // Versions by entity, with when each was seen first and last.
    let mut seen: BTreeMap<Who, Vec<(Millis, Millis, String)>> = BTreeMap::new();
    for raw in &series {
        let Some(who) = asking.inventory.whose(&source.naming, raw) else { continue };
        let (Some(first), Some(last)) = (raw.points.first(), raw.points.last()) else { continue };
        let parts = VERSIONS.iter().map(|name| (name, raw.label(name)));
        let parts = parts.filter(|(_, value)| !value.is_empty());
        let parts: Vec<String> = parts.map(|(name, value)| format!("{name} {value}")).collect();
        if parts.is_empty() {
            continue;
        }
        seen.entry(who).or_default().push((first.0, last.0, parts.join(", ")));
    }
    for (who, mut versions) in seen {
        versions.sort();
        for pair in replaced(&versions) {
            let (at, old, new) = pair;
            piece.changes.push(Change {
                at,
                who: who.clone(),
                signal: Signal::Configuration,
                path: "version".to_owned(),
                old: Some(old),
                new: Some(new),
                description: format!("another version runs, by {metric}"),
            });
        }
    }
    Ok(piece)
}

/// Each version that came after others: when, what ran before, and what came.
fn replaced(versions: &[(Millis, Millis, String)]) -> Vec<(Millis, String, String)> {
    let mut known: BTreeSet<&str> = BTreeSet::new();
    let mut found = Vec::new();
    let Some((began, _, _)) = versions.first() else { return found };
    let mut current = "";
    for (first, _, version) in versions {
        if known.insert(version) && first > began {
            found.push((*first, current.to_owned(), version.clone()));
        }
        current = version;
    }
    found
}

/// A metric by instance.
async fn values(
    source: &Prometheus<'_>,
    metric: &str,
    asking: &Asking,
) -> Result<(Piece, Vec<Raw>), AskError> {
    let by = format!("{}, instance", source.naming.by_service());
    let of_all = asking.matchers.trim_start_matches(',');
    let query = format!("max by ({by}) ({metric}{{{of_all}}})");
    source.range(&query, asking).await
}

/// The values, as times, that came after another one.
fn newer(raw: &Raw) -> Vec<Millis> {
    let pairs = raw.points.windows(2);
    let pairs = pairs.filter_map(|pair| Some((pair.first()?.1, pair.get(1)?.1)));
    // Some libraries compute the time anew at each scrape, which moves it by parts of a second.
    let later = pairs.filter(|(old, new)| new - old > 2.0);
    let times = later.map(|(_, new)| (new * 1000.0) as Millis);
    times.collect()
}

/// Instances of one entity that changed within a minute made one change.
fn same_at_once(changes: &mut Vec<Change>) {
    changes.sort_by(|a, b| (&a.who, a.at).cmp(&(&b.who, b.at)));
    changes.dedup_by(|later, earlier| later.who == earlier.who && later.at - earlier.at < 60_000);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_came_later_replaced_the_one_before() {
        let version = |first, last, name: &str| (first, last, name.to_owned());
        let rolled = [
            version(0, 50, "version 1"),
            version(0, 60, "version 1"),
            version(40, 99, "version 2"),
        ];
        assert_eq!(replaced(&rolled), [(40, "version 1".to_owned(), "version 2".to_owned())]);
        assert_eq!(replaced(&[version(5, 9, "version 1")]), []);
    }

    #[test]
    fn times_that_waver_are_no_starts() {
        let points = vec![(0, 100.0), (1, 100.4), (2, 99.9), (3, 250.0)];
        assert_eq!(newer(&Raw { points, ..Raw::default() }), [250_000]);
    }
}
