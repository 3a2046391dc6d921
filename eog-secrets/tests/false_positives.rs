//! Evidence stays: what is masked in the log lines of twelve real systems, in dumps of Kubernetes
//! objects, and in the ids that identify incidents.
//!
//! `../shared/data` holds the data. Where it is absent, the tests that need it say so and pass.

use std::fs;
use std::path::{Path, PathBuf};

use eog_secrets::Masker;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

fn shared(path: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data").join(path);
    let there = path.exists();
    if !there {
        eprintln!("skipped: {} is absent", path.display());
    }
    there.then_some(path)
}

/// The messages of the twelve logs.
fn lines() -> Vec<String> {
    let Some(folder) = shared("loghub") else { return Vec::new() };
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "csv"))
        .collect();
    files.sort();
    let mut lines = Vec::new();
    for file in files {
        let mut table = csv::Reader::from_path(file).expect("a table");
        let content = table
            .headers()
            .expect("headers")
            .iter()
            .position(|name| name == "Content")
            .expect("messages");
        for row in table.records() {
            lines.push(row.expect("a row")[content].to_owned());
        }
    }
    lines
}

#[test]
fn at_most_one_log_line_in_a_thousand_is_changed() {
    let lines = lines();
    let masker = Masker::new();
    let changed: Vec<(&String, String)> = lines
        .iter()
        .map(|line| (line, masker.mask(line).into_owned()))
        .filter(|(line, masked)| *line != masked)
        .collect();
    for (line, masked) in &changed {
        println!("- {line}\n+ {masked}");
    }
    println!("{} of {} lines changed", changed.len(), lines.len());
    assert!(changed.len() * 1000 <= lines.len(), "{} of {}", changed.len(), lines.len());
}

/// Ids that identify incidents, with random digits, in forms that telemetry has.
#[test]
fn ids_stay() {
    let masker = Masker::new();
    for seed in 0..200 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut hex = |length: usize| -> String {
            (0..length).map(|_| format!("{:x}", random.random_range(0..16))).collect()
        };
        let uuid = format!("{}-{}-{}-{}-{}", hex(8), hex(4), hex(4), hex(4), hex(12));
        let (commit, digest, trace, span) = (hex(40), hex(64), hex(32), hex(16));
        let pod = format!("cart-{}-{}", hex(9), hex(5));
        for text in [
            format!("deployed commit {commit} of main"),
            format!("\"revision\": \"{commit}\""),
            format!("https://github.com/o/r/commit/{commit}"),
            format!("image: registry.example.org/shop/cart:1.2.3@sha256:{digest}"),
            format!("imageID: docker-pullable://cart@sha256:{digest}"),
            format!("containerID: containerd://{digest}"),
            format!("uid: {uuid}"),
            format!(
                "\"uid\":\"{uuid}\",\"resourceVersion\":\"{}\"",
                u32::from_str_radix(&hex(7), 16).expect("hex")
            ),
            format!("trace_id={trace} span_id={span}"),
            format!("traceparent: 00-{trace}-{span}-01"),
            format!("{{\"traceID\":\"{trace}\",\"spanID\":\"{span}\"}}"),
            format!("x-request-id: {uuid}"),
            format!("pod/{pod} in kube-api-access-{} failed", hex(5)),
            format!("Created pod: {pod}"),
            format!("etag: \"{trace}\""),
            format!("pod-template-hash: {}", hex(10)),
            format!("key node.kubernetes.io/{pod}"),
        ] {
            assert_eq!(masker.mask(&text), text);
        }
    }
}

/// What Kubernetes says of secrets without holding one.
#[test]
fn talk_of_secrets_stays() {
    let masker = Masker::new();
    for text in [
        "MountVolume.SetUp failed for volume \"login\" : secret \"db-credentials\" not found",
        "couldn't find key password in Secret shop/db-login",
        "Error: secret \"db-login\" not found",
        "references non-existent secret key: tls.key",
        "secrets \"login\" is forbidden: User \"system:serviceaccount:shop:cart\" cannot get",
        "{\"secretKeyRef\":{\"name\":\"db-login\",\"key\":\"password\"}}",
        "\"volumes\":[{\"name\":\"tls\",\"secret\":{\"secretName\":\"cart-tls\",\"defaultMode\":420}}]",
        "{\"serviceAccountToken\":{\"expirationSeconds\":3607,\"path\":\"token\"}}",
        "automountServiceAccountToken: false",
        "imagePullSecrets:\n- name: registry-login\n",
        "tolerations:\n- key: node.kubernetes.io/not-ready\n  operator: Exists\n",
        "kind: Secret\nmetadata:\n  name: login\n  namespace: shop\n",
        "path: /var/run/secrets/kubernetes.io/serviceaccount/token",
        "--tls-private-key-file=/etc/kubernetes/pki/apiserver.key",
        "--service-account-key-file=/etc/kubernetes/pki/sa.pub",
        "env: DB_PASSWORD=$(DB_PASSWORD) API_KEY=${API_KEY}",
        "Unexpected token < in JSON at position 0",
        "SyntaxError: Unexpected token: punc (})",
        "token bucket is empty, rate limiter session expired",
        "max_tokens=4096 prompt_tokens: 120 total_tokens: 300",
        "partition key: orders, routing_key=orders.created",
        "Failed password for root from 10.0.0.1 port 22 ssh2",
        "Accepted publickey for bob from 10.0.0.1 port 22 ssh2: RSA SHA256:wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEYw12a",
        "pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0",
        "password check failed for user (root)",
        "authorization failed for user bob",
        "GET /oauth/token 401 in 20ms",
        "exit code 137, status code: 503, error code 10054",
        "listening on -p 8080:80 -p9090",
        "docker run -u 1000:1000 app",
        "caBundle: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSURCVENDQWUyZ0F3SUJBZ0lJ",
        "-----BEGIN CERTIFICATE-----\nMIIDBTCCAe2gAwIBAgIIZq8rT1xWv5Kp3vN7yLkB9x7Qp2LmZ4vT8wAb12CdEf34\n-----END CERTIFICATE-----",
        "\"integrity\": \"sha512-wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEYwJalrXUtnFEMI/K7MDENG==\"",
        "order <*> placed by <*> with token <*>",
        "password=<*> refused",
    ] {
        assert_eq!(masker.mask(text), text);
    }
}

/// Dumps of Kubernetes objects, events and outputs of tools of a real incident. Two values in them
/// are plainly secrets, and masked: the `SECRET_KEY_BASE` of a container, and the password in a
/// configuration file of a map of the cluster. The rest is source code in a ConfigMap.
#[test]
fn dumps_of_a_real_incident_stay() {
    let masker = Masker::new();
    let (mut all, mut secrets, mut wrong) = (0_usize, 0_usize, Vec::new());
    for folder in ["itbench/scenario-2-partial", "itbench/upstream_tool_outputs"] {
        let Some(folder) = shared(folder) else { return };
        let mut files: Vec<PathBuf> = fs::read_dir(folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.is_file())
            .collect();
        files.sort();
        for file in files {
            let text = fs::read_to_string(file).expect("text");
            let masked = masker.mask(&text);
            // Objects stand in one line; `\n` in text parts them once more.
            let lines =
                |text: &str| text.split('\n').map(|line| line.split("\\n").count()).sum::<usize>();
            all += lines(&text);
            for (at, _) in masked.match_indices(eog_secrets::MASK) {
                let from =
                    (0..=at.saturating_sub(160)).rev().find(|at| masked.is_char_boundary(*at));
                let before = &masked[from.unwrap_or(0)..at];
                if before.contains("SECRET_KEY_BASE") || before.contains("neo4j") {
                    secrets += 1;
                } else {
                    wrong.push(before.to_owned());
                }
            }
        }
    }
    wrong.iter().for_each(|before| println!("wrong: …{before}{}", eog_secrets::MASK));
    println!("{} of {all} lines changed wrongly, {secrets} secrets masked", wrong.len());
    assert!(secrets > 0 && wrong.len() * 1000 <= all, "{} of {all}", wrong.len());
}
