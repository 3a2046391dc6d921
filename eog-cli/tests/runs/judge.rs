//! A ledger is continued by the policy that began it.

use super::incident::{HEALTHY, Incident};
use crate::common::{Run, run, script};

#[test]
fn nothing_else_judges_without_being_asked_to() {
    let incident = Incident::judged_by(HEALTHY);
    let (journal, name) = (incident.path("run.journal"), incident.policy());
    let ledger = incident.ledger(&["--journal", journal.to_str().unwrap()]);
    assert!(ledger.lines().next().unwrap().contains(&format!("\"policy\":\"{name}\"")));
    // Something is left to be asked.
    let whole = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &whole[..whole.len() - 7]).unwrap();
    std::fs::remove_file(incident.path("policy.sh.calls")).unwrap();

    let other = Incident::judged_by(HEALTHY);
    let others = other.policy();
    for (options, now) in
        [(&[][..], "evidence (weights "), (&["--policy", &others], others.as_str())]
    {
        let expected = format!("the policy of this ledger is {name}, not {now}");
        for refused in [
            run!("resume", journal, incident.path("bundle"), options),
            run!("explain", journal, "service-1", options),
        ] {
            refused.exits(2).says(&[&expected, "`eog fork`"]);
        }
    }
    assert!(!other.path("policy.sh.calls").exists());
    assert!(!incident.path("policy.sh.calls").exists());

    Run::of(&mut incident.resume(&journal)).exits(3);
    assert_eq!(std::fs::read(&journal).unwrap(), whole);
}

#[test]
fn an_explanation_draws_nothing_from_a_policy_that_says_something_else_now() {
    let incident = Incident::judged_by(HEALTHY);
    incident.ledger(&[]);
    incident.explain(&[]).prints(&["No single finding or message"]);
    incident.is_judged_by(&HEALTHY.replace("healthy", "symptom"));
    let expected = "for the same packet the policy now answers symptom";
    let text = incident.explain(&[]).prints(&[expected]).out;
    assert!(!text.contains("it would be"), "{text}");
    script(incident.path("policy.sh"), "exit 3");
    incident.explain(&[]).prints(&["for the same packet the policy now fails: "]);
}

#[test]
fn a_program_gets_the_environment_without_keys() {
    let incident = Incident::judged_by(&format!("env > \"$0.env\"; {HEALTHY}"));
    let environment = |options: &[&str]| {
        let run = Run::of(incident.investigate(options).envs([
            ("OPENAI_API_KEY", "sk-4f8a1c9e7b2d6053"),
            ("MY_DB_PASSWORD", "correct-horse-7"),
            ("KUBECONFIG", "/home/me/.kube/config"),
            (
                "GOOGLE_APPLICATION_CREDENTIALS",
                incident.path("bundle/bundle.json").to_str().unwrap(),
            ),
            ("TEAM", "payments"),
        ]));
        assert!(run.code.is_some_and(|code| code <= 3), "{run:?}");
        incident.read("policy.sh.env")
    };
    let env = environment(&[]);
    for line in ["TEAM=payments", "KUBECONFIG=/home/me/.kube/config"] {
        assert!(env.lines().any(|given| given == line), "{line} is missing: {env}");
    }
    assert!(!env.contains("OPENAI_API_KEY") && !env.contains("MY_DB_PASSWORD"), "{env}");
    assert!(env.contains("GOOGLE_APPLICATION_CREDENTIALS="), "the name of a file: {env}");
    let env = environment(&["--policy-env", "MY_DB_PASSWORD"]);
    assert!(env.contains("MY_DB_PASSWORD=correct-horse-7"), "{env}");
    assert!(!env.contains("OPENAI_API_KEY"), "{env}");
}
