//! What asking ahead saves and wastes, with a policy that takes 100 ms a call.
//!
//!     cargo bench -p eog --bench speculation -- [SEED]
//!
//! Wall-clock times on the real clock; contexts come at once. All figures of a row and its ratios
//! come from one run of this program.

use std::num::NonZeroU32;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use eog::{
    AbductivePolicy, Answer, BoxFuture, Config, ContextPacket, Engine, Failure, Finished,
    Speculation,
};
use eog_testkit::truth::{Shape, TruthGraph, TruthPolicy, TruthSpec};

const CALL: Duration = Duration::from_millis(100);
const WIDTHS: [u32; 4] = [2, 4, 8, 16];

/// A policy that takes its time.
struct Slow;

impl AbductivePolicy for Slow {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            tokio::time::sleep(CALL).await;
            TruthPolicy.decide(packet).await
        })
    }
}

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let arguments = || std::env::args().skip(1).filter(|argument| argument != "--bench");
    let seed = match arguments().next().map(|text| text.parse::<u64>()) {
        None => 1,
        Some(Ok(seed)) if arguments().count() == 1 => seed,
        Some(_) => {
            eprintln!("usage: speculation [SEED]");
            return ExitCode::from(2);
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else {
        eprintln!("cannot start the runtime");
        return ExitCode::FAILURE;
    };
    println!(
        "| incident (seed {seed}) | calls | one by one | ahead | time | speed-up | calls made early \
         | wasted | share of all calls |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    );
    for (name, spec) in specs() {
        let truth = match TruthGraph::generate(&spec, seed) {
            Ok(truth) => truth,
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        };
        let (alone, finished) = runtime.block_on(timed(&truth, None));
        let calls = finished.spent().hops;
        for width in WIDTHS {
            let (time, ahead) = runtime.block_on(timed(&truth, NonZeroU32::new(width)));
            if ahead.ledger() != finished.ledger() {
                eprintln!("asking {width} ahead changed the ledger of {name}");
                return ExitCode::FAILURE;
            }
            let figures = ahead.speculation;
            let made = calls + figures.wasted_calls;
            println!(
                "| {name} | {calls} | {:.1} s | {width} | {:.1} s | {:.1} | {} | {} | {:.0} % |",
                alone.as_secs_f64(),
                time.as_secs_f64(),
                alone.as_secs_f64() / time.as_secs_f64(),
                figures.early_calls,
                figures.wasted_calls,
                100.0 * figures.wasted_calls as f64 / made as f64,
            );
        }
    }
    ExitCode::SUCCESS
}

/// Incidents of 100 entities, from those in which many stand in line at a time to one in which
/// hardly more than one does.
fn specs() -> [(&'static str, TruthSpec); 4] {
    let spec = |shape, origins, alerts| TruthSpec {
        entities: 100,
        shape,
        alerts,
        origins,
        propagation: 0.9,
        ..TruthSpec::default()
    };
    [
        ("wide, 40 origins, 60 alerts", spec(Shape::Wide, 40, 60)),
        ("layered, 8 origins, 30 alerts", spec(Shape::Layered, 8, 30)),
        ("random, 8 origins, 10 alerts", spec(Shape::Random, 8, 10)),
        ("a chain, 4 origins, 8 alerts", spec(Shape::Chain, 4, 8)),
    ]
}

async fn timed(truth: &TruthGraph, ahead: Option<NonZeroU32>) -> (Duration, Finished) {
    let engine = Engine::new(truth, Slow);
    let engine = match ahead {
        // Waste is what is measured here, so it is not capped.
        Some(width) => engine
            .with_speculation(Speculation { max_wasted_calls: u64::MAX, ..Speculation::of(width) }),
        None => engine,
    };
    let began = Instant::now();
    let finished = engine.investigate(Config::default(), truth.case()).await;
    (began.elapsed(), finished)
}
