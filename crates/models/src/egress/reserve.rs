//! Reserves the maximum cost of a call in the budget before the call is made.

use chrono::NaiveTime;
use cynode_store::{InferenceCall, InferenceFilter, SpendingLimits};

use super::budget::{SpendingBudget, SpentAmounts};
use super::call_record::CallRecorder;
use super::{Egress, EgressError};

impl Egress {
    /// Reserves the maximum cost of a call, visible to every process. Returns the reason if the
    /// budget does not cover it. Reserves nothing if no budget is set.
    pub(super) async fn reserve_cost(
        &self,
        budget: &SpendingBudget,
        record: &CallRecorder,
    ) -> Result<Option<String>, EgressError> {
        if !budget.is_set() || record.is_free() {
            return Ok(None);
        }
        let Some(open) = record.reservation() else {
            let reason = budget.unknown_price_reason();
            if budget.has_request() {
                return Ok(Some(reason));
            }
            return Ok(reject_unless_warning(budget, reason));
        };
        let Some(reason) = self.try_reservation(budget, &open).await? else { return Ok(None) };
        if !budget.is_warning() {
            return Ok(Some(reason));
        }
        // The limit of a request holds in every mode.
        if let Some(reason) = self.try_reservation(&budget.of_request(), &open).await? {
            return Ok(Some(reason));
        }
        Ok(reject_unless_warning(budget, reason))
    }

    /// Reserves the maximum cost of a call; returns the reason if the budget does not cover it.
    async fn try_reservation(
        &self,
        budget: &SpendingBudget,
        open: &InferenceCall,
    ) -> Result<Option<String>, EgressError> {
        let midnight = open.created_at.date_naive().and_time(NaiveTime::MIN).and_utc();
        let mut limits = budget.limits(midnight);
        limits.run = limits.run.filter(|_| open.run.is_some());
        if self.insert_reservation(open, limits).await? {
            return Ok(None);
        }
        let most = open.cost_micro_usd.unwrap_or(0);
        let mut spent = self.load_spent(open, limits).await?;
        if budget.covers(spent, most) {
            // A call that ended meanwhile has released its reservation.
            if self.insert_reservation(open, limits).await? {
                return Ok(None);
            }
            spent = self.load_spent(open, limits).await?;
        }
        Ok(Some(budget.rejection_reason(spent, most)))
    }

    /// One at a time: concurrent reservations would wait for each other in the database, each
    /// holding a connection.
    async fn insert_reservation(
        &self,
        open: &InferenceCall,
        limits: SpendingLimits,
    ) -> Result<bool, EgressError> {
        let _turn = self.budget_lock.lock().await;
        Ok(self.store.inference_reserve(open, limits).await?)
    }

    async fn load_spent(
        &self,
        open: &InferenceCall,
        limits: SpendingLimits,
    ) -> Result<SpentAmounts, EgressError> {
        let of_run = InferenceFilter { run: open.run, ..InferenceFilter::default() };
        let since = limits.since.map(|(midnight, _)| midnight);
        let request = limits.request.map(|(task, _)| task);
        let of_day = InferenceFilter { since, ..InferenceFilter::default() };
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let run = match of_run.run {
                        Some(_) => Some(tx.inference_sums(&of_run).await?.cost_micro_usd),
                        None => None,
                    };
                    let day = match of_day.since {
                        Some(_) => tx.inference_sums(&of_day).await?.cost_micro_usd,
                        None => 0,
                    };
                    let request = match request {
                        Some(task) => tx.request_cost(task).await?,
                        None => 0,
                    };
                    Ok(SpentAmounts { run, day, request })
                })
            })
            .await
    }
}

/// Returns the reason to reject a call; in warn mode logs it and returns `None`.
fn reject_unless_warning(budget: &SpendingBudget, fault: String) -> Option<String> {
    if budget.is_warning() {
        tracing::warn!(reason = %fault, "budget exceeded, call allowed by budget.mode warn");
        return None;
    }
    Some(fault)
}
