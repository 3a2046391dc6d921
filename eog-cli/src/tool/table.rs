//! Answers of tools for people: tables that fit the terminal, or records where columns would get
//! too narrow.

use comfy_table::{ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle};
use textwrap::core::display_width;

use super::ordered::Ordered;
use eog_report::clean::clean;

/// A line below the header and nothing else.
const LINES: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A column whose values are no longer than this is not broken: times, numbers, kinds.
const SHORT: usize = 22;

/// A broken column narrower than this is hard to read.
const MIN_BROKEN: usize = 18;

/// What the table puts around the value of a column.
const PADDING: usize = 2;

/// Most lines of one nested value.
const MAX_LINES: usize = 200;

/// An answer for a terminal of a width, or without bounds. What it is grouped by is shown even
/// where all groups are without a value.
pub(super) fn table(answer: &Ordered, groups: &[String], width: Option<usize>) -> String {
    let mut text = String::new();
    part(&mut text, "", answer, groups, width);
    text
}

/// One part of an answer under its title.
fn part(text: &mut String, title: &str, value: &Ordered, groups: &[String], width: Option<usize>) {
    let mut heading = |note: &str| {
        if !text.is_empty() {
            text.push('\n');
        }
        if !title.is_empty() || !note.is_empty() {
            let gap = if title.is_empty() || note.is_empty() { "" } else { ": " };
            text.push_str(&format!("{title}{gap}{note}\n"));
        }
    };
    match value {
        Ordered::Map(fields) => {
            if let Some(Ordered::List(rows)) = value.get("rows") {
                heading(&counted(value, rows.len()));
                list(text, rows, groups, width);
                if let Some(Ordered::Text(left_out)) = value.get("left_out") {
                    text.push_str(&format!("{}\n", clean(left_out)));
                }
                return;
            }
            if !title.is_empty() {
                heading("");
            }
            for (name, value) in fields.iter().filter(|(_, value)| value.is_plain()) {
                text.push_str(&format!("{}: {}\n", clean(name), shown(value)));
            }
            for (name, value) in fields.iter().filter(|(_, value)| !value.is_plain()) {
                if !matches!(value, Ordered::List(items) if items.is_empty()) {
                    part(text, &clean(name), value, groups, width);
                }
            }
        }
        Ordered::List(items) => {
            heading("");
            list(text, items, groups, width);
        }
        plain => {
            heading("");
            text.push_str(&format!("{}\n", shown(plain)));
        }
    }
}

/// How many rows there are, and how many of them are shown.
fn counted(page: &Ordered, rows: usize) -> String {
    let total = match page.get("total") {
        Some(total @ Ordered::Number(_)) => shown(total),
        _ => rows.to_string(),
    };
    let one = if total == "1" { "row" } else { "rows" };
    match total == rows.to_string() {
        true => format!("{total} {one}"),
        false => format!("{rows} of {total} rows"),
    }
}

fn list(text: &mut String, rows: &[Ordered], groups: &[String], width: Option<usize>) {
    let mut columns: Vec<&str> = Vec::new();
    for row in rows {
        let Ordered::Map(fields) = row else {
            for row in rows {
                text.push_str(&format!("- {}\n", shown(row)));
            }
            return;
        };
        for (name, value) in fields {
            // A column without a single value says nothing, unless it was asked for.
            let is_said = *value != Ordered::Null || groups.contains(name);
            if is_said && !columns.contains(&name.as_str()) {
                columns.push(name);
            }
        }
    }
    let order = |name: &&str| {
        let first = rows.iter().find_map(|row| match row {
            Ordered::Map(fields) => fields.get_index_of(*name),
            _ => None,
        });
        first.unwrap_or(usize::MAX)
    };
    columns.sort_by_key(order);
    let nested = |row: &Ordered| matches!(row, Ordered::Map(fields) if fields.values().any(|value| matches!(value, Ordered::Map(_))));
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            columns.iter().map(|name| row.get(name).map(shown).unwrap_or_default()).collect()
        })
        .collect();
    let header: Vec<String> = columns.iter().map(|name| clean(name).into_owned()).collect();
    let mut widths: Vec<usize> = header.iter().map(|name| display_width(name)).collect();
    for row in &cells {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = (*widest).max(display_width(cell));
        }
    }
    let least = |width: &usize| PADDING + if *width <= SHORT { *width } else { MIN_BROKEN };
    let narrow = width.is_some_and(|width| widths.iter().map(least).sum::<usize>() > width);
    if narrow || rows.iter().any(nested) {
        records(text, rows, &columns, width);
        return;
    }
    if columns.is_empty() {
        return;
    }
    let mut table = Table::new();
    table.load_style(LINES);
    table.set_header(header);
    for row in cells {
        table.add_row(row);
    }
    match width {
        None => {
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
        Some(width) => {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
            for (column, width) in table.column_iter_mut().zip(&widths) {
                if *width <= SHORT {
                    column.set_constraint(ColumnConstraint::ContentWidth);
                }
            }
        }
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    for line in table.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// Each row as lines of names and values.
fn records(text: &mut String, rows: &[Ordered], columns: &[&str], width: Option<usize>) {
    let longest = columns.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    for (at, row) in rows.iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        for name in columns {
            match row.get(name) {
                None | Some(Ordered::Null) => {}
                Some(value @ (Ordered::Map(_) | Ordered::List(_))) => {
                    text.push_str(&format!("{}:\n", clean(name)));
                    let mut left = MAX_LINES;
                    tree(text, value, 1, &mut left);
                    if left == 0 {
                        text.push_str("  … (--format json shows all)\n");
                    }
                }
                Some(value) => {
                    let line = format!("{:longest$}  {}", clean(name), shown(value));
                    let below = " ".repeat(longest + 2);
                    match width.filter(|width| *width > 2 * below.len()) {
                        Some(width) => {
                            let options = textwrap::Options::new(width).subsequent_indent(&below);
                            text.push_str(&textwrap::fill(&line, options));
                        }
                        None => text.push_str(&line),
                    }
                    text.push('\n');
                }
            }
        }
    }
}

/// A nested value as an indented outline.
fn tree(text: &mut String, value: &Ordered, depth: usize, left: &mut usize) {
    let indent = "  ".repeat(depth.min(20));
    let mut entry = |text: &mut String, name: &str, value: &Ordered| {
        if *left == 0 {
            return;
        }
        *left -= 1;
        match value.is_plain() {
            true => text.push_str(&format!("{indent}{name} {}\n", shown(value))),
            false => {
                text.push_str(&format!("{indent}{name}\n"));
                tree(text, value, depth + 1, left);
            }
        }
    };
    match value {
        Ordered::Map(fields) => {
            for (name, value) in fields {
                entry(text, &format!("{}:", clean(name)), value);
            }
        }
        Ordered::List(items) => {
            for item in items {
                entry(text, "-", item);
            }
        }
        plain => entry(text, "", plain),
    }
}

/// A value in one line, without what could do harm; a time to the second.
fn shown(value: &Ordered) -> String {
    match value {
        Ordered::Null => "-".to_owned(),
        Ordered::Flag(flag) => flag.to_string(),
        Ordered::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(fraction) => eog_evidence::rounded(fraction),
            None => number.to_string(),
        },
        Ordered::Text(text) => {
            let time = (text.len() > 20 && text.ends_with('Z'))
                .then(|| text.parse::<eog::Timestamp>().ok())
                .flatten();
            time.map_or_else(|| clean(text).into_owned(), eog_core::incident::to_the_second)
        }
        Ordered::List(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        Ordered::Map(fields) => {
            let fields =
                fields.iter().map(|(name, value)| format!("{}={}", clean(name), shown(value)));
            fields.collect::<Vec<_>>().join(" ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ordered::parse;
    use super::*;

    fn lines(json: &str, width: usize) -> Vec<String> {
        table(&parse(json), &[], Some(width)).lines().map(str::to_owned).collect()
    }

    #[test]
    fn rows_become_a_table_that_fits() {
        let json = r#"{"rows": [
            {"time": "2026-01-01T10:00:00.123456Z", "entity": "shop/Pod/a", "none": null, "note": "one two three four five six seven eight nine ten"},
            {"time": "2026-01-01T10:00:01Z", "entity": "shop/Pod/b", "none": null, "note": "x"}
        ], "total": 5, "offset": 0, "limit": 2, "left_out": "3 more rows; continue with offset 2"}"#;
        let lines = lines(json, 60);
        assert_eq!(lines[0], "2 of 5 rows");
        assert!(lines[1].contains("time") && !lines[1].contains("none"), "{lines:#?}");
        assert!(
            lines.iter().any(|line| line.starts_with("2026-01-01T10:00:00Z  shop/Pod/a")),
            "{lines:#?}"
        );
        assert!(lines.iter().all(|line| line.chars().count() <= 60), "{lines:#?}");
        assert_eq!(lines.last().unwrap(), "3 more rows; continue with offset 2");
    }

    #[test]
    fn too_many_columns_become_records() {
        let json = r#"{"rows": [{"a": 1, "b": 2, "c": 0.123456}, {"a": 4, "b": null, "c": 6}], "total": 2}"#;
        assert_eq!(lines(json, 12), ["2 rows", "a  1", "b  2", "c  0.123", "", "a  4", "c  6"]);
    }

    #[test]
    fn a_long_value_of_a_record_breaks_below_its_beginning() {
        let json = r#"{"rows": [{"a": "one two three four", "b": {"c": 1}}], "total": 1}"#;
        assert_eq!(lines(json, 12)[1..3], ["a  one two", "   three"]);
    }

    #[test]
    fn sections_stand_under_their_names() {
        let json = r#"{"entity": "e", "callers": {"rows": [], "total": 0}, "warnings": ["w"], "none": []}"#;
        assert_eq!(lines(json, 80), ["entity: e", "", "callers: 0 rows", "", "warnings", "- w"]);
    }

    #[test]
    fn nested_values_become_an_outline() {
        let json = r#"{"rows": [{"seen": "x", "spec": {"b": {"c": [1, {"d": true}]}, "a": null}}], "total": 1}"#;
        assert_eq!(
            lines(json, 80),
            [
                "1 row",
                "seen  x",
                "spec:",
                "  b:",
                "    c:",
                "      - 1",
                "      -",
                "        d: true",
                "  a: -"
            ]
        );
    }

    #[test]
    fn escape_sequences_of_telemetry_are_gone() {
        let json = r#"{"rows": [{"a\u001b[2J": "b\u001b[31m\u202e\nc"}], "total": 1, "left_out": "\u001b[0m"}"#;
        let text = table(&parse(json), &[], Some(80));
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    }

    #[test]
    fn a_column_without_values_is_shown_where_it_was_asked_for() {
        let json = r#"{"rows": [{"namespace": null, "node": null, "count": 3}], "total": 1}"#;
        let header = |groups: &[String]| {
            let text = table(&parse(json), groups, Some(80));
            text.lines().nth(1).map(str::to_owned)
        };
        assert_eq!(header(&[]).as_deref(), Some("count"));
        assert_eq!(header(&["namespace".to_owned()]).as_deref(), Some("namespace  count"));
    }
}
