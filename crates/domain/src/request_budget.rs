//! The budget of a request: what its model calls may cost, and the part of it that only reviews may use.

use crate::request::RequestSettings;
use crate::work::UnitKind;

/// The budget is divided by this for the default part that only reviews may use.
const RESERVE_DIVISOR: i64 = 5;
/// How the refusal of a call names the budget.
pub const BUDGET_NAME: &str = "this request";

/// What a model call of a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallPurpose {
    /// Work on a unit, or a decision about the request.
    Work,
    /// A judgement of work.
    Review,
}

impl CallPurpose {
    /// The purpose of the calls of a child task.
    pub fn of_unit(unit: Option<&str>) -> Self {
        let is_review = |unit: &str| {
            unit.split_once(':').is_some_and(|(prefix, _)| prefix == UnitKind::Review.prefix())
        };
        if unit.is_some_and(is_review) { Self::Review } else { Self::Work }
    }
}

impl RequestSettings {
    /// The part of the budget that only reviews may use.
    pub fn review_reserve(&self) -> i64 {
        let budget = self.budget_micros.unwrap_or(0);
        self.review_reserve_micros.unwrap_or(budget / RESERVE_DIVISOR)
    }

    /// What all calls so far and the next one may cost together; `None` without a budget.
    pub fn spending_limit(&self, purpose: CallPurpose) -> Option<i64> {
        let budget = self.budget_micros?;
        Some(match purpose {
            CallPurpose::Work => budget.saturating_sub(self.review_reserve()),
            CallPurpose::Review => budget,
        })
    }
}

/// Whether a model call was refused because of the budget of its request.
pub fn is_budget_refusal(error: &str) -> bool {
    error.starts_with("the budget of ") && error["the budget of ".len()..].starts_with(BUDGET_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_leaves_a_part_of_the_budget_to_reviews() {
        let settings = RequestSettings { budget_micros: Some(100), ..RequestSettings::default() };
        let purpose = |unit| CallPurpose::of_unit(Some(unit));

        assert_eq!(settings.spending_limit(purpose("impl:a")), Some(80));
        assert_eq!(settings.spending_limit(purpose("review:a")), Some(100));
        assert_eq!(settings.spending_limit(purpose("reviewer")), Some(80));
        assert_eq!(settings.spending_limit(CallPurpose::of_unit(None)), Some(80));
        let all = RequestSettings { review_reserve_micros: Some(0), ..settings };
        assert_eq!(all.spending_limit(CallPurpose::Work), Some(100));
        assert_eq!(RequestSettings::default().spending_limit(CallPurpose::Work), None);
    }

    #[test]
    fn refusals_of_other_budgets_are_told_apart() {
        assert!(is_budget_refusal("the budget of this request is spent: 1 of 1 USD"));
        assert!(!is_budget_refusal("the budget of this run is spent: 1 of 1 USD"));
        assert!(!is_budget_refusal("the model is unknown"));
    }
}
