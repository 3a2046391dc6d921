//! What planning roles may choose: specialists and kinds of causes, what is said beside a score, candidates drawn apart,
//! calls of tools as actions, answers from all paths.

use crate::common;

use std::sync::Mutex;

use common::{count, evidence, wide};
use eog_core::contract::Failure;
use eog_core::ledger::restore;
use eog_core::machine::drive;
use eog_core::{
    BoxFuture, Case, ContextContract, ContextPacket, ContextRequest, Decision, EntityId,
    LocalContext, Machine as _, policy_fn,
};
use eog_search::ask::{
    EvaluateAsk, HypothesizeAsk, LaneAsk, PlanAsk, ProgressAsk, ProposeAsk, StepAsk, WeighAsk,
};
use eog_search::lane::Came;
use eog_search::tools::{Skill, Skills};
use eog_search::{
    Action, Candidate, CauseKind, Hypothesis, LaneAction, Metadata, MetadataValue, PlanAction,
    PolicyRoles, Profile, Progress, Proposed, RefusedAction, Reply, Roles, SearchBody,
    SearchConfig, SearchController, SearchResponder, Specialist, ToolCall, ToolSpec, Toolset as _,
    Verdict,
};
use eog_testkit::{alert, case, entity, healthy, origin, symptom_of, topology};
use serde_json::json;

/// Every entity has a finding for each specialist.
struct Everything;

impl ContextContract for Everything {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        let context = evidence(&request.entity);
        Box::pin(async { Ok(context) })
    }
}

fn incident() -> Case {
    case(topology("web calls api; api calls db; api calls cache"), [alert("web", "Slow", "10:06")])
}

/// `db` is the origin of what alerts.
fn judge(packet: &ContextPacket) -> Decision {
    match packet.entity.as_str() {
        "web" => symptom_of(packet, "api"),
        "api" => symptom_of(packet, "db"),
        "db" => origin(packet),
        _ => healthy(packet),
    }
}

fn run(config: SearchConfig, roles: impl Roles) -> SearchController {
    let responder = SearchResponder::new(Everything, policy_fn(judge)).with_roles(roles);
    let mut search = SearchController::open(config, incident());
    drive(&mut search, &responder).expect("it follows");
    let again: SearchController = restore(search.ledger()).expect("it follows");
    assert_eq!(again.ledger(), search.ledger());
    assert_eq!(again.conclusion(), search.conclusion());
    search
}

fn ready<'a, T: Send + 'a>(answer: T) -> Reply<'a, T> {
    Box::pin(async { Ok(answer.into()) })
}

fn proposed(search: &SearchController) -> Vec<&Proposed> {
    let entries = search.ledger().entries().iter();
    let of = entries.filter_map(|entry| match &entry.body {
        SearchBody::Proposed(proposed) => Some(&**proposed),
        _ => None,
    });
    of.collect()
}

/// A lead who says which hypotheses there are at first.
struct Lead {
    first: Vec<Action>,
    asked: Mutex<Vec<(Specialist, String)>>,
}

impl Lead {
    fn with(first: Vec<Action>) -> Self {
        Self { first, asked: Mutex::default() }
    }
}

impl Roles for &Lead {
    fn hypothesize<'a>(&'a self, ask: &'a HypothesizeAsk) -> Reply<'a, Vec<Action>> {
        ready(if ask.path.is_empty() { self.first.clone() } else { Vec::new() })
    }

    fn investigate<'a>(&'a self, ask: &'a LaneAsk, _: &'a [ToolSpec]) -> Reply<'a, LaneAction> {
        let focus = ask.hypothesis.focus_of(ask.agent).expect("a hypothesis").to_owned();
        self.asked.lock().expect("no holder panicked").push((ask.agent, focus));
        ready(LaneAction::finish("done"))
    }

    fn weigh<'a>(&'a self, _: &'a WeighAsk) -> Reply<'a, Verdict> {
        ready(Verdict::new(400, "so so"))
    }
}

#[test]
fn only_the_specialists_that_the_lead_names_investigate_each_with_its_own_question() {
    let all = Action::test(entity("web"), "what it shows", "it alerts");
    let one = Action::test(entity("db"), "what changed", "it is upstream")
        .asking(Specialist::Logs, "was the pool changed?");
    let lead = Lead::with(vec![all, one]);
    let search = run(SearchConfig::hypotheses().with_width(wide(1)), &lead);
    let asked = lead.asked.lock().expect("no holder panicked").clone();
    let own = |agent| (agent, "what it shows".to_owned());
    let mut expected: Vec<_> = Specialist::ALL.into_iter().map(own).collect();
    expected.push((Specialist::Logs, "was the pool changed?".to_owned()));
    assert_eq!(asked, expected);
    assert_eq!(count(&search, |body| matches!(body, SearchBody::Investigated(_))), 4);
    assert_eq!(search.begun(), 2, "a hypothesis with one specialist is a round, too");
}

#[test]
fn a_hypothesis_is_an_entity_and_a_kind_of_cause() {
    let suspect = |kind| Action::test(entity("db"), "what it shows", "why not").of_kind(kind);
    let reworded = Action { thought: "another reason".to_owned(), ..suspect(CauseKind::Load) };
    let twice = suspect(CauseKind::Data)
        .asking(Specialist::Logs, "first")
        .asking(Specialist::Logs, "second");
    let generalist = suspect(CauseKind::Network).asking(Specialist::Generalist, "all of it");
    let lead = Lead::with(vec![
        suspect(CauseKind::Load),
        suspect(CauseKind::Change),
        reworded,
        twice,
        generalist,
    ]);
    let search = run(SearchConfig::hypotheses(), &lead);
    let kinds: Vec<_> = search
        .tree()
        .nodes()
        .filter_map(|node| node.action?.hypothesis().and_then(|it| it.kind))
        .collect();
    assert_eq!(kinds, [CauseKind::Load, CauseKind::Change]);
    let refused = &proposed(&search)[0].refused;
    let expected = [
        (2, RefusedAction::EqualSibling),
        (3, RefusedAction::Misassigned),
        (4, RefusedAction::Misassigned),
    ];
    assert_eq!(refused[..], expected);
    assert_eq!(SearchConfig::hypotheses().branch(), Some(3));
}

#[test]
fn what_a_ledger_has_no_kind_and_no_specialists_for_is_written_as_before() {
    let Some(plain) = Action::test(entity("db"), "why", "so").hypothesis().cloned() else {
        panic!()
    };
    assert_eq!(
        serde_json::to_value(&plain).expect("JSON"),
        json!({ "cause": "db", "focus": "why" })
    );
    let other = Hypothesis { focus: "how".to_owned(), ..plain.clone() };
    assert!(!plain.is_same(&other), "without kinds the question distinguishes them");
}

/// Says something beside each score.
struct Remarks(Metadata, Mutex<Vec<Metadata>>);

impl Roles for &Remarks {
    fn evaluate<'a>(&'a self, ask: &'a EvaluateAsk) -> Reply<'a, Verdict> {
        Box::pin(async {
            let verdict = PolicyRoles::default().evaluate(ask).await?.answer;
            Ok(Verdict { metadata: self.0.clone(), prune: false, ..verdict }.into())
        })
    }

    fn plan<'a>(&'a self, ask: &'a PlanAsk) -> Reply<'a, Vec<PlanAction>> {
        let seen = ask.nodes.iter().map(|node| node.metadata.clone());
        self.1.lock().expect("no holder panicked").extend(seen);
        Box::pin(async { PolicyRoles::default().plan(ask).await })
    }
}

#[test]
fn what_an_evaluator_says_beside_a_score_is_kept_and_shown_to_the_planner() {
    let said = Metadata(
        [
            ("evidence_strength".to_owned(), MetadataValue::Text("moderate".to_owned())),
            (
                "share".to_owned(),
                MetadataValue::Number(serde_json::Number::from_f64(0.1).expect("one")),
            ),
        ]
        .into(),
    );
    let roles = Remarks(said.clone(), Mutex::default());
    let search = run(SearchConfig::beam(), &roles);
    let planned = roles.1.lock().expect("no holder panicked").clone();
    assert!(!planned.is_empty() && planned.iter().all(|seen| *seen == said), "{planned:?}");
    let nodes: Vec<_> = search.tree().nodes().filter(|node| node.score.is_some()).collect();
    assert!(!nodes.is_empty() && nodes.iter().all(|node| node.metadata == Some(&said)));
}

#[test]
fn metadata_without_bounds_is_refused_as_no_score() {
    let long = MetadataValue::Text("x".repeat(Metadata::LONGEST_TEXT + 1));
    let many = (0..=Metadata::MOST).map(|at| (at.to_string(), MetadataValue::Text("x".to_owned())));
    for wrong in [Metadata([("a".to_owned(), long)].into()), Metadata(many.collect())] {
        let search = run(SearchConfig::bfs(), &Remarks(wrong, Mutex::default()));
        let failed = search.ledger().entries().iter().find_map(|entry| match &entry.body {
            SearchBody::Scored(scored) => scored.failures.first().cloned(),
            _ => None,
        });
        let message = failed.expect("no score").message;
        assert!(message.starts_with("metadata: "), "{message}");
    }
}

#[test]
fn an_initial_prompt_is_recorded_and_shown_to_planners() {
    struct Reader(Mutex<Vec<Option<String>>>);
    impl Roles for &Reader {
        fn plan<'a>(&'a self, ask: &'a PlanAsk) -> Reply<'a, Vec<PlanAction>> {
            let prompt = ask.scene.initial_prompt.as_deref().map(str::to_owned);
            self.0.lock().expect("no holder panicked").push(prompt);
            Box::pin(async { PolicyRoles::default().plan(ask).await })
        }
    }
    let reader = Reader(Mutex::default());
    let config = SearchConfig::bfs().with_initial_prompt("What broke checkout?").expect("short");
    let search = run(config, &reader);
    let read = reader.0.lock().expect("no holder panicked").clone();
    assert!(
        !read.is_empty() && read.iter().all(|it| it.as_deref() == Some("What broke checkout?"))
    );
    let first = search.ledger().to_json_lines();
    let first = first.lines().next().expect("entry 0");
    assert!(first.contains(r#""initial_prompt":"What broke checkout?""#), "{first}");
    for wrong in ["", "  \n", &"x".repeat(5_000)] {
        assert!(SearchConfig::bfs().with_initial_prompt(wrong).is_err());
    }
}

/// Draws candidates: by turns `api`, nothing usable, `api` again, `cache`, and a failure.
#[derive(Default)]
struct Drawing(Mutex<Vec<(u32, u32, u32)>>);

impl Roles for &Drawing {
    fn propose<'a>(&'a self, ask: &'a ProposeAsk, _: &'a [ToolSpec]) -> Reply<'a, Vec<Action>> {
        let sample = ask.sample.expect("drawn apart");
        self.0.lock().expect("no holder panicked").push((sample.index, sample.of, ask.at_most));
        let look = |name| vec![Action::look(entity(name), "drawn")];
        match (ask.path.is_empty(), sample.index) {
            (true, 1 | 3) => ready(look("api")),
            (true, 4) => ready(look("cache")),
            (true, 5) => Box::pin(async { Err(Failure::policy("cut off")) }),
            _ => ready(Vec::new()),
        }
    }
}

#[test]
fn candidates_drawn_apart_are_a_question_each_and_equal_ones_are_refused() {
    let drawing = Drawing::default();
    let config = SearchConfig::lats().with_rounds(1).with_sampling_apart(true).expect("lats");
    let search = run(config.clone(), &drawing);
    let asked = drawing.0.lock().expect("no holder panicked").clone();
    assert_eq!(asked, (1..=5).map(|index| (index, 5, 1)).collect::<Vec<_>>());
    let proposed = proposed(&search)[0];
    let gave: Vec<u32> = proposed.drawn.iter().map(|draw| draw.actions).collect();
    assert_eq!(gave, [1, 0, 1, 1, 0]);
    assert!(proposed.drawn[4].failure.is_some() && proposed.failure.is_none());
    assert_eq!(proposed.refused, [(1, RefusedAction::EqualSibling)]);
    assert_eq!(search.tree().len(), 3, "the root, api and cache");
    assert_eq!(
        config.most_asked().roles,
        SearchConfig::lats().with_rounds(1).most_asked().roles + 4
    );
    assert!(SearchConfig::beam().with_sampling_apart(true).is_err());
}

#[test]
fn by_rules_candidates_drawn_apart_are_those_drawn_together() {
    let shape = |config: SearchConfig| common::rows(&run(config, PolicyRoles::default()));
    let apart = SearchConfig::lats().with_sampling_apart(true).expect("lats");
    assert_eq!(shape(apart), shape(SearchConfig::lats()));
}

/// Calls a tool before the evaluations that the rules would make, on each path once.
struct Calling;

fn call(about: &str) -> Action {
    let arguments = json!({ "entity": about });
    Action::call(entity(about), ToolCall::new("neighbours", &arguments), "who is around")
}

impl Roles for Calling {
    fn propose<'a>(&'a self, ask: &'a ProposeAsk, tools: &'a [ToolSpec]) -> Reply<'a, Vec<Action>> {
        assert!(tools.iter().any(|tool| tool.name == "neighbours"));
        Box::pin(async move {
            let shell = Action::call(entity("api"), ToolCall::new("shell", &json!({})), "");
            let mut actions = vec![call("api"), shell];
            if !ask.path.is_empty() {
                actions.extend(PolicyRoles::default().propose(ask, tools).await?.answer);
            }
            actions.truncate(ask.at_most as usize);
            Ok(actions.into())
        })
    }

    fn step<'a>(&'a self, ask: &'a StepAsk, tools: &'a [ToolSpec]) -> Reply<'a, Option<Action>> {
        let called = ask.path.recent.iter().any(|seen| seen.came().is_some());
        Box::pin(async move {
            match called {
                false => Ok(Some(call("api")).into()),
                true => PolicyRoles::default().step(ask, tools).await,
            }
        })
    }
}

fn answers(search: &SearchController) -> Vec<(String, bool)> {
    let used = search.ledger().entries().iter().filter_map(|entry| match &entry.body {
        SearchBody::Used(used) => {
            Some((used.at.to_string(), matches!(used.came, Came::Answered(_))))
        }
        _ => None,
    });
    used.collect()
}

#[test]
fn an_action_of_lats_may_call_a_tool() {
    let config = SearchConfig::lats().with_rounds(6).with_accept(1000).expect("a score");
    let search = run(config, Calling);
    let answers = answers(&search);
    assert_eq!(answers[..2], [("1".to_owned(), true), ("2".to_owned(), false)]);
    let nodes: Vec<_> = search.tree().nodes().collect();
    let at = |id: &str| nodes.iter().find(|node| node.id.to_string() == id).expect("a node");
    assert!(at("1").action.and_then(Action::tool).is_some());
    assert!(at("2").closed, "a call that was refused leads nowhere");
    // The call on the way is not made again below it.
    let again = proposed(&search).into_iter().filter(|it| it.node.to_string() == "1");
    let again: Vec<_> = again.flat_map(|it| &it.refused).collect();
    assert!(again.contains(&&(0, RefusedAction::EqualAncestor)), "{again:?}");
    let conclusion = search.conclusion();
    assert_eq!(conclusion.frontier[0].origins, [entity("db")], "{conclusion:?}");
}

#[test]
fn a_step_of_a_path_may_call_a_tool() {
    let search = run(SearchConfig::treeseeker(), Calling);
    let answers = answers(&search);
    assert!(!answers.is_empty() && answers.iter().all(|(_, answered)| *answered), "{answers:?}");
    assert_eq!(search.conclusion().frontier[0].origins, [entity("db")]);
}

/// Names a candidate once, and then never again.
struct Forgetful;

impl Roles for Forgetful {
    fn progress<'a>(&'a self, ask: &'a ProgressAsk) -> Reply<'a, Progress> {
        let known = ask.seen.iter().any(|seen| *seen.action.entity() == entity("db"));
        let first = known && ask.candidates.is_empty() && ask.facts.is_empty();
        let candidate = |entity: EntityId| Candidate { entity, because: "it changed".to_owned() };
        Box::pin(async move {
            let progress = PolicyRoles::default().progress(ask).await?.answer;
            let candidates = if first { vec![candidate(entity("web"))] } else { Vec::new() };
            Ok(Progress { candidates, goals: Vec::new(), ..progress }.into())
        })
    }
}

#[test]
fn the_answer_is_drawn_from_all_paths() {
    let search = run(SearchConfig::treeseeker(), Forgetful);
    assert_eq!(search.candidates().iter().filter(|it| it.entity == entity("db")).count(), 0);
    assert_eq!(search.conclusion().frontier[0].origins, [entity("db")], "found on some path");
}

#[test]
fn a_skill_that_is_given_at_once_stands_in_the_index_as_a_whole() {
    let skill = |name: &str, at_once| Skill {
        agent: Specialist::Metrics,
        name: name.to_owned(),
        about: format!("about {name}"),
        body: format!("the text of {name}"),
        at_once,
    };
    let skills = Skills::new(vec![skill("catalogue", true), skill("red", false)]);
    let [tool] = &skills.tools(Specialist::Metrics)[..] else { panic!("one tool") };
    assert!(tool.description.contains("catalogue, in full:\nthe text of catalogue"));
    assert!(tool.description.contains("red: about red"));
    assert!(!tool.description.contains("the text of red"), "that is loaded");
}

#[test]
fn an_initial_prompt_is_one_of_every_profile() {
    for profile in Profile::ALL {
        let config = profile.config().with_initial_prompt("why?").expect("short");
        let read: SearchConfig =
            serde_json::from_value(serde_json::to_value(&config).expect("JSON"))
                .expect("it is one");
        assert_eq!((read.initial_prompt(), read.profile()), (Some("why?"), profile));
    }
}
