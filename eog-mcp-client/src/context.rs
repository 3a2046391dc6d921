//! The context contract over the tools of servers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use eog_core::evidence::{EvidenceTime, FindingContent};
use eog_core::{
    Anomaly, BoxFuture, ContextContract, ContextRequest, EntityId, EvidenceKind, Failure, Finding,
    LocalContext, Timestamp, Window,
};
use eog_evidence::{EffectMap, Incident, Periods, alert_findings, mask_text, shorten};
use futures_util::future::join_all;
use jiff::SignedDuration;
use serde_json::{Map, Value};

use super::config::{Call, EvidenceQuery, Limits, McpConfig, Order};
use super::connection::ToolAnswer;
use super::error::{CallError, Cause};
use super::mapping::{Origin, Unread};
use super::masked::masked;
use super::remote::Remote;
use super::rows::{Row, unmasked_json_of};
use super::template::{Filling, Hole, write_time};

/// Most findings that a server may give as a whole context.
const MAX_DIRECT: usize = 1000;

/// Longest query that a finding carries, in characters.
const MAX_QUERY: usize = 400;

pub(super) type Remotes = Arc<BTreeMap<String, Remote>>;

/// Local evidence from MCP servers: a whole context from a tool that gives one, or one composed of
/// the answers of ordinary tools, or both.
///
/// A composed context holds, in this order: changes on the entity, the latest first; notes on what
/// can have reached it; failures and other findings that were asked for at the start; its alerts;
/// and what each evidence query gave, in the order of the configuration.
///
/// Made by [`McpSource::open`](super::McpSource::open). It works on the tokio runtime that it was
/// opened on, and its servers end with it.
pub struct McpContext {
    remotes: Remotes,
    config: McpConfig,
    known: Known,
}

/// What was learnt at the start.
struct Known {
    alerts: Vec<Anomaly>,
    findings: BTreeMap<EntityId, Vec<Finding>>,
    effects: EffectMap,
}

impl McpContext {
    pub(super) fn new(
        remotes: Remotes,
        config: McpConfig,
        incident: &Incident,
        initial: Vec<Finding>,
    ) -> Self {
        let mut findings: BTreeMap<EntityId, Vec<Finding>> = BTreeMap::new();
        for finding in initial {
            findings.entry(finding.entity.clone()).or_default().push(finding);
        }
        let alerts = incident.anomalies.clone();
        let effects = EffectMap::new(&incident.topology, &incident.changes, &alerts);
        Self { remotes, config, known: Known { alerts, findings, effects } }
    }

    async fn context(&self, request: &ContextRequest) -> Result<LocalContext, Failure> {
        let Some(query) = &request.query else {
            let (findings, context) = self.all(request).await?;
            return Ok(match self.config.evidence[..] {
                // The server cuts pages itself.
                [] => LocalContext { findings, ..context },
                _ => page(findings, request.page, self.config.limits, context),
            });
        };
        // Servers are not asked otherwise than for a context: it is searched here.
        let whole = ContextRequest::whole(query.entity.clone(), request.window, []);
        let (findings, context) = self.all(&ContextRequest { page: 0, ..whole }).await?;
        Ok(query.answer(findings, context.coverage))
    }

    /// All findings on an entity, and the rest of its context.
    async fn all(&self, request: &ContextRequest) -> Result<(Vec<Finding>, LocalContext), Failure> {
        let mut context = LocalContext::default();
        if let Some(call) = &self.config.context {
            context = self.direct(call, request).await?;
        }
        if self.config.evidence.is_empty() {
            return Ok((std::mem::take(&mut context.findings), context));
        }
        let mut findings = self.known.about(&request.entity, request.window, &mut context);
        findings.append(&mut context.findings);
        let asked = self.config.evidence.iter().map(|query| self.evidence(query, request));
        for (query, answer) in self.config.evidence.iter().zip(join_all(asked).await) {
            match answer {
                Ok(mut found) => {
                    findings.append(&mut found.findings);
                    context.omitted.append(&mut found.omitted);
                }
                Err(error) if query.optional => {
                    context.omitted.push(format!("{}: {}", query.name, error.message));
                }
                Err(error) => return Err(error),
            }
        }
        let mut seen = BTreeSet::new();
        findings.retain(|finding| seen.insert(finding.id().clone()));
        Ok((findings, context))
    }

    /// A context that a server gives as a whole.
    async fn direct(&self, call: &Call, request: &ContextRequest) -> Result<LocalContext, Failure> {
        let scope = Scope { request, row: self.parts(None, &request.entity), lead: 0 };
        let (answer, _) = self.call("context", call, &scope).await?;
        let wrong = |reason: String| {
            let Call { server, tool, .. } = call;
            Failure::context(format!("server {server}, tool {tool}: {reason}"))
        };
        let source = format!("{}/{}", call.server, call.tool);
        let value = completed(unmasked_json_of(&answer).map_err(wrong)?, &source, &request.entity);
        let context: LocalContext = serde_json::from_value(value)
            .map_err(|error| mask_text(&error.to_string()))
            .map_err(|error| wrong(format!("its answer is not a context: {error}")))?;
        let hops = context.routes.iter().map(|route| route.hops.len() + 1).sum();
        let many = [context.findings.len(), context.mentions.len(), hops];
        if many.into_iter().any(|many| many > MAX_DIRECT) {
            let reason =
                format!("its answer has more than {MAX_DIRECT} findings, mentions or hops");
            return Err(wrong(reason));
        }
        masked(context).map_err(|error| wrong(error.to_string()))
    }

    /// The groups of an entity's name, or nothing when it has no such name.
    fn parts(&self, own: Option<&super::rows::Pattern>, entity: &EntityId) -> Option<Row> {
        match own.or(self.config.entity.as_ref()) {
            Some(pattern) => pattern.groups(entity.as_str()),
            None => Some(Row::default()),
        }
    }

    async fn evidence(
        &self,
        query: &EvidenceQuery,
        request: &ContextRequest,
    ) -> Result<LocalContext, Failure> {
        let mut found = LocalContext::default();
        let parts = self.parts(query.entity.as_ref(), &request.entity);
        // Not every query is about every kind of entity.
        if parts.is_none() {
            return Ok(found);
        }
        let scope = Scope { request, row: parts, lead: query.lead_seconds };
        let (answer, asked) = self.call(&query.name, &query.call, &scope).await?;
        let Call { server, tool, .. } = &query.call;
        let wrong = |reason: String| {
            Failure::context(format!("{} (server {server}, tool {tool}): {reason}", query.name))
        };
        let read = query.rows.read(&answer).map_err(wrong)?;
        let (source, asked) = (format!("{server}/{tool}"), shorten(&asked, MAX_QUERY));
        let origin = Origin {
            entity: Some(&request.entity),
            source: &source,
            query: &asked,
            window: Some(request.window),
        };
        let mut unread = Unread::default();
        let mut outside = 0;
        let mut understood = 0;
        if let Some(map) = &query.finding {
            for row in &read.rows {
                match map.finding(row, &origin) {
                    Err(reason) => unread.add(reason),
                    Ok(finding) => {
                        understood += 1;
                        if finding.entity != request.entity || !is_in(&finding, request.window) {
                            outside += 1;
                        } else {
                            found.findings.push(finding);
                        }
                    }
                }
            }
        }
        if let Some(map) = &query.series {
            found.findings = map.findings(&read.rows, &origin, &self.periods(request), &mut unread);
            understood = read.rows.len() - unread.count();
        }
        let unread = unread.judge(understood).map_err(wrong)?;
        sort(&mut found.findings, query.order);
        let more = found.findings.len().saturating_sub(query.limit);
        found.findings.truncate(query.limit);
        let mut note = |count: usize, what: &str| {
            if count > 0 {
                found.omitted.push(format!("{}: {count} {what}", query.name));
            }
        };
        note(more, "findings beyond its limit");
        note(outside, "findings outside the window or about other entities");
        note(read.left_out, "rows beyond the limit of one answer");
        found.omitted.extend(unread.map(|unread| format!("{}: {unread}", query.name)));
        Ok(found)
    }

    async fn call(
        &self,
        name: &str,
        call: &Call,
        scope: &Scope<'_>,
    ) -> Result<(ToolAnswer, String), CallError> {
        let arguments =
            call.arguments.fill(|hole| scope.value(hole)).map_err(|reason| CallError {
                cause: Cause::Refused,
                message: format!("{name} was not queried: {reason}"),
            })?;
        ask(&self.remotes, call, arguments).await
    }

    fn periods(&self, request: &ContextRequest) -> Periods {
        let onsets = self.known.alerts.iter().flat_map(Anomaly::onsets);
        let alerts = Periods {
            baseline: self.config.baseline.into(),
            first_onset: onsets.filter(|onset| request.window.contains(*onset)).min(),
            ..Periods::new(request.window)
        };
        alerts.heeding_late_alerts()
    }
}

/// A context with what a server need not know: ids of findings, which follow from their content, and what has a usual value.
/// A finding may be its content alone. An id that is there is checked as ever.
fn completed(mut context: Value, source: &str, entity: &EntityId) -> Value {
    let Some(findings) = context.get_mut("findings").and_then(Value::as_array_mut) else {
        return context;
    };
    for finding in findings {
        let Some(map) = finding.as_object() else { continue };
        let content = match map.get("content") {
            Some(content) if !map.contains_key("id") => content.clone(),
            None if !map.contains_key("id") => finding.clone(),
            _ => continue,
        };
        let Value::Object(mut content) = content else { continue };
        let usual = [
            ("entity", Value::from(entity.as_str())),
            ("trend", Value::from("steady")),
            ("source", Value::from(source)),
            ("query", Value::from(format!("entity={entity}"))),
            ("excerpt", Value::from("")),
        ];
        for (name, value) in usual {
            content.entry(name).or_insert(value);
        }
        // Errors in it are reported once all of it is read.
        let whole = serde_json::from_value::<FindingContent>(Value::Object(content.clone()));
        let whole = whole.ok().and_then(|content| serde_json::to_value(Finding::new(content)).ok());
        *finding = whole.unwrap_or_else(|| serde_json::json!({ "content": content }));
    }
    context
}

impl ContextContract for McpContext {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        Box::pin(self.context(request))
    }
}

/// Calls a tool. Returns the answer, and the arguments as text.
pub(super) async fn ask(
    remotes: &Remotes,
    call: &Call,
    arguments: Map<String, Value>,
) -> Result<(ToolAnswer, String), CallError> {
    let Some(remote) = remotes.get(&call.server) else {
        let message = format!("there is no server {}", call.server);
        return Err(CallError { cause: Cause::Refused, message });
    };
    let answer = remote.call(&call.tool, &arguments).await?;
    Ok((answer, Value::Object(arguments).to_string()))
}

impl Known {
    /// What the initial calls returned about one entity.
    fn about(&self, entity: &EntityId, window: Window, context: &mut LocalContext) -> Vec<Finding> {
        let last_onset = self.alerts.iter().flat_map(Anomaly::onsets).max();
        let own = self.findings.get(entity).into_iter().flatten();
        let before_end = own.filter(|finding| finding.time.start() < window.end());
        let (changes, others): (Vec<Finding>, Vec<Finding>) =
            before_end.cloned().partition(|finding| finding.kind == EvidenceKind::Change);
        let (mut changes, late): (Vec<Finding>, Vec<Finding>) = changes
            .into_iter()
            .partition(|change| last_onset.is_none_or(|last| change.time.start() <= last));
        if !late.is_empty() {
            let count = late.len();
            context.omitted.push(format!("{count} changes after the last alert began"));
        }
        changes.sort_by(|a, b| {
            (Reverse(a.time.start()), a.id()).cmp(&(Reverse(b.time.start()), b.id()))
        });
        let alerts = self.alerts.iter().filter(|alert| alert.entity == *entity);
        let alerts = alerts
            .flat_map(|alert| alert_findings(alert, "alerts"))
            .filter(|finding| finding.time.start() < window.end());
        let others = others.into_iter().filter(|finding| is_in(finding, window));
        let notes = self.effects.notes(entity);
        changes.extend(notes.findings);
        context.routes.extend(notes.routes);
        changes.into_iter().chain(others).chain(alerts).collect()
    }
}

/// What placeholders stand for in a call about one entity.
struct Scope<'a> {
    request: &'a ContextRequest,
    row: Option<Row>,
    lead: u32,
}

impl Scope<'_> {
    fn value(&self, hole: &Hole) -> Result<Filling, String> {
        let request = self.request;
        match hole.name.as_str() {
            "entity" => Ok(Filling::Text(request.entity.as_str().to_owned())),
            "page" => Ok(Filling::Number(request.page.into())),
            "visit" => Ok(Filling::Number(request.visit.into())),
            "changed_neighbours" => {
                let names = request.changed_neighbours.iter();
                Ok(Filling::List(names.map(ToString::to_string).collect()))
            }
            name => match self.row.as_ref().and_then(|row| row.get(name)) {
                Some(part) => Ok(Filling::Text(part.to_owned())),
                None => of_window(hole, request.window, self.lead),
            },
        }
    }
}

/// What placeholders stand for in every call.
pub(super) fn of_window(hole: &Hole, window: Window, lead: u32) -> Result<Filling, String> {
    let lead = SignedDuration::from_secs(lead.into());
    let start = window.start().checked_sub(lead).unwrap_or(Timestamp::MIN);
    match hole.name.as_str() {
        "start" => write_time(start, hole.format.as_deref()),
        "end" => write_time(window.end(), hole.format.as_deref()),
        "seconds" => Ok(Filling::Number(window.end().duration_since(start).as_secs())),
        name => Err(format!("the name of the entity has no part {name:?}")),
    }
}

fn is_in(finding: &Finding, window: Window) -> bool {
    match finding.time {
        // A change before the window can be what is seen in it.
        EvidenceTime::At(at) if finding.kind == EvidenceKind::Change => at < window.end(),
        EvidenceTime::At(at) => window.contains(at),
        EvidenceTime::During(during) => {
            during.start() < window.end() && window.start() < during.end()
        }
    }
}

fn sort(findings: &mut [Finding], order: Order) {
    let size = |finding: &Finding| finding.quantity.as_ref().map_or(0.0, |q| q.observed.abs());
    match order {
        Order::AsGiven => {}
        Order::Newest => findings.sort_by_key(|finding| Reverse(finding.time.start())),
        Order::Oldest => findings.sort_by_key(|finding| finding.time.start()),
        Order::Largest => findings.sort_by(|a, b| size(b).total_cmp(&size(a))),
    }
}

/// Cuts findings into pages by number and tokens, and gives one of them; page 0 is all.
fn page(
    findings: Vec<Finding>,
    number: u32,
    limits: Limits,
    mut context: LocalContext,
) -> LocalContext {
    if number == 0 {
        context.findings = findings;
        return context;
    }
    let mut pages: Vec<Vec<Finding>> = vec![Vec::new()];
    let mut used = 0;
    for finding in findings {
        let bytes = serde_json::to_vec(&finding).map_or(0, |json| json.len());
        let tokens = bytes.div_ceil(3);
        let full = pages.last().is_some_and(|page| {
            page.len() >= limits.findings || (!page.is_empty() && used + tokens > limits.tokens)
        });
        if full {
            pages.push(Vec::new());
            used = 0;
        }
        used += tokens;
        if let Some(page) = pages.last_mut() {
            page.push(finding);
        }
    }
    let at = usize::try_from(number - 1).unwrap_or(usize::MAX);
    let count = |pages: Option<&[Vec<Finding>]>| pages.into_iter().flatten().map(Vec::len).sum();
    let before: usize = count(pages.get(..at.min(pages.len())));
    let after: usize = count(pages.get(at.saturating_add(1)..));
    for (count, place) in [(before, "earlier"), (after, "later")] {
        if count > 0 {
            context.omitted.push(format!("{count} findings on {place} pages"));
        }
    }
    let left = pages.len().saturating_sub(at.saturating_add(1));
    context.pages_left = u32::try_from(left).unwrap_or(u32::MAX);
    context.findings = if at < pages.len() { pages.swap_remove(at) } else { Vec::new() };
    context
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_server_need_not_know_ids_and_usual_values() {
        let entity = EntityId::new("cart").unwrap();
        let short = json!({"kind": "event", "signal": "availability", "time": {"at": "2026-01-01T10:00:00Z"}});
        for finding in [short.clone(), json!({ "content": short })] {
            let context = completed(json!({ "findings": [finding] }), "own/get_context", &entity);
            let read: LocalContext = serde_json::from_value(context).unwrap();
            let [found] = &read.findings[..] else { panic!("{read:?}") };
            assert_eq!(found.entity, entity);
            assert_eq!(
                (found.source.as_str(), found.trend),
                ("own/get_context", eog_core::evidence::Trend::Steady)
            );
            assert_eq!(*found, Finding::new(found.content().clone()));
            // One that it gives is checked.
            let mut wrong = serde_json::to_value(&read).unwrap();
            wrong["findings"][0]["content"]["excerpt"] = "other".into();
            let wrong = completed(wrong, "own/get_context", &entity);
            assert!(serde_json::from_value::<LocalContext>(wrong).is_err());
        }
        let broken = completed(json!({"findings": [{"kind": "event"}]}), "s/t", &entity);
        let error = serde_json::from_value::<LocalContext>(broken).unwrap_err().to_string();
        assert!(error.contains("signal"), "{error}");
    }
}
