//! Short questions: about stored investigations, and to the tables of incidents.

use std::sync::Arc;

use eog::travel::Unjudged;
use eog::{ContextContract as _, Diagnosis, EntityId, Topology};
use eog_evidence::near_entities;
use eog_report::page::plain;
use eog_session::controllers::AnyLedger;
use eog_session::explanations;
use eog_session::source::AskError;
use eog_session::store::InvestigationId;
use eog_session::travel::{self, ExplainError, Read};
use eog_sre::tools::{ToolError, ToolInfo};
use rmcp::model::CallToolResult;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::answers::{Compared, Concluded, Explained, Listed, Summary};
use super::arguments::{self, Checked, Diff, Explain, GetContext, List, Query};
use super::catalogue::{Kind, Offered};
use super::error::Problem;
use super::form::UNKNOWN;
use super::investigations::result;
use super::{Server, words};

/// Investigations of a page unless the caller says otherwise.
const PAGE: usize = 20;

impl Server {
    /// Why an entity has its label. Blocks until it is known, the call is cancelled or the server ends.
    pub(super) fn explain(
        &self,
        arguments: &Explain,
        cancel: &CancellationToken,
    ) -> Result<CallToolResult, Problem> {
        let shared = &self.0;
        let id = shared.store.find(&arguments.investigation)?;
        let entity = arguments::entity("explain", &arguments.entity)?;
        let (began, read) = self.recorded(&id)?;
        if !matches!(read.ledger, AnyLedger::Eog(_)) {
            return self.evaluations(&id, &read, entity);
        }
        let explained = travel::explain(&read, &entity, &*shared.policies, Arc::new(()), |_| ());
        // Dropped half-way, it takes the programs with it that the policy has started.
        let explained = cancel.run_until_cancelled(shared.stop.run_until_cancelled(explained));
        let explained = tokio::runtime::Handle::current().block_on(explained);
        let explained = explained.flatten().ok_or(Problem::Cancelled(None))?;
        let explained = explained.map_err(|error| match error {
            ExplainError::Run(error) => Problem::run(&id, &began.name, error),
            ExplainError::Restore(error) => Problem::unusable(&id, &error),
            error => Problem::Store(format!("{id}: {error}")),
        })?;
        let (diagnosis, explanation) = (explained.finished.diagnosis(), explained.explanation);
        let (text, why) = match &explained.unjudged {
            Some(Unjudged::Unknown) => {
                let topology = read.ledger.case().map(|case| &case.topology);
                let others = meant(topology, &diagnosis, &entity);
                return Err(Problem::NoEntity { id, entity, others });
            }
            Some(why) => {
                let text = explanations::not_judged(&diagnosis, &entity, why, None);
                (text, Some(explanations::unjudged(why)))
            }
            None => (explanations::explanation(&diagnosis, &explanation, None, None), None),
        };
        result(&Explained::new(&id, &diagnosis, &explanation, why), plain(&text))
    }

    /// The same of a controller that judges each evaluation on its own: the policy is not called again.
    fn evaluations(
        &self,
        id: &InvestigationId,
        read: &Read,
        entity: EntityId,
    ) -> Result<CallToolResult, Problem> {
        let _ = self;
        let finished = read.restore(|_| ()).map_err(|error| Problem::unusable(id, &error))?;
        let (diagnosis, steps) = (finished.diagnosis(), finished.steps());
        let topology = read.ledger.case().map(|case| &case.topology);
        let is_known = topology.is_some_and(|topology| topology.contains(&entity));
        if !is_known && diagnosis.belief(&entity).is_none() {
            let others = meant(topology, &diagnosis, &entity);
            return Err(Problem::NoEntity { id: id.clone(), entity, others });
        }
        let text = explanations::evaluations(&diagnosis, &steps, &entity, None, None);
        result(&Explained::of_evaluations(id, &diagnosis, &steps, &entity), plain(&text))
    }

    /// Where two investigations part. Blocks.
    pub(super) fn diff(&self, arguments: &Diff) -> Result<CallToolResult, Problem> {
        let find = |text: &str| {
            let id = self.0.store.find(text)?;
            let stands = self.standing(&id)?;
            Ok::<_, Problem>((Concluded::new(&id, &stands.finished.diagnosis()), stands.read))
        };
        let (first, a) = find(&arguments.first)?;
        let (second, b) = find(&arguments.second)?;
        let difference = travel::diff(&a.ledger, &b.ledger)
            .map_err(|error| Problem::Store(error.to_string()))?;
        let lines = explanations::difference(&difference, &a.ledger, &b.ledger);
        let compared = Compared::new(&difference, &lines, first, second);
        result(&compared, compared.in_words())
    }

    /// The investigations, newest first. Blocks.
    pub(super) fn list(&self, arguments: &List) -> Result<CallToolResult, Problem> {
        let shared = &self.0;
        let ids = shared.store.ids();
        let (offset, limit) = (arguments.offset.unwrap_or(0), arguments.limit.unwrap_or(PAGE));
        let summary = |id| {
            let began = shared.store.began(id).ok();
            let ended = shared.store.ended(id);
            Summary {
                investigation: id.to_string(),
                name: began.as_ref().map(|began| began.name.clone()).unwrap_or_default(),
                path: began.map(|began| shared.roots.name(&began.folder)).unwrap_or_default(),
                status: self.status(id, ended.as_ref()).to_owned(),
                stop: ended.as_ref().map(|ended| ended.stop.clone()),
                confidence: ended.as_ref().map(|ended| ended.confidence.clone()),
                origins: ended.map(|ended| ended.origins).unwrap_or_default(),
            }
        };
        let listed = Listed {
            investigations: ids.iter().rev().skip(offset).take(limit).map(summary).collect(),
            total: ids.len(),
            offset,
            running: shared.runner.running(),
            waiting: shared.runner.waiting(),
        };
        result(&listed, listed.in_words())
    }

    /// The evidence on one entity, as the controller gets it. Blocks.
    pub(super) fn context(
        &self,
        arguments: &GetContext,
        cancel: &CancellationToken,
    ) -> Result<CallToolResult, Problem> {
        let shared = &self.0;
        let request = arguments.request()?;
        let folder = shared.roots.folder(arguments.path.as_deref())?;
        let architecture =
            arguments.architecture.as_deref().map(|path| shared.roots.file(path)).transpose()?;
        let called = shared.roots.name(folder.path());
        let source = shared.library.load(&folder, architecture.as_ref(), Some(self.gone(cancel)));
        let source = source.map_err(|error| Problem::open(&called, &error))?;
        let runtime = tokio::runtime::Handle::current();
        let context = runtime
            .block_on(source.get_context(&request))
            .map_err(|failure| Problem::Input { folder: called, reason: failure.to_string() })?;
        let mut text = words::context(&request.entity, &context);
        let topology = &source.incident().topology;
        if context.findings.is_empty() && !topology.contains(&request.entity) {
            let near = near_entities(topology, request.entity.as_str());
            let near = match near.as_slice() {
                [] => String::new(),
                near => format!("; similar: {}", near.join(", ")),
            };
            text += &format!("\n{UNKNOWN}{}{near}.", request.entity);
        }
        result(&context, text)
    }

    /// One question to a table of an incident, or the description of the table. Blocks.
    pub(super) fn query(
        &self,
        query: Query,
        cancel: &CancellationToken,
    ) -> Result<CallToolResult, Problem> {
        let Some((tool, Offered { kind: Kind::Table(info), arguments: checked })) =
            self.0.catalogue.find(&query.table)
        else {
            return Err(Problem::Store(format!("there is no table {:?}", query.table)));
        };
        if query.describe == Some(true) {
            let described = json!({
                "table": info.name,
                "description": tool.description,
                "arguments": self.0.catalogue.arguments(info),
            });
            let text = serde_json::to_string_pretty(&described).unwrap_or_default();
            return result(&described, text);
        }
        let mut arguments = query.arguments.unwrap_or_default();
        let places = [("path", query.path), ("architecture", query.architecture)];
        for (name, path) in places {
            if let Some(path) = path {
                arguments.insert(name.to_owned(), Value::String(path));
            }
        }
        self.question(info, checked, arguments, cancel)
    }

    /// One question to an incident. Blocks.
    pub(super) fn question(
        &self,
        info: &ToolInfo,
        checked: &Checked,
        mut arguments: Map<String, Value>,
        cancel: &CancellationToken,
    ) -> Result<CallToolResult, Problem> {
        let shared = &self.0;
        let all = Value::Object(arguments.clone());
        let all_wrong = || arguments::all_wrong(checked, &all);
        let tool = || info.name.to_owned();
        // Before a folder is read: it may be the folder whose name is misspelt.
        if arguments.keys().any(|name| !checked.knows(name)) {
            return Err(Problem::Arguments { tool: tool(), wrong: all_wrong() });
        }
        let mut path = |name: &str| match arguments.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(path)) => Ok(Some(path)),
            Some(_) => Err(Problem::Arguments { tool: tool(), wrong: all_wrong() }),
        };
        let folder = shared.roots.folder(path("path")?.as_deref())?;
        let architecture =
            path("architecture")?.map(|path| shared.roots.file(&path)).transpose()?;
        let called = shared.roots.name(folder.path());
        let source = shared.library.load(&folder, architecture.as_ref(), Some(self.gone(cancel)));
        let source = source.map_err(|error| Problem::open(&called, &error))?;
        let answered = source.ask(info.name, Value::Object(arguments));
        let text = answered.map_err(|error| match error {
            // The tool names the first argument that does not fit; all of them help more.
            AskError::Tool(ToolError::Arguments { tool, reason }) => {
                let mut wrong = all_wrong();
                if wrong.is_empty() {
                    wrong.push(reason);
                }
                Problem::Arguments { tool, wrong }
            }
            AskError::Tool(other) => other.into(),
            other => Problem::Input { folder: called, reason: other.to_string() },
        })?;
        let value: Value = serde_json::from_str(&text)
            .map_err(|error| Problem::Store(format!("the answer cannot be read: {error}")))?;
        result(&value, text)
    }
}

/// Entities that may be meant: near names of the topology, else some that were evaluated.
fn meant(topology: Option<&Topology>, diagnosis: &Diagnosis, entity: &EntityId) -> Vec<String> {
    let near = topology.map(|topology| near_entities(topology, entity.as_str()));
    if let Some(near) = near.filter(|near| !near.is_empty()) {
        return near;
    }
    let evaluated: Vec<&str> = diagnosis.beliefs.keys().map(EntityId::as_str).collect();
    let wanted = entity.as_str().to_lowercase();
    let alike = |other: &&&str| {
        let other = other.to_lowercase();
        other.contains(&wanted) || wanted.contains(&other)
    };
    let mut meant: Vec<&str> = evaluated.iter().filter(alike).copied().take(5).collect();
    if meant.is_empty() {
        meant = evaluated.into_iter().take(5).collect();
    }
    meant.into_iter().map(str::to_owned).collect()
}
