//! What the operator knows about entities.

use clap::Args;
use eog::{EntityId, Topology};
use eog_evidence::{mask_text, near_entities, shorten};
use eog_session::source::{Verdict, Word, Words};

use crate::error::CliError;

/// Most characters of a text that are used.
const MAX_TEXT: usize = 4000;

// What the operator knows about entities. (No documentation comment: clap would make it the description of the
// command.)
#[derive(Debug, Args)]
pub(crate) struct Said {
    /// State that ENTITY is the cause.
    ///
    /// Can be repeated, for one entity each. It is stored beside --journal, so that you need not repeat it for
    /// `eog resume`.
    #[arg(long, value_name = "ENTITY[=WHY]")]
    cause: Vec<String>,

    /// State that ENTITY is not the cause: healthy, or affected from elsewhere.
    #[arg(long, value_name = "ENTITY[=WHY]")]
    not_cause: Vec<String>,

    /// Add a remark on ENTITY for language models and readers of the report. The built-in evidence policy does
    /// not read it; to affect its decisions, use --cause or --not-cause.
    #[arg(long, value_name = "ENTITY=TEXT")]
    note: Vec<String>,
}

impl Said {
    /// The words by entity.
    ///
    /// # Errors
    /// [`CliError::Usage`] for an entity that the topology does not have or that is named twice, and
    /// for a remark without a text.
    pub(crate) fn words(&self, topology: &Topology) -> Result<Words, CliError> {
        let of =
            |texts: &[String], option, verdict| -> Vec<(&'static str, Option<Verdict>, String)> {
                texts.iter().map(|text| (option, verdict, text.clone())).collect()
            };
        let all = [
            of(&self.cause, "--cause", Some(Verdict::Cause)),
            of(&self.not_cause, "--not-cause", Some(Verdict::NotCause)),
            of(&self.note, "--note", None),
        ];
        let mut words = Words::new();
        for (option, verdict, given) in all.into_iter().flatten() {
            let (name, text) = given.split_once('=').unwrap_or((&given, ""));
            let text = mask_text(&shorten(text.trim(), MAX_TEXT));
            if verdict.is_none() && text.is_empty() {
                return Err(CliError::Usage(format!(
                    "--note {name} has no text; give ENTITY=TEXT, such as --note '{name}=it was \
                     restarted by hand'"
                )));
            }
            let entity = known(option, topology, name.trim())?;
            if words.insert(entity, Word { verdict, text }).is_some() {
                return Err(CliError::Usage(format!(
                    "{option} {name}: this entity is named twice; give everything in one option, such as \
                     --not-cause '{name}=WHY'"
                )));
            }
        }
        Ok(words)
    }
}

/// The entity of a topology that the operator names.
fn known(option: &str, topology: &Topology, name: &str) -> Result<EntityId, CliError> {
    let entity = EntityId::new(name).ok().filter(|entity| topology.contains(entity));
    entity.ok_or_else(|| {
        let meant = match near_entities(topology, name).as_slice() {
            [] => "name it as the report does".to_owned(),
            near => format!("did you mean {}?", near.join(" or ")),
        };
        CliError::Usage(format!("{option}: the incident has no entity {name:?}; {meant}"))
    })
}
