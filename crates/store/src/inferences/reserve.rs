//! Budget reservation for a model call.
//!
//! An open call is its own reservation: it is recorded with its maximum cost, which counts as spent until the
//! call ends and its actual cost is recorded. If the process dies first, the maximum stays on record.
//!
//! Invariant: however many processes reserve concurrently, together they do not exceed a limit.

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use cynode_domain::ids::TaskId;

use super::{CALL, InferenceCall, call_params};
use crate::store::StoreBackend;
use crate::{Error, Store};
use cynode_sql::{Param, check_params, for_postgres};

/// Spending limits, in millionths of a US dollar; open calls count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpendingLimits {
    /// For all calls that started at or after a time.
    pub since: Option<(DateTime<Utc>, i64)>,
    /// For all calls of the call's run.
    pub run: Option<i64>,
    /// For all calls of a request and its child tasks.
    pub request: Option<(TaskId, i64)>,
}

/// Serialises reservations on PostgreSQL, so that each sees the sums of those before it.
const LOCK: &str = "SELECT pg_advisory_xact_lock(8351207)";

static RESERVE: LazyLock<String> = LazyLock::new(|| {
    let columns = CALL.split(',').count();
    let values: Vec<String> = (1..=columns).map(|number| format!("${number}")).collect();
    let first = columns + 1;
    let [most, since, most_of_run, run, cost, most_of_request, request] =
        [0, 1, 2, 3, 4, 5, 6].map(|n| format!("${}", first + n));
    format!(
        "INSERT INTO brain_calls ({CALL}) SELECT {}
         WHERE ({most} /*pg ::bigint */ IS NULL OR {cost} /*pg ::bigint */ +
             (SELECT coalesce(sum(cost_micro_usd), 0) FROM brain_calls
              WHERE created_at >= {since} /*pg ::timestamptz */ AND cost_micro_usd > 0) <= {most})
         AND ({most_of_run} /*pg ::bigint */ IS NULL OR {cost} +
             (SELECT coalesce(sum(cost_micro_usd), 0) FROM brain_calls
              WHERE run_id = {run} /*pg ::uuid */) <= {most_of_run})
         AND ({most_of_request} /*pg ::bigint */ IS NULL OR {cost} +
             (SELECT coalesce(sum(cost_micro_usd), 0) FROM brain_calls
              WHERE task_id IN (SELECT id FROM tasks WHERE id = {request} /*pg ::uuid */
                  OR parent_task_id = {request})) <= {most_of_request})
         ON CONFLICT (id) DO NOTHING",
        values.join(", "),
    )
});
static RESERVE_ON_POSTGRES: LazyLock<String> =
    LazyLock::new(|| format!("{} RETURNING 1 AS one", for_postgres(&RESERVE)));

impl Store {
    /// Records an open call if its maximum cost fits the remaining budget. Returns whether it was recorded. One
    /// round trip on PostgreSQL.
    pub async fn inference_reserve(
        &self,
        call: &InferenceCall,
        limits: SpendingLimits,
    ) -> Result<bool, Error> {
        let mut params = call_params(call).to_vec();
        let cost = call.cost_micro_usd.unwrap_or(0);
        let (since, most) = limits.since.unzip();
        let of_run: [Param; 3] = [limits.run.into(), call.run.into(), cost.into()];
        let (request, most_of_request) = limits.request.unzip();
        let of_request: [Param; 2] = [most_of_request.into(), request.into()];
        params
            .extend([Param::from(most), since.into()].into_iter().chain(of_run).chain(of_request));
        match &self.0 {
            StoreBackend::Postgres(postgres) => {
                check_params(&params)?;
                let queries = [(LOCK, vec![]), (RESERVE_ON_POSTGRES.as_str(), params)];
                let returned = postgres.commit_statements(&queries).await?;
                Ok(returned.last().is_some_and(|rows| !rows.is_empty()))
            }
            StoreBackend::Sqlite(_) => {
                let changed = self
                    .write(move |tx| Box::pin(async move { tx.execute(&RESERVE, &params).await }))
                    .await?;
                Ok(changed == 1)
            }
        }
    }
}
