//! A service of the small system: a process of its own that answers `/`, calls the next one, and does what its file
//! says. OpenTelemetry measures it: metrics at `/metrics`, spans by OTLP.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use opentelemetry::metrics::{Histogram, Meter, MeterProvider as _};
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{
    SpanKind, Status, TraceContextExt as _, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SdkTracer, SdkTracerProvider,
};
use serde_json::Value;

use super::SERVICES;

/// Set in processes that the tests start: name, its port, that for OTLP, folder.
pub(super) const ROLE: &str = "EOG_TEST_SERVICE";

/// The boundaries of durations in seconds, as the semantic conventions advise.
const SECONDS: [f64; 14] =
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

/// What requests are served with.
struct Service {
    file: PathBuf,
    tracer: SdkTracer,
    served: Histogram<f64>,
    called: Histogram<f64>,
    registry: prometheus::Registry,
    answered: AtomicU64,
}

/// Headers of a request, in lower case.
type Headers = HashMap<String, String>;

#[test]
#[ignore = "a process of the other tests"]
fn a_service_of_the_small_system() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let [name, port, otlp, folder] = role.splitn(4, ' ').collect::<Vec<_>>()[..] else {
        panic!("{role}")
    };
    let port: u16 = port.parse().unwrap();
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    // The client of the exporter wants one, though nothing is encrypted here.
    rustls::crypto::ring::default_provider().install_default().unwrap();
    let (tracer, _spans) = tracer(name, otlp);
    let (meter, registry, _metrics) = meter(name);
    let file = PathBuf::from(folder).join(format!("{name}.json"));
    let seconds = |name: &'static str| {
        meter.f64_histogram(name).with_unit("s").with_boundaries(SECONDS.to_vec()).build()
    };
    let waiting = file.clone();
    let gauge = meter.u64_observable_gauge("shop.orders.waiting").with_callback(move |it| {
        let waiting = settings(&waiting).and_then(|it| it["waiting"].as_u64());
        it.observe(waiting.unwrap_or_default(), &[]);
    });
    let _gauge = gauge.build();
    let service = Arc::new(Service {
        tracer,
        served: seconds("http.server.request.duration"),
        called: seconds("http.client.request.duration"),
        registry,
        answered: AtomicU64::new(0),
        file,
    });
    if name == SERVICES[0] {
        // The load: about ten requests a second, two at once.
        for _ in 0..2 {
            std::thread::spawn(move || {
                loop {
                    let _ = ask(port, &Headers::new());
                    std::thread::sleep(Duration::from_millis(180));
                }
            });
        }
    }
    for stream in listener.incoming().map_while(Result::ok) {
        let service = service.clone();
        std::thread::spawn(move || service.serve(&stream));
    }
}

fn tracer(name: &str, otlp: &str) -> (SdkTracer, SdkTracerProvider) {
    let endpoint = format!("http://127.0.0.1:{otlp}/v1/traces");
    let exporter = SpanExporter::builder().with_http().with_endpoint(endpoint).build().unwrap();
    let often = BatchConfigBuilder::default().with_scheduled_delay(Duration::from_millis(500));
    let batches = BatchSpanProcessor::builder(exporter).with_batch_config(often.build()).build();
    let provider =
        SdkTracerProvider::builder().with_span_processor(batches).with_resource(resource(name));
    let provider = provider.build();
    (provider.tracer("small-system"), provider)
}

fn meter(name: &str) -> (Meter, prometheus::Registry, SdkMeterProvider) {
    let registry = prometheus::Registry::new();
    let exporter = opentelemetry_prometheus::exporter().with_registry(registry.clone());
    let provider = SdkMeterProvider::builder().with_reader(exporter.build().unwrap());
    let provider = provider.with_resource(resource(name)).build();
    (provider.meter("small-system"), registry, provider)
}

fn resource(name: &str) -> Resource {
    Resource::builder_empty().with_service_name(name.to_owned()).build()
}

fn settings(file: &PathBuf) -> Option<Value> {
    serde_json::from_str(&std::fs::read_to_string(file).ok()?).ok()
}

impl Service {
    fn serve(&self, stream: &TcpStream) -> Option<()> {
        let (line, headers) = read(stream)?;
        let settings = settings(&self.file)?;
        if line.starts_with("GET /metrics") {
            let text = prometheus::TextEncoder::new().encode_to_string(&self.registry.gather());
            return reply(stream, 200, &text.ok()?);
        }
        if settings["crash"] == true {
            std::process::exit(1);
        }
        let began = Instant::now();
        let caller = TraceContextPropagator::new().extract(&headers);
        let span = self.tracer.span_builder("GET /").with_kind(SpanKind::Server);
        let within = caller.with_span(span.start_with_context(&self.tracer, &caller));
        std::thread::sleep(Duration::from_millis(settings["delay_ms"].as_u64()?));
        let next = settings["next"].as_u64().and_then(|port| u16::try_from(port).ok());
        let mut status = next.map_or(200, |next| match self.call(next, &within) {
            Some(200) => 200,
            _ => 503,
        });
        // Spread evenly: 7 of 10 requests are numbers 0 to 6.
        let number = self.answered.fetch_add(1, Ordering::SeqCst);
        if (number % 10) as f64 / 10.0 < settings["fail"].as_f64()? {
            status = 500;
        }
        end(&within, status);
        self.served.record(began.elapsed().as_secs_f64(), &outcome(status));
        reply(stream, status, "done\n")
    }

    /// Calls the next service: the status of its answer, if there is one.
    fn call(&self, port: u16, within: &Context) -> Option<u16> {
        let began = Instant::now();
        let server = [
            KeyValue::new("server.address", "127.0.0.1"),
            KeyValue::new("server.port", i64::from(port)),
        ];
        let span = self.tracer.span_builder("GET").with_kind(SpanKind::Client);
        let span = span.with_attributes(server.clone());
        let within = within.with_span(span.start_with_context(&self.tracer, within));
        let mut headers = Headers::new();
        TraceContextPropagator::new().inject_context(&within, &mut headers);
        let status = ask(port, &headers);
        let all = [&server[..], &outcome(status.unwrap_or(0))].concat();
        end(&within, status.unwrap_or(0));
        self.called.record(began.elapsed().as_secs_f64(), &all);
        status
    }
}

/// How a request ended, by the semantic conventions; 0: without an answer.
fn outcome(status: u16) -> Vec<KeyValue> {
    let code = (status > 0).then(|| KeyValue::new("http.response.status_code", i64::from(status)));
    let error = match status {
        0 => Some("connection".to_owned()),
        500.. => Some(status.to_string()),
        _ => None,
    };
    code.into_iter().chain(error.map(|error| KeyValue::new("error.type", error))).collect()
}

fn end(within: &Context, status: u16) {
    let span = within.span();
    span.set_attributes(outcome(status));
    if status == 0 || status >= 500 {
        span.set_status(Status::error(""));
    }
    span.end();
}

/// The first line of a request, and its headers.
fn read(stream: &TcpStream) -> Option<(String, Headers)> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut first, mut line) = (String::new(), String::new());
    reader.read_line(&mut first).ok()?;
    let mut headers = Headers::new();
    while reader.read_line(&mut line).ok()? > 2 {
        if let Some((name, value)) = line.trim().split_once(": ") {
            headers.insert(name.to_lowercase(), value.to_owned());
        }
        line.clear();
    }
    Some((first, headers))
}

fn reply(mut stream: &TcpStream, status: u16, body: &str) -> Option<()> {
    let kind = "Content-Type: text/plain; version=0.0.4\r\nConnection: close";
    let length = body.len();
    let head = format!("HTTP/1.1 {status} X\r\n{kind}\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(format!("{head}{body}").as_bytes()).ok()
}

fn ask(port: u16, headers: &Headers) -> Option<u16> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    stream.write_all(format!("GET / HTTP/1.1\r\nHost: a\r\n{headers}\r\n").as_bytes()).ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    line.split(' ').nth(1)?.parse().ok()
}
