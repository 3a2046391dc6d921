//! Packs: the templates of all phases, and the wording for one domain.
//!
//! Each phase has two templates, `PHASE.system.hbs` and `PHASE.user.hbs`, which are independent of
//! the domain; one that is a conversation has a third, `PHASE.came.hbs`. The wording for a domain is in small partials that the templates include.

mod builtin;
mod check;
mod faults;
mod helpers;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use eog_core::Digest;
use eog_search::tools::Skill;
use handlebars::Handlebars;
use serde_json::{Value, json};

use crate::data::template_data;
use crate::phase::Since;
use crate::schema::{notation, whole_schema};
use crate::skills::of_pack;
use crate::{ChatMessage, Phase, Role};
use builtin::{DOMAINS, TEMPLATES};
use faults::Fault;

/// Maximum size of a template file, in bytes.
pub const MAX_TEMPLATE_BYTES: u64 = 256 * 1024;

/// The templates of all phases with the wording for one domain.
///
/// ```
/// use eog_prompts::Pack;
/// assert_eq!(Pack::sre().name(), "sre");
/// assert_eq!(Pack::named("plant")?.name(), "plant");
/// let error = Pack::named("cooking").unwrap_err().to_string();
/// assert!(error.contains("sre"), "{error}");
/// # Ok::<(), eog_prompts::PackError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pack {
    name: String,
    /// The shipped pack that it is, or is made from.
    domain: &'static str,
    templates: Handlebars<'static>,
    /// The same as text.
    texts: BTreeMap<String, String>,
}

/// Why a pack cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// There is no shipped pack of this name.
    #[error("there is no pack {name:?}; the packs are {known}")]
    UnknownPack {
        /// The name.
        name: String,
        /// The shipped packs.
        known: String,
    },
    /// A file in the folder does not have the name of a template.
    #[error("{}: not the name of a template; rename or move the file. The templates are {known}", path.display())]
    UnknownTemplate {
        /// The file.
        path: PathBuf,
        /// The names of all templates.
        known: String,
    },
    /// A folder or file cannot be read.
    #[error("{}: {reason}", path.display())]
    Unreadable {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A template cannot be parsed, or uses a field that it does not have.
    #[error("template {name}{}: {reason}", at_line(*line))]
    BadTemplate {
        /// The template.
        name: String,
        /// The line, from 1, where it is known.
        line: Option<usize>,
        /// Why.
        reason: String,
    },
    /// Likewise, in a file.
    #[error("{}{}: {reason}", path.display(), at_line(*line))]
    BadFile {
        /// The file.
        path: PathBuf,
        /// The line, from 1, where it is known.
        line: Option<usize>,
        /// Why.
        reason: String,
    },
}

fn at_line(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!(", line {line}"))
}

/// Why there is no prompt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PromptError {
    /// The pack has no such template, or the template uses a field that the phase does not have.
    #[error("pack {pack}, template {template}: {reason}")]
    Template {
        /// The pack.
        pack: String,
        /// The template, with its line if known.
        template: String,
        /// Why.
        reason: String,
    },
    /// The input of a phase is not an object with named fields.
    #[error("phase {phase}: its input cannot be used in a template: {reason}")]
    Input {
        /// The phase.
        phase: String,
        /// Why.
        reason: String,
    },
    /// The prompt leaves no room in the model's window.
    #[error(
        "phase {phase}: the prompt has {tokens} tokens, but {model} accepts only {limit}: provide \
         less evidence, or use a model with a larger context window"
    )]
    TooLong {
        /// The phase.
        phase: String,
        /// The model.
        model: String,
        /// The tokens of the prompt.
        tokens: u64,
        /// The most that the model accepts, less the answer.
        limit: u64,
    },
}

impl Pack {
    /// The default pack: distributed software systems.
    pub fn sre() -> Self {
        Self::shipped(0)
    }

    /// A shipped pack by name.
    ///
    /// # Errors
    /// [`PackError::UnknownPack`], which lists the shipped packs.
    pub fn named(name: &str) -> Result<Self, PackError> {
        match DOMAINS.iter().position(|(domain, _)| *domain == name) {
            Some(index) => Ok(Self::shipped(index)),
            None => Err(PackError::UnknownPack { name: name.to_owned(), known: Self::names() }),
        }
    }

    /// The names of the shipped packs.
    pub fn names() -> String {
        DOMAINS.map(|(name, _)| name).join(", ")
    }

    /// The default pack with templates replaced by those in a folder.
    ///
    /// # Errors
    /// As [`with_folder`](Self::with_folder).
    pub fn load(folder: &Path) -> Result<Self, PackError> {
        Self::sre().with_folder(folder)
    }

    /// This pack with templates replaced by those in a folder, and with the folder's name. A folder
    /// with all partials of a domain is a pack of its own.
    ///
    /// All templates are rendered with samples, so that a template which uses a field that its phase
    /// does not have is an error here and not in the middle of an investigation.
    ///
    /// # Errors
    /// [`PackError`] if the folder or a file cannot be read, if a `.hbs` file does not have the name
    /// of a template, or if a template has an error. Files with other extensions are not read.
    pub fn with_folder(mut self, folder: &Path) -> Result<Self, PackError> {
        let unreadable = |reason: std::io::Error| PackError::Unreadable {
            path: folder.to_owned(),
            reason: reason.to_string(),
        };
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.extension().is_some_and(|ending| ending == "hbs") {
                paths.push(path);
            }
        }
        paths.sort();
        let mut files = BTreeMap::new();
        for path in paths {
            let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            if !self.templates.has_template(name) {
                return Err(PackError::UnknownTemplate { known: self.template_names(), path });
            }
            let text = read_template(&path)?;
            let name = name.to_owned();
            let added = self.add(&name, &text);
            files.insert(name, path);
            added.map_err(|fault| bad(&files, fault))?;
        }
        let checked = check::includes(&self.templates);
        checked.and_then(|()| check::fills(&self.templates)).map_err(|fault| bad(&files, fault))?;
        if let Some(name) = folder.file_name().and_then(|name| name.to_str()) {
            self.name = name.to_owned();
        }
        Ok(self)
    }

    /// This pack with a template added or replaced, for phases of your own.
    ///
    /// # Errors
    /// [`PackError::BadTemplate`].
    pub fn with_template(mut self, name: &str, text: &str) -> Result<Self, PackError> {
        let added = self.add(name, text).and_then(|()| check::includes(&self.templates));
        added.map_err(|fault| bad(&BTreeMap::new(), fault))?;
        Ok(self)
    }

    /// Its name, for cassettes and reports.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The skills that specialists may load with this pack.
    pub fn skills(&self) -> Vec<Skill> {
        of_pack(self.domain)
    }

    /// The names of all templates and partials that a folder can replace.
    pub fn template_names(&self) -> String {
        let mut names: Vec<&String> = self.templates.get_templates().keys().collect();
        names.sort();
        names.iter().map(|name| format!("{name}.hbs")).collect::<Vec<_>>().join(", ")
    }

    /// The templates and partials as text, by name.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// The digest of all templates: packs that say the same have the same.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.texts)
    }

    /// The conversation that asks a phase's question: what is the same for every question of the
    /// phase first, then the question, then what came [since](Phase::since).
    ///
    /// # Errors
    /// [`PromptError`] when a template is missing or does not fit the input.
    pub fn messages<P: Phase>(&self, input: &P::Input) -> Result<Vec<ChatMessage>, PromptError> {
        let form = json!({ "answer_form": notation(&whole_schema::<P::Answer>()) });
        let bad_input = |reason: String| PromptError::Input { phase: P::NAME.to_owned(), reason };
        let data = template_data(input).map_err(|error| bad_input(error.to_string()))?;
        if !data.is_object() {
            return Err(bad_input("it is not an object".to_owned()));
        }
        let mut messages = vec![
            ChatMessage::system(self.render(&format!("{}.system", P::NAME), &form)?),
            ChatMessage::user(self.render(&format!("{}.user", P::NAME), &data)?),
        ];
        for since in P::since(input) {
            match since {
                Since::Said(text) => messages.push(ChatMessage::assistant(text)),
                Since::Came(came) => {
                    let data =
                        template_data(&came).map_err(|error| bad_input(error.to_string()))?;
                    let text = self.render(&format!("{}.came", P::NAME), &data)?;
                    match messages.last_mut() {
                        // Some models accept nothing but questions and answers in turn.
                        Some(last) if last.role == Role::User => {
                            last.text += "\n\n";
                            last.text += &text;
                        }
                        _ => messages.push(ChatMessage::user(text)),
                    }
                }
            }
        }
        Ok(messages)
    }

    /// The message that shows a model what is wrong with its answer.
    pub(crate) fn correction(&self, problems: &[String]) -> Result<ChatMessage, PromptError> {
        let problems: Vec<Value> = problems
            .iter()
            .enumerate()
            .map(|(index, problem)| json!({ "number": index + 1, "text": problem }))
            .collect();
        let bad_input = |error: serde_json::Error| PromptError::Input {
            phase: "correction".to_owned(),
            reason: error.to_string(),
        };
        let data = template_data(&json!({ "problems": problems })).map_err(bad_input)?;
        self.render("correction", &data).map(ChatMessage::user)
    }

    /// Renders a template over data that is already clean.
    fn render(&self, template: &str, data: &Value) -> Result<String, PromptError> {
        let text = self.templates.render(template, data);
        text.map(|text| text.trim().to_owned()).map_err(|error| {
            let Fault { template, line, reason } = Fault::unfilled(template, &error, &[]);
            PromptError::Template {
                pack: self.name.clone(),
                template: format!("{template}{}", at_line(line)),
                reason,
            }
        })
    }

    fn shipped(index: usize) -> Self {
        let (name, partials) = DOMAINS[index];
        let mut templates = Handlebars::new();
        templates.set_strict_mode(true);
        templates.register_escape_fn(handlebars::no_escape);
        helpers::register(&mut templates);
        let (domain, texts) = (name, BTreeMap::new());
        let mut pack = Self { name: name.to_owned(), domain, templates, texts };
        for (name, text) in TEMPLATES.iter().chain(partials) {
            pack.add(name, text).expect("the shipped templates are tested");
        }
        pack
    }

    fn add(&mut self, name: &str, text: &str) -> Result<(), Fault> {
        let added = self.templates.register_template_string(name, text);
        added.map_err(|error| Fault::unreadable(name, &error))?;
        self.texts.insert(name.to_owned(), text.to_owned());
        Ok(())
    }
}

/// A fault where it was written: in a file, or in a template of the pack.
fn bad(files: &BTreeMap<String, PathBuf>, fault: Fault) -> PackError {
    let Fault { template: name, line, reason } = fault;
    match files.get(&name) {
        Some(path) => PackError::BadFile { path: path.clone(), line, reason },
        None => PackError::BadTemplate { name, line, reason },
    }
}

fn read_template(path: &Path) -> Result<String, PackError> {
    use std::io::Read;
    let unreadable = |reason: String| PackError::Unreadable { path: path.to_owned(), reason };
    let file = std::fs::File::open(path).map_err(|error| unreadable(error.to_string()))?;
    let mut text = String::new();
    file.take(MAX_TEMPLATE_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|error| unreadable(error.to_string()))?;
    if text.len() as u64 > MAX_TEMPLATE_BYTES {
        return Err(unreadable(format!("larger than {MAX_TEMPLATE_BYTES} bytes; shorten it")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
