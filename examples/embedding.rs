//! The smallest whole: an investigation inside your own program.
//!
//! A shop's frontend fails since its database got a smaller connection pool. Run it with
//! `cargo run --example embedding`.

use std::error::Error;

use eog::evidence::{EvidenceTime, FindingContent, Signal, Trend};
use eog::incident::EffectDirection;
use eog::{
    AbductivePolicy, Anomaly, Answer, BoxFuture, Case, Claim, Config, ContextContract,
    ContextPacket, ContextRequest, Decision, Engine, EntityId, EvidenceKind, Failure, Finding,
    Label, LocalContext, Topology, Window,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", investigate().await?);
    Ok(())
}

pub(crate) async fn investigate() -> Result<String, Box<dyn Error>> {
    let (web, db) = (EntityId::new("web")?, EntityId::new("db")?);

    // Dependencies: "web calls db", so failures travel from db to web.
    let mut topology = Topology::default();
    topology.connect(&web, "calls", &db, EffectDirection::TargetToSource);

    // What is wrong, and in which window.
    let onset = "2026-01-01T10:05:00Z".parse()?;
    let alert = Anomaly::new("HttpErrors", web.clone(), Signal::Errors, onset)
        .with_severity("critical")
        .with_description("more than 5 % of the requests fail");
    let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T10:30:00Z".parse()?)?;
    let case = Case::from_anomalies(topology, window, vec![alert]);

    // The source of evidence, the policy, and the engine that drives both.
    let evidence = Shop { errors: span_errors(&web)?, change: smaller_pool(&db)? };
    let finished = Engine::new(evidence, FollowTheCalls).investigate(Config::default(), case).await;

    let conclusion = finished.conclusion();
    let mut report = format!("confidence: {}\n", conclusion.confidence);
    for group in &conclusion.frontier {
        for origin in &group.origins {
            let why = finished.machine.belief(origin).map_or("", |belief| &belief.summary);
            report += &format!("origin: {origin}: {why}\n");
        }
    }
    report += &format!("evaluations: {}\n", finished.spent().evaluations);
    Ok(report)
}

/// A context contract: the local evidence of one entity.
struct Shop {
    errors: Finding,
    change: Finding,
}

impl ContextContract for Shop {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        let all = [&self.errors, &self.change].into_iter();
        let own = all.filter(|finding| finding.entity == request.entity).cloned();
        let context = LocalContext { findings: own.collect(), ..LocalContext::default() };
        Box::pin(async move { Ok(context) })
    }
}

/// A policy: what was changed is an origin; what fails suffers from what it calls.
struct FollowTheCalls;

impl AbductivePolicy for FollowTheCalls {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async { Ok(judge(packet).into()) })
    }
}

fn judge(packet: &ContextPacket) -> Decision {
    let findings = &packet.context.findings;
    if let Some(change) = findings.iter().find(|finding| finding.kind == EvidenceKind::Change) {
        return Decision::new(Label::Origin, &change.excerpt).citing([change]);
    }
    let callee = packet.neighbours.iter().find(|neighbour| neighbour.outgoing);
    match (findings.first(), callee) {
        (Some(errors), Some(callee)) => {
            let (cause, effect) = (&callee.entity, &packet.entity);
            let claim = Claim::new(cause, effect, "it does not answer", &errors.excerpt)
                .citing_ids([errors.id()]);
            Decision::new(Label::Symptom, "its calls fail").citing([errors]).claiming(claim)
        }
        _ => Decision::new(Label::Defer, "nothing to go by"),
    }
}

fn span_errors(web: &EntityId) -> Result<Finding, Box<dyn Error>> {
    let at = EvidenceTime::At("2026-01-01T10:04:30Z".parse()?);
    let errors = FindingContent::new(web.clone(), EvidenceKind::Span, Signal::Errors, at)
        .with_trend(Trend::Rising)
        .from_source("traces", "service=web status=error")
        .with_excerpt("12 % of the calls end in a time-out");
    Ok(errors.into())
}

fn smaller_pool(db: &EntityId) -> Result<Finding, Box<dyn Error>> {
    let at = EvidenceTime::At("2026-01-01T10:03:00Z".parse()?);
    let change = FindingContent::new(db.clone(), EvidenceKind::Change, Signal::Configuration, at)
        .with_change("pool.size", Some("50".to_owned()), Some("5".to_owned()))
        .from_source("configuration history", "entity=db since=10:00")
        .with_excerpt("pool.size was changed from 50 to 5");
    Ok(change.into())
}
