//! Drawn cases as text that people read, in the words that tests are written in.

use std::fmt;

use eog::incident::EffectDirection;
use eog::{Case, EntityId, Finding, Timestamp, Topology};

use super::world::{Row, Shown, World};

/// A drawn topology. Prints as [`topology`](crate::topology) takes it: `e0 calls e1; e2`.
#[derive(Clone, PartialEq, Eq)]
pub struct DrawnTopology(pub Topology);

/// A drawn case. Prints as calls of [`case`](crate::case) and its like.
#[derive(Clone, PartialEq)]
pub struct DrawnCase(pub Case);

impl fmt::Debug for DrawnTopology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "topology({:?})", statements(&self.0))
    }
}

impl fmt::Debug for DrawnCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&lines(&self.0).join("\n"))
    }
}

/// The case, then what there is to see of each entity, then how the policy answers.
impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = lines(&self.case);
        text.extend(self.shown.iter().map(evidence));
        if self.failing > 0 {
            text.push(format!("{} of 16 questions fail", self.failing));
        }
        let rows = self.table.iter().map(|row| self.decision(row));
        text.push(format!("policy (salt {}) that answers with one of:", self.salt));
        text.extend(rows.map(|row| format!("  {row}")));
        f.write_str(&text.join("\n"))
    }
}

fn lines(case: &Case) -> Vec<String> {
    let alerts = case.anomalies.iter().map(|alert| {
        let (entity, name) = (alert.entity.as_str(), &alert.name);
        format!("alert({entity:?}, {name:?}, {:?})", minute(alert.onset))
    });
    let alerts: Vec<String> = alerts.collect();
    let starts: Vec<&str> = case.seeds.iter().map(|seed| seed.entity.as_str()).collect();
    let mut lines = vec![
        format!("case(topology({:?}), [{}])", statements(&case.topology), alerts.join(", ")),
        format!("  starts at {}", starts.join(", ")),
    ];
    if let Some(record) = &case.record {
        let made = |change: &eog::incident::RecordedChange| {
            format!("{} at {}", change.entity, minute(change.made.earliest()))
        };
        let changes: Vec<String> = record.changes.iter().map(made).collect();
        lines.push(format!("  changes on record: [{}]", changes.join(", ")));
    }
    lines
}

/// A topology as [`topology`](crate::topology) takes it.
fn statements(topology: &Topology) -> String {
    let edges = topology.edges().map(|edge| {
        let arrow = match edge.effects {
            EffectDirection::TargetToSource => "",
            EffectDirection::SourceToTarget => " ->",
            EffectDirection::Both => " <->",
        };
        format!("{} {} {}{arrow}", edge.source, edge.relation, edge.target)
    });
    let alone = topology.entities().filter(|entity| topology.edges_at(entity).next().is_none());
    edges.chain(alone.map(EntityId::to_string)).collect::<Vec<_>>().join("; ")
}

fn evidence(shown: &Shown) -> String {
    let Shown { finding, page, route, from_visit, when_new } = shown;
    let mut words = vec![format!("{} shows {}", finding.entity, described(finding))];
    if *page > 1 {
        words.push(format!("on page {page}"));
    }
    if *from_visit > 1 {
        words.push(format!("from visit {from_visit} on"));
    }
    if let Some(sender) = when_new {
        words.push(format!("when a message of {sender} is new"));
    }
    if !route.is_empty() {
        let hops: Vec<&str> = route.iter().map(EntityId::as_str).collect();
        words.push(format!("by the route {}", hops.join(" > ")));
    }
    words.join(", ")
}

fn described(finding: &Finding) -> String {
    let peer = finding.peer.as_ref().map(|peer| format!(" naming {}", peer.entity));
    let (id, at) = (finding.id(), minute(finding.time.start()));
    format!("{:?} {:?} at {at}{} ({id})", finding.kind, finding.query, peer.unwrap_or_default())
}

fn minute(at: Timestamp) -> String {
    at.strftime("%H:%M").to_string()
}

impl World {
    fn decision(&self, row: &Row) -> String {
        let mut words = vec![format!("{} citing {:?}", row.label, row.cites)];
        for (kind, other, cites) in &row.claims {
            let other = self.name(*other);
            let ends = match kind {
                0..=3 => format!("{other} explains it"),
                4..=6 => format!("it explains {other}"),
                7 => "it explains itself".to_owned(),
                8 => "a route's first hop".to_owned(),
                _ => format!("{other} explains another"),
            };
            words.push(format!("claiming that {ends}, citing {cites:?}"));
        }
        let proposed: Vec<String> =
            row.proposals.iter().map(|other| self.name(*other).to_string()).collect();
        if !proposed.is_empty() {
            words.push(format!("proposing {}", proposed.join(" ")));
        }
        if row.next_page {
            words.push("asking for the next page".to_owned());
        }
        if let Some((of, kind)) = row.query {
            words.push(format!("searching {}s of {}", kind.name(), self.name(of)));
        }
        words.join(", ")
    }
}
