//! Topologies, alerts and cases of a test.

use eog::evidence::Signal;
use eog::incident::EffectDirection;
use eog::{Anomaly, Case, Topology};

use crate::names::{at, entity, hour};

/// A topology from short text: statements separated by `;` or line ends.
///
/// | statement | meaning |
/// |---|---|
/// | `S1 calls S2` | an edge; effects travel from `S2` to `S1` |
/// | `S1 feeds S2 ->` | effects travel from `S1` to `S2` |
/// | `S1 shares S2 <->` | effects travel both ways |
/// | `S3` | an entity without edges |
///
/// The relation may be any one word. Names here hold no white space and no `;`; for others, use
/// [`Topology`] itself.
///
/// # Panics
/// When a statement is none of these.
///
/// ```
/// use eog_testkit::{entity, topology};
/// let topology = topology("S1 calls S2; S3 calls S4; S5");
/// assert_eq!(topology.entities().len(), 5);
/// assert_eq!(topology.neighbours(&entity("S1"))[0].entity, entity("S2"));
/// ```
#[track_caller]
pub fn topology(text: &str) -> Topology {
    let mut topology = Topology::default();
    for statement in text.split([';', '\n']) {
        let words: Vec<&str> = statement.split_whitespace().collect();
        let effects = match words.get(3) {
            None => Some(EffectDirection::TargetToSource),
            Some(&"<-") => Some(EffectDirection::TargetToSource),
            Some(&"->") => Some(EffectDirection::SourceToTarget),
            Some(&"<->") => Some(EffectDirection::Both),
            Some(_) => None,
        };
        match (words.as_slice(), effects) {
            ([], _) => {}
            ([name], _) => topology.add_entity(entity(name)),
            ([source, relation, target] | [source, relation, target, _], Some(effects)) => {
                topology.connect(&entity(source), relation, &entity(target), effects);
            }
            _ => panic!(
                "{:?} is not a topology statement; write \"S1 calls S2\", \"S1 feeds S2 ->\", \
                 \"S1 shares S2 <->\" or \"S3\"",
                statement.trim()
            ),
        }
    }
    topology
}

/// An alert of this name on an entity, of signal `Errors`, first active at this time (see
/// [`at`](crate::at)).
///
/// # Panics
/// When the entity's name or the time is not valid.
///
/// ```
/// use eog::Anomaly;
/// use eog::evidence::Signal;
/// use eog_testkit::alert;
/// let slow = Anomaly { signal: Signal::Latency, ..alert("S2", "Slow", "10:05") };
/// assert_eq!(slow.name, "Slow");
/// ```
#[track_caller]
pub fn alert(name: &str, alert: &str, onset: &str) -> Anomaly {
    Anomaly::new(alert, entity(name), Signal::Errors, at(onset))
}

/// A case that starts at its alerts, in the window of [`hour`](crate::hour).
///
/// ```
/// use eog_testkit::{alert, case, topology};
/// let case = case(topology("S1 calls S2"), [alert("S2", "HttpErrors", "10:05")]);
/// assert_eq!(case.seeds.len(), 1);
/// ```
pub fn case(topology: Topology, alerts: impl IntoIterator<Item = Anomaly>) -> Case {
    Case::from_anomalies(topology, hour(), alerts.into_iter().collect())
}

/// A case without alerts that starts at these entities.
///
/// # Panics
/// When a name is not valid.
///
/// ```
/// use eog_testkit::{seeded, topology};
/// let case = seeded(topology("S1 calls S2"), ["S1"]);
/// assert!(case.anomalies.is_empty());
/// ```
#[track_caller]
pub fn seeded<'a>(topology: Topology, names: impl IntoIterator<Item = &'a str>) -> Case {
    let named = |case: Case, name: &str| case.with_seed(entity(name), "named by the test");
    names.into_iter().fold(case(topology, []), named)
}

#[cfg(test)]
mod tests {
    use eog::incident::Direction;

    use super::*;

    #[test]
    fn arrows_say_which_way_effects_travel() {
        let topology = topology("a calls b\n\n a feeds c -> ; a shares d <->; a reads e <-; f;");
        let rows = topology.neighbours(&entity("a"));
        let shown: Vec<_> =
            rows.iter().map(|row| (row.entity.as_str(), row.relation.as_str())).collect();
        assert_eq!(shown, [("b", "calls"), ("c", "feeds"), ("d", "shares"), ("e", "reads")]);
        let directions: Vec<_> = rows.iter().map(|row| row.direction).collect();
        use Direction::{Both, Downstream, Upstream};
        assert_eq!(directions, [Upstream, Downstream, Both, Upstream]);
        assert!(topology.contains(&entity("f")));
    }

    #[test]
    #[should_panic(expected = "\"a calls\" is not a topology statement")]
    fn half_an_edge_is_refused() {
        topology("a calls b; a calls");
    }

    #[test]
    #[should_panic(expected = "\"a calls b twice\" is not a topology statement")]
    fn an_unknown_arrow_is_refused() {
        topology("a calls b twice");
    }
}
