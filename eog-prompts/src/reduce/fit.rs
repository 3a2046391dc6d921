//! Makes packets fit a budget of tokens, whatever they contain.

use std::cmp::Reverse;

use eog_core::incident::Direction;
use eog_core::{Belief, ContextPacket, EvidenceKind, Finding, Label};
use eog_evidence::shorten;

/// Limits on the length of single texts, in characters. They are tried before anything is left out.
const TEXT_LIMITS: [Option<usize>; 3] = [None, Some(1_000), Some(240)];

/// At most this many remarks of the context's source are passed on, and so many characters of each.
const MAX_REMARKS: usize = 8;

/// See [`MAX_REMARKS`].
const REMARK_CHARS: usize = 240;

/// Which parts of a [`ContextPacket`] a prompt shows. Positions are in the packet's own order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketCut {
    /// Positions of the findings.
    pub findings: Vec<usize>,
    /// Positions of the neighbours.
    pub neighbours: Vec<usize>,
    /// Positions of the inbox messages.
    pub messages: Vec<usize>,
    /// Positions of the other entities that the context mentions.
    pub mentions: Vec<usize>,
    /// Whether the case file is shown, if there is one.
    pub case_file: bool,
    /// At most this many characters of any single text are shown.
    pub text_limit: Option<usize>,
    /// What is not shown, in words: what the source of the context left out, then what this cut
    /// leaves out, with counts. For the prompt and the record.
    pub omitted: Vec<String>,
}

impl PacketCut {
    /// All of a packet, with the first few remarks of the source on what it left out.
    pub fn whole(packet: &ContextPacket) -> Self {
        Self::of(packet, &Units::of(packet).0, None, true)
    }

    /// Whether the whole packet is shown unchanged.
    pub fn is_whole(&self, packet: &ContextPacket) -> bool {
        self.case_file
            && self.text_limit.is_none()
            && self.findings.len() == packet.context.findings.len()
            && self.neighbours.len() == packet.neighbours.len()
            && self.messages.len() == packet.inbox.len()
            && self.mentions.len() == packet.context.mentions.len()
    }

    fn of(
        packet: &ContextPacket,
        units: &[Unit],
        text_limit: Option<usize>,
        case_file: bool,
    ) -> Self {
        let mut cut = Self {
            findings: Vec::new(),
            neighbours: Vec::new(),
            messages: Vec::new(),
            mentions: Vec::new(),
            case_file,
            text_limit,
            omitted: Vec::new(),
        };
        for unit in units {
            match *unit {
                Unit::Finding(at) => cut.findings.push(at),
                Unit::Neighbour(at) => cut.neighbours.push(at),
                Unit::Message(at) => cut.messages.push(at),
                Unit::Mention(at) => cut.mentions.push(at),
            }
        }
        for kept in [&mut cut.findings, &mut cut.neighbours, &mut cut.messages, &mut cut.mentions] {
            kept.sort_unstable();
        }
        cut.omitted = remarks(packet, &cut);
        cut
    }
}

/// Why a packet cannot be made to fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit<E> {
    /// Even the empty packet is too long.
    #[error(
        "the prompt has {needs} tokens without any evidence, but only {budget} are allowed: use a \
         model with a larger context window, or shorten the templates"
    )]
    TooLong {
        /// Tokens of the request without any evidence.
        needs: u64,
        /// Allowed tokens.
        budget: u64,
    },
    /// The size could not be determined.
    #[error(transparent)]
    Size(#[from] E),
}

/// Finds how much of a packet can be shown if the request may have `budget` tokens.
///
/// `size` returns the tokens of the whole request for a cut; the returned cut was measured with it.
/// First the case file is left out, then long texts are shortened; then parts are left out, weakest first: the mentioned entities,
/// then, in turns, the last findings, the least informative messages (Healthy before Defer before
/// Symptom before Origin, those without a claim about the entity first), and the downstream
/// neighbours. What remains keeps its order.
///
/// # Errors
/// [`Unfit`] if even the empty packet is too long, or the size cannot be determined.
///
/// ```
/// use eog_core::{ContextPacket, EntityId, LocalContext};
/// use eog_prompts::fit_packet;
/// let window = eog_core::Window::new(
///     "2026-01-01T10:00:00Z".parse()?,
///     "2026-01-01T11:00:00Z".parse()?,
/// )?;
/// let mentions = ["a", "b", "c"].map(|name| EntityId::new(name).expect("a name")).to_vec();
/// let context = LocalContext { mentions, ..LocalContext::default() };
/// let packet = ContextPacket {
///     entity: EntityId::new("db")?,
///     window,
///     context,
///     neighbours: vec![],
///     inbox: vec![],
///     anomalies: Vec::new(),
///     notice: None,
///     former: None,
///     hints: Vec::new(),
///     quoted: Vec::new(),
///     reach: None,
///     case_file: None,
///     queries_left: 0,
/// };
/// let cut = fit_packet(&packet, 12, |cut| Ok::<_, std::fmt::Error>(10 + cut.mentions.len() as u64))?;
/// assert_eq!(cut.mentions, [0, 1]);
/// assert_eq!(cut.omitted, ["1 of 3 other entities mentioned"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fit_packet<E>(
    packet: &ContextPacket,
    budget: u64,
    mut size: impl FnMut(&PacketCut) -> Result<u64, E>,
) -> Result<PacketCut, Unfit<E>> {
    let Units(units) = Units::of(packet);
    let mut text_limit = None;
    // The local evidence is what is asked about: the case file goes before any of it.
    let with_case_file = TEXT_LIMITS.iter().take(1).filter(|_| packet.case_file.is_some());
    let ways =
        with_case_file.map(|limit| (*limit, true)).chain(TEXT_LIMITS.map(|limit| (limit, false)));
    for (limit, case_file) in ways {
        let cut = PacketCut::of(packet, &units, limit, case_file || packet.case_file.is_none());
        if size(&cut)? <= budget {
            return Ok(cut);
        }
        text_limit = limit;
    }
    let without_case_file = packet.case_file.is_none();
    let nothing = PacketCut::of(packet, &[], text_limit, without_case_file);
    let needs = size(&nothing)?;
    if needs > budget {
        return Err(Unfit::TooLong { needs, budget });
    }
    let kept = largest_fitting(units.len(), |count| {
        Ok::<_, E>(
            size(&PacketCut::of(packet, &units[..count], text_limit, without_case_file))? <= budget,
        )
    })?;
    Ok(PacketCut::of(packet, &units[..kept], text_limit, without_case_file))
}

/// The largest count up to `most` that fits, found by halving. Zero is taken to fit; the count
/// that is returned was tested otherwise.
pub(crate) fn largest_fitting<E>(
    most: usize,
    mut fits: impl FnMut(usize) -> Result<bool, E>,
) -> Result<usize, E> {
    let (mut fitting, mut beyond) = (0, most + 1);
    while fitting + 1 < beyond {
        let middle = fitting + (beyond - fitting) / 2;
        if fits(middle)? {
            fitting = middle;
        } else {
            beyond = middle;
        }
    }
    Ok(fitting)
}

/// One part of a packet that is shown or not.
#[derive(Clone, Copy)]
enum Unit {
    Finding(usize),
    Neighbour(usize),
    Message(usize),
    Mention(usize),
}

/// The parts of a packet, those to keep longest first.
struct Units(Vec<Unit>);

impl Units {
    fn of(packet: &ContextPacket) -> Self {
        let findings = packet.context.findings.len();
        let (messages, neighbours) = (messages_by_weight(packet), neighbours_by_weight(packet));
        let rounds = findings.div_ceil(2).max(messages.len()).max(neighbours.len());
        let mut units = Vec::new();
        for round in 0..rounds {
            let two = (2 * round..2 * round + 2).filter(|at| *at < findings);
            units.extend(two.map(Unit::Finding));
            units.extend(messages.get(round).copied().map(Unit::Message));
            units.extend(neighbours.get(round).copied().map(Unit::Neighbour));
        }
        units.extend((0..packet.context.mentions.len()).map(Unit::Mention));
        Self(units)
    }
}

fn messages_by_weight(packet: &ContextPacket) -> Vec<usize> {
    let mut order: Vec<usize> = (0..packet.inbox.len()).collect();
    order.sort_by_key(|at| {
        let belief = &packet.inbox[*at].belief;
        let about_us = belief
            .claims
            .iter()
            .any(|claim| claim.cause == packet.entity || claim.effect == packet.entity);
        let label = match belief.label {
            Label::Origin => 0,
            Label::Symptom => 1,
            Label::Defer => 2,
            Label::Healthy => 3,
        };
        (Reverse(about_us), label, *at)
    });
    order
}

fn neighbours_by_weight(packet: &ContextPacket) -> Vec<usize> {
    let mut order: Vec<usize> = (0..packet.neighbours.len()).collect();
    order.sort_by_key(|at| (packet.neighbours[*at].direction == Direction::Downstream, *at));
    order
}

/// What a cut does not show, in words.
fn remarks(packet: &ContextPacket, cut: &PacketCut) -> Vec<String> {
    let theirs = &packet.context.omitted;
    let mut words: Vec<String> =
        theirs.iter().take(MAX_REMARKS).map(|remark| shorten(remark, REMARK_CHARS)).collect();
    if theirs.len() > words.len() {
        words.push(format!("{} more remarks on what is missing", theirs.len() - words.len()));
    }
    if packet.case_file.is_some() && !cut.case_file {
        words.push("what stands out in the incident as a whole".to_owned());
    }
    let findings = packet.context.findings.len();
    if cut.findings.len() < findings {
        let left_out = findings - cut.findings.len();
        let kinds = kinds_left_out(packet, cut);
        words.push(format!("{left_out} of {findings} findings, the weakest ({kinds})"));
    }
    let counts = [
        (cut.messages.len(), packet.inbox.len(), "messages of neighbours"),
        (cut.neighbours.len(), packet.neighbours.len(), "neighbours"),
        (cut.mentions.len(), packet.context.mentions.len(), "other entities mentioned"),
    ];
    for (kept, all, noun) in counts {
        if kept < all {
            words.push(format!("{} of {all} {noun}", all - kept));
        }
    }
    if let Some(limit) = cut.text_limit.filter(|limit| is_any_longer(packet, cut, *limit)) {
        words.push(format!("what is longer than {limit} characters in any one text"));
    }
    words
}

/// Whether a limit on the length of texts takes anything from what is shown.
fn is_any_longer(packet: &ContextPacket, cut: &PacketCut, limit: usize) -> bool {
    let longer = |text: &String| text.chars().nth(limit).is_some();
    let findings = cut.findings.iter().filter_map(|at| packet.context.findings.get(*at));
    let of_finding = |finding: &Finding| {
        let change = finding.change.as_ref().is_some_and(|change| {
            longer(&change.path) || change.old.iter().chain(&change.new).any(longer)
        });
        change || longer(&finding.excerpt)
    };
    let messages = cut.messages.iter().filter_map(|at| packet.inbox.get(*at));
    let of_message = |belief: &Belief| {
        let claims = &belief.claims;
        let claimed =
            claims.iter().any(|claim| longer(&claim.condition) || longer(&claim.observed));
        claimed || longer(&belief.summary)
    };
    findings.into_iter().any(of_finding)
        || messages.into_iter().any(|from| of_message(&from.belief))
}

/// Such as `metrics: 5, logs: 3`.
fn kinds_left_out(packet: &ContextPacket, cut: &PacketCut) -> String {
    let all = &packet.context.findings;
    let kinds = [
        (EvidenceKind::Change, "changes"),
        (EvidenceKind::Event, "events"),
        (EvidenceKind::Metric, "metrics"),
        (EvidenceKind::Log, "logs"),
        (EvidenceKind::Span, "spans"),
        (EvidenceKind::Alert, "alerts"),
        (EvidenceKind::Note, "notes"),
    ];
    let counted = kinds.iter().filter_map(|(kind, noun)| {
        let total = all.iter().filter(|finding| finding.kind == *kind).count();
        let kept = cut.findings.iter().filter(|at| all[**at].kind == *kind).count();
        (total > kept).then(|| format!("{noun}: {}", total - kept))
    });
    counted.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use eog_core::evidence::Signal;
    use eog_testkit::{finding, packet};
    use proptest::prelude::*;

    use super::*;

    /// A plain rendering, to have sizes that depend on everything shown.
    fn rendered(packet: &ContextPacket, cut: &PacketCut) -> String {
        let short = |text: &str| text.chars().take(cut.text_limit.unwrap_or(usize::MAX)).collect();
        let findings = cut.findings.iter().map(|at| &packet.context.findings[*at].excerpt);
        let messages = cut.messages.iter().map(|at| &packet.inbox[*at].belief.summary);
        let mut lines: Vec<String> = findings.chain(messages).map(|text| short(text)).collect();
        let neighbours = cut.neighbours.iter().map(|at| &packet.neighbours[*at].entity);
        let mentions = cut.mentions.iter().map(|at| &packet.context.mentions[*at]);
        lines.extend(neighbours.chain(mentions).map(ToString::to_string));
        lines.extend(cut.omitted.iter().cloned());
        lines.join("\n")
    }

    fn events(count: usize, excerpt: &str) -> Vec<Finding> {
        let event = |at| finding("db").signal(Signal::Errors).excerpt(&format!("{at} {excerpt}"));
        (0..count).map(|at| event(at).build()).collect()
    }

    fn fitted(packet: &ContextPacket, budget: u64) -> PacketCut {
        let size = |cut: &PacketCut| Ok::<u64, String>(rendered(packet, cut).len() as u64);
        fit_packet(packet, budget, size).expect("it fits")
    }

    fn sample() -> ContextPacket {
        let mut sample = packet("db")
            .caller("web")
            .callee("disk")
            .message("web", Label::Healthy, "all is well")
            .message("disk", Label::Origin, "it is full")
            .build();
        sample.context.findings = events(20, "connection refused");
        sample.context.omitted = vec!["40 log lines".into()];
        sample
    }

    #[test]
    fn what_fits_is_shown_whole() {
        let sample = sample();
        let cut = fitted(&sample, 100_000);
        assert_eq!(cut, PacketCut::whole(&sample));
        assert!(cut.is_whole(&sample));
        assert_eq!(cut.omitted, ["40 log lines"]);
    }

    #[test]
    fn the_strongest_stays_and_what_is_left_out_is_said() {
        let sample = sample();
        let cut = fitted(&sample, 320);
        assert!(!cut.findings.is_empty() && cut.findings.len() < 20, "{cut:?}");
        assert!(cut.findings.iter().copied().eq(0..cut.findings.len()));
        let left_out = 20 - cut.findings.len();
        let said = format!("{left_out} of 20 findings, the weakest (events: {left_out})");
        assert_eq!(cut.omitted[..2], ["40 log lines".to_owned(), said]);
        assert!(!cut.is_whole(&sample));
    }

    #[test]
    fn messages_that_say_most_stay_longest() {
        let sample = sample();
        let cut = fitted(&sample, 160);
        let senders: Vec<&str> =
            cut.messages.iter().map(|at| sample.inbox[*at].sender.as_str()).collect();
        assert_eq!(senders, ["disk"]);
        assert!(cut.omitted.iter().any(|words| words == "1 of 2 messages of neighbours"));
    }

    #[test]
    fn long_texts_are_shortened_before_anything_is_left_out() {
        let mut sample = sample();
        sample.context.findings = events(4, &"x".repeat(5_000));
        let cut = fitted(&sample, 6_000);
        assert_eq!((cut.text_limit, cut.findings.len()), (Some(1_000), 4));
        assert!(cut.omitted.iter().any(|words| words.contains("1000 characters")));
    }

    #[test]
    fn a_frame_that_is_too_long_is_an_error_with_both_numbers() {
        let error = fit_packet(&sample(), 99, |_| Ok::<u64, String>(100)).unwrap_err();
        assert_eq!(error, Unfit::TooLong { needs: 100, budget: 99 });
        assert!(error.to_string().contains("100 tokens"), "{error}");
        let broken = fit_packet(&sample(), 99, |_| Err("no template".to_owned()));
        assert_eq!(broken.unwrap_err().to_string(), "no template");
    }

    #[test]
    fn remarks_of_the_source_are_bounded() {
        let mut sample = sample();
        sample.context.omitted = vec!["y".repeat(10_000); 500];
        let words = PacketCut::whole(&sample).omitted;
        assert_eq!(words.len(), MAX_REMARKS + 1);
        assert!(words.iter().all(|word| word.chars().count() <= REMARK_CHARS + 1));
        assert_eq!(words[MAX_REMARKS], "492 more remarks on what is missing");
    }

    proptest! {
        #[test]
        fn packets_always_fit(
            lengths in prop::collection::vec(0_usize..3_000, 0..40),
            neighbours in 0_usize..30,
            budget in 260_u64..20_000,
        ) {
            let mut built = packet("db");
            for at in 0..neighbours {
                built = built
                    .callee(&format!("n{at:02}"))
                    .message(&format!("n{at:02}"), Label::Symptom, &"z".repeat(at * 9));
            }
            let mut sample = built.build();
            let text = |length: &usize| events(1, &"q".repeat(*length)).remove(0);
            sample.context.findings = lengths.iter().map(text).collect();
            let cut = fitted(&sample, budget);
            prop_assert!(rendered(&sample, &cut).len() as u64 <= budget);
            prop_assert!(cut.findings.iter().copied().eq(0..cut.findings.len()));
            let left_out = lengths.len() - cut.findings.len();
            let said = format!("{left_out} of {} findings", lengths.len());
            let is_said = cut.omitted.iter().any(|words| words.starts_with(&said));
            prop_assert_eq!(left_out > 0, is_said);
        }
    }
}
