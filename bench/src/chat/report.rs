//! The table of a run: every subject beside the direct question and beside ours, with as many clients.

use std::time::Duration;

use super::client::Mode;
use super::load::Asked;
use crate::gateway::report::{Style, markdown, number, plain};

/// How the subjects that are ours begin; the first of them is what others are compared with.
const OURS: &str = "orchestrator";

const COLUMNS: [&str; 12] = [
    "subject",
    "answer",
    "clients",
    "requests/s",
    "first token p50 ms",
    "p99 ms",
    "added p50 ms",
    "whole p50 ms",
    "requests/s × ours",
    "CPU µs/request",
    "RSS MiB",
    "errors",
];

/// What was measured of one subject with one number of clients.
pub(super) struct Measured {
    subject: String,
    clients: usize,
    mode: Mode,
    per_second: f64,
    first: Duration,
    slow: Duration,
    whole: Duration,
    cpu_micros: Option<f64>,
    rss_mib: Option<f64>,
    pub(super) errors: usize,
}

impl Measured {
    pub(super) fn new(
        subject: &str,
        (clients, mode): (usize, Mode),
        asked: &Asked,
    ) -> anyhow::Result<Self> {
        let count = f64::from(u32::try_from(asked.first.len().max(1))?);
        Ok(Self {
            subject: subject.to_owned(),
            clients,
            mode,
            per_second: count / asked.took.as_secs_f64(),
            first: asked.first.percentile(50),
            slow: asked.first.percentile(99),
            whole: asked.whole.percentile(50),
            cpu_micros: asked.cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / count),
            rss_mib: asked.rss_mib,
            errors: asked.errors,
        })
    }
}

/// The rows as text. The first subject is the direct question.
pub(super) fn table(all: &[Measured], style: Style) -> String {
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    rows.extend(all.iter().map(|one| cells(one, all)));
    match style {
        Style::Plain => plain(&rows),
        Style::Markdown => markdown(&rows),
    }
}

fn cells(one: &Measured, all: &[Measured]) -> [String; COLUMNS.len()] {
    let alike = |other: &&Measured| other.clients == one.clients && other.mode == one.mode;
    let direct = all.iter().find(alike).map_or(one.first, |direct| direct.first);
    let ours = all.iter().filter(alike).find(|other| other.subject.starts_with(OURS));
    let ours = ours.map(|ours| number(one.per_second / ours.per_second.max(1e-9)));
    let millis = |time: Duration| format!("{:.3}", time.as_secs_f64() * 1e3);
    [
        one.subject.clone(),
        one.mode.to_string(),
        one.clients.to_string(),
        number(one.per_second),
        millis(one.first),
        millis(one.slow),
        millis(one.first.saturating_sub(direct)),
        millis(one.whole),
        ours.unwrap_or_default(),
        one.cpu_micros.map(|micros| format!("{micros:.0}")).unwrap_or_default(),
        one.rss_mib.map(|mib| format!("{mib:.1}")).unwrap_or_default(),
        one.errors.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(subject: &str, mode: Mode, micros: u32) -> Measured {
        let time = Duration::from_micros(micros.into());
        Measured {
            subject: subject.to_owned(),
            clients: 1,
            mode,
            per_second: 1e6 / f64::from(micros),
            first: time,
            slow: time,
            whole: time * 2,
            cpu_micros: None,
            rss_mib: Some(10.0),
            errors: 0,
        }
    }

    #[test]
    fn a_row_is_compared_with_direct_and_ours_of_the_same_kind() {
        let all = [
            measured("direct", Mode::Stream, 100),
            measured("direct", Mode::Whole, 200),
            measured("orchestrator, SQLite", Mode::Whole, 1000),
            measured("LiteLLM 1", Mode::Whole, 20_000),
        ];

        let text = table(&all, Style::Markdown);

        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            rows[2],
            "| orchestrator, SQLite | whole | 1 | 1000 | 1.000 | 1.000 | 0.800 | 2.000 | 1.0 |  | 10.0 | 0 |"
        );
        assert!(rows[3].contains("| 19.800 | 40.000 | 0.0500 |"), "{}", rows[3]);
    }
}
