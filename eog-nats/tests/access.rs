//! Logins, and a server without JetStream: a real server of its own, where `nats-server` is installed.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic as tests may")]

mod support;

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use eog_nats::{Access, Cluster, NatsError, Options};

/// A server that ends with the test.
struct Server(Child);

impl Server {
    fn start(config: &str) -> Option<(Self, tempfile::TempDir)> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("server.conf");
        std::fs::write(&file, config).unwrap();
        let mut command = Command::new("nats-server");
        command.arg("-c").arg(file).stdout(Stdio::null()).stderr(Stdio::null());
        match command.spawn() {
            Ok(child) => Some((Self(child), folder)),
            Err(error) => {
                eprintln!("skipped: nats-server cannot be started: {error}");
                None
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The error of connecting, once the server is up.
fn error_of(options: &Options) -> NatsError {
    for _ in 0..100 {
        match Cluster::connect(options).unwrap_err() {
            NatsError::Unreachable { .. } => std::thread::sleep(Duration::from_millis(100)),
            error => return error,
        }
    }
    panic!("the server does not start")
}

#[test]
fn a_login_is_refused_or_taken_and_jetstream_is_missed() {
    // The server may be started by tests alone, as that of `.ci/nats` is.
    let Some(_) = support::options() else { return };
    let config = "host: 127.0.0.1\nport: 42231\n\
                  authorization { user: me, password: secret-word }\n";
    let Some((_server, _folder)) = Server::start(config) else { return };
    let mut options = Options::new("nats://me:wrong-word@127.0.0.1:42231");
    (options.retries, options.timeout) = (1, Duration::from_secs(2));
    let error = error_of(&options);
    assert!(matches!(error, NatsError::Unauthorized { .. }), "{error:?}");
    let said = error.to_string();
    let begins = "NATS at nats://127.0.0.1:42231 refuses the credentials: ";
    assert!(said.starts_with(begins) && !said.contains("wrong-word"), "{said}");

    options.url = "nats://127.0.0.1:42231".to_owned();
    let error = error_of(&options);
    assert!(matches!(error, NatsError::Unauthorized { .. }), "{error:?}");
    options.access = Access::Credentials("no-such.creds".into());
    let said = error_of(&options).to_string();
    assert!(said.starts_with("cannot use the credentials no-such.creds: "), "{said}");

    options.access = Access::Password("me".to_owned(), "secret-word".to_owned());
    let error = error_of(&options);
    assert!(matches!(error, NatsError::NoJetStream { .. }), "{error:?}");
}
