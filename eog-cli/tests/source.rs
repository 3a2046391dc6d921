//! Evidence over MCP through the real binary: `eog investigate` asks `eog mcp serve`, which is a
//! process of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use eog::Ledger;
use eog::contract::FailureKind;
use eog::controller::EntryBody;
use eog::ledger::RecordedAnswer;
use serde_json::{Value, json};

use crate::common::{
    self, FLASH_SALE, Run, alerts_bundle, command, lines, recording, runs, script, signal, start,
    until,
};

const ALERTS: [&str; 4] = ["service-0", "service-1", "service-2", "service-3"];

/// Each entity is judged in its turn, and twice more before the end: its alert stays unexplained.
const EVALUATIONS: usize = 3 * ALERTS.len();

/// A folder with a configuration whose context server is `eog mcp serve`.
struct Lab(tempfile::TempDir);

impl Lab {
    /// Over an incident in a folder. The server is started by a script that leaves its process id.
    fn over(kind: &str, incident: &Path, architecture: Option<&Path>) -> Self {
        let lab = Self(tempfile::tempdir().unwrap());
        lab.serve(kind, incident, architecture);
        lab
    }

    fn serve(&self, kind: &str, incident: &Path, architecture: Option<&Path>) {
        let (pids, eog) = (self.path("pids"), env!("CARGO_BIN_EXE_eog"));
        let text = format!("echo $$ >> '{}'\nexec '{eog}' mcp serve \"$@\"", pids.display());
        script(self.path("serve.sh"), &text);
        let mut arguments = vec!["--root".into(), incident.display().to_string()];
        arguments.extend(["--state".into(), self.path("state").display().to_string()]);
        let mut about = format!("{kind} = {}\n", json!(incident));
        if let Some(architecture) = architecture {
            about += &format!("architecture = {}\n", json!(architecture));
            arguments.extend(["--architecture".into(), architecture.display().to_string()]);
        }
        let text = format!(
            "{about}[servers.own]\ncommand = {}\nargs = {}\nstartup_seconds = 300\n\
             call_seconds = 300\n[context]\nserver = 'own'\ntool = 'get_context'\n\
             [context.arguments]\nentity_id = '{{entity}}'\nstart_time = '{{start}}'\n\
             end_time = '{{end}}'\npage = '{{page}}'\nvisit = '{{visit}}'\n\
             changed_neighbours = '{{changed_neighbours}}'\n",
            json!(self.path("serve.sh")),
            json!(arguments)
        );
        std::fs::write(self.path("source.toml"), text).unwrap();
    }

    /// Over an incident with one entity for each alert, and a policy that finds all healthy.
    /// `second` is what it does when it is asked for the second time.
    fn with_policy(second: &str) -> Self {
        let lab = Self(tempfile::tempdir().unwrap());
        let bundle = lab.path("bundle");
        alerts_bundle(&bundle, "alerts", &ALERTS, &Value::Null);
        lab.serve("bundle", &bundle, None);
        let text = format!(
            "cat > /dev/null\necho call >> \"$0.calls\"\n\
             if [ \"$(wc -l < \"$0.calls\")\" -eq 2 ]; then\n{second}\nfi\n\
             echo '{{\"label\": \"healthy\", \"summary\": \"fine\"}}'"
        );
        script(lab.path("policy.sh"), &text);
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `eog investigate` of the configuration, in the folder.
    fn investigate(&self, options: &[&str]) -> Command {
        let mut command = command!("investigate", "source.toml", options);
        command.current_dir(self.0.path());
        command
    }

    fn judged(&self, options: &[&str]) -> Command {
        self.investigate(&[&["--policy", "command:./policy.sh", "--out", "out"], options].concat())
    }

    fn ledger(&self, folder: &str) -> String {
        common::read(self.path(folder).join("ledger.jsonl"))
    }

    /// The processes of the server, in the order in which they were started.
    fn servers(&self) -> Vec<String> {
        let pids = std::fs::read_to_string(self.path("pids")).unwrap_or_default();
        pids.lines().map(str::to_owned).collect()
    }

    /// None of the servers runs any more.
    fn all_servers_ended(&self) {
        for pid in self.servers() {
            until(&format!("server {pid} ends"), || !runs(&pid));
        }
    }
}

/// The same investigation with the evidence in the process and over MCP: the ledgers are equal.
fn the_same(kind: &str, incident: &Path, architecture: Option<&Path>) {
    let lab = Lab::over(kind, incident, architecture);
    let options = ["--format", "json", "--out"];
    let over_mcp = Run::of(lab.investigate(&options).arg("over")).exits(0).json();
    let mut here = command!("investigate", incident, options, lab.path("here"));
    here.args(architecture.map(|_| "--architecture")).args(architecture);
    let here = Run::of(&mut here).exits(0).json();
    assert_eq!(lab.ledger("over"), lab.ledger("here"));
    assert_eq!(over_mcp["conclusion"], here["conclusion"]);
    assert_ne!(here["conclusion"]["frontier"], json!([]));
    assert_eq!(lab.servers().len(), 1, "one process served all");
    lab.all_servers_ended();
}

#[test]
fn the_flash_sale_over_mcp_is_that_in_the_process() {
    the_same("bundle", &Path::new(FLASH_SALE).canonicalize().unwrap(), None);
}

#[test]
fn a_real_recording_over_mcp_is_that_in_the_process() {
    let Some((snapshot, architecture)) = recording() else { return };
    let (snapshot, architecture) =
        (snapshot.canonicalize().unwrap(), architecture.canonicalize().unwrap());
    the_same("snapshot", &snapshot, Some(&architecture));
}

/// The ledger of a run in which the policy does nothing beside its judging.
fn undisturbed() -> String {
    let whole = Lab::with_policy(":");
    Run::of(&mut whole.judged(&[])).exits(3);
    whole.ledger("out")
}

#[test]
fn an_interrupt_leaves_a_journal_that_goes_on_and_no_server() {
    let lab = Lab::with_policy("touch held; exec sleep 3600");
    let child = start(&mut lab.judged(&["--journal", "run.journal"]));
    until("the policy is held", || lab.path("held").exists());
    assert_eq!(lab.servers().len(), 1);
    signal("-INT", &child);
    let ended = Run::from(child.wait_with_output().unwrap()).exits(130);
    ended.says(&["eog resume run.journal source.toml"]);
    lab.all_servers_ended();

    let policy = ["--policy", "command:./policy.sh", "--out", "out"];
    let mut resume = command!("resume", "run.journal", "source.toml", policy);
    Run::of(resume.current_dir(lab.0.path())).exits(3);
    assert_eq!(lab.ledger("out"), undisturbed());
    let calls = lines(lab.path("policy.sh.calls"));
    assert_eq!(calls, EVALUATIONS + 1, "only the question that was cut short is asked again");
    assert_eq!(lab.servers().len(), 2, "the server was started anew");
    lab.all_servers_ended();
}

#[test]
fn a_misspelt_tool_is_reported_once_and_nothing_is_investigated() {
    let lab = Lab::with_policy(":");
    let text = common::read(lab.path("source.toml"));
    let text = text.replace("tool = 'get_context'", "tool = 'get_contxt'");
    std::fs::write(lab.path("source.toml"), text).unwrap();
    let expected = "source.toml: context: server own: it has no tool \"get_contxt\"; did you mean \
                    get_context";
    let refused = Run::of(&mut lab.judged(&[])).exits(4).says(&[expected]);
    assert_eq!(refused.err.lines().count(), 1, "{refused:?}");
    assert!(!lab.path("policy.sh.calls").exists(), "the policy is not called");
    lab.all_servers_ended();
}

#[test]
fn a_server_that_died_and_can_be_started_again_is_not_noticed() {
    let lab = Lab::with_policy("kill -KILL \"$(tail -n 1 pids)\"");
    Run::of(&mut lab.judged(&[])).exits(3);
    assert_eq!(lab.ledger("out"), undisturbed());
    assert_eq!(lab.servers().len(), 2);
    lab.all_servers_ended();
}

#[test]
fn a_server_that_died_for_good_is_recorded_and_the_run_ends() {
    let lab = Lab::with_policy("rm serve.sh; kill -KILL \"$(tail -n 1 pids)\"");
    Run::of(&mut lab.judged(&[])).exits(3);
    let ledger = Ledger::from_json_lines(&lab.ledger("out")).unwrap();
    let answers: Vec<&RecordedAnswer> = ledger
        .entries()
        .iter()
        .filter_map(|entry| match &entry.body {
            EntryBody::Evaluated(evaluation) => Some(&evaluation.answer),
            _ => None,
        })
        .collect();
    assert_eq!(answers.len(), EVALUATIONS);
    for (at, answer) in answers.iter().enumerate() {
        match answer {
            RecordedAnswer::Decided(_) => assert!(at < 2, "{answer:?}"),
            RecordedAnswer::Failed(failure) => {
                assert!(at >= 2, "{failure}");
                assert_eq!(failure.kind, FailureKind::ContextFailed);
                assert!(failure.message.contains("server own, tool get_context"), "{failure}");
            }
            RecordedAnswer::Remembered { .. } => panic!("{answer:?}"),
        }
    }
    lab.all_servers_ended();
}
