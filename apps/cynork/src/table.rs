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

/// What could rewrite the terminal, or show text in another order than it is read in, is shown as what
/// it is; a line break is kept.
pub(crate) fn harmless(text: &str) -> String {
    text.split('\n').map(one_line).collect::<Vec<_>>().join("\n")
}

fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            _ if c.is_control() => line.push(' '),
            _ if is_invisible(c) => line.extend(c.escape_unicode()),
            _ => line.push(c),
        }
    }
    line
}

/// Characters that are not seen, but change what is: marks and orders of direction, joiners, tags.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
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
    fn what_would_show_text_in_another_order_is_shown_itself() {
        assert_eq!(harmless("a\u{202e}b\u{1b}[2J\nc"), "a\\u{202e}b [2J\nc");
        assert_eq!(harmless("größer 🙂"), "größer 🙂");
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
