//! Specialists: what they are offered and shown, how long they may go on, what they can record; gates of
//! hypotheses at the very number.

use crate::common;

use std::sync::{Arc, Mutex};

use common::evidence;
use eog_core::contract::Failure;
use eog_core::machine::drive;
use eog_core::{
    BoxFuture, Case, ContextContract, ContextRequest, Decision, EntityId, EvidenceKind, Label,
    LocalContext, Machine as _, Seed, policy_fn,
};
use eog_search::ask::{CallAsk, HypothesizeAsk, LaneAsk, WeighAsk};
use eog_search::lane::{
    Acts, CUT_SHORT, Came, LaneEnd, RECORD_FINDING, RefusedFinding, Turn, WRAP_UP,
};
use eog_search::planted::{PlantedFault, plant};
use eog_search::roles::Reply;
use eog_search::{
    Action, End, Investigated, LaneAction, NodeId, Phase, Roles, SearchBody, SearchConfig,
    SearchController, SearchResponder, Specialist, ToolAnswer, ToolCall, ToolFailure, ToolSpec,
    Toolset, Verdict,
};
use eog_testkit::{alert, case, claim, entity, origin, symptom_of, topology};
use serde_json::json;

type Specialists = dyn Fn(&LaneAsk, &[ToolSpec]) -> Result<LaneAction, Failure> + Send + Sync;
type Scores = dyn Fn(&WeighAsk) -> Result<Verdict, Failure> + Send + Sync;

/// Roles of closures. Each hypothesis has as many children as it may have.
struct Scripted {
    specialists: Box<Specialists>,
    scores: Box<Scores>,
    asked: Mutex<Vec<LaneAsk>>,
    calls: Mutex<u32>,
}

impl Scripted {
    fn new(
        specialists: impl Fn(&LaneAsk, &[ToolSpec]) -> Result<LaneAction, Failure>
        + Send
        + Sync
        + 'static,
        scores: impl Fn(&WeighAsk) -> Result<Verdict, Failure> + Send + Sync + 'static,
    ) -> Self {
        let (specialists, scores) = (Box::new(specialists), Box::new(scores));
        Self { specialists, scores, asked: Mutex::default(), calls: Mutex::default() }
    }

    fn answer<'a, T: Send + 'a>(&'a self, answer: Result<T, Failure>) -> Reply<'a, T> {
        *self.calls.lock().expect("no holder panicked") += 1;
        Box::pin(async { answer.map(Into::into) })
    }
}

impl Roles for &Scripted {
    fn hypothesize<'a>(&'a self, ask: &'a HypothesizeAsk) -> Reply<'a, Vec<Action>> {
        let tested = ask.path.iter().chain(&ask.others);
        let suspected: Vec<&EntityId> = tested.map(|it| it.seen.action.entity()).collect();
        let names =
            NAMES.map(entity).into_iter().chain((0..20).map(|at| entity(&format!("n{at}"))));
        let new = names.filter(|name| !suspected.contains(&name));
        let all = new.take(ask.at_most as usize);
        self.answer(Ok(all.map(|name| Action::test(name, "what it shows", "why not")).collect()))
    }

    fn investigate<'a>(&'a self, ask: &'a LaneAsk, tools: &'a [ToolSpec]) -> Reply<'a, LaneAction> {
        self.asked.lock().expect("no holder panicked").push(ask.clone());
        self.answer((self.specialists)(ask, tools))
    }

    fn weigh<'a>(&'a self, ask: &'a WeighAsk) -> Reply<'a, Verdict> {
        self.answer((self.scores)(ask))
    }
}

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

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
    let mut topology = topology("a calls b; b calls c; d calls e; e calls f");
    (0..20).for_each(|at| topology.add_entity(entity(&format!("n{at}"))));
    let mut case = case(topology, [alert("a", "Slow", "10:05")]);
    case.seeds = vec![Seed { entity: entity("a"), reason: "alert".to_owned() }];
    case
}

fn defer(_: &eog_core::ContextPacket) -> Decision {
    Decision::new(Label::Defer, "unknown")
}

fn run(config: SearchConfig, roles: &Scripted) -> SearchController {
    let responder = SearchResponder::new(Everything, policy_fn(defer)).with_roles(roles);
    let mut search = SearchController::open(config, incident());
    drive(&mut search, &responder).expect("it follows");
    search
}

fn lanes(search: &SearchController) -> Vec<&Investigated> {
    let entries = search.ledger().entries().iter();
    let lane = entries.filter_map(|entry| match &entry.body {
        SearchBody::Investigated(lane) => Some(&**lane),
        _ => None,
    });
    lane.collect()
}

fn fetch(ask: &LaneAsk) -> LaneAction {
    let arguments = json!({ "entity": ask.hypothesis.entity() });
    LaneAction::new("look", ToolCall::new("get_context", &arguments))
}

/// Fetches and records, then finishes.
fn diligent(ask: &LaneAsk, _: &[ToolSpec]) -> Result<LaneAction, Failure> {
    Ok(match ask.turns.last() {
        None => fetch(ask),
        Some(Turn::Acted(Acts { came: Came::Answered(answer), .. })) => {
            let findings = &answer.evidence.as_ref().expect("a context").context.findings;
            let ids: Vec<_> = findings.iter().map(|finding| finding.id().clone()).collect();
            LaneAction::record("all of it", 1, &ids)
        }
        Some(_) => LaneAction::finish("recorded"),
    })
}

fn scores(score: u16) -> impl Fn(&WeighAsk) -> Result<Verdict, Failure> {
    move |_| Ok(Verdict::new(score, "drawn"))
}

fn one_round() -> SearchConfig {
    SearchConfig::hypotheses().with_rounds(1)
}

fn keeping_scores() -> SearchConfig {
    SearchConfig::hypotheses().with_rescore(false).expect("hypotheses")
}

/// Whether the message came after ten calls and no sooner, and nothing after fifteen.
fn keeps_the_limits(asked: &[LaneAsk], lanes: &[&Investigated]) -> bool {
    let calls = |ask: &LaneAsk| ask.turns.iter().filter(|turn| turn.is_call()).count();
    let asked_to_wrap_up = |ask: &LaneAsk| ask.turns.contains(&Turn::Message(WRAP_UP.to_owned()));
    let ends = |lane: &&Investigated| {
        let calls = lane.turns.iter().filter(|turn| turn.is_call()).count();
        let closed = lane.turns.last() == Some(&Turn::Closed(CUT_SHORT.to_owned()));
        calls == 15 && closed && lane.end == LaneEnd::CutShort
    };
    asked.iter().all(|ask| {
        asked_to_wrap_up(ask) == (calls(ask) >= 10) && ask.left as usize == 15 - calls(ask)
    }) && asked.iter().all(|ask| calls(ask) < 15)
        && lanes.iter().all(ends)
}

#[test]
fn a_specialist_is_asked_to_wrap_up_after_ten_calls_and_ends_after_fifteen() {
    let check = || {
        let roles = Scripted::new(|ask, _| Ok(fetch(ask)), scores(200));
        let search = run(one_round(), &roles);
        let asked = roles.asked.lock().expect("no holder panicked");
        (asked.len(), keeps_the_limits(&asked, &lanes(&search)))
    };
    assert_eq!(check(), (45, true));
    let _planted = plant(PlantedFault::CountsLate);
    assert_eq!(check(), (48, false), "the fault is seen");
}

/// A message comes once, as by a user, and a specialist that follows it finishes by itself.
#[test]
fn wrapping_up_finishes_with_the_eleventh_call() {
    let follows = |ask: &LaneAsk, _: &[ToolSpec]| {
        let is_asked = ask.turns.iter().any(|turn| matches!(turn, Turn::Message(_)));
        Ok(if is_asked { LaneAction::finish("as asked") } else { fetch(ask) })
    };
    let roles = Scripted::new(follows, scores(200));
    for lane in lanes(&run(one_round(), &roles)) {
        assert_eq!((lane.end, lane.turns.len()), (LaneEnd::Finished, 12));
        let messages = lane.turns.iter().filter(|turn| matches!(turn, Turn::Message(_)));
        assert_eq!(messages.count(), 1);
    }
}

/// 18 lanes of 15 calls, 21 evaluations, 6 questions for hypotheses; 19 nodes.
#[test]
fn a_search_that_does_all_it_may_makes_297_calls_of_models() {
    let stubborn = |ask: &LaneAsk, tools: &[ToolSpec]| match ask.turns.len() {
        0 | 1 => diligent(ask, tools),
        _ => Ok(fetch(ask)),
    };
    let roles = Scripted::new(stubborn, scores(840));
    let search = run(SearchConfig::hypotheses().with_width(common::wide(1)), &roles);
    assert_eq!(*roles.calls.lock().expect("no holder panicked"), 18 * 15 + 21 + 6);
    // The last hypothesis is not expanded.
    assert_eq!((search.tree().len(), search.end()), (19, Some(End::Rounds)));
}

#[test]
fn a_hypothesis_is_expanded_above_300_and_accepted_from_850() {
    let children = |score: u16| {
        let roles = Scripted::new(diligent, scores(score));
        let search = run(SearchConfig::hypotheses().with_rounds(2), &roles);
        let below = search.tree().nodes().filter(|node| node.id.depth() == 2).count();
        (below, search.end())
    };
    assert_eq!(children(300), (0, Some(End::Rounds)));
    assert_eq!(children(301), (3, Some(End::Rounds)));
    assert_eq!(children(849), (3, Some(End::Rounds)));
    assert_eq!(children(850), (0, Some(End::Accepted)));
    let _planted = plant(PlantedFault::ExpandsAtGate);
    assert_eq!(children(300), (3, Some(End::Rounds)), "the fault is seen");
}

/// What leads after the first round falls when findings on the second hypothesis come in.
#[test]
fn a_leader_can_fall() {
    let falls = |ask: &WeighAsk| {
        let suspect = ask.path.last().expect("a hypothesis").seen.action.entity().as_str();
        let others = ask.known.iter().any(|known| known.finding.entity.as_str() == "b");
        Ok(Verdict::new(
            match (suspect, others) {
                ("a", false) => 700,
                ("a", true) => 400,
                ("b", _) => 600,
                _ => 100,
            },
            "drawn",
        ))
    };
    let best = |config: SearchConfig, rounds| {
        let roles = Scripted::new(diligent, falls);
        let search = run(config.with_rounds(rounds).with_width(common::wide(1)), &roles);
        search.best().map(|(at, score)| (at.to_string(), score))
    };
    let hypotheses = SearchConfig::hypotheses;
    assert_eq!(best(hypotheses(), 1), Some(("1".to_owned(), 700)));
    assert_eq!(best(hypotheses(), 2), Some(("2".to_owned(), 600)));
    assert_eq!(best(keeping_scores(), 2), Some(("1".to_owned(), 700)));
    let _planted = plant(PlantedFault::KeepsScores);
    assert_eq!(best(hypotheses(), 2), Some(("1".to_owned(), 700)), "the fault is seen");
}

/// A hypothesis without a score is not expanded; one that had a score keeps it, and is marked.
#[test]
fn without_a_score_nothing_is_expanded_and_an_old_score_is_stale() {
    let fails = |ask: &WeighAsk| {
        let suspect = ask.path.last().expect("a hypothesis").seen.action.entity().as_str();
        let others = ask.known.iter().any(|known| known.finding.entity.as_str() == "b");
        match (suspect, others) {
            ("a", false) => Ok(Verdict::new(500, "drawn")),
            ("a", true) => Err(Failure::policy("overloaded")),
            // Evidence that was not recorded, and a score that is none.
            ("b", _) => Ok(Verdict {
                key_evidence: vec![evidence(&entity("f")).findings[0].id().clone()],
                ..Verdict::new(900, "made up")
            }),
            _ => Ok(Verdict::new(1001, "too much")),
        }
    };
    let roles = Scripted::new(diligent, fails);
    let search = run(SearchConfig::hypotheses().with_rounds(3).with_width(common::wide(1)), &roles);
    let node = |id: &str| {
        let id: NodeId = id.parse().expect("a node");
        search.tree().nodes().find(|node| node.id == id).expect("it is there")
    };
    assert_eq!((node("1").phase, node("1").score), (Phase::Scored, Some(500)));
    for id in ["2", "3"] {
        assert_eq!((node(id).phase, node(id).score), (Phase::EvalFailed, None));
    }
    assert!(
        search
            .tree()
            .nodes()
            .all(|node| node.id.ordinals().first() == Some(&1) || node.id.depth() < 2)
    );
    let (verdict, stale) = search.weighed(&"1".parse().expect("a node")).expect("a score");
    assert_eq!((verdict.score, stale), (500, true));
    let failed = search.ledger().entries().iter().filter_map(|entry| match &entry.body {
        SearchBody::Scored(scored) if scored.verdict.is_none() => Some(scored.failures.len()),
        _ => None,
    });
    assert!(failed.clone().count() >= 3 && failed.into_iter().all(|tries| tries == 3));
}

/// Every recorded finding stands in an answer of its own lane.
fn quotes_itself(lane: &Investigated) -> bool {
    let came = lane.turns.iter().filter_map(|turn| match turn {
        Turn::Acted(acts) => Some(&acts.came),
        _ => None,
    });
    let came: Vec<&Came> = came.collect();
    let held = came.iter().filter_map(|came| match came {
        Came::Answered(answer) => answer.evidence.as_ref(),
        _ => None,
    });
    let held: Vec<_> =
        held.flat_map(|it| &it.context.findings).map(eog_core::Finding::id).collect();
    came.iter().all(|came| match came {
        Came::Recorded { findings, .. } => findings.iter().all(|id| held.contains(&id)),
        _ => true,
    })
}

#[test]
fn a_finding_is_quoted_from_an_answer_of_the_own_lane() {
    let poacher = |ask: &LaneAsk, tools: &[ToolSpec]| match (ask.turns.len(), ask.agent) {
        // What metrics recorded, once it is known.
        (1, Specialist::Logs) => {
            let ids: Vec<_> = ask.known.iter().map(|it| it.finding.id().clone()).collect();
            Ok(LaneAction::record("of others", 1, &ids))
        }
        (1, Specialist::Traces) => Ok(LaneAction::record("of no call", 7, &[])),
        _ => diligent(ask, tools),
    };
    let recorded = || {
        let roles = Scripted::new(poacher, scores(200));
        let search = run(one_round().with_width(common::wide(1)), &roles);
        let sound = lanes(&search).into_iter().all(quotes_itself);
        (search, sound)
    };
    let (search, sound) = recorded();
    assert!(sound);
    let stored: Vec<_> = search.findings().iter().map(|it| (it.agent, it.call)).collect();
    assert_eq!(stored, [(Specialist::Metrics, 1)]);
    let stored = &search.findings()[0];
    assert_eq!(stored.made.tool, "get_context");
    assert_eq!(stored.finding.query, "entity=a", "the exact query");
    let all = lanes(&search);
    let came = |lane: &Investigated| match &lane.turns[1] {
        Turn::Acted(acts) => acts.came.clone(),
        other => panic!("{other:?}"),
    };
    let Came::Recorded { findings, refused } = came(all[1]) else { panic!("{:?}", all[1]) };
    assert!(findings.is_empty());
    assert_eq!(refused[0].1, RefusedFinding::NotInAnswer);
    let Came::Refused(reason) = came(all[2]) else { panic!("{:?}", all[2]) };
    assert_eq!(reason, format!("{RECORD_FINDING}: call 7 of this investigation has no answer"));
    let _planted = plant(PlantedFault::QuotesOthers);
    assert!(!recorded().1, "the fault is seen");
}

#[test]
fn a_specialist_sees_what_was_committed_at_dispatch_and_its_own() {
    let known = |width: u32| {
        let roles = Scripted::new(diligent, scores(200));
        run(one_round().with_width(common::wide(width)), &roles);
        let asked = roles.asked.into_inner().expect("no holder panicked");
        let of = |agent: Specialist| {
            let mut counts =
                asked.iter().filter(|ask| ask.agent == agent).map(|ask| ask.known.len());
            let first = counts.next().expect("it was asked");
            assert!(counts.all(|count| count == first), "it does not change within a lane");
            first
        };
        Specialist::ALL.map(of)
    };
    assert_eq!(known(1), [0, 1, 2], "one after the other");
    assert_eq!(known(3), [0, 0, 0], "side by side");
}

#[test]
fn no_specialist_sees_evidence_of_another() {
    let roles = Scripted::new(diligent, scores(840));
    let search = run(SearchConfig::hypotheses(), &roles);
    let kinds: Vec<EvidenceKind> =
        Specialist::ALL.iter().flat_map(|it| it.kinds()).copied().collect();
    assert_eq!(kinds.len(), 7, "each kind belongs to one specialist");
    for ask in roles.asked.into_inner().expect("no holder panicked") {
        for turn in &ask.turns {
            if let Turn::Acted(Acts { came: Came::Answered(answer), .. }) = turn {
                let findings = &answer.evidence.as_ref().expect("a context").context.findings;
                assert_eq!(findings.len(), 1);
                assert!(findings.iter().all(|it| ask.agent.kinds().contains(&it.kind)));
            }
        }
    }
    assert_eq!(search.findings().len(), 18);
}

/// Counts its calls, and fails each.
#[derive(Default)]
struct Broken(Mutex<u32>);

impl Toolset for Broken {
    fn tools(&self, agent: Specialist) -> Vec<ToolSpec> {
        let logs = (agent == Specialist::Logs).then(|| ToolSpec::new("grep_logs", "Lines."));
        // No role takes the place of what the controller does itself.
        logs.into_iter().chain([ToolSpec::new(RECORD_FINDING, "Evil.")]).collect()
    }

    fn call<'a>(&'a self, _: &'a CallAsk) -> BoxFuture<'a, Result<ToolAnswer, ToolFailure>> {
        *self.0.lock().expect("no holder panicked") += 1;
        Box::pin(async { Err(Failure::context("the disk is gone").into()) })
    }
}

#[test]
fn a_tool_that_fails_is_tried_twice_more_and_one_of_another_is_refused() {
    let greps = |ask: &LaneAsk, tools: &[ToolSpec]| {
        let offered = tools.iter().any(|tool| tool.name == "grep_logs");
        assert_eq!(offered, ask.agent == Specialist::Logs);
        assert!(tools.iter().all(|tool| tool.name != RECORD_FINDING));
        Ok(match ask.turns.len() {
            0 => LaneAction::new("grep", ToolCall::new("grep_logs", &json!({}))),
            _ => LaneAction::finish("done"),
        })
    };
    let (roles, tools) = (Scripted::new(greps, scores(200)), Arc::new(Broken::default()));
    let responder = SearchResponder::new(Everything, policy_fn(defer))
        .with_roles(&roles)
        .with_tools(Arc::<Broken>::clone(&tools));
    let mut search = SearchController::open(one_round(), incident());
    drive(&mut search, &responder).expect("it follows");
    assert_eq!(*tools.0.lock().expect("no holder panicked"), 3);
    for lane in lanes(&search) {
        let Turn::Acted(Acts { came, .. }) = &lane.turns[0] else { panic!("{lane:?}") };
        match (lane.agent, came) {
            (Specialist::Logs, Came::Failed(failures)) => assert_eq!(failures.len(), 3),
            (Specialist::Logs, came) => panic!("{came:?}"),
            (_, Came::Refused(reason)) => assert_eq!(
                reason,
                "there is no tool \"grep_logs\"; there are get_context, neighbours, effect_path, \
                 alerts, find_entities, record_finding, finish"
            ),
            (_, came) => panic!("{came:?}"),
        }
        assert_eq!(lane.end, LaneEnd::Finished);
    }
}

#[test]
fn a_specialist_who_cannot_be_had_ends_its_lane_and_no_other() {
    let absent = |ask: &LaneAsk, tools: &[ToolSpec]| match ask.agent {
        Specialist::Traces => Err(Failure::policy("overloaded")),
        _ => diligent(ask, tools),
    };
    let roles = Scripted::new(absent, scores(200));
    let search = run(one_round(), &roles);
    let ends: Vec<_> = lanes(&search).iter().map(|lane| (lane.end, lane.turns.len())).collect();
    assert_eq!(ends, [(LaneEnd::Finished, 3), (LaneEnd::Finished, 3), (LaneEnd::Failed, 3)]);
    assert_eq!(search.findings().len(), 2);
}

#[test]
fn tools_answer_from_the_case() {
    let asks = [
        (
            "neighbours",
            json!({ "entity": "b" }),
            "a: a calls b; effects go to it\nc: b calls c; effects come from it",
        ),
        ("effect_path", json!({ "cause": "c", "affected": "a" }), "c > b > a"),
        (
            "effect_path",
            json!({ "cause": "a", "affected": "f" }),
            "no declared path on which effects travel from a to f",
        ),
        (
            "find_entities",
            json!({ "text": "N1" }),
            "n1\nn10\nn11\nn12\nn13\nn14\nn15\nn16\nn17\nn18\nn19",
        ),
        ("find_entities", json!({ "text": "zebra" }), "none"),
    ];
    let count = asks.len();
    let script = asks.clone();
    let asker = move |ask: &LaneAsk, _: &[ToolSpec]| {
        Ok(match script.get(ask.turns.len()) {
            Some((tool, arguments, _)) => LaneAction::new("ask", ToolCall::new(*tool, arguments)),
            None => LaneAction::finish("done"),
        })
    };
    let roles = Scripted::new(asker, scores(200));
    let search = run(one_round(), &roles);
    for lane in lanes(&search) {
        assert_eq!(lane.turns.len(), count + 1);
        for (turn, (tool, _, expected)) in lane.turns.iter().zip(&asks) {
            let Turn::Acted(Acts { came: Came::Answered(answer), .. }) = turn else {
                panic!("{turn:?}")
            };
            assert_eq!(answer.text, *expected, "{tool}");
        }
    }
}

/// An origin that is suspected at once is joined to its alert by what comes to light later.
#[test]
fn by_rules_an_origin_rises_when_others_join_it_to_an_alert() {
    let judge = |packet: &eog_core::ContextPacket| match packet.entity.as_str() {
        "a" => symptom_of(packet, "b"),
        "b" => symptom_of(packet, "c"),
        _ => origin(packet),
    };
    let run = |config: SearchConfig| {
        let mut case = incident();
        let seed = |name| Seed { entity: entity(name), reason: "a hunch".to_owned() };
        case.seeds = ["c", "b", "a"].map(seed).to_vec();
        let responder = SearchResponder::new(Everything, policy_fn(judge));
        let mut search = SearchController::open(config, case);
        drive(&mut search, &responder).expect("it follows");
        search
    };
    let search = run(SearchConfig::hypotheses());
    let scores = search.ledger().entries().iter().filter_map(|entry| match &entry.body {
        SearchBody::Scored(scored) if scored.at.to_string() == "1" => scored.verdict.as_ref(),
        _ => None,
    });
    assert_eq!(scores.map(|verdict| verdict.score).collect::<Vec<_>>(), [600, 600, 900]);
    assert_eq!(search.end(), Some(End::Accepted));
    let conclusion = search.conclusion();
    assert!(conclusion.unexplained.is_empty(), "what joins it is part of the result");
    assert_eq!(conclusion.frontier[0].origins, [entity("c")]);
    let (verdict, _) = search.weighed(&"1".parse().expect("a node")).expect("a score");
    assert_eq!(verdict.key_evidence.len(), 3, "what specialists recorded");
    let first = run(keeping_scores());
    assert_eq!(first.weighed(&"1".parse().expect("a node")).map(|it| it.0.score), Some(600));
}

/// An origin falls when another hypothesis turns out to explain it.
#[test]
fn by_rules_an_origin_falls_when_another_explains_it() {
    let judge = |packet: &eog_core::ContextPacket| match packet.entity.as_str() {
        "a" => origin(packet),
        _ => origin(packet).claiming(claim("b", "a", &packet.context.findings)),
    };
    let mut case = incident();
    let seed = |name| Seed { entity: entity(name), reason: "a hunch".to_owned() };
    case.seeds = ["a", "b"].map(seed).to_vec();
    let responder = SearchResponder::new(Everything, policy_fn(judge));
    let config = SearchConfig::hypotheses().with_accept(1000).expect("a score").with_rounds(2);
    let mut search = SearchController::open(config, case);
    drive(&mut search, &responder).expect("it follows");
    let score = |id: &str| search.weighed(&id.parse().expect("a node")).map(|it| it.0.score);
    assert_eq!((score("1"), score("2")), (Some(500), Some(900)));
    assert_eq!(search.best().map(|(at, _)| at.to_string()), Some("2".to_owned()));
}

/// Of equal scores the path decides, not the depth.
#[test]
fn of_equal_hypotheses_the_first_by_path_is_the_result() {
    // The first has something below it by then; all have the same score.
    let roles = Scripted::new(diligent, scores(500));
    let search = run(SearchConfig::hypotheses(), &roles);
    let deepest = search.tree().nodes().filter(|node| node.score.is_some());
    assert!(deepest.map(|node| node.id.depth()).max() > Some(1), "nothing was expanded");
    let (best, score) = search.best().expect("there is one");
    assert_eq!((best.to_string().as_str(), score), ("1", 500));
}
