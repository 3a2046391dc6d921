//! What a specialist does next: a conversation of calls and answers.

use eog_core::{EntityId, EvidenceId};
use eog_evidence::mask_text;
use eog_search::ask::LaneAsk;
use eog_search::lane::{Acts, Came, FINISH, RECORD_FINDING, Turn};
use eog_search::tools::LOAD_SKILL;
use eog_search::{LaneAction, Specialist, ToolAnswer, ToolCall, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::kept;
use super::path::{Detail, FoundLine, TestedLine, Writer};
use crate::Phase;
use crate::phase::Since;
use crate::phases::frame::IncidentLines;
use crate::phases::lines::cut;
use crate::schema::inline;

/// Longest arguments of a call, in bytes.
pub(super) const MAX_ARGUMENTS: usize = 8 * 1024;
/// Longest description of what a tool takes, in characters.
const MAX_SCHEMA: usize = 400;

/// Chooses the next call of a specialist.
///
/// An answer that cannot be used is not corrected at once: it counts as a call of the lane, and the next
/// question says what was wrong with it.
#[derive(Clone, Copy, Debug)]
pub struct Investigate;

/// A hypothesis, what one specialist can do about it, and what it did.
#[derive(Clone, Debug, Serialize)]
pub struct InvestigateInput {
    #[serde(flatten)]
    incident: IncidentLines,
    /// Which specialist is asked: one of the three.
    metrics: bool,
    logs: bool,
    traces: bool,
    entity: String,
    /// The kind of cause that is suspected; empty if that is open.
    kind: &'static str,
    focus: String,
    why: String,
    /// The hypotheses above it.
    path: Vec<TestedLine>,
    /// What was recorded when the lane began.
    known: Vec<FoundLine>,
    more_known: usize,
    tools: Vec<ToolLine>,
    /// How many calls the lane may make.
    calls: u32,
    #[serde(skip)]
    since: Vec<Since>,
    /// The ids behind the numbers of findings.
    #[serde(skip)]
    ids: Vec<EvidenceId>,
}

/// A tool.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ToolLine {
    name: String,
    /// The first line of its description.
    description: String,
    /// Further lines.
    more: Vec<String>,
    arguments: Vec<ArgumentLine>,
}

#[derive(Clone, Debug, Serialize)]
struct ArgumentLine {
    name: String,
    /// What it can be.
    kind: String,
    required: bool,
    description: String,
}

impl InvestigateInput {
    /// The input for a question of a search, with what the specialist is offered.
    pub fn new(ask: &LaneAsk, tools: &[ToolSpec], detail: Detail) -> Self {
        let mut writer = Writer::new(&ask.scene, detail);
        let mut above: Vec<&EntityId> = vec![ask.hypothesis.entity()];
        above.extend(ask.path.iter().map(|tested| tested.seen.action.entity()));
        let (known, mut ids, more_known) = writer.known(&ask.known, &above);
        let mut since = Vec::new();
        let mut call = 0;
        for turn in &ask.turns {
            call += u32::from(turn.is_call());
            let mut data = blank(call);
            match turn {
                Turn::Acted(Acts { action, came }) => {
                    since.push(Since::Said(said(action, &ids)));
                    data["tool"] = json!(action.call.tool);
                    write_came(&mut data, &action.call.tool, came, (&mut writer, &mut ids), detail);
                }
                Turn::Failed(failure) => {
                    data["unusable"] = json!(cut(&mask_text(&failure.message), Some(600)));
                }
                Turn::Message(text) | Turn::Closed(text) => data["told"] = json!(text),
            }
            since.push(Since::Came(data));
        }
        let text = |text: &str| cut(&mask_text(text), Some(detail.text));
        let made = u32::try_from(ask.turns.iter().filter(|turn| turn.is_call()).count());
        Self {
            metrics: ask.agent == Specialist::Metrics,
            logs: ask.agent == Specialist::Logs,
            traces: ask.agent == Specialist::Traces,
            entity: ask.hypothesis.entity().to_string(),
            focus: text(ask.hypothesis.focus_of(ask.agent).unwrap_or_default()),
            kind: ask.hypothesis.hypothesis().and_then(|it| it.kind).map_or("", |it| it.name()),
            why: text(&ask.hypothesis.thought),
            path: ask.path.iter().map(|tested| writer.tested(tested)).collect(),
            incident: writer.incident(),
            known,
            more_known,
            tools: tools.iter().map(tool_line).chain(own_tools()).collect(),
            calls: ask.left.saturating_add(made.unwrap_or(u32::MAX)),
            since,
            ids,
        }
    }

    /// What a specialist sees of a finding instead of its id.
    fn id(&self, number: u64) -> Option<&EvidenceId> {
        self.ids.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }
}

/// Data of a template, still empty.
pub(super) fn blank(call: u32) -> Value {
    json!({
        "call": call, "tool": "", "skill": false, "lines": [], "more_lines": 0, "entity": "",
        "findings": [], "more_findings": 0, "notes": [], "pages_left": 0, "nothing": false,
        "refused": "", "failed": "", "recorded": [], "not_recorded": [], "unusable": "", "told": "",
    })
}

/// What a model said, as it would say it now.
fn said(action: &LaneAction, ids: &[EvidenceId]) -> String {
    let LaneAction { thought, call: ToolCall { tool, arguments } } = action;
    let arguments = match tool.as_str() {
        RECORD_FINDING => numbered(arguments, ids).unwrap_or_else(|| arguments.clone()),
        _ => arguments.clone(),
    };
    let said = InvestigateAnswer { because: thought.clone(), tool: tool.clone(), with: arguments };
    mask_text(&serde_json::to_string(&said).unwrap_or_default())
}

/// Arguments of `record_finding` with numbers instead of ids.
fn numbered(arguments: &str, ids: &[EvidenceId]) -> Option<String> {
    let mut arguments: Value = serde_json::from_str(arguments).ok()?;
    for finding in arguments.get_mut("findings")?.as_array_mut()? {
        let number = ids.iter().rposition(|id| Some(id.as_str()) == finding.as_str());
        if let Some(number) = number {
            *finding = json!(number + 1);
        }
    }
    Some(arguments.to_string())
}

/// Writes what came of a call.
pub(super) fn write_came(
    data: &mut Value,
    tool: &str,
    came: &Came,
    (writer, ids): (&mut Writer<'_>, &mut Vec<EvidenceId>),
    detail: Detail,
) {
    match came {
        Came::Answered(ToolAnswer { text, evidence }) => {
            let text = mask_text(text);
            let lines: Vec<&str> = text.lines().collect();
            // Skills were written to be read whole.
            let is_skill = tool == LOAD_SKILL;
            let most = if is_skill { usize::MAX } else { detail.lines };
            let shown: Vec<String> =
                lines.iter().take(most).map(|it| cut(it, Some(1_000))).collect();
            data["skill"] = json!(is_skill);
            data["more_lines"] = json!(lines.len() - shown.len());
            data["nothing"] = json!(lines.is_empty() && evidence.is_none());
            data["lines"] = json!(shown);
            if let Some(evidence) = evidence {
                let context = &evidence.context;
                let (findings, new, more) = writer.answered(&context.findings);
                ids.extend(new);
                let notes = context.omitted.iter().take(10);
                let notes: Vec<String> =
                    notes.map(|note| cut(&mask_text(note), Some(detail.text))).collect();
                data["entity"] = json!(evidence.entity);
                data["nothing"] = json!(context.findings.is_empty());
                data["findings"] = json!(findings);
                data["more_findings"] = json!(more);
                data["notes"] = json!(notes);
                data["pages_left"] = json!(context.pages_left);
            }
        }
        Came::Refused(reason) => data["refused"] = json!(cut(&mask_text(reason), Some(600))),
        Came::Failed(failures) => {
            let last = failures.last().map(|failure| failure.message.as_str());
            data["failed"] = json!(cut(&mask_text(last.unwrap_or("it failed")), Some(300)));
        }
        Came::Recorded { findings, refused } => {
            let number = |id: &EvidenceId| ids.iter().rposition(|it| it == id).map(|at| at + 1);
            let recorded: Vec<usize> = findings.iter().filter_map(number).collect();
            let refused = refused.iter().map(|(id, reason)| {
                let shown = ids.iter().rposition(|it| it.as_str() == id).map(|at| (at + 1).to_string());
                json!({ "finding": shown.unwrap_or_else(|| id.clone()), "reason": reason.to_string() })
            });
            data["recorded"] = json!(recorded);
            data["not_recorded"] = refused.collect();
        }
        Came::Finished => {}
    }
}

/// A tool as its schema describes it.
pub(super) fn tool_line(tool: &ToolSpec) -> ToolLine {
    let given = tool.schema();
    let schema = inline(&given, given.get("$defs").unwrap_or(&Value::Null), 0);
    let required = |name: &str| {
        let required = schema["required"].as_array();
        required.is_some_and(|all| all.iter().any(|it| it.as_str() == Some(name)))
    };
    let fields = schema["properties"].as_object();
    let arguments = fields.into_iter().flatten().map(|(name, schema)| ArgumentLine {
        name: name.clone(),
        kind: kind(schema),
        required: required(name),
        description: cut(schema["description"].as_str().unwrap_or_default(), Some(MAX_SCHEMA)),
    });
    let mut lines = tool.description.lines().map(|line| cut(line, Some(600)));
    ToolLine {
        name: tool.name.clone(),
        description: lines.next().unwrap_or_default(),
        more: lines.collect(),
        arguments: arguments.collect(),
    }
}

/// What a value can be, in a few words.
fn kind(schema: &Value) -> String {
    if let Some(choices) = schema["enum"].as_array() {
        let choices: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
        return format!("one of {}", choices.join(", "));
    }
    match (schema["type"].as_str(), schema["minimum"].as_u64(), schema["maximum"].as_u64()) {
        (Some("string"), ..) => "text".to_owned(),
        (Some("integer"), Some(least), Some(most)) => {
            format!("whole number from {least} to {most}")
        }
        (Some("integer"), ..) => "whole number".to_owned(),
        (Some("boolean"), ..) => "true or false".to_owned(),
        (Some("number"), ..) => "number".to_owned(),
        _ => {
            let mut rest = schema.clone();
            if let Some(fields) = rest.as_object_mut() {
                fields.remove("description");
            }
            cut(&rest.to_string(), Some(MAX_SCHEMA))
        }
    }
}

/// What the controller itself does for specialists.
fn own_tools() -> [ToolLine; 2] {
    let argument = |name: &str, kind: &str, description: &str| ArgumentLine {
        name: name.to_owned(),
        kind: kind.to_owned(),
        required: true,
        description: description.to_owned(),
    };
    [
        ToolLine {
            name: RECORD_FINDING.to_owned(),
            description: "Records findings. What is not recorded is lost.".to_owned(),
            more: Vec::new(),
            arguments: vec![
                argument("call", "whole number", "The call whose answer holds them."),
                argument("findings", "list of whole numbers", "Their numbers in that answer."),
            ],
        },
        ToolLine {
            name: FINISH.to_owned(),
            description: "Ends your investigation.".to_owned(),
            more: Vec::new(),
            arguments: vec![argument(
                "summary",
                "text",
                "What you found out, in a sentence or two.",
            )],
        },
    ]
}

/// The next call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InvestigateAnswer {
    /// why this call, in one sentence
    pub because: String,
    /// name of the tool
    pub tool: String,
    /// its arguments: a JSON object as text, {} if it takes none
    pub with: String,
}

impl InvestigateAnswer {
    /// The action of an answer without problems.
    pub fn action(&self, input: &InvestigateInput) -> LaneAction {
        let arguments = mask_text(self.with.trim());
        let arguments = match self.tool.as_str() {
            RECORD_FINDING => identified(&arguments, input).unwrap_or(arguments),
            _ if arguments.is_empty() => "{}".to_owned(),
            _ => arguments,
        };
        let tool = cut(&mask_text(self.tool.trim()), Some(100));
        LaneAction::new(kept(&self.because), ToolCall { tool, arguments })
    }
}

/// Arguments of `record_finding` with ids instead of numbers. A number without a finding stays what it is, for
/// the controller to refuse.
fn identified(arguments: &str, input: &InvestigateInput) -> Option<String> {
    let mut arguments: Value = serde_json::from_str(arguments).ok()?;
    for finding in arguments.get_mut("findings")?.as_array_mut()? {
        let number = finding.as_u64().or_else(|| finding.as_str()?.parse().ok());
        let id = number.and_then(|number| input.id(number));
        *finding = match id {
            Some(id) => json!(id),
            None => json!(finding.as_str().map_or_else(|| finding.to_string(), str::to_owned)),
        };
    }
    Some(arguments.to_string())
}

impl Phase for Investigate {
    const NAME: &'static str = "search_investigate";
    const CORRECTS: bool = false;
    type Input = InvestigateInput;
    type Answer = InvestigateAnswer;

    fn since(input: &InvestigateInput) -> Vec<Since> {
        input.since.clone()
    }

    /// Whether there is such a tool, and whether it takes these arguments, is for the controller and the
    /// tools to say: the lane records it, and counts it.
    fn problems(_input: &InvestigateInput, answer: &InvestigateAnswer) -> Vec<String> {
        let mut problems = Vec::new();
        if answer.tool.trim().is_empty() {
            problems.push("tool: it is empty; name one of the tools".to_owned());
        }
        if answer.with.len() > MAX_ARGUMENTS {
            problems.push(format!("with: they are longer than {MAX_ARGUMENTS} bytes"));
        }
        problems
    }
}
