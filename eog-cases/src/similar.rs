//! The nearest cases of an investigation, by typed observations: no text of the telemetry is compared.

use std::collections::BTreeSet;

use eog::Diagnosis;
use eog_evidence::{ClosedCases, MIN_LIKENESS, Observations, Precedent, Rarity, Weights};
use eog_report::SimilarCase;
use eog_session::controllers::AnyLedger;

use crate::close::digits_of;
use crate::error::CaseError;
use crate::folder::CaseFolder;
use crate::index::Row;

/// Most shared observations that are named.
const MAX_SHARED: usize = 4;

/// Most cases of a prior: the latest.
const MAX_PRECEDENTS: usize = 1_000;

/// The cases of a folder that are most like an investigation, at most `most`. Where it was closed itself, its own case is none
/// of them.
///
/// # Errors
/// [`CaseError::File`] when the folder cannot be read.
pub fn cases_like(
    folder: &CaseFolder,
    ledger: &AnyLedger,
    diagnosis: &Diagnosis,
    most: usize,
) -> Result<Vec<SimilarCase>, CaseError> {
    let own = digits_of(ledger);
    let mut rows = folder.list()?.rows;
    rows.retain(|row| row.name.rsplit('-').next() != Some(own.as_str()));
    Ok(nearest(&Observations::of(diagnosis, &BTreeSet::new()), &rows, most))
}

/// The cases most like what was observed, at most `most`.
pub(crate) fn nearest(seen: &Observations, cases: &[Row], most: usize) -> Vec<SimilarCase> {
    let rarity = Rarity::of(cases.iter().map(|case| &case.observations));
    let compared = cases.iter().map(|case| (case, rarity.compare(seen, &case.observations)));
    let alike = compared.filter(|(_, (likeness, _))| *likeness >= MIN_LIKENESS);
    let mut found: Vec<SimilarCase> = alike
        .map(|(case, (likeness, shared))| SimilarCase {
            case: case.name.clone(),
            likeness,
            shared: shared.into_iter().take(MAX_SHARED).map(str::to_owned).collect(),
            truth: case.truth.clone(),
        })
        .collect();
    found.sort_by(|a, b| b.likeness.total_cmp(&a.likeness).then_with(|| a.case.cmp(&b.case)));
    found.truncate(most);
    found
}

/// A table of weights with the closed cases of a folder as a prior of this weight, in thousandths of log-odds: the latest
/// 1,000 whose cause is an entity. Cases that cannot be read are left out.
///
/// # Errors
/// [`CaseError::File`] when the folder cannot be read; [`CaseError::Prior`] when the weight does not fit.
pub fn with_prior(folder: &CaseFolder, table: &Weights, weight: i32) -> Result<Weights, CaseError> {
    let mut rows = folder.list()?.rows;
    rows.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.name.cmp(&b.name)));
    let cases = rows.iter().filter_map(|row| folder.case(&row.name).ok());
    let cases = cases.filter(|case| !case.truth.causes.is_empty()).map(|case| Precedent {
        truth: case.truth.in_words(),
        window: case.window,
        observed: case.observations.without_alerts(),
        name: case.name,
    });
    let closed = ClosedCases::new(weight, cases.take(MAX_PRECEDENTS).collect());
    Ok(table.with_closed_cases(closed)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::ClosedCase;
    use crate::folder::tests::case;

    fn observed(text: &str) -> Observations {
        text.split_whitespace().map(|word| (word, 1_000)).collect()
    }

    fn row(name: &str, seen: &str) -> Row {
        Row::of(&ClosedCase { observations: observed(seen), ..case(name) })
    }

    #[test]
    fn the_nearest_share_what_is_rare() {
        let rows = [
            row("a", "latency oom"),
            row("b", "latency disk"),
            row("c", "latency"),
            row("d", "latency"),
            row("e", "errors"),
            row("f", "latency"),
        ];
        let found = nearest(&observed("latency oom"), &rows, 2);
        let names: Vec<&str> = found.iter().map(|it| it.case.as_str()).collect();
        assert_eq!(names, ["a"], "what nearly all have makes no two alike");
        assert!((found[0].likeness - 1.0).abs() < 1e-9);
        assert_eq!(found[0].shared, ["oom", "latency"]);
        assert!(nearest(&observed("latency oom"), &rows[1..], 2).is_empty());
        assert!(nearest(&Observations::default(), &rows, 2).is_empty());
    }
}
