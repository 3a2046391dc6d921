//! The generated incident.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::evidence::Signal;
use eog_core::incident::{Edge, EffectDirection};
use eog_core::{
    Anomaly, BoxFuture, Case, ContextContract, ContextRequest, Digest, EntityId, Failure, Finding,
    LocalContext, Timestamp, Topology, Window,
};
use serde::Serialize;

use super::spec::{InvalidSpec, TruthSpec};
use super::spread::{Trouble, spread};
use super::{evidence, shape};
use crate::clock::{Clock, Ms, SECOND};
use crate::random::{RandomSeed, Stream};
use crate::reach::reached;

/// A generated incident: what is declared, what happened, and what everybody shows of it.
///
/// It is also a context contract that answers every request with the whole evidence of the entity.
/// Making one takes time and memory in proportion to entities and calls.
///
/// ```
/// use eog_core::Config;
/// use eog_testkit::run;
/// use eog_simulate::truth::{TruthGraph, TruthPolicy, TruthSpec};
/// let truth = TruthGraph::generate(&TruthSpec::default(), 7)?;
/// let ended = run(Config::default(), truth.case(), &truth, &TruthPolicy);
/// let found = ended.conclusion().frontier.into_iter().flat_map(|group| group.origins);
/// assert_eq!(found.collect::<Vec<_>>(), Vec::from_iter(truth.linked_origins()));
/// # Ok::<(), eog_simulate::truth::InvalidSpec>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TruthGraph {
    spec: TruthSpec,
    seed: RandomSeed,
    window: Window,
    topology: Topology,
    undeclared: Vec<Edge>,
    anomalies: Vec<Anomaly>,
    entities: BTreeMap<EntityId, TruthEntity>,
}

/// The truth about one entity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TruthEntity {
    /// Its actual callees, declared or not.
    pub calls: Vec<EntityId>,
    /// What happened to it.
    pub role: Role,
    /// When it was changed without any effect, if it is a decoy.
    pub decoy: Option<Timestamp>,
    /// The healthy callee that it blames besides the true ones, if it is misleading.
    pub blames: Option<EntityId>,
    /// All that it shows.
    pub context: LocalContext,
}

/// What happened to one entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Nothing.
    Healthy,
    /// Failing callees struck it.
    Affected {
        /// When it began to fail: the time of its first cause.
        since: Timestamp,
        /// Which callees struck it, in the order of time.
        causes: Vec<Cause>,
    },
    /// It failed for its own reason.
    Origin {
        /// When it was changed.
        changed: Timestamp,
        /// When it began to fail, after the change.
        since: Timestamp,
        /// Which callees struck it afterwards. They explain nothing.
        echoes: Vec<Cause>,
    },
}

impl Role {
    /// When it began to fail, if it did.
    pub fn since(&self) -> Option<Timestamp> {
        match self {
            Self::Healthy => None,
            Self::Affected { since, .. } | Self::Origin { since, .. } => Some(*since),
        }
    }

    /// The callees that explain why it fails. An origin explains itself.
    pub fn causes(&self) -> &[Cause] {
        match self {
            Self::Healthy | Self::Origin { .. } => &[],
            Self::Affected { causes, .. } => causes,
        }
    }

    /// Whether it is an origin.
    pub fn is_origin(&self) -> bool {
        matches!(self, Self::Origin { .. })
    }
}

/// A failing callee that struck an entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The callee. It began to fail before.
    pub entity: EntityId,
    /// When it struck.
    pub at: Timestamp,
}

impl TruthGraph {
    /// Generates the incident of a seed.
    ///
    /// # Errors
    /// [`InvalidSpec`] when the spec makes no sense.
    pub fn generate(spec: &TruthSpec, seed: impl Into<RandomSeed>) -> Result<Self, InvalidSpec> {
        spec.check()?;
        let seed = seed.into();
        let callees = shape::callees(spec, &mut seed.stream("calls"));
        let origins = seed.stream("origins").sample(spec.entities, spec.origins);
        let callers = shape::callers(&callees);
        let troubles = spread(&callers, &origins, spec.propagation, &mut seed.stream("spread"));
        let making = Making { spec, seed, names: names(spec, seed), callees, troubles };
        Ok(making.finish())
    }

    /// What it was made from.
    pub fn spec(&self) -> &TruthSpec {
        &self.spec
    }

    /// The seed it was made from.
    pub fn seed(&self) -> RandomSeed {
        self.seed
    }

    /// The window: from before the first change until after everything has spread.
    pub fn window(&self) -> Window {
        self.window
    }

    /// The declared topology: every entity, and the true calls but for the undeclared ones.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// True calls that the topology lacks, sorted.
    pub fn undeclared(&self) -> &[Edge] {
        &self.undeclared
    }

    /// The alerts, by onset and name of the entity.
    pub fn anomalies(&self) -> &[Anomaly] {
        &self.anomalies
    }

    /// Every entity by name.
    pub fn entities(&self) -> impl ExactSizeIterator<Item = (&EntityId, &TruthEntity)> {
        self.entities.iter()
    }

    /// The truth about one entity.
    pub fn get(&self, entity: &EntityId) -> Option<&TruthEntity> {
        self.entities.get(entity)
    }

    /// An investigation of it that starts at every alert.
    pub fn case(&self) -> Case {
        Case::from_anomalies(self.topology.clone(), self.window, self.anomalies.clone())
    }

    /// All true origins.
    pub fn origins(&self) -> BTreeSet<EntityId> {
        let origins = self.entities.iter().filter(|(_, entity)| entity.role.is_origin());
        origins.map(|(name, _)| name.clone()).collect()
    }

    /// The true origins that explain an alert: those from which causes lead to it. A right frontier
    /// holds just these.
    pub fn linked_origins(&self) -> BTreeSet<EntityId> {
        let alerting = self.anomalies.iter().map(|alert| &alert.entity);
        let causes = |name| {
            let causes = self.get(name).map_or(&[][..], |entity| entity.role.causes());
            causes.iter().map(|cause| &cause.entity)
        };
        let is_origin =
            |name: &&EntityId| self.get(name).is_some_and(|entity| entity.role.is_origin());
        reached(alerting, causes).into_iter().filter(is_origin).cloned().collect()
    }

    /// What an entity showed at an instant: the findings that had begun by then. A metric that had
    /// not risen yet is normal.
    pub fn context_at(&self, entity: &EntityId, instant: Timestamp) -> Option<LocalContext> {
        let mut context = self.get(entity)?.context.clone();
        context.findings.retain(|finding| finding.time.start() <= instant);
        for signal in evidence::MEASURED {
            let is_metric = |finding: &Finding| finding.peer.is_none() && finding.signal == signal;
            if !context.findings.iter().any(is_metric) {
                context.findings.push(evidence::normal_metric(entity, signal, self.window));
            }
        }
        Some(context)
    }

    /// A digest of everything in it: equal graphs have equal digests on any machine.
    pub fn digest(&self) -> Digest {
        Digest::of(self)
    }
}

impl ContextContract for TruthGraph {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        Box::pin(async move {
            match self.get(&request.entity) {
                Some(entity) => Ok(entity.context.clone()),
                None => Err(stranger(&request.entity)),
            }
        })
    }
}

/// The answer for an entity that is not in the graph.
pub fn stranger(entity: &EntityId) -> Failure {
    Failure::context(format!("{entity} is no entity of this truth graph"))
}

/// Names in an order that says nothing about the shape.
fn names(spec: &TruthSpec, seed: RandomSeed) -> Vec<EntityId> {
    let numbers = seed.stream("names").sample(spec.entities, spec.entities);
    let name = |number| {
        EntityId::new(format!("e{number:06}"))
            .unwrap_or_else(|error| unreachable!("a letter and digits: {error}"))
    };
    numbers.into_iter().map(name).collect()
}

/// When every window starts: 2026-01-01, 10:00.
const START: Clock = Clock(Timestamp::constant(1_767_261_600, 0));

/// An incident in the making: everything by number, times in seconds.
struct Making<'s> {
    spec: &'s TruthSpec,
    seed: RandomSeed,
    names: Vec<EntityId>,
    callees: Vec<Vec<usize>>,
    troubles: Vec<Option<Trouble>>,
}

/// What is drawn for the evidence, one stream for each purpose.
struct Draws {
    signals: Stream,
    decoys: Stream,
    misleading: Stream,
    values: Stream,
}

impl Making<'_> {
    fn finish(self) -> TruthGraph {
        let window = self.window();
        let (topology, undeclared) = self.declare();
        let mut draws = Draws {
            signals: self.seed.stream("signals"),
            decoys: self.seed.stream("decoys"),
            misleading: self.seed.stream("misleading"),
            values: self.seed.stream("values"),
        };
        let signals: Vec<Signal> = self
            .names
            .iter()
            .map(|_| if draws.signals.chance(0.7) { Signal::Errors } else { Signal::Latency })
            .collect();
        let entities = (0..self.names.len())
            .map(|number| {
                let entity = self.entity(number, signals[number], window, &mut draws);
                (self.names[number].clone(), entity)
            })
            .collect();
        TruthGraph {
            spec: self.spec.clone(),
            seed: self.seed,
            window,
            topology,
            undeclared,
            anomalies: self.alerts(&signals),
            entities,
        }
    }

    /// Whole hours that hold everything with ten minutes to spare.
    fn window(&self) -> Window {
        let struck = |trouble: &Trouble| trouble.struck_by.iter().map(|(_, at)| *at).max();
        let last = self
            .troubles
            .iter()
            .flatten()
            .map(|trouble| struck(trouble).unwrap_or(0).max(trouble.since));
        let hours = (last.max().unwrap_or(0) + 600).div_ceil(3600);
        Window::new(instant(0), instant(hours * 3600))
            .unwrap_or_else(|error| unreachable!("ten minutes at least: {error}"))
    }

    fn declare(&self) -> (Topology, Vec<Edge>) {
        let mut draw = self.seed.stream("undeclared");
        let mut topology = Topology::default();
        let mut undeclared = Vec::new();
        for (caller, callees) in self.names.iter().zip(&self.callees) {
            topology.add_entity(caller.clone());
            for callee in callees {
                let edge = Edge {
                    source: caller.clone(),
                    target: self.names[*callee].clone(),
                    relation: "calls".to_owned(),
                    effects: EffectDirection::TargetToSource,
                };
                if draw.chance(self.spec.undeclared) {
                    undeclared.push(edge);
                } else {
                    topology.add_edge(edge);
                }
            }
        }
        undeclared.sort();
        (topology, undeclared)
    }

    fn alerts(&self, signals: &[Signal]) -> Vec<Anomaly> {
        let mut draw = self.seed.stream("alerts");
        let failing: Vec<(usize, u64)> = (self.troubles.iter().enumerate())
            .filter_map(|(number, trouble)| Some((number, trouble.as_ref()?.since)))
            .collect();
        let drawn = draw.sample(failing.len(), self.spec.alerts);
        let mut alerts: Vec<Anomaly> = drawn
            .into_iter()
            .map(|position| {
                let (number, since) = failing[position];
                let signal = signals[number];
                let errors = signal == Signal::Errors;
                let name = if errors { "HighErrorRatio" } else { "HighLatency" };
                let onset = instant(since + draw.between(30, 120));
                let alert = Anomaly::new(name, self.names[number].clone(), signal, onset);
                Anomaly { severity: "critical".to_owned(), ..alert }
            })
            .collect();
        alerts.sort_by(|a, b| (a.onset, &a.entity).cmp(&(b.onset, &b.entity)));
        alerts
    }

    fn entity(
        &self,
        number: usize,
        signal: Signal,
        window: Window,
        draws: &mut Draws,
    ) -> TruthEntity {
        let trouble = self.troubles[number].as_ref();
        let name = &self.names[number];
        let lasting = |from: Timestamp| {
            Window::new(from, window.end())
                .unwrap_or_else(|error| unreachable!("the window holds all trouble: {error}"))
        };
        let is_origin = trouble.is_some_and(|trouble| trouble.changed.is_some());
        let decoy = draws.decoys.chance(self.spec.decoys) && !is_origin;
        let length = window.end().duration_since(window.start()).unsigned_abs().as_secs();
        let decoy_at = draws.decoys.below(length);
        let decoy = decoy.then(|| instant(decoy_at));
        let blames = trouble.filter(|_| !is_origin).and_then(|trouble| {
            let misled = draws.misleading.chance(self.spec.misleading);
            let delay = draws.misleading.between(1, 10);
            let healthy: Vec<usize> = self.callees[number]
                .iter()
                .copied()
                .filter(|c| self.troubles[*c].is_none())
                .collect();
            let blamed = *draws.misleading.pick(&healthy)?;
            misled.then(|| (self.names[blamed].clone(), instant(trouble.since + delay)))
        });

        let causes: Vec<Cause> = (trouble.into_iter().flat_map(|trouble| &trouble.struck_by))
            .map(|(by, at)| Cause { entity: self.names[*by].clone(), at: instant(*at) })
            .collect();
        let mut findings = Vec::new();
        let changed = trouble.and_then(|trouble| trouble.changed).map(instant);
        if let Some(at) = changed.or(decoy) {
            findings.push(evidence::change(name, at, &mut draws.values));
        }
        for cause in &causes {
            let during = lasting(cause.at);
            let values = &mut draws.values;
            findings.push(evidence::bad_calls(name, &cause.entity, signal, during, values));
        }
        if let Some((callee, from)) = &blames {
            let (slow, during) = (Signal::Latency, lasting(*from));
            findings.push(evidence::bad_calls(name, callee, slow, during, &mut draws.values));
        }
        for measured in evidence::MEASURED {
            findings.push(match trouble {
                Some(trouble) if measured == signal => {
                    let during = lasting(instant(trouble.since));
                    evidence::raised_metric(name, signal, during, &mut draws.values)
                }
                _ => evidence::normal_metric(name, measured, window),
            });
        }
        let since = trouble.map(|trouble| instant(trouble.since));
        TruthEntity {
            calls: self.callees[number].iter().map(|callee| self.names[*callee].clone()).collect(),
            role: match (since, changed) {
                (None, _) => Role::Healthy,
                (Some(since), None) => Role::Affected { since, causes },
                (Some(since), Some(changed)) => Role::Origin { changed, since, echoes: causes },
            },
            decoy,
            blames: blames.map(|(callee, _)| callee),
            context: LocalContext { findings, ..LocalContext::default() },
        }
    }
}

/// The instant so many seconds after the start of the window.
fn instant(seconds: u64) -> Timestamp {
    START.at(seconds as Ms * SECOND)
}
