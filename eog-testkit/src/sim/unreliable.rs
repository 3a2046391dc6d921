//! A policy that cannot be relied on.

use eog::{AbductivePolicy, Answer, BoxFuture, ContextPacket, Digest, Failure};

use super::attempts::{Attempts, Calls, check_shares};
use super::muted::PANICS;
use super::nonsense;
use super::switch::FaultSwitch;
use crate::fault::Fault;
use crate::random::{RandomSeed, Stream};

/// Which shares of the calls of a policy go wrong; the rest goes through. Together at most 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PolicyRates {
    /// Errors that asking again would not mend, as far as the failure says.
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

    fn named(&self) -> [(&'static str, f64); 5] {
        [
            ("fail", self.fail),
            ("transient", self.transient),
            ("hang", self.hang),
            ("garbage", self.garbage),
            ("panic", self.panic),
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
    seed: RandomSeed,
    faults: FaultSwitch,
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
        check_shares(rates.named());
        let (faults, attempts) = (FaultSwitch::default(), Attempts::default());
        Self { inner, rates, seed: seed.into(), faults, attempts }
    }

    /// Obeys a switch that others share.
    #[must_use]
    pub fn with_switch(mut self, faults: FaultSwitch) -> Self {
        self.faults = faults;
        self
    }

    /// Counts attempts on from earlier calls: what an interrupted run had asked.
    #[must_use]
    pub fn after(mut self, calls: Calls) -> Self {
        self.attempts.follow(calls);
        self
    }

    /// Equal questions are answered equally: every attempt fares as the first one. Wherever it is
    /// left open how often a question is asked, as in speculation, equal ledgers need this.
    #[must_use]
    pub fn steady(mut self) -> Self {
        self.attempts.make_alike();
        self
    }

    /// The switch of its faults.
    pub fn faults(&self) -> &FaultSwitch {
        &self.faults
    }

    /// How often each packet was asked about, by its digest. Calls with the faults off count.
    pub fn calls(&self) -> Calls {
        self.attempts.calls()
    }

    /// What strikes this attempt, with the stream to go on drawing from.
    fn strike(&self, packet: &ContextPacket) -> Option<(Strike, u64, Stream)> {
        let question = Digest::of(packet);
        let attempt = self.attempts.count(question);
        if !self.faults.is_on() {
            return None;
        }
        let mut draw = self.seed.about("unreliable", &question, attempt);
        let strike = draw.kind(&[
            (self.rates.fail, Strike::Fail),
            (self.rates.transient, Strike::Transient),
            (self.rates.hang, Strike::Hang),
            (self.rates.garbage, Strike::Garbage),
            (self.rates.panic, Strike::Panic),
        ])?;
        Some((strike, attempt, draw))
    }
}

impl<P: AbductivePolicy> AbductivePolicy for Unreliable<P> {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            let Some((strike, attempt, mut draw)) = self.strike(packet) else {
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
