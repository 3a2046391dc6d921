//! The report as one HTML page: it opens by double-click, loads nothing, and can be attached to a
//! ticket.
//!
//! [`html`] puts three things into one file: sections that a template writes and that can be read
//! without a script; the data of the drawings and of the replay, as JSON that nothing executes; style
//! and scripts, which a Content-Security-Policy names by their hashes. Everything else is forbidden,
//! so that what telemetry says cannot run, and nothing leaves the page.
//!
//! ```
//! use eog_core::{Case, Config, Controller, Topology, Window};
//! use eog_page::{Charts, html};
//! use eog_report::Report;
//! let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
//! let case = Case::from_anomalies(Topology::default(), window, vec![]);
//! let controller = Controller::new(Config::default(), case);
//! let report = Report::new("checkout", controller.diagnosis());
//! let page = html(&report, &eog_report::steps(controller.ledger()), &Charts::NoSource);
//! assert!(page.starts_with("<!doctype html>") && page.contains("Content-Security-Policy"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod assets;
mod cases;
mod data;
mod incident;
mod inert;
mod sections;
mod served;
mod texts;

use eog_core::{Finding, Window};
use eog_evidence::Chart;
use eog_report::{Report, Step};

pub use cases::{Bin, CaseRow, Cases, WordRow, cases};
pub use incident::{Alerted, Incident, incident};
pub use served::{Live, Row, list, live, live_step, missing, sign_in, waiting};

/// Most charts of one page.
pub const MAX_CHARTS: usize = 24;

/// The measured series that findings cite.
#[derive(Clone, Debug)]
pub enum Charts {
    /// The bundle or snapshot is not in the folder of the ledger.
    NoSource,
    /// What it holds of them.
    Read {
        /// Each finding with its points.
        charts: Vec<(Finding, Chart)>,
        /// How many cited measurements have no series that could be drawn, or no room.
        without: usize,
    },
}

impl Charts {
    /// The charts of the measurements that a report cites: first of the entities involved, at most
    /// [`MAX_CHARTS`]. `chart` gives the points behind a finding.
    pub fn of(report: &Report, chart: impl Fn(&Finding, Window) -> Option<Chart>) -> Self {
        let (mut charts, mut without) = (Vec::new(), 0);
        for finding in data::measured(report) {
            let found =
                (charts.len() < MAX_CHARTS).then(|| chart(finding, report.diagnosis.window));
            match found.flatten().filter(|chart| !chart.points.is_empty()) {
                Some(chart) => charts.push((finding.clone(), chart)),
                None => without += 1,
            }
        }
        Self::Read { charts, without }
    }
}

/// The whole page.
pub fn html(report: &Report, steps: &[Step], charts: &Charts) -> String {
    let (data, findings) = data::data(report, steps, charts);
    let sections = sections::sections(report, steps, charts, &findings);
    assets::page(&sections, &inert::json(&data), None)
}
