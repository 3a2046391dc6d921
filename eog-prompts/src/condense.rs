//! Reads contexts that are too long for one prompt in chunks.

use eog_core::{ContextPacket, Usage};

use crate::Prompter;
use crate::phases::{ClassifyEvidence, FilterInput, ItemLine, Scope, change_limit};
use crate::sift::{Sift, SiftBounds, counter};

/// Contexts of more tokens than this are read in chunks, even by models that accept more: in longer
/// prompts, models overlook what is in the middle.
pub const CHUNK_TOKENS: u64 = 80_000;

/// Consecutive chunks overlap by this fraction: one part in so many.
const OVERLAP_PART: u64 = 20;

/// At most this many findings of a chunk are kept.
const CHUNK_CAP: usize = 60;

/// A packet whose findings were read in chunks, and the usage.
#[derive(Clone, Debug)]
pub struct Condensed {
    /// The packet with the findings that matter, in their original order. `context.omitted` says
    /// what is left out, with counts.
    pub packet: ContextPacket,
    /// The usage of all calls.
    pub usage: Usage,
}

/// Reads the findings of a packet in overlapping chunks of at most `chunk_tokens` and keeps those
/// that matter. For each chunk the model sorts findings into causes, effects and context; further
/// rounds among the kept ones follow until they fit into one prompt.
///
/// Meant for packets whose prompt has more than [`CHUNK_TOKENS`], or more than the model accepts. If
/// the findings use less than half a chunk, they are left as they are, because something else is too
/// long then. The result still has to go through [`fit_packet`](crate::fit_packet). Equal packets
/// give equal requests in equal order. If the model cannot judge a chunk, the strongest findings of
/// the chunk are kept, and `context.omitted` says so.
///
/// ```
/// # use std::sync::Arc;
/// # use eog_core::{ContextPacket, EntityId, LocalContext, Window};
/// use eog_prompts::{CHUNK_TOKENS, MockModel, Pack, Prompter, condense_packet};
/// # let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// # let context = LocalContext::default();
/// # let (neighbours, inbox) = (vec![], vec![]);
/// # let packet = ContextPacket { entity: EntityId::new("db")?, window, context, neighbours, inbox, anomalies: Vec::new(), notice: None, former: None, hints: Vec::new(), quoted: Vec::new(), reach: None, case_file: None, queries_left: 0 };
/// let model = MockModel::new("mock/small");
/// let prompter = Prompter::new(Arc::new(Pack::sre()), vec![Arc::new(model)]);
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let condensed = condense_packet(&prompter, &packet, CHUNK_TOKENS).await;
/// assert_eq!(condensed.packet, packet); // There is nothing to read, so no call is made.
/// # });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn condense_packet(
    prompter: &Prompter,
    packet: &ContextPacket,
    chunk_tokens: u64,
) -> Condensed {
    let mut packet = packet.clone();
    let scope = Scope::new(packet.window, &[]);
    let limit = change_limit(packet.context.findings.len());
    let line = |finding| ItemLine::new(finding, &scope.times, String::new(), String::new(), limit);
    let lines: Vec<ItemLine> = packet.context.findings.iter().map(line).collect();
    let page_tokens = chunk_tokens.min(room(prompter)).max(1);
    let keep_tokens = page_tokens / 2;
    if finding_tokens(prompter, &lines) <= keep_tokens {
        return Condensed { packet, usage: Usage::default() };
    }
    let sift = Sift {
        prompter,
        page: FilterInput {
            scope,
            entity: Some(packet.entity.to_string()),
            page: 0,
            pages: 0,
            cap: 0,
            items: Vec::new(),
            left_out: Vec::new(),
        },
        lines: &lines,
        bounds: SiftBounds {
            whole: 0,
            page_items: usize::MAX,
            page_tokens,
            overlap: page_tokens / OVERLAP_PART,
            cap: CHUNK_CAP,
            keep_items: usize::MAX,
            keep_tokens,
        },
        noun: "findings",
    };
    let sifted = sift.run::<ClassifyEvidence>().await;
    let mut kept = sifted.kept.iter().copied().peekable();
    let mut at = 0;
    packet.context.findings.retain(|_| {
        at += 1;
        kept.next_if_eq(&(at - 1)).is_some()
    });
    packet.context.omitted.extend(sifted.left_out);
    packet.context.omitted.extend(
        sifted.failure.map(|why| format!("chosen by strength alone, since no model could: {why}")),
    );
    Condensed { packet, usage: sifted.usage }
}

fn finding_tokens(prompter: &Prompter, lines: &[ItemLine]) -> u64 {
    let counter = counter(prompter);
    lines.iter().map(|line| counter.text(&line.words())).sum()
}

/// How many tokens of the first model's window the lines of a chunk may use: two thirds, because the
/// rest of the prompt needs room, too.
pub(crate) fn room(prompter: &Prompter) -> u64 {
    prompter.room() / 3 * 2
}
