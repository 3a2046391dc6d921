//! The runtime of this process.

use std::sync::{Arc, Mutex, PoisonError};
#[cfg(feature = "serve")]
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::error::CliError;

/// How long threads may take that are blocked when the server has ended, such as by standard input.
#[cfg(feature = "serve")]
pub(crate) const LAST: Duration = Duration::from_millis(200);

static RUNTIME: Mutex<Option<Arc<Runtime>>> = Mutex::new(None);

/// The runtime of this process: connections that are opened on it live as long as what uses them.
pub(crate) fn runtime() -> Result<Arc<Runtime>, CliError> {
    let mut shared = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = shared.as_ref() {
        return Ok(Arc::clone(runtime));
    }
    let made = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let made = Arc::new(made.map_err(CliError::Runtime)?);
    *shared = Some(Arc::clone(&made));
    Ok(made)
}

/// Ends what was left running on the runtime, such as MCP servers that do not end by themselves.
pub(crate) fn end_runtime() {
    drop(RUNTIME.lock().unwrap_or_else(PoisonError::into_inner).take());
}
