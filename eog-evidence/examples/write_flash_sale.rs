//! Writes the shipped example bundle, `examples/flash-sale`: the flash sale of the paper's §4.4.
//!
//! `cargo run -p eog-evidence --example write_flash_sale -- DIRECTORY`
//!
//! A sale on `frontend` sends more load through `gateway` and `processor` until `database` runs
//! out of memory and its callers fail. That `gateway` calls `processor` is not in the topology.
//! The three other entities are healthy.

use std::error::Error;
use std::path::PathBuf;

use eog_core::evidence::{Peer, PeerRole, Signal};
use eog_core::incident::EffectDirection;
use eog_core::{Anomaly, EntityId, EvidenceKind, InvalidId, Timestamp, Window};
use eog_evidence::{
    BundleWriter, ChangeRecord, EventRecord, LogLine, Manifest, ManifestEdge, Series,
};

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args_os().nth(1).map(PathBuf::from);
    let dir = dir.ok_or("name the directory to write, such as examples/flash-sale")?;
    flash_sale()?.write(&dir)?;
    println!("wrote {}", dir.display());
    Ok(())
}

/// The whole incident. Times are minutes after 11:30; the sale begins at minute 30.
pub(crate) fn flash_sale() -> Result<BundleWriter, Box<dyn Error>> {
    let mut writer = BundleWriter::new(manifest()?);
    writer.alerts = vec![
        alert("HttpErrorRate", "gateway", 38, "more than 5 % of checkouts fail with HTTP 500")?,
        alert("Heartbeat", "mailer", 0, "always active, shows that alerting works")?,
    ];
    writer.changes = changes()?;
    writer.metrics = metrics()?;
    writer.events = vec![
        out_of_memory(36, "process 4021 killed: out of memory")?,
        out_of_memory(46, "process 4388 killed: out of memory")?,
    ];
    writer.logs = logs()?;
    Ok(writer)
}

const LAST_MINUTE: i64 = 60;

fn at(minute: i64) -> Result<Timestamp, jiff::Error> {
    const START: i64 = 1_774_006_200; // 2026-03-20T11:30:00Z
    Timestamp::from_second(START + minute * 60)
}

fn manifest() -> Result<Manifest, Box<dyn Error>> {
    let mut manifest = Manifest::new("flash sale");
    manifest.baseline = Window::new(at(0)?, at(30)?)?.into();
    manifest.changes_recorded = Some(Window::new(at(LAST_MINUTE - 180)?, at(LAST_MINUTE)?)?);
    manifest.ignore_alerts = vec!["Heartbeat".into()];
    for (source, target) in [
        ("frontend", "gateway"),
        ("gateway", "search"),
        ("gateway", "catalog"),
        ("processor", "database"),
        ("processor", "mailer"),
    ] {
        manifest.topology.edges.push(ManifestEdge {
            source: EntityId::new(source)?,
            target: EntityId::new(target)?,
            relation: "calls".into(),
            effects: EffectDirection::TargetToSource,
        });
    }
    let names = ["frontend", "gateway", "processor", "database", "search", "catalog", "mailer"];
    manifest.topology.entities =
        names.into_iter().map(EntityId::new).collect::<Result<_, InvalidId>>()?;
    Ok(manifest)
}

fn alert(name: &str, entity: &str, since: i64, text: &str) -> Result<Anomaly, Box<dyn Error>> {
    Ok(Anomaly {
        name: name.into(),
        entity: EntityId::new(entity)?,
        signal: Signal::Errors,
        onset: at(since)?,
        renewed: Vec::new(),
        last_seen: Some(at(LAST_MINUTE)?),
        severity: "critical".into(),
        description: text.into(),
    })
}

fn changes() -> Result<Vec<ChangeRecord>, Box<dyn Error>> {
    let change = |minute, entity: &str, signal, path: &str, old: &str, new: &str, text: &str| {
        Ok::<_, Box<dyn Error>>(ChangeRecord {
            time: at(minute)?,
            entity: EntityId::new(entity)?,
            signal,
            path: path.into(),
            old: Some(old.into()),
            new: Some(new.into()),
            description: text.into(),
        })
    };
    Ok(vec![
        change(12, "mailer", Signal::Restart, "started", "run 17", "run 18", "nightly restart")?,
        change(
            30,
            "frontend",
            Signal::Demand,
            "campaigns.spring-sale.active",
            "false",
            "true",
            "the spring flash sale went live",
        )?,
    ])
}

/// A series with a level before and after a minute, and a small, regular ripple.
struct Level {
    entity: &'static str,
    metric: &'static str,
    signal: Signal,
    unit: &'static str,
    caller: Option<&'static str>,
    before: f64,
    after: f64,
    from: i64,
}

impl Level {
    fn series(&self) -> Result<Series, Box<dyn Error>> {
        const RIPPLE: [f64; 5] = [0.0, 0.01, -0.01, 0.005, -0.005];
        let caller = self.caller.map(EntityId::new).transpose()?;
        let mut points = Vec::new();
        for (ripple, minute) in RIPPLE.iter().cycle().zip((0..=LAST_MINUTE).step_by(2)) {
            let level = if minute < self.from { self.before } else { self.after };
            points.push((at(minute)?, (level * (1.0 + ripple) * 10_000.0).round() / 10_000.0));
        }
        Ok(Series {
            entity: EntityId::new(self.entity)?,
            kind: EvidenceKind::Metric,
            metric: self.metric.into(),
            signal: self.signal,
            unit: self.unit.into(),
            peer: caller.map(|entity| Peer { entity, role: PeerRole::Caller }),
            points,
        })
    }
}

fn metrics() -> Result<Vec<Series>, Box<dyn Error>> {
    use Signal::{Errors, Latency, Saturation, Traffic};
    let level = |entity, metric, signal, unit, caller, before, after, from| {
        Level { entity, metric, signal, unit, caller, before, after, from }.series()
    };
    let steady = |entity, before| {
        level(entity, "latency_p95", Latency, "ms", None, before, before, LAST_MINUTE)
    };
    Ok(vec![
        level("frontend", "requests", Traffic, "1/s", None, 200.0, 236.0, 32)?,
        level("gateway", "error_ratio", Errors, "ratio", None, 0.002, 0.21, 38)?,
        level("gateway", "requests", Traffic, "1/s", Some("frontend"), 180.0, 216.0, 32)?,
        level("processor", "latency_p95", Latency, "ms", None, 120.0, 5_000.0, 38)?,
        level("processor", "requests", Traffic, "1/s", Some("gateway"), 80.0, 100.0, 32)?,
        level("database", "memory_used", Saturation, "ratio", None, 0.62, 0.97, 34)?,
        level("database", "requests", Traffic, "1/s", Some("processor"), 240.0, 312.0, 32)?,
        steady("search", 35.0)?,
        steady("catalog", 18.0)?,
        steady("mailer", 60.0)?,
    ])
}

fn out_of_memory(minute: i64, message: &str) -> Result<EventRecord, Box<dyn Error>> {
    Ok(EventRecord {
        time: at(minute)?,
        entity: EntityId::new("database")?,
        reason: "OutOfMemory".into(),
        signal: Signal::Exhaustion,
        message: message.into(),
        peer: None,
    })
}

fn logs() -> Result<Vec<(EntityId, LogLine)>, Box<dyn Error>> {
    let mut lines = Vec::new();
    for minute in (5..LAST_MINUTE).step_by(10) {
        let message = format!("greeting template 3 is slow: {} ms", 300 + minute);
        lines.push(line("mailer", minute, "warning", &message, None)?);
    }
    for minute in (37..LAST_MINUTE).step_by(4) {
        let query = format!("query {} on orders timed out after 5000 ms", 7_000 + minute);
        lines.push(line("processor", minute, "error", &query, Some("database"))?);
        let checkout = format!("POST /checkout {} failed: HTTP 500 from processor", 90 + minute);
        lines.push(line("gateway", minute, "error", &checkout, Some("processor"))?);
    }
    Ok(lines)
}

fn line(
    entity: &str,
    minute: i64,
    level: &str,
    message: &str,
    callee: Option<&str>,
) -> Result<(EntityId, LogLine), Box<dyn Error>> {
    let callee = callee.map(EntityId::new).transpose()?;
    let line = LogLine {
        time: at(minute)?,
        level: level.into(),
        message: message.into(),
        signal: callee.is_some().then_some(Signal::Errors),
        peer: callee.map(|entity| Peer { entity, role: PeerRole::Callee }),
        trace: None,
    };
    Ok((EntityId::new(entity)?, line))
}
