//! Long calls as tasks: the client asks again for the result, instead of waiting on one request.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::DetailedTask;
use rmcp::task_manager::{TaskContext, TaskFuture, TaskManager, TaskOptions};
use tokio::time::Instant;

/// How long a task lives at most, and how long its result is kept.
const TTL: Duration = Duration::from_secs(2 * 3600);

/// Most tasks that are known at a time; further calls are answered without one.
const MAX_TASKS: usize = 1000;

/// How often clients are asked to poll.
const POLL: Duration = Duration::from_millis(500);

/// The tasks of a server.
pub(super) struct Tasks {
    manager: TaskManager,
    /// When each was last asked for.
    seen: Mutex<BTreeMap<String, Instant>>,
    patience: Duration,
}

impl Tasks {
    pub(super) fn new(patience: Duration) -> Self {
        Self { manager: TaskManager::new(), seen: Mutex::default(), patience }
    }

    /// Whether there is room for one more.
    pub(super) fn has_room(&self) -> bool {
        self.seen().len() < MAX_TASKS
    }

    pub(super) fn spawn(&self, work: impl FnOnce(TaskContext) -> TaskFuture) -> rmcp::model::Task {
        let ttl = u64::try_from(TTL.as_millis()).unwrap_or(u64::MAX);
        let poll = u64::try_from(POLL.as_millis()).unwrap_or(u64::MAX);
        let options = TaskOptions::new().with_ttl_ms(ttl).with_poll_interval_ms(poll);
        let task = self.manager.spawn(options, work);
        self.see(&task.task_id);
        task
    }

    pub(super) fn get(&self, id: &str) -> Result<DetailedTask, ErrorData> {
        let task = self.manager.get_task(id).map_err(|_| unknown(id))?;
        self.see(id);
        Ok(task)
    }

    pub(super) fn update(
        &self,
        id: &str,
        answers: impl IntoIterator<Item = (String, serde_json::Value)>,
    ) -> Result<(), ErrorData> {
        self.manager.update_task(id, answers).map_err(|_| unknown(id))?;
        self.see(id);
        Ok(())
    }

    pub(super) fn cancel(&self, id: &str) -> Result<(), ErrorData> {
        self.manager.cancel_task(id).map_err(|_| unknown(id))
    }

    pub(super) fn shutdown(&self) {
        self.manager.shutdown();
    }

    /// Resolves when a task was not asked for in so long that it is taken as abandoned.
    pub(super) async fn abandoned(&self, id: &str) {
        loop {
            let last = self.seen().get(id).copied();
            // It is not known yet while it is being made.
            let Some(due) = last.unwrap_or_else(Instant::now).checked_add(self.patience) else {
                return std::future::pending().await;
            };
            if last.is_some() && due <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(due).await;
        }
    }

    fn see(&self, id: &str) {
        let now = Instant::now();
        let mut seen = self.seen();
        seen.retain(|_, last| now.duration_since(*last) < 2 * TTL);
        seen.insert(id.to_owned(), now);
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Instant>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unknown(id: &str) -> ErrorData {
    let id = eog_evidence::shorten(id, 60);
    ErrorData::invalid_params(
        format!(
            "there is no task {id:?}: it was never made, or its result was kept for {} hours and is \
             gone; list_investigations knows what it led to",
            TTL.as_secs() / 3600
        ),
        None,
    )
}
