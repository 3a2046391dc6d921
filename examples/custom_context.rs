//! A context contract of your own, over a table in memory, with a source that fails.
//!
//! Nothing here is about computers: a bottling line stands still. Run it with
//! `cargo run --example custom_context`.

use std::error::Error;

use eog::evidence::{EvidenceTime, FindingContent, PeerRole, Signal};
use eog::incident::Direction;
use eog::{
    BoxFuture, Config, ContextContract, ContextRequest, Engine, EntityId, EvidenceKind, Failure,
    LocalContext, Timestamp,
};
use eog_testkit::{TablePolicy, alert, case, deferred, on, on_any, origin, symptom_of, topology};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", investigate().await?);
    Ok(())
}

pub(crate) async fn investigate() -> Result<String, Box<dyn Error>> {
    // Effects travel down the line: from the filler over the belt to the capper.
    let line = topology("filler feeds belt ->; belt feeds capper ->; scale watches belt");
    let case = case(line, [alert("capper", "Standstill", "10:05")]);
    let policy = TablePolicy::new([
        on("capper").answers(|packet| symptom_of(packet, "belt")),
        on("belt").answers(|packet| {
            let mentioned = packet.context.mentions.iter().cloned();
            mentioned.fold(symptom_of(packet, "filler"), |decision, machine| {
                decision.proposing(machine, Direction::Both, "the log mentions it")
            })
        }),
        on("filler").signal(Signal::Configuration).answers(origin),
        on_any().answers(deferred),
    ]);
    let finished = Engine::new(ShiftLog, policy).investigate(Config::default(), case).await;

    let mut report = String::new();
    for (entity, belief) in finished.machine.beliefs() {
        report += &format!("{entity}: {}: {}\n", belief.label, belief.summary);
    }
    let origins = finished.conclusion().frontier.into_iter().flat_map(|group| group.origins);
    report += &format!("origins: {:?}\n", origins.collect::<Vec<_>>());
    Ok(report)
}

/// One row of the shift log: time, machine, what, other machine, note.
type Row = (&'static str, &'static str, &'static str, &'static str, &'static str);

const ROWS: &[Row] = &[
    ("2026-01-01T10:01:00Z", "filler", "setting", "", "fill level set from 500 to 530 ml"),
    ("2026-01-01T10:03:00Z", "belt", "stop", "filler", "bottles overflow and stick"),
    ("2026-01-01T10:03:30Z", "belt", "note", "scale", "ask at the scale"),
    ("2026-01-01T10:04:00Z", "capper", "stop", "belt", "no bottles arrive"),
    ("2026-01-01T11:30:00Z", "capper", "stop", "", "end of shift"),
];
/// At most this many findings go into one context; the rest is named in `omitted`.
const MAX_FINDINGS: usize = 20;

/// The context contract: rows of one machine in the window, as findings.
struct ShiftLog;

impl ContextContract for ShiftLog {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        // A source that reads files or asks a server would await here.
        Box::pin(async move { look_up(request) })
    }
}

fn look_up(request: &ContextRequest) -> Result<LocalContext, Failure> {
    if request.entity.as_str() == "scale" {
        // A failure is recorded, its entity deferred; the investigation goes on.
        return Err(Failure::context("the scale keeps no log"));
    }
    let mut context = LocalContext::default();
    for (time, machine, what, other, note) in ROWS {
        let at: Timestamp = time.parse().map_err(|error| {
            Failure::context(format!("{time:?} in the shift log is not a time: {error}"))
        })?;
        if *machine != request.entity.as_str() || !request.window.contains(at) {
            continue;
        }
        let other = EntityId::new(*other).ok();
        if *what == "note" {
            context.mentions.extend(other);
        } else if context.findings.len() == MAX_FINDINGS {
            context.omitted = vec!["later rows of the shift log".to_owned()];
        } else {
            let (kind, signal) = match *what {
                "setting" => (EvidenceKind::Change, Signal::Configuration),
                _ => (EvidenceKind::Event, Signal::Availability),
            };
            let entity = request.entity.clone();
            let mut row = FindingContent::new(entity, kind, signal, EvidenceTime::At(at))
                .from_source("shift log", format!("machine={machine} time={time}"))
                .with_excerpt(*note);
            if let Some(other) = other {
                row = row.with_peer(other, PeerRole::Mentioned);
            }
            context.findings.push(row.into());
        }
    }
    Ok(context)
}
