//! Retries while the gateway is unreachable, for example during a restart.

use std::time::Duration;

use cynode_domain::backoff::Backoff;
use tokio::time::{Instant, sleep};

use crate::failure::CliFailure;

/// How long the gateway may be unreachable before a command fails.
const LIMIT: Duration = Duration::from_mins(1);
const BACKOFF: Backoff = Backoff { first: Duration::from_millis(100), cap: Duration::from_secs(2) };

/// Backoff state of one outage.
#[derive(Debug, Default)]
pub struct GatewayRetry {
    outage: Option<GatewayOutage>,
}

#[derive(Debug)]
struct GatewayOutage {
    since: Instant,
    failures: u32,
}

impl GatewayRetry {
    /// Waits for the backoff delay; returns the failure if it is permanent or the outage lasts longer than a minute.
    pub async fn wait_or_fail(&mut self, failure: CliFailure) -> Result<(), CliFailure> {
        let now = Instant::now();
        let away = self.outage.get_or_insert(GatewayOutage { since: now, failures: 0 });
        if !failure.is_transient() || now.duration_since(away.since) > LIMIT {
            return Err(failure);
        }
        away.failures += 1;
        sleep(BACKOFF.delay(away.failures)).await;
        Ok(())
    }

    /// Resets the backoff; returns true if there was an outage.
    pub fn reset(&mut self) -> bool {
        self.outage.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn away() -> CliFailure {
        CliFailure::Unreachable { url: String::new(), cause: String::new() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_gateway_may_be_away_for_a_minute() {
        let mut patience = GatewayRetry::default();
        let start = Instant::now();

        while patience.wait_or_fail(away()).await.is_ok() {}

        let borne = start.elapsed();
        assert!(borne > LIMIT && borne < LIMIT + BACKOFF.cap * 2, "{borne:?}");
        assert!(patience.reset());
        assert!(patience.wait_or_fail(away()).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_not_borne() {
        let refusal = CliFailure::NotFound("no such task".to_owned());

        assert_eq!(GatewayRetry::default().wait_or_fail(refusal).await.unwrap_err().code(), 4);
    }
}
