//! What one seed means: the incident, the configuration, and everything that goes wrong.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use eog::controller::{Concurrency, Damping, Order, Wake};
use eog::incident::{Edge, EffectDirection};
use eog::ledger::Observation;
use eog::{Budget, Config, EntityId, Limits, Retry, Speculation};

use crate::random::{RandomSeed, Stream};
use crate::sim::{PolicyRates, WorldRates};
use crate::truth::{InvalidSpec, TruthGraph, TruthSpec};

/// Everything that is drawn before a simulation begins.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Plan {
    pub(in crate::sim) seed: RandomSeed,
    pub(in crate::sim) truth: Arc<TruthGraph>,
    /// With no budget but that of policy calls, so that runs can be compared.
    pub(in crate::sim) config: Config,
    /// What the rough life may spend besides.
    pub(in crate::sim) rough_budget: Budget,
    pub(in crate::sim) limits: Limits,
    pub(in crate::sim) speculation: u32,
    pub(in crate::sim) world: WorldRates,
    pub(in crate::sim) policy: PolicyRates,
    pub(in crate::sim) erring: f64,
    pub(in crate::sim) rewording: bool,
    pub(in crate::sim) delay: Duration,
    /// How often each call outside the loop fails before it succeeds.
    pub(in crate::sim) outside_fails: u64,
    pub(in crate::sim) crashes: Vec<Crash>,
    pub(in crate::sim) rough: Vec<Rough>,
}

/// How a process dies.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Crash {
    pub(in crate::sim) when: When,
    /// The machine crashes, too, and this draws what it loses of what was not synced.
    pub(in crate::sim) loses: Option<u64>,
}

/// When a process dies, or what it dies of. Drawn in thousandths of what a whole life takes, and
/// scaled when that is known, so that every place is reached.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) enum When {
    /// After its future was polled so often.
    Polls(u64),
    /// The disk of the journal answers so many more operations.
    JournalFails(u64),
    /// The disk of the side file answers so many more operations.
    SideFails(u64),
    /// The disk of the journal has room for so many more bytes.
    JournalFull(u64),
}

/// What a life without crashes took.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Whole {
    pub(in crate::sim) polls: u64,
    /// Writes and syncs of the journal.
    pub(in crate::sim) operations: u64,
    /// The length of the journal.
    pub(in crate::sim) bytes: u64,
}

/// What happens to one process of the rough life.
#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct Rough {
    pub(in crate::sim) crash: Option<Crash>,
    pub(in crate::sim) cancel_after: Option<Duration>,
    pub(in crate::sim) deadline: Option<Duration>,
    pub(in crate::sim) news: Vec<(Duration, Observation)>,
}

impl Plan {
    /// Draws the plan of a seed.
    pub(in crate::sim) fn draw(seed: RandomSeed) -> Result<Self, InvalidSpec> {
        let mut draw = seed.stream("simulation");
        let spec = spec(seed, &mut seed.stream("incident"));
        let truth = Arc::new(TruthGraph::generate(&spec, seed)?);
        let config = config(&mut seed.stream("configuration"));
        let mut crashes = seed.stream("crashes");
        let mut calls = seed.stream("budget of model calls");
        let count = crashes.between(1, 6);
        let share =
            |most: f64, draw: &mut Stream| if draw.chance(0.2) { 0.0 } else { most * draw.share() };
        Ok(Self {
            rough: rough(&truth, &mut seed.stream("rough life")),
            truth,
            config,
            rough_budget: Budget {
                hops: None,
                model_calls: calls.chance(0.2).then(|| calls.between(0, 20)),
                tokens: draw.chance(0.3).then(|| draw.between(0, 4_000)),
                cost_micro_usd: draw.chance(0.2).then(|| draw.between(0, 2_000)),
            },
            limits: limits(&mut draw),
            speculation: *draw.pick(&[0, 2, 4, 8, 16]).unwrap_or(&0),
            world: world_rates(share(0.6, &mut draw), &mut draw),
            policy: policy_rates(share(0.4, &mut draw), &mut draw),
            erring: share(0.5, &mut draw),
            rewording: draw.chance(0.3),
            delay: Duration::from_millis(draw.between(1, 20_000)),
            outside_fails: draw.below(2),
            crashes: (0..count).map(|_| crash(&mut crashes)).collect(),
            seed,
        })
    }

    /// Turns thousandths into numbers, by what a life without crashes took.
    pub(in crate::sim) fn scale(&mut self, whole: Whole) {
        let of_rough = self.rough.iter_mut().filter_map(|rough| rough.crash.as_mut());
        for crash in self.crashes.iter_mut().chain(of_rough) {
            crash.when = match crash.when {
                When::Polls(share) => When::Polls(1 + share * whole.polls / 1000),
                When::JournalFails(share) => When::JournalFails(share * whole.operations / 1000),
                When::SideFails(share) => When::SideFails(share * whole.operations / 1000),
                When::JournalFull(share) => When::JournalFull(share * whole.bytes / 1000),
            };
        }
    }

    /// The configuration of the rough life.
    pub(in crate::sim) fn rough_config(&self) -> Config {
        let budget = Budget { hops: self.config.budget.hops, ..self.rough_budget };
        Config { budget, ..self.config.clone() }
    }

    /// What the investigation is given to heal: what we recommend, in the drawn order.
    pub(in crate::sim) fn healing_config(&self) -> Config {
        let Config { order, concurrency, cooldown, .. } = self.config;
        Config { order, concurrency, cooldown, ..Config::default() }
    }

    pub(in crate::sim) fn window(&self) -> u32 {
        match self.config.concurrency {
            Concurrency::Window(width) => width.get(),
            _ => 1,
        }
    }

    pub(in crate::sim) fn ahead(&self) -> Option<Speculation> {
        NonZeroU32::new(self.speculation).map(Speculation::of)
    }
}

/// Small incidents in which much is passed on, so that there is much to revise.
fn spec(seed: RandomSeed, draw: &mut Stream) -> TruthSpec {
    TruthSpec {
        origins: 1 + usize::from(draw.chance(0.3)),
        dependencies: 1.5 + 1.5 * draw.share(),
        propagation: 0.8 + 0.2 * draw.share(),
        misleading: 0.6 * draw.share(),
        undeclared: 0.4 * draw.share(),
        ..TruthSpec::drawn(2 + draw.position(9), seed)
    }
}

fn config(draw: &mut Stream) -> Config {
    let paper = draw.chance(0.3);
    let profile = if paper { Config::paper() } else { Config::default() };
    let orders = [Order::Fifo, Order::Priority, Order::Permuted { seed: draw.below(100) }];
    let mut config = Config {
        order: *draw.pick(&orders).unwrap_or(&Order::Fifo),
        max_visits: Some(*draw.pick(&[1, 2, 3, 4, 5, 5]).unwrap_or(&5)),
        cooldown: *draw.pick(&[0, 1, 2, 3]).unwrap_or(&2),
        flip_threshold: *draw.pick(&[0, 1, 3]).unwrap_or(&3),
        concurrency: Concurrency::Window(count(draw.between(1, 4))),
        budget: Budget { hops: draw.chance(0.2).then(|| draw.between(0, 30)), ..Budget::default() },
        ..profile
    };
    let unlimited = draw.chance(0.4);
    if !paper {
        // The paper's rules have no bound without it.
        config.max_visits = config.max_visits.filter(|_| !unlimited);
        config.decision_memory = draw.chance(0.8);
        config.max_entities = if draw.chance(0.2) { 4 } else { config.max_entities };
        config.max_evidence = if draw.chance(0.2) { 2 } else { config.max_evidence };
        config.wake = if draw.chance(0.3) { Wake::Visited } else { config.wake };
        config.widening = config.widening.filter(|_| draw.chance(0.7));
        if let Some(widening) = &mut config.widening {
            widening.radius = draw.chance(0.3).then(|| u32::from(draw.chance(0.5)) + 1);
        }
        config.damping = if draw.chance(0.3) { Damping::Absorbing } else { config.damping };
    }
    config
}

fn limits(draw: &mut Stream) -> Limits {
    let at_most = |draw: &mut Stream| draw.chance(0.4).then(|| count(draw.between(1, 3)));
    let (context_calls, policy_calls) = (at_most(draw), at_most(draw));
    let retry = Retry { attempts: count(draw.between(1, 3)), ..Retry::default() };
    Limits { context_calls, policy_calls, retry, ..Limits::default() }
}

/// Shares of one sum, some of them much larger than others.
fn shares<const COUNT: usize>(sum: f64, draw: &mut Stream) -> [f64; COUNT] {
    let weights: [f64; COUNT] = std::array::from_fn(|_| draw.share().powi(4));
    let all: f64 = weights.iter().sum();
    weights.map(|weight| if all > 0.0 { sum * weight / all } else { 0.0 })
}

fn world_rates(sum: f64, draw: &mut Stream) -> WorldRates {
    let [fail, transient, hang, stale, truncated, empty, contradictory] = shares(sum, draw);
    WorldRates { fail, transient, hang, stale, truncated, empty, contradictory }
}

fn policy_rates(sum: f64, draw: &mut Stream) -> PolicyRates {
    let [fail, transient, hang, garbage, panic] = shares(sum, draw);
    PolicyRates { fail, transient, hang, garbage, panic }
}

fn crash(draw: &mut Stream) -> Crash {
    // Early places more often: what is left to do gets less from crash to crash.
    let share = draw.below(1001).min(draw.below(1001));
    let when = match draw.below(8) {
        0 | 1 => When::JournalFails(share),
        2 => When::SideFails(share),
        3 => When::JournalFull(share),
        _ => When::Polls(share),
    };
    let machine = draw.chance(0.6);
    let seed = draw.bits();
    Crash { when, loses: machine.then_some(seed) }
}

fn rough(truth: &TruthGraph, draw: &mut Stream) -> Vec<Rough> {
    let processes = draw.between(1, 5);
    let mut lives: Vec<Rough> = (0..processes)
        .map(|_| {
            let seconds = |draw: &mut Stream| Duration::from_millis(draw.below(120_000));
            Rough {
                crash: draw.chance(0.5).then(|| crash(draw)),
                cancel_after: draw.chance(0.3).then(|| seconds(draw)),
                deadline: draw.chance(0.3).then(|| seconds(draw)),
                news: (0..draw.below(4)).map(|_| (seconds(draw), news(truth, draw))).collect(),
            }
        })
        .collect();
    // The last one is left alone, so that it ends by itself.
    lives.push(Rough::default());
    lives
}

fn news(truth: &TruthGraph, draw: &mut Stream) -> Observation {
    let names: Vec<&EntityId> = truth.entities().map(|(name, _)| name).collect();
    let mut anyone = || names[draw.position(names.len())].clone();
    let (one, other) = (anyone(), anyone());
    let relation = "calls".to_owned();
    let effects = EffectDirection::TargetToSource;
    let edge = Edge { source: one.clone(), target: other, relation, effects };
    let declared: Vec<&Edge> = truth.topology().edges().collect();
    match draw.below(4) {
        0 => match draw.pick(truth.anomalies()) {
            Some(known) => Observation::Anomaly(eog::Anomaly { entity: one, ..known.clone() }),
            None => Observation::NewEvidence(one),
        },
        1 => Observation::EdgeAdded(edge),
        2 => Observation::EdgeRemoved(draw.pick(&declared).map_or(edge, |known| (*known).clone())),
        _ => Observation::NewEvidence(one),
    }
}

fn count(number: u64) -> NonZeroU32 {
    u32::try_from(number).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN)
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Limits { context_calls, policy_calls, retry, .. } = self.limits;
        writeln!(f, "incident: {:?}", self.truth.spec())?;
        writeln!(f, "configuration: {:?}", self.config)?;
        writeln!(f, "budget of the rough life: {:?}", self.rough_budget)?;
        writeln!(
            f,
            "limits: {context_calls:?} fetches, {policy_calls:?} decisions at once, {} attempts; \
             asks {} ahead; answers take up to {:?}",
            retry.attempts, self.speculation, self.delay
        )?;
        writeln!(
            f,
            "faults: {:?}, {:?}, wrong decisions {:.2}, rewording {}, calls outside fail {} times",
            self.world, self.policy, self.erring, self.rewording, self.outside_fails
        )?;
        writeln!(f, "crashes: {:?}", self.crashes)?;
        write!(f, "rough life: {:?}", self.rough)
    }
}
