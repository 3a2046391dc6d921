//! One closed incident.

use std::collections::{BTreeMap, BTreeSet};

use eog::{Confidence, Diagnosis, Digest, EntityId, EvidenceId, Timestamp, Window};
use eog_evidence::Observations;
use serde::{Deserialize, Serialize};

use crate::error::{CaseError, Contradiction, MAX_NAME};
use crate::grade::Grade;

/// The format of `case.json` that is written.
pub(crate) const FORMAT: u32 = 1;

/// Longest note, in characters.
pub(crate) const MAX_NOTE: usize = 2_000;

/// An incident after it was closed: `case.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ClosedCase {
    /// The version of the format.
    pub format: u32,
    /// Its name, which is also that of its folder.
    pub name: String,
    /// What the incident is called.
    pub incident: String,
    /// The window that was investigated.
    pub window: Window,
    /// The alerts, as `ALERT on ENTITY`.
    pub alerts: Vec<String>,
    /// The person who confirmed the truth, and when.
    pub closed: Closing,
    /// What was true.
    pub truth: Truth,
    /// What the investigation said.
    pub concluded: Concluded,
    /// What that was worth.
    pub grade: Grade,
    /// What it is compared with other incidents by.
    pub observations: Observations,
    /// Its files beside this one, with their checksums.
    pub kept: BTreeMap<String, Kept>,
    /// The name of the folder in `incident.tar.gz`.
    pub folder: Option<String>,
    /// Whether the kept incident gave the same ledger when the case was closed; nothing where it was not investigated again,
    /// since a model or a program judged, or no incident was kept.
    pub reproduced: Option<bool>,
}

/// The person who closed an incident.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closing {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: String,
    /// What they added.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl Closing {
    /// By the repair of the cause, which has verified the diagnosis.
    pub fn by_recovery(at: Timestamp, note: String) -> Self {
        Self { at, by: "recovery".to_owned(), note }
    }
}

/// What was true of an incident.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Truth {
    /// The causes in the topology; none where nothing was wrong, or the cause lies outside.
    pub causes: BTreeSet<EntityId>,
    /// The changes that caused it, by the ids of their findings, if they are known.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub changes: BTreeSet<EvidenceId>,
    /// Causes that the topology does not have.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub not_in_topology: BTreeSet<String>,
    /// Nothing was wrong.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nothing_wrong: bool,
    /// The causes were named, but how their effects spread was not as reported.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub path_wrong: bool,
}

impl Truth {
    /// Makes sure that it says one thing.
    ///
    /// # Errors
    /// [`Contradiction`] says what is missing, or too much.
    pub fn check(&self) -> Result<(), Contradiction> {
        let has_cause = !self.causes.is_empty() || !self.not_in_topology.is_empty();
        match (has_cause, self.nothing_wrong) {
            (false, false) => Err(Contradiction::Nothing),
            (true, true) => Err(Contradiction::Both),
            _ if self.causes.is_empty() && (!self.changes.is_empty() || self.path_wrong) => {
                Err(Contradiction::NoCause)
            }
            _ => Ok(()),
        }
    }

    /// In a few words: `database`, `nothing wrong`, `outside: provider`.
    pub fn in_words(&self) -> String {
        if self.nothing_wrong {
            return "nothing wrong".to_owned();
        }
        let causes = self.causes.iter().map(ToString::to_string);
        let outside = self.not_in_topology.iter().map(|name| format!("outside: {name}"));
        causes.chain(outside).collect::<Vec<_>>().join(", ")
    }
}

/// What an investigation said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Concluded {
    /// How sure it was.
    pub said: Confidence,
    /// The groups of origins that it named as causes, in the order of the report.
    pub named: Vec<Named>,
    /// The best guess, where nothing is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_guess: Option<EntityId>,
    /// Which controller investigated.
    pub controller: String,
    /// The policy.
    pub judge: String,
}

/// One group of origins that is named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// The origins.
    pub origins: Vec<EntityId>,
    /// How sure.
    pub said: Confidence,
    /// The change that is named with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<EvidenceId>,
    /// The probability in thousandths, where the policy weighs evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<u16>,
}

impl Concluded {
    /// What a diagnosis says.
    pub fn of(diagnosis: &Diagnosis, controller: &str) -> Self {
        let named: Vec<Named> = diagnosis
            .causes()
            .map(|group| Named {
                origins: group.origins.clone(),
                said: group.confidence,
                change: group.change.as_ref().map(|change| change.id.clone()),
                probability: group.probability,
            })
            .collect();
        let guess = || diagnosis.candidates().next().map(|ranked| ranked.entity.clone());
        Self {
            said: diagnosis.conclusion.confidence,
            best_guess: if named.is_empty() { guess() } else { None },
            named,
            controller: controller.to_owned(),
            judge: diagnosis.policy.clone().unwrap_or_default(),
        }
    }

    /// All entities that are named.
    pub fn entities(&self) -> impl Iterator<Item = &EntityId> {
        self.named.iter().flat_map(|named| &named.origins)
    }

    /// Whether every group that is named holds a cause, which is what its words and probabilities speak of; nothing where
    /// nothing is named.
    pub fn is_right(&self, truth: &Truth) -> Option<bool> {
        let holds = |named: &Named| named.origins.iter().any(|one| truth.causes.contains(one));
        (!self.named.is_empty()).then(|| self.named.iter().all(holds))
    }

    /// The probability of the least probable group, in thousandths.
    pub fn probability(&self) -> Option<u16> {
        self.named.iter().map(|named| named.probability).min().flatten()
    }

    /// In a few words: `likely: database`, `inconclusive (database?)`.
    pub fn in_words(&self) -> String {
        let names: Vec<&str> = self.entities().map(EntityId::as_str).collect();
        match &self.best_guess {
            _ if !names.is_empty() => format!("{}: {}", self.said, names.join(", ")),
            Some(guess) => format!("{} ({guess}?)", self.said),
            None => self.said.to_string(),
        }
    }
}

/// A file of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// Its length in bytes.
    pub bytes: u64,
    /// The digest of its content.
    pub digest: Digest,
}

impl Kept {
    /// That of these bytes.
    pub fn of(content: &[u8]) -> Self {
        Self { bytes: content.len() as u64, digest: Digest::of_bytes(content) }
    }
}

/// Makes sure that a name can be that of a folder, wherever it is carried.
pub(crate) fn check_name(name: &str) -> Result<(), CaseError> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_name = !name.is_empty()
        && name.len() <= MAX_NAME
        && !name.starts_with('.')
        && name.chars().all(is_fine);
    if is_name { Ok(()) } else { Err(CaseError::Name(name.to_owned())) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Entities with the digit of their change: `db:1 web`.
    fn split(text: &str) -> Vec<(EntityId, Option<EvidenceId>)> {
        let one = |word: &str| {
            let (entity, change) = word.split_once(':').map_or((word, None), |(a, b)| (a, Some(b)));
            let id = |digit: &str| format!("chg-{digit:0>20}").parse().unwrap();
            (EntityId::new(entity).unwrap(), change.map(id))
        };
        text.split_whitespace().map(one).collect()
    }

    pub(crate) fn truth(text: &str) -> Truth {
        let all = split(text);
        Truth {
            nothing_wrong: all.is_empty(),
            changes: all.iter().filter_map(|(_, change)| change.clone()).collect(),
            causes: all.into_iter().map(|(entity, _)| entity).collect(),
            ..Truth::default()
        }
    }

    pub(crate) fn concluded(text: &str) -> Concluded {
        let said = Confidence::Likely;
        let named =
            |(entity, change)| Named { origins: vec![entity], said, change, probability: None };
        let named: Vec<Named> = split(text).into_iter().map(named).collect();
        Concluded {
            said: if named.is_empty() { Confidence::Inconclusive } else { said },
            named,
            best_guess: None,
            controller: "eog".to_owned(),
            judge: "evidence".to_owned(),
        }
    }

    #[test]
    fn a_truth_says_one_thing() {
        let nothing = Truth { nothing_wrong: false, ..truth("") };
        let both = Truth { nothing_wrong: true, ..truth("db") };
        let change = Truth { changes: truth("db:1").changes, ..truth("") };
        for contradiction in [nothing, both, change] {
            assert!(contradiction.check().is_err(), "{contradiction:?}");
        }
        let outside = BTreeSet::from(["provider".to_owned()]);
        let outside = Truth { not_in_topology: outside, nothing_wrong: false, ..truth("") };
        for fine in [truth("db"), truth(""), outside] {
            fine.check().unwrap();
        }
    }

    #[test]
    fn names_are_safe_as_folders() {
        for name in ["a", "flash-sale-1f0c9a2e", "A.b_c"] {
            check_name(name).unwrap();
        }
        for name in ["", ".", "..", ".hidden", "a/b", "a b", "ä", &"x".repeat(MAX_NAME + 1)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
