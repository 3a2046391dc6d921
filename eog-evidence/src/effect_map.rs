//! Which change can have caused which anomaly: the notes that a context contract adds.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use eog_core::{
    Anomaly, EntityId, EvidenceKind, EvidenceTime, Finding, FindingContent, Peer, PeerRole, Signal,
    Timestamp, Topology, Trend, to_the_second,
};
use jiff::SignedDuration;

use crate::names::SpokenWords;
use crate::paths::{MAX_PATH_HOPS, Reach, Travel};
use crate::text::{arrows, change_in_words, shorten, span_between};

/// At most this many route notes, and as many impact notes, for one entity.
const MAX_NOTES: usize = 3;

/// At most this many qualifying changes are kept, strongest first.
const MAX_QUALIFYING: usize = 256;

/// Times that differ by less are not told apart: alerts are commonly evaluated over 5 minutes, and
/// objects dumped about as often.
pub(crate) const ABOUT_AS_NEAR: SignedDuration = SignedDuration::from_mins(5);

/// Per entity: which change elsewhere can have reached it, and which anomaly its own change can
/// have caused. Computed once per incident.
///
/// A change *qualifies* when it is no mere restart and strictly precedes an onset, first or
/// renewed, of an anomaly that its effects reach; a change of demand reaches by load as well
/// ([`demand_path`](crate::demand_path)), whichever is shorter. It does not qualify for an onset
/// that another change precedes much more closely: a change that is more than 5 minutes and more
/// than half as long again farther away gives way. A change of demand neither gives way nor makes
/// others give way, since load builds up.
///
/// The order of qualifying changes is the same for every entity, so that all entities on a path
/// follow the same change: the smallest time to the first following onset, then the shorter path
/// to that anomaly, then the entity's name, then the id.
///
/// When the text of a change *names* an entity that its effects reach, paths lead through that
/// entity where they can: a setting that speaks of one component acts on that component. A name is
/// matched by whole words (`payFailure` names `pay`); common words never match. Of several the
/// one with the most words is taken, then the nearest, then the first by name.
///
/// ```
/// use eog_core::{Anomaly, EffectDirection, EntityId, Topology};
/// use eog_evidence::EffectMap;
/// let (cart, db) = (EntityId::new("cart")?, EntityId::new("db")?);
/// let mut topology = Topology::default();
/// topology.connect(&cart, "calls", &db, EffectDirection::TargetToSource);
/// let map = EffectMap::new(&topology, &[], &[]);
/// assert!(map.notes(&cart).is_empty());
/// # Ok::<(), eog_core::InvalidId>(())
/// ```
#[derive(Clone, Debug)]
pub struct EffectMap {
    /// Strongest first.
    changes: Vec<Qualifying>,
}

impl EffectMap {
    /// Finds the qualifying changes. `changes` may hold findings that are not changes and
    /// restarts; both are passed over.
    pub fn new(topology: &Topology, changes: &[Finding], anomalies: &[Anomaly]) -> Self {
        let mut trees = Trees { topology, grown: BTreeMap::new() };
        let mut qualifying: Vec<Qualifying> = changes
            .iter()
            .filter(|finding| {
                finding.kind == EvidenceKind::Change && finding.signal != Signal::Restart
            })
            .filter_map(|change| Qualifying::new(change, anomalies, &mut trees))
            .collect();
        leave_the_nearest(&mut qualifying);
        qualifying.sort_by(|a, b| a.strength().cmp(&b.strength()));
        qualifying.dedup_by(|a, b| a.change.id() == b.change.id());
        qualifying.truncate(MAX_QUALIFYING);
        Self { changes: qualifying }
    }

    /// The notes on one entity, all of kind [`EvidenceKind::Note`]; routes first.
    ///
    /// - Signal [`Signal::Route`]: a change elsewhere whose effects reach the entity. The peer is
    ///   the next hop towards it, `change` its detail, the time that of the change. The trend is
    ///   `rising` when the change is one of demand, so that it explains only an entity whose
    ///   traffic rose; else `steady`. At most three, strongest first, one for each changed entity
    ///   and next hop.
    /// - Signal [`Signal::Impact`]: an anomaly that the entity's own change precedes and reaches.
    ///   The peer is the next hop towards it (none when the anomaly is on the entity itself),
    ///   `change` the detail of the change, the time that of the onset. At most three anomalies,
    ///   earliest onset first.
    pub fn notes(&self, entity: &EntityId) -> Vec<Finding> {
        let mut notes = self.routes(entity);
        notes.extend(self.impacts(entity));
        notes
    }

    /// The qualifying changes, strongest first.
    pub fn qualifying(&self) -> impl Iterator<Item = &Finding> {
        self.changes.iter().map(|qualifying| &qualifying.change)
    }

    fn routes(&self, entity: &EntityId) -> Vec<Finding> {
        let mut taken = BTreeSet::new();
        let others = self.changes.iter().filter(|other| other.change.entity != *entity);
        others
            .filter_map(|other| {
                let path = other.roads.path_to(entity)?;
                let before = path.get(path.len().checked_sub(2)?)?.clone();
                let new = taken.insert((other.change.entity.clone(), before.clone()));
                new.then(|| other.route_note(&path, before))
            })
            .take(MAX_NOTES)
            .collect()
    }

    fn impacts(&self, entity: &EntityId) -> Vec<Finding> {
        let own = self.changes.iter().filter(|own| own.change.entity == *entity);
        let mut all: Vec<(&Impact, &Qualifying)> =
            own.flat_map(|own| own.impacts.iter().map(move |impact| (impact, own))).collect();
        // Of several own changes the latest before an onset explains it best.
        all.sort_by(|(a, own_a), (b, own_b)| {
            let key = |impact: &Impact, own: &Qualifying| {
                (impact.onset, Reverse(own.at), impact.path.len())
            };
            (key(a, own_a), &a.alert, &a.affected).cmp(&(key(b, own_b), &b.alert, &b.affected))
        });
        let mut taken = BTreeSet::new();
        all.retain(|(impact, _)| taken.insert((&impact.alert, &impact.affected)));
        all.iter().take(MAX_NOTES).map(|(impact, own)| own.impact_note(impact)).collect()
    }
}

/// Takes from each change the anomalies that a later change explains better, and drops the changes
/// that are left with none.
///
/// What an anomaly follows most closely is its likeliest cause: whatever else was changed went
/// well for as long as lies between. Changes that are about as near all stay.
fn leave_the_nearest(changes: &mut Vec<Qualifying>) {
    let mut nearest: BTreeMap<(String, EntityId, Timestamp), SignedDuration> = BTreeMap::new();
    for change in changes.iter().filter(|change| !change.is_demand()) {
        for impact in &change.impacts {
            let gap = impact.onset.duration_since(change.at);
            let least = nearest.entry(impact.key()).or_insert(gap);
            *least = gap.min(*least);
        }
    }
    for change in changes.iter_mut().filter(|change| !change.is_demand()) {
        let at = change.at;
        change.impacts.retain(|impact| {
            let gap = impact.onset.duration_since(at);
            nearest.get(&impact.key()).is_none_or(|least| is_about_as_near(gap, *least))
        });
    }
    changes.retain(|change| !change.impacts.is_empty());
    for change in changes {
        change.measure();
    }
}

/// Whether a change that lies `gap` before an anomaly is about as near as one that lies `least`
/// before it: at most 5 minutes or half as long again farther away.
fn is_about_as_near(gap: SignedDuration, least: SignedDuration) -> bool {
    gap <= least.saturating_add(ABOUT_AS_NEAR.max(least / 2))
}

/// A change that precedes an anomaly it reaches.
#[derive(Clone, Debug)]
struct Qualifying {
    change: Finding,
    at: Timestamp,
    /// Time and edges to the first following onset.
    gap: SignedDuration,
    hops: usize,
    roads: Roads,
    /// Every anomaly reached and followed, by onset.
    impacts: Vec<Impact>,
}

/// An anomaly that follows a change and is reached by it.
#[derive(Clone, Debug)]
struct Impact {
    alert: String,
    affected: EntityId,
    onset: Timestamp,
    path: Vec<EntityId>,
}

impl Impact {
    fn key(&self) -> (String, EntityId, Timestamp) {
        (self.alert.clone(), self.affected.clone(), self.onset)
    }
}

impl Qualifying {
    fn new(change: &Finding, anomalies: &[Anomaly], trees: &mut Trees<'_>) -> Option<Self> {
        let at = change.time.start();
        if !anomalies.iter().any(|anomaly| anomaly.onsets().any(|onset| onset > at)) {
            return None;
        }
        let roads = Roads::of(change, trees);
        let mut impacts: Vec<Impact> = anomalies
            .iter()
            .filter_map(|anomaly| {
                let onset = anomaly.onsets().filter(|onset| *onset > at).min()?;
                let path = roads.path_to(&anomaly.entity)?;
                let (alert, affected) = (anomaly.name.clone(), anomaly.entity.clone());
                Some(Impact { alert, affected, onset, path })
            })
            .collect();
        impacts.sort_by(|a, b| {
            let key = |impact: &Impact| (impact.onset, impact.path.len());
            (key(a), &a.alert, &a.affected).cmp(&(key(b), &b.alert, &b.affected))
        });
        // How near is measured when it is known which impacts stay.
        let (gap, hops) = (SignedDuration::MAX, usize::MAX);
        let found = Self { change: change.clone(), at, gap, hops, roads, impacts };
        (!found.impacts.is_empty()).then_some(found)
    }

    /// Sets time and edges to the first anomaly.
    fn measure(&mut self) {
        if let Some(first) = self.impacts.first() {
            self.gap = first.onset.duration_since(self.at);
            self.hops = first.path.len().saturating_sub(1);
        }
    }

    fn strength(&self) -> impl Ord + '_ {
        (self.gap, self.hops, &self.change.entity, self.change.id())
    }

    fn is_demand(&self) -> bool {
        self.change.signal == Signal::Demand
    }

    fn route_note(&self, path: &[EntityId], before: EntityId) -> Finding {
        let entity = path.last().unwrap_or(&before).clone();
        let what = if self.is_demand() { "load" } else { "effects" };
        let excerpt = format!(
            "{} changed {} at {}; its {what} can reach here by {}",
            self.change.entity,
            self.in_words(),
            to_the_second(self.at),
            arrows(path)
        );
        let peer = Some(Peer { entity: before, role: PeerRole::NextUpstream });
        self.note(entity, Signal::Route, self.at, peer, excerpt)
    }

    fn impact_note(&self, impact: &Impact) -> Finding {
        let entity = self.change.entity.clone();
        let next = impact.path.get(1).cloned();
        let peer = next.map(|entity| Peer { entity, role: PeerRole::NextDownstream });
        let excerpt = format!(
            "alert {} on {} followed at {}, {} after the change; reached by {}",
            shorten(&impact.alert, 80),
            impact.affected,
            to_the_second(impact.onset),
            span_between(self.at, impact.onset),
            arrows(&impact.path)
        );
        self.note(entity, Signal::Impact, impact.onset, peer, excerpt)
    }

    fn in_words(&self) -> String {
        let detail = self.change.change.as_ref();
        detail.map_or_else(|| shorten(&self.change.excerpt, 160), change_in_words)
    }

    fn note(
        &self,
        entity: EntityId,
        signal: Signal,
        at: Timestamp,
        peer: Option<Peer>,
        excerpt: String,
    ) -> Finding {
        let trend = if self.is_demand() { Trend::Rising } else { Trend::Steady };
        Finding::new(FindingContent {
            query: format!("paths of change={} at entity={entity}", self.change.id()),
            entity,
            kind: EvidenceKind::Note,
            signal,
            trend,
            time: EvidenceTime::At(at),
            quantity: None,
            change: self.change.change.clone(),
            peer,
            source: "topology".into(),
            excerpt,
        })
    }
}

/// The ways on which one change acts.
#[derive(Clone, Debug)]
struct Roads {
    effects: Arc<Reach>,
    demand: Option<Arc<Reach>>,
    /// The entity that the change names, and what is reached from there.
    ///
    /// One for the whole change, not one for each affected entity: next hops of different
    /// entities could otherwise lead in a circle.
    through: Option<(EntityId, Arc<Reach>)>,
}

impl Roads {
    fn of(change: &Finding, trees: &mut Trees<'_>) -> Self {
        let effects = trees.grow(&change.entity, Travel::Effects);
        if change.signal == Signal::Demand {
            let demand = Some(trees.grow(&change.entity, Travel::Demand));
            return Self { effects, demand, through: None };
        }
        let through = named_entity(change, &effects).map(|named| {
            let tree = trees.grow(&named, Travel::Effects);
            (named, tree)
        });
        Self { effects, demand: None, through }
    }

    fn path_to(&self, entity: &EntityId) -> Option<Vec<EntityId>> {
        if let Some(path) = self.path_through_named(entity) {
            return Some(path);
        }
        let demand = self.demand.as_ref().and_then(|demand| demand.path_to(entity));
        let paths = demand.into_iter().chain(self.effects.path_to(entity));
        paths.min_by_key(Vec::len)
    }

    /// The path through the named entity, unless it would meet itself or be too long.
    fn path_through_named(&self, entity: &EntityId) -> Option<Vec<EntityId>> {
        let (named, beyond) = self.through.as_ref()?;
        let mut path = self.effects.path_to(named)?;
        path.extend(beyond.path_to(entity)?.into_iter().skip(1));
        let distinct: BTreeSet<&EntityId> = path.iter().collect();
        (distinct.len() == path.len() && path.len() <= MAX_PATH_HOPS + 1).then_some(path)
    }
}

/// The entity that a change names best among those that its effects reach.
fn named_entity(change: &Finding, effects: &Reach) -> Option<EntityId> {
    let spoken = SpokenWords::of(change.change.as_ref()?);
    let named = effects.reached().filter_map(|entity| {
        let words = spoken.naming(entity);
        let hops = effects.hops_to(entity)?;
        (words > 0).then_some((Reverse(words), hops, entity))
    });
    named.min().map(|(_, _, entity)| entity.clone())
}

/// Trees of shortest paths, each grown once.
struct Trees<'a> {
    topology: &'a Topology,
    grown: BTreeMap<(EntityId, Travel), Arc<Reach>>,
}

impl Trees<'_> {
    fn grow(&mut self, start: &EntityId, travel: Travel) -> Arc<Reach> {
        let topology = self.topology;
        let tree = self.grown.entry((start.clone(), travel));
        tree.or_insert_with(|| Arc::new(Reach::new(topology, start, travel))).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eog_core::{ChangeDetail, EffectDirection};

    fn id(name: &str) -> EntityId {
        EntityId::new(name).unwrap()
    }

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(minute * 60).unwrap()
    }

    fn change(entity: &str, minute: i64, signal: Signal, path: &str) -> Finding {
        Finding::new(FindingContent {
            entity: id(entity),
            kind: EvidenceKind::Change,
            signal,
            trend: Trend::Steady,
            time: EvidenceTime::At(at(minute)),
            quantity: None,
            change: Some(ChangeDetail { path: path.into(), old: None, new: Some("on".into()) }),
            peer: None,
            source: "changes".into(),
            query: String::new(),
            excerpt: path.into(),
        })
    }

    fn alert(entity: &str, onset: i64, renewed: &[i64]) -> Anomaly {
        Anomaly {
            name: format!("alert-{entity}"),
            entity: id(entity),
            signal: Signal::Errors,
            onset: at(onset),
            renewed: renewed.iter().map(|minute| at(*minute)).collect(),
            last_seen: None,
            severity: String::new(),
            description: String::new(),
        }
    }

    /// `web` calls `cart` and `pay`, both call `db`; `flags` configures `web`, `cart` and `pay`.
    fn shop() -> Topology {
        let mut topology = Topology::default();
        for (caller, callee) in [("web", "cart"), ("web", "pay"), ("cart", "db"), ("pay", "db")] {
            topology.connect(&id(caller), "calls", &id(callee), EffectDirection::TargetToSource);
        }
        for entity in ["web", "cart", "pay"] {
            let effects = EffectDirection::SourceToTarget;
            topology.connect(&id("flags"), "configures", &id(entity), effects);
        }
        topology
    }

    /// The notes on an entity as `signal peer` words.
    fn notes(changes: &[Finding], anomalies: &[Anomaly], entity: &str) -> Vec<String> {
        let map = EffectMap::new(&shop(), changes, anomalies);
        let notes = map.notes(&id(entity));
        notes
            .iter()
            .map(|note| {
                let peer = note.peer.as_ref().map_or("here", |peer| peer.entity.as_str());
                let path = note.change.as_ref().map_or("", |change| change.path.as_str());
                format!("{:?} {peer} {path}", note.signal)
            })
            .collect()
    }

    #[test]
    fn a_change_qualifies_when_it_precedes_an_onset_that_it_reaches() {
        use Signal::{Configuration, Demand, Restart};
        let none: [&str; 0] = [];
        let web = alert("web", 10, &[]);
        let cases = [
            // (change, alert, entity asked about, notes)
            (change("db", 5, Configuration, "size"), web.clone(), "web", vec!["Route cart size"]),
            (change("db", 5, Configuration, "size"), web.clone(), "db", vec!["Impact cart size"]),
            (change("db", 5, Configuration, "size"), web.clone(), "flags", none.to_vec()),
            (change("db", 10, Configuration, "size"), web.clone(), "web", none.to_vec()),
            (change("db", 5, Restart, "run"), web.clone(), "web", none.to_vec()),
            (
                change("db", 15, Configuration, "size"),
                alert("web", 10, &[20]),
                "pay",
                vec!["Route db size"],
            ),
            (change("web", 5, Configuration, "size"), web.clone(), "web", vec!["Impact here size"]),
            (change("web", 5, Configuration, "size"), alert("db", 10, &[]), "db", none.to_vec()),
            (change("web", 5, Demand, "sale"), alert("db", 10, &[]), "db", vec!["Route cart sale"]),
            (
                change("web", 5, Demand, "sale"),
                alert("db", 10, &[]),
                "web",
                vec!["Impact cart sale"],
            ),
        ];
        for (change, alert, entity, expected) in cases {
            let found = notes(std::slice::from_ref(&change), &[alert], entity);
            assert_eq!(found, expected, "{} {:?} at {entity}", change.entity, change.signal);
        }
    }

    #[test]
    fn paths_lead_through_the_entity_that_a_change_names() {
        let web = [alert("web", 10, &[])];
        for (path, next) in [("payFailure", "pay"), ("cartSlow", "cart"), ("banner", "flags")] {
            let changes = [change("flags", 5, Signal::Configuration, path)];
            assert_eq!(notes(&changes, &web, "web"), [format!("Route {next} {path}")]);
        }
        // Before the named entity the way is direct.
        let changes = [change("flags", 5, Signal::Configuration, "payFailure")];
        assert_eq!(notes(&changes, &web, "pay"), ["Route flags payFailure"]);
        assert_eq!(notes(&changes, &web, "flags"), ["Impact pay payFailure"]);
    }

    #[test]
    fn the_nearest_change_leads_and_each_way_is_told_once() {
        let changes = [
            change("db", 2, Signal::Configuration, "older"),
            change("db", 5, Signal::Configuration, "newer"),
            change("flags", 8, Signal::Configuration, "newest"),
            change("cart", 2, Signal::Configuration, "oldest"),
        ];
        let web = [alert("web", 10, &[])];
        // The oldest lies more than 5 minutes farther away than the newest.
        let expected = ["Route flags newest", "Route cart newer"];
        assert_eq!(notes(&changes, &web, "web"), expected);
        let mut reversed = changes.to_vec();
        reversed.reverse();
        assert_eq!(notes(&reversed, &web, "web"), expected);
        assert_eq!(notes(&changes, &web, "db"), ["Impact cart newer"]);
    }

    #[test]
    fn a_change_gives_way_to_one_much_nearer_before_the_same_anomaly() {
        use Signal::{Configuration, Demand};
        let none: [&str; 0] = [];
        let web = alert("web", 60, &[]);
        let cases = [
            // (minutes of a change of db and of one of flags, alerts, notes on db)
            (50, 58, vec![web.clone()], none.to_vec()),
            (53, 58, vec![web.clone()], vec!["Impact cart size"]),
            // Half as long again farther away is about as near.
            (30, 40, vec![web.clone()], vec!["Impact cart size"]),
            (29, 40, vec![web.clone()], none.to_vec()),
            // Another anomaly that only the older one precedes closely.
            (50, 58, vec![web.clone(), alert("cart", 51, &[])], vec!["Impact cart size"]),
        ];
        for (older, newer, anomalies, expected) in cases {
            let changes = [
                change("db", older, Configuration, "size"),
                change("flags", newer, Configuration, "banner"),
            ];
            assert_eq!(notes(&changes, &anomalies, "db"), expected, "{older} {newer}");
        }
        // Load builds up.
        let changes =
            [change("web", 20, Demand, "sale"), change("flags", 58, Configuration, "banner")];
        assert_eq!(notes(&changes, &[web], "web"), ["Route flags banner", "Impact here sale"]);
    }

    #[test]
    fn impacts_are_bounded_and_earliest_first() {
        let changes = [change("db", 1, Signal::Configuration, "size")];
        let mut anomalies =
            vec![alert("web", 30, &[]), alert("cart", 20, &[]), alert("db", 10, &[])];
        anomalies.push(Anomaly { name: "last".into(), ..alert("pay", 40, &[]) });
        let expected = ["Impact here size", "Impact cart size", "Impact cart size"];
        assert_eq!(notes(&changes, &anomalies, "db"), expected);
    }
}
