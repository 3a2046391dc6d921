//! A world in which everything is drawn from a seed, and a driver that answers in any order.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::num::NonZeroU32;

use eog_core::contract::Failure;
use eog_core::machine::Ticket;
use eog_core::{Case, Digest, EntityId, Input, LocalContext, Machine, Output, Usage};
use eog_search::ask::{EvaluateAsk, PlanAsk, ProposeAsk, Seen};
use eog_search::{
    Action, Answer, Ask, NodeId, Phase, PlanAction, Purpose, Role, SearchConfig, SearchController,
    Verdict,
};
use eog_testkit::{case, entity, finding, healthy, origin, symptom_of, topology};

/// How many entities a world has.
pub(crate) const ENTITIES: u64 = 24;

/// Everything that is asked has one answer, drawn from the seed and from what the question is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct World {
    pub(crate) seed: u64,
    /// The highest reward or score.
    pub(crate) highest: u64,
    /// In a thousand questions so many fail.
    pub(crate) failing: u64,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, highest: 880, failing: 40 }
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
        let mut case = case(topology(&all.join("; ")), [eog_testkit::alert("e0", "Slow", "10:05")]);
        case.seeds.clear();
        case.seeds.push(eog_core::Seed { entity: Self::name(0), reason: "alert".to_owned() });
        case
    }

    /// Whether a look fails, and whether it finds an origin.
    pub(crate) fn look(&self, entity: &EntityId) -> Option<bool> {
        let about = std::slice::from_ref(entity);
        (!self.fails("look", about)).then(|| self.draw("label", about, 10) == 0)
    }

    /// What is proposed after a path: perhaps what is there already.
    pub(crate) fn propose(&self, path: &[EntityId], at_most: u64) -> Option<Vec<EntityId>> {
        if self.fails("propose", path) {
            return None;
        }
        let count = self.draw("count", path, at_most + 2);
        let name = |number: u64| {
            // One in thirty is not known to anybody.
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
            other => panic!("nobody is asked to {}", other.name()),
        })
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

pub(crate) fn wide(width: u32) -> NonZeroU32 {
    NonZeroU32::new(width).expect("not zero")
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
