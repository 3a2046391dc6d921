//! Short questions: about stored investigations, and to snapshots.

use eog::travel;
use eog::{CallRecorder, ContextContract as _, EntityId, Usage};
use eog_sre::tools::{ToolError, ToolInfo};
use rmcp::model::CallToolResult;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::answers::{Compared, Concluded, Explained, Listed, Summary};
use super::arguments::{self, Checked, Diff, Explain, GetContext, List};
use super::error::Problem;
use super::investigations::result;
use super::{Run, Server, words};

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
        let (_, finished) = self.standing(&id)?;
        let case = self.same_judge(&id, finished.ledger())?;
        let recorder = CallRecorder::in_memory();
        let run = Run { recorder: &recorder, spent_before: Usage::default() };
        let judge = shared.policies.judge(run).map_err(Problem::Judge)?;
        let (policy, limits) = (judge.policy(case), judge.limits());
        let runtime = tokio::runtime::Handle::current();
        // Dropped half-way, it takes the programs with it that the policy has started.
        let explained = travel::explain(finished.ledger(), &entity, Some(&*policy), limits);
        let explained = cancel.run_until_cancelled(shared.stop.run_until_cancelled(explained));
        let explanation =
            runtime.block_on(explained).flatten().ok_or(Problem::Cancelled(None))?.map_err(
                |error| Problem::Store(format!("{id}: its ledger cannot be used: {error}")),
            )?;
        if explanation.belief.is_none() {
            let others = meant(&finished, &entity);
            return Err(Problem::NeverEvaluated { id, entity, others });
        }
        let diagnosis = finished.diagnosis();
        let text = shared.reports.explanation(&diagnosis, &explanation);
        result(&Explained::new(&id, &diagnosis, &explanation), text)
    }

    /// Where two investigations part. Blocks.
    pub(super) fn diff(&self, arguments: &Diff) -> Result<CallToolResult, Problem> {
        let find = |text: &str| {
            let id = self.0.store.find(text)?;
            let (_, finished) = self.standing(&id)?;
            Ok::<_, Problem>((Concluded::new(&id, &finished.diagnosis()), finished))
        };
        let (first, a) = find(&arguments.first)?;
        let (second, b) = find(&arguments.second)?;
        let difference = travel::diff(a.ledger(), b.ledger());
        let words = self.0.reports.difference(&difference, a.ledger(), b.ledger());
        let compared = Compared::new(&difference, words, first, second);
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
    pub(super) fn context(&self, arguments: &GetContext) -> Result<CallToolResult, Problem> {
        let shared = &self.0;
        let request = arguments.request()?;
        let folder = shared.roots.folder(arguments.path.as_deref())?;
        let architecture =
            arguments.architecture.as_deref().map(|path| shared.roots.file(path)).transpose()?;
        let called = shared.roots.name(&folder);
        let source = shared.library.load(&folder, architecture.as_deref(), &called)?;
        let runtime = tokio::runtime::Handle::current();
        let context = runtime
            .block_on(source.get_context(&request))
            .map_err(|failure| Problem::Input { folder: called, reason: failure.to_string() })?;
        result(&context, words::context(&request.entity, &context))
    }

    /// One question to a snapshot. Blocks.
    pub(super) fn question(
        &self,
        info: &ToolInfo,
        checked: &Checked,
        mut arguments: Map<String, Value>,
    ) -> Result<CallToolResult, Problem> {
        let shared = &self.0;
        let all = Value::Object(arguments.clone());
        let does_not_fit = |problem: ToolError| match problem {
            // The tool names the first argument that does not fit; all of them help more.
            ToolError::Arguments { tool, reason } => {
                let mut wrong = arguments::all_wrong(checked, &all);
                if wrong.is_empty() {
                    wrong.push(reason);
                }
                Problem::Arguments { tool, wrong }
            }
            other => other.into(),
        };
        let mut path = |name: &str| match arguments.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(path)) => Ok(Some(path)),
            Some(_) => Err(Problem::Arguments {
                tool: info.name.to_owned(),
                wrong: arguments::all_wrong(checked, &all),
            }),
        };
        let folder = shared.roots.folder(path("snapshot")?.as_deref())?;
        let architecture =
            path("architecture")?.map(|path| shared.roots.file(&path)).transpose()?;
        let called = shared.roots.name(&folder);
        let source = shared.library.load(&folder, architecture.as_deref(), &called)?;
        let toolbox = source.toolbox().ok_or_else(|| Problem::Input {
            folder: called,
            reason: "this is a bundle; the tools need a snapshot. `investigate` takes both"
                .to_owned(),
        })?;
        let text = toolbox.call_text(info.name, Value::Object(arguments)).map_err(does_not_fit)?;
        let value: Value = serde_json::from_str(&text)
            .map_err(|error| Problem::Store(format!("the answer cannot be read: {error}")))?;
        result(&value, text)
    }
}

/// Evaluated entities that may be meant.
fn meant(finished: &eog::Finished, entity: &EntityId) -> Vec<String> {
    let evaluated: Vec<&str> =
        finished.machine.beliefs().map(|(entity, _)| entity.as_str()).collect();
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
