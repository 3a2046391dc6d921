//! The way back to the caller: progress, and questions to a person.

use std::time::Duration;

use eog::EntityId;
use rmcp::model::{
    ElicitRequestParams, InputRequiredResult, ProgressNotificationParam, ProgressToken,
    ProtocolVersion,
};
use rmcp::service::{ElicitationMode, Peer, RequestContext, RoleServer, ServiceError};
use rmcp::task_manager::TaskContext;

use super::ask::{self, Gap};
use super::error::Problem;
use super::work::Answers;
use eog_session::store::InvestigationId;

/// How long a client may take to accept one notification.
const NOTIFY: Duration = Duration::from_secs(1);

/// A client that has not accepted so many in a row gets no more.
const MAX_MISSED: u32 = 3;

/// What comes of asking a person.
pub(super) enum Asked {
    /// The client cannot ask a person.
    Unable,
    /// The client asks, and calls again with the answers.
    Later(InputRequiredResult),
    /// The answers.
    Now(Answers),
}

/// The way back to the caller.
pub(super) struct Voice {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    /// Notifications in a row that were not accepted in time.
    missed: u32,
    task: Option<TaskContext>,
    /// Whether the client can show a form.
    has_forms: bool,
    /// Whether requests to the client go into answers, as since 2026-07-28.
    is_stateless: bool,
}

impl Voice {
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let version = context.protocol_version();
        let is_stateless =
            version.is_some_and(|v| v.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        let able = context.client_capabilities().and_then(|able| able.elicitation);
        // A client that names no mode means forms.
        let has_forms = able.is_some_and(|modes| modes.form.is_some() || modes.url.is_none());
        Self {
            peer: context.peer.clone(),
            token: context.meta.get_progress_token(),
            missed: 0,
            task: None,
            has_forms,
            is_stateless,
        }
    }

    /// The same for a task, which reports its own status.
    pub(super) fn in_task(self, task: TaskContext) -> Self {
        Self { task: Some(task), ..self }
    }

    /// Reports one step. A client that does not accept notifications gets no more.
    pub(super) async fn progress(&mut self, step: u64, message: String) {
        if let Some(task) = &self.task {
            task.set_status_message(message);
            return;
        }
        let Some(token) = &self.token else { return };
        let mut note = ProgressNotificationParam::new(token.clone(), (step + 1) as f64);
        note.message = Some(message);
        match tokio::time::timeout(NOTIFY, self.peer.notify_progress(note)).await {
            Ok(Ok(())) => self.missed = 0,
            Ok(Err(_)) => self.token = None,
            Err(_) => {
                self.missed += 1;
                if self.missed >= MAX_MISSED {
                    self.token = None;
                }
            }
        }
    }

    /// Asks about gaps, in the way that the client understands.
    pub(super) async fn ask(
        &self,
        id: &InvestigationId,
        gaps: &[Gap],
        patience: Duration,
    ) -> Result<Asked, Problem> {
        if !self.has_forms {
            return Ok(Asked::Unable);
        }
        if let Some(task) = &self.task {
            return self.ask_in_task(task, gaps, patience).await;
        }
        if self.is_stateless {
            let forms = ask::forms(gaps)?;
            return Ok(Asked::Later(InputRequiredResult::new(Some(forms), Some(id.to_string()))));
        }
        if !self.peer.supported_elicitation_modes().contains(&ElicitationMode::Form) {
            return Ok(Asked::Unable);
        }
        let mut answers = Answers::new();
        for gap in gaps {
            answers.push((gap.entity.clone(), self.elicit(ask::form(gap)?, patience).await));
        }
        Ok(Asked::Now(answers))
    }

    /// One question to a client of an older protocol. Whatever fails counts as skipped.
    async fn elicit(&self, form: ElicitRequestParams, patience: Duration) -> Option<String> {
        let answer: Result<_, ServiceError> =
            self.peer.create_elicitation_with_timeout(form, Some(patience)).await;
        ask::supplied(&answer.ok()?)
    }

    async fn ask_in_task(
        &self,
        task: &TaskContext,
        gaps: &[Gap],
        patience: Duration,
    ) -> Result<Asked, Problem> {
        let mut answers = Answers::new();
        for (entity, form) in ask::forms(gaps)? {
            let Ok(id) = EntityId::new(entity.clone()) else { continue };
            let answer = tokio::time::timeout(patience, task.request_input(entity, form)).await;
            let answer = answer.ok().and_then(Result::ok);
            answers.push((id, answer.and_then(|value| ask::supplied_in(&value))));
        }
        Ok(Asked::Now(answers))
    }
}
