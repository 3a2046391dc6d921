//! What all workers spend together.

use std::sync::Arc;

use eog::purse::{Purse, PurseError};
use eog::{BoxFuture, Budget, Usage};

use crate::account::{Account, Spending};
use crate::{Cluster, InvestigationId, JetStreamSubject, NatsError};

/// A budget of model calls, tokens and money that all workers of a cluster spend from. Clones share it.
///
/// Of an account, a key-value bucket has the sum. A call is made only after the most that it can use was added
/// to it, by compare-and-set; afterwards the sum is lowered to what it used. What a worker took that died in
/// between stays spent. Nothing depends on clocks.
///
/// Its futures may be awaited on any runtime. Each change takes a few requests to the cluster.
#[derive(Clone, Debug)]
pub struct SharedPurse {
    cluster: Cluster,
    account: Arc<Account<JetStreamSubject>>,
    budget: Budget,
}

impl SharedPurse {
    pub(crate) fn new(cluster: &Cluster, account: &InvestigationId, budget: Budget) -> Self {
        let subject = JetStreamSubject::of_account(cluster.clone(), account);
        let account = Arc::new(Account::new(subject, cluster.unique()));
        Self { cluster: cluster.clone(), account, budget }
    }

    /// The budget that this worker keeps to.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// What all have spent. Blocks the thread.
    ///
    /// # Errors
    /// [`NatsError`].
    pub fn spending(&self) -> Result<Spending, NatsError> {
        self.account.spending()
    }
}

impl Purse for SharedPurse {
    fn take(&self, most: Usage) -> BoxFuture<'_, Result<(), PurseError>> {
        let (account, budget) = (Arc::clone(&self.account), self.budget);
        Box::pin(async move {
            let taken = self.cluster.apart(move || account.take(&budget, most)).await;
            Ok(taken.map_err(PurseError::Unreachable)??)
        })
    }

    fn settle(&self, taken: Usage, used: Usage) -> BoxFuture<'_, Result<(), PurseError>> {
        let account = Arc::clone(&self.account);
        Box::pin(async move {
            let settled = self.cluster.apart(move || account.settle(taken, used)).await;
            settled.map_err(PurseError::Unreachable)
        })
    }
}
