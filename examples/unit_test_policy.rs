//! How to unit-test a policy: one call at a time, then in a whole investigation.
//!
//! In your crate the tests at the end are ordinary unit tests. Run the policy alone with
//! `cargo run --example unit_test_policy`.

use eog::evidence::Signal;
use eog::{AbductivePolicy, Answer, BoxFuture, Claim, ContextPacket, Decision, Failure, Label};
use eog_testkit::{ask, finding, packet};

fn main() -> Result<(), Failure> {
    print!("{}", show()?);
    Ok(())
}

pub(crate) fn show() -> Result<String, Failure> {
    let packet = packet("api").finding(finding("api").signal(Signal::Errors)).callee("db").build();
    let decision = ask(&BlameTheCallee, &packet)?.decision;
    Ok(format!("{}: {} ({} claims)\n", packet.entity, decision.label, decision.claims.len()))
}

/// The policy under test: an entity with errors is affected by everything it calls.
struct BlameTheCallee;

impl AbductivePolicy for BlameTheCallee {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async { Ok(judge(packet).into()) })
    }
}

fn judge(packet: &ContextPacket) -> Decision {
    let errors = packet.context.findings.iter().find(|finding| finding.signal == Signal::Errors);
    let Some(errors) = errors else {
        return Decision::new(Label::Healthy, "no errors").citing(&packet.context.findings);
    };
    let callees = packet.neighbours.iter().filter(|neighbour| neighbour.outgoing);
    let claims: Vec<Claim> = callees
        .map(|callee| {
            Claim::new(&callee.entity, &packet.entity, "it fails", "errors")
                .citing_ids([errors.id()])
        })
        .collect();
    let label = if claims.is_empty() { Label::Origin } else { Label::Symptom };
    Decision { claims, ..Decision::new(label, "it has errors").citing([errors]) }
}

#[cfg(test)]
mod tests {
    use eog::Config;
    use eog_testkit::{
        Call, Faulty, MemoryContext, Recorder, alert, assert_that, case, run, topology,
    };

    use super::*;

    /// One call: a situation in, a decision out. No engine, no runtime.
    #[test]
    fn no_errors_means_healthy() -> Result<(), Failure> {
        let calm = packet("api").finding(finding("api").signal(Signal::Traffic)).callee("db");
        let decision = ask(&BlameTheCallee, &calm.build())?.decision;
        assert_eq!(decision.label, Label::Healthy);
        assert!(decision.claims.is_empty());
        Ok(())
    }

    /// What a neighbour says must not change what this policy makes of its own errors.
    #[test]
    fn messages_do_not_matter() -> Result<(), Failure> {
        let errors = finding("api").signal(Signal::Errors).build();
        let alone = packet("api").finding(errors).callee("db");
        let informed = alone.clone().message("db", Label::Healthy, "all is well");
        let decide = |packet| ask(&BlameTheCallee, &packet).map(|answer| answer.decision);
        assert_eq!(decide(alone.build())?, decide(informed.build())?);
        Ok(())
    }

    /// A whole investigation: each caller claims its callee, until one has no callee.
    #[test]
    fn the_last_in_the_chain_is_the_origin() {
        let chain = topology("web calls api; api calls db");
        let errors = ["web", "api", "db"].map(|name| finding(name).signal(Signal::Errors));
        let contract = MemoryContext::default().with_all(errors);
        let policy = Recorder::new(BlameTheCallee);
        let case = case(chain, [alert("web", "HttpErrors", "10:05")]);
        let run = run(Config::default(), case, &contract, &policy);
        assert_that(&run)
            .claims("db", "api")
            .claims("api", "web")
            .ends_with_label("db", Label::Origin)
            .frontier(["db"])
            .converged();
        // The origin was asked with its caller's message at hand.
        assert_eq!(policy.packets_of("db")[0].inbox[0].sender.as_str(), "api");
    }

    /// When evidence is missing the investigation still ends, without an origin.
    #[test]
    fn a_missing_context_leaves_no_origin() {
        let contract = MemoryContext::default().with(finding("web").signal(Signal::Errors));
        let contract = Faulty::new(contract).fail(Call::of("db"), Failure::context("no access"));
        let case = case(topology("web calls db"), [alert("web", "HttpErrors", "10:05")]);
        let run = run(Config::default(), case, &contract, &BlameTheCallee);
        assert_that(&run).failed("db").ends_with_label("db", Label::Defer).frontier([]).converged();
    }
}
