//! Skills: advice on method, which a specialist loads when it needs it.

use eog_core::BoxFuture;
use serde_json::{Value, json};

use super::{ToolFailure, ToolSpec, Toolset, checked};
use crate::ask::CallAsk;
use crate::lane::{Specialist, ToolAnswer};

/// The tool by which a specialist loads a skill.
pub const LOAD_SKILL: &str = "load_skill";

/// How to find something out with the tools, for one specialist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// The specialist that may load it.
    pub agent: Specialist,
    /// Its name.
    pub name: String,
    /// Its purpose, in one line: all that is shown before it is loaded.
    pub about: String,
    /// The advice.
    pub body: String,
    /// Whether it is given with the index instead of being loaded.
    pub at_once: bool,
}

/// Skills as a tool, `load_skill`. Its description is an index of the skills of the specialist that is offered it, and a
/// skill is given to its own specialist alone.
///
/// ```
/// use eog_search::{Specialist, Toolset};
/// use eog_search::tools::{Skill, Skills};
/// let red = Skill {
///     agent: Specialist::Metrics,
///     name: "red".to_owned(),
///     about: "rate, errors and duration of a service".to_owned(),
///     body: "Begin with errors.".to_owned(),
///     at_once: false,
/// };
/// let skills = Skills::new(vec![red]);
/// let [tool] = &skills.tools(Specialist::Metrics)[..] else { panic!() };
/// assert!(tool.description.contains("red: rate, errors and duration of a service"));
/// assert!(skills.tools(Specialist::Logs).is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skills(Vec<Skill>);

impl Skills {
    /// These skills, by specialist and name. Of two with the same name the later one counts.
    pub fn new(skills: Vec<Skill>) -> Self {
        let mut kept: Vec<Skill> = Vec::new();
        for skill in skills {
            kept.retain(|other| (other.agent, &other.name) != (skill.agent, &skill.name));
            kept.push(skill);
        }
        kept.sort_by(|a, b| (a.agent, &a.name).cmp(&(b.agent, &b.name)));
        Self(kept)
    }

    /// All of them, by specialist and name.
    pub fn all(&self) -> &[Skill] {
        &self.0
    }

    fn of(&self, agent: Specialist) -> impl Iterator<Item = &Skill> {
        self.0.iter().filter(move |skill| skill.agent == agent)
    }
}

/// Whether arguments name one of the skills, and say nothing else.
fn names_one(schema: &Value, given: &Value) -> Result<(), String> {
    let names = &schema["properties"]["name"]["enum"];
    let is_one = |name| names.as_array().is_some_and(|names| names.contains(name));
    let is_alone = given.as_object().is_some_and(|given| given.len() == 1);
    match given.get("name").is_some_and(is_one) && is_alone {
        true => Ok(()),
        false => Err(format!("it takes name, one of {names}, and nothing else")),
    }
}

impl Toolset for Skills {
    fn tools(&self, agent: Specialist) -> Vec<ToolSpec> {
        let names: Vec<&str> = self.of(agent).map(|skill| skill.name.as_str()).collect();
        if names.is_empty() {
            return Vec::new();
        }
        let index = self.of(agent).map(|skill| format!("\n{}: {}", skill.name, skill.about));
        let given = self.of(agent).filter(|skill| skill.at_once);
        let given =
            given.map(|skill| format!("\n{}, in full:\n{}", skill.name, skill.body.trim_end()));
        let description = format!(
            "Loads one of your skills, advice on method:{}{}",
            index.collect::<String>(),
            given.collect::<String>()
        );
        let schema = json!({
            "type": "object",
            "properties": { "name": { "enum": names, "description": "Which one." } },
            "required": ["name"],
            "additionalProperties": false,
        });
        vec![ToolSpec::new(LOAD_SKILL, description).with_schema(schema, names_one)]
    }

    fn call<'a>(&'a self, ask: &'a CallAsk) -> BoxFuture<'a, Result<ToolAnswer, ToolFailure>> {
        Box::pin(async move {
            let (_, arguments) = checked(&self.tools(ask.agent), &ask.call)?;
            let name = arguments.text("name").unwrap_or_default();
            let skill = self.of(ask.agent).find(|skill| skill.name == name);
            let missing = || ToolFailure::Refused(format!("there is no skill {name:?}"));
            skill.map(|skill| skill.body.clone().into()).ok_or_else(missing)
        })
    }
}
