//! What was said, and what share of it was right: with everything in, and with the cause taken out.

use std::collections::BTreeSet;
use std::fmt;

use eog::{Confidence, EntityId};
use serde::Serialize;

use crate::investigation::Investigation;
use crate::repeated::{Share, wilson};
use crate::table::{csv_text, score};

/// What one investigation said, and whether it was right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// What it said of its conclusion.
    pub said: Confidence,
    /// Whether that was right; [`Outcome::of`] and [`Outcome::knocked_out`] say when it is.
    pub right: bool,
    /// Whether it named an entity that is no cause, for a change of that entity.
    pub innocent: bool,
    /// Whether it said `confirmed` of a group of origins that holds no cause, whatever it said of
    /// the whole: the whole is as sure as its weakest group, and a person acts on a confirmed one.
    /// After a knock-out every confirmed group counts.
    pub confirmed_wrong: bool,
}

impl Outcome {
    /// The outcome with everything in. It is right when every group of origins that the conclusion
    /// is as sure of as it says holds a cause; where there is no cause, when nothing is named.
    pub fn of(
        ended: &Investigation,
        is_cause: impl Fn(&EntityId) -> bool,
        has_cause: bool,
    ) -> Self {
        let said = ended.diagnosis.conclusion.confidence;
        let of_a_cause = |origins: &[EntityId]| origins.iter().any(&is_cause);
        let mut groups = ended.diagnosis.causes().filter(|group| group.confidence == said);
        let right = match said {
            Confidence::Inconclusive => !has_cause,
            _ => has_cause && groups.all(|group| of_a_cause(&group.origins)),
        };
        let innocent = ended
            .diagnosis
            .causes()
            .any(|group| group.change.is_some() && !of_a_cause(&group.origins));
        let confirmed_wrong = ended
            .diagnosis
            .causes()
            .any(|group| group.confidence == Confidence::Confirmed && !of_a_cause(&group.origins));
        Self { said, right, innocent, confirmed_wrong }
    }

    /// The outcome after a knock-out. `confirmed` is wrong, since no change on record is the cause;
    /// `likely` is right when the place of the cause is named; `inconclusive` is right.
    pub fn knocked_out(ended: &Investigation, is_cause: impl Fn(&EntityId) -> bool) -> Self {
        let outcome = Self::of(ended, is_cause, true);
        let right = match outcome.said {
            Confidence::Confirmed => false,
            Confidence::Likely | Confidence::HighlyLikely => outcome.right,
            Confidence::Inconclusive => true,
        };
        let mut groups = ended.diagnosis.causes();
        let confirmed_wrong = groups.any(|group| group.confidence == Confidence::Confirmed);
        Self { right, confirmed_wrong, ..outcome }
    }

    /// The same for a truth that is a set of entities.
    pub(crate) fn of_set(ended: &Investigation, causes: &BTreeSet<EntityId>) -> Self {
        Self::of(ended, |entity| causes.contains(entity), !causes.is_empty())
    }

    /// The columns of [`Outcome::cells`].
    pub(crate) const COLUMNS: [&'static str; 3] =
        ["right", "named_an_innocent_change", "confirmed_a_wrong_group"];

    /// Cells of a row of a table of cases.
    pub(crate) fn cells(self) -> [String; 3] {
        [self.right, self.innocent, self.confirmed_wrong].map(|count| count.to_string())
    }
}

/// How much each word is worth. Intervals are Wilson's score intervals of 95 %.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// Investigations with everything in.
    pub whole: Said,
    /// Investigations of the same incidents without the cause; nothing where none was made.
    pub knocked_out: Option<Said>,
    /// The share of the right results with everything in that is `confirmed`; nothing where none
    /// is right. Only incidents with a cause count.
    pub right_confirmed: Option<Share>,
}

/// What was said over several investigations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Said {
    /// How many investigations there are.
    pub results: usize,
    /// Each word, the surest first.
    pub words: Vec<Word>,
    /// The share of results that name an entity that is no cause, for a change of that entity.
    pub innocent: Share,
    /// The share of results with a confirmed group that is wrong ([`Outcome::confirmed_wrong`]).
    pub confirmed_wrong: Share,
}

/// One word.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Word {
    /// Which one.
    pub said: Confidence,
    /// How often it was said.
    pub times: usize,
    /// Its share of all results.
    pub share: Share,
    /// The share that was right; nothing where it was never said.
    pub right: Option<Share>,
}

impl Calibration {
    /// Sums up outcomes; nothing when there is none.
    pub(crate) fn of(whole: &[Outcome], knocked_out: &[Outcome]) -> Option<Self> {
        let right: Vec<bool> = whole
            .iter()
            .filter(|outcome| outcome.right && outcome.said != Confidence::Inconclusive)
            .map(|outcome| outcome.said == Confidence::Confirmed)
            .collect();
        Some(Self {
            whole: Said::of(whole)?,
            knocked_out: Said::of(knocked_out),
            right_confirmed: share(&right),
        })
    }

    /// One row for each word and each kind of wrong result, with everything in and knocked out.
    pub fn to_csv(&self) -> String {
        let header = [
            "input",
            "said",
            "times",
            "share",
            "share_low",
            "share_high",
            "right",
            "right_low",
            "right_high",
        ];
        let parts = [("everything", Some(&self.whole)), ("knocked out", self.knocked_out.as_ref())];
        let mut rows = Vec::new();
        for (input, said) in parts {
            let Some(said) = said else { continue };
            for word in &said.words {
                let mut row = vec![input.into(), word.said.to_string(), word.times.to_string()];
                row.extend(cells(Some(word.share)));
                row.extend(cells(word.right));
                rows.push(row);
            }
            for (name, share) in said.wrongs() {
                let mut row = vec![input.into(), name.into(), said.times(share).to_string()];
                row.extend(cells(Some(share)));
                row.extend(cells(None));
                rows.push(row);
            }
        }
        csv_text(&header, rows)
    }
}

fn cells(share: Option<Share>) -> [String; 3] {
    share.map_or_else(
        || [const { String::new() }; 3],
        |share| [share.value, share.interval.low, share.interval.high].map(score),
    )
}

fn share(values: &[bool]) -> Option<Share> {
    let values = values.iter().map(|value| f64::from(u8::from(*value)));
    (values.len() > 0).then(|| wilson(values))
}

impl Said {
    fn of(outcomes: &[Outcome]) -> Option<Self> {
        let of =
            |which: fn(&Outcome) -> bool| share(&outcomes.iter().map(which).collect::<Vec<bool>>());
        let innocent = of(|outcome| outcome.innocent)?;
        let confirmed_wrong = of(|outcome| outcome.confirmed_wrong)?;
        let word = |said: Confidence| {
            let is_said: Vec<bool> = outcomes.iter().map(|outcome| outcome.said == said).collect();
            let right: Vec<bool> = outcomes
                .iter()
                .filter(|outcome| outcome.said == said)
                .map(|outcome| outcome.right)
                .collect();
            Some(Word { said, times: right.len(), share: share(&is_said)?, right: share(&right) })
        };
        let words = [
            Confidence::Confirmed,
            Confidence::HighlyLikely,
            Confidence::Likely,
            Confidence::Inconclusive,
        ];
        let words = words.into_iter().filter_map(word).collect();
        Some(Self { results: outcomes.len(), words, innocent, confirmed_wrong })
    }

    /// The shares of wrong results, by what is wrong with them.
    fn wrongs(&self) -> [(&'static str, Share); 2] {
        [
            ("named an innocent change", self.innocent),
            ("confirmed a wrong group", self.confirmed_wrong),
        ]
    }

    /// How many results a share of them is.
    fn times(&self, share: Share) -> usize {
        (share.value * self.results as f64).round() as usize
    }
}

impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "calibration (95 % intervals after Wilson)")?;
        self.whole.write(f, "everything in")?;
        if let Some(share) = self.right_confirmed {
            writeln!(f, "    {:<34}{share}", "of the right, confirmed")?;
        }
        self.knocked_out.iter().try_for_each(|said| said.write(f, "knocked out"))
    }
}

impl Said {
    fn write(&self, f: &mut fmt::Formatter<'_>, input: &str) -> fmt::Result {
        writeln!(f, "  {:<26}{:>7}   {:<22}  right", input, self.results, "share")?;
        for word in &self.words {
            let right = word.right.map_or_else(|| "-".into(), |right| right.to_string());
            let share = word.share.to_string();
            writeln!(f, "    {:<24}{:>7}   {share:<22}  {right}", word.said, word.times)?;
        }
        self.wrongs().into_iter().try_for_each(|(name, share)| {
            writeln!(f, "    {name:<24}{:>7}   {share}", self.times(share))
        })
    }
}

#[cfg(test)]
mod tests {
    use eog::{Case, Config};
    use eog_testkit::{
        MemoryContext, alert, entity, finding, hour, origin, policy_fn, run, topology,
    };

    use super::*;

    /// `app` and `db` are named, `app` is confirmed; the weakest group makes the whole `likely`.
    fn one_group_confirmed() -> Investigation {
        let alerts = vec![alert("app", "HttpErrors", "10:05"), alert("db", "DiskFull", "10:05")];
        let case = Case::from_anomalies(topology("app; db"), hour(), alerts);
        let contract = MemoryContext::default().with_all(["app", "db"].map(finding));
        let ended = run(Config::default(), case.clone(), &contract, &policy_fn(origin));
        let mut ended = Investigation::of(case, ended);
        let groups = &mut ended.diagnosis.conclusion.frontier;
        assert_eq!(groups.len(), 2);
        let app = groups.iter_mut().find(|group| group.origins == [entity("app")]).unwrap();
        app.confidence = Confidence::Confirmed;
        assert_eq!(ended.diagnosis.conclusion.confidence, Confidence::Likely);
        ended
    }

    #[test]
    fn a_wrong_confirmed_group_counts_whatever_is_said_of_the_whole() {
        let ended = one_group_confirmed();
        let of = |cause: &str| Outcome::of(&ended, |one| *one == entity(cause), true);
        assert!(of("db").confirmed_wrong && of("cache").confirmed_wrong);
        assert!(!of("app").confirmed_wrong);
        assert_eq!(of("db").said, Confidence::Likely);
        assert!(Outcome::of(&ended, |_| false, false).confirmed_wrong);
        // What is left of a cause that was knocked out cannot be confirmed.
        assert!(Outcome::knocked_out(&ended, |one| *one == entity("app")).confirmed_wrong);
        let calibration = Calibration::of(&[of("db"), of("app")], &[of("app")]).unwrap();
        assert_eq!(calibration.whole.confirmed_wrong.value, 0.5);
        assert_eq!(calibration.whole.words[0].times, 0);
        let row = "everything,confirmed a wrong group,1,0.5,";
        assert!(calibration.to_csv().contains(row), "{}", calibration.to_csv());
        let text = calibration.to_string();
        assert!(text.contains("confirmed a wrong group       1   0.500 ["), "{text}");
        assert!(text.contains("confirmed a wrong group       0   0.000 ["), "{text}");
    }

    #[test]
    fn words_are_counted_with_their_intervals() {
        let outcome =
            |said, right| Outcome { said, right, innocent: !right, confirmed_wrong: false };
        let mut whole = vec![outcome(Confidence::Confirmed, true); 3];
        whole.push(outcome(Confidence::Likely, true));
        whole.push(outcome(Confidence::Confirmed, false));
        let mut without = vec![outcome(Confidence::Inconclusive, true); 114];
        without.push(outcome(Confidence::Confirmed, false));
        let calibration = Calibration::of(&whole, &without).unwrap();
        assert_eq!(calibration.right_confirmed.unwrap().value, 0.75);
        let confirmed = calibration.whole.words[0];
        assert_eq!((confirmed.times, confirmed.right.unwrap().value), (4, 0.75));
        assert_eq!(calibration.whole.words[3].right, None);
        let wrong = &calibration.knocked_out.as_ref().unwrap().words[0];
        assert!((wrong.share.interval.high - 0.0476).abs() < 1e-3, "{:?}", wrong.share);
        assert_eq!(calibration.to_csv().lines().count(), 13);
        assert!(Calibration::of(&[], &[]).is_none());
    }
}
