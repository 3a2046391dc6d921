//! A policy of your own: it sees one packet at a time, listens to its neighbours, and revises
//! itself when they know better.
//!
//! A database runs out of memory. Taken alone it appears to be the origin; its caller knows where the
//! load came from. Run it with `cargo run --example custom_policy`.

use eog::evidence::{PeerRole, Signal, Trend};
use eog::incident::Direction;
use eog::{
    AbductivePolicy, Answer, BoxFuture, Claim, Config, ContextPacket, Decision, Engine, EntityId,
    EvidenceKind, Failure, Finding, Finished, Label,
};
use eog_testkit::{MemoryContext, alert, case, finding, render, topology};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    // One line per evaluation: what was decided, and what followed.
    print!("{}", render(investigate().await.ledger()));
}

pub(crate) async fn investigate() -> Finished {
    let case = case(topology("web calls db"), [alert("web", "HttpErrors", "10:05")]);
    let load = |name, peer| {
        let more = finding(name).signal(Signal::Traffic).measured(130.0, 100.0, "1/s");
        more.peer(peer, PeerRole::Caller)
    };
    let evidence = MemoryContext::default()
        .with(finding("web").kind(EvidenceKind::Change).signal(Signal::Demand).at("10:00"))
        .with(finding("web").signal(Signal::Errors).trend(Trend::Rising).at("10:05"))
        .with(finding("db").signal(Signal::Exhaustion).at("10:04"))
        .with(load("db", "web"));
    Engine::new(evidence, LoadAware).investigate(Config::default(), case).await
}

/// Distinguishes overload from failure.
///
/// Three rules for every policy: keep no state, cite only what the packet shows, and claim only
/// what touches the packet's entity. The controller refuses the rest, and says so in the ledger.
struct LoadAware;

impl AbductivePolicy for LoadAware {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async { Ok(judge(packet).into()) })
    }
}

fn judge(packet: &ContextPacket) -> Decision {
    let of = |signal| packet.context.findings.iter().find(move |f| f.signal == signal);

    if let Some(demand) = of(Signal::Demand) {
        let calls_it = |callee: &EntityId| claim(&packet.entity, callee, "sends more load", demand);
        // Only an overloaded neighbour needs an explanation.
        let overloaded =
            packet.inbox.iter().filter(|message| message.belief.label != Label::Healthy);
        let decision = Decision::new(Label::Origin, "demand rose on purpose").citing([demand]);
        let decision = overloaded
            .fold(decision, |decision, message| decision.claiming(calls_it(&message.sender)));
        // Propose callees without a message so far.
        let silent = packet.neighbours.iter().find(|neighbour| {
            neighbour.outgoing && packet.message_from(&neighbour.entity).is_none()
        });
        return match silent {
            Some(callee) => decision.proposing(
                callee.entity.clone(),
                Direction::Upstream,
                "it may not bear the load",
            ),
            None => decision,
        };
    }
    match (of(Signal::Exhaustion), of(Signal::Traffic)) {
        (Some(exhausted), Some(traffic)) => {
            // The caller's load explains the exhaustion, if the caller says so, too.
            let claimed = |caller: &EntityId| {
                packet.message_from(caller).is_some_and(|belief| {
                    belief.claims.iter().any(|claim| claim.effect == packet.entity)
                })
            };
            match traffic.peer.as_ref().filter(|peer| claimed(&peer.entity)) {
                Some(caller) => Decision::new(Label::Symptom, "overloaded by its caller")
                    .citing([exhausted])
                    .claiming(claim(&caller.entity, &packet.entity, "sends more load", traffic)),
                None => Decision::new(Label::Origin, "it ran out of memory").citing([exhausted]),
            }
        }
        (Some(exhausted), None) => {
            Decision::new(Label::Origin, "it ran out of memory").citing([exhausted])
        }
        (None, _) => Decision::new(Label::Defer, "nothing to go by"),
    }
}

fn claim(cause: &EntityId, effect: &EntityId, condition: &str, seen: &Finding) -> Claim {
    Claim::new(cause, effect, condition, &seen.excerpt).citing_ids([seen.id()])
}
