//! Questions and answers of one investigation, and what they cost.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::{Mutex, MutexGuard, PoisonError};

use eog_core::EntityId;
use eog_prompts::{ChatRequest, TokenCounter};

/// Fewest tokens of a common beginning that providers keep.
const LEAST_CACHED: u64 = 1_024;

/// What one investigation took.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cost {
    /// Evaluations of entities, those answered from memory included.
    pub(crate) evaluations: u64,
    /// Questions to the model.
    pub(crate) calls: u64,
    /// Tokens of prompts and schemas.
    pub(crate) tokens_in: u64,
    /// Tokens of answers.
    pub(crate) tokens_out: u64,
    /// Of `tokens_in` those that an earlier request began with, too, where they are 1,024 or more.
    pub(crate) cached: u64,
    /// Tokens of the longest prompt with its schema.
    pub(crate) longest: u64,
    /// The origins that explain an alert.
    pub(crate) frontier: BTreeSet<EntityId>,
}

impl Cost {
    /// All tokens.
    pub(crate) fn tokens(&self) -> u64 {
        self.tokens_in + self.tokens_out
    }

    /// All tokens but those that a provider's cache could serve.
    pub(crate) fn uncached(&self) -> u64 {
        self.tokens() - self.cached
    }

    /// Adds what another investigation took; whose frontier is no matter.
    pub(crate) fn add(&mut self, other: &Self) {
        self.evaluations += other.evaluations;
        self.calls += other.calls;
        self.tokens_in += other.tokens_in;
        self.tokens_out += other.tokens_out;
        self.cached += other.cached;
        self.longest = self.longest.max(other.longest);
    }
}

/// Counts questions and answers as they come.
pub(crate) struct Exchanges {
    counter: TokenCounter,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    cost: Cost,
    /// Every request as one text: the most like a new one is its neighbour in order.
    asked: BTreeSet<String>,
    /// Tokens of beginnings that were counted already.
    counted: BTreeMap<String, u64>,
}

impl Exchanges {
    pub(crate) fn new(tokenizer: &str) -> Self {
        Self { counter: TokenCounter::new(tokenizer), state: Mutex::default() }
    }

    /// Notes one question and its answer.
    pub(crate) fn note(&self, request: &ChatRequest, answer: &str) {
        let tokens = self.counter.request(request);
        let mut state = self.state();
        let State { cost, asked, counted } = &mut *state;
        cost.calls += 1;
        cost.tokens_in += tokens;
        cost.tokens_out += self.counter.text(answer);
        cost.longest = cost.longest.max(tokens);
        let text = as_one_text(request);
        let beginning = longest_shared(asked, &text);
        // Each token has a byte or more: what is shorter need not be counted.
        if beginning.len() as u64 >= LEAST_CACHED {
            let counter = self.counter;
            let shared =
                *counted.entry(beginning.to_owned()).or_insert_with(|| counter.text(beginning));
            cost.cached += if shared >= LEAST_CACHED { shared.min(tokens) } else { 0 };
        }
        asked.insert(text);
    }

    /// What all took so far.
    pub(crate) fn cost(&self) -> Cost {
        self.state().cost.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The schema comes first, as it is the same for all questions.
fn as_one_text(request: &ChatRequest) -> String {
    let schema = request.answer.iter().map(|form| form.schema.to_string());
    let messages = request.messages.iter().map(|message| message.text.clone());
    schema.chain(messages).collect::<Vec<_>>().join("\n")
}

/// The longest beginning of a text that any of some texts has, too.
fn longest_shared<'t>(texts: &BTreeSet<String>, text: &'t str) -> &'t str {
    if texts.contains(text) {
        return text;
    }
    let before = texts.range::<str, _>((Unbounded, Excluded(text))).next_back();
    let after = texts.range::<str, _>((Excluded(text), Unbounded)).next();
    let shared = |other: &String| {
        let mut pairs = text.char_indices().zip(other.chars());
        pairs.find(|((_, a), b)| a != b).map_or(text.len().min(other.len()), |((at, _), _)| at)
    };
    let length = before.into_iter().chain(after).map(shared).max().unwrap_or(0);
    text.get(..length).unwrap_or_default()
}
