//! Writes the shipped example bundle `examples/bottling-line`: an incident without any computer.
//!
//! `cargo run -p eog-prompts --example write_bottling_line -- DIRECTORY`
//!
//! After maintenance, a compressor is left at a lower setpoint. Pressure at the air header falls,
//! the cappers of two lines close bottles too loosely and reject them, and line 3 packs too few
//! cases. A new roll of labels on the labeller looks guilty and is not.

use std::error::Error;
use std::path::PathBuf;

use eog_core::evidence::{Peer, PeerRole, Signal};
use eog_core::incident::EffectDirection;
use eog_core::{Anomaly, EntityId, EvidenceKind, Timestamp, Window};
use eog_evidence::{BundleWriter, ChangeRecord, EventRecord, Manifest, ManifestEdge, Series};

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args_os().nth(1).map(PathBuf::from);
    let dir = dir.ok_or("name the directory to write, such as examples/bottling-line")?;
    bottling_line()?.write(&dir)?;
    println!("wrote {}", dir.display());
    Ok(())
}

/// The whole incident. Times are minutes after 06:00; the setpoint is changed at minute 62.
pub(crate) fn bottling_line() -> Result<BundleWriter, Box<dyn Error>> {
    let mut writer = BundleWriter::new(manifest()?);
    writer.alerts = vec![
        alert("PackedCasesLow", "line-3/packer", 78, "fewer than 20 cases a minute leave line 3")?,
        alert("ShiftReminder", "line-4/filler", 0, "hourly reminder to fill in the shift log")?,
    ];
    writer.changes = changes()?;
    writer.metrics = metrics()?;
    writer.events = vec![
        event(71, "line-3/capper", "TorqueLow", Signal::Errors, "head 5 closed at 1.1 Nm")?,
        event(79, "line-3/capper", "TorqueLow", Signal::Errors, "head 2 closed at 1.0 Nm")?,
        event(75, "line-4/capper", "Tripped", Signal::Availability, "20 rejects in a row")?,
        event(77, "line-3/packer", "Starved", Signal::Other, "waiting for bottles")?,
    ];
    Ok(writer)
}

const LAST_MINUTE: i64 = 110;

fn at(minute: i64) -> Result<Timestamp, jiff::Error> {
    const START: i64 = 1_776_146_400; // 2026-04-14T06:00:00Z
    Timestamp::from_second(START + minute * 60)
}

fn manifest() -> Result<Manifest, Box<dyn Error>> {
    let mut manifest = Manifest::new("bottling line");
    manifest.baseline = Window::new(at(0)?, at(60)?)?.into();
    manifest.ignore_alerts = vec!["ShiftReminder".into()];
    for (source, relation, target) in [
        ("line-3/filler", "feeds", "line-3/capper"),
        ("line-3/capper", "feeds", "line-3/labeller"),
        ("line-3/labeller", "feeds", "line-3/packer"),
        ("line-4/filler", "feeds", "line-4/capper"),
        ("utilities/compressor-2", "supplies", "utilities/air-header"),
        ("utilities/air-header", "supplies", "line-3/capper"),
        ("utilities/air-header", "supplies", "line-4/capper"),
        ("utilities/chiller", "cools", "line-3/filler"),
    ] {
        manifest.topology.edges.push(ManifestEdge {
            source: EntityId::new(source)?,
            target: EntityId::new(target)?,
            relation: relation.into(),
            effects: EffectDirection::SourceToTarget,
        });
    }
    Ok(manifest)
}

fn alert(name: &str, entity: &str, since: i64, text: &str) -> Result<Anomaly, Box<dyn Error>> {
    Ok(Anomaly {
        name: name.into(),
        entity: EntityId::new(entity)?,
        signal: Signal::Output,
        onset: at(since)?,
        renewed: Vec::new(),
        last_seen: Some(at(LAST_MINUTE)?),
        severity: "high".into(),
        description: text.into(),
    })
}

fn changes() -> Result<Vec<ChangeRecord>, Box<dyn Error>> {
    use Signal::{Configuration, Restart};
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
        change(
            40,
            "utilities/chiller",
            Restart,
            "started",
            "run 8",
            "run 9",
            "start after the defrost cycle",
        )?,
        change(
            50,
            "line-3/labeller",
            Configuration,
            "labels.supplier",
            "north",
            "south",
            "new roll of labels",
        )?,
        change(
            62,
            "utilities/compressor-2",
            Configuration,
            "pressure.setpoint",
            "6.5 bar",
            "5.2 bar",
            "work order 4417 closed, left at the test setpoint",
        )?,
    ])
}

/// A series with a level before and after a minute, and a small, regular ripple.
struct Level {
    entity: &'static str,
    metric: &'static str,
    signal: Signal,
    unit: &'static str,
    sender: Option<&'static str>,
    before: f64,
    after: f64,
    from: i64,
}

impl Level {
    fn series(&self) -> Result<Series, Box<dyn Error>> {
        const RIPPLE: [f64; 5] = [0.0, 0.01, -0.01, 0.005, -0.005];
        let sender = self.sender.map(EntityId::new).transpose()?;
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
            peer: sender.map(|entity| Peer { entity, role: PeerRole::Caller }),
            points,
        })
    }
}

fn metrics() -> Result<Vec<Series>, Box<dyn Error>> {
    use Signal::{Errors, Latency, Output, Saturation, Traffic};
    let level = |entity, metric, signal, unit, sender, before, after, from| {
        Level { entity, metric, signal, unit, sender, before, after, from }.series()
    };
    Ok(vec![
        level("utilities/compressor-2", "outlet", Output, "bar", None, 6.5, 5.2, 64)?,
        level("utilities/air-header", "pressure", Output, "bar", None, 6.3, 5.0, 66)?,
        level("line-3/capper", "torque_rejects", Errors, "ratio", None, 0.004, 0.31, 70)?,
        level("line-4/capper", "torque_rejects", Errors, "ratio", None, 0.005, 0.28, 72)?,
        level(
            "line-3/labeller",
            "bottles",
            Traffic,
            "1/min",
            Some("line-3/capper"),
            300.0,
            206.0,
            72,
        )?,
        level("line-3/labeller", "misreads", Errors, "ratio", None, 0.002, 0.002, LAST_MINUTE)?,
        level("line-3/labeller", "cases_worth", Output, "1/min", None, 25.0, 17.2, 74)?,
        level("line-3/packer", "cases", Output, "1/min", None, 25.0, 17.1, 76)?,
        level("line-3/filler", "cycle_time", Latency, "ms", None, 200.0, 200.0, LAST_MINUTE)?,
        level("utilities/chiller", "load", Saturation, "ratio", None, 0.6, 0.6, LAST_MINUTE)?,
    ])
}

fn event(
    minute: i64,
    entity: &str,
    reason: &str,
    signal: Signal,
    message: &str,
) -> Result<EventRecord, Box<dyn Error>> {
    Ok(EventRecord {
        time: at(minute)?,
        entity: EntityId::new(entity)?,
        reason: reason.into(),
        signal,
        message: message.into(),
        peer: None,
    })
}
