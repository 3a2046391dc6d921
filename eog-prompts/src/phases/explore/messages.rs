//! What neighbours say, as lines.

use eog_core::{Claim, EvidenceId, Finding, Message};
use eog_evidence::mask_text;
use serde::Serialize;

use super::refused::without_account;
use super::subject::{Subject, touches};
use crate::phases::lines::{ClaimPart, Clock, cut, label_word};

/// Most numbers that one message lists.
const MAX_CITED: usize = 12;

/// Most claims that one message shows.
const MAX_CLAIMS: usize = 6;

/// What one neighbour believes.
#[derive(Clone, Debug, Serialize)]
pub(super) struct MessageLine {
    sender: String,
    label: &'static str,
    /// Since when its harm, or its condition, is known to be there; empty where it is not.
    since: String,
    text: String,
    /// Numbers of what it cites, as far as that is shown; of all if nothing is.
    cited: Vec<u32>,
    /// How much more it cites.
    more_cited: usize,
    claims: Vec<ClaimPart>,
    /// How many claims of the sender are not shown.
    other_claims: usize,
}

impl MessageLine {
    /// Whether it says since when.
    pub(super) fn says_since(&self) -> bool {
        !self.since.is_empty()
    }
}

pub(super) fn message_line(
    message: &Message,
    subject: &mut Subject,
    clock: &Clock,
    limit: Option<usize>,
    quoted: &[&Finding],
) -> MessageLine {
    let belief = &message.belief;
    let entity = subject.entity.clone();
    let (about, others): (Vec<_>, Vec<_>) =
        belief.claims.iter().partition(|claim| touches(claim, &entity));
    let about: Vec<_> = about.into_iter().chain(others).take(MAX_CLAIMS).collect();
    let mut ids: Vec<_> = Vec::new();
    for id in belief.evidence.iter().chain(about.iter().flat_map(|claim| &claim.evidence)) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    // A number without its text says nothing, and is shown only where there is no other to cite.
    let is_shown = |id: &EvidenceId| {
        let number = subject.number_of(id).and_then(|number| subject.get(number));
        let is_listed = number.is_some_and(|citable| citable.is_listed);
        is_listed || quoted.iter().any(|finding| finding.id() == id)
    };
    let (shown, others): (Vec<_>, Vec<_>) = ids.into_iter().partition(|id| is_shown(id));
    let (shown, others) = if shown.is_empty() { (others, shown) } else { (shown, others) };
    let cited = shown.iter().take(MAX_CITED).map(|id| subject.number_cited(id)).collect();
    // How it shows on other entities is a message to these.
    let part = |claim: &Claim| {
        let part = ClaimPart::new(claim, limit);
        if touches(claim, &entity) { part } else { part.of_others() }
    };
    MessageLine {
        sender: message.sender.to_string(),
        label: label_word(belief.label),
        since: belief.since.map(|since| clock.interval(since)).unwrap_or_default(),
        text: cut(&mask_text(without_account(&belief.summary)), limit),
        cited,
        more_cited: shown.len().saturating_sub(MAX_CITED) + others.len(),
        other_claims: belief.claims.len() - about.len(),
        claims: about.into_iter().map(part).collect(),
    }
}
