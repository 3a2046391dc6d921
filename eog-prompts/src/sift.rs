//! Picking from long lists with a model: page by page, then among the winners, until they fit.

use eog_core::Usage;

use crate::phases::{FilterAnswer, FilterInput, ItemLine, Part};
use crate::reduce::{chunk_ranges, next_cap, pages};
use crate::{Phase, PromptError, Prompter, TokenCounter};

/// At most this many rounds are played; after these the list is cut.
const MAX_ROUNDS: usize = 8;

/// A list to pick from, strongest first, and its bounds.
pub(crate) struct Sift<'a> {
    pub(crate) prompter: &'a Prompter,
    /// What every page says beside its lines.
    pub(crate) page: FilterInput,
    pub(crate) lines: &'a [ItemLine],
    pub(crate) bounds: SiftBounds,
    /// What the lines are, for words.
    pub(crate) noun: &'static str,
}

/// Bounds of a list and its pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SiftBounds {
    /// With at most so many lines nothing is picked, if they fit as they are.
    pub(crate) whole: usize,
    /// Most lines of a page.
    pub(crate) page_items: usize,
    /// Most tokens of the lines of a page.
    pub(crate) page_tokens: u64,
    /// How many tokens a page shares with the one before in the first round.
    pub(crate) overlap: u64,
    /// Most picks of a page.
    pub(crate) cap: usize,
    /// Most lines that are left in the end.
    pub(crate) keep_items: usize,
    /// Most tokens that are left in the end.
    pub(crate) keep_tokens: u64,
}

/// What was picked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sifted {
    /// Positions in the list, ascending: in the order of strength.
    pub(crate) kept: Vec<usize>,
    /// How many the model called relevant before any cap; never less than were kept.
    pub(crate) total: usize,
    /// What all calls took.
    pub(crate) usage: Usage,
    /// Why pages were picked by strength alone, if any were.
    pub(crate) failure: Option<String>,
    /// What is left out, in words.
    pub(crate) left_out: Vec<String>,
}

impl Sift<'_> {
    /// Picks.
    pub(crate) async fn run<P>(self) -> Sifted
    where
        P: Phase<Input = FilterInput, Answer = FilterAnswer>,
    {
        let counter = counter(self.prompter);
        let sizes: Vec<u64> = self.lines.iter().map(|line| counter.text(&line.words())).collect();
        let mut game = Game { sift: &self, sizes: &sizes, sifted: Sifted::default() };
        let mut current: Vec<Pick> = (0..self.lines.len()).map(|at| (at, Part::Context)).collect();
        for round in 1..=MAX_ROUNDS {
            // A short list costs least, and loses nothing, when it is shown as it is.
            if game.fits(&current) && (round > 1 || current.len() <= self.bounds.whole) {
                break;
            }
            let winners = game.play::<P>(round, &current).await;
            let stuck = winners.len() >= current.len() && round > 1;
            current = winners;
            if stuck {
                break;
            }
        }
        game.finish(current)
    }
}

/// Counts as the first model does.
pub(crate) fn counter(prompter: &Prompter) -> TokenCounter {
    let first = prompter.models().first();
    TokenCounter::new(first.map_or("", |model| model.info().tokenizer.as_str()))
}

/// A position in the list, and what the finding there can be.
type Pick = (usize, Part);

/// The rounds of one list.
struct Game<'a> {
    sift: &'a Sift<'a>,
    sizes: &'a [u64],
    sifted: Sifted,
}

impl Game<'_> {
    fn fits(&self, picks: &[Pick]) -> bool {
        let bounds = self.sift.bounds;
        let tokens: u64 = picks.iter().map(|(at, _)| self.sizes[*at]).sum();
        picks.len() <= bounds.keep_items && tokens <= bounds.keep_tokens
    }

    /// One round: the winners of every page, in order.
    async fn play<P>(&mut self, round: usize, picks: &[Pick]) -> Vec<Pick>
    where
        P: Phase<Input = FilterInput, Answer = FilterAnswer>,
    {
        let mut open = self.pages_of(round, picks);
        let count = open.len();
        let mut winners: Vec<Pick> = Vec::new();
        let mut page = 0;
        open.reverse();
        while let Some(members) = open.pop() {
            let cap = next_cap(round, members.len(), self.sift.bounds.cap);
            let input = self.input(&members, page.min(count - 1) + 1, count, cap);
            match self.sift.prompter.prompt::<P>(&input) {
                Err(PromptError::TooLong { .. }) if members.len() > 1 => {
                    let (first, second) = members.split_at(members.len() / 2);
                    open.extend([second.to_vec(), first.to_vec()]);
                    continue;
                }
                // A page of one that is too long is passed over; asking says so.
                _ => {}
            }
            page += 1;
            let (picked, total) = self.ask::<P>(&input, &members).await;
            if round == 1 {
                // What two pages share is counted once.
                let again = |(at, _): &&Pick| winners.iter().any(|(known, _)| known == at);
                self.sifted.total += total - picked.iter().filter(again).count().min(total);
            }
            winners.extend(picked);
        }
        // What two pages share may win on both: as the stronger of two parts.
        winners.sort_unstable();
        winners.dedup_by_key(|(at, _)| *at);
        winners
    }

    fn pages_of(&self, round: usize, picks: &[Pick]) -> Vec<Vec<Pick>> {
        let bounds = self.sift.bounds;
        let sizes: Vec<u64> = picks.iter().map(|(at, _)| self.sizes[*at]).collect();
        let ranges = match bounds.overlap {
            overlap if overlap > 0 && round == 1 => {
                chunk_ranges(&sizes, bounds.page_tokens, overlap)
            }
            _ => pages(&sizes, bounds.page_tokens, bounds.page_items),
        };
        ranges.into_iter().map(|range| picks[range].to_vec()).collect()
    }

    /// What wins on a page, and how much was relevant before the cap.
    async fn ask<P>(&mut self, input: &FilterInput, members: &[Pick]) -> (Vec<Pick>, usize)
    where
        P: Phase<Input = FilterInput, Answer = FilterAnswer>,
    {
        // Where a page has failed the others of the list would cost as much and fail as well.
        if self.sifted.failure.is_none() {
            match self.sift.prompter.ask::<P>(input).await {
                Ok(asked) => {
                    self.sifted.usage += Usage::from(asked.usage);
                    let picked = asked.answer.relevant.iter().filter_map(|relevant| {
                        let at = (relevant.number as usize).checked_sub(1)?;
                        Some((members.get(at)?.0, relevant.part))
                    });
                    return (picked.collect(), asked.answer.total_relevant as usize);
                }
                Err(failure) => {
                    self.sifted.usage += failure.usage;
                    self.sifted.failure = Some(failure.message);
                }
            }
        }
        // What an earlier round said of them counts before their strength.
        let mut strongest = members.to_vec();
        strongest.sort_unstable_by_key(|(at, part)| (*part, *at));
        strongest.truncate(input.cap);
        let kept = strongest.len();
        (strongest, kept)
    }

    fn input(&self, members: &[Pick], page: usize, pages: usize, cap: usize) -> FilterInput {
        let numbered = members.iter().enumerate().map(|(number, (at, _))| ItemLine {
            id: format!("[{}]", number + 1),
            ..self.sift.lines[*at].clone()
        });
        FilterInput { page, pages, cap, items: numbered.collect(), ..self.sift.page.clone() }
    }

    /// Cuts what is still too long, and says what is left out.
    fn finish(mut self, mut winners: Vec<Pick>) -> Sifted {
        winners.sort_unstable_by_key(|(at, part)| (*part, *at));
        while !self.fits(&winners) && winners.pop().is_some() {}
        winners.sort_unstable();
        let all = self.sift.lines.len();
        let kept = winners.len();
        self.sifted.total = self.sifted.total.clamp(kept, all);
        if kept < all {
            let total = self.sifted.total;
            self.sifted.left_out.push(format!(
                "{} of {all} {} ({total} were relevant, the best {kept} are kept)",
                all - kept,
                self.sift.noun
            ));
        }
        self.sifted.kept = winners.into_iter().map(|(at, _)| at).collect();
        self.sifted
    }
}
