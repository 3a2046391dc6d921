//! Evidence over MCP through the real binary: `eog investigate` asks `eog mcp serve`, which is a
//! process of its own.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use eog::Ledger;
use eog::contract::FailureKind;
use eog::controller::EntryBody;
use eog::ledger::RecordedAnswer;
use serde_json::{Value, json};

/// Longest time that anything may take, on a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);

const ALERTS: usize = 4;

/// Each entity is judged in its turn, and twice more before the end: its alert stays unexplained.
const EVALUATIONS: usize = 3 * ALERTS;

fn eog() -> Command {
    Command::new(env!("CARGO_BIN_EXE_eog"))
}

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
        let script = format!(
            "#!/bin/sh\necho $$ >> {}\nexec {} mcp serve \"$@\"\n",
            word(&self.path("pids")),
            word(Path::new(env!("CARGO_BIN_EXE_eog")))
        );
        self.program("serve.sh", &script);
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
        std::fs::create_dir(&bundle).unwrap();
        let manifest = json!({ "format": "eog-bundle", "version": 1, "name": "alerts" });
        std::fs::write(bundle.join("bundle.json"), manifest.to_string()).unwrap();
        let alerts: Vec<Value> = (0..ALERTS)
            .map(|n| {
                json!({ "name": "Errors", "entity": format!("service-{n}"), "signal": "errors",
                        "onset": "2026-01-01T10:05:00Z" })
            })
            .collect();
        std::fs::write(bundle.join("alerts.json"), json!(alerts).to_string()).unwrap();
        lab.serve("bundle", &bundle, None);
        let script = format!(
            "#!/bin/sh\ncat > /dev/null\necho call >> \"$0.calls\"\n\
             if [ \"$(wc -l < \"$0.calls\")\" -eq 2 ]; then\n{second}\nfi\n\
             echo '{{\"label\": \"healthy\", \"summary\": \"fine\"}}'\n"
        );
        lab.program("policy.sh", &script);
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn program(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// `eog investigate` of the configuration, in the folder.
    fn investigate(&self, options: &[&str]) -> Command {
        let mut command = eog();
        command.current_dir(self.0.path()).args(["investigate", "source.toml"]).args(options);
        command
    }

    fn judged(&self, options: &[&str]) -> Command {
        self.investigate(&[&["--policy", "command:./policy.sh", "--out", "out"], options].concat())
    }

    fn ledger(&self, folder: &str) -> String {
        std::fs::read_to_string(self.path(folder).join("ledger.jsonl")).unwrap()
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

/// Whether a process runs. One that has ended may wait for somebody to be told of it.
fn runs(pid: &str) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap().stdout;
    let state = String::from_utf8(state).unwrap();
    !state.trim().is_empty() && !state.trim_start().starts_with('Z')
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let patience = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < patience, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A path as a shell reads it.
fn word(path: &Path) -> String {
    format!("'{}'", path.display())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The same investigation with the evidence in the process and over MCP: the ledgers are equal.
fn the_same(kind: &str, incident: &Path, architecture: Option<&Path>) {
    let lab = Lab::over(kind, incident, architecture);
    let over_mcp = lab.investigate(&["--out", "over", "--format", "json"]).output().unwrap();
    let mut here = eog();
    here.arg("investigate").arg(incident).arg("--out").arg(lab.path("here"));
    if let Some(architecture) = architecture {
        here.arg("--architecture").arg(architecture);
    }
    let here = here.args(["--format", "json"]).output().unwrap();
    assert_eq!(here.status.code(), Some(0), "{}", said(&here));
    assert_eq!(over_mcp.status.code(), Some(0), "{}", said(&over_mcp));
    assert_eq!(lab.ledger("over"), lab.ledger("here"));
    let conclusion = |output: &Output| {
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["conclusion"].clone()
    };
    assert_eq!(conclusion(&over_mcp), conclusion(&here));
    assert_ne!(conclusion(&here)["frontier"], json!([]));
    assert_eq!(lab.servers().len(), 1, "one process told all");
    lab.all_servers_ended();
}

#[test]
fn the_flash_sale_over_mcp_is_that_in_the_process() {
    let flash_sale = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale");
    the_same("bundle", &flash_sale.canonicalize().unwrap(), None);
}

#[test]
fn a_real_recording_over_mcp_is_that_in_the_process() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/itbench");
    let (snapshot, architecture) =
        (data.join("scenario-2-partial"), data.join("architecture.json"));
    if !snapshot.is_dir() || !architecture.is_file() {
        eprintln!("skipped: no recording at {}", data.display());
        return;
    }
    let (snapshot, architecture) =
        (snapshot.canonicalize().unwrap(), architecture.canonicalize().unwrap());
    the_same("snapshot", &snapshot, Some(&architecture));
}

#[test]
fn an_interrupt_leaves_a_journal_that_goes_on_and_no_server() {
    let whole = Lab::with_policy(":");
    assert_eq!(whole.judged(&[]).output().unwrap().status.code(), Some(3));

    let lab = Lab::with_policy("touch held; exec sleep 3600");
    let child = lab
        .judged(&["--journal", "run.journal"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until("the policy is held", || lab.path("held").exists());
    assert_eq!(lab.servers().len(), 1);
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{}", said(&ended));
    let onward = "eog resume run.journal source.toml";
    assert!(said(&ended).contains(onward), "{}", said(&ended));
    lab.all_servers_ended();

    let resumed = eog()
        .current_dir(lab.0.path())
        .args(["resume", "run.journal", "source.toml", "--policy", "command:./policy.sh"])
        .args(["--out", "out"])
        .output()
        .unwrap();
    assert_eq!(resumed.status.code(), Some(3), "{}", said(&resumed));
    assert_eq!(lab.ledger("out"), whole.ledger("out"));
    let calls = std::fs::read_to_string(lab.path("policy.sh.calls")).unwrap().lines().count();
    assert_eq!(calls, EVALUATIONS + 1, "only the question that was cut short is asked again");
    assert_eq!(lab.servers().len(), 2, "the server was started anew");
    lab.all_servers_ended();
}

#[test]
fn a_misspelt_tool_is_told_once_and_nothing_is_investigated() {
    let lab = Lab::with_policy(":");
    let text = std::fs::read_to_string(lab.path("source.toml")).unwrap();
    let text = text.replace("tool = 'get_context'", "tool = 'get_contxt'");
    std::fs::write(lab.path("source.toml"), text).unwrap();
    let output = lab.judged(&[]).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    let expected = "source.toml: context: server own: it has no tool \"get_contxt\"; did you mean \
                    get_context";
    assert!(said(&output).contains(expected), "{}", said(&output));
    assert_eq!(said(&output).lines().count(), 1, "{}", said(&output));
    assert!(!lab.path("policy.sh.calls").exists(), "nobody is asked");
    lab.all_servers_ended();
}

#[test]
fn a_server_that_died_and_can_be_started_again_is_not_noticed() {
    let whole = Lab::with_policy(":");
    assert_eq!(whole.judged(&[]).output().unwrap().status.code(), Some(3));
    let lab = Lab::with_policy("kill -KILL \"$(tail -n 1 pids)\"");
    let output = lab.judged(&[]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert_eq!(lab.ledger("out"), whole.ledger("out"));
    assert_eq!(lab.servers().len(), 2);
    lab.all_servers_ended();
}

#[test]
fn a_server_that_died_for_good_is_recorded_and_the_run_ends() {
    let lab = Lab::with_policy("rm serve.sh; kill -KILL \"$(tail -n 1 pids)\"");
    let output = lab.judged(&[]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
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
