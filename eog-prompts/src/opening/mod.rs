//! The start of an investigation, chosen by a model and checked against the incident.

mod ranked;

use std::collections::BTreeSet;
use std::sync::Arc;

use eog_core::incident::Bootstrap;
use eog_core::{Anomaly, Case, EntityId, Failure, Finding, Seed, Usage, Window};
use eog_evidence::{Incident, StartError, open_case, shorten};

use crate::condense::room;
use crate::phases::{
    Candidate, ChooseSeeds, FilterAnswer, FilterChanges, FilterEvents, FilterInput, MAX_CANDIDATES,
    Scope, SeedFacts, SeedsAnswer, SeedsInput, SelectWindow, WindowAnswer, WindowInput, is_golden,
};
use crate::reduce::largest_fitting;
use crate::sift::{Sift, SiftBounds};
use crate::{Phase, PromptError, Prompter};
use ranked::{Ranked, Ranking};

/// Maximum length of a recorded reason of a model, in characters.
const MAX_REASON: usize = 300;

/// Opens investigations with a model: window, events, changes, entities to start from.
///
/// It has four phases: `select_investigation_window` (skipped if the caller or the incident sets a
/// window, and if all leading alerts fired within an hour, which makes them one incident),
/// `filter_events` and `filter_spec_changes` (skipped if the list can be shown as it is; otherwise
/// page by page, with further rounds until few are left), and `bootstrap`. The choices of a model are checked against the incident: times must
/// lie within the recording, alerts and findings must exist, and there must be a path for effects
/// from each candidate to the alerts that it is to explain. When a phase fails, the choice of
/// [`open_case`] is used instead, and the case says so.
///
/// Requests depend only on the incident: the same incident leads to the same requests in the same
/// order, so that an opening can be resumed from recorded answers without new calls.
///
/// ```
/// use std::sync::Arc;
/// use eog_core::{Anomaly, EntityId};
/// use eog_core::evidence::Signal;
/// use eog_evidence::Incident;
/// use eog_prompts::{MockModel, Opening, Pack, Prompter};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let incident = Incident {
///     anomalies: vec![Anomaly {
///         name: "HighErrorRate".into(),
///         entity: EntityId::new("web")?,
///         signal: Signal::Errors,
///         onset: "2026-01-01T10:00:00Z".parse()?,
///         renewed: vec![],
///         last_seen: None,
///         severity: String::new(),
///         description: String::new(),
///     }],
///     ..Incident::default()
/// };
/// let model = MockModel::new("mock/silent"); // It has no script, so every phase fails.
/// let prompter = Prompter::new(Arc::new(Pack::sre()), vec![Arc::new(model)]);
/// let opened = Opening::new(Arc::new(prompter)).open(&incident, None).await?;
/// assert_eq!(opened.case.seeds[0].entity.as_str(), "web");
/// assert_eq!(opened.fallbacks[0].phase, "bootstrap"); // One alert: there is no window to choose.
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Opening {
    prompter: Arc<Prompter>,
    limits: OpeningLimits,
}

/// Bounds of an opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpeningLimits {
    /// Leading alerts that all fire within less than so many seconds are one incident: its window is
    /// that of [`open_case`], and no model is asked for it. 0: a model is always asked.
    pub one_incident: u32,
    /// A list of at most so many events, or changes, is shown as it is, and no model is asked to
    /// pick from it.
    pub whole: usize,
    /// Maximum number of events or changes on one page.
    pub page_items: usize,
    /// Maximum tokens of the lines on one page.
    pub page_tokens: u64,
    /// Maximum number of events or changes kept from one page.
    pub page_cap: usize,
    /// Maximum number of events, and of changes, kept in the end.
    pub keep: usize,
    /// Maximum number of entities that a model may name to start from.
    pub candidates: usize,
}

impl Default for OpeningLimits {
    fn default() -> Self {
        Self {
            one_incident: 3_600,
            whole: 30,
            page_items: 100,
            page_tokens: 12_000,
            page_cap: 15,
            keep: 30,
            candidates: MAX_CANDIDATES,
        }
    }
}

impl OpeningLimits {
    /// The defaults, but no phase is skipped because its answer is clear: every prompt can be seen.
    pub fn asking_always() -> Self {
        Self { one_incident: 0, whole: 0, ..Self::default() }
    }
}

/// The input of an investigation, and how it was chosen.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OpenedCase {
    /// The whole input of the investigation. Its `bootstrap` records how it was chosen: reasons,
    /// evidence, what was ignored, and, as warnings, what was left out and which phases fell back to
    /// the rules.
    pub case: Case,
    /// The usage of all calls.
    pub usage: Usage,
    /// What was left out for length, in words, each with its phase.
    pub left_out: Vec<String>,
    /// The phases that no model could answer.
    pub fallbacks: Vec<Fallback>,
}

/// A phase that no model could answer, so that the rules made the choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// The phase.
    pub phase: &'static str,
    /// The error of each model.
    pub reason: String,
}

impl Opening {
    /// An opening with these templates and models.
    pub fn new(prompter: Arc<Prompter>) -> Self {
        Self { prompter, limits: OpeningLimits::default() }
    }

    /// The same with other bounds.
    #[must_use]
    pub fn with_limits(self, limits: OpeningLimits) -> Self {
        Self { limits, ..self }
    }

    /// Chooses window and seeds, and builds the case.
    ///
    /// The seeds are those of the model, in its order, followed by every other alerting entity, by
    /// onset, except those whose alerts the model ignored. Only alerts of weaker signals can be
    /// ignored. If there is no alert in the window, no calls are made, and [`open_case`] chooses.
    ///
    /// # Errors
    /// [`StartError`] if there is nothing to start from. A model that fails is not an error.
    pub async fn open(
        &self,
        incident: &Incident,
        window: Option<Window>,
    ) -> Result<OpenedCase, StartError> {
        let mut run =
            Run { opening: self, usage: Usage::default(), left_out: vec![], fallbacks: vec![] };
        let base = run.choose_window(incident, window).await?;
        if base.anomalies.is_empty() {
            return Ok(run.finish(base));
        }
        let mut scope = Scope::new(base.window, &base.anomalies);
        let ranking = Ranking::new(incident, base.window, &scope);
        let events = run.filter::<FilterEvents>(&scope, ranking.events(), "events").await;
        let changes = run.filter::<FilterChanges>(&scope, ranking.changes(), "changes").await;
        let reached = ranking.alerts();
        scope.alerts.reaching(reached);
        let case = run.choose_seeds(incident, base, scope, changes, events).await;
        Ok(run.finish(case))
    }
}

/// One opening under way.
struct Run<'a> {
    opening: &'a Opening,
    usage: Usage,
    left_out: Vec<String>,
    fallbacks: Vec<Fallback>,
}

impl Run<'_> {
    fn prompter(&self) -> &Prompter {
        &self.opening.prompter
    }

    /// The case as it would be without a model, in the window that is chosen.
    async fn choose_window(
        &mut self,
        incident: &Incident,
        given: Option<Window>,
    ) -> Result<Case, StartError> {
        let named = given.is_some() || incident.window.is_some();
        let span = self.opening.limits.one_incident;
        let clear = named || fired_within(&incident.anomalies, span);
        let Some(input) = WindowInput::new(incident).filter(|_| !clear) else {
            return open_case(incident, given);
        };
        self.leave_out(SelectWindow::NAME, input.alerts().left_out());
        let asked = self.prompter().ask::<SelectWindow>(&input).await;
        let asked = asked.map(|asked| (asked.answer, asked.model, asked.usage.into()));
        let Some((answer, model)) = self.note(SelectWindow::NAME, asked) else {
            return open_case(incident, None);
        };
        let case = open_case(incident, answer.window())?;
        let window_reason = window_reason(&input, &answer, &model);
        Ok(Case { bootstrap: Bootstrap { window_reason, ..case.bootstrap }, ..case })
    }

    /// What a filter keeps.
    async fn filter<P>(&mut self, scope: &Scope, ranked: Ranked, noun: &'static str) -> Ranked
    where
        P: Phase<Input = FilterInput, Answer = FilterAnswer>,
    {
        if ranked.lines.is_empty() {
            return ranked;
        }
        let limits = self.opening.limits;
        let room = room(self.prompter());
        let page = FilterInput {
            scope: scope.clone(),
            entity: None,
            page: 0,
            pages: 0,
            cap: 0,
            items: Vec::new(),
            left_out: ranked.left_out.clone(),
        };
        let bounds = SiftBounds {
            whole: limits.whole,
            page_items: limits.page_items,
            page_tokens: limits.page_tokens.min(room),
            overlap: 0,
            cap: limits.page_cap.max(1),
            keep_items: limits.keep,
            keep_tokens: room / 3,
        };
        let sift = Sift { prompter: self.prompter(), page, lines: &ranked.lines, bounds, noun };
        let sifted = sift.run::<P>().await;
        self.usage += sifted.usage;
        let left_out = [ranked.left_out.as_slice(), &sifted.left_out].concat();
        self.leave_out(P::NAME, left_out.clone());
        if let Some(reason) = sifted.failure {
            self.fallbacks.push(Fallback { phase: P::NAME, reason });
        }
        Ranked { left_out, ..ranked.pick(&sifted.kept) }
    }

    /// The seeds of a model in place of those of the case; as they are when it gives none.
    async fn choose_seeds(
        &mut self,
        incident: &Incident,
        base: Case,
        scope: Scope,
        changes: Ranked,
        events: Ranked,
    ) -> Case {
        let facts = SeedFacts {
            topology: incident.topology.clone(),
            changes: changes.groups.clone(),
            events: events.groups.clone(),
        };
        let left_out = [changes.left_out.as_slice(), &events.left_out].concat();
        let known = left_out.len();
        let whole = SeedsInput {
            scope,
            changes: numbered("C", changes),
            events: numbered("E", events),
            left_out,
            most: self.opening.limits.candidates.max(1),
            facts,
        };
        let input = match self.fitted(whole) {
            Ok(input) => input,
            Err(error) => {
                let reason = error.to_string();
                self.fallbacks.push(Fallback { phase: ChooseSeeds::NAME, reason });
                return base;
            }
        };
        self.leave_out(ChooseSeeds::NAME, input.left_out.iter().skip(known).cloned());
        let asked = self.prompter().ask::<ChooseSeeds>(&input).await;
        let asked = asked.map(|asked| (asked.answer, asked.model, asked.usage.into()));
        match self.note(ChooseSeeds::NAME, asked) {
            Some((answer, _)) => with_seeds(base, &input, &answer),
            None => base,
        }
    }

    /// The input with as many of its lines as fit the first model.
    fn fitted(&self, whole: SeedsInput) -> Result<SeedsInput, PromptError> {
        let most = whole.changes.len().max(whole.events.len());
        let cut = |count: usize| whole.clone().cut_to(count);
        let fits = |count: usize| match self.prompter().prompt::<ChooseSeeds>(&cut(count)) {
            Ok(_) => Ok(true),
            Err(PromptError::TooLong { .. }) => Ok(false),
            Err(error) => Err(error),
        };
        Ok(if fits(most)? { whole } else { cut(largest_fitting(most, fits)?) })
    }

    /// Takes the answer and its usage, or notes that the phase falls back.
    fn note<T>(
        &mut self,
        phase: &'static str,
        asked: Result<(T, String, Usage), Failure>,
    ) -> Option<(T, String)> {
        match asked {
            Ok((answer, model, usage)) => {
                self.usage += usage;
                Some((answer, model))
            }
            Err(failure) => {
                self.usage += failure.usage;
                self.fallbacks.push(Fallback { phase, reason: failure.message });
                None
            }
        }
    }

    fn leave_out(&mut self, phase: &str, words: impl IntoIterator<Item = String>) {
        self.left_out.extend(words.into_iter().map(|words| format!("{phase}: {words}")));
    }

    fn finish(self, mut case: Case) -> OpenedCase {
        let fell_back = self.fallbacks.iter().map(|fallback| {
            let Fallback { phase, reason } = fallback;
            let reason = reason.strip_prefix(&format!("{phase}: ")).unwrap_or(reason);
            let reason = shorten(reason, 2 * MAX_REASON);
            format!("{phase}: chosen by the rules, because no model could: {reason}")
        });
        let left_out = self.left_out.iter().map(|words| format!("left out, {words}"));
        case.bootstrap.warnings.extend(fell_back.chain(left_out));
        let Self { usage, left_out, fallbacks, .. } = self;
        OpenedCase { case, usage, left_out, fallbacks }
    }
}

impl SeedsInput {
    /// The same with at most so many changes and so many events; says how many are left out.
    fn cut_to(mut self, count: usize) -> Self {
        for (lines, noun) in [(&mut self.changes, "changes"), (&mut self.events, "events")] {
            let left_out = lines.len().saturating_sub(count);
            if left_out > 0 {
                self.left_out.push(format!("{left_out} of {} {noun}, the weakest", lines.len()));
                lines.truncate(count);
            }
        }
        self.facts.changes.truncate(count);
        self.facts.events.truncate(count);
        self
    }
}

/// Whether all leading alerts (all alerts where none leads) fired within less than so many seconds.
fn fired_within(alerts: &[Anomaly], seconds: u32) -> bool {
    let any_golden = alerts.iter().any(|alert| is_golden(alert.signal));
    let leading = alerts.iter().filter(|alert| is_golden(alert.signal) || !any_golden);
    let onsets: Vec<i64> =
        leading.flat_map(Anomaly::onsets).map(eog_core::Timestamp::as_second).collect();
    let ends = onsets.iter().min().zip(onsets.iter().max());
    ends.is_some_and(|(first, last)| last - first < i64::from(seconds))
}

fn numbered(letter: &str, ranked: Ranked) -> Vec<crate::phases::ItemLine> {
    let mut lines = ranked.lines;
    for (at, line) in lines.iter_mut().enumerate() {
        line.id = format!("{letter}{}", at + 1);
    }
    lines
}

/// Why a window, with the anchors by name.
fn window_reason(input: &WindowInput, answer: &WindowAnswer, model: &str) -> String {
    let anchors = answer.anchors.iter().filter_map(|id| input.alerts().find(id));
    let named: Vec<String> = anchors
        .take(3)
        .map(|alert| {
            format!("{} on {} (since {})", shorten(&alert.name, 80), alert.entity, alert.onset)
        })
        .collect();
    let more = match answer.anchors.len().saturating_sub(named.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let reasoning = shorten(&answer.reasoning, MAX_REASON);
    format!("chosen by {model} around {}{more}: {reasoning}", named.join(", "))
}

/// The case with a model's seeds.
fn with_seeds(base: Case, input: &SeedsInput, answer: &SeedsAnswer) -> Case {
    let Case { topology, window, anomalies, bootstrap, record, case_file, .. } = base;
    let mut ignored = bootstrap.ignored;
    let set_aside = set_aside(input, answer, &mut ignored);
    let (dropped, anomalies): (Vec<Anomaly>, Vec<Anomaly>) =
        anomalies.into_iter().partition(|anomaly| set_aside.contains(&anomaly));
    debug_assert!(dropped.len() >= set_aside.len());

    let mut evidence: Vec<Finding> = Vec::new();
    let mut seeds: Vec<Seed> = Vec::new();
    for candidate in &answer.candidates {
        let Ok(entity) = EntityId::new(candidate.entity.as_str()) else { continue };
        let cited = cited(input, candidate, &entity);
        seeds.push(Seed { entity, reason: seed_reason(input, candidate) });
        for finding in cited {
            if !evidence.iter().any(|known| known.id() == finding.id()) {
                evidence.push(finding);
            }
        }
    }
    seeds.extend(alerting(&anomalies, &seeds));
    let bootstrap = Bootstrap { ignored, evidence, ..bootstrap };
    Case { topology, window, anomalies, seeds, bootstrap, record, case_file }
}

/// The alerts that a model set aside; what it set aside goes to `ignored` with its reasons.
fn set_aside<'a>(
    input: &'a SeedsInput,
    answer: &SeedsAnswer,
    ignored: &mut Vec<String>,
) -> Vec<&'a Anomaly> {
    let mut alerts = Vec::new();
    for item in &answer.ignored {
        let reason = shorten(&item.reason, MAX_REASON);
        if let Some(alert) = input.scope.alerts.find(&item.item) {
            ignored.push(format!("{} on {}: {reason}", shorten(&alert.name, 80), alert.entity));
            alerts.push(alert);
        } else if let Some(finding) = input.findings(&item.item).and_then(<[_]>::first) {
            ignored.push(format!("{} on {}: {reason}", finding.id(), finding.entity));
        }
    }
    alerts
}

/// The findings that a candidate rests on. Of a finding that stands for others the one on the
/// entity itself, where there is one.
fn cited(input: &SeedsInput, candidate: &Candidate, entity: &EntityId) -> Vec<Finding> {
    let groups = candidate.evidence.iter().filter_map(|id| input.findings(id));
    let own = |group: &[Finding]| group.iter().find(|finding| finding.entity == *entity).cloned();
    groups.filter_map(|group| own(group).or_else(|| group.first().cloned())).collect()
}

fn seed_reason(input: &SeedsInput, candidate: &Candidate) -> String {
    let explained = candidate.explains.iter().filter_map(|id| input.scope.alerts.find(id));
    let names: BTreeSet<String> = explained.map(|alert| shorten(&alert.name, 80)).collect();
    let named: Vec<&str> = names.iter().take(3).map(String::as_str).collect();
    let strength = candidate.strength.words();
    let reason = shorten(&candidate.reason, MAX_REASON);
    format!("{strength}, may explain {}: {reason}", named.join(", "))
}

/// Seeds for the alerting entities that no other seed names, by onset.
fn alerting(anomalies: &[Anomaly], seeds: &[Seed]) -> Vec<Seed> {
    let mut sorted: Vec<&Anomaly> = anomalies.iter().collect();
    sorted.sort_by_key(|anomaly| (anomaly.onset, &anomaly.entity, &anomaly.name));
    let mut seeded: BTreeSet<&EntityId> = seeds.iter().map(|seed| &seed.entity).collect();
    let mut more = Vec::new();
    for anomaly in sorted {
        if seeded.insert(&anomaly.entity) {
            let reason = format!("alert {} since {}", shorten(&anomaly.name, 80), anomaly.onset);
            more.push(Seed { entity: anomaly.entity.clone(), reason });
        }
    }
    more
}
