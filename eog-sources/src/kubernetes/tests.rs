//! Against a mock of the API: the answers have its form, but no cluster gave them.

use std::sync::{Arc, Mutex};

use http::{Request, Response};
use jiff::Timestamp;
use kube::client::Body;
use serde_json::{Value, json};

use super::*;
use crate::piece::{Millis, Piece, Who};

const ANSWERS: &str = include_str!("../../tests/cluster/answers.json");

/// What the mock answers to an address with its query: status and body.
type Answering = dyn Fn(&str, &str) -> (u16, Value) + Send + Sync;

/// Addresses and `Accept` headers of all requests.
type Asked = Arc<Mutex<Vec<(String, String)>>>;

fn mock(config: &Config, answer: Arc<Answering>) -> (Kubernetes<'_>, Asked) {
    let (service, mut handle) = tower_test::mock::pair::<Request<Body>, Response<Body>>();
    let asked = Asked::default();
    let received = asked.clone();
    tokio::spawn(async move {
        while let Some((request, send)) = handle.next_request().await {
            assert_eq!(request.method(), "GET", "only reads");
            let uri = request.uri();
            let accept = request.headers().get("accept").and_then(|it| it.to_str().ok());
            let path = uri.path().to_owned();
            received.lock().unwrap().push((path.clone(), accept.unwrap_or_default().to_owned()));
            let (status, body) = answer(&path, uri.query().unwrap_or_default());
            let body = Body::from(body.to_string().into_bytes());
            send.send_response(Response::builder().status(status).body(body).unwrap());
        }
    });
    let client = kube::Client::new(service, "default");
    let client = Client::of(client, "https://cluster.example".to_owned(), config);
    (Kubernetes { config, client }, asked)
}

/// The cluster of the answers, in pages of so many as are asked for.
fn shop(path: &str, query: &str) -> (u16, Value) {
    let all: Value = serde_json::from_str(ANSWERS).unwrap();
    let plural = path.rsplit('/').next().unwrap();
    let Some(items) = all[plural].as_array() else {
        return (404, json!({"kind": "Status", "message": "there is no such list"}));
    };
    let of = |name: &str| query.split('&').find_map(|it| it.strip_prefix(&format!("{name}=")));
    let (limit, at): (usize, usize) =
        (of("limit").unwrap().parse().unwrap(), of("continue").map_or(0, |it| it.parse().unwrap()));
    let page: Vec<&Value> = items.iter().skip(at).take(limit).collect();
    let next = at + page.len();
    let more = if next < items.len() { next.to_string() } else { String::new() };
    (200, json!({"metadata": {"continue": more, "resourceVersion": "9"}, "items": page}))
}

fn at(text: &str) -> Millis {
    text.parse::<Timestamp>().unwrap().as_millisecond()
}

fn hour() -> Period {
    Period { from: at("2026-01-01T10:00:00Z"), until: at("2026-01-01T11:00:00Z") }
}

async fn read(source: &Kubernetes<'_>) -> Piece {
    let mut cluster = Cluster::default();
    for (kind, namespace) in source.lists() {
        let part = source.list(kind, namespace, 1_000).await.unwrap();
        assert_eq!(part.cut, None);
        // What a capture keeps on the way, it reads again.
        let text = serde_json::to_string(&part).unwrap();
        let again: Part = serde_json::from_str(&text).unwrap();
        assert_eq!(again.objects, part.objects);
        assert!(!text.contains("hunter2"), "{text}");
        cluster.objects.entry(kind).or_default().extend(again.objects);
    }
    cluster.piece(hour())
}

fn named(who: &Who) -> String {
    crate::bundle::id(who).unwrap().as_str().to_owned()
}

#[tokio::test]
async fn a_cluster_is_read_in_pages_with_owners_rollouts_and_events() {
    let config = Config { page: 1, secrets: true, ..Config::default() };
    let (source, asked) = mock(&config, Arc::new(shop));
    let piece = read(&source).await;
    let changes: Vec<String> = piece
        .changes
        .iter()
        .map(|it| {
            let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".into());
            let time = crate::period::shown(it.at);
            let (who, path) = (named(&it.who), &it.path);
            format!("{} {who} {path}: {} > {}", &time[11..19], text(&it.old), text(&it.new))
        })
        .collect();
    assert_eq!(
        changes,
        [
            "10:44:51 shop/db spec/containers[db]/env[DB_PASSWORD]/value: [masked 2] > [masked 1]",
            "10:44:51 shop/db spec/containers[db]/image: registry.example/db:1.4 > registry.example/db:1.5",
            "10:15:01 shop/queue spec/containers[queue]/image: registry.example/queue:2 > registry.example/queue:3",
            "10:30:00 shop/web spec/replicas: - > 2",
            "10:20:00 shop/ConfigMap/web-config data/pool.yaml: - > -",
            "10:10:00 shop/Secret/db-tls fields: - > -",
            "10:05:00 shop/NetworkPolicy/only-web object: - > created",
            "10:25:00 Host/node-a spec/unschedulable: - > true",
        ]
    );
    let about = &piece.changes[3].description;
    assert_eq!(about, "Deployment written by kubectl-edit");
    let events: Vec<String> =
        piece.events.iter().map(|it| format!("{} {}", named(&it.who), it.reason)).collect();
    assert_eq!(
        events,
        [
            "shop/db ScalingReplicaSet",
            "shop/Pod/db-bbb-1 BackOff",
            "Host/node-a NodeHasInsufficientMemory",
            "shop/Pod/db-bbb-1 OOMKilled",
            "shop/Pod/db-bbb-1 BackOff",
        ]
    );
    let links: Vec<String> = piece
        .links
        .iter()
        .map(|it| format!("{} {} {}", named(&it.source), it.relation, named(&it.target)))
        .collect();
    assert_eq!(
        links,
        [
            "shop/Pod/db-bbb-1 backs shop/db",
            "shop/Pod/db-bbb-1 runs_on Host/node-a",
            "shop/Pod/db-aaa-1 backs shop/db",
            "shop/Pod/db-aaa-1 runs_on Host/node-b",
            "shop/Pod/web-ccc-1 backs shop/web",
            "shop/Pod/web-ccc-1 runs_on Host/node-a",
            "shop/web backs shop/front",
            "shop/NetworkPolicy/only-web restricts shop/db",
            "shop/db mounts shop/Secret/db-tls",
            "shop/web mounts shop/ConfigMap/web-config",
            "shop/queue mounts shop/PersistentVolumeClaim/queue-data",
            "shop/HorizontalPodAutoscaler/web scales shop/web",
            "shop/Ingress/public routes shop/front",
        ]
    );
    let asked = asked.lock().unwrap();
    let metadata = |of: &str| {
        let of = asked.iter().filter(|(path, _)| path.ends_with(of));
        of.map(|(_, accept)| accept.contains("PartialObjectMetadataList")).collect::<Vec<_>>()
    };
    assert_eq!(metadata("/secrets"), [true], "contents are not asked for");
    assert_eq!(metadata("/configmaps"), [true]);
    assert_eq!(metadata("/pods"), [false; 3], "a page each");
}

#[tokio::test]
async fn a_rollback_is_dated_by_who_wrote_the_template() {
    let answer = |path: &str, query: &str| {
        let (status, mut page) = shop(path, query);
        for item in page["items"].as_array_mut().into_iter().flatten() {
            if item["metadata"]["name"] == "db-aaa" {
                item["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = json!("4");
            }
            if item["metadata"]["name"] == "db" && path.ends_with("deployments") {
                item["metadata"]["managedFields"][0]["time"] = json!("2026-01-01T10:50:00Z");
            }
        }
        (status, page)
    };
    let config = Config::default();
    let (source, _) = mock(&config, Arc::new(answer));
    let piece = read(&source).await;
    let image: Vec<_> = piece.changes.iter().filter(|it| it.path.ends_with("[db]/image")).collect();
    let [change] = &image[..] else { panic!("{image:?}") };
    assert_eq!(change.at, at("2026-01-01T10:50:00Z"));
    assert_eq!(change.new.as_deref(), Some("registry.example/db:1.4"));
    assert!(change.description.starts_with("rollback to revision 4"), "{change:?}");
}

#[tokio::test]
async fn what_is_refused_cut_or_slow_is_reported() {
    // A list that changes too fast: the first page stands.
    let gone = |path: &str, query: &str| match query.contains("continue=") {
        true => (410, json!({"message": "the continue parameter is too old"})),
        false => shop(path, query),
    };
    let config = Config { page: 2, ..Config::default() };
    let (source, _) = mock(&config, Arc::new(gone));
    let part = source.list(Kind::Pod, None, 10).await.unwrap();
    assert_eq!(part.objects.len(), 2);
    assert_eq!(part.cut.unwrap(), "after 2 of them: HTTP 410: the continue parameter is too old");
    // More than is taken on.
    let (source, _) = mock(&config, Arc::new(shop));
    let part = source.list(Kind::Event, None, 2).await.unwrap();
    assert_eq!(part.objects.len(), 2);
    assert!(part.cut.unwrap().starts_with("more than 2, the others are left out"));
    // Refused.
    let refused =
        |_: &str, _: &str| (403, json!({"message": "pods is forbidden: password=hunter2"}));
    let (source, _) = mock(&config, Arc::new(refused));
    let error = source.list(Kind::Pod, None, 10).await.unwrap_err().to_string();
    assert_eq!(error, "HTTP 403: pods is forbidden: password=[masked]");
    let error = source.offer().await.unwrap_err().to_string();
    assert!(error.contains("nothing may be listed") && error.contains("403"), "{error}");
    // Longer than is read.
    let small = Config { max_bytes: 1024, ..Config::default() };
    let (source, _) = mock(&small, Arc::new(shop));
    let error = source.list(Kind::Pod, None, 10).await.unwrap_err().to_string();
    assert!(error.contains("longer than max_bytes"), "{error}");
    // No answer at all.
    let (service, _handle) = tower_test::mock::pair::<Request<Body>, Response<Body>>();
    let hasty = Config { timeout: jiff::SignedDuration::from_millis(50), ..Config::default() };
    let client = kube::Client::new(service, "default");
    let client = Client::of(client, String::new(), &hasty);
    let source = Kubernetes { config: &hasty, client };
    let error = source.list(Kind::Pod, None, 10).await.unwrap_err();
    assert!(matches!(error, AskError::Slow(_) | AskError::Away(_)), "{error:?}");
    // What is no list, or of no use, is no panic.
    let odd = |_: &str, _: &str| {
        (200, json!({"items": [{}, 7, {"metadata": {"name": "x", "managedFields": 3}}]}))
    };
    let (source, _) = mock(&config, Arc::new(odd));
    for kind in Kind::ALL {
        assert_eq!(source.list(kind, None, 10).await.unwrap().objects.len(), 1);
    }
}

/// The rules of a role of the manifest: groups, resources, verbs.
fn rules() -> Vec<[Vec<String>; 3]> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/kubernetes/eog.yaml");
    let text = std::fs::read_to_string(path).unwrap();
    let documents = yaml_rust2::YamlLoader::load_from_str(&text).unwrap();
    let role = documents.iter().find(|it| it["kind"].as_str() == Some("ClusterRole")).unwrap();
    let words = |rule: &yaml_rust2::Yaml, field: &str| -> Vec<String> {
        rule[field].as_vec().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
    };
    let rules = role["rules"].as_vec().unwrap().iter();
    rules.map(|rule| ["apiGroups", "resources", "verbs"].map(|field| words(rule, field))).collect()
}

#[tokio::test]
async fn the_manifest_allows_every_request_and_nothing_else() {
    let config = Config::default();
    let (source, asked) = mock(&config, Arc::new(shop));
    read(&source).await;
    let mut needed: std::collections::BTreeSet<(String, String)> = Default::default();
    for (path, _) in asked.lock().unwrap().iter() {
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let group = if parts[0] == "apis" { parts[1] } else { "" };
        needed.insert((group.to_owned(), parts[parts.len() - 1].to_owned()));
    }
    let mut allowed = std::collections::BTreeSet::new();
    for [groups, resources, verbs] in rules() {
        assert_eq!(verbs, ["list"], "nothing but lists");
        for group in groups {
            allowed.extend(resources.iter().map(|it| (group.clone(), it.clone())));
        }
    }
    assert_eq!(needed, allowed);
    assert!(!allowed.iter().any(|(_, name)| name == "secrets"));
}
