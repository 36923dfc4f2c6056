//! Bearing with a gateway that is away: it may be restarting.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::failure::Failure;

/// How long a gateway may be away before a command gives up.
const LIMIT: Duration = Duration::from_mins(1);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How long the gateway has been away.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    away: Option<Away>,
}

#[derive(Debug)]
struct Away {
    since: Instant,
    pause: Duration,
}

impl Patience {
    /// Waits a little if trying again makes sense; gives the failure back if not.
    pub(crate) async fn bear(&mut self, failure: Failure) -> Result<(), Failure> {
        let now = Instant::now();
        let away = self.away.get_or_insert(Away { since: now, pause: FIRST_PAUSE });
        if !failure.is_transient() || now.duration_since(away.since) > LIMIT {
            return Err(failure);
        }
        sleep(away.pause).await;
        away.pause = (away.pause * 2).min(LONGEST_PAUSE);
        Ok(())
    }

    /// The gateway answers; whether it had been away.
    pub(crate) fn is_over(&mut self) -> bool {
        self.away.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn away() -> Failure {
        Failure::Unreachable { url: String::new(), cause: String::new() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_gateway_may_be_away_for_a_minute() {
        let mut patience = Patience::default();
        let start = Instant::now();

        while patience.bear(away()).await.is_ok() {}

        let borne = start.elapsed();
        assert!(borne > LIMIT && borne < LIMIT + LONGEST_PAUSE * 2, "{borne:?}");
        assert!(patience.is_over());
        assert!(patience.bear(away()).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_not_borne() {
        let refusal = Failure::NotFound("no such task".to_owned());

        assert_eq!(Patience::default().bear(refusal).await.unwrap_err().code(), 4);
    }
}
