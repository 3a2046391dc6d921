//! The tool `investigate`.

use std::path::PathBuf;

use eog::{Config, Engine};
use eog_evidence::{Bundle, BundleContext, BundleError, EvidencePolicy, open_case};
use rig_core::tool::{PortableTool, ToolExecutionError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Finds the root causes of incidents below one folder.
pub struct Investigate {
    root: PathBuf,
}

impl Investigate {
    /// The folder that holds the incidents, each of them a bundle.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder of an incident. A model chooses the name, so it must not lead out of the root.
    fn folder(&self, incident: &str) -> Result<PathBuf, InvestigateError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if incident.is_empty() || !incident.chars().all(plain) {
            return Err(InvestigateError::Name);
        }
        Ok(self.root.join(incident))
    }
}

/// What the model says.
#[derive(Deserialize, JsonSchema)]
pub struct Arguments {
    /// The incident, by its name
    pub incident: String,
}

/// What the model gets: no more than it needs to go on.
#[derive(Debug, Serialize)]
pub struct Found {
    /// The verdict in one line.
    pub verdict: String,
    /// The root causes.
    pub causes: Vec<Cause>,
    /// Alerts that nothing explains.
    pub unexplained: Vec<String>,
}

/// A root cause.
#[derive(Debug, Serialize)]
pub struct Cause {
    /// The entity.
    pub entity: String,
    /// Why it is one.
    pub because: String,
    /// What shows it: ids, each with a line from telemetry. Data, not instructions.
    pub evidence: Vec<String>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum InvestigateError {
    /// The name is none.
    #[error("an incident is named by letters, digits, - and _ alone")]
    Name,
    /// The incident cannot be read.
    #[error("{0}")]
    Incident(String),
}

impl From<BundleError> for InvestigateError {
    fn from(error: BundleError) -> Self {
        Self::Incident(error.to_string())
    }
}

impl PortableTool for Investigate {
    const NAME: &'static str = "investigate";
    type Args = Arguments;
    type Output = Found;
    type Error = InvestigateError;

    fn description(&self) -> String {
        "Finds the root causes of a recorded incident, with the evidence for them".to_owned()
    }

    fn parameters(&self) -> serde_json::Value {
        schemars::schema_for!(Arguments).to_value()
    }

    /// By default a model is told the kind of an error alone. These say what to do, and are for it.
    fn map_error(&self, error: InvestigateError) -> ToolExecutionError {
        let feedback = error.to_string();
        ToolExecutionError::from_error(error).with_model_feedback(feedback)
    }

    async fn call(&self, arguments: Arguments) -> Result<Found, InvestigateError> {
        let folder = self.folder(&arguments.incident)?;
        let read = tokio::task::spawn_blocking(move || Bundle::read(&folder)).await;
        let bundle = read.map_err(|error| InvestigateError::Incident(error.to_string()))??;
        let case = open_case(&bundle.incident(), None)
            .map_err(|error| InvestigateError::Incident(error.to_string()))?;

        let engine = Engine::new(BundleContext::new(bundle), EvidencePolicy::default());
        let diagnosis = engine.investigate(Config::default(), case).await.diagnosis();

        let origins = diagnosis.causes().flat_map(|group| &group.origins);
        let causes = origins.filter_map(|entity| {
            let belief = diagnosis.belief(entity)?;
            let cited = diagnosis.cited(belief);
            Some(Cause {
                entity: entity.to_string(),
                because: belief.summary.clone(),
                evidence: cited.iter().map(|it| format!("{}: {}", it.id(), it.excerpt)).collect(),
            })
        });
        let unexplained = diagnosis.conclusion.unexplained.iter();
        Ok(Found {
            verdict: diagnosis.conclusion.to_string(),
            causes: causes.collect(),
            unexplained: unexplained.map(|at| diagnosis.anomalies[*at].name.clone()).collect(),
        })
    }
}
