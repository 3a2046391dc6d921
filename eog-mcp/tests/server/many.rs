//! Many calls at once.

use std::collections::BTreeSet;

use eog_mcp::server::HttpSettings;
use rmcp::ServiceExt;
use rmcp::transport::StreamableHttpClientTransport;
use tokio::net::TcpListener;

use crate::support::{Held, PATIENCE, Place, call, client, content, incident, text, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_calls_at_once_are_all_answered() {
    let (place, held) = (Place::new(), Held::free());
    let server = place.server(&held);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn({
        let server = server.clone();
        let stopped = async { stopped.await.unwrap_or_default() };
        async move { server.http(listener, HttpSettings::default(), stopped).await }
    });
    // A build with eog-llm has TLS without a provider of its own; the client asks for one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Each client has a connection and a session of its own.
    let calls = (0..100).map(|_| {
        let transport = StreamableHttpClientTransport::from_uri(url.clone());
        tokio::spawn(async move {
            let client = client().serve(transport).await.unwrap();
            let answer = content(client.call_tool(call("investigate", incident())).await);
            client.cancel().await.unwrap();
            answer["investigation"].as_str().unwrap().to_owned()
        })
    });
    let calls: Vec<_> = calls.collect();
    let mut most = 0;
    let mut ids = BTreeSet::new();
    for call in calls {
        ids.insert(call.await.unwrap());
        most = most.max(server.load().0);
    }
    assert_eq!(ids.len(), 100, "each has an investigation of its own");
    assert!(most <= 2, "{most} ran at once");
    assert_eq!(server.load(), (0, 0));
    stop.send(()).unwrap();
    serving.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_may_wait_are_asked_to_come_again() {
    let (place, held) = (Place::new(), Held::allowing(0));
    let mut settings = place.settings();
    settings.max_waiting = 1;
    let server = crate::support::open(settings, &held);
    let (client, _serving) = crate::support::connect(&server, client()).await;
    let calls: Vec<_> = (0..3)
        .map(|_| {
            let peer = client.peer().clone();
            tokio::spawn(async move { peer.call_tool_once(call("investigate", incident())).await })
        })
        .collect();
    until(|| server.load() == (2, 1)).await;
    let refused = client.call_tool(call("investigate", incident()));
    let refused = tokio::time::timeout(PATIENCE, refused).await.expect("it does not wait").unwrap();
    assert!(text(&refused).contains("waiting already; try again"), "{refused:?}");
    held.allow(100);
    for call in calls {
        assert!(call.await.unwrap().is_ok(), "the others are answered");
    }
}
