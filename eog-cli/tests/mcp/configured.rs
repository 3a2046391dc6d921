//! The configurations of `docs/mcp.md`, as users paste them: every server in them is started and called by
//! third-party clients.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::interop::{inspector, installed, script};
use super::support::{Place, TOKEN};
use crate::common::{Run, read};

/// The names of clients that stand before a block, and its servers, by name.
struct Block {
    clients: String,
    /// The block, with the folders, command and address of a test.
    text: String,
    servers: Vec<(String, Value)>,
}

/// The blocks of JSON in the guide that list servers, with what stands for something put in its place.
fn blocks(place: &Place, url: &str) -> Vec<Block> {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/mcp.md");
    let guide = read(guide);
    let (roots, state) = (place.roots(), place.state());
    let replaced = [
        ("/usr/local/bin/eog", env!("CARGO_BIN_EXE_eog")),
        ("/data/incidents", roots.to_str().unwrap()),
        ("${workspaceFolder}", roots.to_str().unwrap()),
        ("/data/eog", state.to_str().unwrap()),
        ("https://eog.example.org/mcp", url),
        ("${EOG_MCP_TOKEN}", TOKEN),
        ("${input:eog-token}", TOKEN),
    ];
    let mut blocks = Vec::new();
    for (at, _) in guide.match_indices("```json\n") {
        let (before, block) = (&guide[..at], &guide[at + "```json\n".len()..]);
        let block = &block[..block.find("```").unwrap()];
        let text =
            replaced.iter().fold(block.to_owned(), |text, (from, to)| text.replace(from, to));
        let list: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let keys = ["mcpServers", "servers", "context_servers"];
        let Some(servers) = keys.iter().find_map(|key| list[*key].as_object()) else { continue };
        let clients = &before[before.rfind("\n**").unwrap()..];
        blocks.push(Block {
            clients: clients.to_owned(),
            servers: servers.iter().map(|(name, server)| (name.clone(), server.clone())).collect(),
            text,
        });
    }
    blocks
}

#[test]
fn servers_start_as_the_configuration_of_each_client_says() {
    let python = installed().join("venv/bin/python");
    if !python.is_file() {
        eprintln!("skipped: no Python SDK at {}; run .ci/interop", python.display());
        return;
    }
    let place = Place::new();
    let http = place.http(&[], Some(TOKEN));
    let blocks = blocks(&place, &http.url);
    for client in ["Claude Code", "Claude Desktop", "Cursor", "VS Code", "Zed"] {
        let named = blocks.iter().filter(|block| block.clients.contains(client)).count();
        assert_eq!(named, 1, "docs/mcp.md has one block for {client}");
    }
    let configured: Vec<Value> = blocks
        .iter()
        .flat_map(|block| {
            let clients = block.clients.split("**").nth(1).unwrap();
            block
                .servers
                .iter()
                .map(move |(name, server)| json!([format!("{clients}, {name}"), server]))
        })
        .collect();
    let mut clients = Command::new(python);
    clients.arg(script("configured.py")).env("NO_PROXY", "127.0.0.1,localhost");
    clients.env("EOG_CONFIGURED", Value::from(configured.clone()).to_string());
    let said = Run::of(&mut clients).exits(0).out;
    eprintln!("{said}");
    // What agents see: the short list from the servers that are started, the long one of the server over HTTP.
    assert_eq!(said.lines().count(), configured.len(), "{said}");
    assert!(said.contains("Claude Desktop, eog: 10 tools"), "{said}");
    assert!(said.contains("VS Code, eog-remote: 21 tools"), "{said}");
}

/// The inspector reads the form of Claude Desktop and Cursor as a file.
#[test]
fn the_inspector_reads_the_configuration_of_claude_desktop() {
    let Some(inspector) = inspector() else { return };
    let place = Place::new();
    let blocks = blocks(&place, "http://127.0.0.1:1/mcp");
    let block = blocks.iter().find(|block| block.clients.contains("Claude Desktop")).unwrap();
    let file = place.roots().join("../claude_desktop_config.json");
    std::fs::write(&file, &block.text).unwrap();
    let mut node = Command::new("node");
    node.arg(inspector).args(["--cli", "--config"]).arg(file);
    node.args(["--server", "eog", "--method", "tools/list"]);
    let listed = Run::of(&mut node).exits(0).json();
    assert_eq!(listed["tools"].as_array().unwrap().len(), 10, "{listed}");
}
