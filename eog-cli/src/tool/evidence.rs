//! `eog tool evidence`: what a report cites, made again from its source.

use eog::{EntityId, EvidenceId, Finding, Timestamp};
use eog_evidence::{Chart, near_entities};
use eog_report::words;
use eog_session::source::find_again;
use serde::Serialize;

use crate::args::{Evidence, ToolFormat};
use crate::error::CliError;
use crate::progress::Progress;
use crate::runtime::runtime;
use crate::source;

/// The answer: the finding, and what was measured where it is about a series.
#[derive(Serialize)]
struct Answer {
    finding: Finding,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Measured>,
}

/// The points behind a finding.
#[derive(Serialize)]
struct Measured {
    entity: EntityId,
    metric: String,
    unit: String,
    /// A point further from `centre` than `limit` deviates.
    #[serde(skip_serializing_if = "Option::is_none")]
    usual: Option<Usual>,
    points: Vec<(Timestamp, f64)>,
}

#[derive(Serialize)]
struct Usual {
    centre: f64,
    limit: f64,
}

impl From<Chart> for Measured {
    fn from(chart: Chart) -> Self {
        let usual = chart.usual.map(|band| Usual { centre: band.centre, limit: band.limit });
        let Chart { entity, metric, unit, points, .. } = chart;
        Self { entity, metric, unit, usual, points }
    }
}

/// The finding that is asked for, as text in the format.
pub(super) fn show(asked: &Evidence) -> Result<String, CliError> {
    let unusable = |reason: String| CliError::Usage(format!("evidence: {reason}"));
    let wanted: EvidenceId = asked.finding.parse().map_err(|error| unusable(format!("{error}")))?;
    let progress = Progress::start(asked.quiet);
    let at = source::At { window: asked.window, ..source::At::default() };
    let architecture = asked.architecture.as_deref();
    let opened = source::open(&progress, &asked.path, architecture, &asked.reading, at)?;
    let case = opened.case(asked.window).map_err(|error| CliError::start(&opened, error))?;
    let entity = asked.entity.clone().map(EntityId::new).transpose();
    let entity = entity.map_err(|error| unusable(error.to_string()))?;
    if let Some(named) = entity.as_ref().filter(|entity| !case.topology.contains(entity)) {
        let near = near_entities(&case.topology, named.as_str());
        let meant = match near.is_empty() {
            true => String::new(),
            false => format!("; did you mean {}?", near.join(" or ")),
        };
        return Err(unusable(format!("there is no entity {named}{meant}")));
    }
    let found = runtime()?.block_on(find_again(&opened, &case, &wanted, entity.as_ref()));
    let found = found.map_err(|failure| unusable(failure.to_string()))?.ok_or_else(|| {
        unusable(format!(
            "no finding {wanted} in {} from {} to {}; the files may have changed, or the report had \
             another --window or --architecture",
            asked.path.display(),
            case.window.start(),
            case.window.end()
        ))
    })?;
    if let Some(named) = entity.filter(|named| *named != found.entity) {
        return Err(unusable(format!(
            "{wanted} is about {}, not about {named}; give that entity, or omit --entity",
            found.entity
        )));
    }
    drop(progress);
    let chart = opened.chart(&found, case.window);
    Ok(match asked.format {
        ToolFormat::Json => {
            eog_report::pretty(&Answer { finding: found, measured: chart.map(Measured::from) })
        }
        ToolFormat::Table => table(&found, chart.as_ref()),
    })
}

/// For people: what was found, where, and the points one a line.
fn table(finding: &Finding, chart: Option<&Chart>) -> String {
    let clean = |text: &str| crate::shown::clean_line(text).to_string();
    let mut lines = vec![
        format!("{}  {}", finding.id(), clean(finding.entity.as_str())),
        format!("{}  {}", words::time(&finding.time), clean(&words::finding(finding))),
        clean(&words::query(&finding.source, &finding.query)),
    ];
    if let Some(chart) = chart {
        let usual = chart.usual.map(|band| {
            let (low, high) = (band.centre - band.limit, band.centre + band.limit);
            format!(", normally {} to {}", short(low), short(high))
        });
        let unit = if chart.unit.is_empty() { String::new() } else { format!(" ({})", chart.unit) };
        lines.push(String::new());
        lines.push(clean(&format!("{}{unit}{}", chart.metric, usual.unwrap_or_default())));
        let deviates =
            |value: f64| chart.usual.is_some_and(|band| (value - band.centre).abs() > band.limit);
        lines.extend(chart.points.iter().map(|(at, value)| {
            let mark = if deviates(*value) { "  *" } else { "" };
            format!("{at}  {}{mark}", short(*value))
        }));
    }
    lines.join("\n") + "\n"
}

/// Four significant figures are enough.
fn short(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
