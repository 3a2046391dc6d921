//! A policy that cannot be relied on.

use eog::{AbductivePolicy, Answer, BoxFuture, ContextPacket, Digest, Failure};

use super::attempts::{Attempts, Calls, check_shares, counts_attempts};
use super::muted::PANICS;
use super::nonsense;
use super::switch::FaultSwitch;
use crate::fault::Fault;
use crate::random::RandomSeed;

/// Which shares of the calls of a policy go wrong; the rest goes through. Together at most 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PolicyRates {
    /// Errors that another attempt would not fix, as far as the failure says.
    pub fail: f64,
    /// Errors marked as transient.
    pub transient: f64,
    /// Calls that never answer. They need [`eog::Engine`].
    pub hang: f64,
    /// Decisions without sense: invented evidence, claims between strangers, endless words.
    pub garbage: f64,
    /// Panics. They need [`eog::Engine`]; a plain loop hands them to the test.
    pub panic: f64,
}

impl PolicyRates {
    /// This share of calls goes wrong, each way equally often.
    pub fn evenly(share: f64) -> Self {
        let each = share / 5.0;
        Self { fail: each, transient: each, hang: each, garbage: each, panic: each }
    }

    fn shares(&self) -> [(&'static str, f64, Strike); 5] {
        [
            ("fail", self.fail, Strike::Fail),
            ("transient", self.transient, Strike::Transient),
            ("hang", self.hang, Strike::Hang),
            ("garbage", self.garbage, Strike::Garbage),
            ("panic", self.panic, Strike::Panic),
        ]
    }
}

/// Wraps a policy and lets shares of its calls go wrong.
///
/// What happens hangs on seed, packet and the number of the attempt at this packet, so that a retry
/// or a later visit may succeed. With the [`FaultSwitch`] off, all calls go through.
///
/// ```
/// use eog_testkit::sim::{PolicyRates, Unreliable};
/// use eog_testkit::{ask, healthy, packet, policy_fn};
/// let rates = PolicyRates { fail: 1.0, ..PolicyRates::default() };
/// let policy = Unreliable::new(policy_fn(healthy), rates, 7);
/// let packet = packet("db").build();
/// assert!(ask(&policy, &packet).is_err());
/// policy.faults().turn_off();
/// assert!(ask(&policy, &packet).is_ok());
/// ```
#[derive(Debug)]
pub struct Unreliable<P> {
    inner: P,
    rates: PolicyRates,
    attempts: Attempts,
}

#[derive(Clone, Copy, Debug)]
enum Strike {
    Fail,
    Transient,
    Hang,
    Garbage,
    Panic,
}

impl<P> Unreliable<P> {
    /// Makes a policy unreliable.
    ///
    /// # Panics
    /// When the rates are not shares that add up to at most 1.
    #[track_caller]
    pub fn new(inner: P, rates: PolicyRates, seed: impl Into<RandomSeed>) -> Self {
        check_shares(rates.shares().map(|(name, share, _)| (name, share)));
        Self { inner, rates, attempts: Attempts::new(seed.into()) }
    }
}

counts_attempts!(Unreliable<P>);

impl<P: AbductivePolicy> AbductivePolicy for Unreliable<P> {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            let shares = self.rates.shares().map(|(_, share, strike)| (share, strike));
            let struck = self.attempts.strike("unreliable", &Digest::of(packet), &shares);
            let Some((strike, attempt, mut draw)) = struck else {
                return self.inner.decide(packet).await;
            };
            let said = |what: &str| format!("{what} as the seed says (attempt {attempt})");
            let fault = match strike {
                Strike::Garbage => return Ok(nonsense::decision(packet, &mut draw).into()),
                Strike::Fail => Fault::Fail(Failure::policy(said("fails"))),
                Strike::Transient => Fault::Fail(Failure::policy(said("is busy")).transient()),
                Strike::Hang => Fault::Hang,
                Strike::Panic => Fault::Panic(format!("{PANICS} (attempt {attempt})")),
            };
            fault.strike().await?;
            self.inner.decide(packet).await
        })
    }
}
