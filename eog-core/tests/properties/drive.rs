//! Drives a controller in a plain loop.

use eog_core::ledger::Observation;
use eog_core::machine::{Inquiry, Ticket};
use eog_core::{
    Case, Config, ContextPacket, ContextRequest, Controller, Decision, Failure, Input,
    LocalContext, Output, StopReason, Usage,
};

use eog_testkit::prop::{Adversary, World};

/// Answers the controller's questions. May remember what it was asked.
pub(crate) trait Answers {
    fn context(&mut self, request: &ContextRequest) -> Result<LocalContext, Failure>;
    fn decide(&mut self, packet: &ContextPacket) -> Result<Decision, Failure>;
}

impl Answers for &World {
    fn context(&mut self, request: &ContextRequest) -> Result<LocalContext, Failure> {
        World::context(self, request)
    }
    fn decide(&mut self, packet: &ContextPacket) -> Result<Decision, Failure> {
        World::decide(self, packet)
    }
}

impl Answers for &Adversary {
    fn context(&mut self, request: &ContextRequest) -> Result<LocalContext, Failure> {
        Adversary::context(self, request)
    }
    fn decide(&mut self, packet: &ContextPacket) -> Result<Decision, Failure> {
        Adversary::decide(self, packet)
    }
}

/// What a question was.
#[derive(Clone, Debug)]
pub(crate) enum Question {
    Context(Ticket, ContextRequest),
    Decision(Ticket, std::sync::Arc<ContextPacket>),
}

impl Question {
    pub(crate) fn ticket(&self) -> Ticket {
        match self {
            Self::Context(ticket, _) | Self::Decision(ticket, _) => *ticket,
        }
    }

    pub(crate) fn answer(&self, answers: &mut impl Answers) -> Input {
        match self {
            Self::Context(ticket, request) => match answers.context(request) {
                Ok(context) => Input::context(*ticket, context),
                Err(failure) => Input::Failed(*ticket, failure),
            },
            Self::Decision(ticket, packet) => match answers.decide(packet) {
                Ok(decision) => Input::decision(*ticket, decision, Usage::default()),
                Err(failure) => Input::Failed(*ticket, failure),
            },
        }
    }
}

/// Which open question is answered next, and what is observed when.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    /// Random numbers that choose; without any, the evaluation dispatched first is answered first.
    pub(crate) shuffle: Vec<usize>,
    /// What is observed as soon as so many entries are stored.
    pub(crate) observed: Vec<(u64, Observation)>,
}

/// Runs to the end, or until more than `limit` evaluations were committed (then there is no stop
/// reason).
pub(crate) fn run(
    config: &Config,
    case: &Case,
    answers: &mut impl Answers,
    limit: u64,
) -> (Controller, Option<StopReason>) {
    run_on(config, case, answers, limit, &Course::default())
}

/// As [`run`], on a given course.
pub(crate) fn run_on(
    config: &Config,
    case: &Case,
    answers: &mut impl Answers,
    limit: u64,
    course: &Course,
) -> (Controller, Option<StopReason>) {
    go_on(Controller::new(config.clone(), case.clone()), answers, limit, course)
}

/// Goes on with a controller, on what is left of a course.
pub(crate) fn go_on(
    mut controller: Controller,
    answers: &mut impl Answers,
    limit: u64,
    course: &Course,
) -> (Controller, Option<StopReason>) {
    let mut open: Vec<Question> = Vec::new();
    let mut observed = course.observed.iter().peekable();
    let mut answered = 0;
    while controller.spent().evaluations <= limit {
        let input = match controller.poll() {
            Output::Append(entry) => Input::Appended(entry.seq),
            Output::Ask { ticket, question: Inquiry::Context(request) } => {
                open.push(Question::Context(ticket, request));
                continue;
            }
            Output::Ask { ticket, question: Inquiry::Decision(packet) } => {
                open.push(Question::Decision(ticket, packet));
                continue;
            }
            Output::Idle => {
                let choice = course.shuffle.get(answered % course.shuffle.len().max(1));
                answered += 1;
                let first = (0..open.len()).min_by_key(|&position| open[position].ticket());
                let first = first.expect("the controller waits for an answer");
                open.remove(choice.map_or(first, |choice| choice % open.len())).answer(answers)
            }
            Output::Done(stop) => return (controller, Some(stop)),
        };
        let stored = matches!(input, Input::Appended(_));
        controller.handle(input).expect("the loop answers what was asked");
        while stored && observed.peek().is_some_and(|(at, _)| *at <= controller.ledger().next_seq())
        {
            let (_, observation) = observed.next().expect("was peeked at");
            // An edge that is not there cannot be removed; such an observation changes nothing.
            let _ = controller.handle(Input::Observe(observation.clone()));
        }
    }
    (controller, None)
}
