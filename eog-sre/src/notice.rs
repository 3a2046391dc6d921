//! Alerts as those who raise them write them, each form recognized by its content.

use std::collections::BTreeMap;
use std::fmt;

use eog_core::Timestamp;
use serde_json::{Map, Value};

use crate::time;

/// The systems that write alerts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum AlertForm {
    /// Alertmanager's webhook, version 4.
    AlertmanagerWebhook,
    /// Alertmanager's interface, `/api/v2/alerts`: a list of alerts, as it answers and as it is sent them.
    AlertmanagerApi,
    /// Prometheus' answer at `/api/v1/alerts`.
    PrometheusAlerts,
    /// Prometheus' answer at `/api/v1/rules`.
    PrometheusRules,
    /// Grafana's webhook of unified alerting, version 1.
    Grafana,
    /// PagerDuty's webhook, version 3.
    PagerDuty,
    /// An event of PagerDuty's Events API, version 2.
    PagerDutyEvent,
    /// Opsgenie's webhook.
    Opsgenie,
    /// Datadog's webhook.
    Datadog,
    /// An alarm of CloudWatch, also within a notification of SNS.
    CloudWatch,
    /// What SNS asks before it sends anything.
    SnsSubscription,
    /// An event of CloudEvents, version 1.
    CloudEvent,
}

impl AlertForm {
    /// All, in the order in which they are recognized.
    pub const ALL: [Self; 12] = [
        Self::AlertmanagerWebhook,
        Self::Grafana,
        Self::AlertmanagerApi,
        Self::PrometheusAlerts,
        Self::PrometheusRules,
        Self::PagerDuty,
        Self::PagerDutyEvent,
        Self::Opsgenie,
        Self::Datadog,
        Self::CloudWatch,
        Self::SnsSubscription,
        Self::CloudEvent,
    ];
}

impl fmt::Display for AlertForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::AlertmanagerWebhook => "Alertmanager webhook",
            Self::AlertmanagerApi => "Alertmanager alerts (api/v2)",
            Self::PrometheusAlerts => "Prometheus alerts (api/v1/alerts)",
            Self::PrometheusRules => "Prometheus rules (api/v1/rules)",
            Self::Grafana => "Grafana webhook",
            Self::PagerDuty => "PagerDuty webhook v3",
            Self::PagerDutyEvent => "PagerDuty event v2",
            Self::Opsgenie => "Opsgenie webhook",
            Self::Datadog => "Datadog webhook",
            Self::CloudWatch => "CloudWatch alarm",
            Self::SnsSubscription => "SNS subscription",
            Self::CloudEvent => "CloudEvent",
        })
    }
}

/// What an alert is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlertState {
    /// It is active.
    Firing,
    /// Its condition holds, but not for long enough yet.
    Pending,
    /// It was active.
    Resolved,
}

/// One alert. Texts are as they were sent: neither masked nor bounded.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// Its labels, or what takes their place; `alertname` is always among them.
    pub labels: BTreeMap<String, String>,
    /// What it says about itself; where it comes from is `generatorURL`.
    pub annotations: BTreeMap<String, String>,
    /// What it is.
    pub state: AlertState,
    /// Since when it is active, if it says so.
    pub starts_at: Option<Timestamp>,
    /// Until when it was active, if it says so.
    pub ends_at: Option<Timestamp>,
    /// What was measured, if it says so.
    pub value: Option<f64>,
    /// What distinguishes it from other alerts; empty where its labels do.
    pub key: String,
}

/// What one body holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Notices {
    /// Its form.
    pub form: AlertForm,
    /// What groups the alerts, if the sender says so.
    pub group: Option<String>,
    /// The labels of the group.
    pub group_labels: BTreeMap<String, String>,
    /// The alerts.
    pub alerts: Vec<Notice>,
    /// How many alerts the sender has left out.
    pub truncated: u64,
    /// Why alerts of it cannot be used, one reason each.
    pub unusable: Vec<String>,
    /// Where a subscription is confirmed, and to which topic.
    pub subscription: Option<(String, String)>,
}

/// The label with the id of the incident of PagerDuty that an alert came from, at which notes are added.
pub const PAGERDUTY_INCIDENT: &str = "pagerduty_incident";

/// What is said of a body of no known form.
const EXPECTED: &str = "expected a JSON body of Alertmanager (webhook or api/v2/alerts), Prometheus (api/v1/alerts or \
                        rules), Grafana, PagerDuty, Opsgenie, Datadog, CloudWatch over SNS, or a CloudEvent";

/// Reads a body of alerts, of any sender.
///
/// ```
/// use eog_sre::{AlertForm, read_notices};
/// let body = serde_json::json!([{"labels": {"alertname": "Slow", "service": "cart"}}]);
/// let read = read_notices(&body)?;
/// assert_eq!((read.form, read.alerts.len()), (AlertForm::AlertmanagerApi, 1));
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// In one line, what was expected and what was found.
pub fn read_notices(body: &Value) -> Result<Notices, String> {
    let found = match body {
        Value::Array(list) => of_list(list),
        Value::Object(map) => of_object(body, map),
        _ => None,
    };
    found.unwrap_or_else(|| Err(format!("{EXPECTED}; found {}", outline(body))))
}

type Read = Option<Result<Notices, String>>;

fn of_list(list: &[Value]) -> Read {
    let has = |pointer: &str| list.iter().any(|it| it.pointer(pointer).is_some());
    if has("/specversion") {
        let mut all = Notices::new(AlertForm::CloudEvent);
        for one in list {
            match read_notices(one) {
                Ok(read) => all.join(read),
                Err(reason) => all.unusable.push(reason),
            }
        }
        return Some(Ok(all));
    }
    if list.is_empty() || has("/labels") {
        // As `/api/v2/alerts/groups` answers, alerts are within groups.
        let groups = list.iter().filter_map(|group| group.get("alerts")?.as_array()).flatten();
        let (groups, plain): (Vec<&Value>, Vec<&Value>) =
            (groups.collect(), list.iter().filter(|it| it.get("alerts").is_none()).collect());
        let mut all = Notices::new(AlertForm::AlertmanagerApi);
        all.add(groups.into_iter().chain(plain));
        return Some(Ok(all));
    }
    None
}

fn of_object(body: &Value, map: &Map<String, Value>) -> Read {
    let has = |name: &str| map.contains_key(name);
    if let Some(kind) = text(body, "/Type").filter(|_| has("TopicArn")) {
        return Some(sns(body, kind));
    }
    if has("specversion") {
        return Some(cloud_event(body));
    }
    if has("AlarmName") {
        return Some(cloud_watch(body));
    }
    if let Some(alerts) = body.pointer("/data/alerts").and_then(Value::as_array) {
        let mut all = Notices::new(AlertForm::PrometheusAlerts);
        all.add(alerts);
        return Some(Ok(all));
    }
    if let Some(groups) = body.pointer("/data/groups").and_then(Value::as_array) {
        let rules = groups.iter().filter_map(|group| group.get("rules")?.as_array()).flatten();
        let alerts = rules.filter_map(|rule| rule.get("alerts")?.as_array()).flatten();
        let mut all = Notices::new(AlertForm::PrometheusRules);
        all.add(alerts);
        return Some(Ok(all));
    }
    if let Some(alerts) = map.get("alerts").and_then(Value::as_array) {
        return Some(webhook(body, alerts));
    }
    if body.pointer("/event/event_type").is_some() {
        return Some(pager_duty(body));
    }
    if has("event_action") && has("payload") {
        return Some(pager_duty_event(body));
    }
    if has("action") && body.pointer("/alert/alertId").is_some() {
        return Some(opsgenie(body));
    }
    if has("event_type") || has("alert_transition") || has("alert_title") {
        return Some(datadog(body, map));
    }
    None
}

/// The names of a body, so that its sender finds it again.
fn outline(body: &Value) -> String {
    match body {
        Value::Object(map) if map.is_empty() => "an empty object".to_owned(),
        Value::Object(map) => {
            let names: Vec<&str> = map.keys().take(8).map(String::as_str).collect();
            format!("an object with {}", eog_evidence::shorten(&names.join(", "), 200))
        }
        Value::Array(list) => format!("a list of {} that hold no labels", list.len()),
        _ => "neither an object nor a list".to_owned(),
    }
}

impl Notices {
    fn new(form: AlertForm) -> Self {
        Self {
            form,
            group: None,
            group_labels: BTreeMap::new(),
            alerts: Vec::new(),
            truncated: 0,
            unusable: Vec::new(),
            subscription: None,
        }
    }

    /// One alert, which makes a group of its own by its key.
    fn one(form: AlertForm, sender: &str, alert: Notice) -> Self {
        let group = format!("{sender} {}", alert.key);
        Self { group: Some(group), alerts: vec![alert], ..Self::new(form) }
    }

    fn join(&mut self, other: Self) {
        self.alerts.extend(other.alerts);
        self.unusable.extend(other.unusable);
        self.truncated += other.truncated;
        if self.group.is_none() {
            self.group = other.group;
        }
    }

    /// Adds alerts as Prometheus, Alertmanager and Grafana write them.
    fn add<'a>(&mut self, alerts: impl IntoIterator<Item = &'a Value>) {
        for (at, alert) in alerts.into_iter().enumerate() {
            match labelled(alert) {
                Ok(alert) => self.alerts.push(alert),
                Err(reason) => self.unusable.push(format!("alert {}: {reason}", at + 1)),
            }
        }
    }
}

type Texts = BTreeMap<String, String>;

impl Notice {
    /// An alert that began at a time, or is over since then.
    fn new(
        key: impl Into<String>,
        (labels, annotations): (Texts, Texts),
        state: AlertState,
        at: Option<Timestamp>,
    ) -> Self {
        let (is_over, key) = (state == AlertState::Resolved, key.into());
        let (starts_at, ends_at) = (at.filter(|_| !is_over), at.filter(|_| is_over));
        Self { labels, annotations, state, starts_at, ends_at, value: None, key }
    }
}

fn state(is_over: bool) -> AlertState {
    if is_over { AlertState::Resolved } else { AlertState::Firing }
}

/// Texts by their names, without those that are empty.
fn filled<'a>(all: impl IntoIterator<Item = (&'a str, &'a str)>) -> Texts {
    let mut texts = Texts::new();
    all.into_iter().for_each(|(name, value)| put(&mut texts, name, value));
    texts
}

/// An alert with labels: `startsAt` of Alertmanager and Grafana, `activeAt` of Prometheus.
fn labelled(alert: &Value) -> Result<Notice, String> {
    let mut labels = texts(alert.get("labels"));
    let name = labels.get("alertname").map(|name| name.trim()).filter(|name| !name.is_empty());
    let name = name.ok_or("it has no label alertname")?.to_owned();
    labels.insert("alertname".to_owned(), name);
    let mut annotations = texts(alert.get("annotations"));
    for (field, name) in [("generatorURL", "generatorURL"), ("valueString", "value")] {
        if let Some(text) = text(alert, &format!("/{field}")) {
            annotations.entry(name.to_owned()).or_insert_with(|| text.to_owned());
        }
    }
    let starts = ["startsAt", "activeAt"].iter().find_map(|name| alert.get(*name));
    let starts_at = match starts.filter(|it| !it.is_null()) {
        Some(given) => Some(read_time(given).ok_or_else(|| format!("{given} is no time"))?),
        None => None,
    };
    // Zero stands for none.
    let ends_at = alert.get("endsAt").and_then(read_time).filter(|at| at.as_second() > 0);
    // `status` is a word in the webhook, and an object in the interface.
    let state = ["/state", "/status", "/status/state"].iter().find_map(|at| text(alert, at));
    let state = state.or(labels.get("alertstate").map(String::as_str)).unwrap_or("firing");
    let state = match state.to_lowercase().as_str() {
        "pending" => AlertState::Pending,
        "resolved" | "inactive" | "normal" | "ok" => AlertState::Resolved,
        _ => AlertState::Firing,
    };
    let value = alert.get("value").and_then(number);
    let key = text(alert, "/fingerprint").unwrap_or_default().to_owned();
    Ok(Notice { labels, annotations, state, starts_at, ends_at, value, key })
}

fn webhook(body: &Value, alerts: &[Value]) -> Result<Notices, String> {
    let version = text(body, "/version");
    let grafana = ["orgId", "valueString", "ruleUID"].iter().any(|name| body.get(*name).is_some())
        || alerts.iter().any(|it| it.get("valueString").is_some());
    let form = match (version, grafana) {
        (Some("4"), false) => AlertForm::AlertmanagerWebhook,
        (Some("1") | None, _) | (_, true) => AlertForm::Grafana,
        (Some(other), false) => {
            let other = eog_evidence::shorten(other, 20);
            return Err(format!(
                "version {other:?} of a webhook of alerts; expected \"4\" of Alertmanager or \"1\" of Grafana"
            ));
        }
    };
    let mut all = Notices::new(form);
    all.group = text(body, "/groupKey").map(str::to_owned);
    all.group_labels = texts(body.get("groupLabels"));
    all.truncated = body.get("truncatedAlerts").and_then(Value::as_u64).unwrap_or(0);
    all.add(alerts);
    Ok(all)
}

fn pager_duty(body: &Value) -> Result<Notices, String> {
    let event = text(body, "/event/event_type").unwrap_or_default();
    let of = |name: &str| text(body, &format!("/event/data/{name}"));
    if text(body, "/event/resource_type").is_some_and(|kind| kind != "incident") {
        let event = eog_evidence::shorten(event, 60);
        return Err(format!("PagerDuty event {event:?}: only events of incidents are read"));
    }
    let title = of("title").or(of("summary")).unwrap_or("PagerDuty incident");
    let labels = filled([
        ("alertname", title),
        ("service", text(body, "/event/data/service/summary").unwrap_or_default()),
        (PAGERDUTY_INCIDENT, of("id").unwrap_or_default()),
        ("severity", of("urgency").unwrap_or_default()),
        ("priority", text(body, "/event/data/priority/summary").unwrap_or_default()),
    ]);
    let url = of("html_url").unwrap_or_default();
    let annotations = filled([("summary", title), ("generatorURL", url)]);
    let is_over = event == "incident.resolved" || of("status") == Some("resolved");
    let at = |pointer: &str| body.pointer(pointer).and_then(read_time);
    let occurred = at("/event/occurred_at");
    let key = of("incident_key").or(of("id")).unwrap_or(title);
    let alert = Notice {
        starts_at: at("/event/data/created_at").or(occurred),
        ..Notice::new(key, (labels, annotations), state(is_over), occurred)
    };
    Ok(Notices::one(AlertForm::PagerDuty, "pagerduty", alert))
}

fn pager_duty_event(body: &Value) -> Result<Notices, String> {
    let of = |name: &str| text(body, &format!("/payload/{name}")).unwrap_or_default();
    let action = text(body, "/event_action").unwrap_or_default();
    let key = text(body, "/dedup_key").unwrap_or_default();
    let name = [of("class"), of("summary"), key].into_iter().find(|it| !it.is_empty());
    let own = ["severity", "component", "group", "source"].map(|name| (name, of(name)));
    let name = ("alertname", name.unwrap_or("PagerDuty event"));
    let mut labels = filled(std::iter::once(name).chain(own));
    add(&mut labels, texts(body.pointer("/payload/custom_details")));
    let url = text(body, "/client_url").unwrap_or_default();
    let annotations = filled([("summary", of("summary")), ("generatorURL", url)]);
    let starts_at = body.pointer("/payload/timestamp").and_then(read_time);
    let state = state(action == "resolve");
    let alert = Notice { starts_at, ..Notice::new(key, (labels, annotations), state, None) };
    let mut one = Notices::one(AlertForm::PagerDutyEvent, "pagerduty", alert);
    if key.is_empty() {
        one.group = Some(format!("pagerduty {}", of("summary")));
    }
    Ok(one)
}

fn opsgenie(body: &Value) -> Result<Notices, String> {
    let of = |name: &str| text(body, &format!("/alert/{name}")).unwrap_or_default();
    let own = ["priority", "entity", "source"].map(|name| (name, of(name)));
    let mut labels = filled(std::iter::once(("alertname", of("message"))).chain(own));
    for tag in body.pointer("/alert/tags").and_then(Value::as_array).into_iter().flatten() {
        tagged(&mut labels, tag.as_str().unwrap_or_default());
    }
    add(&mut labels, texts(body.pointer("/alert/details")));
    labels.entry("alertname".to_owned()).or_insert_with(|| "Opsgenie alert".to_owned());
    let annotations = filled([("summary", of("message")), ("description", of("description"))]);
    let state = state(matches!(text(body, "/action"), Some("Close" | "Delete")));
    let at = |name: &str| body.pointer(&format!("/alert/{name}")).and_then(read_time);
    let key = [of("alias"), of("alertId")].into_iter().find(|it| !it.is_empty());
    let alert = Notice::new(key.unwrap_or_default(), (labels, annotations), state, at("updatedAt"));
    let alert = Notice { starts_at: at("createdAt"), ..alert };
    Ok(Notices::one(AlertForm::Opsgenie, "opsgenie", alert))
}

/// Datadog's webhook: its default payload, and the variables that people add, under the names of its documentation.
fn datadog(body: &Value, map: &Map<String, Value>) -> Result<Notices, String> {
    let find = |names: &[&str]| {
        let same = |key: &str| names.iter().any(|name| key.eq_ignore_ascii_case(name));
        let found = map.iter().find(|(key, value)| same(key) && !value.is_null());
        found.map(|(_, value)| plain(value)).filter(|text| !text.is_empty())
    };
    let title = find(&["alert_title", "title", "event_title"]).unwrap_or_default();
    let (title_state, scope, name) = datadog_title(&title);
    let found = |names: &[&str]| find(names).unwrap_or_default();
    let mut labels =
        filled([("alertname", if name.is_empty() { "Datadog monitor" } else { name })]);
    let scopes = [Some(scope.to_owned()), find(&["alert_scope", "scope"]), find(&["tags"])];
    for tag in scopes.iter().flatten().flat_map(|scope| scope.split(',')) {
        tagged(&mut labels, tag.trim());
    }
    put(&mut labels, "host", &found(&["hostname", "host"]));
    put(&mut labels, "severity", &found(&["alert_type", "priority"]));
    let annotations = filled([
        ("summary", title.as_str()),
        ("description", &found(&["body", "event_msg", "text_only_msg"])),
        ("query", &found(&["alert_query"])),
        ("generatorURL", &found(&["link"])),
    ]);
    let transition = found(&["alert_transition", "alert_status"]);
    let is_over = [title_state, transition.as_str()]
        .iter()
        .any(|it| it.to_lowercase().contains("recovered") || it.eq_ignore_ascii_case("ok"))
        || find(&["alert_type"]).is_some_and(|it| it == "success");
    let at = find(&["date", "last_updated", "event_time"]);
    let at = at.and_then(|text| read_time(&Value::String(text)));
    let key = find(&["aggreg_key", "aggregation_key", "alert_cycle_key", "alert_id"]);
    let key = key.or_else(|| find(&["id"])).unwrap_or_else(|| name.to_owned());
    if title.is_empty() && body.get("body").is_none() {
        return Err(format!("{EXPECTED}; found Datadog fields without a title or body"));
    }
    let alert = Notice::new(key, (labels, annotations), state(is_over), at);
    Ok(Notices::one(AlertForm::Datadog, "datadog", alert))
}

/// State, scope and name out of `[Triggered on {host:a,service:b}] Name`.
fn datadog_title(title: &str) -> (&str, &str, &str) {
    let Some((state, name)) = title.strip_prefix('[').and_then(|it| it.split_once(']')) else {
        return ("", "", title.trim());
    };
    match state.split_once(" on {") {
        Some((state, scope)) => (state, scope.trim_end_matches('}'), name.trim()),
        None => (state, "", name.trim()),
    }
}

/// Adds labels, of which those that are there already stay.
fn add(labels: &mut Texts, more: Texts) {
    for (name, value) in more {
        labels.entry(name).or_insert(value);
    }
}

/// Adds a tag `name:value` as a label.
fn tagged(labels: &mut Texts, tag: &str) {
    if let Some((name, value)) = tag.split_once([':', '=']) {
        let (name, value) = (name.trim(), value.trim());
        if !name.is_empty() && !value.is_empty() {
            labels.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
    }
}

fn sns(body: &Value, kind: &str) -> Result<Notices, String> {
    let topic = text(body, "/TopicArn").unwrap_or_default();
    match kind {
        "SubscriptionConfirmation" | "UnsubscribeConfirmation" => {
            let mut all = Notices::new(AlertForm::SnsSubscription);
            if let Some(url) = text(body, "/SubscribeURL").filter(|_| kind.starts_with("Sub")) {
                all.subscription = Some((url.to_owned(), topic.to_owned()));
            }
            Ok(all)
        }
        _ => {
            let message = text(body, "/Message").unwrap_or_default();
            if let Ok(inner) = serde_json::from_str::<Value>(message)
                && inner.is_object()
                && inner.get("TopicArn").is_none()
            {
                return read_notices(&inner)
                    .map_err(|reason| format!("the message of an SNS notification: {reason}"));
            }
            let name = text(body, "/Subject").unwrap_or("SNS notification");
            let texts = (filled([("alertname", name)]), filled([("description", message)]));
            let at = body.get("Timestamp").and_then(read_time);
            let alert = Notice::new(format!("{topic} {name}"), texts, AlertState::Firing, at);
            Ok(Notices::one(AlertForm::CloudWatch, "sns", alert))
        }
    }
}

fn cloud_watch(body: &Value) -> Result<Notices, String> {
    let of = |pointer: &str| text(body, pointer).unwrap_or_default();
    let name = of("/AlarmName");
    let mut labels = filled([
        ("alertname", name),
        ("metric", of("/Trigger/MetricName")),
        ("metric_namespace", of("/Trigger/Namespace")),
        ("region", of("/Region")),
    ]);
    let own = body.pointer("/Trigger/Dimensions").and_then(Value::as_array).into_iter().flatten();
    let metrics = body.pointer("/Trigger/Metrics").and_then(Value::as_array).into_iter().flatten();
    let of_metrics =
        metrics.filter_map(|it| it.pointer("/MetricStat/Metric/Dimensions")?.as_array()).flatten();
    for dimension in own.chain(of_metrics) {
        let field = |low: &str, high: &str| {
            let value = dimension.get(low).or_else(|| dimension.get(high));
            value.and_then(Value::as_str).unwrap_or_default()
        };
        put(&mut labels, field("name", "Name"), field("value", "Value"));
    }
    let reason = ("description", of("/NewStateReason"));
    let annotations = filled([("summary", of("/AlarmDescription")), reason]);
    let state = match of("/NewStateValue") {
        "OK" => AlertState::Resolved,
        "INSUFFICIENT_DATA" => AlertState::Pending,
        _ => AlertState::Firing,
    };
    let at = body.get("StateChangeTime").and_then(read_time);
    let arn = if of("/AlarmArn").is_empty() { name } else { of("/AlarmArn") };
    let alert = Notice::new(arn, (labels, annotations), state, at);
    Ok(Notices::one(AlertForm::CloudWatch, "cloudwatch", alert))
}

/// An event of CloudEvents. If its data is an alert of a known form, that is what counts.
fn cloud_event(body: &Value) -> Result<Notices, String> {
    let of = |pointer: &str| text(body, pointer).unwrap_or_default();
    let data = body.get("data");
    if let Some(data) = data.filter(|data| data.is_object() || data.is_array())
        && let Ok(read) = read_notices(data)
        && read.form != AlertForm::CloudEvent
        && !(read.form == AlertForm::AlertmanagerApi && read.alerts.is_empty())
    {
        return Ok(Notices { form: AlertForm::CloudEvent, ..read });
    }
    let (kind, source, subject) = (of("/type"), of("/source"), of("/subject"));
    if kind.is_empty() || source.is_empty() {
        return Err("a CloudEvent needs type and source".to_owned());
    }
    let mut labels = texts(data.and_then(|it| it.get("labels")));
    add(&mut labels, texts(data));
    put(&mut labels, "source", source);
    put(&mut labels, "subject", subject);
    labels.entry("alertname".to_owned()).or_insert_with(|| kind.to_owned());
    let mut annotations = BTreeMap::new();
    for name in ["summary", "description", "message"] {
        put(&mut annotations, name, text(body, &format!("/data/{name}")).unwrap_or_default());
        labels.remove(name);
    }
    let ended = ["resolved", "recovered", "closed", "cleared", "ok"];
    let status = text(body, "/data/status").or(text(body, "/data/state")).unwrap_or_default();
    let last = kind.rsplit('.').next().unwrap_or_default();
    let is_over = [last, status].iter().any(|it| ended.contains(&it.to_lowercase().as_str()));
    let at = body.get("time").and_then(read_time);
    // An alert and its end are events of their own, with one source and subject.
    let key =
        if subject.is_empty() { format!("{source} {kind}") } else { format!("{source} {subject}") };
    let alert = Notice::new(key, (labels, annotations), state(is_over), at);
    Ok(Notices::one(AlertForm::CloudEvent, "cloudevents", alert))
}

fn put(texts: &mut Texts, name: &str, value: &str) {
    let value = value.trim();
    if !name.is_empty() && !value.is_empty() {
        texts.insert(name.to_owned(), value.to_owned());
    }
}

fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str().map(str::trim).filter(|text| !text.is_empty())
}

/// Texts and numbers of an object by name; what lies deeper is no label.
fn texts(value: Option<&Value>) -> Texts {
    let map = value.and_then(Value::as_object).into_iter().flatten();
    let flat = map.filter(|(_, value)| !value.is_object() && !value.is_array() && !value.is_null());
    flat.map(|(name, value)| (name.clone(), plain(value))).collect()
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.parse().ok(),
        number => number.as_f64(),
    }
}

/// A time: RFC 3339, the same with an offset as AWS writes it (`+0000`), or a number of seconds or milliseconds since 1970.
pub fn read_time(value: &Value) -> Option<Timestamp> {
    let text = match value {
        Value::String(text) => text.trim(),
        Value::Number(number) => return since_1970(number.as_f64()?),
        _ => return None,
    };
    if let Some((head, offset)) = text.len().checked_sub(5).and_then(|at| text.split_at_checked(at))
        && offset.starts_with(['+', '-'])
        && offset.bytes().skip(1).all(|c| c.is_ascii_digit())
        && head.contains('T')
    {
        let (hours, minutes) = offset.split_at(3);
        return format!("{head}{hours}:{minutes}").parse().ok();
    }
    match text.parse::<f64>() {
        Ok(number) => since_1970(number),
        Err(_) => time::parse(text),
    }
}

/// A number of seconds, milliseconds, microseconds or nanoseconds between 1973 and 2286.
fn since_1970(number: f64) -> Option<Timestamp> {
    let mut seconds = number;
    for _ in 0..3 {
        if seconds < 1e10 {
            break;
        }
        seconds /= 1000.0;
    }
    if !(1e8..1e10).contains(&seconds) {
        return None;
    }
    Timestamp::from_millisecond((seconds * 1000.0).round() as i64).ok()
}

#[cfg(test)]
mod tests;
