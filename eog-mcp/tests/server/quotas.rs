//! Clients that ask and do not read: what they can hold is bounded, and no other client is shut out.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use eog_mcp::server::HttpSettings;
use eog_mcp::server::axum::Router;
use eog_mcp::server::axum::body::Body;
use eog_mcp::server::axum::routing::{any, get};
use futures_util::StreamExt;
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::http::{begin, begin_whole, hello, list, listen, post, read_until, send, serve_with};
use crate::support::{Held, Place, open, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_session_holds_a_few_streams_and_calls_go_on() {
    let (place, held) = (Place::new(), Held::free());
    let server = place.server(&held);
    let mut settings = HttpSettings::default();
    settings.max_streams = 2;
    let (address, _stop, _serving) = serve_with(&server, settings).await;
    let session = begin(address).await;
    let listen = listen(address, &session);
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut stream = send(address, &listen).await;
        read_until(&mut stream, "200 OK").await;
        open.push(stream);
    }
    let mut refused = send(address, &listen).await;
    read_until(&mut refused, "429 Too Many Requests").await;
    let mut listed = post(address, &session, &list()).await;
    read_until(&mut listed, "list_investigations").await;
    // One that is closed makes room.
    open.pop();
    loop {
        let mut again = send(address, &listen).await;
        if read_until(&mut again, "\r\n").await.contains("200 OK") {
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_of_all_sessions_leave_half_of_the_connections_to_calls() {
    const CONNECTIONS: usize = 8;
    let (place, held) = (Place::new(), Held::free());
    let server = place.server(&held);
    let mut settings = HttpSettings::default();
    settings.max_connections = CONNECTIONS;
    let (address, _stop, _serving) = serve_with(&server, settings).await;
    let mut open = Vec::new();
    for _ in 0..CONNECTIONS / 2 {
        // One of each session, which may hold more by itself.
        let session = begin_whole(address).await;
        let mut stream = send(address, &listen(address, &session)).await;
        read_until(&mut stream, "200 OK").await;
        open.push(stream);
    }
    let session = begin_whole(address).await;
    let mut refused = send(address, &listen(address, &session)).await;
    read_until(&mut refused, "too many streams of news are open; calls are still answered").await;
    drop(refused);
    read_until(&mut post(address, &session, &list()).await, "list_investigations").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_has_64_requests_under_way_and_another_session_is_answered() {
    const MOST: usize = 64;
    let (place, held) = (Place::new(), Held::allowing(0));
    let mut settings = place.settings();
    settings.max_waiting = MOST;
    let server = open(settings, &held);
    let (address, _stop, _serving) = serve_with(&server, HttpSettings::default()).await;
    let session = begin_whole(address).await;
    let investigate = |id: usize| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params":
            {"name": "investigate", "arguments": {"path": "incident"}}})
    };
    let mut open = Vec::new();
    for id in 0..MOST {
        let mut call = post(address, &session, &investigate(10 + id)).await;
        // Its answer has begun and does not end, since nothing is decided.
        read_until(&mut call, "200 OK").await;
        open.push(call);
    }
    let mut refused = post(address, &session, &list()).await;
    let refused = read_until(&mut refused, "too many requests under way").await;
    assert!(refused.starts_with("HTTP/1.1 429"), "{refused}");
    let other = begin_whole(address).await;
    read_until(&mut post(address, &other, &list()).await, "list_investigations").await;
    // What ends makes room.
    held.allow(10_000);
    for mut call in open {
        read_until(&mut call, "\"result\"").await;
    }
    read_until(&mut post(address, &session, &list()).await, "list_investigations").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unread_answer_gives_its_connection_up() {
    let (place, held) = (Place::new(), Held::free());
    let server = place.server(&held);
    let mut settings = HttpSettings::default();
    settings.max_connections = 1;
    settings.write_time = Duration::from_millis(200);
    settings.routes = Router::new()
        .route("/large", get(async || "x".repeat(64 << 20)))
        .route("/small", get(async || "small"));
    let (address, _stop, _serving) = serve_with(&server, settings).await;
    let ask = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let _unread = send(address, &ask("/large")).await;
    // There is room for one alone, and others are refused until it is seen that this one does not read.
    loop {
        let answer = read_until(&mut send(address, &ask("/small")).await, "\r\n").await;
        match answer.lines().next() {
            Some("HTTP/1.1 200 OK") => break,
            Some("HTTP/1.1 503 Service Unavailable") => sleep(Duration::from_millis(50)).await,
            other => panic!("{other:?}"),
        }
    }
}

/// Whatever is left out, nothing but the next connection ends one that is waited for.
#[tokio::test(flavor = "multi_thread")]
async fn clients_that_are_waited_for_make_room_for_others() {
    const CONNECTIONS: usize = 4;
    let (place, held) = (Place::new(), Held::free());
    let server = place.server(&held);
    let mut settings = HttpSettings::default();
    settings.max_connections = CONNECTIONS;
    let hours = Duration::from_secs(36_000);
    (settings.head_time, settings.body_time, settings.write_time) = (hours, hours, hours);
    settings.routes = Router::new()
        .route("/large", get(async || "x".repeat(64 << 20)))
        .route("/small", any(async || "small"));
    let (address, _stop, _serving) = serve_with(&server, settings).await;
    let ask = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let body = format!("POST /small HTTP/1.1\r\nHost: {address}\r\nContent-Length: 9\r\n\r\n1");
    for slow in ["", "GET /small HTTP/1.1\r\nHo", &body, &ask("/small"), &ask("/large")] {
        let mut all = Vec::new();
        for _ in 0..3 * CONNECTIONS {
            all.push(send(address, slow).await);
        }
        // One that leaves its answer unread is known by that after a while.
        let mut answered = 0;
        while answered < CONNECTIONS {
            let answer = read_until(&mut send(address, &ask("/small")).await, "\r\n").await;
            match answer.lines().next() {
                Some("HTTP/1.1 200 OK") => answered += 1,
                Some("HTTP/1.1 503 Service Unavailable") if slow.contains("large") => {
                    sleep(Duration::from_millis(50)).await;
                }
                other => panic!("{slow}: {other:?}"),
            }
        }
        drop(all);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn signs_of_life_are_given_while_all_connections_are_in_use() {
    let (place, held) = (Place::new(), Held::allowing(0));
    let mut settings = HttpSettings::default();
    settings.max_connections = 1;
    settings.open_routes = Router::new().route("/healthz", get(async || "alive"));
    let (address, _stop, _serving) = serve_with(&place.server(&held), settings).await;
    let session = begin_whole(address).await;
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params":
        {"name": "investigate", "arguments": {"path": "incident"}}});
    let mut call = post(address, &session, &call).await;
    read_until(&mut call, "200 OK").await;
    let ask = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: probe\r\n\r\n");
    for slow in
        ["", &ask("/healthz"), "POST /healthz HTTP/1.1\r\nHost: probe\r\nContent-Length: 9\r\n\r\n"]
    {
        let mut all = Vec::new();
        for _ in 0..40 {
            all.push(send(address, slow).await);
        }
        read_until(&mut send(address, &ask("/healthz")).await, "alive").await;
    }
    let refused = read_until(&mut post(address, &session, &list()).await, "try again later").await;
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("retry-after: 1"), "{refused}");
    // The call was not cut by any of that.
    held.allow(10_000);
    read_until(&mut call, "\"result\"").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_begin_at_once_do_not_displace_each_other_or_stay_beyond_the_bound() {
    const MOST: usize = 4;
    let (place, held) = (Place::new(), Held::free());
    let mut settings = HttpSettings::default();
    settings.max_sessions = MOST;
    let (address, _stop, _serving) = serve_with(&place.server(&held), settings).await;
    let begin = async || {
        let answer = read_until(&mut post(address, "", &hello()).await, "\r\n\r\n").await;
        assert!(!answer.starts_with("HTTP/1.1 500"), "{answer}");
        let session = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        session.map(|session| format!("Mcp-Session-Id: {}\r\n", session.trim()))
    };
    let mut begun = Vec::new();
    for _ in 0..25 {
        let all: Vec<_> = (0..16).map(|_| begin()).collect();
        begun.extend(futures_util::future::join_all(all).await.into_iter().flatten());
    }
    // Those that found the same room go when the next one begins.
    begun.extend(begin().await);
    let mut open = 0;
    for session in &begun {
        let answer = read_until(&mut post(address, session, &list()).await, "\r\n").await;
        open += usize::from(!answer.starts_with("HTTP/1.1 404"));
    }
    assert_eq!(open, MOST, "of {} sessions", begun.len());
}

/// Reads an answer to its end. One that was cut may end with an error.
async fn read_all(mut stream: TcpStream) -> usize {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes).await;
    bytes.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn unread_answers_give_way_to_those_that_are_read() {
    const LARGE: usize = 16 << 20;
    let (place, held) = (Place::new(), Held::free());
    let server = place.server(&held);
    let mut settings = HttpSettings::default();
    settings.max_unread_bytes = 5 * LARGE / 2;
    settings.routes = Router::new().route("/large", get(async || "x".repeat(LARGE)));
    let (address, _stop, _serving) = serve_with(&server, settings).await;
    let ask = format!("GET /large HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let mut unread = Vec::new();
    for _ in 0..2 {
        let mut stream = send(address, &ask).await;
        read_until(&mut stream, "200 OK").await;
        unread.push(stream);
    }
    // Some of it came with the head.
    let is_whole = |bytes: usize| bytes > LARGE - 8192;
    let mut third = send(address, &ask).await;
    read_until(&mut third, "200 OK").await;
    assert!(is_whole(read_all(third).await));
    let mut left = 0;
    for stream in unread {
        left += usize::from(is_whole(read_all(stream).await));
    }
    assert_eq!(left, 1, "one was cut, since there was room for two");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_in_parts_does_not_cut_itself() {
    const PART: usize = 64 << 10;
    const PARTS: usize = 256;
    let (place, held) = (Place::new(), Held::free());
    let server = place.server(&held);
    let mut settings = HttpSettings::default();
    // Less than what a connection is handed out before it is sent.
    settings.max_unread_bytes = PART + PART / 2;
    let parts = async || {
        let part = |_| Ok::<_, std::convert::Infallible>("x".repeat(PART));
        Body::from_stream(futures_util::stream::iter(0..PARTS).map(part))
    };
    settings.routes = Router::new().route("/parts", get(parts));
    let (address, _stop, _serving) = serve_with(&server, settings).await;
    let ask = format!("GET /parts HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let mut stream = send(address, &ask).await;
    // Several parts wait by then.
    tokio::time::sleep(Duration::from_millis(200)).await;
    read_until(&mut stream, "200 OK").await;
    assert!(read_all(stream).await > PART * PARTS - 8192);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reading_client_is_kept_though_unread_answers_came_later() {
    const LARGE: usize = 16 << 20;
    let (place, held) = (Place::new(), Held::free());
    let server = place.server(&held);
    let mut settings = HttpSettings::default();
    settings.max_unread_bytes = 5 * LARGE / 2;
    let endless = async || {
        let part = || Ok::<_, std::convert::Infallible>("x".repeat(64 << 10));
        Body::from_stream(futures_util::stream::repeat_with(part))
    };
    settings.routes = Router::new()
        .route("/endless", get(endless))
        .route("/large", get(async || "x".repeat(LARGE)));
    let (address, _stop, _serving) = serve_with(&server, settings).await;
    let ask = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let mut read = send(address, &ask("/endless")).await;
    read_until(&mut read, "200 OK").await;
    let taken = Arc::new(AtomicUsize::new(0));
    let reading = tokio::spawn({
        let taken = taken.clone();
        async move {
            let mut some = vec![0; 1 << 20];
            while let Ok(count @ 1..) = read.read(&mut some).await {
                taken.fetch_add(count, Ordering::Relaxed);
            }
        }
    });
    let mut unread = Vec::new();
    for _ in 0..8 {
        let mut stream = send(address, &ask("/large")).await;
        read_until(&mut stream, "200 OK").await;
        unread.push(stream);
    }
    // More than what may be on its way.
    let wanted = taken.load(Ordering::Relaxed) + (32 << 20);
    until(|| taken.load(Ordering::Relaxed) > wanted).await;
    reading.abort();
    let mut cut = 0;
    for mut stream in unread {
        let mut left = LARGE - 8192;
        let mut some = vec![0; 1 << 20];
        while left > 0
            && let Ok(count @ 1..) = stream.read(&mut some).await
        {
            left = left.saturating_sub(count);
        }
        cut += usize::from(left > 0);
    }
    assert!(cut >= 6, "{cut} of 8 were cut, though there was room for two");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_without_an_answer_breaks_nothing_off() {
    let (place, held) = (Place::new(), Held::free());
    let server = place.server(&held);
    let mut settings = HttpSettings::default();
    settings.grace = Duration::from_millis(50);
    let (address, _stop, _serving) = serve_with(&server, settings).await;
    // The client's last message says that it is ready, and it has nothing open then.
    let session = begin_whole(address).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    read_until(&mut post(address, &session, &list()).await, "list_investigations").await;
}
