//! Whatever a server does: a failure that says what, and the next call works.

use std::path::PathBuf;

use eog_core::ContextContract;
use eog_core::contract::FailureKind;
use tempfile::TempDir;

use crate::support::{ask, open, program, quoted, until};

/// A server of its own for each test, and its log.
pub(crate) struct Scripted {
    folder: TempDir,
    /// More lines for the table of the server.
    bounds: &'static str,
}

impl Scripted {
    pub(crate) fn new(bounds: &'static str) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), bounds }
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn seen(&self, what: &str) -> usize {
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        log.lines().filter(|line| *line == what).count()
    }

    /// The processes that were started.
    fn processes(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        log.lines().filter_map(|line| line.strip_prefix("pid ")).map(str::to_owned).collect()
    }

    /// A source that asks `tool` about each entity; entity `other` is asked by `fine` beside.
    pub(crate) fn config(&self, tool: &str, behaviour: &str) -> String {
        let query = |name: &str, tool: &str, entity: &str| {
            format!(
                "[[evidence]]\nname = '{name}'\ncall = {{ server = 's', tool = '{tool}', \
                 arguments = {{ e = '{{entity}}' }} }}\nentity = '{entity}'\n\
                 rows.regex = '(?<at>[0-9T:Z-]+) (?<what>.+)'\n\
                 finding = {{ kind = 'event', signal = 'errors', time.field = 'at', \
                 excerpt = '{{what}}' }}\n"
            )
        };
        format!(
            "{}{}[servers.s]\ncommand = {}\nargs = [{}, '{behaviour}']\n{}\n",
            query("first", tool, "^(?<e>cart)$"),
            query("second", "fine", "^(?<e>other)$"),
            quoted(program("scripted-server")),
            quoted(self.log()),
            self.bounds,
        )
    }

    async fn source(&self, tool: &str) -> Box<dyn ContextContract> {
        open(&self.config(tool, "")).await.unwrap().1
    }
}

/// The failure of a tool; and after it another entity can be asked as if nothing had been.
async fn fails(tool: &str, bounds: &'static str) -> (Scripted, String) {
    let server = Scripted::new(bounds);
    let source = server.source(tool).await;
    let failure = ask(&source, "cart").await.unwrap_err();
    assert!(failure.kind.is_context(), "{failure}");
    let expected = match tool {
        "hangs" | "never_done" | "junk_only" => FailureKind::ContextTimedOut,
        _ => FailureKind::ContextFailed,
    };
    assert_eq!(failure.kind, expected, "{failure}");
    let message = failure.message;
    assert!(message.starts_with(&format!("server s, tool {tool}: ")), "{message}");
    assert!(message.len() < 4000, "{message}");
    let context = ask(&source, "other").await.unwrap();
    assert_eq!(context.findings[0].excerpt, "it failed");
    (server, message)
}

#[tokio::test]
async fn a_server_that_dies_is_reported_with_its_last_words() {
    let (server, message) = fails("dies", "").await;
    assert!(message.contains("exit status: 3"), "{message}");
    assert!(message.ends_with("panic: password=[masked] refused by the database"), "{message}");
    assert_eq!(server.seen("tools/call dies"), 2, "a read is asked twice");
}

#[tokio::test]
async fn a_read_is_asked_again_when_the_server_died() {
    let server = Scripted::new("");
    let source = server.source("dies_once").await;
    let context = ask(&source, "cart").await.unwrap();
    assert_eq!(context.findings.len(), 1);
    assert_eq!((server.seen("tools/call dies_once"), server.processes().len()), (2, 2));
}

#[tokio::test]
async fn what_does_not_only_read_is_never_asked_again() {
    let (server, message) = fails("writes_and_dies_once", "").await;
    assert!(message.contains("exit status: 3"), "{message}");
    assert_eq!(server.seen("tools/call writes_and_dies_once"), 1);
}

#[tokio::test]
async fn the_configuration_can_say_what_only_reads() {
    let server = Scripted::new("[servers.s.tool.writes_and_dies_once]\nread_only = true");
    let source = server.source("writes_and_dies_once").await;
    assert!(ask(&source, "cart").await.is_ok());
    let server = Scripted::new("[servers.s.tool.dies_once]\nread_only = false");
    let source = server.source("dies_once").await;
    assert!(ask(&source, "cart").await.is_err());
    assert_eq!(server.seen("tools/call dies_once"), 1);
}

#[tokio::test]
async fn junk_between_messages_is_passed_over() {
    let server = Scripted::new("");
    let source = server.source("junk").await;
    assert_eq!(ask(&source, "cart").await.unwrap().findings.len(), 1);
}

#[tokio::test]
async fn junk_in_place_of_an_answer_is_reported() {
    let (_, message) = fails("junk_only", "call_seconds = 1").await;
    assert!(message.contains("1 line on standard output was not an MCP message"), "{message}");
    assert!(message.contains("Segmentation fault"), "{message}");
}

#[tokio::test]
async fn a_call_that_hangs_is_given_up_and_cancelled() {
    let (server, message) = fails("hangs", "call_seconds = 1").await;
    assert!(message.contains("no answer and no progress for 1 s"), "{message}");
    assert_eq!(server.seen("tools/call hangs"), 1, "what was late is not asked again");
    until("the server is notified", || server.seen("notifications/cancelled") == 1).await;
}

#[tokio::test]
async fn progress_grants_more_time_within_a_bound() {
    let server = Scripted::new("call_seconds = 2\ncall_seconds_at_most = 60");
    let source = server.source("slow").await;
    assert_eq!(ask(&source, "cart").await.unwrap().findings.len(), 1);

    let (_, message) = fails("never_done", "call_seconds = 2\ncall_seconds_at_most = 3").await;
    assert!(message.contains("no answer within 3 s"), "{message}");
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_not_kept() {
    let (server, message) = fails("huge", "max_answer_bytes = 1000000").await;
    assert!(message.contains("longer than 1000000 bytes"), "{message}");
    assert_eq!(server.processes().len(), 1, "the connection lives on");

    let (server, message) = fails("endless_line", "max_answer_bytes = 1000000").await;
    assert!(message.contains("a line far longer than 1000000 bytes"), "{message}");
    assert!(server.processes().len() >= 2, "the old process is left");
}

#[tokio::test]
async fn wrong_answers_are_reported_and_not_asked_for_again() {
    for (tool, reason) in [
        ("wrong", "does not match its own output schema at /count"),
        ("unstructured", "lacks the structured content"),
        ("malformed", "not a valid MCP message"),
        ("odd", "unexpected response type"),
        ("refuses", "error -32602: bad arguments"),
        ("says_no", "the tool reported an error: no such table"),
    ] {
        let (server, message) = fails(tool, "").await;
        assert!(message.contains(reason), "{tool}: {message}");
        assert!(server.seen(&format!("tools/call {tool}")) <= 1, "{tool}");
        assert_eq!(server.processes().len(), 1, "{tool}: the connection lives on");
    }
}

#[tokio::test]
async fn a_tool_that_its_server_lacks_is_reported_before_anything_is_asked() {
    let server = Scripted::new("");
    let evidence = server.config("says_now", "");
    let whole =
        format!("context = {{ server = 's', tool = 'fyne' }}\n{}", server.config("fine", ""));
    for (config, said) in [
        (
            &evidence,
            "test.toml: evidence \"first\": server s: it has no tool \"says_now\"; did you mean \
             says_no?",
        ),
        (&whole, "test.toml: context: server s: it has no tool \"fyne\"; did you mean fine?"),
    ] {
        let Err(error) = open(config).await else { panic!("opened") };
        assert_eq!(error.to_string(), said);
    }
    // Optional queries may fail, and the omission is reported.
    let optional = evidence.replacen("name = 'first'", "name = 'first'\noptional = true", 1);
    let (_, source) = open(&optional).await.unwrap();
    let omitted = ask(&source, "cart").await.unwrap().omitted;
    assert!(omitted[0].contains("did you mean says_no?"), "{omitted:?}");
    let log = std::fs::read_to_string(server.log()).unwrap();
    assert!(!log.contains("tools/call"), "{log}");
}

#[tokio::test]
async fn a_question_that_is_dropped_is_cancelled() {
    let server = Scripted::new("");
    let source = server.source("hangs").await;
    tokio::select! {
        answer = ask(&source, "cart") => panic!("{answer:?}"),
        () = until("the call", || server.seen("tools/call hangs") == 1) => {}
    }
    until("the server is notified", || server.seen("notifications/cancelled") == 1).await;
    assert!(ask(&source, "other").await.is_ok(), "the connection lives on");
    assert_eq!(server.processes().len(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn no_process_outlives_its_source() {
    let server = Scripted::new("");
    // A shell between us and the server, as `npx` would be, that waits for ever.
    let config = server.config("fine", "").replace(
        &format!("command = {}\nargs = [", quoted(program("scripted-server"))),
        &format!(
            "command = 'sh'\nargs = ['-c', '\"$0\" \"$@\"; sleep 1000 & echo pid $! >> \"$1\"; wait', {}, ",
            quoted(program("scripted-server"))
        ),
    );
    let (_, source) = open(&config).await.unwrap();
    assert!(ask(&source, "cart").await.is_ok());
    let lives = |process: &String| {
        let status = std::process::Command::new("kill").args(["-0", process]).output();
        status.unwrap().status.success()
    };
    assert!(lives(&server.processes()[0]));
    drop(source);
    until("all have ended", || !server.processes().iter().any(lives)).await;
}

#[tokio::test]
async fn a_server_that_cannot_be_started_is_reported() {
    for (behaviour, bounds, reason) in
        [("quits", "", "no licence found"), ("mute", "startup_seconds = 1", "not ready within 1 s")]
    {
        let server = Scripted::new(bounds);
        let Err(error) = open(&server.config("fine", behaviour)).await else { panic!("opened") };
        let error = error.to_string();
        assert!(error.starts_with("server s: it could not be started"), "{error}");
        assert!(error.contains(reason), "{error}");
    }
    let missing = "[context]\nserver = 's'\ntool = 't'\n[servers.s]\ncommand = 'no-such-program'";
    let Err(error) = open(missing).await else { panic!("opened") };
    assert!(error.to_string().contains("no-such-program"), "{error}");
}

#[tokio::test]
async fn both_generations_of_the_protocol_are_spoken() {
    for bounds in ["", "protocol = 'stateless'"] {
        let server = Scripted::new(bounds);
        let (_, source) = open(&server.config("fine", "modern")).await.unwrap();
        assert_eq!(ask(&source, "cart").await.unwrap().findings.len(), 1);
        assert!(server.seen("server/discover") == 1);
    }
    let server = Scripted::new("protocol = 'handshake'");
    assert!(open(&server.config("fine", "modern")).await.is_err());
}

#[tokio::test]
async fn the_environment_is_not_handed_on() {
    // Cargo sets it for tests.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let text = |env: &str| {
        format!(
            "[[evidence]]\nname = 'e'\ncall = {{ server = 's', tool = 't' }}\nrows.json = {{}}\n\
             finding = {{ kind = 'event', signal = 'errors', time.field = 'x', excerpt = '' }}\n\
             [servers.s]\ncommand = 'sh'\nargs = ['-c', 'echo have-$CARGO_MANIFEST_DIR-$GIVEN >&2']\n{env}"
        )
    };
    let Err(error) = open(&text("env = { GIVEN = 'given' }")).await else { panic!("opened") };
    assert!(error.to_string().contains("have--given"), "{error}");
}
