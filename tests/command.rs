//! The command policy, against real child processes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use eog::contract::FailureKind;
use eog::{
    AbductivePolicy, Answer, CommandPolicy, Config, ContextPacket, Engine, Failure, Label, Limits,
    Retry,
};
use eog_testkit::{MemoryContext, assert_that, finding, packet, seeded, topology};
use tempfile::TempDir;

const HEALTHY: &str = r#"{"label": "healthy", "summary": "all is well"}"#;

/// A shell script in a folder of its own.
struct Script {
    folder: TempDir,
}

impl Script {
    fn new(body: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let script = Self { folder };
        let path = script.path("policy.sh");
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).expect("the folder is writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
        script
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs through `sh`, so that a file just written is not executed itself: another test that
    /// forks at that moment would make it "busy".
    fn policy(&self) -> CommandPolicy {
        CommandPolicy::new("/bin/sh").arg(self.path("policy.sh")).arg(self.folder.path())
    }

    /// What the script wrote into a file of its folder.
    fn wrote(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

fn question() -> ContextPacket {
    packet("db").finding(finding("db").excerpt("out of memory \u{1f4a5} \"quoted\"")).build()
}

async fn ask(body: &str) -> Result<Answer, Failure> {
    Script::new(body).policy().decide(&question()).await
}

async fn failure_of(body: &str) -> String {
    let failure = ask(body).await.expect_err("the script gives no decision");
    assert_eq!(failure.kind, FailureKind::PolicyFailed);
    failure.message
}

#[tokio::test]
async fn one_packet_in_one_decision_out() {
    let script = Script::new(&format!("cat > \"$1/stdin\"; echo '{HEALTHY}'"));
    let answer = script.policy().decide(&question()).await.expect("it answers");
    assert_eq!(answer.decision.label, Label::Healthy);
    assert_eq!(answer.decision.summary, "all is well");
    let sent: ContextPacket =
        serde_json::from_str(&script.wrote("stdin")).expect("the packet and nothing else");
    assert_eq!(sent, question());
}

#[tokio::test]
async fn invalid_output_is_corrected_once() {
    let script = Script::new(&format!(
        "n=$(ls \"$1\" | grep -c stdin)\n\
         cat > \"$1/stdin$n\"\n\
         [ \"$n\" = 0 ] && echo '{{\"label\": \"sick\"}}' || echo '{HEALTHY}'"
    ));
    let answer = script.policy().decide(&question()).await.expect("the second try is valid");
    assert_eq!(answer.decision.label, Label::Healthy);
    assert!(!script.wrote("stdin0").contains("correction"));
    let mut again: serde_json::Value =
        serde_json::from_str(&script.wrote("stdin1")).expect("it is JSON");
    let correction = again.as_object_mut().and_then(|fields| fields.remove("correction"));
    let correction = correction.expect("the second question holds the correction");
    assert_eq!(correction["output"], "{\"label\": \"sick\"}\n");
    let error = correction["error"].as_str().expect("the reason is text");
    assert!(error.contains("unknown variant `sick`"), "{error}");
    assert_eq!(serde_json::from_value::<ContextPacket>(again).expect("the rest"), question());
}

#[tokio::test]
async fn output_that_stays_invalid_is_a_failure_with_its_reason() {
    for (output, reason) in [
        ("I think it is the database.", "the output is not a decision: expected value"),
        ("", "the output is empty; expected one decision as JSON"),
        (r#"{"label": "healthy"}"#, "missing field `summary`"),
        (r#"{"label": "healthy", "summary": "", "mood": 1}"#, "unknown field `mood`"),
        (r#"{"label": "healthy", "summary": ""} and more"#, "trailing characters"),
        (r#"{"label": "healthy", "summary": "", "evidence": ["E1"]}"#, "\"E1\" is not usable"),
    ] {
        let message = failure_of(&format!("echo tried >> \"$1/tries\"; echo '{output}'")).await;
        assert!(message.contains("wrote no valid decision"), "{output}: {message}");
        assert!(message.contains(reason), "{output}: {message}");
    }
    let script = Script::new("echo tried >> \"$1/tries\"; echo nonsense");
    script.policy().decide(&question()).await.expect_err("nonsense is no decision");
    assert_eq!(script.wrote("tries"), "tried\ntried\n", "one try and one correction");
}

#[tokio::test]
async fn an_error_never_quotes_the_output_at_length() {
    let huge = "printf '{\"label\": \"'; head -c 1000000 /dev/zero | tr '\\0' x; printf '\"}'";
    let message = failure_of(huge).await;
    assert!(message.contains("unknown variant"), "{message}");
    assert!(message.len() < 1000, "{} bytes", message.len());
}

#[tokio::test]
async fn a_program_that_fails_is_quoted() {
    let message = failure_of(&format!("echo '{HEALTHY}'; echo 'no model today' >&2; exit 3")).await;
    assert!(message.contains("exit status: 3: no model today"), "{message}");
    let message = failure_of("exit 4").await;
    assert!(message.contains("exit status: 4: nothing on standard error"), "{message}");
    let message = failure_of("kill -9 $$").await;
    assert!(message.contains("signal: 9"), "{message}");
}

/// How often the script noted a try, after an investigation of one entity that may retry twice.
async fn tries(body: &str) -> (eog::Finished, usize) {
    let script = Script::new(&format!("echo tried >> \"$1/tries\"\n{body}"));
    let retry = Retry { first_delay: Duration::from_millis(1), ..Retry::default() };
    let ended = Engine::new(MemoryContext::default(), script.policy())
        .with_limits(Limits { retry, ..Limits::default() })
        .investigate(Config::default(), seeded(topology(""), ["db"]))
        .await;
    let tries = script.wrote("tries").lines().count();
    (ended, tries)
}

#[tokio::test]
async fn a_program_that_ends_with_75_is_tried_again() {
    let busy_twice = format!("[ $(grep -c . \"$1/tries\") = 3 ] || exit 75; echo '{HEALTHY}'");
    let (ended, tries) = tries(&busy_twice).await;
    assert_that(&ended).ends_with_label("db", Label::Healthy).converged();
    assert_eq!((tries, ended.retries, ended.spent().failures), (3, 2, 0));
    assert_eq!(ended.spent().hops, 1, "all attempts are one call");
}

#[tokio::test]
async fn a_program_that_always_ends_with_75_fails_with_what_it_said() {
    let (ended, tries) = tries("echo 'too many requests' >&2; exit 75").await;
    assert_that(&ended).failed_with("db", FailureKind::PolicyFailed, "75: too many requests");
    assert_eq!((tries, ended.retries), (3, 2));
}

#[tokio::test]
async fn other_exit_codes_are_not_tried_again() {
    for code in [1, 74, 76, 127] {
        let (ended, tries) = tries(&format!("exit {code}")).await;
        assert_that(&ended).failed_with("db", FailureKind::PolicyFailed, &code.to_string());
        assert_eq!((tries, ended.retries), (1, 0), "exit code {code}");
    }
}

#[tokio::test]
async fn only_the_end_of_standard_error_is_kept() {
    let flood = "i=0; while [ $i -lt 20000 ]; do echo \"line $i\" >&2; i=$((i+1)); done; exit 1";
    let message = failure_of(flood).await;
    assert!(message.ends_with("line 19999"), "{message}");
    assert!(message.len() < 3000, "{} bytes", message.len());
}

#[tokio::test]
async fn a_flood_of_standard_error_does_not_stall_a_good_answer() {
    let flood = format!("head -c 1000000 /dev/zero >&2; cat > /dev/null; echo '{HEALTHY}'");
    assert!(ask(&flood).await.is_ok());
}

/// What a program left behind may hold its outputs open for as long as it likes.
#[tokio::test]
async fn an_answer_counts_when_its_program_has_ended() {
    let script = Script::new(&format!("sleep 600 & echo $! > \"$1/left\"; echo '{HEALTHY}'"));
    let (policy, question) = (script.policy(), question());
    let answer = tokio::time::timeout(Duration::from_secs(60), policy.decide(&question)).await;
    let answer = answer.expect("processes that it left are not waited for").expect("it answers");
    assert_eq!(answer.decision.label, Label::Healthy);
    let left = PathBuf::from("/proc").join(script.wrote("left").trim());
    // It is killed with its group; a killed one may be a zombie until its parent collects it.
    let is_gone =
        || fs::read_to_string(left.join("stat")).map_or(true, |stat| stat.contains(") Z "));
    for _ in 0..600 {
        if is_gone() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{} is still there", left.display());
}

/// Its output until then is reported, though a process that it left behind holds its standard error
/// open.
#[tokio::test]
async fn a_standard_error_that_stays_open_is_not_waited_for() {
    let left = "sleep 600 > /dev/null < /dev/null & echo $! > \"$1/left\"";
    for (rest, said) in [
        (format!("echo '{HEALTHY}'"), None),
        ("echo 'no model today' >&2; exit 3".to_owned(), Some("exit status: 3: no model today")),
    ] {
        let script = Script::new(&format!("{left}\n{rest}"));
        let (policy, question) = (script.policy(), question());
        let answer = tokio::time::timeout(Duration::from_secs(60), policy.decide(&question)).await;
        match (answer.expect("processes that it left are not waited for"), said) {
            (Ok(answer), None) => assert_eq!(answer.decision.label, Label::Healthy),
            (Err(failure), Some(said)) => assert!(failure.message.contains(said), "{failure}"),
            (other, _) => panic!("{rest}: {other:?}"),
        }
        assert_gone(script.wrote("left").trim()).await;
    }
}

#[tokio::test]
async fn a_missing_program_is_named() {
    let policy = CommandPolicy::new("/nowhere/no-such-policy");
    let failure = policy.decide(&question()).await.expect_err("there is no such program");
    assert_eq!(failure.kind, FailureKind::PolicyFailed);
    assert!(failure.message.contains("cannot start /nowhere/no-such-policy"), "{failure}");
}

#[tokio::test]
async fn a_program_may_answer_without_reading() {
    // The packet is larger than any pipe holds, so writing it fails half-way.
    let excerpt = "x".repeat(1 << 20);
    let large = packet("db").finding(finding("db").excerpt(&excerpt)).build();
    let script = Script::new(&format!("echo '{HEALTHY}'"));
    let answer = script.policy().decide(&large).await.expect("it answers all the same");
    assert_eq!(answer.decision.label, Label::Healthy);
    let deaf = Script::new(&format!("exec 0<&-; echo '{HEALTHY}'"));
    assert!(deaf.policy().decide(&large).await.is_ok());
}

#[tokio::test]
async fn a_large_packet_and_a_large_answer_pass_at_once() {
    let excerpt = "x".repeat(1 << 20);
    let large = packet("db").finding(finding("db").excerpt(&excerpt)).build();
    // Writes most of its answer before it reads anything.
    let script = Script::new(
        "printf '{\"label\": \"healthy\", \"summary\": \"'; head -c 1000000 /dev/zero | tr '\\0' x\n\
         cat > \"$1/stdin\"; printf '\"}'",
    );
    let answer = script.policy().decide(&large).await.expect("neither side stalls");
    assert_eq!(answer.decision.summary.len(), 1_000_000);
    assert!(script.wrote("stdin").len() > 1 << 20);
}

#[tokio::test]
async fn endless_output_is_cut_off() {
    let message =
        failure_of("trap '' PIPE; while :; do echo yyyyyyyyyyyyyyyyyyyyy 2>&-; done").await;
    assert!(message.contains("wrote more than 4 MiB"), "{message}");
}

#[tokio::test]
async fn a_program_that_never_ends_is_killed_at_the_time_out() {
    let script = Script::new("echo $$ > \"$1/pid\"; exec sleep 1000");
    let limits = Limits { policy_timeout: Some(Duration::from_secs(1)), ..Limits::default() };
    let ended = Engine::new(MemoryContext::default(), script.policy())
        .with_limits(limits)
        .investigate(Config::default(), seeded(topology(""), ["db"]))
        .await;
    assert_that(&ended).failed_with("db", FailureKind::PolicyTimedOut, "1 s").converged();
    assert_gone(script.wrote("pid").trim()).await;
}

#[tokio::test]
async fn what_the_program_started_is_killed_with_it() {
    let script = Script::new("sleep 1000 & echo $! > \"$1/pid\"; wait");
    let limits = Limits { policy_timeout: Some(Duration::from_secs(1)), ..Limits::default() };
    let ended = Engine::new(MemoryContext::default(), script.policy())
        .with_limits(limits)
        .investigate(Config::default(), seeded(topology(""), ["db"]))
        .await;
    assert_that(&ended).failed_with("db", FailureKind::PolicyTimedOut, "1 s");
    assert_gone(script.wrote("pid").trim()).await;
}

async fn assert_gone(pid: &str) {
    let mut checks = 0;
    while is_alive(pid) {
        checks += 1;
        assert!(checks < 200, "process {pid} still runs");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn is_alive(pid: &str) -> bool {
    let mut probe = Command::new("/bin/sh");
    probe.arg("-c").arg(format!("kill -0 {pid} 2>/dev/null"));
    let is_there = probe.status().expect("there is a shell").success();
    // A killed one may be a zombie until its parent collects it.
    let stat = fs::read_to_string(PathBuf::from("/proc").join(pid).join("stat"));
    is_there && !stat.is_ok_and(|stat| stat.contains(") Z "))
}

#[tokio::test]
async fn a_program_drives_a_whole_investigation() {
    let script = Script::new(
        "packet=$(cat)\n\
         case \"$packet\" in\n\
           *'\"findings\":[]'*) echo '{\"label\": \"healthy\", \"summary\": \"calm\"}' ;;\n\
           *) id=$(echo \"$packet\" | sed 's/.*\"id\":\"\\([^\"]*\\)\".*/\\1/')\n\
              echo '{\"label\": \"symptom\", \"summary\": \"calls fail\", \"claims\": [{\n\
                \"cause\": \"db\", \"effect\": \"web\", \"condition\": \"down\",\n\
                \"observed\": \"errors\", \"evidence\": [\"'\"$id\"'\"]}]}' ;;\n\
         esac",
    );
    let contract = MemoryContext::default().with(finding("web"));
    let ended = Engine::new(contract, script.policy())
        .investigate(Config::default(), seeded(topology("web calls db"), ["web"]))
        .await;
    assert_that(&ended)
        .evaluated(["web", "db", "web"])
        .claims("db", "web")
        .ends_with_label("db", Label::Healthy)
        .is_intact();
}
