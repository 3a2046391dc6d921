//! Reads a case. Strict: what is not understood is an error with file and line.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::Digest;
use eog_core::contract::{EvidenceQuery, FailureKind, NoticeReason};
use eog_core::evidence::{EvidenceTime, FindingContent, Peer, PeerRole, Signal, Trend};
use eog_core::incident::{Direction, Edge, EffectDirection};
use eog_core::ledger::Observation;
use eog_core::{
    Anomaly, Case, Claim, Config, Decision, EvidenceId, EvidenceKind, Finding, Seed, Topology,
    Window,
};

use super::script::{Condition, Event, Evidence, Happening, Moment, Rule, Run, Script};
use super::settings;
use super::words::{CaseError, Words, edge, entity, label, number, time};

/// Reads the text of a case file; `file` is its name for errors.
pub(crate) fn parse(file: &str, text: &str) -> Result<Script, CaseError> {
    let fail = |line: usize, reason: String| CaseError { file: file.to_owned(), line, reason };
    let last = text.lines().count();
    let Some((input, expected)) = split_at_rule(text) else {
        // A mistake further up explains more than the missing line.
        read(text).map_err(|(line, reason)| fail(line, reason))?;
        return Err(fail(last, "the case ends without a `----` line".to_owned()));
    };
    let reader = read(input).map_err(|(line, reason)| fail(line, reason))?;
    Ok(reader.finish(input, expected))
}

fn split_at_rule(text: &str) -> Option<(&str, &str)> {
    if let Some(split) = text.split_once("\n----\n") {
        let (input, expected) = split;
        return Some((&text[..=input.len()], expected));
    }
    let input = text.strip_suffix("----")?;
    input.ends_with('\n').then_some((input, ""))
}

fn read(input: &str) -> Result<Reader, (usize, String)> {
    let mut reader = Reader::new();
    for (number, line) in (1..).zip(input.lines()) {
        let content = line.split(" # ").next().unwrap_or_default().trim_end();
        if content.trim().is_empty() || content.starts_with('#') {
            continue;
        }
        let read = if content.starts_with(' ') {
            reader.rule_line(content)
        } else {
            reader.close_rule()?;
            reader.statement(content, number)
        };
        read.map_err(|reason| (number, reason))?;
    }
    reader.close_rule()?;
    Ok(reader)
}

struct Reader {
    base: Run,
    runs: Vec<Run>,
    topology: Topology,
    anomalies: Vec<Anomaly>,
    seeds: Vec<Seed>,
    evidence: Vec<Evidence>,
    ids: BTreeMap<String, EvidenceId>,
    rules: Vec<Rule>,
    /// The rule being read: where it begins, and whether its `=>` line was read.
    open: Option<(usize, bool)>,
    failures: BTreeMap<u64, FailureKind>,
    events: Vec<Event>,
}

impl Reader {
    fn new() -> Self {
        let config = Config::default();
        Self {
            base: Run { title: String::new(), config, newest_first: false },
            runs: Vec::new(),
            topology: Topology::default(),
            anomalies: Vec::new(),
            seeds: Vec::new(),
            evidence: Vec::new(),
            ids: BTreeMap::new(),
            rules: Vec::new(),
            open: None,
            failures: BTreeMap::new(),
            events: Vec::new(),
        }
    }

    fn finish(mut self, input: &str, expected: &str) -> Script {
        if self.runs.is_empty() {
            self.runs.push(self.base);
        }
        let window = Window::new(
            time("10:00").expect("a constant time is valid"),
            time("11:00").expect("a constant time is valid"),
        );
        let window = window.expect("a constant window is valid");
        let mut case = Case::from_anomalies(self.topology, window, self.anomalies);
        if !self.seeds.is_empty() {
            case.seeds = self.seeds;
        }
        Script {
            case,
            evidence: self.evidence,
            rules: self.rules,
            failures: self.failures,
            events: self.events,
            runs: self.runs,
            names: self.ids.into_iter().map(|(name, id)| (id, name)).collect(),
            input: input.to_owned(),
            expected: expected.to_owned(),
        }
    }

    fn statement(&mut self, line: &str, number_of_line: usize) -> Result<(), String> {
        let mut words = Words::of(line);
        match words.expect("the line is empty")? {
            "profile" => {
                self.base.config = settings::profile(words.expect("which profile?")?)?;
            }
            "set" => {
                let setting = words.expect("which setting?")?;
                let value = words.expect("which value?")?;
                settings::apply(&mut self.base, setting, value)?;
            }
            "run" => self.run(&mut words)?,
            "entity" => {
                for name in words.until(&[]) {
                    self.topology.add_entity(entity(name)?);
                }
            }
            "edge" => {
                let edge = declared_edge(&mut words)?;
                self.topology.add_edge(edge);
            }
            "alert" => {
                let anomaly = anomaly(&mut words)?;
                self.anomalies.push(anomaly);
            }
            "seed" => {
                for name in words.until(&[]) {
                    self.seeds.push(Seed { entity: entity(name)?, reason: "case".to_owned() });
                }
            }
            "evidence" => self.evidence(&mut words)?,
            "on" => {
                let entity = entity(words.expect("on which entity?")?)?;
                let decision = Decision::new(eog_core::Label::Defer, "");
                self.rules.push(Rule { entity, conditions: Vec::new(), decision });
                self.open = Some((number_of_line, false));
            }
            "fail" => {
                let kind = match words.expect("`fail context|policy at <evaluation>`")? {
                    "context" => FailureKind::ContextFailed,
                    "policy" => FailureKind::PolicyFailed,
                    other => return Err(format!("{other:?} cannot fail; context and policy can")),
                };
                words.take("at");
                let at = number("fail", words.expect("at which evaluation?")?)?;
                self.failures.insert(at, kind);
            }
            what @ ("observe" | "cancel" | "deadline") => self.event(what, &mut words)?,
            other => return Err(format!("there is no statement {other:?}")),
        }
        words.end()
    }

    fn run(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        let pairs = words.until(&[]);
        let mut run = self.base.clone();
        run.title = if pairs.is_empty() {
            "as written".to_owned()
        } else {
            pairs.join(" ").replace(',', "")
        };
        for pair in pairs.chunks(2) {
            let [setting, value] = pair else { return Err("which value?".to_owned()) };
            settings::apply(&mut run, setting, value.trim_end_matches(','))?;
        }
        self.runs.push(run);
        Ok(())
    }

    /// `<name> of <entity> <kind> at <time> [names A B] [along A B] [on page N] [from visit N] [when
    /// new A B] [once observed]`
    fn evidence(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        let usage = "evidence is `evidence <name> of <entity> <kind> at <time> …`";
        let name = words.expect(usage)?;
        words.take("of");
        let owner = entity(words.expect(usage)?)?;
        let kind = kind(words.expect(usage)?)?;
        words.take("at");
        let at = time(words.expect(usage)?)?;
        let (mut from_visit, mut when_new, mut observed_only) = (1, BTreeSet::new(), false);
        let (mut peer, mut page, mut route) = (None, 1, Vec::new());
        while let Some(word) = words.next() {
            match word {
                "names" => {
                    let entity = entity(words.expect("names which entity?")?)?;
                    peer = Some(Peer { entity, role: PeerRole::Mentioned });
                }
                "on" if words.take("page") => {
                    page = number("on page", words.expect("on which page?")?)?;
                }
                "along" => {
                    for hop in words.until(&["on", "from", "names", "once", "when"]) {
                        route.push(entity(hop)?);
                    }
                    route.push(owner.clone());
                }
                "from" if words.take("visit") => {
                    from_visit = number("from visit", words.expect("from which visit?")?)?;
                }
                "when" if words.take("new") => {
                    for sender in words.until(&["from", "names", "once", "on"]) {
                        when_new.insert(entity(sender)?);
                    }
                }
                "once" if words.take("observed") => observed_only = true,
                other => return Err(format!("{other:?} is not understood here")),
            }
        }
        let finding = Finding::new(FindingContent {
            entity: owner,
            kind,
            signal: Signal::Other,
            trend: Trend::Steady,
            time: EvidenceTime::At(at),
            quantity: None,
            change: None,
            peer,
            source: "case".to_owned(),
            query: name.to_owned(),
            excerpt: name.replace('_', " "),
            onset: None,
        });
        if self.ids.insert(name.to_owned(), finding.id().clone()).is_some() {
            return Err(format!("evidence {name:?} is defined twice"));
        }
        let evidence = Evidence { finding, page, route, from_visit, when_new, observed_only };
        self.evidence.push(evidence);
        Ok(())
    }

    fn event(&mut self, what: &str, words: &mut Words<'_>) -> Result<(), String> {
        let moment = match words.expect("when?")? {
            "after" => {
                let word = words.expect("after which entry?")?.trim_end_matches(':');
                let entry = word.parse();
                Moment::After(entry.map_err(|_| format!("{word:?} is not the number of an entry"))?)
            }
            "at" if words.take("end:") || words.take("end") => Moment::AtEnd,
            other => return Err(format!("write `after <entry>` or `at end`, not {other:?}")),
        };
        let what = match what {
            "cancel" => Happening::Cancel,
            "deadline" => Happening::Deadline,
            _ => match words.expect("observe what?")? {
                "alert" => Happening::Observe(Observation::Anomaly(anomaly(words)?), None),
                "edge" => Happening::Observe(Observation::EdgeAdded(declared_edge(words)?), None),
                "no" if words.take("edge") => {
                    Happening::Observe(Observation::EdgeRemoved(declared_edge(words)?), None)
                }
                "evidence" => {
                    let id = self.known_id(words.expect("which evidence?")?)?;
                    let evidence = self.evidence.iter().find(|e| *e.finding.id() == id);
                    let owner = evidence.map(|e| e.finding.entity.clone());
                    let owner = owner.ok_or("unknown evidence cannot be observed")?;
                    Happening::Observe(Observation::NewEvidence(owner), Some(id))
                }
                other => return Err(format!("{other:?} cannot be observed")),
            },
        };
        self.events.push(Event { moment, what });
        Ok(())
    }

    fn close_rule(&mut self) -> Result<(), (usize, String)> {
        match self.open.take() {
            Some((line, false)) => Err((line, "the rule has no `=>` line".to_owned())),
            _ => Ok(()),
        }
    }

    fn rule_line(&mut self, line: &str) -> Result<(), String> {
        let Some((begin, concluded)) = self.open else {
            return Err("an indented line belongs to a rule, and there is none above".to_owned());
        };
        let mut words = Words::of(line);
        if words.take("=>") {
            self.open = Some((begin, true));
            let label = label(words.expect("which label?")?)?;
            let cited = if words.take("citing") { words.until(&[]) } else { Vec::new() };
            let evidence = self.ids_of(&cited)?;
            if let Some(rule) = self.rules.last_mut() {
                rule.decision.label = label;
                rule.decision.summary = format!("{} is {label}", rule.entity);
                rule.decision.evidence = evidence;
            }
        } else if concluded {
            self.conclusion(&mut words)?;
        } else {
            let condition = self.condition(&mut words)?;
            self.rules.last_mut().expect("a rule is open").conditions.push(condition);
        }
        words.end()
    }

    fn condition(&mut self, words: &mut Words<'_>) -> Result<Condition, String> {
        let usage = "a condition is `sees|lacks <evidence>`, `received|missing|near <entity>`, \
                     `<entity> is <label>`, `<entity> claims <cause>><effect>`, `alerts <name>`, \
                     `was <label>`, `news|hint <entity>`, `quotes <evidence>`, \
                     `asked dead_end|second_opinion <count>` or `rival <entity>`";
        let (first, second) = (words.expect(usage)?, words.expect(usage)?);
        Ok(match (first, second) {
            ("sees", name) => Condition::Sees(self.known_id(name)?),
            ("lacks", name) => Condition::Lacks(self.known_id(name)?),
            ("received", name) => Condition::Received(entity(name)?),
            ("missing", name) => Condition::Missing(entity(name)?),
            ("near", name) => Condition::Near(entity(name)?),
            ("alerts", name) => Condition::Alerts(name.to_owned()),
            ("was", name) => Condition::Was(label(name)?),
            ("news", name) => Condition::News(entity(name)?),
            ("hint", name) => Condition::Hint(entity(name)?),
            ("quotes", name) => Condition::Quotes(self.known_id(name)?),
            ("rival", name) => Condition::Rival(entity(name)?),
            ("beside", name) => Condition::Beside(entity(name)?),
            ("unlinked", name) => Condition::Unlinked(entity(name)?),
            ("asked", reason) => {
                let reason = match reason {
                    "dead_end" => NoticeReason::DeadEnd,
                    "second_opinion" => NoticeReason::SecondOpinion,
                    _ => return Err(usage.to_owned()),
                };
                Condition::Asked(reason, number("asked", words.expect(usage)?)?)
            }
            (sender, "is") => Condition::Is(entity(sender)?, label(words.expect(usage)?)?),
            (sender, "claims") => {
                let (cause, effect) = edge(words.expect(usage)?)?;
                Condition::Claims(entity(sender)?, cause, effect)
            }
            _ => return Err(usage.to_owned()),
        })
    }

    fn conclusion(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        let what = words.expect("the line is empty")?;
        let usage = "after `=>` come `claim`, `propose`, `say`, `score` and `next page` lines";
        match what {
            "claim" => {
                let outside = words.take("outside");
                let (cause, effect) = edge(words.expect("claim what?")?)?;
                let cited = if words.take("by") { words.until(&[]) } else { Vec::new() };
                let evidence = self.ids_of(&cited)?;
                let claim = Claim::new(&cause, &effect, "", "").citing_ids(&evidence);
                self.decision()?.claims.push(Claim { outside, ..claim });
            }
            "propose" => {
                for name in words.until(&[]) {
                    let decision = std::mem::replace(
                        self.decision()?,
                        Decision::new(eog_core::Label::Defer, ""),
                    );
                    *self.decision()? =
                        decision.proposing(entity(name)?, Direction::Upstream, "case");
                }
            }
            "search" => {
                let kind = kind(words.expect("search what kind?")?)?;
                if !words.take("of") {
                    return Err("search <kind> of <entity> [for <text>]".to_owned());
                }
                let of = entity(words.expect("search whose records?")?)?;
                let text =
                    if words.take("for") { words.until(&[]).join(" ") } else { String::new() };
                self.decision()?.query = Some(Box::new(EvidenceQuery { entity: of, kind, text }));
            }
            "next" if words.take("page") => self.decision()?.next_page = true,
            "say" => self.decision()?.summary = words.until(&[]).join(" "),
            "score" => {
                let entity = entity(words.expect("score which entity?")?)?;
                let score = number("score", words.expect("which score?")?)?;
                self.decision()?.scores.push(eog_core::contract::CandidateScore { entity, score });
            }
            _ => return Err(usage.to_owned()),
        }
        Ok(())
    }

    fn decision(&mut self) -> Result<&mut Decision, String> {
        let rule = self.rules.last_mut().ok_or("no rule is open")?;
        Ok(&mut rule.decision)
    }

    fn known_id(&self, name: &str) -> Result<EvidenceId, String> {
        self.ids.get(name).cloned().ok_or_else(|| format!("no evidence is named {name:?}"))
    }

    /// Ids of evidence; a name such as `?ghost` stands for an id that nothing has.
    fn ids_of(&mut self, names: &[&str]) -> Result<Vec<EvidenceId>, String> {
        let mut ids = Vec::new();
        for name in names {
            if name.starts_with('?') && !self.ids.contains_key(*name) {
                let hex: String = Digest::of(name).to_string().chars().take(20).collect();
                let id = EvidenceId::try_from(format!("nte-{hex}"));
                self.ids.insert((*name).to_owned(), id.map_err(|error| error.to_string())?);
            }
            ids.push(self.known_id(name)?);
        }
        Ok(ids)
    }
}

/// `<source> <relation> <target> [effects forward|backward|both]`; backward when nothing is said.
fn declared_edge(words: &mut Words<'_>) -> Result<Edge, String> {
    let usage = "an edge is `edge <source> <relation> <target> [effects forward|backward|both]`";
    let source = entity(words.expect(usage)?)?;
    let relation = words.expect(usage)?.to_owned();
    let target = entity(words.expect(usage)?)?;
    let effects = if words.take("effects") {
        match words.expect(usage)? {
            "forward" => EffectDirection::SourceToTarget,
            "backward" => EffectDirection::TargetToSource,
            "both" => EffectDirection::Both,
            _ => return Err(usage.to_owned()),
        }
    } else {
        EffectDirection::TargetToSource
    };
    Ok(Edge { source, target, relation, effects })
}

/// `<name> on <entity> at <time>`
fn anomaly(words: &mut Words<'_>) -> Result<Anomaly, String> {
    let usage = "an alert is `alert <name> on <entity> at <time>`";
    let name = words.expect(usage)?.to_owned();
    words.take("on");
    let entity = entity(words.expect(usage)?)?;
    words.take("at");
    let onset = time(words.expect(usage)?)?;
    Ok(Anomaly {
        name,
        entity,
        signal: Signal::Errors,
        onset,
        renewed: Vec::new(),
        last_seen: None,
        severity: String::new(),
        description: String::new(),
    })
}

fn kind(word: &str) -> Result<EvidenceKind, String> {
    Ok(match word {
        "change" => EvidenceKind::Change,
        "event" => EvidenceKind::Event,
        "metric" => EvidenceKind::Metric,
        "log" => EvidenceKind::Log,
        "span" => EvidenceKind::Span,
        "alert" => EvidenceKind::Alert,
        "note" => EvidenceKind::Note,
        _ => return Err(format!("there is no kind of evidence {word:?}")),
    })
}
