//! Tables of the controllers that users can choose: by errors, by questions, with one choice changed. In Markdown,
//! which is read as text, too.

use std::fmt;

use super::contender::{BUDGETS, Condition, Contender, RATES, chosen};
use super::report::{ControllersReport, Summary};

impl ControllersReport {
    /// The tables of those conditions that were compared, as Markdown.
    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        let tables = [self.by_errors(), self.by_calls(), self.ablations()];
        if tables.iter().any(Option::is_some) {
            text.push_str("In brackets: 95 % intervals over incidents (Wilson 1927).\n");
        }
        for table in tables.into_iter().flatten() {
            text.push_str(&table.to_string());
        }
        text
    }

    fn by_errors(&self) -> Option<Table> {
        let row = |contender: Contender| {
            let cells = RATES.map(|rate| self.summary(&Condition::usual(contender, rate)));
            row(contender, &cells, |it| format!("{} / {:.0}", it.right.short(), it.calls))
        };
        let head = RATES.iter().map(|rate| format!("{:.0} %", rate * 100.0));
        let title =
            "Share of runs that name every cause, and mean questions, by errors of the judge";
        Table::of(title, head, chosen().into_iter().map(row))
    }

    fn by_calls(&self) -> Option<Table> {
        let wrong = self.settings.rates.wrong;
        let row = |contender: Contender| {
            let cells = BUDGETS.map(|most| {
                let usual = Condition::usual(contender, wrong);
                self.summary(&Condition { budget: Some(most), ..usual })
            });
            row(contender, &cells, |it| it.right.short())
        };
        let head = BUDGETS.iter().map(ToString::to_string);
        let title = "Share of runs that name every cause, by the most questions that may be asked";
        Table::of(title, head, chosen().into_iter().map(row))
    }

    fn ablations(&self) -> Option<Table> {
        let has_ablated = |it: &&Condition| matches!(it.contender, Contender::Ablated(_));
        self.conditions.iter().find(has_ablated)?;
        let row = |condition: Condition| {
            let summary = self.summary(&condition)?;
            let Summary { right, several, majority_f1, calls, .. } = summary;
            let cells = vec![
                right.short(),
                format!("{several:.2}"),
                format!("{:.2}", majority_f1.value),
                format!("{calls:.1}"),
            ];
            Some((condition.contender.to_string(), cells))
        };
        let head = ["right", "too many", "F1", "questions"].map(str::to_owned);
        let title = "One choice changed";
        let conditions = Condition::ablations(self.settings.rates.wrong);
        Table::of(title, head, conditions.into_iter().map(row))
    }
}

/// Rows by name, as far as there are any.
struct Table {
    title: &'static str,
    head: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
}

impl Table {
    /// Nothing where nothing was compared.
    fn of(
        title: &'static str,
        head: impl IntoIterator<Item = String>,
        rows: impl Iterator<Item = Option<(String, Vec<String>)>>,
    ) -> Option<Self> {
        let rows: Vec<_> = rows.flatten().collect();
        (!rows.is_empty()).then(|| Self { title, head: head.into_iter().collect(), rows })
    }
}

/// A row, unless one of its cells was not compared.
fn row(
    contender: Contender,
    cells: &[Option<&Summary>],
    told: impl Fn(&Summary) -> String,
) -> Option<(String, Vec<String>)> {
    let cells: Option<Vec<String>> = cells.iter().map(|cell| cell.map(&told)).collect();
    Some((contender.to_string(), cells?))
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{}\n", self.title)?;
        writeln!(f, "| | {} |", self.head.join(" | "))?;
        writeln!(f, "|---|{}", "---:|".repeat(self.head.len()))?;
        for (name, cells) in &self.rows {
            writeln!(f, "| {name} | {} |", cells.join(" | "))?;
        }
        Ok(())
    }
}
