//! Setting money aside for a call before it is made.

use chrono::NaiveTime;
use cynode_store::{InferenceCall, InferenceFilter, InferenceStore, SpendingLimits};

use super::budget::{Budget, Spent};
use super::record::Record;
use super::{Egress, EgressError};

impl Egress {
    /// Sets aside what a call may cost, so that every process counts it from now on; gives the reason
    /// if there is not as much left. Nothing is set aside where there is no budget.
    pub(super) async fn afford(
        &self,
        budget: &Budget,
        record: &Record,
    ) -> Result<Option<String>, EgressError> {
        if !budget.is_set() || record.is_free() {
            return Ok(None);
        }
        let Some(open) = record.open() else {
            return Ok(spoken(budget, Budget::fault_without_price()));
        };
        let midnight = open.created_at.date_naive().and_time(NaiveTime::MIN).and_utc();
        let mut limits = budget.limits(midnight);
        limits.run = limits.run.filter(|_| open.run.is_some());
        if self.set_aside(&open, limits).await? {
            return Ok(None);
        }
        let most = open.cost_micro_usd.unwrap_or(0);
        let mut spent = self.spent(&open, limits).await?;
        if budget.has_room(spent, most) {
            // A call that ended meanwhile has made room.
            if self.set_aside(&open, limits).await? {
                return Ok(None);
            }
            spent = self.spent(&open, limits).await?;
        }
        let refusal = spoken(budget, budget.fault(spent, most));
        if refusal.is_none() {
            self.set_aside(&open, SpendingLimits::default()).await?;
        }
        Ok(refusal)
    }

    /// One at a time: they would wait for one another in the database, each with a connection.
    async fn set_aside(
        &self,
        open: &InferenceCall,
        limits: SpendingLimits,
    ) -> Result<bool, EgressError> {
        let _turn = self.purse.lock().await;
        Ok(self.store.inference_reserve(open, limits).await?)
    }

    async fn spent(
        &self,
        open: &InferenceCall,
        limits: SpendingLimits,
    ) -> Result<Spent, EgressError> {
        let of_run = InferenceFilter { run: open.run, ..InferenceFilter::default() };
        let since = limits.since.map(|(midnight, _)| midnight);
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
                    Ok(Spent { run, day })
                })
            })
            .await
    }
}

/// A reason to refuse a call; none if it is made all the same, which the log then says.
fn spoken(budget: &Budget, fault: String) -> Option<String> {
    if budget.is_warning() {
        tracing::warn!("{fault}; the call is made, since budget.mode is warn");
        return None;
    }
    Some(fault)
}
