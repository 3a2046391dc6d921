//! What a fault does to the call that it strikes.

use std::time::Duration;

use eog::Failure;

/// One way in which a call goes wrong.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    Fail(Failure),
    Hang,
    Delay(Duration),
    Panic(String),
}

impl Fault {
    /// Lets the fault have its way; `Ok` when the call may go on after it.
    pub(crate) async fn strike(&self) -> Result<(), Failure> {
        match self {
            Self::Fail(failure) => Err(failure.clone()),
            Self::Hang => std::future::pending().await,
            Self::Delay(by) => {
                delay(*by).await;
                Ok(())
            }
            Self::Panic(message) => panic!("{message}"),
        }
    }
}

/// Sleeps; outside a runtime nothing could wake the sleeper, so the call just never answers.
async fn delay(by: Duration) {
    if tokio::runtime::Handle::try_current().is_ok() {
        tokio::time::sleep(by).await;
    } else {
        std::future::pending::<()>().await;
    }
}
