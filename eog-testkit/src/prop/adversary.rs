//! A policy and a context contract that do their worst.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use eog::contract::EvidenceQuery;
use eog::incident::Direction;
use eog::{
    AbductivePolicy, Answer, BoxFuture, Claim, ContextContract, ContextPacket, ContextRequest,
    Decision, EntityId, EvidenceKind, Failure, Label, LocalContext,
};
use proptest::prelude::*;

use super::parts::{finding, hash, name};

/// A way to keep an investigation busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trick {
    /// Another label and another claim each time.
    Oscillate,
    /// The same in other words each time.
    Reword,
    /// Names, claims and proposes unknown entities, up to twelve.
    Invent,
    /// A finding that was never seen before, cited each time.
    CiteNews,
    /// Claims every known entity, both ways.
    ClaimEverything,
    /// Fails at random.
    Fail,
    /// Asks for the next page each time, of contexts without an end.
    TurnPages,
}

impl Trick {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Oscillate,
        Self::Reword,
        Self::Invent,
        Self::CiteNews,
        Self::ClaimEverything,
        Self::Fail,
        Self::TurnPages,
    ];
}

/// Context and policy in one bad hand, which plays some tricks, each by chance or, if there is but one,
/// each time.
///
/// Unlike a policy that one may rely on, it remembers what it did: the same packet gets other answers.
/// A clone begins anew. [`adversaries`] draws one.
///
/// ```
/// use eog::Config;
/// use eog_testkit::prop::{Adversary, Trick};
/// use eog_testkit::{assert_bounds, run, seeded, topology};
/// let case = seeded(topology("e0 calls e1; e1 calls e0"), ["e0"]);
/// let adversary = Adversary::new(&[Trick::Oscillate, Trick::ClaimEverything], 7);
/// assert_bounds(&run(Config::default(), case, &adversary, &adversary));
/// ```
pub struct Adversary {
    tricks: Vec<Trick>,
    salt: u64,
    memory: Mutex<Memory>,
}

/// What it did so far.
struct Memory {
    tricks: Vec<Trick>,
    salt: u64,
    calls: u64,
    everyone: Vec<EntityId>,
}

/// Adversaries of one to all tricks. They shrink to few.
pub fn adversaries() -> impl Strategy<Value = Adversary> {
    let tricks = prop::sample::subsequence(Trick::ALL.to_vec(), 1..=Trick::ALL.len());
    (tricks, any::<u64>()).prop_map(|(tricks, salt)| Adversary::new(&tricks, salt))
}

impl Adversary {
    /// One that plays these tricks. The salt decides what it draws.
    pub fn new(tricks: &[Trick], salt: u64) -> Self {
        let (tricks, everyone) = (tricks.to_vec(), (0..6).map(name).collect());
        let memory = Memory { tricks: tricks.clone(), salt, calls: 0, everyone };
        Self { tricks, salt, memory: Mutex::new(memory) }
    }

    /// What it shows as a contract.
    ///
    /// # Errors
    /// By chance, if [`Trick::Fail`] is one of its tricks.
    pub fn context(&self, request: &ContextRequest) -> Result<LocalContext, Failure> {
        self.memory().context(request)
    }

    /// What it decides as a policy.
    ///
    /// # Errors
    /// By chance, if [`Trick::Fail`] is one of its tricks.
    pub fn decide(&self, packet: &ContextPacket) -> Result<Decision, Failure> {
        self.memory().decide(packet)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for Adversary {
    fn clone(&self) -> Self {
        Self::new(&self.tricks, self.salt)
    }
}

impl fmt::Debug for Adversary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Adversary::new(&{:?}, {})", self.tricks, self.salt)
    }
}

impl ContextContract for Adversary {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        Box::pin(async move { self.context(request) })
    }
}

impl AbductivePolicy for Adversary {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move { Self::decide(self, packet).map(Answer::from) })
    }
}

impl Memory {
    fn random(&mut self) -> u64 {
        self.calls += 1;
        hash(&(self.salt, self.calls))
    }

    /// One trick alone is played each time; of several each is played three times out of four.
    fn plays(&mut self, trick: Trick) -> bool {
        let always = self.tricks.len() == 1 && trick != Trick::Fail;
        self.tricks.contains(&trick) && (always || !self.random().is_multiple_of(4))
    }

    fn context(&mut self, request: &ContextRequest) -> Result<LocalContext, Failure> {
        if self.plays(Trick::Fail) && self.random().is_multiple_of(3) {
            return Err(Failure::context("refused"));
        }
        let entity = &request.entity;
        let mut context = LocalContext { pages_left: 1, ..LocalContext::default() };
        context.findings.push(finding(entity, EvidenceKind::Log, 1, "usual"));
        if self.plays(Trick::CiteNews) {
            let query = format!("news {}", self.random());
            context.findings.push(finding(entity, EvidenceKind::Log, 2, &query));
        }
        if self.plays(Trick::Invent) {
            let invented = EntityId::new(format!("x{}", self.random() % 12));
            let invented = invented.expect("is a name");
            self.everyone.push(invented.clone());
            context.mentions.push(invented);
        }
        Ok(context)
    }

    fn decide(&mut self, packet: &ContextPacket) -> Result<Decision, Failure> {
        if self.plays(Trick::Fail) && self.random().is_multiple_of(3) {
            return Err(Failure::policy("no idea"));
        }
        let mut decision =
            Decision::new(Label::Symptom, "the usual").citing(&packet.context.findings);
        decision.next_page = self.plays(Trick::TurnPages);
        if self.plays(Trick::TurnPages) {
            let (entity, kind) = (packet.entity.clone(), EvidenceKind::Log);
            decision.query = Some(Box::new(EvidenceQuery { entity, kind, text: String::new() }));
        }
        let mut edges: Vec<(EntityId, EntityId)> = Vec::new();
        let own = packet.entity.clone();
        if self.plays(Trick::Oscillate) {
            let labels = [Label::Healthy, Label::Symptom, Label::Origin, Label::Defer];
            decision.label = labels[usize::try_from(self.random() % 4).expect("is small")];
            let position = usize::try_from(self.random()).unwrap_or(0) % self.everyone.len();
            edges.push((self.everyone[position].clone(), own.clone()));
        }
        if self.plays(Trick::Reword) {
            decision.summary = format!("put differently: {}", self.random());
        }
        if self.plays(Trick::Invent) {
            for mention in &packet.context.mentions {
                edges.push((mention.clone(), own.clone()));
                decision =
                    decision.proposing(mention.clone(), Direction::Both, "never seen before");
            }
        }
        if self.plays(Trick::ClaimEverything) {
            for other in self.everyone.iter().take(12) {
                edges.push((other.clone(), own.clone()));
                edges.push((own.clone(), other.clone()));
            }
        }
        for (cause, effect) in edges {
            let (condition, observed) = (String::new(), String::new());
            let evidence = decision.evidence.clone();
            let claim = Claim::new(&cause, &effect, condition, observed).citing_ids(&evidence);
            decision.claims.push(claim);
        }
        Ok(decision)
    }
}
