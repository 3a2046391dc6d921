//! What holds of configurations and of what servers answer, whatever it is. Each function takes bytes and panics
//! when something does not hold; the targets of `fuzz/` and the tests of this crate call the same ones.

use bytes::BytesMut;
use eog_core::{EntityId, Timestamp, Window};
use eog_evidence::Periods;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio_util::codec::Decoder as _;

use super::config::McpConfig;
use super::connection::ToolAnswer;
use super::lines::{Line, Lines};
use super::mapping::{AlertMap, FindingMap, Origin, SeriesMap, TopologyMap, Unread, joined};
use super::rows::{MAX_ROWS, Read, Row, Rows, unmasked_json_of};

/// A configuration, as TOML and as JSON, is read, or refused by name.
///
/// # Panics
/// When an error does not name the file.
pub fn config(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for file in ["mcp.toml", "mcp.json"] {
        if let Err(error) = McpConfig::parse(&text, file.as_ref()) {
            assert!(error.to_string().contains(file), "{error}");
        }
    }
}

/// The text of an answer becomes so many rows at most, and those become findings, alerts, edges and series, or
/// reasons why not.
///
/// # Panics
/// When they do not.
pub fn answer(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let answer = ToolAnswer { structured: serde_json::from_slice(bytes).ok(), text };
    let _ = unmasked_json_of(&answer);
    for rows in [
        json!({"json": {}}),
        json!({"json": {"at": "/rows/*", "fields": {"at": "/0", "value": "/1", "who": "../name"}}}),
        json!({"regex": "(?<at>[^ ]+) (?<who>[^ ]+) (?<value>.*)"}),
        json!({"table": {}}),
        json!({"table": {"delimiter": "pipes"}}),
        json!({"table": {"delimiter": "spaces", "columns": ["at", "who", "value"], "skip": 1}}),
    ] {
        let rows: Rows = made(rows);
        let Ok(Read { rows, .. }) = rows.read(&answer) else { continue };
        assert!(rows.len() <= MAX_ROWS);
        for format in [None, Some("unix"), Some("unix_ms"), Some("%d/%b/%Y:%H:%M:%S %z")] {
            mapped(&rows, format);
        }
    }
}

fn mapped(rows: &[Row], format: Option<&str>) {
    let time = json!({"field": "at", "format": format});
    let entity = EntityId::new("db").expect("a name");
    let window = Window::new(Timestamp::UNIX_EPOCH, Timestamp::MAX).expect("the start is first");
    let origin = Origin { entity: Some(&entity), source: "s/t", query: "{}", window: Some(window) };
    let finding: FindingMap = made(json!({"kind": "metric", "signal": "errors", "time": time,
        "until": time, "entity": "{who}", "quantity": {"observed": "value", "unit": "1"},
        "change": {"path": "{what}", "new": "value"}, "excerpt": "{who} {value}"}));
    let alert: AlertMap = made(json!({"name": "{what}", "entity": "{who}", "signal": "errors",
        "onset": time, "last_seen": time, "description": "{value}"}));
    let series: SeriesMap = made(json!({"metric": "{what}", "signal": "errors", "unit": "1",
        "time": time, "value": "value", "steady": true}));
    let edge: TopologyMap = made(json!({"edge": {"source": "{who}", "target": "{what}",
        "relation": "{value}", "effects": "both"}}));
    let mut alerts = Vec::new();
    for row in rows {
        if let Ok(finding) = finding.finding(row, &origin) {
            assert!(finding.excerpt.chars().count() <= 500, "{}", finding.excerpt);
        }
        alerts.extend(alert.alert(row));
        if let TopologyMap::Edge(edge) = &edge {
            let _ = edge.edge(row);
        }
    }
    assert!(joined(alerts).len() <= rows.len());
    let mut unread = Unread::default();
    series.findings(rows, &origin, &Periods::new(window), &mut unread);
    assert!(unread.count() <= rows.len());
}

/// Lines of a server are read within their bound, whatever pieces they come in.
///
/// # Panics
/// When they are not.
pub fn lines(bytes: &[u8]) {
    let read = |size: usize| {
        let (mut codec, mut buffer, mut decoded) =
            (Lines::new(64, 1 << 20), BytesMut::new(), Vec::new());
        for piece in bytes.chunks(size) {
            buffer.extend_from_slice(piece);
            while let Ok(Some(line)) = codec.decode(&mut buffer) {
                decoded.push(match line {
                    Line::Whole(line) => {
                        assert!(line.len() <= 64);
                        (line.to_vec(), None)
                    }
                    Line::TooLong(long) => (long.bytes.to_string().into_bytes(), Some(long.id())),
                });
            }
        }
        decoded
    };
    assert_eq!(read(1), read(4096), "pieces matter");
}

fn made<T: DeserializeOwned>(value: serde_json::Value) -> T {
    serde_json::from_value(value).expect("what is written above fits")
}

#[cfg(test)]
#[path = "../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use super::replay::replay;

    #[test]
    fn corpora_of_the_targets_are_read() {
        replay("mcp_toml", super::config);
        replay("mcp_answer", super::answer);
        replay("mcp_lines", super::lines);
    }
}
