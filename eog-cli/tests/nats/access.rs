//! Logins, TLS with certificates of one's own, and a cluster of another version.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::lab::{Lab, Running, flash_sale, run, until};

/// A server of one's own, with JetStream and these further settings, and its port.
fn serve(lab: &Lab, name: &str, settings: &str) -> (Running, u16) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (file, store) = (lab.path(&format!("{name}.conf")), lab.path(name));
    let config = format!(
        "host: 127.0.0.1\nport: {port}\njetstream {{ store_dir: \"{}\" }}\n{settings}\n",
        store.display()
    );
    std::fs::write(&file, config).unwrap();
    let mut server = Command::new("nats-server");
    let server = server.arg("-c").arg(file).stdout(Stdio::null()).stderr(Stdio::null());
    let server = Running::start(server);
    until(|| TcpStream::connect(("127.0.0.1", port)).ok());
    (server, port)
}

fn openssl(folder: &Path, arguments: &str) {
    let made = Command::new("openssl").current_dir(folder).args(arguments.split(' ')).output();
    let made = made.expect("openssl is installed");
    assert!(made.status.success(), "{arguments}: {}", String::from_utf8_lossy(&made.stderr));
}

/// An authority that is not trusted by default, another one, and a certificate for 127.0.0.1 of the first.
fn certificates(folder: &Path) {
    const NEW: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    for name in ["ca", "other"] {
        let files = format!("-keyout {name}-key.pem -out {name}.pem");
        openssl(folder, &format!("req -x509 {NEW} {files} -days 2 -subj /CN={name}"));
    }
    std::fs::write(folder.join("extensions"), "subjectAltName=IP:127.0.0.1\n").unwrap();
    openssl(folder, &format!("req {NEW} -keyout key.pem -out request.pem -subj /CN=server"));
    openssl(
        folder,
        "x509 -req -in request.pem -CA ca.pem -CAkey ca-key.pem -CAcreateserial -out cert.pem -days 2 \
         -extfile extensions",
    );
}

#[test]
fn a_private_authority_and_a_login_are_asked_for_by_name() {
    let Some(lab) = Lab::new() else { return };
    certificates(lab.folder.path());
    let tls = format!(
        "tls {{ cert_file: \"{}\", key_file: \"{}\" }}\n",
        lab.path("cert.pem").display(),
        lab.path("key.pem").display()
    );
    let login = "authorization { user: me, password: secret-word }";
    let (_server, port) = serve(&lab, "tls", &format!("{tls}{login}"));
    let url = format!("nats://127.0.0.1:{port}");
    let list = |arguments: &[&str], password: Option<&str>| {
        let mut eog = lab.eog(&[&["list", "--nats", &url], arguments].concat());
        run(eog.envs(password.map(|password| ("EOG_NATS_PASSWORD", password))))
    };
    let says = |arguments: &[&str], password: Option<&str>, code: i32, words: &[&str]| {
        let run = list(arguments, password).exits(code).says(words);
        assert!(!run.err.contains("word-"), "no secret is shown: {}", run.err);
    };
    let untrusted = ["no TLS with NATS at nats://127.0.0.1", "UnknownIssuer", "--nats-ca"];
    says(&[], None, 4, &untrusted);
    says(&["--nats-ca", "other.pem"], None, 4, &untrusted);
    let login = ["refuses the credentials", "--nats-user"];
    says(&["--nats-ca", "ca.pem"], None, 1, &login);
    let user = ["--nats-ca", "ca.pem", "--nats-user", "me"];
    says(&user, Some("wrong-word-"), 1, &login);
    std::fs::write(lab.path("token"), "wrong-word-\n").unwrap();
    says(&["--nats-ca", "ca.pem", "--nats-token-file", "token"], None, 1, &login);
    says(&user, Some("secret-word"), 1, &["does not exist on the cluster", "eog worker"]);
    // Another name than the certificate has.
    let by_name = format!("nats://localhost:{port}");
    lab.run(&["list", "--nats", &by_name, "--nats-ca", "ca.pem"]).exits(4);

    let path = flash_sale();
    for arguments in [
        &["submit", path.to_str().unwrap(), "--id", "one", "--nats-ca", "ca.pem"][..],
        &["worker", "--until-empty", "--nats-ca", "ca.pem", "--nats-tls"],
    ] {
        let mut eog = lab.eog(&[arguments, &["--nats", &url, "--nats-user", "me"]].concat());
        run(eog.env("EOG_NATS_PASSWORD", "secret-word")).exits(0);
    }
    list(&user, Some("secret-word")).prints(&["finished"]);
}

#[test]
fn a_client_without_a_certificate_and_a_server_without_tls_are_distinguished() {
    let Some(lab) = Lab::new() else { return };
    certificates(lab.folder.path());
    let file = |name: &str| lab.path(name).display().to_string();
    let tls = format!(
        "tls {{ cert_file: \"{}\", key_file: \"{}\", ca_file: \"{}\", verify: true }}\n",
        file("cert.pem"),
        file("key.pem"),
        file("ca.pem")
    );
    let (_server, port) = serve(&lab, "verifies", &tls);
    let url = format!("nats://127.0.0.1:{port}");
    let fixed = ["list", "--nats", &url, "--nats-ca", "ca.pem"];
    lab.run(&fixed).exits(4).says(&["--nats-cert and --nats-key"]);
    let own = ["--nats-cert", "cert.pem", "--nats-key", "key.pem"];
    lab.run(&[&fixed[..], &own].concat()).says(&["does not exist on the cluster"]);

    let (_server, port) = serve(&lab, "token", "authorization { token: secret-word }");
    let url = format!("nats://127.0.0.1:{port}");
    let plain = run(lab.eog(&["list", "--nats", &url, "--nats-tls"]).env("EOG_NATS_TOKEN", "x"));
    plain.exits(4).says(&["no TLS with NATS at"]);
    let list = |token: &str| run(lab.eog(&["list", "--nats", &url]).env("EOG_NATS_TOKEN", token));
    list("other-word").exits(1).says(&["--nats-token-file"]);
    list("secret-word").says(&["does not exist on the cluster"]);
}

/// Asks the server of an address for something, by the protocol of its clients.
fn request(address: &str, subject: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    write!(
        stream,
        "CONNECT {{\"verbose\":false}}\r\nSUB answers 1\r\nPUB {subject} answers {}\r\n{body}\r\n",
        body.len()
    )
    .unwrap();
    loop {
        let line = lines.next().unwrap().unwrap();
        assert!(!line.starts_with("-ERR"), "{line}");
        if line.starts_with("MSG ") {
            return lines.next().unwrap().unwrap();
        }
    }
}

#[test]
fn a_cluster_of_another_version_is_left_alone() {
    let Some(lab) = Lab::new() else { return };
    let prefix = &lab.prefix;
    let address = lab.url.split(',').next().unwrap().trim_start_matches("nats://").to_owned();
    let stream = serde_json::json!({
        "name": format!("{prefix}-ledgers"),
        "subjects": [format!("{prefix}.ledger.*"), format!("{prefix}.side.*")],
        "description": "eog investigations, format 2",
        "retention": "limits", "storage": "file", "discard": "new", "num_replicas": 1,
        "max_consumers": -1, "max_msgs": -1, "max_bytes": -1, "max_age": 0,
    });
    let made =
        request(&address, &format!("$JS.API.STREAM.CREATE.{prefix}-ledgers"), &stream.to_string());
    assert!(made.contains("format 2"), "{made}");
    let path = flash_sale();
    for arguments in [
        &["list"][..],
        &["worker", "--until-empty"],
        &["submit", path.to_str().unwrap()],
        &["serve", "--nats", &lab.url, "--http", "127.0.0.1:0"],
    ] {
        let words = ["says \"eog investigations, format 2\"", "format 1", "or another prefix"];
        lab.run(arguments).exits(1).says(&words);
    }
}
