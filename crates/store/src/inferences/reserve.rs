//! Money set aside for a call before it is made.
//!
//! An open call is its own reservation: its cost is the most that it may be, and counts as spent until
//! the call ends and says what it was. If the process ends first, that is what stays on record.
//!
//! Invariant: however many processes set money aside at once, together they do not pass a limit.

use std::sync::LazyLock;

use chrono::{DateTime, Utc};

use super::{CALL, InferenceCall, call_params};
use crate::param::Param;
use crate::store::Backend;
use crate::tx::for_postgres;
use crate::{Error, Store, Tx};

/// The most that may be spent, in millionths of a US dollar; open calls count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpendingLimits {
    /// By all calls that began at or after a moment.
    pub since: Option<(DateTime<Utc>, i64)>,
    /// By all calls of the call's run.
    pub run: Option<i64>,
}

/// Whoever sets money aside on PostgreSQL waits for those who do: what they add up is true then.
const LOCK: &str = "SELECT pg_advisory_xact_lock(8351207)";

static RESERVE: LazyLock<String> = LazyLock::new(|| {
    let values: Vec<String> = (1..=CALL.len()).map(|number| format!("${number}")).collect();
    let first = CALL.len() + 1;
    let [most, since, most_of_run, run, cost] = [0, 1, 2, 3, 4].map(|n| format!("${}", first + n));
    format!(
        "INSERT INTO brain_calls ({}) SELECT {}
         WHERE ({most} /*pg ::bigint */ IS NULL OR {cost} /*pg ::bigint */ +
             (SELECT coalesce(sum(cost_micro_usd), 0) FROM brain_calls
              WHERE created_at >= {since} /*pg ::timestamptz */ AND cost_micro_usd > 0) <= {most})
         AND ({most_of_run} /*pg ::bigint */ IS NULL OR {cost} +
             (SELECT coalesce(sum(cost_micro_usd), 0) FROM brain_calls
              WHERE run_id = {run} /*pg ::uuid */) <= {most_of_run})
         ON CONFLICT (id) DO NOTHING",
        CALL.join(", "),
        values.join(", "),
    )
});
static RESERVE_ON_POSTGRES: LazyLock<String> = LazyLock::new(|| for_postgres(&RESERVE));

impl Store {
    /// Records an open call, if its cost fits into what the limits leave; otherwise nothing is changed.
    /// Gives whether it is on record. On PostgreSQL it takes one round trip.
    pub async fn inference_reserve(
        &self,
        call: &InferenceCall,
        limits: SpendingLimits,
    ) -> Result<bool, Error> {
        let mut params = call_params(call).to_vec();
        let cost = call.cost_micro_usd.unwrap_or(0);
        let (since, most) = limits.since.unzip();
        let of_run: [Param; 3] = [limits.run.into(), call.run.into(), cost.into()];
        params.extend([Param::from(most), since.into()].into_iter().chain(of_run));
        let changed = match &self.0 {
            Backend::Postgres(_) => {
                self.write_alone(move |tx| Box::pin(set_aside(tx, params))).await?
            }
            Backend::Sqlite(_) => {
                self.write(move |tx| Box::pin(async move { tx.execute(&RESERVE, &params).await }))
                    .await?
            }
        };
        Ok(changed == 1)
    }
}

async fn set_aside(tx: &mut Tx, params: Vec<Param>) -> Result<u64, Error> {
    let statements = [(LOCK, &[][..]), (&RESERVE_ON_POSTGRES, &*params)];
    Ok(tx.commit_all(&statements).await?.last().copied().unwrap_or(0))
}
