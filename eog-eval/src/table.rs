//! Results as text and CSV.

use std::fmt::Display;

/// A table as CSV text with a header row.
pub(crate) fn csv_text(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory does not fail, and all rows have the width of the header.
    let mut put = |row: Vec<String>| writer.write_record(row).is_ok();
    put(header.iter().map(ToString::to_string).collect());
    for row in rows {
        put(row.into_iter().map(inert).collect());
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// A cell that no spreadsheet takes for a formula: names and texts come from what was recorded.
fn inert(cell: String) -> String {
    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if is_formula && cell.parse::<f64>().is_err() { format!("'{cell}") } else { cell }
}

/// A score with at most three decimals.
pub(crate) fn score(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A list in one field.
pub(crate) fn joined<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    let words: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    words.join(" | ")
}

/// Tiers of a ranking in one field, best first: `a | b = c | d`, where b and c are tied.
pub(crate) fn tiers<T: Display>(tiers: &[Vec<T>]) -> String {
    let tied = |tier: &Vec<T>| tier.iter().map(ToString::to_string).collect::<Vec<_>>().join(" = ");
    joined(tiers.iter().map(tied))
}

/// A number with its noun.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula() {
        let cells = ["=1+1", "+a", "-0.5", "-cmd", "@x", "plain", "", "\tx"];
        let text = csv_text(&["a"; 8], [cells.map(str::to_owned).to_vec()]);
        assert_eq!(text.lines().nth(1), Some("'=1+1,'+a,-0.5,'-cmd,'@x,plain,,'\tx"));
    }
}
