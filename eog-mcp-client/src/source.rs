//! An incident and its context, opened from a configuration.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use eog_core::evidence::Signal;
use eog_core::{Anomaly, ContextContract, EvidenceKind, Finding, Topology};
use eog_evidence::{Bundle, Incident, shorten};
use eog_sre::{ReadOptions, Snapshot};

use super::config::{Call, McpConfig};
use super::connection::Used;
use super::context::{McpContext, Remotes, ask, of_window};
use super::error::SourceError;
use super::mapping::{Origin, TopologyMap, Unread, joined};
use super::remote::Remote;
use super::rows::{Read, Rows};

/// Most findings that are kept from the initial calls.
const MAX_INITIAL: usize = 100_000;

/// Opens sources of context that are made of MCP servers.
pub struct McpSource;

impl McpSource {
    /// Starts the servers, asks for topology, alerts and changes, and returns the incident with
    /// the contract that reports on its entities. Variables are those of this process.
    ///
    /// What is returned works on the tokio runtime that this is called on.
    ///
    /// # Errors
    /// [`SourceError`] when a server cannot be started, when it has no tool that the configuration
    /// calls, or when what it returned cannot be used.
    pub async fn open(
        config: McpConfig,
    ) -> Result<(Incident, Box<dyn ContextContract>), SourceError> {
        let remotes = connected(&config).await?;
        let (incident, findings) = Start { config: &config, remotes: &remotes }.incident().await?;
        let context = McpContext::new(remotes, config, &incident, findings);
        Ok((incident, Box::new(context)))
    }

    /// The contract alone, for an incident that is known already: nothing but entities is asked
    /// about. The incident's changes and failures are reported of its entities, as in
    /// [`McpSource::open`].
    ///
    /// # Errors
    /// As for [`McpSource::open`].
    pub async fn context(
        config: McpConfig,
        incident: &Incident,
    ) -> Result<McpContext, SourceError> {
        let remotes = connected(&config).await?;
        let findings = incident.changes.iter().chain(&incident.failures).cloned().collect();
        Ok(McpContext::new(remotes, config, incident, findings))
    }
}

async fn connected(config: &McpConfig) -> Result<Remotes, SourceError> {
    let remotes = remotes(config)?;
    let mut offered = BTreeMap::new();
    for (name, remote) in remotes.iter() {
        let connection = remote.connect().await.map_err(|error| {
            SourceError::Server(format!("server {}: {}", remote.name, error.message))
        })?;
        offered.insert(name.clone(), connection.tools().map(str::to_owned).collect());
    }
    config.check_tools(&offered)?;
    Ok(remotes)
}

fn remotes(config: &McpConfig) -> Result<Remotes, SourceError> {
    let environment = |name: &str| std::env::var(name).ok();
    let servers = config.checked_servers(&environment)?.into_iter().filter_map(|(name, server)| {
        let used = config.used(&name);
        // One that is never asked is not started: people paste all that they have.
        (!used.is_empty()).then(|| (name.clone(), Remote::new(name, server, Used::These(used))))
    });
    Ok(Arc::new(servers.collect()))
}

/// What is asked once, before any evaluation.
struct Start<'a> {
    config: &'a McpConfig,
    remotes: &'a Remotes,
}

impl Start<'_> {
    async fn incident(&self) -> Result<(Incident, Vec<Finding>), SourceError> {
        let config = self.config;
        let mut warnings = config.warnings.clone();
        if let Some(mut incident) = self.recorded()? {
            incident.window = config.window.or(incident.window);
            incident.warnings.append(&mut warnings);
            let findings = incident.changes.iter().chain(&incident.failures).cloned().collect();
            return Ok((incident, findings));
        }
        let topology = self.topology(&mut warnings).await?;
        let anomalies = self.alerts(&mut warnings).await?;
        let findings = self.findings(&mut warnings).await?;
        let of_kind = |wanted: &dyn Fn(&Finding) -> bool| {
            findings.iter().filter(|finding| wanted(finding)).cloned().collect::<Vec<_>>()
        };
        let incident = Incident {
            name: config.name.clone(),
            topology,
            anomalies,
            changes: of_kind(&|finding| finding.kind == EvidenceKind::Change),
            failures: of_kind(&|finding| {
                finding.kind == EvidenceKind::Event
                    && matches!(finding.signal, Signal::Availability | Signal::Exhaustion)
            }),
            window: config.window,
            warnings,
            ..Incident::default()
        };
        Ok((incident, findings))
    }

    /// The incident of a folder, if the configuration names one.
    fn recorded(&self) -> Result<Option<Incident>, SourceError> {
        let config = self.config;
        let unusable = |folder: &Path, reason: String| SourceError::Incident {
            place: folder.display().to_string(),
            reason,
        };
        if let Some(bundle) = &config.bundle {
            let folder = config.folder.join(bundle);
            let bundle =
                Bundle::read(&folder).map_err(|error| unusable(&folder, error.to_string()))?;
            return Ok(Some(bundle.incident()));
        }
        let Some(snapshot) = &config.snapshot else { return Ok(None) };
        let folder = config.folder.join(snapshot);
        let options = ReadOptions {
            architecture: config.architecture.as_ref().map(|file| config.folder.join(file)),
            ..config.reading.clone()
        };
        let snapshot = Snapshot::open(&folder, &options)
            .map_err(|error| unusable(&folder, error.to_string()))?;
        let graph = snapshot.graph();
        Ok(Some(snapshot.incident(&graph)))
    }

    async fn topology(&self, warnings: &mut Vec<String>) -> Result<Topology, SourceError> {
        let mut topology = Topology::default();
        for (at, query) in self.config.topology.iter().enumerate() {
            let place = format!("topology[{at}]");
            let (read, _) = self.read(&place, &query.call, &query.rows).await?;
            let mut unread = Unread::default();
            for row in &read.rows {
                let added = match &query.map {
                    TopologyMap::Entity(template) => {
                        TopologyMap::entity(row, template).map(|entity| topology.add_entity(entity))
                    }
                    TopologyMap::Edge(map) => map.edge(row).map(|edge| {
                        topology.add_edge(edge);
                    }),
                };
                if let Err(reason) = added {
                    unread.add(reason);
                }
            }
            judge(&place, &read, unread, warnings)?;
        }
        Ok(topology)
    }

    async fn alerts(&self, warnings: &mut Vec<String>) -> Result<Vec<Anomaly>, SourceError> {
        let mut alerts = Vec::new();
        for (at, query) in self.config.alerts.iter().enumerate() {
            let place = format!("alerts[{at}]");
            let (read, _) = self.read(&place, &query.call, &query.rows).await?;
            let mut unread = Unread::default();
            for row in &read.rows {
                match query.alert.alert(row) {
                    Ok(alert) => alerts.push(alert),
                    Err(reason) => unread.add(reason),
                }
            }
            judge(&place, &read, unread, warnings)?;
        }
        Ok(joined(alerts))
    }

    async fn findings(&self, warnings: &mut Vec<String>) -> Result<Vec<Finding>, SourceError> {
        let mut findings = Vec::new();
        for (at, query) in self.config.findings.iter().enumerate() {
            let place = format!("findings[{at}]");
            let (read, asked) = self.read(&place, &query.call, &query.rows).await?;
            let source = format!("{}/{}", query.call.server, query.call.tool);
            let origin = Origin {
                entity: None,
                source: &source,
                query: &shorten(&asked, 400),
                window: self.config.window,
            };
            let mut unread = Unread::default();
            for row in &read.rows {
                match query.finding.finding(row, &origin) {
                    Ok(finding) => findings.push(finding),
                    Err(reason) => unread.add(reason),
                }
            }
            judge(&place, &read, unread, warnings)?;
        }
        if findings.len() > MAX_INITIAL {
            let reason = format!("more than {MAX_INITIAL} findings; narrow the queries");
            return Err(SourceError::Incident { place: "findings".to_owned(), reason });
        }
        Ok(findings)
    }

    async fn read(
        &self,
        place: &str,
        call: &Call,
        rows: &Rows,
    ) -> Result<(Read, String), SourceError> {
        let window = self.config.window;
        let arguments = call.arguments.fill(|hole| match window {
            Some(window) => of_window(hole, window, 0),
            None => Err("the configuration has no `window`".to_owned()),
        });
        let arguments = arguments.map_err(|reason| SourceError::config(place, reason))?;
        let (answer, asked) = ask(self.remotes, call, arguments)
            .await
            .map_err(|error| SourceError::Server(format!("{place}: {}", error.message)))?;
        let incident = |reason| SourceError::Incident { place: place.to_owned(), reason };
        Ok((rows.read(&answer).map_err(incident)?, asked))
    }
}

/// Reports rows that were left out, or fails when all were.
fn judge(
    place: &str,
    read: &Read,
    unread: Unread,
    warnings: &mut Vec<String>,
) -> Result<(), SourceError> {
    let understood = read.rows.len() - unread.count();
    let unread = unread
        .judge(understood)
        .map_err(|reason| SourceError::Incident { place: place.to_owned(), reason })?;
    warnings.extend(unread.map(|unread| format!("{place}: {unread}")));
    if read.left_out > 0 {
        warnings.push(format!("{place}: {} rows beyond the limit of one answer", read.left_out));
    }
    Ok(())
}
