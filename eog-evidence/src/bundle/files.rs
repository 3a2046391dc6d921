//! The CSV files of a bundle: their names, columns, and the meaning of a row, both ways.

use eog_core::EvidenceKind;
use eog_core::evidence::{Peer, Signal};

use super::intake::Intake;
use super::table::{Columns, Fault, Row};
use crate::events::EventRecord;
use crate::logs::LogLine;
use crate::series::Series;
use crate::spans::{SpanIds, SpanRecord};
use crate::states::{ObjectState, StateRecord};

/// A CSV file of a bundle.
pub(super) struct DataFile {
    pub(super) name: &'static str,
    pub(super) columns: Columns,
    /// Puts one row into the intake, or says why it is of no use.
    pub(super) take: fn(&Row<'_>, &mut Intake) -> Result<(), Fault>,
}

pub(super) const METRICS: DataFile = DataFile {
    name: "metrics.csv",
    columns: Columns {
        required: &["time", "entity", "metric", "value"],
        optional: &["unit", "signal", "peer", "peer_role"],
        rare: &[],
    },
    take: metric,
};

pub(super) const EVENTS: DataFile = DataFile {
    name: "events.csv",
    columns: Columns {
        required: &["time", "entity", "reason"],
        optional: &["signal", "message", "peer", "peer_role"],
        rare: &[],
    },
    take: event,
};

pub(super) const LOGS: DataFile = DataFile {
    name: "logs.csv",
    columns: Columns {
        required: &["time", "entity", "level", "message"],
        optional: &["signal", "peer", "peer_role"],
        rare: &["trace"],
    },
    take: log,
};

pub(super) const SPANS: DataFile = DataFile {
    name: "spans.csv",
    columns: Columns {
        required: &["time", "entity", "duration_ms", "status"],
        optional: &["peer", "peer_role"],
        rare: &["operation", "trace", "span", "parent"],
    },
    take: span,
};

pub(super) const STATES: DataFile = DataFile {
    name: "states.csv",
    columns: Columns { required: &["time", "entity", "state"], optional: &["reason"], rare: &[] },
    take: state,
};

pub(super) const DATA_FILES: [DataFile; 5] = [METRICS, EVENTS, LOGS, SPANS, STATES];

fn metric(row: &Row<'_>, intake: &mut Intake) -> Result<(), Fault> {
    let name = row.text("metric")?;
    let name = name.trim();
    if name.is_empty() {
        return Err(Fault::of_column("metric", "it is empty"));
    }
    intake.points(&Series {
        entity: row.entity("entity")?,
        kind: EvidenceKind::Metric,
        metric: name.to_owned(),
        signal: row.signal()?.unwrap_or(Signal::Other),
        unit: row.text("unit")?.into_owned(),
        peer: row.peer()?,
        points: vec![(row.time()?, row.number("value")?)],
    });
    Ok(())
}

fn event(row: &Row<'_>, intake: &mut Intake) -> Result<(), Fault> {
    intake.event(EventRecord {
        time: row.time()?,
        entity: row.entity("entity")?,
        reason: row.text("reason")?.into_owned(),
        signal: row.signal()?.unwrap_or(Signal::Other),
        message: row.text("message")?.into_owned(),
        peer: row.peer()?,
    });
    Ok(())
}

fn state(row: &Row<'_>, intake: &mut Intake) -> Result<(), Fault> {
    let state = row.word::<ObjectState>("state")?;
    let state = state.ok_or_else(|| Fault::of_column("state", "it is empty"))?;
    intake.state(StateRecord {
        time: row.time()?,
        entity: row.entity("entity")?,
        state,
        reason: row.text("reason")?.into_owned(),
    });
    Ok(())
}

fn log(row: &Row<'_>, intake: &mut Intake) -> Result<(), Fault> {
    let line = LogLine {
        time: row.time()?,
        level: row.text("level")?.into_owned(),
        message: row.text("message")?.into_owned(),
        signal: row.signal()?,
        peer: row.peer()?,
        trace: filled(&row.text("trace")?),
    };
    intake.log(&row.entity("entity")?, &line);
    Ok(())
}

fn span(row: &Row<'_>, intake: &mut Intake) -> Result<(), Fault> {
    let failed = match row.text("status")?.trim() {
        "ok" => Some(false),
        "error" => Some(true),
        "" | "unknown" => None,
        other => {
            let other = crate::text::shorten(other, 60);
            return Err(Fault::of_column(
                "status",
                format!("{other:?} is neither ok, error nor unknown"),
            ));
        }
    };
    intake.span(SpanRecord {
        time: row.time()?,
        entity: row.entity("entity")?,
        duration_ms: row.number("duration_ms")?,
        failed,
        peer: row.peer()?,
        operation: filled(&row.text("operation")?),
        ids: span_ids(row)?,
    });
    Ok(())
}

/// The place of a span in its trace: all or nothing, but for the parent.
fn span_ids(row: &Row<'_>) -> Result<Option<SpanIds>, Fault> {
    let [trace, span, parent] = ["trace", "span", "parent"].map(|column| row.text(column));
    match (filled(&trace?), filled(&span?), filled(&parent?)) {
        (None, None, None) => Ok(None),
        (Some(trace), Some(span), parent) => Ok(Some(SpanIds { trace, span, parent })),
        (None, ..) => Err(Fault::of_column("trace", "it is empty, but span or parent is not")),
        (_, None, _) => Err(Fault::of_column("span", "it is empty, but trace is not")),
    }
}

fn filled(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Name and role of a peer as two fields.
pub(super) fn peer_fields(peer: Option<&Peer>) -> [String; 2] {
    peer.map_or_else(Default::default, |peer| [peer.entity.to_string(), word(&peer.role)])
}

/// An enum of the vocabulary as the word that stands for it.
pub(super) fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
