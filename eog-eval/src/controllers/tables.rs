//! Tables of the comparison, in Markdown, which is read as text, too.

use std::fmt::Write as _;

use eog_session::controllers::ControllerName;

use super::charts::{Chart, drawn};
use super::conditions::{BUDGETS, RATES};
use super::report::{Comparison, Judged};
use super::{CONTROLLERS, Condition, Contender};
use crate::error::EvalError;
use crate::repeated::Share;

/// The policy.
pub(super) fn judge(wrong: f64) -> String {
    match wrong > 0.0 {
        true => format!("rules that err in {:.0} %", wrong * 100.0),
        false => "the rules".to_owned(),
    }
}

impl Comparison {
    /// Every controller with its defaults.
    pub(super) fn table(&self, wrong: f64) -> Option<String> {
        let mut text = String::new();
        for name in CONTROLLERS {
            let Some(it) = self.judged(&Condition::usual(name, wrong)) else { continue };
            let Judged { named, found, confirmed, wrongly, besides, f1, quiet, questions, tokens } =
                it;
            let quiet = quiet.map_or_else(|| "–".to_owned(), |quiet| format!("{quiet:.2}"));
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {wrongly:.2} | {besides:.2} | {f1:.2} | {quiet} | \
                 {questions:.1} | {tokens:.0} |",
                name.name(),
                named.short(),
                found.short(),
                confirmed.short(),
            );
        }
        let head = "| | named | found | confirmed | wrongly | besides | F1 | quiet | questions | tokens |\n\
                    |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
        (!text.is_empty()).then(|| format!("{head}{text}"))
    }

    /// What a row shows under each of some conditions; nothing where one of them was not compared.
    fn row(
        &self,
        name: &str,
        conditions: impl IntoIterator<Item = Condition>,
        cell: impl Fn(&Judged) -> String,
    ) -> Option<String> {
        let cells: Option<Vec<String>> =
            conditions.into_iter().map(|it| Some(cell(&self.judged(&it)?))).collect();
        Some(format!("| {name} | {} |\n", cells?.join(" | ")))
    }

    pub(super) fn by_errors(&self) -> Option<String> {
        let cell = |it: &Judged| format!("{} / {:.0}", it.named.short(), it.questions);
        let row = |name: &ControllerName| {
            self.row(name.name(), RATES.map(|rate| Condition::usual(*name, rate)), cell)
        };
        let head = RATES.map(|rate| format!("{:.0} %", rate * 100.0));
        titled(
            "Every cause is named, and mean questions, by errors of the judge",
            &head,
            CONTROLLERS.iter().filter_map(row),
        )
    }

    pub(super) fn by_calls(&self, wrong: f64) -> Option<String> {
        let cell = |it: &Judged| it.named.short();
        let row = |name: &ControllerName| {
            let within = |most| Condition { most: Some(most), ..Condition::usual(*name, wrong) };
            self.row(name.name(), BUDGETS.map(within), cell)
        };
        let title = format!(
            "Every cause is named, by the most questions that may be asked; judged by {}",
            judge(wrong)
        );
        titled(&title, &BUDGETS.map(|most| most.to_string()), CONTROLLERS.iter().filter_map(row))
    }

    pub(super) fn ablations(&self, wrong: f64) -> Option<String> {
        let is_changed = |contender| matches!(contender, Contender::Changed(_));
        self.results.iter().find(|it| is_changed(it.condition.contender))?;
        let cell = |it: &Judged| {
            let Judged { named, found, besides, f1, questions, .. } = it;
            let (named, found) = (named.short(), found.short());
            format!("{named} | {found} | {besides:.2} | {f1:.2} | {questions:.1}")
        };
        let row = |contender: Contender| {
            let condition = Condition { contender, wrong, most: None };
            self.row(&contender.to_string(), [condition], cell)
        };
        let title = format!("One choice changed, judged by {}", judge(wrong));
        let head = ["named", "found", "besides", "F1", "questions"].map(str::to_owned);
        titled(&title, &head, Contender::ablations().filter_map(row))
    }

    /// A chart for each table by errors or by questions.
    ///
    /// # Errors
    /// [`EvalError::Setting`] if a chart cannot be drawn.
    pub fn charts(&self) -> Result<Vec<Chart>, EvalError> {
        let line = |at: &[f64], of: &dyn Fn(ControllerName, f64) -> Condition| {
            let points = |name| {
                let point = |at: &f64| Some((*at, self.judged(&of(name, *at))?.named.value));
                let points: Option<Vec<(f64, f64)>> = at.iter().map(point).collect();
                Some((name.name().to_owned(), points?))
            };
            CONTROLLERS.into_iter().filter_map(points).collect::<Vec<_>>()
        };
        let by_errors = line(&RATES, &Condition::usual);
        let by_calls = line(&BUDGETS.map(|most| most as f64), &|name, most| Condition {
            most: Some(most as u64),
            ..Condition::usual(name, self.wrong)
        });
        drawn(by_errors, by_calls)
    }
}

/// One row for each of several sets, one table for each share of runs, for one judge.
pub(super) fn across(parts: &[(&str, Comparison)], wrong: f64) -> String {
    type OfRuns = fn(&Judged) -> Share;
    let shares: [(&str, OfRuns); 3] =
        [("named", |it| it.named), ("found", |it| it.found), ("confirmed", |it| it.confirmed)];
    let head = CONTROLLERS.map(|name| name.name().to_owned());
    let tables = shares.into_iter().filter_map(|(share, of)| {
        let rows = parts.iter().filter_map(|(set, part)| {
            let conditions = CONTROLLERS.map(|name| Condition::usual(name, wrong));
            let (incidents, _) = part.sizes();
            part.row(&format!("{set} ({incidents})"), conditions, |it| of(it).short())
        });
        titled(&format!("All sets, {share}, judged by {}", judge(wrong)), &head, rows)
    });
    tables.collect()
}

fn titled(title: &str, head: &[String], rows: impl Iterator<Item = String>) -> Option<String> {
    let rows: String = rows.collect();
    let line = "---:|".repeat(head.len());
    (!rows.is_empty())
        .then(|| format!("\n{title}\n\n| | {} |\n|---|{line}\n{rows}", head.join(" | ")))
}
