//! From rows to findings, edges and alerts.

use std::collections::BTreeMap;

use eog_core::evidence::{
    ChangeDetail, EvidenceTime, FindingContent, Peer, PeerRole, Quantity, Signal, Trend,
};
use eog_core::incident::{Edge, EffectDirection};
use eog_core::{Anomaly, EntityId, EvidenceKind, Finding, Timestamp, Window};
use eog_evidence::{
    Periods, Series, mask_named, mask_text, shift_finding, shorten, steady_finding,
};
use serde::Deserialize;

use super::rows::Row;
use super::template::{Template, read_time};

/// Longest excerpt, in characters.
const MAX_EXCERPT: usize = 400;

/// Longest value of a change, in characters.
const MAX_VALUE: usize = 200;

/// What every finding of one answer shares.
pub(super) struct Origin<'a> {
    /// The entity the rows are about, if they do not say so themselves.
    pub(super) entity: Option<&'a EntityId>,
    /// The server and the tool.
    pub(super) source: &'a str,
    /// The arguments.
    pub(super) query: &'a str,
    /// When findings hold that do not say so themselves.
    pub(super) window: Option<Window>,
}

/// A time in a row.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TimeField {
    field: String,
    /// `rfc3339` and its kin unless given; `unix`, `unix_ms`, or a pattern such as `%Y-%m-%d`.
    format: Option<String>,
}

impl TimeField {
    fn read(&self, row: &Row) -> Result<Timestamp, String> {
        let text = row.get(&self.field).ok_or_else(|| format!("missing field {:?}", self.field))?;
        read_time(text, self.format.as_deref()).ok_or_else(|| {
            format!("field {:?} is {:?}, which is not a time", self.field, shorten(text, 40))
        })
    }

    fn read_if_there(&self, row: &Row) -> Result<Option<Timestamp>, String> {
        row.get(&self.field).map(|_| self.read(row)).transpose()
    }
}

/// What a row speaks of: one signal for all, or by the value of a field.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SignalBy {
    field: String,
    values: BTreeMap<String, Signal>,
}

fn signal_of(row: &Row, usual: Signal, by: Option<&SignalBy>) -> Signal {
    by.and_then(|by| by.values.get(row.get(&by.field)?).copied()).unwrap_or(usual)
}

/// How a row becomes a finding.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FindingMap {
    pub(super) kind: EvidenceKind,
    signal: Signal,
    signal_by: Option<SignalBy>,
    trend: Option<Trend>,
    /// When it happened. Without it, the whole window: what a server reports of the present state.
    time: Option<TimeField>,
    until: Option<TimeField>,
    /// The entity the row is about. Without it, the requested entity.
    pub(super) entity: Option<Template>,
    quantity: Option<QuantityMap>,
    change: Option<ChangeMap>,
    peer: Option<PeerMap>,
    excerpt: Template,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuantityMap {
    observed: String,
    baseline: Option<String>,
    unit: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeMap {
    path: Template,
    old: Option<String>,
    new: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PeerMap {
    entity: Template,
    role: PeerRole,
}

fn number(row: &Row, field: &str) -> Result<Option<f64>, String> {
    let Some(text) = row.get(field) else { return Ok(None) };
    let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
    number
        .map(Some)
        .ok_or_else(|| format!("field {field:?} is {:?}, which is not a number", shorten(text, 40)))
}

fn entity(row: &Row, template: &Template) -> Result<EntityId, String> {
    let name = template.words(|field| row.get(field)).ok_or("missing entity name")?;
    EntityId::new(name.trim()).map_err(|error| error.to_string())
}

impl FindingMap {
    pub(super) fn finding(&self, row: &Row, origin: &Origin<'_>) -> Result<Finding, String> {
        let entity = match &self.entity {
            Some(template) => entity(row, template)?,
            None => origin.entity.ok_or("the row does not name an entity")?.clone(),
        };
        let until = self.until.as_ref().map(|until| until.read_if_there(row)).transpose()?;
        let time = match (&self.time, origin.window) {
            (Some(time), _) => {
                let start = time.read(row)?;
                until
                    .flatten()
                    .and_then(|end| Window::new(start, end).ok())
                    .map_or(EvidenceTime::At(start), EvidenceTime::During)
            }
            (None, Some(window)) => EvidenceTime::During(window),
            (None, None) => return Err("neither a `time` nor a `window` is configured".to_owned()),
        };
        let quantity = match &self.quantity {
            None => None,
            Some(map) => {
                let baseline =
                    map.baseline.as_deref().map(|field| number(row, field)).transpose()?.flatten();
                let unit = map.unit.clone();
                number(row, &map.observed)?.map(|observed| Quantity { observed, baseline, unit })
            }
        };
        let change = self.change.as_ref().map(|map| {
            let path = map.path.words(|field| row.get(field)).unwrap_or_default();
            let path = shorten(&path, MAX_VALUE);
            let value = |field: &Option<String>| {
                let value = row.get(field.as_deref()?)?;
                Some(shorten(&mask_named(&path, value), MAX_VALUE))
            };
            let (old, new) = (value(&map.old), value(&map.new));
            ChangeDetail { path, old, new }
        });
        let peer = self.peer.as_ref().and_then(|map| {
            let entity = self::entity(row, &map.entity).ok()?;
            Some(Peer { entity, role: map.role })
        });
        let excerpt = self.excerpt.words(|field| row.get(field)).unwrap_or_default();
        Ok(Finding::new(FindingContent {
            entity,
            kind: self.kind,
            signal: signal_of(row, self.signal, self.signal_by.as_ref()),
            trend: self.trend.unwrap_or(Trend::Steady),
            time,
            quantity,
            change,
            peer,
            source: origin.source.to_owned(),
            query: origin.query.to_owned(),
            excerpt: shorten(&mask_text(&excerpt), MAX_EXCERPT),
            onset: None,
        }))
    }
}

/// How rows become series, whose shift is the finding.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SeriesMap {
    /// The name of the metric; rows with different names are different series.
    metric: Template,
    signal: Signal,
    signal_by: Option<SignalBy>,
    unit: String,
    time: TimeField,
    value: String,
    /// Whether a series without a shift is reported.
    #[serde(default)]
    steady: bool,
}

impl SeriesMap {
    /// One finding for each series that shifted.
    pub(super) fn findings(
        &self,
        rows: &[Row],
        origin: &Origin<'_>,
        periods: &Periods,
        unread: &mut Unread,
    ) -> Vec<Finding> {
        let Some(entity) = origin.entity else { return Vec::new() };
        let mut all: BTreeMap<String, Series> = BTreeMap::new();
        for row in rows {
            let point = self.time.read(row).and_then(|at| {
                let value = number(row, &self.value)?;
                Ok((at, value.ok_or_else(|| format!("missing field {:?}", self.value))?))
            });
            let point = match point {
                Ok(point) => point,
                Err(reason) => {
                    unread.add(reason);
                    continue;
                }
            };
            let metric = self.metric.words(|field| row.get(field)).unwrap_or_default();
            let metric = shorten(&mask_text(&metric), MAX_VALUE);
            let series = all.entry(metric.clone()).or_insert_with(|| Series {
                entity: entity.clone(),
                kind: EvidenceKind::Metric,
                metric,
                signal: signal_of(row, self.signal, self.signal_by.as_ref()),
                unit: self.unit.clone(),
                peer: None,
                points: Vec::new(),
            });
            series.points.push(point);
        }
        let findings = all.into_values().filter_map(|mut series| {
            series.points.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            let shift = shift_finding(&series, periods, origin.source, origin.query);
            shift.or_else(|| {
                self.steady.then_some(())?;
                steady_finding(&series, periods, origin.source, origin.query)
            })
        });
        findings.collect()
    }
}

/// How a row becomes an entity or an edge.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum TopologyMap {
    /// The row names an entity.
    Entity(Template),
    /// The row is an edge.
    Edge(EdgeMap),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EdgeMap {
    source: Template,
    target: Template,
    relation: Template,
    effects: EffectDirection,
}

impl EdgeMap {
    pub(super) fn edge(&self, row: &Row) -> Result<Edge, String> {
        let relation = self.relation.words(|field| row.get(field)).ok_or("missing relation")?;
        Ok(Edge {
            source: entity(row, &self.source)?,
            target: entity(row, &self.target)?,
            relation: shorten(&relation, MAX_VALUE),
            effects: self.effects,
        })
    }
}

impl TopologyMap {
    pub(super) fn entity(row: &Row, template: &Template) -> Result<EntityId, String> {
        entity(row, template)
    }
}

/// How a row becomes an alert.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AlertMap {
    name: Template,
    entity: Template,
    signal: Signal,
    signal_by: Option<SignalBy>,
    onset: TimeField,
    last_seen: Option<TimeField>,
    severity: Option<Template>,
    description: Option<Template>,
}

impl AlertMap {
    pub(super) fn alert(&self, row: &Row) -> Result<Anomaly, String> {
        let words = |template: &Option<Template>| {
            let text =
                template.as_ref().and_then(|template| template.words(|field| row.get(field)));
            shorten(&mask_text(&text.unwrap_or_default()), MAX_EXCERPT)
        };
        let name = self.name.words(|field| row.get(field)).ok_or("missing alert name")?;
        let last_seen = self.last_seen.as_ref().map(|seen| seen.read_if_there(row)).transpose()?;
        Ok(Anomaly {
            name: shorten(&mask_text(&name), MAX_VALUE),
            entity: entity(row, &self.entity)?,
            signal: signal_of(row, self.signal, self.signal_by.as_ref()),
            onset: self.onset.read(row)?,
            renewed: Vec::new(),
            last_seen: last_seen.flatten(),
            severity: words(&self.severity),
            description: words(&self.description),
        })
    }
}

/// Joins the alerts of one name on one entity: the earliest onset, the later ones as renewals.
pub(super) fn joined(alerts: Vec<Anomaly>) -> Vec<Anomaly> {
    let mut all: BTreeMap<(EntityId, String), Anomaly> = BTreeMap::new();
    for alert in alerts {
        match all.entry((alert.entity.clone(), alert.name.clone())) {
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(alert);
            }
            std::collections::btree_map::Entry::Occupied(mut known) => {
                let known = known.get_mut();
                let mut onsets: Vec<Timestamp> = known.onsets().chain(alert.onsets()).collect();
                onsets.sort();
                onsets.dedup();
                known.onset = onsets.remove(0);
                known.renewed = onsets;
                known.last_seen = known.last_seen.max(alert.last_seen);
            }
        }
    }
    all.into_values().collect()
}

/// Rows that could not be read.
#[derive(Debug, Default)]
pub(super) struct Unread {
    count: usize,
    first: String,
}

impl Unread {
    pub(super) fn add(&mut self, reason: String) {
        if self.count == 0 {
            self.first = reason;
        }
        self.count += 1;
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// What to say about them: nothing when there is none, an error when there is nothing else.
    pub(super) fn judge(self, read: usize) -> Result<Option<String>, String> {
        match (self.count, read) {
            (0, _) => Ok(None),
            (count, 0) => Err(format!(
                "none of the {count} rows could be read: {}; check the mapping",
                self.first
            )),
            (1, _) => Ok(Some(format!("1 row could not be read: {}", self.first))),
            (count, _) => {
                Ok(Some(format!("{count} rows could not be read, the first: {}", self.first)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::ToolAnswer;
    use crate::rows::Rows;
    use serde_json::{Value, json};

    fn row(fields: Value) -> Row {
        let rows: Rows = serde_json::from_value(json!({"json": {}})).unwrap();
        let answer = ToolAnswer { structured: Some(fields), text: String::new() };
        rows.read(&answer).unwrap().rows.remove(0)
    }

    fn map<T: serde::de::DeserializeOwned>(map: Value) -> T {
        serde_json::from_value(map).unwrap()
    }

    fn origin(entity: &EntityId) -> Origin<'_> {
        Origin { entity: Some(entity), source: "db/query", query: "{}", window: None }
    }

    #[test]
    fn a_row_becomes_a_finding() {
        let cart = EntityId::new("cart").unwrap();
        let change: FindingMap = map(json!({
            "kind": "change", "signal": "configuration", "time": {"field": "at"},
            "signal_by": {"field": "what", "values": {"replicas": "saturation"}},
            "change": {"path": "{what}", "old": "was", "new": "is"},
            "excerpt": "{who} changed {what}"}));
        let finding = change
            .finding(
                &row(json!({"at": "2026-01-01 10:00:00", "what": "api_token", "is": "abc123xyz",
                            "who": "bob"})),
                &origin(&cart),
            )
            .unwrap();
        assert_eq!(finding.entity, cart);
        assert_eq!(finding.signal, Signal::Configuration);
        assert_eq!(finding.excerpt, "bob changed api_token");
        assert_eq!(finding.change.as_ref().unwrap().new.as_deref(), Some("[masked]"));
        assert_eq!(finding.change.as_ref().unwrap().old, None);
        let scaled = row(json!({"at": "2026-01-01 10:00:00", "what": "replicas"}));
        let scaled = change.finding(&scaled, &origin(&cart)).unwrap();
        assert_eq!(scaled.signal, Signal::Saturation);
    }

    #[test]
    fn telemetry_is_never_a_template() {
        let cart = EntityId::new("cart").unwrap();
        let event: FindingMap = map(json!({
            "kind": "event", "signal": "errors", "time": {"field": "at", "format": "unix"},
            "excerpt": "{message}"}));
        let finding = event
            .finding(&row(json!({"at": 1, "message": "{at} }{ {{x}}"})), &origin(&cart))
            .unwrap();
        assert_eq!(finding.excerpt, "{at} }{ {{x}}");
    }

    #[test]
    fn a_row_that_lacks_a_field_is_reported() {
        let cart = EntityId::new("cart").unwrap();
        let event: FindingMap = map(json!({
            "kind": "event", "signal": "errors", "time": {"field": "at"}, "entity": "{name}",
            "quantity": {"observed": "n", "unit": "1"}, "excerpt": "x"}));
        for (fields, reason) in [
            (json!({"name": "a"}), "missing field \"at\""),
            (json!({"name": "a", "at": "noon"}), "\"noon\", which is not a time"),
            (json!({"at": "2026-01-01T10:00:00Z"}), "missing entity name"),
            (json!({"name": "a", "at": "2026-01-01T10:00:00Z", "n": "many"}), "not a number"),
        ] {
            let error = event.finding(&row(fields), &origin(&cart)).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn rows_become_series_that_shift() {
        let cart = EntityId::new("cart").unwrap();
        let series: SeriesMap = map(json!({"metric": "{m} p95", "signal": "latency", "unit": "ms",
            "time": {"field": "t", "format": "unix"}, "value": "v"}));
        let rows: Vec<Row> = (0..30)
            .flat_map(|minute| {
                let slow = if minute < 20 { 100 } else { 900 };
                [
                    row(json!({"m": "pay", "t": minute * 60, "v": slow})),
                    row(json!({"m": "list", "t": minute * 60, "v": 50})),
                ]
            })
            .chain([row(json!({"m": "pay", "t": 0, "v": "x"}))])
            .collect();
        let at = |minute: i64| Timestamp::from_second(minute * 60).unwrap();
        let periods = Periods::new(Window::new(at(15), at(30)).unwrap());
        let mut unread = Unread::default();
        let findings = series.findings(&rows, &origin(&cart), &periods, &mut unread);
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].trend, findings[0].time.start()), (Trend::Rising, at(20)));
        assert!(findings[0].excerpt.contains("pay p95"), "{}", findings[0].excerpt);
        assert!(unread.judge(60).unwrap().unwrap().starts_with("1 row could not be read: "));
    }

    #[test]
    fn alerts_of_one_name_are_joined() {
        let alert: AlertMap = map(json!({"name": "{n}", "entity": "{ns}/{s}", "signal": "errors",
            "onset": {"field": "from"}, "last_seen": {"field": "to"}}));
        let fired = |from: &str, to: Option<&str>| {
            let fields = json!({"n": "High", "ns": "shop", "s": "cart", "from": from, "to": to});
            alert.alert(&row(fields)).unwrap()
        };
        let alerts = vec![
            fired("2026-01-01T11:00:00Z", None),
            fired("2026-01-01T10:00:00Z", Some("2026-01-01T10:10:00Z")),
        ];
        let [alert] = joined(alerts).try_into().unwrap();
        assert_eq!(alert.entity.as_str(), "shop/cart");
        assert_eq!(alert.onset.to_string(), "2026-01-01T10:00:00Z");
        assert_eq!(alert.renewed.len(), 1);
    }
}
