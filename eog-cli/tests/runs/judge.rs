//! Who goes on with a ledger is who began it.

use super::common::eog;
use super::incident::{HEALTHY, Incident, said};

#[test]
fn nobody_else_judges_without_being_asked_to() {
    let incident = Incident::judged_by(HEALTHY);
    let journal = incident.path("run.journal");
    let name = format!("command:{}", incident.path("policy.sh").display());
    let ledger = incident.ledger(&["--journal", journal.to_str().unwrap()]);
    assert!(ledger.lines().next().unwrap().contains(&format!("\"policy\":\"{name}\"")));
    // Something is left to be asked.
    let whole = std::fs::read(&journal).unwrap();
    let torn = &whole[..whole.len() - 7];
    std::fs::write(&journal, torn).unwrap();
    std::fs::remove_file(incident.path("policy.sh.calls")).unwrap();

    let bundle = incident.path("bundle");
    let other = Incident::judged_by(HEALTHY);
    let others = format!("command:{}", other.path("policy.sh").display());
    for (options, now) in
        [(&[][..], "evidence (weights "), (&["--policy", &others], others.as_str())]
    {
        let resumed = eog().arg("resume").arg(&journal).arg(&bundle).args(options).output();
        let explained = eog().arg("explain").arg(&journal).arg("service-1").args(options).output();
        for output in [resumed.unwrap(), explained.unwrap()] {
            assert_eq!(output.status.code(), Some(2), "{}", said(&output));
            let expected = format!("the policy of this ledger is {name}, not {now}");
            assert!(said(&output).contains(&expected), "{}", said(&output));
            assert!(said(&output).contains("`eog fork`"), "{}", said(&output));
        }
    }
    assert!(!other.path("policy.sh.calls").exists());
    assert!(!incident.path("policy.sh.calls").exists());

    let resumed = incident.resume(&journal).output().unwrap();
    assert_eq!(resumed.status.code(), Some(3), "{}", said(&resumed));
    assert_eq!(std::fs::read(&journal).unwrap(), whole);
}

#[test]
fn an_explanation_draws_nothing_from_a_policy_that_says_something_else_now() {
    let incident = Incident::judged_by(HEALTHY);
    incident.ledger(&[]);
    let policy = incident.path("policy.sh");
    let explain = || {
        let mut command = eog();
        command.arg("explain").arg(incident.path("out")).arg("service-1");
        let name = format!("command:{}", policy.display());
        let output = command.arg("--policy").arg(name).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(explain().contains("No single finding or message"));
    let script = std::fs::read_to_string(&policy).unwrap();
    // Edited in place, its name stays.
    std::fs::write(&policy, script.replace("healthy", "symptom")).unwrap();
    let text = explain();
    assert!(text.contains("for the same packet the policy now answers symptom"), "{text}");
    assert!(!text.contains("it would be"), "{text}");
    std::fs::write(&policy, "#!/bin/sh\nexit 3\n").unwrap();
    let text = explain();
    assert!(text.contains("for the same packet the policy now fails: "), "{text}");
}

#[test]
fn a_program_gets_the_environment_without_keys() {
    let incident = Incident::judged_by(&format!("env > \"$0.env\"; {HEALTHY}"));
    let told = |options: &[&str]| {
        let output = incident
            .investigate(options)
            .env("OPENAI_API_KEY", "sk-4f8a1c9e7b2d6053")
            .env("MY_DB_PASSWORD", "correct-horse-7")
            .env("KUBECONFIG", "/home/me/.kube/config")
            .env("GOOGLE_APPLICATION_CREDENTIALS", incident.path("bundle/bundle.json"))
            .env("TEAM", "payments")
            .output()
            .unwrap();
        assert!(output.status.code().is_some_and(|code| code <= 3), "{}", said(&output));
        incident.read("policy.sh.env")
    };
    let env = told(&[]);
    for line in ["TEAM=payments", "KUBECONFIG=/home/me/.kube/config"] {
        assert!(env.lines().any(|given| given == line), "{line} is missing: {env}");
    }
    assert!(!env.contains("OPENAI_API_KEY") && !env.contains("MY_DB_PASSWORD"), "{env}");
    assert!(env.contains("GOOGLE_APPLICATION_CREDENTIALS="), "the name of a file: {env}");
    let env = told(&["--policy-env", "MY_DB_PASSWORD"]);
    assert!(env.contains("MY_DB_PASSWORD=correct-horse-7"), "{env}");
    assert!(!env.contains("OPENAI_API_KEY"), "{env}");
}
