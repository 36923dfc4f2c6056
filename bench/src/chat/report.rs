//! The result table: every subject compared with the direct request and with CyNode, for the same
//! number of clients.

use std::time::Duration;

use super::client::ResponseMode;
use super::load::ChatLoadResult;
use crate::gateway::report::{TableStyle, format_number, render_markdown, render_plain};

/// Prefix of CyNode's own subjects; the first of them is the reference for the others.
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

/// The figures of one subject with one number of clients.
pub(super) struct ChatFigures {
    subject: String,
    clients: usize,
    mode: ResponseMode,
    per_second: f64,
    first: Duration,
    slow: Duration,
    whole: Duration,
    cpu_micros: Option<f64>,
    rss_mib: Option<f64>,
    pub(super) errors: usize,
}

impl ChatFigures {
    pub(super) fn new(
        subject: &str,
        (clients, mode): (usize, ResponseMode),
        result: &ChatLoadResult,
    ) -> anyhow::Result<Self> {
        let count = f64::from(u32::try_from(result.first.len().max(1))?);
        Ok(Self {
            subject: subject.to_owned(),
            clients,
            mode,
            per_second: count / result.took.as_secs_f64(),
            first: result.first.percentile(50),
            slow: result.first.percentile(99),
            whole: result.whole.percentile(50),
            cpu_micros: result.cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / count),
            rss_mib: result.rss_mib,
            errors: result.errors,
        })
    }
}

/// Renders the rows. The first subject is the direct request.
pub(super) fn render_chat_table(all: &[ChatFigures], style: TableStyle) -> String {
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    rows.extend(all.iter().map(|one| render_chat_row(one, all)));
    match style {
        TableStyle::Plain => render_plain(&rows),
        TableStyle::Markdown => render_markdown(&rows),
    }
}

fn render_chat_row(one: &ChatFigures, all: &[ChatFigures]) -> [String; COLUMNS.len()] {
    let alike = |other: &&ChatFigures| other.clients == one.clients && other.mode == one.mode;
    let direct = all.iter().find(alike).map_or(one.first, |direct| direct.first);
    let ours = all.iter().filter(alike).find(|other| other.subject.starts_with(OURS));
    let ours = ours.map(|ours| format_number(one.per_second / ours.per_second.max(1e-9)));
    let millis = |time: Duration| format!("{:.3}", time.as_secs_f64() * 1e3);
    [
        one.subject.clone(),
        one.mode.to_string(),
        one.clients.to_string(),
        format_number(one.per_second),
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

    fn measured(subject: &str, mode: ResponseMode, micros: u32) -> ChatFigures {
        let time = Duration::from_micros(micros.into());
        ChatFigures {
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
            measured("direct", ResponseMode::Stream, 100),
            measured("direct", ResponseMode::Whole, 200),
            measured("orchestrator, SQLite", ResponseMode::Whole, 1000),
            measured("LiteLLM 1", ResponseMode::Whole, 20_000),
        ];

        let text = render_chat_table(&all, TableStyle::Markdown);

        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            rows[2],
            "| orchestrator, SQLite | whole | 1 | 1000 | 1.000 | 1.000 | 0.800 | 2.000 | 1.0 |  | 10.0 | 0 |"
        );
        assert!(rows[3].contains("| 19.800 | 40.000 | 0.0500 |"), "{}", rows[3]);
    }
}
