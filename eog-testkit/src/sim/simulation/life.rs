//! Investigations over all their processes.

use std::sync::Arc;

use eog::ledger::{ForkChanges, Observation};
use eog::{AbductivePolicy, Config, ContextContract, Limits, Speculation};

use super::answering::{Log, Outside, Watched};
use super::history::{End, Life, Process};
use super::plan::{Crash, Plan, Rough, Whole};
use super::process::{Answering, Disks, Start, live};
use crate::sim::{Delayed, Erring, FaultSwitch, Rewording, Unreliable, World};
use crate::truth::TruthPolicy;

/// A process that does not get anywhere is started again so often.
const MOST_PROCESSES: usize = 40;

/// Everything that one investigation meets.
pub(super) struct Stage<'p> {
    plan: &'p Plan,
    log: Log,
    outside: Outside,
    faults: FaultSwitch,
    world: Arc<World>,
    contract: Box<dyn ContextContract>,
    policy: Box<dyn AbductivePolicy>,
    pub(super) disks: Disks,
}

/// How a stage differs from the others.
#[derive(Clone, Copy)]
pub(super) struct Setting {
    /// Equal questions are answered equally.
    pub(super) steady: bool,
    pub(super) delayed: bool,
}

impl<'p> Stage<'p> {
    pub(super) fn new(plan: &'p Plan, setting: Setting) -> Self {
        let (log, faults) = (Log::default(), FaultSwitch::default());
        let world = World::new(Arc::clone(&plan.truth), plan.world, plan.seed);
        let world = world.with_switch(faults.clone());
        let words: Box<dyn AbductivePolicy> = if plan.rewording {
            Box::new(Rewording::new(TruthPolicy))
        } else {
            Box::new(TruthPolicy)
        };
        let erring = Erring::new(words, plan.erring, plan.seed);
        let policy = Unreliable::new(erring, plan.policy, plan.seed).with_switch(faults.clone());
        let (world, policy) =
            if setting.steady { (world.steady(), policy.steady()) } else { (world, policy) };
        let world = Arc::new(world);
        let (mut contract, mut decider): (Box<dyn ContextContract>, Box<dyn AbductivePolicy>) =
            (Box::new(Arc::clone(&world)), Box::new(policy));
        if setting.delayed {
            contract = Box::new(Delayed::new(contract, plan.delay, plan.seed));
            decider = Box::new(Delayed::new(decider, plan.delay, plan.seed));
        }
        Self {
            plan,
            outside: Outside::new(plan, &log),
            contract: Box::new(Watched::new(contract, &log, plan.seed)),
            policy: Box::new(Watched::new(decider, &log, plan.seed)),
            log,
            faults,
            world,
            disks: Disks::default(),
        }
    }

    fn process(
        &self,
        config: &Config,
        limits: Limits,
        ahead: Option<Speculation>,
        rough: Rough,
    ) -> Process {
        let case = self.plan.truth.case();
        let start = Start { config, case: &case, limits, ahead, fork: None, rough };
        live(&self.disks, &self.answering(), start)
    }

    fn answering(&self) -> Answering<'_> {
        let (contract, policy) = (&*self.contract, &*self.policy);
        Answering { contract, policy, outside: &self.outside, log: &self.log }
    }

    fn life(&self, name: &str, config: Config, limits: Limits, ahead: Option<Speculation>) -> Life {
        let (name, processes) = (name.to_owned(), Vec::new());
        let ahead = ahead.map_or(0, |ahead| ahead.width.get());
        Life { name, config, limits, ahead, processes, left: Err("it never lived".to_owned()) }
    }

    /// One process after another, each with what happens to it; then such to which nothing does,
    /// until one ends by itself.
    fn live(&self, mut life: Life, ahead: Option<Speculation>, fates: Vec<Rough>) -> Life {
        let mut fates = fates.into_iter();
        while life.processes.len() < MOST_PROCESSES {
            let fate = fates.next();
            let undisturbed = fate.is_none();
            let process = self.process(&life.config, life.limits, ahead, fate.unwrap_or_default());
            let ended = matches!(process.end, End::Finished { journal_failed: false, .. });
            let hung = matches!(process.end, End::Hung);
            life.processes.push(process);
            if (undisturbed && ended) || hung {
                break;
            }
        }
        life.left = self.disks.left(self.plan.seed.stream("last crash").bits());
        life
    }
}

/// Nothing happens, and answers come at once.
pub(super) fn straight(plan: &Plan) -> (Life, Disks) {
    let stage = Stage::new(plan, Setting { steady: true, delayed: false });
    let limits = Limits { context_calls: None, policy_calls: None, ..plan.limits };
    let life = stage.life("the straight life", plan.config.clone(), limits, None);
    let life = stage.live(life, None, Vec::new());
    (life, stage.disks)
}

/// Answers come late, and some are asked for ahead.
pub(super) fn delayed(plan: &Plan) -> (Life, Whole) {
    let stage = Stage::new(plan, Setting { steady: true, delayed: true });
    let life = stage.life("the delayed life", plan.config.clone(), plan.limits, plan.ahead());
    let life = stage.live(life, plan.ahead(), Vec::new());
    let polls = life.processes.iter().map(|process| process.polls).sum();
    let journal = &stage.disks.journal;
    let operations = journal.writes() + journal.syncs();
    (life, Whole { polls, operations, bytes: journal.bytes().len() as u64 })
}

/// As the delayed life, with crashes.
pub(super) fn crashing(plan: &Plan) -> Life {
    let stage = Stage::new(plan, Setting { steady: true, delayed: true });
    let life = stage.life("the crashing life", plan.config.clone(), plan.limits, plan.ahead());
    let dies = |crash: &Crash| Rough { crash: Some(*crash), ..Rough::default() };
    stage.live(life, plan.ahead(), plan.crashes.iter().map(dies).collect())
}

/// The straight life, taken up from what a crash left of its journal.
pub(super) fn from_cut(plan: &Plan, name: &str, disks: Disks) -> Life {
    let stage = Stage { disks, ..Stage::new(plan, Setting { steady: true, delayed: false }) };
    let life = stage.life(name, plan.config.clone(), plan.limits, None);
    stage.live(life, None, Vec::new())
}

/// Everything happens.
pub(super) fn rough(plan: &Plan) -> (Life, Stage<'_>) {
    let stage = Stage::new(plan, Setting { steady: false, delayed: true });
    let life = stage.life("the rough life", plan.rough_config(), plan.limits, plan.ahead());
    let life = stage.live(life, plan.ahead(), plan.rough.clone());
    (life, stage)
}

/// The rough life goes on: the faults are off, the world is repaired, and all entities are evaluated
/// anew, by a policy that does not err.
pub(super) fn healed(plan: &Plan, rough: &Life, stage: Stage<'_>) -> Life {
    stage.faults.turn_off();
    stage.world.recover();
    let disks = Disks::default();
    let policy = Box::new(Watched::new(TruthPolicy, &stage.log, plan.seed));
    let stage = Stage { policy, disks, ..stage };
    let config = plan.healing_config();
    let mut life = stage.life("the healed life", config.clone(), plan.limits, None);
    let Ok(left) = &rough.left else { return life };
    let all = plan.truth.entities().map(|(name, _)| Observation::NewEvidence(name.clone()));
    let news = all.map(|news| (std::time::Duration::ZERO, news)).collect();
    let case = plan.truth.case();
    let changes = ForkChanges { config: Some(config.clone()), ..ForkChanges::default() };
    let start = Start {
        config: &config,
        case: &case,
        limits: plan.limits,
        ahead: None,
        fork: Some((&left.ledger, changes)),
        rough: Rough { news, ..Rough::default() },
    };
    let process = live(&stage.disks, &stage.answering(), start);
    life.processes.push(process);
    life.left = stage.disks.left(plan.seed.stream("last crash").bits());
    life
}
