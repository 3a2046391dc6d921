//! Search by hypotheses with a model in every role.

use crate::detective::{PHASES, SPECIALISTS, detect, specialist};
use crate::lab::{Lab, causes};
use crate::server::{Asked, Server};

const HYPOTHESES: [&str; 2] = ["--controller", "hypotheses"];

fn of<'a>(asked: &'a [Asked], phase: &str) -> Vec<&'a Asked> {
    asked.iter().filter(|asked| asked.phase() == phase).collect()
}

#[test]
fn a_model_plans_investigates_and_weighs() {
    let server = Server::start(detect);
    let lab = Lab::at(&server, "");
    let (run, ledger) = lab.ledger(&HYPOTHESES);
    assert_eq!(run.code, Some(0), "{}", run.said);
    assert_eq!(causes(&run.result()), ["frontend"]);
    let asked = server.take();
    for phase in PHASES.iter().chain(&["explore", "finalize"]) {
        assert!(!of(&asked, phase).is_empty(), "{phase} was never asked");
    }
    assert!(of(&asked, "unknown").is_empty());
    for (agent, _) in SPECIALISTS {
        assert!(ledger.contains(&format!("next for the specialist of {agent}")), "{agent}");
    }
    for asked in of(&asked, "search_investigate") {
        assert_ne!(specialist(asked), "unknown", "{}", asked.question());
    }
    if std::env::var_os("EOG_SHOW").is_some() {
        for asked in &asked {
            println!("=== {} {}\n{}\n", asked.at, asked.phase(), asked.whole());
        }
    }
}
