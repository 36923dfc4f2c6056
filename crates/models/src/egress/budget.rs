//! Spending limits. Checked before a call; a running call is never cut off for cost.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use cynode_domain::config_keys;
use cynode_domain::ids::TaskId;
use cynode_domain::policy::{AgentType, Principal};
use cynode_domain::request_budget::{BUDGET_NAME, CallPurpose};
use cynode_store::{NarrowingProfile, RequestOfTask, SpendingLimits};
use serde_json::Value;

use super::ModelRouting;

/// Spent or reserved amounts, in millionths of a US dollar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SpentAmounts {
    /// `None` if the call belongs to no run.
    pub(super) run: Option<i64>,
    /// Of all users since midnight UTC.
    pub(super) day: i64,
    /// Of the request and its child tasks; 0 if the call belongs to none with a budget.
    pub(super) request: i64,
}

/// Spending limits, in millionths of a US dollar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SpendingBudget {
    run: Option<i64>,
    day: Option<i64>,
    /// The request of the call, and what its calls may cost together.
    request: Option<(TaskId, i64)>,
    is_warning: bool,
}

impl SpendingBudget {
    /// Reads the settings `budget.run_usd`, `budget.day_usd` and `budget.mode` (`block` unless set
    /// to `warn`). Preferences can only lower a limit. A limit that cannot be parsed counts as 0:
    /// failing closed keeps the intent to limit.
    pub(super) fn new(settings: &BTreeMap<String, Value>, routing: &ModelRouting) -> Self {
        let set =
            |key: &str| settings.get(key).map(|value| config_keys::parse_usd(value).unwrap_or(0.0));
        let least = |set: Option<f64>, wanted: Option<f64>| match (set, wanted) {
            (Some(set), Some(wanted)) => Some(to_micro_usd(set.min(wanted))),
            (set, wanted) => set.or(wanted).map(to_micro_usd),
        };
        Self {
            run: least(set("budget.run_usd"), routing.run_usd),
            day: least(set("budget.day_usd"), routing.day_usd),
            request: None,
            is_warning: settings.get("budget.mode").and_then(Value::as_str) == Some("warn"),
        }
    }

    /// Adds the limit of the request that the call's task belongs to.
    pub(super) fn with_request(
        self,
        request: Option<&RequestOfTask>,
        agent: Option<Principal>,
    ) -> Self {
        let limit = request.and_then(|request| {
            // What judges a result may use the part that is reserved for it.
            let purpose = match agent.and_then(Principal::agent) {
                Some(AgentType::Pa) => CallPurpose::Review,
                _ => CallPurpose::of_unit(request.unit.as_deref()),
            };
            Some((request.task, request.settings.spending_limit(purpose)?))
        });
        Self { request: limit, ..self }
    }

    /// Lowers the limit of the run to that of the agent's profile.
    pub(super) fn with_profile(self, profile: Option<&NarrowingProfile>) -> Self {
        let limit = profile.and_then(|profile| profile.spec.as_ref()?.limits.budget_micros);
        let limit = limit.map(|micros| i64::try_from(micros).unwrap_or(i64::MAX));
        let run = match (self.run, limit) {
            (Some(set), Some(limit)) => Some(set.min(limit)),
            (set, limit) => set.or(limit),
        };
        Self { run, ..self }
    }

    /// Returns the same budget with the limit of the request only, which `budget.mode` does not relax.
    pub(super) fn of_request(&self) -> Self {
        Self { run: None, day: None, is_warning: false, request: self.request }
    }

    /// Returns whether the request of the call has a limit.
    pub(super) fn has_request(&self) -> bool {
        self.request.is_some()
    }

    /// Returns whether any limit is set.
    pub(super) fn is_set(&self) -> bool {
        self.run.is_some() || self.day.is_some() || self.request.is_some()
    }

    /// Returns the limits for the day that began at `midnight` and for a run.
    pub(super) fn limits(&self, midnight: DateTime<Utc>) -> SpendingLimits {
        SpendingLimits {
            since: self.day.map(|most| (midnight, most)),
            run: self.run,
            request: self.request,
        }
    }

    /// Returns whether a call that may cost `most` fits into the remaining budget.
    pub(super) fn covers(&self, spent: SpentAmounts, most: i64) -> bool {
        let fits = |limit: Option<i64>, spent: i64| {
            limit.is_none_or(|limit| spent.saturating_add(most) <= limit)
        };
        if cynode_fault::fault!("X-03") {
            return true;
        }
        fits(self.day, spent.day)
            && spent.run.is_none_or(|spent| fits(self.run, spent))
            && fits(self.request.map(|(_, most)| most), spent.request)
    }

    /// Returns why a call that may cost `most` was rejected.
    pub(super) fn rejection_reason(&self, spent: SpentAmounts, most: i64) -> String {
        let is_over = |(limit, spent): &(i64, i64)| spent.saturating_add(most) > *limit;
        let of_run = self.run.zip(spent.run).filter(is_over);
        let of_day = self.day.map(|limit| (limit, spent.day)).filter(is_over);
        let of_request = self.request.map(|(_, limit)| (limit, spent.request)).filter(is_over);
        if let Some((limit, spent)) = of_request {
            return render_rejection(BUDGET_NAME, "budget_micros", limit, spent, most);
        }
        match (of_run, of_day) {
            (Some((limit, spent)), _) => {
                render_rejection("this run", "budget.run_usd", limit, spent, most)
            }
            (None, Some((limit, spent))) => {
                render_rejection("today", "budget.day_usd", limit, spent, most)
            }
            // A concurrent call ended meanwhile.
            (None, None) => "the remaining budget does not cover this call".to_owned(),
        }
    }

    /// Returns the reason to reject a call of unknown price.
    pub(super) fn unknown_price_reason(&self) -> String {
        let subject = match self.request {
            Some(_) => format!("the budget of {BUDGET_NAME} cannot be kept, because"),
            None => "a budget is set, but".to_owned(),
        };
        format!("{subject} the price of this model is unknown: add it to the setting models.prices")
    }

    /// Returns whether exceeding a limit is only logged.
    pub(super) fn is_warning(&self) -> bool {
        self.is_warning
    }
}

fn render_rejection(what: &str, key: &str, limit: i64, spent: i64, most: i64) -> String {
    let usd = |micro: i64| format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000);
    let of = format!("{} of {} USD", usd(spent), usd(limit));
    if spent >= limit {
        return format!("the budget of {what} is spent: {of} ({key})");
    }
    let most = usd(most);
    format!(
        "the budget of {what} has no room for this call: {of} are spent or set aside, and it may \
         cost {most} ({key}); with a smaller max_tokens it costs less"
    )
}

fn to_micro_usd(usd: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "a cast of a float saturates")]
    let micro = (usd.max(0.0) * 1e6).floor() as i64;
    micro
}

#[cfg(test)]
mod tests {
    use cynode_domain::request::RequestSettings;
    use cynode_domain::request_budget::is_budget_refusal;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn settings(entries: &[(&str, Value)]) -> BTreeMap<String, Value> {
        entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
    }

    fn midnight() -> DateTime<Utc> {
        DateTime::UNIX_EPOCH
    }

    #[test]
    fn a_refusal_says_what_was_spent_and_what_the_call_may_cost() {
        let set = settings(&[("budget.run_usd", json!(0.5)), ("budget.day_usd", json!(2))]);
        let budget = SpendingBudget::new(&set, &ModelRouting::default());
        let fault =
            |run, day, most| budget.rejection_reason(SpentAmounts { run, day, request: 0 }, most);

        assert_eq!(
            fault(Some(500_000), 0, 1),
            "the budget of this run is spent: 0.500000 of 0.500000 USD (budget.run_usd)"
        );
        assert_eq!(
            fault(None, 1_500_000, 500_001),
            "the budget of today has no room for this call: 1.500000 of 2.000000 USD are spent or \
             set aside, and it may cost 0.500001 (budget.day_usd); with a smaller max_tokens it \
             costs less"
        );
        assert!(fault(Some(400_000), 0, 100_001).contains("this run has no room"));
    }

    #[test]
    fn a_call_has_room_where_it_fits_into_every_limit() {
        let set = settings(&[("budget.run_usd", json!(0.5)), ("budget.day_usd", json!(2))]);
        let budget = SpendingBudget::new(&set, &ModelRouting::default());
        let has_room = |run, day, most| budget.covers(SpentAmounts { run, day, request: 0 }, most);

        assert!(has_room(Some(400_000), 1_900_000, 100_000));
        assert!(!has_room(Some(400_001), 0, 100_000));
        assert!(!has_room(Some(0), 1_900_001, 100_000));
        assert!(has_room(None, 0, 600_000), "only runs have the limit of a run");
    }

    #[test]
    fn the_budget_of_a_request_leaves_a_part_to_reviews_and_is_not_relaxed() {
        let set = settings(&[("budget.mode", json!("warn")), ("budget.day_usd", json!(0))]);
        let request = |unit: &str| RequestOfTask {
            task: TaskId::generate(),
            unit: Some(unit.to_owned()),
            settings: RequestSettings { budget_micros: Some(1_000), ..RequestSettings::default() },
        };
        let budget = |unit: &str, agent| {
            let budget = SpendingBudget::new(&set, &ModelRouting::default());
            budget.with_request(Some(&request(unit)), agent).of_request()
        };
        let spent = SpentAmounts { request: 800, day: 5, run: None };
        let analyst = Some(Principal::Agent(AgentType::Pa));

        assert!(!budget("impl:a", None).covers(spent, 1));
        assert!(budget("review:a", None).covers(spent, 200));
        assert!(budget("impl:a", analyst).covers(spent, 200));
        assert!(!budget("review:a", None).covers(spent, 201));
        assert!(!budget("impl:a", None).is_warning());
        let reason = budget("impl:a", None).rejection_reason(spent, 1);
        assert!(is_budget_refusal(&reason), "{reason}");
        assert!(is_budget_refusal(&budget("impl:a", None).unknown_price_reason()));
    }

    #[test]
    fn without_a_budget_there_is_no_limit() {
        let budget = SpendingBudget::new(&BTreeMap::new(), &ModelRouting::default());

        assert!(!budget.is_set() && !budget.is_warning());
        assert_eq!(budget.limits(midnight()), SpendingLimits::default());
    }

    #[test]
    fn a_budget_that_cannot_be_read_allows_nothing() {
        for value in [json!("0 USD"), json!("5"), json!(-1), Value::Null, json!([1])] {
            let set = settings(&[("budget.day_usd", value.clone())]);
            let budget = SpendingBudget::new(&set, &ModelRouting::default());

            assert_eq!(budget.limits(midnight()).since, Some((midnight(), 0)), "{value}");
        }
    }

    proptest! {
        #[test]
        fn preferences_never_allow_more_than_the_settings(
            set in 0.0_f64..10.0, wanted in 0.0_f64..10.0
        ) {
            let settings = settings(&[("budget.day_usd", json!(set)), ("budget.run_usd", json!(set))]);
            let strict = SpendingBudget::new(&settings, &ModelRouting::default()).limits(midnight());
            let (run_usd, day_usd) = (Some(wanted), Some(wanted));
            let routing = ModelRouting { run_usd, day_usd, ..ModelRouting::default() };
            let both = SpendingBudget::new(&settings, &routing).limits(midnight());

            prop_assert!(both.since <= strict.since && both.run <= strict.run);
        }
    }
}
