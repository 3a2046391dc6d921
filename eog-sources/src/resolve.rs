//! Brings together what several sources call differently, and what several of them reported.

use std::collections::{BTreeMap, BTreeSet};

use crate::piece::{Alert, Piece, Who};

/// Gives services without a namespace the one in which their name is known, if there is just one, and
/// makes one alert of what Prometheus and Alertmanager say of it.
pub(crate) fn names(all: &mut Piece) {
    let known = spaces(all);
    each(all, &mut |who| {
        if let Who::Service { namespace, name } = who
            && namespace.is_empty()
            && let Some(spaces) = known.get(name.as_str())
            && let (1, Some(only)) = (spaces.len(), spaces.first())
        {
            only.clone_into(namespace);
        }
    });
    let mut alerts: Vec<Alert> = Vec::new();
    for alert in std::mem::take(&mut all.alerts) {
        match alerts.iter_mut().find(|known| is_same(known, &alert)) {
            Some(known) => join(known, alert),
            None => alerts.push(alert),
        }
    }
    all.alerts = alerts;
    let mut links = std::mem::take(&mut all.links);
    let key = |link: &crate::piece::Link| {
        (link.source.clone(), link.target.clone(), link.relation.clone())
    };
    links.sort_by_cached_key(key);
    links.dedup_by_key(|link| key(link));
    all.links = links;
}

fn spaces(all: &mut Piece) -> BTreeMap<String, BTreeSet<String>> {
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    each(all, &mut |who| {
        if let Who::Service { namespace, name } = who
            && !namespace.is_empty()
        {
            known.entry(name.clone()).or_default().insert(namespace.clone());
        }
    });
    known
}

fn each(all: &mut Piece, then: &mut impl FnMut(&mut Who)) {
    for series in &mut all.series {
        then(&mut series.who);
        if let Some((who, _)) = &mut series.peer {
            then(who);
        }
    }
    all.alerts.iter_mut().filter_map(|alert| alert.who.as_mut()).for_each(&mut *then);
    all.changes.iter_mut().map(|change| &mut change.who).for_each(&mut *then);
    all.events.iter_mut().map(|event| &mut event.who).for_each(&mut *then);
    all.states.iter_mut().map(|seen| &mut seen.who).for_each(&mut *then);
    for link in &mut all.links {
        then(&mut link.source);
        then(&mut link.target);
    }
    all.spans.iter_mut().map(|span| &mut span.who).for_each(&mut *then);
    all.lines.iter_mut().map(|line| &mut line.who).for_each(&mut *then);
}

/// Whether one was sent on by the other: Prometheus adds labels of its own on the way.
fn is_same(known: &Alert, other: &Alert) -> bool {
    let within = |few: &Alert, many: &Alert| {
        few.labels.iter().all(|(name, value)| many.labels.get(name) == Some(value))
    };
    known.name == other.name && (within(known, other) || within(other, known))
}

/// Prometheus knows since when an alert is so and what it did before; Alertmanager what it says.
fn join(known: &mut Alert, other: Alert) {
    if known.description.is_empty() {
        known.description = other.description;
    }
    if known.who.is_none() {
        known.who = other.who;
    }
    known.said.extend(other.said);
    for (name, value) in other.labels {
        known.labels.entry(name).or_insert(value);
    }
    for run in other.runs {
        // It is sent some time after it became active.
        let is_known =
            |one: &&mut crate::piece::Run| one.active_at <= run.last && run.first <= one.last;
        match known.runs.iter_mut().find(is_known) {
            Some(one) => {
                one.active_at = one.active_at.min(run.active_at);
                one.last = one.last.max(run.last);
            }
            None => known.runs.push(run),
        }
    }
    known.runs.sort_unstable();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::piece::{Change, Run};
    use eog_core::evidence::Signal;

    #[test]
    fn one_alert_is_made_of_what_two_say_of_it() {
        let alert = |labels: &[(&str, &str)], active_at, text: &str| Alert {
            name: "A".to_owned(),
            labels: labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            who: None,
            description: text.to_owned(),
            said: Vec::new(),
            place: crate::piece::Place::default(),
            runs: vec![Run { active_at, first: 60, last: 90 }],
        };
        let mut all = Piece {
            alerts: vec![
                alert(&[("job", "a")], 10, ""),
                alert(&[("job", "a"), ("replica", "1")], 50, "too slow"),
                alert(&[("job", "b")], 10, ""),
            ],
            ..Piece::default()
        };
        names(&mut all);
        let alerts: Vec<_> =
            all.alerts.iter().map(|a| (a.description.as_str(), a.runs.len())).collect();
        assert_eq!(alerts, [("too slow", 1), ("", 1)]);
        assert_eq!(all.alerts[0].runs[0].active_at, 10);
    }

    #[test]
    fn a_service_gets_the_only_namespace_that_has_it() {
        let change = |namespace: &str, name: &str| Change {
            at: 0,
            who: Who::Service { namespace: namespace.into(), name: name.into() },
            signal: Signal::Configuration,
            path: "p".into(),
            old: None,
            new: None,
            description: String::new(),
        };
        let changes = vec![
            change("", "a"),
            change("n", "a"),
            change("", "b"),
            change("n", "b"),
            change("m", "b"),
        ];
        let mut all = Piece { changes, ..Piece::default() };
        names(&mut all);
        let spaces: Vec<_> = all
            .changes
            .iter()
            .map(|change| match &change.who {
                Who::Service { namespace, .. } => namespace.as_str(),
                _ => "",
            })
            .collect();
        assert_eq!(spaces, ["n", "n", "", "n", "m"]);
    }
}
