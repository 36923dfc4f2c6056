//! What may be spent. Asked before a call; a call that is under way is never cut off for money.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use cynode_domain::known;
use cynode_store::SpendingLimits;
use serde_json::Value;

use super::Routing;

/// What is spent or set aside already, in millionths of a US dollar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Spent {
    /// In the run, if the call is for one.
    pub(super) run: Option<i64>,
    /// Today, by everybody.
    pub(super) day: i64,
}

/// What may be spent, in millionths of a US dollar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Budget {
    run: Option<i64>,
    day: Option<i64>,
    is_warning: bool,
}

impl Budget {
    /// The settings `budget.run_usd`, `budget.day_usd` and `budget.mode` (`block` unless it says
    /// `warn`); what the caller's preferences say can only be less. A budget that cannot be read
    /// allows nothing: somebody meant to limit what is spent.
    pub(super) fn new(settings: &BTreeMap<String, Value>, routing: &Routing) -> Self {
        let set = |key: &str| settings.get(key).map(|value| known::usd(value).unwrap_or(0.0));
        let least = |set: Option<f64>, wanted: Option<f64>| match (set, wanted) {
            (Some(set), Some(wanted)) => Some(micro(set.min(wanted))),
            (set, wanted) => set.or(wanted).map(micro),
        };
        Self {
            run: least(set("budget.run_usd"), routing.run_usd),
            day: least(set("budget.day_usd"), routing.day_usd),
            is_warning: settings.get("budget.mode").and_then(Value::as_str) == Some("warn"),
        }
    }

    /// Whether it matters what was spent.
    pub(super) fn is_set(&self) -> bool {
        self.run.is_some() || self.day.is_some()
    }

    /// The most that may be spent, for the day that began at `midnight` and for a run.
    pub(super) fn limits(&self, midnight: DateTime<Utc>) -> SpendingLimits {
        SpendingLimits { since: self.day.map(|most| (midnight, most)), run: self.run }
    }

    /// Whether a call that may cost `most` fits into what is left.
    pub(super) fn has_room(&self, spent: Spent, most: i64) -> bool {
        let fits = |limit: Option<i64>, spent: i64| {
            limit.is_none_or(|limit| spent.saturating_add(most) <= limit)
        };
        fits(self.day, spent.day) && spent.run.is_none_or(|spent| fits(self.run, spent))
    }

    /// Why a call that may cost `most` was not let through.
    pub(super) fn fault(&self, spent: Spent, most: i64) -> String {
        let is_over = |(limit, spent): &(i64, i64)| spent.saturating_add(most) > *limit;
        let of_run = self.run.zip(spent.run).filter(is_over);
        let of_day = self.day.map(|limit| (limit, spent.day)).filter(is_over);
        match (of_run, of_day) {
            (Some((limit, spent)), _) => spoken("this run", "budget.run_usd", limit, (spent, most)),
            (None, Some((limit, spent))) => spoken("today", "budget.day_usd", limit, (spent, most)),
            // Somebody else's call ended meanwhile.
            (None, None) => "the budget has no room for this call".to_owned(),
        }
    }

    /// Why a call that nobody knows the price of was not let through.
    pub(super) fn fault_without_price() -> String {
        "there is a budget, and the price of this model is not known: add it to the setting \
         models.prices"
            .to_owned()
    }

    /// Whether to go on and say so, rather than to refuse.
    pub(super) fn is_warning(&self) -> bool {
        self.is_warning
    }
}

fn spoken(what: &str, key: &str, limit: i64, (spent, most): (i64, i64)) -> String {
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

fn micro(usd: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "a cast of a float saturates")]
    let micro = (usd.max(0.0) * 1e6).floor() as i64;
    micro
}

#[cfg(test)]
mod tests {
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
        let budget = Budget::new(&set, &Routing::default());
        let fault = |run, day, most| budget.fault(Spent { run, day }, most);

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
        let budget = Budget::new(&set, &Routing::default());
        let has_room = |run, day, most| budget.has_room(Spent { run, day }, most);

        assert!(has_room(Some(400_000), 1_900_000, 100_000));
        assert!(!has_room(Some(400_001), 0, 100_000));
        assert!(!has_room(Some(0), 1_900_001, 100_000));
        assert!(has_room(None, 0, 600_000), "only runs have the limit of a run");
    }

    #[test]
    fn without_a_budget_there_is_no_limit() {
        let budget = Budget::new(&BTreeMap::new(), &Routing::default());

        assert!(!budget.is_set() && !budget.is_warning());
        assert_eq!(budget.limits(midnight()), SpendingLimits::default());
    }

    #[test]
    fn a_budget_that_cannot_be_read_allows_nothing() {
        for value in [json!("0 USD"), json!("5"), json!(-1), Value::Null, json!([1])] {
            let set = settings(&[("budget.day_usd", value.clone())]);
            let budget = Budget::new(&set, &Routing::default());

            assert_eq!(budget.limits(midnight()).since, Some((midnight(), 0)), "{value}");
        }
    }

    proptest! {
        #[test]
        fn preferences_never_allow_more_than_the_settings(
            set in 0.0_f64..10.0, wanted in 0.0_f64..10.0
        ) {
            let settings = settings(&[("budget.day_usd", json!(set)), ("budget.run_usd", json!(set))]);
            let strict = Budget::new(&settings, &Routing::default()).limits(midnight());
            let (run_usd, day_usd) = (Some(wanted), Some(wanted));
            let routing = Routing { run_usd, day_usd, ..Routing::default() };
            let both = Budget::new(&settings, &routing).limits(midnight());

            prop_assert!(both.since <= strict.since && both.run <= strict.run);
        }
    }
}
