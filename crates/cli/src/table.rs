//! Tables and property lists for people.

mod fit;

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};
use cynode_domain::text::ellipsize_chars;

use crate::out::RenderContext;

/// Renders a table with a header and without borders, so that `awk` can parse it.
///
/// If it does not fit the terminal, prose is wrapped and ids move below their row, unbroken.
pub fn render_table(
    header: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
    ctx: RenderContext,
) -> String {
    let clean = |row: Vec<String>| row.iter().map(|cell| sanitize_line(cell)).collect();
    let rows: Vec<Vec<String>> = rows.map(clean).collect();
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header.iter().copied());
    table.add_rows(&rows);
    let natural = table.column_max_content_widths();
    let total: usize = natural.iter().map(|width| usize::from(*width) + 2).sum();
    match ctx.width {
        Some(width) if total > usize::from(width) + 2 => {
            render_fitted(header, &rows, &natural, width)
        }
        _ => render(&table),
    }
}

fn render_fitted(header: &[&str], rows: &[Vec<String>], natural: &[u16], width: u16) -> String {
    let fit = fit::fit_columns(rows, natural, width);
    let cells = |row: &[String]| -> Vec<String> {
        fit.columns
            .iter()
            .map(|(column, _)| row.get(*column).cloned().unwrap_or_default())
            .collect()
    };
    let part = |cells: Vec<String>| {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        table.add_row(cells);
        let widths = fit.columns.iter().map(|(_, width)| Width::Fixed(width.saturating_add(2)));
        table.set_constraints(widths.map(ColumnConstraint::Absolute));
        render(&table)
    };
    let head: Vec<_> = header.iter().map(|title| (*title).to_owned()).collect();
    let mut lines = vec![part(cells(&head))];
    for row in rows {
        lines.push(part(cells(row)));
        let below =
            fit.below.iter().filter(|column| row.get(**column).is_some_and(|c| !c.is_empty()));
        lines.extend(below.map(|column| format!("  {} {}", header[*column], row[*column])));
    }
    lines.join("\n")
}

/// Renders names and values, one pair per line; pairs without a value are omitted.
pub fn render_pairs(pairs: &[(&str, Option<String>)], ctx: RenderContext) -> String {
    let mut table = plain_table(ctx);
    for (name, value) in pairs {
        if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
            table.add_row([(*name).to_owned(), sanitize(value)]);
        }
    }
    render(&table)
}

/// Truncates `text` to `max` characters on one line.
pub fn truncate(text: &str, max: usize) -> String {
    ellipsize_chars(&sanitize_line(text), max).into_owned()
}

/// Sanitises untrusted text: control characters become blanks and invisible characters are escaped; line breaks
/// are kept.
pub fn sanitize(text: &str) -> String {
    text.split('\n').map(sanitize_line).collect::<Vec<_>>().join("\n")
}

/// Sanitises untrusted text while it streams: keeps line breaks and tabs. Works per character, so chunks may be
/// split anywhere.
pub fn sanitize_stream(text: &str) -> String {
    let parts = text.split_inclusive(['\n', '\t']).map(|part| {
        let kept = part.chars().next_back().filter(|c| ['\n', '\t'].contains(c));
        let line = part.trim_end_matches(['\n', '\t']);
        sanitize_line(line) + &kept.map(String::from).unwrap_or_default()
    });
    parts.collect()
}

pub fn sanitize_line(text: &str) -> String {
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

/// Characters that are invisible but change the display: direction marks, joiners, tags.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

fn plain_table(ctx: RenderContext) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if let Some(width) = ctx.width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    table
}

/// Strips the padding of the first column, which would indent every line.
fn render(table: &Table) -> String {
    let text = table.to_string();
    let lines = text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end());
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn render_context(width: Option<u16>) -> RenderContext {
        RenderContext { now: DateTime::UNIX_EPOCH, width }
    }

    #[test]
    fn what_would_show_text_in_another_order_is_shown_itself() {
        assert_eq!(sanitize("a\u{202e}b\u{1b}[2J\nc"), "a\\u{202e}b [2J\nc");
        assert_eq!(sanitize("größer 🙂"), "größer 🙂");
    }

    #[test]
    fn a_table_fits_the_terminal_it_is_printed_on() {
        let row = vec!["name".to_owned(), "word ".repeat(30)];

        let text = render_table(&["A", "B"], std::iter::once(row), render_context(Some(40)));

        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
    }

    #[test]
    fn ids_names_and_states_are_whole_on_a_narrow_terminal() {
        let id = |number| uuid::Uuid::from_u128(number).to_string();
        let row = |number: u128| {
            let reason = "the step ended well and nothing that was asked for is missing";
            ["finalize_summary", "awaiting_review", reason, &id(number), &id(number + 7)]
                .map(str::to_owned)
                .to_vec()
        };

        let header = ["NODE", "STATE", "REASON", "TASK", "RUN"];
        let text = render_table(&header, [row(1), row(2)].into_iter(), render_context(Some(80)));

        for whole in [&*id(1), &id(2), &id(8), &id(9), "finalize_summary", "awaiting_review"] {
            assert!(text.contains(whole), "{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn prose_keeps_its_lines_and_loses_what_rewrites_the_terminal() {
        assert_eq!(sanitize_stream("a\n\n\tb\n"), "a\n\n\tb\n");
        let chunks = ["\u{1b}", "]52;c;aGk=\u{7}", "x\r\n\u{9b}2J"];
        assert_eq!(chunks.map(sanitize_stream).concat(), " ]52;c;aGk= x \n 2J");
    }

    #[test]
    fn escape_sequences_of_others_do_not_reach_the_terminal() {
        let text =
            render_pairs(&[("summary", Some("\x1b[2Jgone".to_owned()))], render_context(None));

        assert_eq!(text, "summary   [2Jgone");
    }

    #[test]
    fn long_text_is_cut_with_an_ellipsis() {
        assert_eq!(truncate("a\nlonger text", 8), "a longe…");
        assert_eq!(truncate("short", 8), "short");
    }
}
