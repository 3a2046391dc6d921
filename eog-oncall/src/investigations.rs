//! Where the incidents of alerts are investigated: in this process, or by others.

use std::collections::BTreeSet;

use eog::{BoxFuture, EntityId};
use eog_live::Host;
use eog_mcp::server::{Order, OrderError, Outcome, Server};

/// Makes investigations of what was captured. A [`Server`] does so here.
pub trait Investigations: Host {
    /// Whether an investigation takes in what was captured after it had begun. Blocks.
    fn takes_news(&self, id: &str) -> bool;

    /// Makes an investigation, and waits for its end. The same order may be given again after a crash.
    ///
    /// An error says why there is no result, and whether the order can be given again.
    fn carry_out(&self, order: Order) -> BoxFuture<'_, Result<Outcome, OrderError>>;

    /// Removes an investigation unless it runs. Whether it is gone. Blocks.
    fn forget(&self, id: &str) -> bool;

    /// Keeps an investigation as a case whose causes are these, as their repair has shown. The name of the case; nothing if it
    /// was kept before, or cases are not kept. Blocks.
    ///
    /// # Errors
    /// Why that cannot be.
    fn close_verified(
        &self,
        id: &str,
        causes: BTreeSet<EntityId>,
        note: String,
    ) -> Result<Option<String>, String>;
}

impl Investigations for Server {
    fn takes_news(&self, id: &str) -> bool {
        Self::takes_news(self, id)
    }

    fn carry_out(&self, order: Order) -> BoxFuture<'_, Result<Outcome, OrderError>> {
        Box::pin(Self::carry_out(self, order))
    }

    fn forget(&self, id: &str) -> bool {
        Self::forget(self, id)
    }

    fn close_verified(
        &self,
        id: &str,
        causes: BTreeSet<EntityId>,
        note: String,
    ) -> Result<Option<String>, String> {
        Self::close_verified(self, id, causes, note)
    }
}
