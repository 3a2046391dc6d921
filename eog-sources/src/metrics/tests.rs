use super::*;
use crate::otlp::Reading;
use crate::period::Period;
use crate::piece::Piece;

/// Minutes after a time, as OTLP writes them.
fn at(minute: u64) -> String {
    (1_767_261_600_000_000_000 + minute * 60_000_000_000).to_string()
}

/// Points at one minute after the other, each with what it holds.
fn data(points: &[&str]) -> String {
    let point = |(minute, point): (usize, &&str)| {
        format!("{{\"timeUnixNano\":\"{}\",{point}}}", at(minute as u64))
    };
    let points: Vec<String> = points.iter().enumerate().map(point).collect();
    format!("\"dataPoints\":[{}]", points.join(","))
}

fn request(resource: &str, metric: &str) -> String {
    let attribute = |(key, value): (&str, &str)| {
        format!("{{\"key\":\"{key}\",\"value\":{{\"stringValue\":\"{value}\"}}}}")
    };
    let resource = resource.split(',').filter_map(|it| it.split_once('=')).map(attribute);
    let resource = resource.collect::<Vec<_>>().join(",");
    format!(
        "{{\"resourceMetrics\":[{{\"resource\":{{\"attributes\":[{resource}]}},\"scopeMetrics\":[{{\"metrics\":[{metric}]}}]}}]}}"
    )
}

fn read(texts: &[String]) -> Piece {
    let period = Period { from: 0, until: i64::MAX };
    let mut reading = Reading::new(period, (10, 10));
    for text in texts {
        reading.take(text.as_bytes(), 1).unwrap();
    }
    reading.end()
}

fn told(piece: &Piece) -> String {
    let lines = piece.series.iter().map(|it| {
        let who = crate::bundle::id(&it.who).unwrap();
        let peer = it
            .peer
            .as_ref()
            .map_or(String::new(), |(peer, _)| format!(" > {}", crate::bundle::id(peer).unwrap()));
        let points: Vec<String> = it.points.iter().map(|(_, value)| value.to_string()).collect();
        let (metric, signal, unit) = (&it.metric, it.signal, &it.unit);
        format!("{who}{peer}: {metric} {signal:?} [{unit}] {}", points.join(" "))
    });
    let notes = piece.notes.iter().chain(&piece.missing).cloned();
    lines.chain(notes).collect::<Vec<_>>().join("\n")
}

#[test]
fn each_kind_of_metric_becomes_what_it_means() {
    const ERROR: &str = r#""attributes":[{"key":"error.type","value":{"stringValue":"timeout"}}],"#;
    let pool = |name: &str, value: &str| {
        format!(
            r#""attributes":[{{"key":"pool","value":{{"stringValue":"{name}"}}}}],"asInt":"{value}""#
        )
    };
    let cases = [
        (
            "service.name=cart",
            format!(
                r#"{{"name":"jvm.memory.used","unit":"By","gauge":{{{}}}}}"#,
                data(&[&pool("eden", "5"), &pool("old", "7")])
            ),
            "cart: jvm.memory.used{pool=eden} Saturation [bytes] 5\n\
             cart: jvm.memory.used{pool=old} Saturation [bytes] 7",
        ),
        (
            "service.name=cart",
            format!(
                r#"{{"name":"jvm.cpu.recent_utilization","unit":"1","gauge":{{{}}}}}"#,
                data(&[r#""asDouble":0.5"#, r#""flags":1"#])
            ),
            "cart: jvm.cpu.recent_utilization Saturation [ratio] 0.5",
        ),
        // Of a machine, without a service.
        (
            "host.name=m1",
            format!(
                r#"{{"name":"system.memory.utilization","unit":"1","gauge":{{{}}}}}"#,
                data(&[r#""asDouble":0.9"#, r#""asDouble":"NaN""#])
            ),
            "Host/m1: system.memory.utilization Saturation [ratio] 0.9\n\
             1 records cannot be used: line 1: a point without a time or a number",
        ),
        (
            "k8s.namespace.name=shop,k8s.pod.name=pay-1",
            format!(
                r#"{{"name":"k8s.pod.cpu.usage","unit":"{{cpu}}","gauge":{{{}}}}}"#,
                data(&[r#""asDouble":2"#])
            ),
            "shop/Pod/pay-1: k8s.pod.cpu.usage Saturation [] 2",
        ),
        // Growing sums are rates, from one point to the next, also where the process was started anew.
        (
            "service.name=cart",
            format!(
                r#"{{"name":"orders.placed","unit":"{{order}}","sum":{{"isMonotonic":true,"aggregationTemporality":2,{}}}}}"#,
                data(&[r#""asInt":"60""#, r#""asInt":"180""#, r#""asInt":"30""#])
            ),
            "cart: orders.placed Other [1/s] 2 0.5",
        ),
        (
            "service.name=cart",
            format!(
                r#"{{"name":"net.io","unit":"By","sum":{{"isMonotonic":true,"aggregationTemporality":"AGGREGATION_TEMPORALITY_DELTA",{}}}}}"#,
                data(&[r#""asDouble":120"#, r#""asDouble":60"#])
            ),
            "cart: net.io Other [bytes/s] 2 1",
        ),
        // Those that may fall are levels.
        (
            "service.name=cart",
            format!(
                r#"{{"name":"queue.length","unit":"1","sum":{{"aggregationTemporality":2,{}}}}}"#,
                data(&[r#""asInt":"4""#, r#""asInt":"3""#])
            ),
            "cart: queue.length Saturation [] 4 3",
        ),
        (
            "service.name=cart",
            format!(
                r#"{{"name":"queue.length","sum":{{"aggregationTemporality":1,{}}}}}"#,
                data(&[r#""asInt":"4""#])
            ),
            "1 records cannot be used: line 1: a point of a sum of deltas that may fall, whose level is not known",
        ),
        // What failed of the same.
        (
            "service.name=cart",
            format!(
                r#"{{"name":"jobs","sum":{{"isMonotonic":true,"aggregationTemporality":1,{}}}}}"#,
                data(&[r#""asInt":60"#, &format!(r#"{ERROR}"asInt":60"#)])
            ),
            "cart: jobs Other [1/s] 1 1\ncart: jobs error rate Errors [ratio] 0 1",
        ),
        (
            "service.name=cart",
            format!(
                r#"{{"name":"render.duration","unit":"s","histogram":{{"aggregationTemporality":1,{}}}}}"#,
                data(&[r#""count":"60","sum":30"#, r#""count":"120","sum":6"#])
            ),
            "cart: render.duration count Traffic [1/s] 1 2\ncart: render.duration mean Latency [ms] 500 50",
        ),
        (
            "service.name=cart",
            format!(
                r#"{{"name":"rows","exponentialHistogram":{{"aggregationTemporality":2,{}}}}}"#,
                data(&[r#""count":"10","sum":10"#, r#""count":"70","sum":190"#])
            ),
            "cart: rows count Other [1/s] 1\ncart: rows mean Other [] 3",
        ),
        (
            "service.name=cart",
            format!(
                r#"{{"name":"gc.duration","unit":"ms","summary":{{{}}}}}"#,
                data(&[r#""count":"0","sum":0"#, r#""count":"60","sum":120"#])
            ),
            "cart: gc.duration count Traffic [1/s] 1\ncart: gc.duration mean Latency [ms] 2",
        ),
        (
            "service.name=cart",
            format!(
                r#"{{"name":"http.client.request.duration","unit":"s","histogram":{{"aggregationTemporality":1,{}}}}}"#,
                data(&[r#""count":"60","sum":6"#])
            ),
            "1 metrics are of clients and do not say who is asked",
        ),
        (
            "service.name=cart",
            format!(
                r#"{{"name":"orders.placed","sum":{{"isMonotonic":true,"aggregationTemporality":2,{}}}}}"#,
                data(&[r#""asInt":"60""#])
            ),
            "1 metrics have one point of the time alone, from which no rate follows",
        ),
        (
            "os.type=linux",
            format!(r#"{{"name":"a","gauge":{{{}}}}}"#, data(&[r#""asInt":1"#])),
            "1 records cannot be used: line 1: a point without service.name or another name of what it is of",
        ),
    ];
    for (resource, metric, expected) in cases {
        assert_eq!(told(&read(&[request(resource, &metric)])), expected, "{metric}");
    }
}

#[test]
fn a_stream_goes_on_in_the_next_request_and_a_graph_of_services_has_edges() {
    let one = |minute: u64, value: u64| {
        let ends = r#"{"key":"client","value":{"stringValue":"web"}},{"key":"server","value":{"stringValue":"cart"}}"#;
        let point = format!(
            "{{\"timeUnixNano\":\"{}\",\"asInt\":{value},\"attributes\":[{ends}]}}",
            at(minute)
        );
        let sum = format!(
            "{{\"name\":\"traces_service_graph_request_total\",\"sum\":{{\"isMonotonic\":true,\"aggregationTemporality\":2,\"dataPoints\":[{point}]}}}}"
        );
        request("", &sum)
    };
    let piece = read(&[one(0, 0), one(1, 60), one(2, 180)]);
    assert_eq!(told(&piece), "web > cart: traces_service_graph_request_total Traffic [1/s] 1 2");
    let [link] = &piece.links[..] else { panic!("{piece:?}") };
    assert_eq!((&link.source, &link.target), (&Who::service("web"), &Who::service("cart")));
}
