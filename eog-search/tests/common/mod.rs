//! A world in which everything is drawn from a seed, and a driver that answers in any order.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::num::NonZeroU32;

use eog_core::contract::Failure;
use eog_core::machine::Ticket;
use eog_core::{
    Case, ContextPacket, Digest, EntityId, EvidenceKind, Input, LocalContext, Machine, Output,
    Usage,
};
use eog_search::ask::{
    EvaluateAsk, GoalView, LaneAsk, PathView, PlanAsk, ProgressAsk, ProposeAsk, ReactAsk, Seen,
    Status, SteerAsk, Tested, WeighAsk,
};
use eog_search::chain::ChainCame;
use eog_search::lane::{Acts, Came, Evidence, Turn};
use eog_search::{
    Action, Answer, Approach, Ask, Candidate, ChainAction, ChainPhase, Deed, FactChange, Goal,
    GoalProgress, LaneAction, Move, MoveKind, NodeId, PathReport, Phase, PlanAction, PlanChange,
    PlanEdit, Progress, Purpose, Role, SearchBody, SearchConfig, SearchController, Signal,
    Specialist, Steering, ToolAnswer, ToolCall, TreeMem, Verdict,
};
use eog_testkit::{case, entity, finding, healthy, origin, symptom_of, topology};

/// How many entities a world has.
pub(crate) const ENTITIES: u64 = 24;

/// So many of them, from the first on, have an alert, which only they explain.
pub(crate) const ALERTS: u64 = ENTITIES / 2;

/// Everything that is asked has one answer, drawn from the seed and from what the question is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct World {
    pub(crate) seed: u64,
    /// The highest reward or score.
    pub(crate) highest: u64,
    /// In a thousand questions so many fail.
    pub(crate) failing: u64,
    /// Whether as many children are proposed as there may be, each sound.
    pub(crate) full: bool,
    /// Searches by goals finish in so many of forty rounds.
    pub(crate) finishing: u64,
    /// Not before so many entities were evaluated.
    pub(crate) patient: usize,
    /// Whether no goal ever comes closer by as much as progress takes.
    pub(crate) barren: bool,
    /// So many of ten entities appear to be an origin.
    pub(crate) origins: u64,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let (finishing, patient, barren, origins) = (1, 0, false, 1);
        Self { seed, highest: 880, failing: 40, full: false, finishing, patient, barren, origins }
    }

    /// A number below a limit.
    pub(crate) fn draw(&self, what: &str, about: &[EntityId], limit: u64) -> u64 {
        let digest = Digest::of(&(self.seed, what, about)).to_string();
        u64::from_str_radix(&digest[..15], 16).expect("hex digits") % limit
    }

    fn fails(&self, what: &str, about: &[EntityId]) -> bool {
        self.draw(&format!("{what} fails"), about, 1000) < self.failing
    }

    pub(crate) fn name(number: u64) -> EntityId {
        entity(&format!("e{number}"))
    }

    pub(crate) fn case(&self) -> Case {
        let all: Vec<String> = (0..ENTITIES).map(|number| format!("e{number} calls far")).collect();
        let alerts = (0..ALERTS).map(|number| Self::name(number).to_string());
        let alerts = alerts.map(|name| eog_testkit::alert(&name, "Slow", "10:05"));
        let mut case = case(topology(&all.join("; ")), alerts.collect::<Vec<_>>());
        case.seeds.clear();
        case.seeds.push(eog_core::Seed { entity: Self::name(0), reason: "alert".to_owned() });
        case
    }

    /// Whether an evaluation fails, and whether it finds an origin.
    pub(crate) fn look(&self, entity: &EntityId) -> Option<bool> {
        let about = std::slice::from_ref(entity);
        (!self.fails("look", about)).then(|| self.draw("label", about, 10) < self.origins)
    }

    /// Whether an origin is an answer: it explains an alert, its own.
    pub(crate) fn explains(entity: &EntityId) -> bool {
        (0..ALERTS).any(|number| Self::name(number) == *entity)
    }

    /// What is proposed after a path: perhaps what is there already.
    pub(crate) fn propose(&self, path: &[EntityId], at_most: u64) -> Option<Vec<EntityId>> {
        if self.fails("propose", path) {
            return None;
        }
        if self.full {
            let first = self.draw("first", path, ENTITIES);
            let names = (0..ENTITIES).map(|next| Self::name((first + next) % ENTITIES));
            let new = names.filter(|name| !path.contains(name));
            return Some(new.take(usize::try_from(at_most).expect("few")).collect());
        }
        let count = self.draw("count", path, at_most + 2);
        let name = |number: u64| {
            // One in thirty is unknown to all.
            Self::name(self.draw(&format!("child {number}"), path, ENTITIES + 1))
        };
        Some((0..count).map(name).collect())
    }

    pub(crate) fn act(&self, path: &[EntityId]) -> Result<Option<EntityId>, ()> {
        if self.fails("act", path) {
            return Err(());
        }
        let ends = self.draw("ends", path, 6) == 0;
        Ok((!ends).then(|| Self::name(self.draw("next", path, ENTITIES))))
    }

    /// A score; nothing where none can be had.
    pub(crate) fn score(&self, path: &[EntityId], purpose: Purpose) -> Option<u16> {
        let what = format!("{purpose:?}");
        let score = self.draw(&what, path, self.highest + 1);
        (!self.fails(&what, path)).then(|| u16::try_from(score).expect("at most 1000"))
    }

    pub(crate) fn answer(&self, ask: &Ask) -> Result<Answer, Failure> {
        let path = |seen: &[Seen]| -> Vec<EntityId> {
            seen.iter().map(|seen| seen.action.entity().clone()).collect()
        };
        let look = |entity: EntityId| Action::look(entity, "drawn");
        Ok(match &ask.role {
            Role::Context(request) => match self.look(&request.entity) {
                None => return Err(Failure::context("drawn")),
                Some(_) => Answer::Context(LocalContext {
                    findings: vec![
                        finding(request.entity.as_str())
                            .change("pool", "50", "5")
                            .at("10:02")
                            .into(),
                    ],
                    ..LocalContext::default()
                }),
            },
            Role::Decide(packet) if self.is_undecided(packet) => {
                return Err(Failure::policy("nothing was recorded"));
            }
            Role::Decide(packet) => Answer::Decision(match self.look(&packet.entity) {
                Some(true) => origin(packet),
                _ if self.draw("kind", std::slice::from_ref(&packet.entity), 2) == 0 => {
                    symptom_of(packet, "far")
                }
                _ => healthy(packet),
            }),
            Role::Propose(ask) => {
                let ProposeAsk { path: seen, at_most, .. } = &**ask;
                let proposed = self.propose(&path(seen), u64::from(*at_most));
                let proposed = proposed.ok_or_else(|| Failure::policy("drawn"))?;
                Answer::Actions(proposed.into_iter().map(look).collect())
            }
            Role::Act(ask) => {
                let next = self.act(&path(&ask.path)).map_err(|()| Failure::policy("drawn"))?;
                Answer::Action(next.map(look))
            }
            Role::Evaluate(ask) => {
                let EvaluateAsk { path: seen, purpose, .. } = &**ask;
                match self.score(&path(seen), *purpose) {
                    Some(score) => Answer::Verdict(Verdict::new(score, "drawn")),
                    // Unreadable in every other case.
                    None if self.draw("unreadable", &path(seen), 2) == 0 => {
                        Answer::Verdict(Verdict::new(1001, "too much"))
                    }
                    None => return Err(Failure::policy("drawn")),
                }
            }
            Role::Plan(ask) => Answer::Plan(self.plan(ask)),
            Role::Reflect(ask) => {
                let about: Vec<String> = path(&ask.path).iter().map(ToString::to_string).collect();
                Answer::Reflection(about.join(" "))
            }
            Role::Hypothesize(ask) => {
                let path = tested(&ask.path);
                let proposed = self.propose(&path, u64::from(ask.at_most));
                let proposed = proposed.ok_or_else(|| Failure::policy("drawn"))?;
                let hypothesis = |entity| Action::test(entity, "drawn", "drawn");
                Answer::Actions(proposed.into_iter().map(hypothesis).collect())
            }
            Role::Investigate(ask) => Answer::Lane(self.acts(ask)?),
            Role::Call(ask) => {
                let arguments: serde_json::Value =
                    serde_json::from_str(&ask.call.arguments).expect("the world wrote it");
                if ask.call.tool != "get_context" {
                    return Ok(Answer::Tool(Err("there is no such tool".to_owned())));
                }
                let about = entity(arguments["entity"].as_str().expect("a name"));
                if self.look(&about).is_none() {
                    return Err(Failure::context("drawn"));
                }
                let context = ask.agent.sees(evidence(&about));
                let evidence = Some(Evidence { entity: about, context });
                Answer::Tool(Ok(ToolAnswer { text: String::new(), evidence }))
            }
            Role::Weigh(ask) => {
                let WeighAsk { path, known, .. } = &**ask;
                match self.weigh(&tested(path), known.len()) {
                    Some(score) => Answer::Verdict(Verdict::new(score, "drawn")),
                    None => return Err(Failure::policy("drawn")),
                }
            }
            Role::Decompose(ask) => Answer::Goals(match ask.refused {
                None if self.draw("goals go wrong", &[], 6) == 0 => self.wrong_goals(),
                _ if self.fails("decompose", &[]) => return Err(Failure::policy("drawn")),
                _ => self.goals(),
            }),
            Role::Steer(ask) => {
                let failed = self.draw("steer fails", &[], 1000) < self.failing;
                if failed && ask.refused.is_none() {
                    return Err(Failure::policy("drawn"));
                }
                Answer::Steering(self.steering(ask))
            }
            Role::Step(ask) => {
                let seen = ask.path.recent.iter().map(|seen| seen.action.entity().clone());
                let way: Vec<EntityId> = seen.collect();
                let next = self.next_step(ask.path.path.ordinals(), ask.path.selected, way.last());
                Answer::Action(next.map_err(|()| Failure::policy("drawn"))?.map(look))
            }
            Role::Progress(ask) => Answer::Progress(self.progress(ask)),
            Role::React(ask) => Answer::Chain(self.react(ask)?),
            Role::Compact(ask) => {
                if self.draw("summary fails", &[], 10) == 0 {
                    return Err(Failure::policy("drawn"));
                }
                // Every other one is too long.
                let long =
                    ask.at_most as usize * 2 / (1 + usize::from(self.seed.is_multiple_of(2)) * 4);
                Answer::Summary("s".repeat(long))
            }
            other => panic!("no role is asked to {}", other.name()),
        })
    }

    /// What the agent of a chain does after these steps, each about an entity; nothing where it cannot be had.
    pub(crate) fn next_deed(&self, about: &[EntityId], origins: &[EntityId]) -> Option<Deed> {
        if self.draw("react fails", about, 10_000) < self.failing {
            return None;
        }
        let entity = Self::name(self.draw("react at", about, ENTITIES + 1));
        let arguments = serde_json::json!({ "entity": entity });
        Some(match self.draw("react", about, 40) {
            0 => {
                let mut causes = origins.to_vec();
                causes.push(entity);
                Deed::Conclude { causes, summary: "drawn".to_owned() }
            }
            1..=8 => Deed::Call(ToolCall::new("get_context", &arguments)),
            9 => Deed::Call(ToolCall::new("shell", &arguments)),
            _ => Deed::Look(entity),
        })
    }

    fn react(&self, ask: &ReactAsk) -> Result<ChainAction, Failure> {
        let about: Vec<EntityId> =
            ask.steps.iter().map(|step| deed_about(&step.action.deed)).collect();
        let origins = ask.steps.iter().filter_map(|step| match &step.came {
            ChainCame::Looked(seen) if seen.is_origin() => Some(seen.action.entity().clone()),
            _ => None,
        });
        let origins: Vec<EntityId> = origins.collect();
        let deed = self.next_deed(&about, &origins).ok_or_else(|| Failure::policy("drawn"))?;
        let (plan, number) = self.plan_edits(&about);
        let (thought, phase) = ("drawn".to_owned(), ChainPhase::Evidence);
        Ok(ChainAction { thought, phase, plan, step: Some(number), deed })
    }

    /// How the agent of a chain changes its plan after these steps, and the step that it names.
    pub(crate) fn plan_edits(&self, about: &[EntityId]) -> (Vec<PlanEdit>, u32) {
        let drawn = |what: &str| self.draw(what, about, 4);
        let number = u32::try_from(drawn("step of the plan")).expect("small");
        let plan = match drawn("plan") {
            0 => vec![PlanEdit::Add("drawn".to_owned())],
            1 => vec![PlanEdit::Done(number), PlanEdit::Add("drawn".to_owned())],
            2 => vec![PlanEdit::Withdraw(number)],
            _ => Vec::new(),
        };
        (plan, number)
    }

    /// Goals that each need none or one before it, with one to three paths.
    pub(crate) fn goals(&self) -> Vec<Goal> {
        let count = 1 + self.draw("how many goals", &[], 3);
        let goal = |number: u64| {
            let what = |what: &str| format!("{what} of goal {number}");
            let paths = 1 + self.draw(&what("paths"), &[], 3);
            let path = |at: u64| Approach {
                start: Self::name(self.draw(&what(&format!("start {at}")), &[], ENTITIES)),
                approach: format!("way {at}"),
                success: "drawn".to_owned(),
            };
            let need = self.draw(&what("need"), &[], number + 1);
            Goal {
                about: Self::name(number),
                question: "drawn".to_owned(),
                needs: u32::try_from(need).ok().filter(|need| *need > 0).into_iter().collect(),
                paths: (0..paths).map(path).collect(),
            }
        };
        (0..count).map(goal).collect()
    }

    /// Goals that cannot be.
    fn wrong_goals(&self) -> Vec<Goal> {
        let mut goals = self.goals();
        match self.draw("what goes wrong", &[], 4) {
            0 => goals.clear(),
            1 => goals[0].needs = vec![1],
            2 => goals[0].paths.clear(),
            _ => goals[0].about = Self::name(ENTITIES),
        }
        goals
    }

    /// A move on a goal with these open paths, each with how often it was selected: perhaps one that cannot
    /// be made, less often once it was refused.
    pub(crate) fn chosen(
        &self,
        goal: u32,
        open: &[(String, u32)],
        refused: bool,
    ) -> (MoveKind, Vec<String>) {
        let what = |what: &str| format!("{what} of {goal} with {open:?}, {refused}");
        let draw = |purpose: &str, limit: usize| {
            let drawn = self.draw(&what(purpose), &[], limit as u64);
            usize::try_from(drawn).expect("small")
        };
        let one = vec![open[draw("one", open.len())].0.clone()];
        let back = open.iter().find(|(_, selected)| *selected >= 8);
        match (draw("kind", 8), back) {
            // Half of the worlds never go back by themselves.
            (0..=2, Some((path, _))) if self.seed.is_multiple_of(2) => {
                (MoveKind::Backtrack, vec![path.clone()])
            }
            (3, _) => (MoveKind::Backtrack, one),
            (4..=5, _) if open.len() > 1 => {
                let mut paths: Vec<String> = open.iter().map(|(path, _)| path.clone()).collect();
                paths.truncate(2 + draw("two", open.len() - 1));
                (MoveKind::Explore, paths)
            }
            (6, _) => (MoveKind::Explore, one),
            _ => (MoveKind::Exploit, one),
        }
    }

    /// Whether it is finished, with so many candidates and so many evaluations.
    pub(crate) fn is_finished(&self, candidates: usize, seen: usize, round: &[u32]) -> bool {
        let drawn = self.draw(&format!("finished {candidates} {seen} {round:?}"), &[], 40);
        seen >= self.patient && drawn < self.finishing
    }

    fn steering(&self, ask: &SteerAsk) -> Steering {
        let selected = |goal: &GoalView| goal.paths.iter().map(|path| path.selected).sum();
        let counts: Vec<u32> = ask.goals.iter().map(selected).collect();
        if self.is_finished(ask.candidates.len(), ask.seen.len(), &counts) {
            return Steering { finished: true, moves: Vec::new() };
        }
        let moves = ask.active.iter().map(|goal| {
            let view = &ask.goals[*goal as usize - 1];
            let open = view.paths.iter().filter(|path| path.status == Status::Open);
            let open: Vec<(String, u32)> =
                open.map(|path| (path.path.to_string(), path.selected)).collect();
            let (kind, paths) = self.chosen(*goal, &open, ask.refused.is_some());
            let paths: Vec<NodeId> =
                paths.iter().map(|path| path.parse().expect("a path")).collect();
            let said = || "drawn".to_owned();
            let signal = |path: &NodeId| Signal {
                path: path.clone(),
                value: said(),
                uncertainty: said(),
                risk: said(),
            };
            Move { goal: *goal, kind, signals: paths.iter().map(signal).collect(), paths }
        });
        Steering { finished: false, moves: moves.collect() }
    }

    /// What a path evaluates next.
    pub(crate) fn next_step(
        &self,
        path: &[u32],
        selected: u32,
        tip: Option<&EntityId>,
    ) -> Result<Option<EntityId>, ()> {
        let what = |what: &str| format!("{what} on {path:?} after {selected}");
        let about: Vec<EntityId> = tip.cloned().into_iter().collect();
        if self.fails(&what("step"), &about) {
            return Err(());
        }
        let ends = self.draw(&what("nothing left"), &about, 60) == 0;
        Ok((!ends).then(|| Self::name(self.draw(&what("next"), &about, ENTITIES + 1))))
    }

    /// How far a goal is, by how far it was and how much was seen.
    pub(crate) fn ratio(&self, goal: u32, before: u16, seen: usize) -> u16 {
        let rise = self.draw(&format!("rise of {goal} from {before} by {seen}"), &[], 8);
        let rise: u16 = [0, 0, 0, 10, 49, 50, 60, 90][usize::try_from(rise).expect("small")];
        let rise = if self.barren { rise.min(49) } else { rise };
        before.saturating_add(rise).min(1000)
    }

    /// Whether a closed path is rewritten, and whether a goal gets a further one.
    pub(crate) fn changes(&self, what: &str, seen: usize) -> Option<EntityId> {
        let start = Self::name(self.draw(&format!("start of {what}"), &[], ENTITIES + 1));
        (self.draw(&format!("change of {what} by {seen}"), &[], 4) == 0).then_some(start)
    }

    fn progress(&self, ask: &ProgressAsk) -> Progress {
        let seen = ask.seen.len();
        let approach = |start| Approach {
            start,
            approach: "another way".to_owned(),
            success: "drawn".to_owned(),
        };
        let paths = ask.goals.iter().flat_map(|goal| &goal.paths);
        let ran = paths.clone().filter(|path| ask.ran.contains(&path.path));
        let report = |path: &PathView| PathReport {
            path: path.path.clone(),
            summary: "drawn".to_owned(),
            memory: TreeMem { progress: path.path.to_string(), ..TreeMem::default() },
        };
        let reports = ran.map(report).collect();
        let closed = paths.filter(|path| path.status == Status::Closed);
        let rewrite = |path: &PathView| {
            let start = self.changes(&path.path.to_string(), seen)?;
            Some(PlanChange::Rewrite { path: path.path.clone(), approach: approach(start) })
        };
        let add = |goal: &GoalView| {
            let start = self.changes(&format!("goal {}", goal.goal), seen)?;
            Some(PlanChange::Add { goal: goal.goal, approach: approach(start) })
        };
        let plan = closed.filter_map(rewrite).chain(ask.goals.iter().filter_map(add)).collect();
        let goals = ask.goals.iter().map(|goal| GoalProgress {
            goal: goal.goal,
            ratio: self.ratio(goal.goal, goal.ratio, seen),
            summary: "drawn".to_owned(),
        });
        let origins = ask.seen.iter().filter(|seen| seen.is_origin());
        let candidates = origins.map(|seen| Candidate {
            entity: seen.action.entity().clone(),
            because: "drawn".to_owned(),
        });
        // Every other value does not stand in the finding.
        let shown = ask.seen.iter().filter_map(|seen| seen.context()).flat_map(|it| &it.findings);
        let fact = |(at, finding): (usize, &eog_core::Finding)| FactChange {
            revises: None,
            text: "drawn".to_owned(),
            finding: finding.id().clone(),
            values: vec![if at.is_multiple_of(2) { "50" } else { "51" }.to_owned()],
        };
        let known = |finding: &&eog_core::Finding| {
            ask.facts.iter().all(|fact| fact.finding != *finding.id())
        };
        let facts = shown.filter(known).enumerate().map(fact).collect();
        Progress {
            facts,
            candidates: candidates.collect(),
            goals: goals.collect(),
            paths: reports,
            plan,
        }
    }

    /// Whether no decision can be made on what specialists found.
    fn is_undecided(&self, packet: &ContextPacket) -> bool {
        packet.context.findings.is_empty() && self.is_hopeless(&packet.entity)
    }

    pub(crate) fn is_hopeless(&self, entity: &EntityId) -> bool {
        self.draw("undecided", std::slice::from_ref(entity), 3) == 0
    }

    /// How a specialist goes about a hypothesis, given how many findings it knows.
    pub(crate) fn way(&self, agent: Specialist, entity: &EntityId, known: usize) -> u64 {
        self.draw(&format!("{agent} knows {known}"), std::slice::from_ref(entity), 10)
    }

    fn acts(&self, ask: &LaneAsk) -> Result<LaneAction, Failure> {
        let entity = ask.hypothesis.entity();
        let calls: Vec<&Turn> = ask.turns.iter().filter(|turn| turn.is_call()).collect();
        let way = self.way(ask.agent, entity, ask.known.len());
        let arguments = serde_json::json!({ "entity": entity });
        let fetch = || LaneAction::new("drawn", ToolCall::new("get_context", &arguments));
        Ok(match (way, calls.last()) {
            (6, _) => LaneAction::finish("nothing to do"),
            (8, _) => return Err(Failure::policy("drawn")),
            (5, None) => LaneAction::new("drawn", ToolCall::new("shell", &arguments)),
            (_, None) => fetch(),
            (_, Some(Turn::Acted(Acts { came: Came::Answered(answer), .. })))
                if calls.len() < 3 =>
            {
                let held = answer.evidence.iter().flat_map(|it| &it.context.findings);
                let held: Vec<_> = held.map(|finding| finding.id().clone()).collect();
                // What others recorded is no finding of this lane.
                let others = ask.known.iter().map(|known| known.finding.id().clone());
                let ids: Vec<_> = if way == 9 { others.collect() } else { held };
                LaneAction::record("drawn", u32::try_from(calls.len()).expect("few"), &ids)
            }
            (7, Some(_)) => fetch(),
            (5, Some(_)) if calls.len() == 1 => fetch(),
            (_, Some(_)) => LaneAction::finish("done"),
        })
    }

    /// How well evidence supports a hypothesis, given how many findings there are.
    pub(crate) fn weigh(&self, path: &[EntityId], known: usize) -> Option<u16> {
        let what = format!("weigh by {known}");
        let score = self.draw(&what, path, self.highest + 1);
        (!self.fails(&what, path)).then(|| u16::try_from(score).expect("at most 1000"))
    }

    /// Expands all that can be expanded as proposed, holds the rest, and prunes now and then.
    fn plan(&self, ask: &PlanAsk) -> Vec<PlanAction> {
        let (mut actions, mut room) = (Vec::new(), ask.room);
        for node in &ask.expandable {
            let seen = ask.path(node);
            let path: Vec<EntityId> =
                seen.iter().map(|seen| seen.action.entity().clone()).collect();
            let mut taken: Vec<EntityId> = Vec::new();
            for entity in self.children(&path, 4) {
                let is_new = !ask.done_below(node).contains(&entity) && !taken.contains(&entity);
                if is_new && room > 0 {
                    room -= 1;
                    taken.push(entity.clone());
                    let action = Action::look(entity, "drawn").into();
                    actions.push(PlanAction::Expand { parent: node.clone(), action, score: None });
                }
            }
            if taken.is_empty() {
                actions.push(PlanAction::Hold { node: node.clone(), reason: "drawn".to_owned() });
            }
        }
        actions
    }

    /// What a planner gives a node to do: known entities that are not on the path, each once.
    pub(crate) fn children(&self, path: &[EntityId], at_most: u64) -> Vec<EntityId> {
        let mut children: Vec<EntityId> = Vec::new();
        for child in self.propose(path, at_most).unwrap_or_default() {
            let known = child != Self::name(ENTITIES);
            if known && !path.contains(&child) && !children.contains(&child) {
                children.push(child);
            }
        }
        children
    }

    /// Runs a search; answers come in an order that is drawn from another seed.
    pub(crate) fn run(&self, config: SearchConfig, order: u64) -> SearchController {
        let mut search = SearchController::open(config, self.case());
        self.drive(&mut search, order);
        search
    }

    pub(crate) fn drive(&self, search: &mut SearchController, order: u64) {
        self.drive_and(search, order, |_| ());
    }

    /// Shows each question before it is answered.
    pub(crate) fn drive_and(
        &self,
        search: &mut SearchController,
        order: u64,
        mut shown: impl FnMut(&Ask),
    ) {
        let mut open: Vec<(Ticket, Ask)> = Vec::new();
        let mut draws = 0;
        loop {
            match search.poll() {
                Output::Append(entry) => {
                    search.handle(Input::Appended(entry.seq)).expect("in order");
                }
                Output::Ask { ticket, question } => open.push((ticket, question)),
                Output::Done(_) => return,
                Output::Idle => {
                    draws += 1;
                    assert!(!open.is_empty(), "it waits for nothing");
                    let of = World { seed: order, ..*self };
                    let next = of.draw(&draws.to_string(), &[], open.len() as u64);
                    let (ticket, ask) = open.remove(usize::try_from(next).expect("small"));
                    shown(&ask);
                    let input = match self.answer(&ask) {
                        Ok(answer) => Input::Answer(ticket, answer, Usage::default()),
                        Err(failure) => Input::Failed(ticket, failure),
                    };
                    search.handle(input).expect("it was asked");
                }
            }
        }
    }
}

/// A finding for each specialist.
pub(crate) fn evidence(about: &EntityId) -> LocalContext {
    let name = about.as_str();
    LocalContext {
        findings: vec![
            finding(name).change("pool", "50", "5").at("10:02").into(),
            finding(name).kind(EvidenceKind::Metric).at("10:03").into(),
            finding(name).kind(EvidenceKind::Span).at("10:04").into(),
        ],
        ..LocalContext::default()
    }
}

fn tested(path: &[Tested]) -> Vec<EntityId> {
    path.iter().map(|tested| tested.seen.action.entity().clone()).collect()
}

pub(crate) fn wide(width: u32) -> NonZeroU32 {
    NonZeroU32::new(width).expect("not zero")
}

/// One thing more at a time is no other search, whatever is answered first.
pub(crate) fn width_is_one_search(
    world: &World,
    config: &SearchConfig,
    orders: &(impl Iterator<Item = u64> + Clone),
) {
    for width in 1..=8 {
        let run = |order| {
            world.run(config.clone().with_width(wide(width)), order).ledger().to_json_lines()
        };
        let first = run(0);
        for order in orders.clone() {
            assert_eq!(run(order), first, "seed {}, width {width}, order {order}", world.seed);
        }
    }
}

/// A ledger that an earlier program wrote is read, derived again, and concludes the same. Written where it is missing,
/// if `EOG_UPDATE_GOLDEN` is set.
pub(crate) fn golden(name: &str, make: impl FnOnce() -> SearchController) -> SearchController {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-1");
    let path = |ending: &str| folder.join(format!("{name}.{ending}"));
    let (lines, conclusion) = (path("jsonl"), path("conclusion.json"));
    let conclusion_of = |search: &SearchController| {
        serde_json::to_string_pretty(&search.conclusion()).expect("it is JSON") + "\n"
    };
    if std::env::var_os("EOG_UPDATE_GOLDEN").is_some() && !lines.exists() {
        let search = make();
        std::fs::create_dir_all(&folder).expect("it can be made");
        std::fs::write(&lines, search.ledger().to_json_lines()).expect("it can be written");
        std::fs::write(&conclusion, conclusion_of(&search)).expect("it can be written");
    }
    let stored = std::fs::read_to_string(&lines).expect("it is there");
    let ledger = eog_core::Ledger::<SearchBody>::from_json_lines(&stored).expect("it is read");
    let search: SearchController = eog_core::ledger::restore(&ledger).expect("it follows");
    assert_eq!(search.ledger().to_json_lines(), stored);
    assert_eq!(conclusion_of(&search), std::fs::read_to_string(&conclusion).expect("it is there"));
    search
}

/// How many entries of a ledger are of a kind.
pub(crate) fn count(search: &SearchController, is: impl Fn(&SearchBody) -> bool) -> usize {
    search.ledger().entries().iter().filter(|entry| is(&entry.body)).count()
}

/// How many seeds: a sample, or as many as `EOG_SEEDS` says.
pub(crate) fn seeds(sample: u64) -> u64 {
    std::env::var("EOG_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(sample)
}

/// A node of a finished tree, to compare with a model.
pub(crate) type Row = (String, String, Phase, Option<u16>, u32, u64);

pub(crate) fn rows(search: &SearchController) -> Vec<Row> {
    let mut rows: Vec<Row> = search
        .tree()
        .nodes()
        .filter(|node| node.id != NodeId::root())
        .map(|node| {
            let entity = node.action.map_or("", |action| action.entity().as_str()).to_owned();
            (node.id.to_string(), entity, node.phase, node.score, node.visits, node.total)
        })
        .collect();
    rows.sort();
    rows
}

/// The entity that a step of a chain is about.
pub(crate) fn deed_about(deed: &Deed) -> EntityId {
    match deed {
        Deed::Look(entity) => entity.clone(),
        Deed::Call(call) => {
            let arguments: serde_json::Value =
                serde_json::from_str(&call.arguments).expect("the world wrote it");
            entity(arguments["entity"].as_str().expect("a name"))
        }
        Deed::Conclude { .. } => entity("the end"),
    }
}
