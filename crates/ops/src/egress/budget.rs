//! What may be spent. Asked before a call; a call that is under way is never cut off for money.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Routing;

/// What is spent already, in millionths of a US dollar.
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
    /// `warn`); what the caller's preferences say can only be less.
    pub(super) fn new(settings: &BTreeMap<String, Value>, routing: &Routing) -> Self {
        let set = |key: &str| settings.get(key).and_then(Value::as_f64);
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

    /// Refuses a call for which there is no money left, or of which nobody knows the price.
    pub(super) fn check(&self, spent: Spent, has_price: bool) -> Result<(), String> {
        let over = |limit: Option<i64>, spent: Option<i64>| {
            limit.zip(spent).filter(|(limit, spent)| spent >= limit)
        };
        let fault = if let Some((limit, spent)) = over(self.run, spent.run) {
            spoken("this run", "budget.run_usd", limit, spent)
        } else if let Some((limit, spent)) = over(self.day, Some(spent.day)) {
            spoken("today", "budget.day_usd", limit, spent)
        } else if self.is_set() && !has_price {
            "there is a budget, and the price of this model is not known: add it to the setting \
             models.prices"
                .to_owned()
        } else {
            return Ok(());
        };
        if self.is_warning {
            tracing::warn!("{fault}; the call is made, since budget.mode is warn");
            return Ok(());
        }
        Err(fault)
    }
}

fn spoken(what: &str, key: &str, limit: i64, spent: i64) -> String {
    let usd = |micro: i64| format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000);
    format!("the budget of {what} is spent: {} of {} USD ({key})", usd(spent), usd(limit))
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

    #[test]
    fn a_spent_budget_blocks_and_says_what_was_spent() {
        let set = settings(&[("budget.run_usd", json!(0.5)), ("budget.day_usd", json!(2))]);
        let budget = Budget::new(&set, &Routing::default());
        let spent = |run, day| Spent { run: Some(run), day };

        assert_eq!(budget.check(spent(499_999, 1_999_999), true), Ok(()));
        assert_eq!(
            budget.check(spent(500_000, 0), true).unwrap_err(),
            "the budget of this run is spent: 0.500000 of 0.500000 USD (budget.run_usd)"
        );
        assert!(budget.check(spent(0, 2_000_000), true).unwrap_err().contains("today"));
        assert!(budget.check(spent(0, 0), false).unwrap_err().contains("models.prices"));
    }

    #[test]
    fn a_warning_budget_lets_every_call_through() {
        let set = settings(&[("budget.day_usd", json!(1)), ("budget.mode", json!("warn"))]);
        let budget = Budget::new(&set, &Routing::default());

        assert_eq!(budget.check(Spent { run: None, day: 5_000_000 }, false), Ok(()));
    }

    #[test]
    fn without_a_budget_no_price_is_needed() {
        let budget = Budget::new(&BTreeMap::new(), &Routing::default());

        assert!(!budget.is_set());
        assert_eq!(budget.check(Spent { run: None, day: i64::MAX }, false), Ok(()));
    }

    proptest! {
        #[test]
        fn preferences_never_allow_more_than_the_settings(
            set in 0.0_f64..10.0, wanted in 0.0_f64..10.0, spent in 0_i64..12_000_000
        ) {
            let settings = settings(&[("budget.day_usd", json!(set))]);
            let strict = Budget::new(&settings, &Routing::default());
            let routing = Routing { day_usd: Some(wanted), ..Routing::default() };
            let both = Budget::new(&settings, &routing);
            let spent = Spent { run: None, day: spent };

            if both.check(spent, true).is_ok() {
                prop_assert!(strict.check(spent, true).is_ok());
            }
        }
    }
}
