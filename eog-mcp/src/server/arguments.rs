//! The arguments of the tools about investigations, and what is wrong with wrong ones.

use eog::{Budget, Config, ContextRequest, EntityId, LinearConfig, Timestamp, Window};
use eog_session::controllers::AnySettings;
use eog_session::source::{Verdict, Word, Words};
use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::error::Problem;

/// Most complaints about one call.
const MAX_WRONG: usize = 20;

/// Arguments of `investigate`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Investigate {
    /// Folder of the incident below a root of the server: a bundle or a snapshot. May be left out
    /// when the server has one root and that is the folder.
    pub(super) path: Option<String>,
    /// Application architecture (a JSON file below a root) that goes with a snapshot.
    pub(super) architecture: Option<String>,
    /// Time window, as START/END in RFC 3339, such as
    /// `2026-01-01T10:00:00Z/2026-01-01T10:30:00Z`. Chosen from the alerts if absent.
    pub(super) window: Option<String>,
    /// Most calls of the policy before the investigation stops: 200 unless given.
    #[schemars(range(min = 1, max = 100_000))]
    pub(super) budget: Option<u64>,
    /// How to search: `eog`, Explanations over Graphs, unless given; `lats`, `bfs` and `beam` grow a tree of
    /// evaluations; `hypotheses` has specialists for metrics, logs and traces investigate what may have caused it;
    /// `treeseeker` sets goals with alternative paths and goes on or back; `react` is one agent with a plan, who
    /// concludes; `linear` follows the newest lead and stops at the first origin. The last two are baselines to
    /// compare with.
    pub(super) controller: Option<Controller>,
    /// Rules of the controller `eog`: `default` is recommended, `paper` is Algorithm 1 of the paper.
    pub(super) profile: Option<Profile>,
    /// Seconds after which nothing more is begun, counted from when the folder is read. What was found by
    /// then is the result, and `resume` goes on.
    #[schemars(range(min = 1, max = 86_400))]
    pub(super) seconds: Option<u64>,
    /// Ask the person at the client for evidence that is missing (at most 5 questions, each can be
    /// skipped), if the client can. False unless given.
    pub(super) ask: Option<bool>,
    /// What a person knows of entities, each named once.
    #[schemars(length(max = 100))]
    pub(super) said: Option<Vec<Said>>,
}

/// What a person knows of an entity. Give it only if a person said it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Said {
    /// The entity, such as `shop/Service/cart`.
    entity: String,
    /// `cause`: it is the cause. `not_cause`: it is not, since it is healthy or its trouble comes from
    /// elsewhere. Without it the text is a remark, which the built-in rules do not read.
    verdict: Option<Known>,
    /// In the words of the person: why, or what is known.
    #[schemars(length(max = 4000))]
    text: Option<String>,
}

/// What a person knows of the part of an entity.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Known {
    /// It is the cause.
    Cause,
    /// It is not the cause.
    NotCause,
}

/// What was said, by entity. Secrets in it are masked.
pub(super) fn words(tool: &str, said: Option<&[Said]>) -> Result<Words, Problem> {
    let mut words = Words::new();
    for one in said.unwrap_or_default() {
        let wrong = |reason: &str| Problem::Arguments {
            tool: tool.to_owned(),
            wrong: vec![format!("said: {}: {reason}", eog_evidence::shorten(&one.entity, 200))],
        };
        let entity =
            EntityId::new(one.entity.clone()).map_err(|error| wrong(&error.to_string()))?;
        let verdict = one.verdict.map(|known| match known {
            Known::Cause => Verdict::Cause,
            Known::NotCause => Verdict::NotCause,
        });
        let text = eog_evidence::mask_text(one.text.as_deref().unwrap_or_default().trim());
        if verdict.is_none() && text.is_empty() {
            return Err(wrong("give a verdict or a text"));
        }
        if words.insert(entity, Word { verdict, text }).is_some() {
            return Err(wrong("it is named twice"));
        }
    }
    Ok(words)
}

/// A way to search.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Controller {
    /// Explanations over Graphs.
    Eog,
    /// A loop that evaluates, notes and goes on.
    Linear,
    /// Language agent tree search.
    Lats,
    /// Breadth-first tree search.
    Bfs,
    /// Breadth-first, with the best few of each level.
    Beam,
    /// A tree of hypotheses that specialists investigate.
    Hypotheses,
    /// Goals with alternative paths.
    #[serde(rename = "treeseeker")]
    TreeSeeker,
    /// One chain of a single agent.
    React,
}

impl Controller {
    /// The profile of tree search, if it is one.
    fn profile(self) -> Option<eog_search::Profile> {
        match self {
            Self::Eog | Self::Linear => None,
            Self::Lats => Some(eog_search::Profile::Lats),
            Self::Bfs => Some(eog_search::Profile::Bfs),
            Self::Beam => Some(eog_search::Profile::Beam),
            Self::Hypotheses => Some(eog_search::Profile::Hypotheses),
            Self::TreeSeeker => Some(eog_search::Profile::TreeSeeker),
            Self::React => Some(eog_search::Profile::React),
        }
    }
}

/// Rules of the controller.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Profile {
    /// Recommended.
    Default,
    /// Algorithm 1 of the paper.
    Paper,
}

/// Arguments of `resume`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Resume {
    /// The id of the investigation, such as `inv-000001`.
    pub(super) investigation: String,
    /// Seconds after which nothing more is begun.
    #[schemars(range(min = 1, max = 86_400))]
    pub(super) seconds: Option<u64>,
    /// Ask the person at the client for evidence that is missing, as for `investigate`.
    pub(super) ask: Option<bool>,
    /// What a person knows of entities, as for `investigate`. They are judged again.
    #[schemars(length(max = 100))]
    pub(super) said: Option<Vec<Said>>,
}

/// Arguments of `rule_out`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleOut {
    /// The id of the investigation, such as `inv-000001`.
    pub(super) investigation: String,
    /// The entity that is not the cause.
    pub(super) entity: String,
    /// Why not, in the words of the person.
    #[schemars(length(max = 4000))]
    pub(super) text: Option<String>,
    /// Seconds after which nothing more is begun.
    #[schemars(range(min = 1, max = 86_400))]
    pub(super) seconds: Option<u64>,
}

impl RuleOut {
    /// What was said, as for `resume`.
    pub(super) fn words(&self) -> Result<Words, Problem> {
        let said = Said {
            entity: self.entity.clone(),
            verdict: Some(Known::NotCause),
            text: self.text.clone(),
        };
        words("rule_out", Some(&[said]))
    }
}

/// Arguments of `fork`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Fork {
    /// The id of the investigation to copy, such as `inv-000001`.
    pub(super) investigation: String,
    /// The ledger entry from which on it takes another course. `explain` names entries.
    pub(super) at: u64,
    /// Most calls of the policy, counted from the beginning.
    #[schemars(range(min = 1, max = 100_000))]
    pub(super) budget: Option<u64>,
    /// Rules of the controller `eog` from there on.
    pub(super) profile: Option<Profile>,
    /// Whether neighbours revise each other from there on (controller `eog`).
    pub(super) messages: Option<bool>,
    /// Seconds after which nothing more is begun.
    #[schemars(range(min = 1, max = 86_400))]
    pub(super) seconds: Option<u64>,
}

impl Fork {
    /// The settings from there on, or nothing if they stay as they were.
    pub(super) fn settings(&self, before: &AnySettings) -> Result<Option<AnySettings>, Problem> {
        let budget = |mut budget: Budget| {
            budget.hops = self.budget.or(budget.hops);
            budget
        };
        if !matches!(before, AnySettings::Eog(_)) {
            let idle = [("profile", self.profile.is_some()), ("messages", self.messages.is_some())];
            let wrong = idle.iter().filter(|(_, given)| *given).map(|(name, _)| {
                format!(
                    "{name}: has no effect with the controller {}; omit it",
                    before.controller()
                )
            });
            let wrong: Vec<String> = wrong.collect();
            if !wrong.is_empty() {
                return Err(Problem::Arguments { tool: "fork".to_owned(), wrong });
            }
        }
        let after: AnySettings = match before.clone() {
            AnySettings::Eog(before) => {
                let mut config = match self.profile {
                    None => (*before).clone(),
                    Some(profile) => {
                        let rules = match profile {
                            Profile::Default => Config::default(),
                            Profile::Paper => Config::paper(),
                        };
                        let Config { policy, budget, concurrency, broadcast, .. } = *before;
                        Config { policy, budget, concurrency, broadcast, ..rules }
                    }
                };
                config.budget = budget(config.budget);
                config.broadcast = self.messages.unwrap_or(config.broadcast);
                config.into()
            }
            AnySettings::Search(before) => {
                let budget = budget(before.budget());
                before.as_ref().clone().with_budget(budget).into()
            }
            AnySettings::Linear(before) => {
                let budget = budget(before.budget);
                LinearConfig { budget, ..*before }.into()
            }
        };
        Ok((after != *before).then_some(after))
    }
}

/// Arguments of `explain`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Explain {
    /// The id of the investigation, such as `inv-000001`.
    pub(super) investigation: String,
    /// The entity, such as `shop/Service/cart`.
    pub(super) entity: String,
}

/// Arguments of `diff`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Diff {
    /// The id of one investigation.
    pub(super) first: String,
    /// The id of the other.
    pub(super) second: String,
}

/// Arguments of `list_investigations`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct List {
    /// Most investigations: 20 unless given.
    #[schemars(range(min = 1, max = 200))]
    pub(super) limit: Option<usize>,
    /// How many to pass over, newest first.
    pub(super) offset: Option<usize>,
}

/// Arguments of `query`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    /// Folder of the incident below a root of the server: a bundle or a snapshot. May be left out when
    /// the server has one root and that is the folder.
    pub(super) path: Option<String>,
    /// Application architecture (a JSON file below a root) that goes with a snapshot.
    pub(super) architecture: Option<String>,
    /// What to ask for.
    pub(super) table: String,
    /// The arguments of the table.
    pub(super) arguments: Option<Map<String, Value>>,
    /// Describe the table, and ask nothing.
    pub(super) describe: Option<bool>,
}

/// Arguments of `get_context`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetContext {
    /// Folder of the incident below a root of the server: a bundle or a snapshot. May be left out
    /// when the server has one root and that is the folder.
    pub(super) path: Option<String>,
    /// Application architecture (a JSON file below a root) that goes with a snapshot.
    pub(super) architecture: Option<String>,
    /// The entity, such as `shop/Service/cart`.
    entity_id: String,
    /// Start of the window, in RFC 3339.
    start_time: String,
    /// End of the window, in RFC 3339.
    end_time: String,
    /// Which page of the context, counted from 1; 0 asks for all of them at once. 1 unless given.
    page: Option<u32>,
    /// How often the entity is being visited, counted from 1: later visits may be given more. 1 unless given.
    visit: Option<u32>,
    /// Entities whose messages are new since the last visit; more may be given about exactly these relations.
    #[schemars(length(max = 10_000))]
    changed_neighbours: Option<Vec<String>>,
}

impl GetContext {
    const NAME: &'static str = "get_context";

    /// What the controller would ask.
    pub(super) fn request(&self) -> Result<ContextRequest, Problem> {
        let wrong = |name: &str, reason: String| Problem::Arguments {
            tool: Self::NAME.to_owned(),
            wrong: vec![format!("{name}: {reason}")],
        };
        let instant = |name: &str, text: &str| -> Result<Timestamp, Problem> {
            let read = text.trim().parse();
            read.map_err(|error: jiff::Error| {
                wrong(name, format!("{error}; give RFC 3339, such as 2026-01-01T10:00:00Z"))
            })
        };
        let start = instant("start_time", &self.start_time)?;
        let end = instant("end_time", &self.end_time)?;
        let window =
            Window::new(start, end).map_err(|error| wrong("end_time", error.to_string()))?;
        let id = |name: &str, text: &String| {
            EntityId::new(text.clone()).map_err(|error| wrong(name, error.to_string()))
        };
        let neighbours = self.changed_neighbours.iter().flatten();
        Ok(ContextRequest {
            entity: id("entity_id", &self.entity_id)?,
            window,
            page: self.page.unwrap_or(1),
            visit: self.visit.unwrap_or(1),
            changed_neighbours: neighbours
                .map(|text| id("changed_neighbours", text))
                .collect::<Result<_, _>>()?,
            query: None,
        })
    }
}

impl Investigate {
    /// What the controller is given, with the name of the policy.
    pub(super) fn settings(&self, policy: String, budget: u64) -> Result<AnySettings, Problem> {
        let (policy, budget) = (Some(policy), Budget::hops(self.budget.unwrap_or(budget)));
        let search = self.controller.and_then(Controller::profile);
        if let (Some(search), None) = (search, self.profile) {
            return Ok(search.config().with_policy(policy).with_budget(budget).into());
        }
        let rules = match (self.controller, self.profile) {
            (Some(controller), Some(_)) if !matches!(controller, Controller::Eog) => {
                let name = search.map_or("linear", eog_search::Profile::name);
                return Err(Problem::Arguments {
                    tool: "investigate".to_owned(),
                    wrong: vec![format!(
                        "profile: has no effect with the controller {name}; omit it"
                    )],
                });
            }
            (Some(Controller::Linear), _) => {
                return Ok(LinearConfig { policy, budget, ..LinearConfig::default() }.into());
            }
            (_, Some(Profile::Paper)) => Config::paper(),
            (_, Some(Profile::Default) | None) => Config::default(),
        };
        Ok(Config { policy, budget, ..rules }.into())
    }

    pub(super) fn window(&self) -> Result<Option<Window>, Problem> {
        let Some(text) = &self.window else { return Ok(None) };
        let wrong = |reason: String| Problem::Arguments {
            tool: "investigate".to_owned(),
            wrong: vec![format!(
                "window: {reason}; give START/END, such as \
                 2026-01-01T10:00:00Z/2026-01-01T10:30:00Z"
            )],
        };
        let (start, end) =
            text.split_once('/').ok_or_else(|| wrong("there is no `/` in it".to_owned()))?;
        let instant =
            |text: &str| text.trim().parse().map_err(|error: jiff::Error| wrong(error.to_string()));
        Window::new(instant(start)?, instant(end)?)
            .map(Some)
            .map_err(|error| wrong(error.to_string()))
    }
}

/// Arguments of `close_incident`. One of `causes`, `not_in_topology` and `nothing_wrong` is needed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CloseIncident {
    /// The id of an investigation that does not run.
    pub(super) investigation: String,
    /// The entities that were causes.
    #[schemars(length(max = 100))]
    pub(super) causes: Option<Vec<String>>,
    /// The changes that caused it: ids of findings such as `chg-…`, or their beginnings.
    #[schemars(length(max = 100))]
    pub(super) changes: Option<Vec<String>>,
    /// Causes that the topology does not have, such as an external service.
    #[schemars(length(max = 100))]
    pub(super) not_in_topology: Option<Vec<String>>,
    /// True where nothing was wrong.
    pub(super) nothing_wrong: Option<bool>,
    /// True where the causes were named, but their effects did not spread as reported.
    pub(super) path_wrong: Option<bool>,
    /// What else is worth knowing.
    #[schemars(length(max = 2000))]
    pub(super) note: Option<String>,
    /// The person who says so.
    #[schemars(length(min = 1, max = 200))]
    pub(super) by: String,
    /// True to replace the case of this investigation, if it was closed before.
    pub(super) replace: Option<bool>,
}

impl CloseIncident {
    pub(super) const NAME: &'static str = "close_incident";
}

/// Reads arguments. All mistakes are reported at once.
pub(super) fn read<T: DeserializeOwned>(
    tool: &str,
    checked: &Checked,
    arguments: &Value,
) -> Result<T, Problem> {
    let wrong = all_wrong(checked, arguments);
    if !wrong.is_empty() {
        return Err(Problem::Arguments { tool: tool.to_owned(), wrong });
    }
    T::deserialize(arguments).map_err(|error| Problem::Arguments {
        tool: tool.to_owned(),
        wrong: vec![error.to_string()],
    })
}

/// An entity as a client names it.
pub(super) fn entity(tool: &str, text: &str) -> Result<EntityId, Problem> {
    EntityId::new(text.to_owned()).map_err(|error| Problem::Arguments {
        tool: tool.to_owned(),
        wrong: vec![format!("entity: {error}")],
    })
}

/// Everything in which arguments differ from their schema, each with its name.
pub(super) fn all_wrong(checked: &Checked, arguments: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    for error in checked.validator.iter_errors(arguments).take(MAX_WRONG) {
        let place = error.instance_path().to_string();
        let place = place.trim_start_matches('/').replace('/', ".");
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } if place.is_empty() => {
                wrong.extend(unexpected.iter().map(|name| checked.unknown(name)));
            }
            ValidationErrorKind::Required { property } if place.is_empty() => {
                let name = property.as_str().unwrap_or_default();
                wrong.push(format!("{name}: is missing"));
            }
            // A client that named one that is not there needs to see them all.
            ValidationErrorKind::Enum { options } if options.is_array() => {
                let named: Vec<String> =
                    options.as_array().into_iter().flatten().map(Value::to_string).collect();
                let given = eog_evidence::shorten(&error.instance().to_string(), 60);
                wrong.push(format!("{place}: {given} is none of {}", named.join(", ")));
            }
            _ => {
                let what = eog_evidence::shorten(&error.to_string(), 300);
                wrong.push(if place.is_empty() { what } else { format!("{place}: {what}") });
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    wrong.truncate(MAX_WRONG);
    wrong
}

/// The schema of a tool's arguments, ready to check a call.
pub(super) struct Checked {
    validator: Validator,
    names: Vec<String>,
}

impl Checked {
    /// From a schema of our own, which is one.
    pub(super) fn new(schema: &Value) -> Self {
        let validator = jsonschema::validator_for(schema)
            .unwrap_or_else(|error| unreachable!("our own schema is one: {error}"));
        let names = schema["properties"].as_object().into_iter().flat_map(|all| all.keys());
        Self { validator, names: names.cloned().collect() }
    }

    /// Whether there is an argument of this name.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    fn unknown(&self, name: &str) -> String {
        let alike = |known: &&String| strsim::jaro_winkler(known, name) > 0.8;
        let mut near: Vec<&str> = self.names.iter().filter(alike).map(String::as_str).collect();
        // People call the folder otherwise, too.
        let folders = ["path", "snapshot", "bundle", "folder", "incident", "directory"];
        if near.is_empty() && folders.contains(&name) {
            near =
                self.names.iter().map(String::as_str).filter(|it| folders.contains(it)).collect();
        }
        let hint = match near[..] {
            [] => format!("the arguments are {}", self.names.join(", ")),
            _ => format!("did you mean {}?", near.join(" or ")),
        };
        format!("{}: there is no such argument; {hint}", eog_evidence::shorten(name, 60))
    }
}
