//! A server of MCP that misbehaves on request. Not for use: the tests of the client start it.
//!
//! ```text
//! scripted-server LOG [BEHAVIOUR]
//! ```
//!
//! Writes its process id and each method that it gets into the file LOG. BEHAVIOUR is `mute` (it
//! never answers), `quits` (it ends at once) or `modern` (it refuses the handshake).

use std::error::Error;
use std::fs::OpenOptions;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

/// What every good answer says.
const FINE: &str = "2026-01-01T10:05:00Z it failed";

struct Server {
    log: PathBuf,
    behaviour: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let log = PathBuf::from(arguments.next().ok_or("give a file for the log")?);
    let server = Server { log, behaviour: arguments.next().unwrap_or_default() };
    server.note(&format!("pid {}", std::process::id()))?;
    if server.behaviour == "quits" {
        eprintln!("no licence found");
        std::process::exit(7);
    }
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        server.take(&message)?;
    }
    server.note("input ended")
}

impl Server {
    fn note(&self, what: &str) -> Result<(), Box<dyn Error>> {
        let mut log = OpenOptions::new().create(true).append(true).open(&self.log)?;
        Ok(writeln!(log, "{what}")?)
    }

    fn seen(&self, what: &str) -> bool {
        std::fs::read_to_string(&self.log).is_ok_and(|log| log.lines().any(|line| line == what))
    }

    fn take(&self, message: &Value) -> Result<(), Box<dyn Error>> {
        let method = message["method"].as_str().unwrap_or_default();
        let tool = message["params"]["name"].as_str().unwrap_or_default();
        let named = format!("{method} {tool}");
        let again = self.seen(named.trim());
        self.note(named.trim())?;
        if self.behaviour == "mute" {
            return Ok(());
        }
        let id = &message["id"];
        let modern = self.behaviour == "modern";
        match method {
            "initialize" if !modern => answer(
                id,
                &json!({"protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}),
            ),
            "server/discover" if modern => answer(
                id,
                &json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"},
                    "ttlMs": 0, "cacheScope": "private"}),
            ),
            "tools/list" => answer(id, &tools()),
            "tools/call" => self.call(message, tool, again),
            _ if id.is_null() => Ok(()),
            _ => say(&json!({"jsonrpc": "2.0", "id": id,
                "error": {"code": -32601, "message": "no such method"}})),
        }
    }

    fn call(&self, message: &Value, tool: &str, again: bool) -> Result<(), Box<dyn Error>> {
        let id = &message["id"];
        match tool {
            "dies" => die(),
            "dies_once" | "writes_and_dies_once" if !again => die(),
            "junk" => {
                let mut out = std::io::stdout().lock();
                writeln!(out, "Welcome to the server!\n\u{1b}[32mok\u{1b}[0m\n{{not json")?;
                out.write_all(&[0xff, 0xfe, b'\n'])?;
                fine(id)
            }
            "junk_only" => Ok(writeln!(std::io::stdout().lock(), "Segmentation fault")?),
            "hangs" => Ok(()),
            "huge" => {
                let text = "x".repeat(2_000_000);
                answer(id, &json!({"content": [{"type": "text", "text": text}]}))
            }
            // A line that never ends.
            "endless_line" => loop {
                std::io::stdout().lock().write_all(&[b'x'; 65_536])?;
            },
            "wrong" => answer(id, &json!({"content": [], "structuredContent": {"count": "many"}})),
            "unstructured" => fine(id),
            "malformed" => say(&json!({"jsonrpc": "2.0", "id": id, "error": "oh"})),
            "odd" => answer(id, &json!({"tools": []})),
            "refuses" => say(&json!({"jsonrpc": "2.0", "id": id,
                "error": {"code": -32602, "message": "bad arguments"}})),
            "says_no" => answer(
                id,
                &json!({"isError": true, "content": [{"type": "text", "text": "no such table"}]}),
            ),
            "slow" => {
                self.progress(message, 8)?;
                fine(id)
            }
            "never_done" => self.progress(message, 100),
            _ => fine(id),
        }
    }

    /// Reports progress, each time after 400 ms.
    fn progress(&self, message: &Value, steps: u32) -> Result<(), Box<dyn Error>> {
        let token = &message["params"]["_meta"]["progressToken"];
        for step in 0..steps {
            std::thread::sleep(Duration::from_millis(400));
            say(&json!({"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": token, "progress": step}}))?;
        }
        Ok(())
    }
}

fn die() -> ! {
    eprintln!("panic: password=hunter2 refused by the database");
    std::process::exit(3)
}

fn fine(id: &Value) -> Result<(), Box<dyn Error>> {
    answer(id, &json!({"content": [{"type": "text", "text": FINE}]}))
}

fn answer(id: &Value, result: &Value) -> Result<(), Box<dyn Error>> {
    let mut result = result.clone();
    if result.get("resultType").is_none() {
        result["resultType"] = "complete".into();
    }
    say(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

fn say(message: &Value) -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{message}")?;
    Ok(out.flush()?)
}

fn tools() -> Value {
    let names = [
        "fine",
        "dies",
        "dies_once",
        "writes_and_dies_once",
        "junk",
        "junk_only",
        "hangs",
        "huge",
        "endless_line",
        "wrong",
        "unstructured",
        "malformed",
        "odd",
        "refuses",
        "says_no",
        "slow",
        "never_done",
        "hidden",
    ];
    let tools = names.map(|name| {
        let mut tool = json!({"name": name, "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": name != "writes_and_dies_once"}});
        if ["wrong", "unstructured"].contains(&name) {
            tool["outputSchema"] = json!({"type": "object", "required": ["count"],
                "properties": {"count": {"type": "integer"}}});
        }
        tool
    });
    json!({"tools": tools, "ttlMs": 0, "cacheScope": "private"})
}
