//! How many model calls a plan is expected to need, and what they may cost.
//!
//! An estimate by rule, from a table of calls and tokens by role and scope. The lower bound is work that succeeds at once; the
//! upper bound has every review round. Attempts after failures, conflicts between units and comments on a pull request are not
//! in it. Where the price of a model is not known, no cost is made up.

use std::collections::{BTreeMap, BTreeSet};

use cynode_domain::estimate::{EstimateRange, UnitEstimate, WorkEstimate};
use cynode_domain::work::UnitKind;
use cynode_domain::work_kind::WorkScope;

use crate::assignment::{AgentAssignment, DEMO_AGENT};

/// A unit of a plan and its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedUnit {
    pub component: String,
    pub kind: UnitKind,
    pub assignment: AgentAssignment,
}

impl PlannedUnit {
    /// Whether its agent asks a model: not where commands of the project or a script run.
    pub fn calls_models(&self) -> bool {
        self.kind != UnitKind::Test && self.assignment.profile != DEMO_AGENT
    }
}

/// What tokens cost, in millionths of a dollar each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenPrice {
    pub input: f64,
    pub output: f64,
}

/// The model that a hint stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum HintModel {
    Priced {
        /// As `provider/model`.
        model: String,
        price: TokenPrice,
    },
    /// No provider, setting or list has its price.
    Unpriced { model: String },
    /// No model, and why.
    Missing { reason: String },
}

/// The expected model calls of one attempt at a unit that succeeds, and the tokens of each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ExpectedCalls {
    calls: EstimateRange,
    input_tokens: EstimateRange,
    output_tokens: EstimateRange,
}

/// The table.
///
/// | calls | trivial | small | medium | large |
/// |---|---|---|---|---|
/// | specification, design | 2–6 | 3–10 | 4–16 | 8–30 |
/// | implementation | 3–10 | 4–20 | 10–50 | 20–120 |
/// | review | 2–6 | 2–10 | 4–20 | 6–40 |
/// | test | none: commands of the project run |
///
/// A call reads the task, the files and the conversation so far, so that its input grows with the scope.
fn expected_calls(kind: UnitKind, scope: WorkScope) -> Option<ExpectedCalls> {
    let calls = match kind {
        UnitKind::Spec | UnitKind::Design => {
            [range(2, 6), range(3, 10), range(4, 16), range(8, 30)]
        }
        UnitKind::Implementation => [range(3, 10), range(4, 20), range(10, 50), range(20, 120)],
        UnitKind::Review => [range(2, 6), range(2, 10), range(4, 20), range(6, 40)],
        UnitKind::Test => return None,
    };
    let input_tokens =
        [range(2_000, 8_000), range(3_000, 12_000), range(5_000, 25_000), range(8_000, 50_000)];
    let output_tokens = if kind == UnitKind::Review { range(100, 800) } else { range(150, 1_500) };
    let (calls, input_tokens) = (column(scope, calls), column(scope, input_tokens));
    Some(ExpectedCalls { calls, input_tokens, output_tokens })
}

/// The column of a scope.
fn column(scope: WorkScope, row: [EstimateRange; 4]) -> EstimateRange {
    let [trivial, small, medium, large] = row;
    match scope {
        WorkScope::Trivial => trivial,
        WorkScope::Small => small,
        WorkScope::Medium => medium,
        WorkScope::Large => large,
    }
}

const fn range(low: u64, high: u64) -> EstimateRange {
    EstimateRange { low, high }
}

/// Estimates a plan. `models` are the models by hint; `max_review_rounds` is how often a unit may be sent back.
pub fn estimate_work(
    units: &[PlannedUnit],
    scope: WorkScope,
    max_review_rounds: u32,
    models: &BTreeMap<String, HintModel>,
) -> WorkEstimate {
    let (mut total, mut cost) = (EstimateRange::default(), Some(EstimateRange::default()));
    let mut notes = BTreeSet::new();
    let mut estimated = vec![];
    for unit in units {
        let expected = expected_calls(unit.kind, scope).filter(|_| unit.calls_models());
        let expected = expected.map(|expected| {
            let attempts =
                if is_repeated(unit, units) { u64::from(max_review_rounds) + 1 } else { 1 };
            let calls = EstimateRange { high: expected.calls.high * attempts, ..expected.calls };
            ExpectedCalls { calls, ..expected }
        });
        let row = estimate_unit(unit, expected, models.get(&unit.assignment.model_hint));
        notes.extend(row.1);
        total = total.plus(row.0.model_calls);
        cost = cost.zip(row.0.cost_micro_usd).map(|(sum, more)| sum.plus(more));
        estimated.push(row.0);
    }
    WorkEstimate {
        units: estimated,
        model_calls: total,
        cost_micro_usd: cost,
        notes: notes.into_iter().collect(),
    }
}

/// The estimate of a unit, and why its cost is not known.
fn estimate_unit(
    unit: &PlannedUnit,
    expected: Option<ExpectedCalls>,
    model: Option<&HintModel>,
) -> (UnitEstimate, Option<String>) {
    let AgentAssignment { role, specialist, model_hint, profile } = unit.assignment.clone();
    let has_agent = unit.kind != UnitKind::Test;
    let row = UnitEstimate {
        unit: unit.kind.unit_id(&unit.component),
        role,
        agent: has_agent.then_some(profile),
        specialist: has_agent.then_some(specialist),
        model_hint: None,
        model: None,
        model_calls: EstimateRange::default(),
        cost_micro_usd: Some(EstimateRange::default()),
    };
    let Some(expected) = expected else { return (row, None) };
    let (model, cost, note) = match model {
        Some(HintModel::Priced { model, price }) => {
            (Some(model.clone()), Some(cost_of(expected, *price)), None)
        }
        Some(HintModel::Unpriced { model }) => {
            let note = format!(
                "cost unknown: no price for {model}; an administrator can set one with `cynork settings set models.prices`"
            );
            (Some(model.clone()), None, Some(note))
        }
        Some(HintModel::Missing { reason }) => {
            (None, None, Some(format!("cost unknown: {reason}")))
        }
        None => (None, None, Some(format!("cost unknown: no model for \"{model_hint}\""))),
    };
    let row = UnitEstimate {
        model_hint: Some(model_hint),
        model,
        model_calls: expected.calls,
        cost_micro_usd: cost,
        ..row
    };
    (row, note)
}

/// Whether review rounds repeat a unit: work that is judged, and its review. A failed test sends work back too.
fn is_repeated(unit: &PlannedUnit, units: &[PlannedUnit]) -> bool {
    let has = |kinds: &[UnitKind]| {
        units.iter().any(|other| other.component == unit.component && kinds.contains(&other.kind))
    };
    match unit.kind {
        UnitKind::Implementation => has(&[UnitKind::Review, UnitKind::Test]),
        UnitKind::Review => has(&[UnitKind::Implementation]),
        UnitKind::Spec | UnitKind::Design | UnitKind::Test => false,
    }
}

/// The cost in millionths of a dollar, rounded up.
fn cost_of(expected: ExpectedCalls, price: TokenPrice) -> EstimateRange {
    let cost = |calls: u64, input: u64, output: u64| {
        let number = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        let call = number(input) * price.input + number(output) * price.output;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cast of a float saturates, and no price is negative"
        )]
        let rounded = (number(calls) * call).ceil() as u64;
        rounded
    };
    let ExpectedCalls { calls, input_tokens, output_tokens } = expected;
    EstimateRange {
        low: cost(calls.low, input_tokens.low, output_tokens.low),
        high: cost(calls.high, input_tokens.high, output_tokens.high),
    }
}

#[cfg(test)]
mod tests {
    use cynode_domain::work_kind::ProjectKind;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::assignment::AgentRoster;

    const PRICE: TokenPrice = TokenPrice { input: 1.0, output: 10.0 };

    fn unit(component: &str, kind: UnitKind, scope: WorkScope) -> PlannedUnit {
        let assignment = AgentRoster::default().assign(kind, scope, ProjectKind::Rust);
        PlannedUnit { component: component.to_owned(), kind, assignment }
    }

    fn models(model: &HintModel) -> BTreeMap<String, HintModel> {
        ["fast", "balanced", "strong"].map(|hint| (hint.to_owned(), model.clone())).into()
    }

    fn priced() -> BTreeMap<String, HintModel> {
        models(&HintModel::Priced { model: "far/m".to_owned(), price: PRICE })
    }

    #[test]
    fn a_small_feature_costs_one_pass_at_least_and_every_review_round_at_most() {
        let units = [
            unit("main", UnitKind::Implementation, WorkScope::Small),
            unit("main", UnitKind::Review, WorkScope::Small),
        ];

        let estimate = estimate_work(&units, WorkScope::Small, 2, &priced());

        assert_eq!(estimate.model_calls, range(4 + 2, (20 + 10) * 3));
        let low = 4 * (3_000 + 1_500) + 2 * (3_000 + 1_000);
        let high = 60 * (12_000 + 15_000) + 30 * (12_000 + 8_000);
        assert_eq!(estimate.cost_micro_usd, Some(range(low, high)));
        let hints: Vec<_> = estimate.units.iter().map(|unit| unit.model_hint.clone()).collect();
        assert_eq!(hints, [Some("fast".to_owned()), Some("balanced".to_owned())]);
        assert_eq!(estimate.notes, Vec::<String>::new());
    }

    #[test]
    fn work_that_nothing_judges_has_no_rounds() {
        let units = [unit("main", UnitKind::Implementation, WorkScope::Trivial)];

        let estimate = estimate_work(&units, WorkScope::Trivial, 10, &priced());

        assert_eq!(estimate.model_calls, range(3, 10));
    }

    #[test]
    fn scripts_and_tests_call_no_model() {
        let mut demo = unit("main", UnitKind::Implementation, WorkScope::Small);
        DEMO_AGENT.clone_into(&mut demo.assignment.profile);
        let units = [demo, unit("main", UnitKind::Test, WorkScope::Small)];

        let estimate = estimate_work(&units, WorkScope::Small, 2, &BTreeMap::new());

        assert_eq!(estimate.model_calls, range(0, 0));
        assert_eq!(estimate.cost_micro_usd, Some(range(0, 0)));
        let agents: Vec<_> = estimate.units.iter().map(|unit| unit.agent.as_deref()).collect();
        assert_eq!(agents, [Some(DEMO_AGENT), None]);
    }

    #[test]
    fn a_model_without_a_price_is_named_once_and_no_cost_is_made_up() {
        let units = [
            unit("a", UnitKind::Implementation, WorkScope::Large),
            unit("b", UnitKind::Review, WorkScope::Large),
        ];
        let mut known = priced();
        known.insert("balanced".to_owned(), HintModel::Unpriced { model: "far/x".to_owned() });

        let estimate = estimate_work(&units, WorkScope::Large, 2, &known);

        assert_eq!(estimate.cost_micro_usd, None);
        assert_eq!(estimate.notes.len(), 1);
        assert!(estimate.notes[0].starts_with("cost unknown: no price for far/x"), "{estimate:?}");
        let missing = models(&HintModel::Missing { reason: "no model".to_owned() });
        let estimate = estimate_work(&units, WorkScope::Large, 2, &missing);
        assert_eq!((estimate.cost_micro_usd, estimate.notes.len()), (None, 1));
    }

    proptest! {
        #[test]
        fn bounds_are_ordered_and_grow_with_scope_and_rounds(
            kinds in prop::collection::vec((0..3_u8, select(UnitKind::ALL)), 0..12),
            rounds in 0..10_u32,
        ) {
            let mut before: Option<WorkEstimate> = None;
            for scope in WorkScope::ALL {
                let units: Vec<_> = kinds
                    .iter()
                    .map(|(part, kind)| unit(&format!("part-{part}"), *kind, *scope))
                    .collect();
                let estimate = estimate_work(&units, *scope, rounds, &priced());
                let more = estimate_work(&units, *scope, rounds + 1, &priced());
                let (calls, cost) = (estimate.model_calls, estimate.cost_micro_usd.unwrap());
                prop_assert!(calls.low <= calls.high && cost.low <= cost.high);
                prop_assert!(more.model_calls.low == calls.low && more.model_calls.high >= calls.high);
                prop_assert_eq!(estimate.units.len(), units.len());
                if let Some(before) = before {
                    prop_assert!(before.model_calls.high <= calls.high);
                    prop_assert!(before.cost_micro_usd.unwrap().high <= cost.high);
                }
                before = Some(estimate);
            }
        }
    }
}
