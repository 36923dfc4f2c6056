//! Tables and lists of properties for people.

use comfy_table::{ContentArrangement, Table, presets};

use crate::out::Look;

/// A table with a header; no lines, so that it can be read by `awk` as well.
pub(crate) fn rows(header: &[&str], rows: impl Iterator<Item = Vec<String>>, look: Look) -> String {
    let mut table = bare(look);
    table.set_header(header.iter().copied());
    for row in rows {
        table.add_row(row.iter().map(|cell| one_line(cell)));
    }
    render(&table)
}

/// Names and values, one pair a line; pairs without a value are left out.
pub(crate) fn pairs(pairs: &[(&str, Option<String>)], look: Look) -> String {
    let mut table = bare(look);
    for (name, value) in pairs {
        if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
            table.add_row([(*name).to_owned(), harmless(value)]);
        }
    }
    render(&table)
}

/// `text` in at most `max` characters on one line.
pub(crate) fn short(text: &str, max: usize) -> String {
    let line = one_line(text);
    if line.chars().count() <= max {
        return line;
    }
    line.chars().take(max.saturating_sub(1)).chain(['…']).collect()
}

/// Control characters could rewrite the terminal; a line break is kept.
pub(crate) fn harmless(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect()
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn bare(look: Look) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if let Some(width) = look.width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    table
}

/// Without borders the first column's padding would indent everything.
fn render(table: &Table) -> String {
    let text = table.to_string();
    let lines = text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end());
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn look(width: Option<u16>) -> Look {
        Look { now: DateTime::UNIX_EPOCH, width }
    }

    #[test]
    fn a_table_fits_the_terminal_it_is_printed_on() {
        let row = vec!["name".to_owned(), "word ".repeat(30)];

        let text = rows(&["A", "B"], std::iter::once(row), look(Some(40)));

        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
    }

    #[test]
    fn escape_sequences_of_others_do_not_reach_the_terminal() {
        let text = pairs(&[("summary", Some("\x1b[2Jgone".to_owned()))], look(None));

        assert_eq!(text, "summary   [2Jgone");
    }

    #[test]
    fn long_text_is_cut_with_an_ellipsis() {
        assert_eq!(short("a\nlonger text", 8), "a longe…");
        assert_eq!(short("short", 8), "short");
    }
}
