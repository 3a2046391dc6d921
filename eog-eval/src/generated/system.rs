//! Systems: their parts and calls, how much work each is, and on which node it is done.

use eog::EntityId;
use eog_simulate::Stream;

use super::flow::RETRIES;
use super::names::Names;

/// What a part does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Sends the load: people, or a feed of data.
    Clients,
    /// Answers requests, and calls others for it.
    Serving,
    /// One application that runs as several alike instances, which do the work.
    Group,
    /// Answers requests alone: a database or a cache.
    Store,
    /// Holds messages until workers take them.
    Queue,
    /// Takes messages, and calls others for it.
    Worker,
    /// Starts jobs at their times.
    Scheduler,
    /// Works through the items of a run of a job, and calls others for it.
    Step,
    /// Belongs to another organization: nothing is measured there.
    Outside,
    /// Runs other parts.
    Node,
}

/// A part of a system.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) name: EntityId,
    pub(super) role: Role,
    /// Time of its own for a request, in milliseconds.
    pub(super) work: f64,
    /// How many times its usual load it could take at its usual times.
    pub(super) headroom: f64,
    /// The share of requests that fail always.
    pub(super) errors: f64,
    /// The node that it runs on.
    pub(super) node: Option<usize>,
    /// Whether there are alerts on it.
    pub(super) watched: bool,
    /// Whether it waits for all its calls at once, not for one after the other.
    pub(super) parallel: bool,
    /// The application that it is an instance of.
    pub(super) group: Option<usize>,
    /// How many times the places that it needs it has; none where places are all that limits it, and
    /// there are just enough.
    pub(super) spare: Option<f64>,
    /// What it can be asked to do; nothing is known of it where this is empty.
    pub(super) operations: Vec<Operation>,
    /// When and how it runs, for a step of a job.
    pub(super) job: Option<Job>,
}

/// Something that a part can be asked to do.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) name: String,
    /// Its share of the requests of the part.
    pub(super) weight: f64,
}

/// What a step of a job has to do in each run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// Seconds from run to run.
    pub(super) period: f64,
    /// When the first run begins.
    pub(super) phase: f64,
    /// Items of a run.
    pub(super) items: f64,
    /// Seconds that the step takes as a rule.
    pub(super) usual: f64,
    /// Seconds after the beginning of the run when it should be done.
    pub(super) due: f64,
    /// Whether the run begins here.
    pub(super) first: bool,
}

/// How one part uses another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkKind {
    /// Calls it, or puts messages into it.
    Calls,
    /// Takes messages out of it.
    Takes,
    /// Puts messages there that it could not handle.
    DeadLetters,
    /// Is followed by it in a run of a job.
    Then,
}

/// One part uses another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Calls for each request.
    pub(super) share: f64,
    /// Whether a request fails when the call does.
    pub(super) needed: bool,
    /// When the caller gives up, in milliseconds.
    pub(super) timeout: f64,
    pub(super) kind: LinkKind,
    /// The share of failed calls that is tried again.
    pub(super) again: f64,
    /// Time on the network each way, in milliseconds.
    pub(super) network: f64,
}

/// A system. Callers come before those that they call.
#[derive(Clone, Debug)]
pub(super) struct System {
    pub(super) parts: Vec<Part>,
    pub(super) links: Vec<Link>,
    /// Requests from outside a second.
    pub(super) load: f64,
}

impl System {
    pub(super) fn new(load: f64) -> Self {
        Self { parts: Vec::new(), links: Vec::new(), load }
    }

    /// The parts of some roles.
    pub(super) fn having(&self, roles: &[Role]) -> Vec<usize> {
        (0..self.parts.len()).filter(|at| roles.contains(&self.parts[*at].role)).collect()
    }

    /// The calls that a part makes, messages included.
    pub(super) fn calls_of(&self, part: usize) -> impl Iterator<Item = &Link> {
        self.links.iter().filter(move |link| link.from == part && link.kind == LinkKind::Calls)
    }

    /// The queue that a worker takes from.
    pub(super) fn queue_of(&self, worker: usize) -> Option<usize> {
        let is_taken = |link: &&Link| link.from == worker && link.kind == LinkKind::Takes;
        self.links.iter().find(is_taken).map(|link| link.to)
    }

    /// Those who take from a queue.
    pub(super) fn takers(&self, queue: usize) -> impl Iterator<Item = usize> {
        let links = self.links.iter();
        let taken = links.filter(move |link| link.to == queue && link.kind == LinkKind::Takes);
        taken.map(|link| link.from)
    }

    pub(super) fn add(&mut self, name: EntityId, role: Role, draw: &mut Stream) -> usize {
        let work = match role {
            Role::Store | Role::Queue => 1.0 + 6.0 * draw.share(),
            Role::Worker | Role::Outside => 20.0 + 100.0 * draw.share(),
            _ => 4.0 + 40.0 * draw.share(),
        };
        self.parts.push(Part {
            name,
            role,
            work,
            headroom: 1.7 + 2.0 * draw.share(),
            errors: if draw.chance(0.5) { 0.004 * draw.share() } else { 0.0 },
            node: None,
            watched: false,
            parallel: false,
            group: None,
            spare: None,
            operations: Vec::new(),
            job: None,
        });
        self.parts.len() - 1
    }

    pub(super) fn link(&mut self, from: usize, to: usize, draw: &mut Stream) {
        let share = [0.3, 0.6, 1.0, 1.0, 2.0][draw.position(5)];
        let needed = draw.chance(0.85);
        let timeout = 400.0 + 2_600.0 * draw.share();
        let kind = LinkKind::Calls;
        self.links.push(Link {
            from,
            to,
            share,
            needed,
            timeout,
            kind,
            again: RETRIES,
            network: 0.0,
        });
    }

    /// A worker that takes from a queue.
    pub(super) fn take(&mut self, worker: usize, queue: usize) {
        self.join(worker, queue, LinkKind::Takes);
    }

    /// A link that is no call.
    pub(super) fn join(&mut self, from: usize, to: usize, kind: LinkKind) {
        let (share, needed, timeout, network) = (1.0, true, 30_000.0, 0.0);
        self.links.push(Link { from, to, share, needed, timeout, kind, again: RETRIES, network });
    }

    /// Places parts on new nodes.
    pub(super) fn place(&mut self, names: &mut Names, count: usize, draw: &mut Stream) {
        let first = self.parts.len();
        for number in 0..count {
            let name = names.fresh(&format!("-host-{number}"), draw);
            self.add(name, Role::Node, draw);
        }
        for part in &mut self.parts[..first] {
            if !matches!(part.role, Role::Clients | Role::Outside | Role::Group) {
                part.node = Some(first + draw.position(count));
            }
        }
    }
}
