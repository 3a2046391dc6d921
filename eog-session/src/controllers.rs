//! The controllers that users can choose, and what belongs to one of them. A further controller is one
//! implementation of [`Investigator`] and one line in `controllers!`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use eog::controller::{AskAgain, Briefing, EntryBody};
use eog::incident::CaseFile;
use eog::journal::{CutTail, JournalError, Medium};
use eog::ledger::{Body, ForkChanges, LedgerError, Observation, RestoreError};
use eog::machine::{OfMachine, Responder};
use eog::side::SideError;
use eog::{
    AbductivePolicy, Budget, Case, Conclusion, Config, ContextContract, Controller, Diagnosis,
    EntityId, Entry, Finished, Journal, Ledger, Linear, LinearConfig, Machine, SpeculationFigures,
    Spent, StopReason,
};
use eog_report::{Described, Step};
use eog_search::{
    PolicyRoles, Profile, Roles, SearchConfig, SearchController, SearchResponder, Toolset,
};
use serde::{Deserialize, Serialize};

/// What a tree search uses beside contract and policy.
#[derive(Default)]
pub struct Helpers {
    /// The roles, if rules are not to play them.
    pub roles: Option<Box<dyn Roles>>,
    /// Tools for specialists, beside those of the contract. Of equal names the first counts.
    pub tools: Vec<Arc<dyn Toolset>>,
}

/// A machine that investigates incidents.
pub trait Investigator:
    Machine<Body: Described + Body<Settings = <Self as Machine>::Settings>>
{
    /// What users call a machine with these settings.
    fn name(settings: &Self::Settings) -> ControllerName;

    /// The settings that hold after an entry, with the name of the policy.
    fn settings_at(ledger: &Ledger<Self::Body>, at: u64) -> Option<Self::Settings> {
        let until = ledger.entries().iter().take_while(|entry| entry.seq <= at);
        let settings = until.fold(None, |before, entry| {
            let opened = entry.body.opened().map(|opened| &opened.config);
            let forked = entry.body.forked().and_then(|forked| forked.changes.config.as_ref());
            opened.or(forked).or(before)
        });
        settings.cloned()
    }

    /// An entry of it as one of any controller.
    fn entry(entry: Arc<Entry<Self::Body>>) -> AnyEntry;

    /// Answers its questions.
    type Responder<C: ContextContract, P: AbductivePolicy>: Responder<Self::Question>;

    /// Answers by this contract and this policy; a tree search also uses the helpers.
    fn responder<C: ContextContract, P: AbductivePolicy>(
        contract: C,
        policy: P,
        helpers: Helpers,
    ) -> Self::Responder<C, P>;
}

/// The policy after an entry, if the ledger names it.
pub fn judge_at<B: Body>(ledger: &Ledger<B>, at: u64) -> Option<&str> {
    ledger.entries().iter().take_while(|entry| entry.seq <= at).fold(None, |before, entry| {
        let opened = entry.body.opening().and_then(|opening| opening.policy);
        let forked = entry.body.fork().and_then(|fork| fork.policy);
        opened.or(forked).or(before)
    })
}

macro_rules! by_policy {
    ($($controller:ident, $settings:ty: $name:ident;)*) => {$(
        impl Investigator for $controller {
            fn name(_: &$settings) -> ControllerName {
                ControllerName::$name
            }

            fn entry(entry: Arc<Entry<Self::Body>>) -> AnyEntry {
                AnyEntry::$name(entry)
            }

            type Responder<C: ContextContract, P: AbductivePolicy> = Self::ByPolicy<C, P>;

            fn responder<C: ContextContract, P: AbductivePolicy>(
                contract: C,
                policy: P,
                _helpers: Helpers,
            ) -> Self::ByPolicy<C, P> {
                Self::by_policy(contract, policy)
            }
        }
    )*};
}

by_policy! {
    Controller, Config: Eog;
    Linear, LinearConfig: Linear;
}

impl Investigator for SearchController {
    fn name(settings: &SearchConfig) -> ControllerName {
        settings.profile().into()
    }

    fn entry(entry: Arc<Entry<Self::Body>>) -> AnyEntry {
        AnyEntry::Search(entry)
    }

    type Responder<C: ContextContract, P: AbductivePolicy> = SearchResponder<C, P, Box<dyn Roles>>;

    fn responder<C: ContextContract, P: AbductivePolicy>(
        contract: C,
        policy: P,
        helpers: Helpers,
    ) -> Self::Responder<C, P> {
        let roles = helpers.roles.unwrap_or_else(|| Box::new(PolicyRoles::default()));
        let responder = SearchResponder::new(contract, policy).with_roles(roles);
        helpers.tools.into_iter().fold(responder, SearchResponder::with_tools)
    }
}

/// A controller by name. Several may be one machine with other settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControllerName {
    /// The controller of *Explanations over Graphs*.
    Eog,
    /// A loop that evaluates, notes and goes on.
    Linear,
    /// Tree search with one of its profiles.
    Search(Profile),
}

impl ControllerName {
    /// All that there are.
    pub fn all() -> impl Iterator<Item = Self> {
        [Self::Eog, Self::Linear].into_iter().chain(Profile::ALL.map(Self::Search))
    }

    /// What users call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Eog => Controller::NAME,
            Self::Linear => Linear::NAME,
            Self::Search(profile) => profile.name(),
        }
    }

    /// Whether it calls tools beside asking for contexts.
    pub fn calls_tools(self) -> bool {
        !matches!(self, Self::Eog | Self::Linear | Self::Search(Profile::Bfs | Profile::Beam))
    }

    /// The profile of tree search, if it is one.
    pub fn profile(self) -> Option<Profile> {
        match self {
            Self::Eog | Self::Linear => None,
            Self::Search(profile) => Some(profile),
        }
    }
}

impl From<Profile> for ControllerName {
    fn from(profile: Profile) -> Self {
        Self::Search(profile)
    }
}

/// What a fork changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// The policy from there on, if it changes.
    pub policy: Option<String>,
    /// The settings from there on, if others: of the controller that wrote the ledger.
    pub settings: Option<AnySettings>,
    /// What packets show of the incident as a whole from there on.
    pub case_file: Option<Arc<CaseFile>>,
}

/// Runs the same code for whichever controller a value is of.
macro_rules! each {
    ($any:expr, $all:ident, $one:ident => $body:expr) => {
        match $any {
            $crate::controllers::$all::Eog($one) => $body,
            $crate::controllers::$all::Linear($one) => $body,
            $crate::controllers::$all::Search($one) => $body,
        }
    };
}
pub(crate) use each;

macro_rules! controllers {
    ($($variant:ident: $machine:ty, $settings:ty, $doc:literal;)+) => {
        /// A machine. The first entry of a ledger shows which one wrote it.
        #[derive(Clone, Copy)]
        enum Family {
            $($variant,)+
        }

        /// A ledger of whichever controller.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyLedger {
            $(#[doc = $doc] $variant(Ledger<<$machine as Machine>::Body>),)+
        }

        /// An entry of whichever controller, as it was stored. Clones share it.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyEntry {
            $(#[doc = $doc] $variant(Arc<Entry<<$machine as Machine>::Body>>),)+
        }

        /// An investigation of whichever controller that has ended.
        #[derive(Debug)]
        pub enum AnyFinished {
            $(#[doc = $doc] $variant(Box<Finished<$machine>>),)+
        }

        /// Every choice of whichever controller.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(untagged)]
        pub enum AnySettings {
            $(#[doc = $doc] $variant(Box<$settings>),)+
        }

        impl Family {
            /// The one that writes entries of this tag first.
            fn of_opening(tag: &str) -> Option<Self> {
                match tag {
                    $(<<$machine as Machine>::Body as Body>::OPENING => Some(Self::$variant),)+
                    _ => None,
                }
            }

            fn ledger(self, text: &str) -> Result<AnyLedger, LedgerError> {
                match self {
                    $(Self::$variant => Ledger::from_json_lines(text).map(AnyLedger::$variant),)+
                }
            }

            fn read(self, journal: &Path) -> Result<Journaled<Option<CutTail>>, JournalError> {
                match self {
                    $(Self::$variant => {
                        let recovered = Journal::read_as(journal)?;
                        Ok((AnyLedger::$variant(recovered.ledger), recovered.cut))
                    })+
                }
            }

            fn read_on(self, medium: &dyn Medium) -> Result<Journaled<Option<CutTail>>, JournalError> {
                match self {
                    $(Self::$variant => {
                        let recovered = Journal::read_on(medium)?;
                        Ok((AnyLedger::$variant(recovered.ledger), recovered.cut))
                    })+
                }
            }

            fn open_on(
                self,
                medium: impl Medium + 'static,
            ) -> Result<Journaled<(Journal, Option<CutTail>)>, JournalError> {
                match self {
                    $(Self::$variant => {
                        let (journal, recovered) = Journal::on(medium)?;
                        Ok((AnyLedger::$variant(recovered.ledger), (journal, recovered.cut)))
                    })+
                }
            }

            fn open(
                self,
                journal: &Path,
            ) -> Result<Journaled<(Journal, Option<CutTail>)>, JournalError> {
                match self {
                    $(Self::$variant => {
                        let (journal, recovered) = Journal::open_as(journal)?;
                        Ok((AnyLedger::$variant(recovered.ledger), (journal, recovered.cut)))
                    })+
                }
            }
        }

        impl AnyLedger {
            /// The ledger of entries that were stored one after the other.
            ///
            /// # Errors
            /// [`LedgerError`] when one does not follow from the one before, such as where some are
            /// missing.
            pub fn of_entries(entries: &[AnyEntry]) -> Result<Self, LedgerError> {
                match entries.first() {
                    $(Some(AnyEntry::$variant(_)) => {
                        let mut ledger = Ledger::default();
                        for entry in entries {
                            if let AnyEntry::$variant(entry) = entry {
                                ledger.push((**entry).clone())?;
                            }
                        }
                        Ok(Self::$variant(ledger))
                    })+
                    None => Ok(Self::Eog(Ledger::default())),
                }
            }

            /// Its entries, oldest first.
            pub fn any_entries(&self) -> Vec<AnyEntry> {
                match self {
                    $(Self::$variant(ledger) => {
                        ledger.entries().iter().cloned().map(AnyEntry::$variant).collect()
                    })+
                }
            }

            /// Whose ledger it is; that of EoG if it is empty.
            pub fn controller(&self) -> ControllerName {
                let name = match self {
                    $(Self::$variant(ledger) => <$machine as Investigator>::settings_at(ledger, 0)
                        .map(|settings| <$machine as Investigator>::name(&settings)),)+
                };
                name.unwrap_or(ControllerName::Eog)
            }
        }

        impl AnyFinished {
            /// Its ledger.
            pub fn ledger(&self) -> AnyLedger {
                match self {
                    $(Self::$variant(it) => AnyLedger::$variant(it.ledger().clone()),)+
                }
            }

            /// Whose investigation it is.
            pub fn controller(&self) -> ControllerName {
                match self {
                    $(Self::$variant(it) => <$machine as Investigator>::name(it.machine.settings()),)+
                }
            }
        }

        impl AnySettings {
            /// Whose settings they are.
            pub fn controller(&self) -> ControllerName {
                match self {
                    $(Self::$variant(settings) => <$machine as Investigator>::name(settings),)+
                }
            }

            /// Those that hold after an entry of a ledger, with the name of the policy.
            pub fn at(ledger: &AnyLedger, at: u64) -> Option<Self> {
                match ledger {
                    $(AnyLedger::$variant(ledger) => {
                        let settings = <$machine as Investigator>::settings_at(ledger, at)?;
                        Some(Self::$variant(Box::new(settings)))
                    })+
                }
            }
        }

        $(
            impl From<$settings> for AnySettings {
                fn from(settings: $settings) -> Self {
                    Self::$variant(Box::new(settings))
                }
            }

            impl From<Finished<$machine>> for AnyFinished {
                fn from(finished: Finished<$machine>) -> Self {
                    Self::$variant(Box::new(finished))
                }
            }

            impl TryFrom<Changes> for ForkChanges<$settings> {
                type Error = OtherController;

                fn try_from(changes: Changes) -> Result<Self, OtherController> {
                    let config = match changes.settings {
                        None => None,
                        Some(AnySettings::$variant(settings)) => Some(*settings),
                        Some(other) => return Err(OtherController {
                            wanted: <$machine as Machine>::NAME,
                            given: other.controller(),
                        }),
                    };
                    let (policy, case_file) = (changes.policy, changes.case_file);
                    Ok(Self { policy, config, case_file })
                }
            }
        )+
    };
}

controllers! {
    Eog: Controller, Config, "The controller of *Explanations over Graphs*.";
    Linear: Linear, LinearConfig, "A loop that evaluates, notes and goes on.";
    Search: SearchController, SearchConfig, "A tree search.";
}

type Journaled<T> = (AnyLedger, T);

impl AnySettings {
    /// The budget, as far as these settings have one.
    pub fn budget(&self) -> Budget {
        let settings = each!(self, AnySettings, settings => serde_json::to_value(settings));
        let budget = settings.ok().and_then(|mut all| Some(all.get_mut("budget")?.take()));
        budget.and_then(|budget| serde_json::from_value(budget).ok()).unwrap_or_default()
    }

    /// Whether its controller takes in what is new while it runs.
    pub fn takes_words(&self) -> bool {
        matches!(self, Self::Eog(_))
    }

    /// The same, with the name of the policy.
    #[must_use]
    pub fn judged_by(self, policy: Option<String>) -> Self {
        match self {
            Self::Eog(settings) => Config { policy, ..*settings }.into(),
            Self::Linear(settings) => LinearConfig { policy, ..*settings }.into(),
            Self::Search(settings) => settings.with_policy(policy).into(),
        }
    }

    /// The same, as language models are asked: about an entity again only where there is new evidence, and with so many queries
    /// about each; unchanged where packets hold what the paper's do.
    #[must_use]
    pub fn asking_models(self, queries: u32) -> Self {
        let Self::Eog(settings) = self else { return self };
        let Some(briefing) = settings.briefing else { return Self::Eog(settings) };
        let briefing = Some(Briefing { queries, ..briefing });
        Config { ask_again: AskAgain::NewEvidence, briefing, ..*settings }.into()
    }

    /// The name of the policy, if that is recorded.
    pub fn policy(&self) -> Option<&str> {
        each!(self, AnySettings, settings => eog::ledger::Settings::policy(&**settings))
    }
}

impl AnyEntry {
    /// The entry for a replay, as far as it is known without those before it.
    pub fn step(&self) -> Step {
        each!(self, AnyEntry, entry => eog_report::step(entry))
    }

    /// The settings that it begins the ledger with, if it is the first.
    pub fn settings(&self) -> Option<AnySettings> {
        let ledger = AnyLedger::of_entries(std::slice::from_ref(self)).ok()?;
        AnySettings::at(&ledger, 0)
    }
}

/// Something of one controller was given to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is a ledger of the controller {wanted}, but the settings are for {given}")]
pub struct OtherController {
    /// The machine that it must be for.
    pub wanted: &'static str,
    /// The controller that it is for.
    pub given: ControllerName,
}

impl fmt::Display for ControllerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for ControllerName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::all().find(|controller| controller.name() == text).ok_or_else(|| {
            let all: Vec<&str> = Self::all().map(Self::name).collect();
            format!("there is no controller {text:?}; there are {}", all.join(", "))
        })
    }
}

impl AnyLedger {
    /// Reads a ledger of whichever controller, recognised by its first entry.
    ///
    /// # Errors
    /// [`LedgerError`] names the first line that cannot be used.
    pub fn from_json_lines(text: &str) -> Result<Self, LedgerError> {
        let tag = text.lines().next().and_then(|line| eog::ledger::opening_tag(line.as_bytes()));
        // Unknown tags are refused in the words of the first controller.
        of_tag(tag).ledger(text)
    }

    /// Reads a journal of whichever controller. Says what was left out at its end.
    ///
    /// # Errors
    /// Those of [`Journal::read`].
    pub fn read_journal(path: &Path) -> Result<(Self, Option<CutTail>), JournalError> {
        of_tag(Journal::opening(path)?).read(path)
    }

    /// Opens a journal of whichever controller to go on with it. Says what was left out at its end.
    ///
    /// # Errors
    /// Those of [`Journal::open`].
    pub fn open_journal(path: &Path) -> Result<(Self, Journal, Option<CutTail>), JournalError> {
        let (ledger, (journal, cut)) = of_tag(Journal::opening(path)?).open(path)?;
        Ok((ledger, journal, cut))
    }

    /// As [`AnyLedger::read_journal`], of the journal on a medium of one's own.
    ///
    /// # Errors
    /// Those of [`Journal::read_on`].
    pub fn read_journal_on(medium: &dyn Medium) -> Result<(Self, Option<CutTail>), JournalError> {
        of_tag(Journal::opening_on(medium)?).read_on(medium)
    }

    /// As [`AnyLedger::open_journal`], of the journal on a medium of one's own. An empty medium becomes an
    /// empty journal.
    ///
    /// # Errors
    /// Those of [`Journal::on`].
    pub fn open_journal_on(
        medium: impl Medium + 'static,
    ) -> Result<(Self, Journal, Option<CutTail>), JournalError> {
        let (ledger, (journal, cut)) = of_tag(Journal::opening_on(&medium)?).open_on(medium)?;
        Ok((ledger, journal, cut))
    }

    /// How often each entity was evaluated again because of new evidence.
    pub fn news(&self) -> BTreeMap<EntityId, usize> {
        let mut news = BTreeMap::new();
        let Self::Eog(ledger) = self else { return news };
        for entry in ledger.entries() {
            if let EntryBody::Observed(observed) = &entry.body
                && let Observation::NewEvidence(entity) = &observed.observation
            {
                *news.entry(entity.clone()).or_default() += 1;
            }
        }
        news
    }

    /// How many entries it has.
    pub fn len(&self) -> u64 {
        each!(self, AnyLedger, ledger => ledger.next_seq())
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What it began with, if it has begun.
    pub fn case(&self) -> Option<&Case> {
        each!(self, AnyLedger, ledger => Some(ledger.opening()?.case))
    }

    /// The policy after an entry, if it is named.
    pub fn judge_at(&self, at: u64) -> Option<&str> {
        each!(self, AnyLedger, ledger => judge_at(ledger, at))
    }

    /// Whether packets show a case file after an entry.
    pub fn shows_case_file(&self, at: u64) -> bool {
        each!(self, AnyLedger, ledger => ledger.entries().iter().any(|entry| {
            let opened = entry.body.opening().and_then(|it| it.case.case_file.as_ref());
            let forked = entry.body.forked().and_then(|it| it.changes.case_file.as_ref());
            entry.seq <= at && opened.or(forked).is_some()
        }))
    }

    /// Every fork that it went through, oldest first.
    pub fn forks(&self) -> Vec<eog::diagnosis::ForkTaken> {
        each!(self, AnyLedger, ledger => eog::diagnosis::ForkTaken::all(ledger))
    }

    /// Its entries in words, one a line.
    pub fn in_words(&self, width: Option<usize>) -> String {
        each!(self, AnyLedger, ledger => eog_report::entries(ledger, width))
    }

    /// Its entries one by one, for a replay.
    pub fn steps(&self) -> Vec<Step> {
        each!(self, AnyLedger, ledger => eog_report::steps(ledger))
    }

    /// Whether one of its entries has this hash.
    pub fn holds(&self, hash: eog::Digest) -> bool {
        each!(self, AnyLedger, ledger => ledger.entries().iter().any(|entry| entry.hash == hash))
    }

    /// The bytes of `ledger.jsonl`.
    pub fn to_json_lines(&self) -> String {
        each!(self, AnyLedger, ledger => ledger.to_json_lines())
    }

    /// Rebuilds the investigation that wrote it, as it stood at the end. `last_stop` says why that
    /// ended where the ledger does not record it.
    ///
    /// # Errors
    /// [`RestoreError`] when it does not follow by the rules of this program.
    pub fn restore(
        &self,
        last_stop: impl FnOnce() -> Option<StopReason>,
    ) -> Result<AnyFinished, RestoreError> {
        each!(self, AnyLedger, ledger => Ok(restored(ledger, last_stop)?.into()))
    }
}

fn of_tag(tag: Option<String>) -> Family {
    tag.and_then(|tag| Family::of_opening(&tag)).unwrap_or(Family::Eog)
}

fn restored<B: Body + OfMachine>(
    ledger: &Ledger<B>,
    last_stop: impl FnOnce() -> Option<StopReason>,
) -> Result<Finished<B::Machine>, RestoreError>
where
    B::Machine: Investigator<Body = B>,
{
    Ok(ended(eog::ledger::restore(ledger)?, last_stop))
}

/// An investigation that was rebuilt. What is still waiting was interrupted: a ledger holds what was
/// committed, not why it ends.
pub(crate) fn ended<M: Investigator>(
    machine: M,
    last_stop: impl FnOnce() -> Option<StopReason>,
) -> Finished<M> {
    let stop = machine.stop().or_else(last_stop).unwrap_or(StopReason::Cancelled);
    Finished::new(stop, machine)
}

impl AnyFinished {
    /// Why it ended.
    pub fn stop(&self) -> StopReason {
        each!(self, AnyFinished, finished => finished.stop)
    }

    /// Everything that reports and scores read.
    pub fn diagnosis(&self) -> Diagnosis {
        each!(self, AnyFinished, finished => finished.diagnosis())
    }

    /// Frontier, coverage, cover, ranking.
    pub fn conclusion(&self) -> Conclusion {
        each!(self, AnyFinished, finished => finished.conclusion())
    }

    /// How many entries its ledger has.
    pub fn entries(&self) -> u64 {
        each!(self, AnyFinished, finished => finished.ledger().next_seq())
    }

    /// The tree that it grew as text, if it is a tree search.
    pub fn tree(&self, width: Option<usize>) -> Option<String> {
        match self {
            Self::Search(finished) => Some(eog_report::search_tree(&finished.machine, width)),
            Self::Eog(_) | Self::Linear(_) => None,
        }
    }

    /// The same as JSON.
    pub fn tree_json(&self) -> Option<String> {
        match self {
            Self::Search(finished) => Some(eog_report::search_tree_json(&finished.machine)),
            Self::Eog(_) | Self::Linear(_) => None,
        }
    }

    /// How the search went, as metrics in OTLP JSON, if it is a tree search.
    pub fn search_metrics(&self, at: eog::Timestamp) -> Option<String> {
        match self {
            Self::Search(finished) => Some(eog_report::search_metrics(&finished.machine, at)),
            Self::Eog(_) | Self::Linear(_) => None,
        }
    }

    /// The entries of its ledger one by one, for a replay.
    pub fn steps(&self) -> Vec<Step> {
        each!(self, AnyFinished, finished => eog_report::steps(finished.ledger()))
    }

    /// The bytes of `ledger.jsonl`.
    pub fn to_json_lines(&self) -> String {
        each!(self, AnyFinished, finished => finished.ledger().to_json_lines())
    }

    /// All evaluations, oldest first.
    pub fn evaluations(&self) -> impl Iterator<Item = eog::ledger::Look<'_>> {
        let evaluations: Box<dyn Iterator<Item = eog::ledger::Look<'_>>> = each!(self, AnyFinished, finished => {
            Box::new(finished.ledger().entries().iter().filter_map(|entry| entry.body.look()))
        });
        evaluations
    }

    /// What was used.
    pub fn spent(&self) -> Spent {
        each!(self, AnyFinished, finished => finished.spent())
    }

    /// The budget of policy calls, if there is one.
    pub fn hops(&self) -> Option<u64> {
        let settings = each!(self, AnyFinished, finished => {
            serde_json::to_value(finished.machine.settings()).ok()?
        });
        settings.pointer("/budget/hops")?.as_u64()
    }

    /// What asking ahead came to.
    pub fn speculation(&self) -> SpeculationFigures {
        each!(self, AnyFinished, finished => finished.speculation)
    }

    /// How many further attempts were made after failures that asking again may mend.
    pub fn retries(&self) -> u64 {
        each!(self, AnyFinished, finished => finished.retries)
    }

    /// Why the journal stopped taking entries, if it did.
    pub fn journal_error(&self) -> Option<&JournalError> {
        each!(self, AnyFinished, finished => finished.journal_error.as_ref())
    }

    /// Takes that error out.
    pub fn take_journal_error(&mut self) -> Option<JournalError> {
        each!(self, AnyFinished, finished => finished.journal_error.take())
    }

    /// Why the side file stopped taking figures, if it did.
    pub fn side_error(&self) -> Option<&SideError> {
        each!(self, AnyFinished, finished => finished.side_error.as_ref())
    }
}
