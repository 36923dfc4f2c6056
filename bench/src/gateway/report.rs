//! The table of a run: every subject beside the direct call, and beside our gateway, with as many
//! clients.

use std::fmt::Write as _;
use std::time::Duration;

/// How the subjects that are ours begin; the first of them is what others are compared with.
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

/// What was measured of one subject with one number of clients.
pub(super) struct Measured {
    pub(super) subject: String,
    pub(super) clients: usize,
    pub(super) calls_per_second: f64,
    pub(super) median: Duration,
    pub(super) slow: Duration,
    pub(super) errors: usize,
    /// CPU time of the subject's processes for each call, in microseconds.
    pub(super) cpu_micros: f64,
    pub(super) rss_mib: f64,
}

/// How a table is written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Style {
    /// Columns aligned by spaces.
    Plain,
    /// To be pasted into `docs/benchmarks.md`.
    Markdown,
}

/// The rows as text. The first subject is the direct call.
pub(super) fn table(all: &[Measured], style: Style) -> String {
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    rows.extend(all.iter().map(|one| cells(one, all)));
    match style {
        Style::Plain => plain(&rows),
        Style::Markdown => markdown(&rows),
    }
}

fn cells(one: &Measured, all: &[Measured]) -> [String; COLUMNS.len()] {
    let as_many = |other: &&Measured| other.clients == one.clients;
    let direct = all.iter().find(as_many).map_or(one.median, |direct| direct.median);
    let ours = all.iter().filter(as_many).find(|other| other.subject.starts_with(OURS));
    let ours = ours.map(|ours| number(one.calls_per_second / ours.calls_per_second.max(1e-9)));
    let millis = |time: Duration| format!("{:.3}", time.as_secs_f64() * 1e3);
    [
        one.subject.clone(),
        one.clients.to_string(),
        number(one.calls_per_second),
        millis(one.median),
        millis(one.slow),
        millis(one.median.saturating_sub(direct)),
        number(one.median.as_secs_f64() / direct.as_secs_f64().max(1e-9)),
        ours.unwrap_or_default(),
        format!("{:.0}", one.cpu_micros),
        format!("{:.1}", one.rss_mib),
        one.errors.to_string(),
    ]
}

/// Two figures at least, and no more behind the point than they need.
pub(crate) fn number(value: f64) -> String {
    match value {
        100.0.. => format!("{value:.0}"),
        1.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.4}"),
    }
}

/// Columns aligned by spaces.
pub(crate) fn plain<const N: usize>(rows: &[[String; N]]) -> String {
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

/// The rows as Markdown; the first is the head.
pub(crate) fn markdown<const N: usize>(rows: &[[String; N]]) -> String {
    let mut lines: Vec<String> =
        rows.iter().map(|row| format!("| {} |\n", row.join(" | "))).collect();
    lines.insert(1, format!("|{}\n", "---|".repeat(N)));
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(subject: &str, clients: usize, micros: u32) -> Measured {
        let clients_a_second = f64::from(u32::try_from(clients).unwrap()) * 1e6;
        Measured {
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

    fn all() -> [Measured; 5] {
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
        let text = table(&all(), Style::Markdown);

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
        let text = table(&all(), Style::Plain);

        let lengths: Vec<usize> = text.lines().map(|line| line.chars().count()).collect();
        assert!(lengths.iter().all(|length| *length == lengths[0]), "{text}");
        assert_eq!(lengths.len(), 6);
    }
}
