//! The table of a run: every subject beside the direct call with as many clients.

use std::fmt::Write as _;
use std::time::Duration;

/// What was measured of one subject with one number of clients.
pub(super) struct Measured {
    pub(super) subject: String,
    pub(super) clients: usize,
    pub(super) calls_per_second: f64,
    pub(super) median: Duration,
    pub(super) slow: Duration,
    pub(super) errors: usize,
    /// CPU time of the subject's process for each call, in microseconds.
    pub(super) cpu_micros: f64,
    pub(super) rss_mib: f64,
}

/// The rows as text. The first subject is the direct call.
pub(super) fn table(all: &[Measured]) -> String {
    let mut text = format!(
        "{:<28} {:>7} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8} {:>8} {:>7}\n",
        "subject",
        "clients",
        "calls/s",
        "p50 ms",
        "p99 ms",
        "added p50",
        "× direct",
        "CPU µs",
        "RSS MiB",
        "errors"
    );
    for one in all {
        let direct = all.iter().find(|other| other.clients == one.clients);
        let direct = direct.map_or(one.median, |direct| direct.median);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<28} {:>7} {:>9.0} {:>9.3} {:>9.3} {:>9.3} {:>8.1} {:>8.1} {:>8.1} {:>7}",
            one.subject,
            one.clients,
            one.calls_per_second,
            one.median.as_secs_f64() * 1e3,
            one.slow.as_secs_f64() * 1e3,
            one.median.saturating_sub(direct).as_secs_f64() * 1e3,
            one.median.as_secs_f64() / direct.as_secs_f64().max(1e-9),
            one.cpu_micros,
            one.rss_mib,
            one.errors,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(subject: &str, clients: usize, micros: u64) -> Measured {
        Measured {
            subject: subject.to_owned(),
            clients,
            calls_per_second: 1.0,
            median: Duration::from_micros(micros),
            slow: Duration::from_micros(micros),
            errors: 0,
            cpu_micros: 1.0,
            rss_mib: 1.0,
        }
    }

    #[test]
    fn a_subject_is_compared_with_the_direct_call_of_as_many_clients() {
        let all = [
            measured("direct", 1, 100),
            measured("direct", 32, 400),
            measured("gateway", 32, 1000),
        ];

        let text = table(&all);

        let row = text.lines().last().unwrap_or_default();
        assert!(row.contains("1.000     1.000     0.600      2.5"), "{row}");
    }
}
