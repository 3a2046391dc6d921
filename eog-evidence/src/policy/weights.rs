//! Weights of evidence: the shipped table, and others in its form.

use std::sync::{Arc, LazyLock};

use eog_core::Digest;
use serde::Deserialize;

use super::closed_cases::ClosedCases;
use super::terms::TERMS;

/// The table as it is shipped.
const SHIPPED: &str = include_str!("weights.toml");

/// The form of the table that this version reads.
const VERSION: u32 = 1;

/// The greatest weight and threshold, either way: far beyond what any table needs, and no sum of terms overflows.
const MAX_WEIGHT: i32 = 1_000_000;

/// Parsed once. Read as any other table would be; a test makes sure that it can be.
static WEIGHTS: LazyLock<Arc<Weights>> = LazyLock::new(|| {
    Arc::new(Weights::read(SHIPPED).unwrap_or_else(|error| unreachable!("weights.toml: {error}")))
});

/// Weights and thresholds of the [`EvidencePolicy`](super::EvidencePolicy), in thousandths of natural log-odds.
///
/// ```
/// use eog_evidence::{EvidencePolicy, Weights};
/// let text = Weights::shipped_toml().replace("origin = 2000", "origin = 2500");
/// let careful = EvidencePolicy::new(Weights::read(&text)?);
/// assert_ne!(careful.weights().digest(), EvidencePolicy::default().weights().digest());
/// # Ok::<(), eog_evidence::WeightsError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    pub(super) decision: Thresholds,
    /// In the order of `TERMS`.
    pub(super) terms: Vec<Weight>,
    /// A prior by closed cases, if the table has one.
    pub(super) closed_cases: Option<ClosedCases>,
    digest: Digest,
}

/// The form of `weights.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    version: u32,
    decision: Thresholds,
    #[serde(rename = "term")]
    terms: Vec<Weight>,
    closed_cases: Option<ClosedCases>,
}

/// From what on something is decided.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Thresholds {
    /// Log-odds from which on an entity is an origin.
    pub(super) origin: i32,
    /// The same where what explains an alert ends.
    pub(super) dead_end: i32,
    /// What an origin further upstream loses for each hop, when it is compared with an entity as its own origin.
    pub(super) hop: i32,
    /// Harm from which on an entity does worse, in thousandths of a logarithm.
    pub(super) harm: i32,
}

/// The weight of one term.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Weight {
    pub(super) name: String,
    pub(super) weight: i32,
    pub(super) meaning: String,
}

/// Why a text is no table of weights.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WeightsError {
    /// It is no TOML of this form.
    #[error("{0}")]
    Form(String),
    /// It was made for another version of the table.
    #[error("version {0} of the table; this program reads version {VERSION}")]
    Version(u32),
    /// A term of the policy has no weight, or two.
    #[error("the term {0:?} needs one weight; give 0 for a term that is to have no effect")]
    Term(&'static str),
    /// A weight for a term that the policy does not have.
    #[error("there is no term {0:?}; docs/evidence-policy.md lists the terms")]
    Unknown(String),
    /// A weight of closed cases that would decide, or speak against what is alike.
    #[error("closed_cases: a weight of {value}; expected 0 to {most} thousandths of log-odds")]
    Prior {
        /// What was given.
        value: i32,
        /// The greatest.
        most: i32,
    },
    /// A weight or threshold that no table needs.
    #[error("{name}: {value} is beyond {MAX_WEIGHT} thousandths of log-odds")]
    TooLarge {
        /// The weight or threshold.
        name: String,
        /// What was given.
        value: i32,
    },
}

impl Weights {
    /// The weights as they are shipped.
    pub fn shipped() -> Arc<Self> {
        Arc::clone(&WEIGHTS)
    }

    /// The table as it is shipped, in TOML.
    pub fn shipped_toml() -> &'static str {
        SHIPPED
    }

    /// Reads a table in the form of the shipped one; the order of its terms does not matter.
    ///
    /// # Errors
    /// [`WeightsError`] names the term, or the place in the text.
    pub fn read(text: &str) -> Result<Self, WeightsError> {
        let table: Table = toml::from_str(text)
            .map_err(|error| WeightsError::Form(error.to_string().trim_end().to_owned()))?;
        if table.version != VERSION {
            return Err(WeightsError::Version(table.version));
        }
        let Thresholds { origin, dead_end, hop, harm } = table.decision;
        let thresholds = [("origin", origin), ("dead_end", dead_end), ("hop", hop), ("harm", harm)];
        let weights = table.terms.iter().map(|term| (&*term.name, term.weight));
        let mut all = thresholds.into_iter().chain(weights);
        if let Some((name, value)) = all.find(|(_, it)| it.unsigned_abs() > MAX_WEIGHT as u32) {
            return Err(WeightsError::TooLarge { name: name.to_owned(), value });
        }
        let is_unknown = |weight: &&Weight| TERMS.iter().all(|term| term.name != weight.name);
        if let Some(unknown) = table.terms.iter().find(is_unknown) {
            return Err(WeightsError::Unknown(unknown.name.clone()));
        }
        let weight_of = |name: &'static str| {
            let mut all = table.terms.iter().filter(|weight| weight.name == name);
            match (all.next(), all.next()) {
                (Some(weight), None) => Ok(weight.clone()),
                _ => Err(WeightsError::Term(name)),
            }
        };
        let terms = TERMS.iter().map(|term| weight_of(term.name)).collect::<Result<_, _>>()?;
        let closed_cases = table.closed_cases.map(ClosedCases::checked).transpose()?;
        Ok(Self { decision: table.decision, terms, closed_cases, digest: Digest::of(&text) })
    }

    /// The same table with other weights for its terms, in the order of [`terms`](Self::terms), in thousandths.
    ///
    /// # Errors
    /// [`WeightsError::TooLarge`].
    pub fn reweighed(&self, weights: &[i32]) -> Result<Self, WeightsError> {
        let mut table = self.clone();
        for (term, weight) in table.terms.iter_mut().zip(weights) {
            term.weight = *weight;
        }
        Self::read(&table.to_toml())
    }

    /// The same table with closed cases as a prior, in place of those that it has.
    ///
    /// # Errors
    /// [`WeightsError::Prior`] when their weight does not fit.
    pub fn with_closed_cases(&self, cases: ClosedCases) -> Result<Self, WeightsError> {
        Self::read(&Self { closed_cases: Some(cases), ..self.clone() }.to_toml())
    }

    /// The table in TOML, as [`read`](Self::read) takes it.
    ///
    /// ```
    /// use eog_evidence::Weights;
    /// let again = Weights::read(&Weights::shipped().to_toml())?;
    /// assert!(again.terms().eq(Weights::shipped().terms()));
    /// # Ok::<(), eog_evidence::WeightsError>(())
    /// ```
    pub fn to_toml(&self) -> String {
        let Thresholds { origin, dead_end, hop, harm } = self.decision;
        let mut text = format!(
            "version = {VERSION}\n\n[decision]\norigin = {origin}\ndead_end = {dead_end}\nhop = {hop}\n\
             harm = {harm}\n"
        );
        for Weight { name, weight, meaning } in &self.terms {
            let (name, meaning) = (quoted(name), quoted(meaning));
            text += &format!("\n[[term]]\nname = {name}\nweight = {weight}\nmeaning = {meaning}\n");
        }
        let Some(ClosedCases { weight, cases, .. }) = &self.closed_cases else { return text };
        text += &format!("\n[closed_cases]\nweight = {weight}\n");
        for case in cases {
            let (name, truth) = (quoted(&case.name), quoted(&case.truth));
            let (start, end) = (case.window.start(), case.window.end());
            let observed = case.observed.iter();
            let observed: Vec<String> =
                observed.map(|(name, weight)| format!("{} = {weight}", quoted(name))).collect();
            text += &format!(
                "\n[[closed_cases.case]]\nname = {name}\ntruth = {truth}\n\
                 window = {{ start = \"{start}\", end = \"{end}\" }}\nobserved = {{ {} }}\n",
                observed.join(", ")
            );
        }
        text
    }

    /// How many closed cases the table has as a prior.
    pub fn closed_cases(&self) -> usize {
        self.closed_cases.as_ref().map_or(0, |closed| closed.cases.len())
    }

    /// The digest of the table.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The terms with their weights, in the order of [`EvidencePolicy::values`](super::EvidencePolicy::values).
    pub fn terms(&self) -> impl Iterator<Item = (&'static str, i32)> {
        TERMS.iter().zip(&self.terms).map(|(term, weight)| (term.name, weight.weight))
    }

    /// The terms as a table in Markdown: name, weight, meaning.
    ///
    /// ```
    /// assert!(eog_evidence::Weights::shipped().markdown().contains("| excess |"));
    /// ```
    pub fn markdown(&self) -> String {
        let head = ["| term | weight | value |", "|---|---|---|"].map(str::to_owned);
        let rows = self.terms.iter();
        let rows =
            rows.map(|term| format!("| {} | {} | {} |", term.name, term.weight, term.meaning));
        head.into_iter().chain(rows).map(|row| row + "\n").collect()
    }
}

/// A string of TOML: as in JSON, which lets one control character stand.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}
