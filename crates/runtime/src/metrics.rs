//! Metrics of the process, in the Prometheus text format.
//!
//! Code records with the macros of the `metrics` crate; without [`install`] they are no-ops.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use crate::shutdown::Shutdown;

/// Buckets of histograms whose name ends in `_seconds`.
const SECONDS_BUCKETS: [f64; 14] =
    [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 300.0];

/// Interval of histogram upkeep.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

static INSTALLED: Mutex<Option<MetricsExporter>> = Mutex::new(None);

#[derive(Debug, thiserror::Error)]
#[error("could not install the metrics recorder")]
pub struct MetricsError(#[from] BuildError);

/// Renders the metrics. Clones share the recorder.
#[derive(Clone)]
pub struct MetricsExporter {
    handle: PrometheusHandle,
}

/// Installs the recorder. Later calls in the same process return the same exporter.
pub fn install() -> Result<MetricsExporter, MetricsError> {
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(exporter) = installed.as_ref() {
        return Ok(exporter.clone());
    }
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS_BUCKETS)?
        .install_recorder()?;
    let exporter = MetricsExporter { handle };
    *installed = Some(exporter.clone());
    Ok(exporter)
}

impl MetricsExporter {
    /// All metrics, in the Prometheus text format.
    pub fn render(&self) -> String {
        self.handle.render()
    }

    /// Drains histogram samples into their buckets until shutdown. Without it, memory would grow while
    /// the metrics are not scraped.
    pub async fn run_upkeep(self, shutdown: Shutdown) {
        loop {
            tokio::select! {
                () = shutdown.triggered() => return,
                () = tokio::time::sleep(UPKEEP_INTERVAL) => self.handle.run_upkeep(),
            }
        }
    }
}

impl fmt::Debug for MetricsExporter {
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

        let upkeep = exporter.clone().run_upkeep(shutdown.clone());
        let ended = tokio::time::timeout(3 * UPKEEP_INTERVAL, upkeep).await;

        assert!(ended.is_err(), "it goes on until it is asked to stop");
        let text = exporter.render();
        assert!(text.contains("cynode_test_upkeep_seconds_count 1"), "{text}");
        shutdown.trigger();
        exporter.run_upkeep(shutdown).await;
    }
}
