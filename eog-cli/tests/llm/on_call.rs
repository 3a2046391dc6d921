//! A service on call with a language model: what it asks over a restart, and what its traces say of it.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::{Value, json};

use super::on_call_lab::{Receiver, Service, alert, folder, wait_for};
use super::reader::{Start, read};
use super::server::{Reply, Server};

/// Services with an alert each.
const SERVICES: usize = 6;

/// A folder for a service that asks a model at a server, and notifies a receiver.
fn asking(server: &Server, receiver: &Receiver) -> tempfile::TempDir {
    let hook =
        format!("[[webhook]]\nname = 'team'\nurl = 'http://127.0.0.1:{}/team'\n", receiver.port);
    let folder = folder("[pace]\nsettle = '0s'\n", &hook);
    let settings = format!(
        "policy = \"llm\"\n[llm]\nmodel = \"openai/test\"\n[llm.models.\"openai/test\"]\n\
         base_url = \"{}\"\ncapabilities = {{ tokenizer = \"gpt2\" }}\n",
        server.url
    );
    std::fs::write(folder.path().join("eog.toml"), settings).unwrap();
    folder
}

/// One request of Alertmanager with an alert of each service.
fn alerts() -> String {
    let mut all: Value = serde_json::from_str(&alert("g", "0", "Slow", "svc-0", None)).unwrap();
    let one = all["alerts"][0].clone();
    let of = |number: usize| {
        let mut one = one.clone();
        one["fingerprint"] = json!(number.to_string());
        one["labels"]["job"] = json!(format!("svc-{number}"));
        one
    };
    all["alerts"] = (0..SERVICES).map(of).collect();
    all.to_string()
}

#[test]
fn a_service_that_is_killed_asks_no_model_again_what_it_answered() {
    const SILENT_AT: usize = 4;
    let is_silent = Arc::new(AtomicBool::new(true));
    let silent = is_silent.clone();
    let server =
        Server::start(move |asked| match asked.at == SILENT_AT && silent.load(Ordering::SeqCst) {
            true => Reply::Hang,
            false => read(asked, Start::Alerts),
        });
    let receiver = Receiver::start();
    let folder = asking(&server, &receiver);
    let mut service = Service::start(folder.path());
    assert_eq!(service.post("/alerts", &alerts()).unwrap().0, 200);
    server.wait(|seen| seen.len() > SILENT_AT);
    service.kill();
    is_silent.store(false, Ordering::SeqCst);
    let before = server.seen().len();
    let _service = Service::start(folder.path());
    let message = wait_for(|| receiver.of("team").into_iter().next());
    let message: Value = serde_json::from_str(&message.body).unwrap();
    assert_eq!(message["event"], "diagnosed", "{message:#}");
    let mut times: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let seen = server.seen();
    for asked in &seen {
        times.entry(asked.body.to_string()).or_default().push(asked.at);
    }
    let repeated: Vec<_> = times.into_values().filter(|at| at.len() > 1).collect();
    println!("{} requests, {before} of them before the kill; repeated: {repeated:?}", seen.len());
    assert!(seen.len() > before + 1, "the kill came amid the run");
    let [again] = &repeated[..] else { panic!("{repeated:?}") };
    assert_eq!((again.len(), again[0]), (2, SILENT_AT), "the request without an answer");
}

/// A receiver of traces: all spans so far.
fn traces() -> (u16, Arc<Mutex<Vec<Span>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let spans = Arc::<Mutex<Vec<Span>>>::default();
    let taken = spans.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let taken = taken.clone();
            std::thread::spawn(move || take(stream, &taken));
        }
    });
    (port, spans)
}

fn take(mut stream: TcpStream, taken: &Mutex<Vec<Span>>) -> Option<()> {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 16 * 1024]);
    let (head, length) = loop {
        let count = stream.read(&mut chunk).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&chunk[..count]);
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
            break (end + 4, length.trim().parse::<usize>().ok()?);
        }
    };
    while bytes.len() < head + length {
        let count = stream.read(&mut chunk).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&chunk[..count]);
    }
    let request = ExportTraceServiceRequest::decode(&bytes[head..head + length]).ok()?;
    let spans = request.resource_spans.into_iter().flat_map(|it| it.scope_spans);
    taken.lock().unwrap().extend(spans.flat_map(|it| it.spans));
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    stream.write_all(answer.as_bytes()).ok()
}

/// The value of an attribute, as text.
fn value(span: &Span, name: &str) -> Option<String> {
    let found = span.attributes.iter().find(|it| it.key == name)?;
    Some(match found.value.as_ref()?.value.as_ref()? {
        Any::StringValue(text) => text.clone(),
        Any::IntValue(number) => number.to_string(),
        Any::ArrayValue(all) => {
            let all = all.values.iter().filter_map(|it| match it.value.as_ref()? {
                Any::StringValue(text) => Some(text.as_str()),
                _ => None,
            });
            format!("[{}]", all.collect::<Vec<_>>().join(","))
        }
        other => format!("{other:?}"),
    })
}

#[test]
fn traces_of_a_service_have_a_span_for_each_evaluation_and_each_call_of_a_model() {
    let server = Server::start(|asked| read(asked, Start::Alerts));
    let receiver = Receiver::start();
    let (port, spans) = traces();
    let folder = asking(&server, &receiver);
    let endpoint = format!("http://127.0.0.1:{port}");
    let environment = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
        ("OTEL_BSP_SCHEDULE_DELAY", "100"),
        ("NO_PROXY", "127.0.0.1"),
    ];
    let service = Service::start_in(folder.path(), 0, &[], &environment);
    assert_eq!(service.post("/alerts", &alerts()).unwrap().0, 200);
    wait_for(|| receiver.of("team").into_iter().next());
    let asked = server.seen();
    let named = |all: &[Span], begin: &str| -> Vec<Span> {
        all.iter().filter(|span| span.name.starts_with(begin)).cloned().collect()
    };
    let all = wait_for(|| {
        let all = spans.lock().unwrap().clone();
        (!named(&all, "investigate ").is_empty()).then_some(all)
    });
    let chats = named(&all, "chat ");
    assert_eq!(chats.len(), asked.len(), "a span for each call");
    for span in &chats {
        for (name, expected) in [
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.provider.name", "openai"),
            ("gen_ai.request.model", "test"),
            ("gen_ai.response.model", "served"),
            ("gen_ai.response.finish_reasons", "[stop]"),
            ("gen_ai.usage.input_tokens", "1000"),
            ("gen_ai.usage.output_tokens", "100"),
        ] {
            assert_eq!(value(span, name).as_deref(), Some(expected), "{name}: {span:?}");
        }
    }
    let ledger = folder.path().join("state/inv-000001/ledger.jsonl");
    let ledger = std::fs::read_to_string(ledger).unwrap();
    // What was remembered was not asked again.
    let is_asked = |line: &&str| {
        line.contains("\"body\":{\"evaluated\"") && !line.contains("\"answer\":{\"remembered\"")
    };
    let evaluations = ledger.lines().filter(is_asked).count();
    assert_eq!(named(&all, "evaluate ").len(), evaluations, "one for each evaluation");
    let [whole] = &named(&all, "investigate ")[..] else { panic!("one investigation") };
    assert!(all.iter().all(|span| span.trace_id == whole.trace_id), "all belong to one trace");
}
