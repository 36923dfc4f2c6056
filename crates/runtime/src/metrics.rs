//! Numbers about the process, in Prometheus' text format.
//!
//! Parts count with the macros of the `metrics` crate; without [`install`] those do nothing.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use crate::shutdown::Shutdown;

/// Buckets, in seconds, of every histogram whose name ends in `_seconds`.
const SECONDS: [f64; 14] =
    [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 300.0];

/// How often the values of histograms are put into their buckets.
const UPKEEP: Duration = Duration::from_secs(5);

static INSTALLED: Mutex<Option<Exporter>> = Mutex::new(None);

/// Why metrics are not collected.
#[derive(Debug, thiserror::Error)]
#[error("metrics cannot be collected in this process")]
pub struct MetricsError(#[from] BuildError);

/// Shows what was counted. Clones show the same numbers.
#[derive(Clone)]
pub struct Exporter {
    handle: PrometheusHandle,
}

/// Starts to collect. Later calls in the same process give the same exporter.
pub fn install() -> Result<Exporter, MetricsError> {
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(exporter) = installed.as_ref() {
        return Ok(exporter.clone());
    }
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)?
        .install_recorder()?;
    let exporter = Exporter { handle };
    *installed = Some(exporter.clone());
    Ok(exporter)
}

impl Exporter {
    /// Every number, in Prometheus' text format.
    pub fn render(&self) -> String {
        self.handle.render()
    }

    /// Puts the values of histograms into their buckets until shutdown. Where nobody looks at the
    /// numbers, each value would take memory for ever without this.
    pub async fn keep_up(self, shutdown: Shutdown) {
        loop {
            tokio::select! {
                () = shutdown.triggered() => return,
                () = tokio::time::sleep(UPKEEP) => self.handle.run_upkeep(),
            }
        }
    }
}

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exporter").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installing_twice_shows_the_same_numbers() {
        let first = install().unwrap();
        let second = install().unwrap();

        ::metrics::counter!("cynode_test_things_total").increment(3);
        ::metrics::histogram!("cynode_test_wait_seconds").record(0.02);

        for exporter in [first, second] {
            let text = exporter.render();
            assert!(text.contains("cynode_test_things_total 3"), "{text}");
            assert!(text.contains("cynode_test_wait_seconds_bucket{le=\"0.025\"} 1"), "{text}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn upkeep_loses_no_value_and_ends_with_the_process() {
        let (exporter, shutdown) = (install().unwrap(), Shutdown::new());
        ::metrics::histogram!("cynode_test_upkeep_seconds").record(0.02);

        let upkeep = exporter.clone().keep_up(shutdown.clone());
        let ended = tokio::time::timeout(3 * UPKEEP, upkeep).await;

        assert!(ended.is_err(), "it goes on until it is asked to stop");
        let text = exporter.render();
        assert!(text.contains("cynode_test_upkeep_seconds_count 1"), "{text}");
        shutdown.trigger();
        exporter.keep_up(shutdown).await;
    }
}
