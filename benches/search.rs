//! What a width saves a tree search whose evaluator takes its time: 200 evaluations of 100 ms each, and of
//! log-normal times with the same median.
//!
//!     cargo bench -p eog --bench search
//!
//! Wall-clock times on the real clock; all other answers come at once. Ratios are of one run.

use std::num::NonZeroU32;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use eog::ledger::Body;
use eog::machine::{Responder, Response};
use eog::{BoxFuture, Case, Decision, Digest, Engine, EntityId, Failure, Label, LocalContext};
use eog_search::{Action, Answer, Ask, Role, SearchBody, SearchConfig, Verdict};

const CALL: Duration = Duration::from_millis(100);
const EVALUATIONS: u64 = 200;
/// σ of the logarithm.
const SIGMA: f64 = 0.75;

/// Answers at once, except for evaluations.
struct Slow {
    log_normal: bool,
    asked: AtomicU64,
}

/// From 0 to 1, by what a question is about.
fn share(what: &str, about: &str) -> f64 {
    let digest = Digest::of(&(what, about)).to_string();
    let number = u64::from_str_radix(&digest[..12], 16).unwrap_or_default();
    number as f64 / (1_u64 << 48) as f64
}

/// Log-normal around 100 ms (Box and Muller 1958).
fn time(about: &str) -> Duration {
    let (a, b) = (share("radius", about).max(1e-12), share("angle", about));
    let normal = (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos();
    CALL.mul_f64((SIGMA * normal).exp())
}

fn service(number: usize) -> EntityId {
    match EntityId::new(format!("service-{number}")) {
        Ok(entity) => entity,
        Err(error) => unreachable!("{error}"),
    }
}

impl Responder<Ask> for Slow {
    fn respond<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Response<Answer>, Failure>> {
        Box::pin(async move {
            let answer = match &ask.role {
                Role::Context(_) => Answer::Context(LocalContext::default()),
                Role::Decide(_) => Answer::Decision(Decision::new(Label::Defer, "free")),
                Role::Propose(ask) => {
                    let path: String =
                        ask.path.iter().map(|seen| seen.action.entity().as_str()).collect();
                    let first = (share("first", &path) * 64.0) as usize;
                    let next = (0..64).map(|at| service((first + at) % 64));
                    let new = next.filter(|entity| {
                        ask.path.iter().all(|seen| seen.action.entity() != entity)
                    });
                    Answer::Actions(
                        new.take(5).map(|entity| Action::look(entity, "free")).collect(),
                    )
                }
                Role::Act(_) => Answer::Action(None),
                Role::Evaluate(ask) => {
                    let path: String =
                        ask.path.iter().map(|seen| seen.action.entity().as_str()).collect();
                    let about = format!("{path} {:?}", ask.purpose);
                    self.asked.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(if self.log_normal { time(&about) } else { CALL }).await;
                    Answer::Verdict(Verdict::new(
                        500 + (share("score", &about) * 300.0) as u16,
                        "free",
                    ))
                }
                _ => Answer::Reflection("free".to_owned()),
            };
            Ok(answer.into())
        })
    }
}

fn case() -> Result<Case, Box<dyn std::error::Error>> {
    let window =
        eog::Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
    let mut topology = eog::Topology::default();
    (0..64).for_each(|number| topology.add_entity(service(number)));
    let mut case = Case::from_anomalies(topology, window, Vec::new());
    case.seeds.push(eog::Seed { entity: service(0), reason: "free".to_owned() });
    Ok(case)
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("| evaluations | width | asked | time | speed-up |\n|---|---:|---:|---:|---:|");
    for (name, log_normal) in [("100 ms", false), ("log-normal, median 100 ms", true)] {
        let mut one = None;
        for width in [1, 8] {
            let slow = Slow { log_normal, asked: AtomicU64::new(0) };
            // Each round has five values and a reward.
            let rounds = u32::try_from(EVALUATIONS / 6)?;
            let config = SearchConfig::lats().with_rounds(rounds).with_accept(1000)?;
            let config = config.with_width(NonZeroU32::new(width).unwrap_or(NonZeroU32::MIN));
            let begun = Instant::now();
            let engine = Engine::<_, SearchBody>::with_responder(&slow);
            let ended = runtime.block_on(engine.investigate(config, case()?));
            let took = begun.elapsed();
            assert_eq!(ended.ledger().opening().map(|it| it.format), Some(SearchBody::FORMAT));
            let one = *one.get_or_insert(took);
            let asked = slow.asked.load(Ordering::Relaxed);
            let ratio = one.as_secs_f64() / took.as_secs_f64();
            println!("| {name} | {width} | {asked} | {:.1} s | {ratio:.1} |", took.as_secs_f64());
        }
    }
    Ok(())
}
