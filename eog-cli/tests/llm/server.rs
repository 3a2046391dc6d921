//! A model on the loopback interface: it speaks the protocols of providers and answers by a script.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request as the server got it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Its place among all requests, from 0.
    pub(crate) at: usize,
    pub(crate) path: String,
    /// Headers as they came, one a line.
    pub(crate) head: String,
    pub(crate) body: Value,
    /// All of the answer was sent.
    pub(crate) answered: bool,
}

impl Asked {
    /// What the system prompt says.
    pub(crate) fn system(&self) -> String {
        let messages = self.body["messages"].as_array().cloned().unwrap_or_default();
        let own = messages.iter().find(|message| message["role"] == "system");
        text(own.map_or(&self.body["system"], |message| &message["content"]))
    }

    /// The question, without the correction that may follow.
    pub(crate) fn question(&self) -> String {
        text(&self.conversation()[0]["content"])
    }

    /// What the model said, and what was wrong with it, if it is asked to mend it.
    pub(crate) fn correction(&self) -> Option<(String, String)> {
        let conversation = self.conversation();
        let [_, answer, wrong] = conversation.as_slice() else { return None };
        Some((text(&answer["content"]), text(&wrong["content"])))
    }

    /// What the model said before, oldest first, of a conversation that goes on.
    pub(crate) fn said(&self) -> Vec<Value> {
        let of_model = self.conversation().into_iter().filter(|it| it["role"] == "assistant");
        of_model.map(|it| serde_json::from_str(&text(&it["content"])).unwrap_or_default()).collect()
    }

    /// The last message that the model got.
    pub(crate) fn last(&self) -> String {
        self.conversation().last().map(|it| text(&it["content"])).unwrap_or_default()
    }

    /// Everything that the model is shown.
    pub(crate) fn whole(&self) -> String {
        let shown: Vec<String> =
            self.conversation().iter().map(|it| text(&it["content"])).collect();
        format!("{}\n{}", self.system(), shown.join("\n"))
    }

    fn conversation(&self) -> Vec<Value> {
        let mut messages = self.body["messages"].as_array().cloned().unwrap_or_default();
        messages.retain(|message| message["role"] != "system");
        messages
    }

    /// The phase, by what the model is to do.
    pub(crate) fn phase(&self) -> &'static str {
        const TASKS: [(&str, &str); 20] = [
            ("search_decompose", "\"question\""),
            ("search_steer", "\"finished\""),
            ("search_step", "which closes it"),
            ("search_progress", "\"rewrite\""),
            ("search_react", "\"phase\""),
            ("search_compact", "Sum up what they came to"),
            ("search_hypothesize", "\"hypotheses\""),
            ("search_investigate", "\"with\""),
            ("search_weigh", "\"gaps\""),
            ("search_propose", "\"looks\""),
            ("search_evaluate", "\"dead_end\""),
            ("search_reflect", "\"lesson\""),
            ("search_plan", "\"converge\""),
            ("search_act", "null if the path"),
            ("select_investigation_window", "\"anchors\""),
            ("bootstrap", "\"candidates\""),
            ("filter_spec_changes", "changes"),
            ("filter_events", "events"),
            ("explore", "\"because\""),
            ("finalize", "\"propagations\""),
        ];
        let form = &self.body["response_format"]["json_schema"]["name"];
        let system = self.system();
        let picks = system.contains("\"total_relevant\"");
        let fits = |(phase, mark): &(&str, &str)| match (form.as_str(), picks) {
            (Some(name), _) => name == *phase,
            (None, true) => {
                phase.starts_with("filter") && self.question().contains(&format!("<data {mark}>"))
            }
            (None, false) => !phase.starts_with("filter") && system.contains(mark),
        };
        TASKS.iter().find(|task| fits(task)).map_or("unknown", |(phase, _)| phase)
    }

    /// The entity in question, of an explore prompt.
    pub(crate) fn entity(&self) -> String {
        let question = self.question();
        let entity = question.lines().find_map(|line| line.strip_prefix("# Entity: "));
        entity.unwrap_or_default().to_owned()
    }

    pub(crate) fn explores(&self, entity: &str) -> bool {
        self.phase() == "explore" && self.entity() == entity
    }
}

/// The text of a message, whether it comes whole or in parts.
fn text(content: &Value) -> String {
    match content {
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        content => content.as_str().unwrap_or_default().to_owned(),
    }
}

/// What the server does with a request.
pub(crate) enum Reply {
    /// An answer, whole.
    Answer(String),
    /// An answer that says by its tokens which request it is for: [`FIRST_NUMBER`] and its place.
    #[allow(dead_code, reason = "only tests with a cluster number answers")]
    Numbered(String),
    /// An answer that the provider ended for its length.
    TooLong(String),
    /// The connection breaks in the middle of an answer.
    Broken(String),
    Refusal(String),
    /// Another status than 200, with a header.
    Status(u16, &'static str, &'static str),
    /// Nothing is said.
    Hang,
}

/// The input tokens that a numbered answer to the first request has.
pub(crate) const FIRST_NUMBER: usize = 10_000;

fn numbered(at: usize) -> String {
    format!("\"prompt_tokens\":{}", FIRST_NUMBER + at)
}

impl From<Value> for Reply {
    fn from(answer: Value) -> Self {
        Self::Answer(answer.to_string())
    }
}

#[derive(Default)]
struct State {
    seen: Mutex<Vec<Asked>>,
    changed: Condvar,
}

pub(crate) struct Server {
    /// Where it is, up to and without `chat/completions`.
    pub(crate) url: String,
    state: Arc<State>,
}

impl Server {
    /// Answers by a script, each request on a thread of its own.
    pub(crate) fn start(script: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let state: Arc<State> = Arc::default();
        let (shared, script) = (Arc::clone(&state), Arc::new(script));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (shared, script) = (Arc::clone(&shared), Arc::clone(&script));
                // A client that is killed breaks its connection.
                std::thread::spawn(move || serve(stream, &shared, script.as_ref()));
            }
        });
        Self { url, state }
    }

    pub(crate) fn seen(&self) -> Vec<Asked> {
        self.state.seen.lock().unwrap().clone()
    }

    /// The requests so far, which are forgotten.
    pub(crate) fn take(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.state.seen.lock().unwrap())
    }

    pub(crate) fn phases(&self) -> Vec<&'static str> {
        let mut phases: Vec<_> = self.seen().iter().map(Asked::phase).collect();
        phases.dedup();
        phases
    }

    /// Waits until the requests are as they should be.
    pub(crate) fn wait(&self, until: impl Fn(&[Asked]) -> bool) {
        let end = Instant::now() + PATIENCE;
        let mut seen = self.state.seen.lock().unwrap();
        while !until(&seen) {
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "it never came: {} requests", seen.len());
            seen = self.state.changed.wait_timeout(seen, left).unwrap().0;
        }
    }
}

fn serve(mut stream: TcpStream, state: &State, script: &dyn Fn(&Asked) -> Reply) -> Option<()> {
    let (path, head, body) = read(&mut stream)?;
    let asked = {
        let mut seen = state.seen.lock().unwrap();
        let asked = Asked { at: seen.len(), path, head, body, answered: false };
        seen.push(asked.clone());
        asked
    };
    state.changed.notify_all();
    let anthropic = asked.path.ends_with("/messages");
    let reply = match script(&asked) {
        Reply::Hang => {
            // Ends when the client closes its end.
            let _ = stream.read(&mut [0; 16]);
            return None;
        }
        Reply::Status(status, name, value) => whole(status, &format!("{name}: {value}"), "busy"),
        Reply::Answer(text) if anthropic => events(&as_anthropic(&text), 0),
        Reply::Numbered(text) => {
            let answer = as_openai(&json!({ "content": text }), "stop");
            events(&answer.replace("\"prompt_tokens\":1000", &numbered(asked.at)), 0)
        }
        Reply::Answer(text) => events(&as_openai(&json!({ "content": text }), "stop"), 0),
        Reply::TooLong(text) => events(&as_openai(&json!({ "content": text }), "length"), 0),
        Reply::Refusal(text) => events(&as_openai(&json!({ "refusal": text }), "stop"), 0),
        Reply::Broken(text) => {
            let answer = as_openai(&json!({ "content": text }), "stop");
            events(answer.split_inclusive("\n\n").next().unwrap_or_default(), 100)
        }
    };
    stream.write_all(reply.as_bytes()).ok()?;
    stream.shutdown(std::net::Shutdown::Write).ok()?;
    let mut seen = state.seen.lock().unwrap();
    // The test may have forgotten it.
    if let Some(asked) = seen.get_mut(asked.at) {
        asked.answered = true;
    }
    state.changed.notify_all();
    Some(())
}

fn read(stream: &mut TcpStream) -> Option<(String, String, Value)> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 16 * 1024];
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().ok())?
            });
            let body = &bytes[end + 4..];
            if body.len() >= length? {
                let path = head.split(' ').nth(1)?.to_owned();
                return Some((path, head, serde_json::from_slice(body).ok()?));
            }
        }
        let count = stream.read(&mut chunk).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&chunk[..count]);
    }
}

fn whole(status: u16, header: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} Status\r\n{header}\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    )
}

/// A stream of events that announces so many bytes more than it has.
fn events(events: &str, missing: usize) -> String {
    let length = events.len() + missing;
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{events}"
    )
}

fn as_openai(delta: &Value, finish: &str) -> String {
    let chunk = |delta: &Value, finish: Option<&str>| json!({ "model": "served", "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
    let usage = json!({ "model": "served", "choices": [], "usage": {
        "prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100 } });
    let chunks = [chunk(delta, None), chunk(&json!({}), Some(finish)), usage];
    let mut events: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    events += "data: [DONE]\n\n";
    events
}

fn as_anthropic(text: &str) -> String {
    let events = [
        json!({ "type": "message_start", "message": { "model": "served", "role": "assistant",
            "content": [], "usage": { "input_tokens": 1000, "output_tokens": 1 } } }),
        json!({ "type": "content_block_start", "index": 0,
            "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0,
            "delta": { "type": "text_delta", "text": text } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" },
            "usage": { "output_tokens": 100 } }),
        json!({ "type": "message_stop" }),
    ];
    let named = |event: &Value| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
    };
    events.iter().map(named).collect()
}
