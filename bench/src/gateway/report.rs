//! The result table: every subject compared with the direct call and with our gateway, for the same
//! number of clients.

use std::fmt::Write as _;
use std::time::Duration;

/// Prefix of our own subjects; the first of them is the reference for the others.
pub(super) const OURS: &str = "gateway";

const COLUMNS: [&str; 11] = [
    "subject",
    "clients",
    "calls/s",
    "p50 ms",
    "p99 ms",
    "added p50 ms",
    "p50 × direct",
    "calls/s × ours",
    "CPU µs/call",
    "RSS MiB",
    "errors",
];

/// The figures of one subject with one number of clients.
pub(super) struct GatewayFigures {
    pub(super) subject: String,
    pub(super) clients: usize,
    pub(super) calls_per_second: f64,
    pub(super) median: Duration,
    pub(super) slow: Duration,
    pub(super) errors: usize,
    /// CPU time of the subject's processes per call, in microseconds.
    pub(super) cpu_micros: f64,
    pub(super) rss_mib: f64,
}

/// Format of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TableStyle {
    /// Aligned columns.
    Plain,
    /// For `docs/benchmarks.md`.
    Markdown,
}

/// Renders the rows. The first subject is the direct call.
pub(super) fn render_gateway_table(all: &[GatewayFigures], style: TableStyle) -> String {
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    rows.extend(all.iter().map(|one| render_gateway_row(one, all)));
    match style {
        TableStyle::Plain => render_plain(&rows),
        TableStyle::Markdown => render_markdown(&rows),
    }
}

fn render_gateway_row(one: &GatewayFigures, all: &[GatewayFigures]) -> [String; COLUMNS.len()] {
    let as_many = |other: &&GatewayFigures| other.clients == one.clients;
    let direct = all.iter().find(as_many).map_or(one.median, |direct| direct.median);
    let ours = all.iter().filter(as_many).find(|other| other.subject.starts_with(OURS));
    let ours =
        ours.map(|ours| format_number(one.calls_per_second / ours.calls_per_second.max(1e-9)));
    let millis = |time: Duration| format!("{:.3}", time.as_secs_f64() * 1e3);
    [
        one.subject.clone(),
        one.clients.to_string(),
        format_number(one.calls_per_second),
        millis(one.median),
        millis(one.slow),
        millis(one.median.saturating_sub(direct)),
        format_number(one.median.as_secs_f64() / direct.as_secs_f64().max(1e-9)),
        ours.unwrap_or_default(),
        format!("{:.0}", one.cpu_micros),
        format!("{:.1}", one.rss_mib),
        one.errors.to_string(),
    ]
}

/// At least two significant digits, and no more decimals than necessary.
pub(crate) fn format_number(value: f64) -> String {
    match value {
        100.0.. => format!("{value:.0}"),
        1.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.4}"),
    }
}

/// Renders aligned columns.
pub(crate) fn render_plain<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; N] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let mut text = String::new();
    for row in rows {
        for (column, (figure, width)) in row.iter().zip(widths).enumerate() {
            // Writing to a string cannot fail.
            let _ = match column {
                0 => write!(text, "{figure:<width$}"),
                _ => write!(text, "  {figure:>width$}"),
            };
        }
        text.push('\n');
    }
    text
}

/// Renders the rows as Markdown; the first is the header.
pub(crate) fn render_markdown<const N: usize>(rows: &[[String; N]]) -> String {
    let mut lines: Vec<String> =
        rows.iter().map(|row| format!("| {} |\n", row.join(" | "))).collect();
    lines.insert(1, format!("|{}\n", "---|".repeat(N)));
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(subject: &str, clients: usize, micros: u32) -> GatewayFigures {
        let clients_a_second = f64::from(u32::try_from(clients).unwrap()) * 1e6;
        GatewayFigures {
            subject: subject.to_owned(),
            clients,
            calls_per_second: clients_a_second / f64::from(micros),
            median: Duration::from_micros(micros.into()),
            slow: Duration::from_micros(micros.into()),
            errors: 0,
            cpu_micros: 1.0,
            rss_mib: 1.0,
        }
    }

    fn all() -> [GatewayFigures; 5] {
        [
            measured("direct", 1, 100),
            measured("direct", 32, 400),
            measured("gateway, SQLite", 32, 1000),
            measured("gateway, PostgreSQL", 32, 2000),
            measured("peer", 32, 4_000_000),
        ]
    }

    #[test]
    fn a_subject_is_compared_with_the_direct_call_and_with_ours_of_as_many_clients() {
        let text = render_gateway_table(&all(), TableStyle::Markdown);

        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            rows[0],
            "| direct | 1 | 10000 | 0.100 | 0.100 | 0.000 | 1.0 |  | 1 | 1.0 | 0 |"
        );
        assert!(rows[2].contains("| 0.600 | 2.5 | 1.0 |"), "{}", rows[2]);
        assert!(rows[3].contains("| 1.600 | 5.0 | 0.5000 |"), "{}", rows[3]);
        assert!(rows[4].contains("| 8.0 | 4000.000 | 4000.000 | 3999.600 | 10000 | 0.0003 |"));
    }

    #[test]
    fn columns_of_a_plain_table_are_aligned() {
        let text = render_gateway_table(&all(), TableStyle::Plain);

        let lengths: Vec<usize> = text.lines().map(|line| line.chars().count()).collect();
        assert!(lengths.iter().all(|length| *length == lengths[0]), "{text}");
        assert_eq!(lengths.len(), 6);
    }
}
