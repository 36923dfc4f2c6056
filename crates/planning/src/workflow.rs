//! Which kinds of units a request needs: one total function of kind, scope and user interface.

use std::collections::BTreeSet;

use cynode_domain::work::UnitKind;
use cynode_domain::work_kind::{WorkKind, WorkScope};

/// The units of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedWorkflow {
    /// In processing order; each component gets them.
    pub units: Vec<UnitKind>,
    /// Whether the work may be split into several components.
    pub is_split: bool,
    /// Why, in one sentence for people.
    pub reason: String,
}

/// Selects the workflow of a request.
///
/// | | trivial | small | medium | large |
/// |---|---|---|---|---|
/// | new project | all units, for every scope ||||
/// | feature request | implementation, review | implementation, review | specification, implementation, review, test | specification, design if there is a user interface, implementation, review, test |
/// | quick fix | implementation | implementation | implementation, review | as a large feature |
pub fn select_workflow(kind: WorkKind, scope: WorkScope, has_ui: bool) -> SelectedWorkflow {
    use UnitKind::{Design, Implementation, Review, Spec, Test};
    let scope = if cynode_fault::fault!("PMO-05") { WorkScope::Trivial } else { scope };
    let (units, is_split): (&[UnitKind], bool) = match (kind, scope) {
        (WorkKind::NewProject, _) => (&[Spec, Design, Implementation, Review, Test], true),
        (WorkKind::FeatureRequest | WorkKind::QuickFix, WorkScope::Large) => {
            (&[Spec, Design, Implementation, Review, Test], true)
        }
        (WorkKind::FeatureRequest, WorkScope::Medium) => {
            (&[Spec, Implementation, Review, Test], true)
        }
        (WorkKind::FeatureRequest, WorkScope::Trivial | WorkScope::Small)
        | (WorkKind::QuickFix, WorkScope::Medium) => (&[Implementation, Review], false),
        (WorkKind::QuickFix, WorkScope::Trivial | WorkScope::Small) => (&[Implementation], false),
    };
    let units = units.iter().copied().filter(|unit| has_ui || *unit != Design).collect();
    let subject = match kind {
        WorkKind::NewProject => "new project",
        WorkKind::FeatureRequest => "feature",
        WorkKind::QuickFix => "fix",
    };
    let ui = if has_ui { " with a user interface" } else { "" };
    SelectedWorkflow { units, is_split, reason: format!("a {scope} {subject}{ui}") }
}

/// The units of a workflow that a person chose, in processing order. The error says what is allowed.
pub fn check_workflow(units: &[UnitKind]) -> Result<Vec<UnitKind>, String> {
    let chosen: BTreeSet<UnitKind> = units.iter().copied().collect();
    if chosen.len() == units.len() && chosen.contains(&UnitKind::Implementation) {
        return Ok(chosen.into_iter().collect());
    }
    let names: Vec<_> = units.iter().map(|unit| unit.as_str()).collect();
    Err(format!(
        "\"{}\" is no workflow: it needs implementation, and may have spec and design before it, review and test after it, each once",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole table, as text.
    #[test]
    fn every_kind_and_scope_has_a_workflow() {
        let mut lines = vec![];
        for kind in WorkKind::ALL {
            for scope in WorkScope::ALL {
                for has_ui in [false, true] {
                    let selected = select_workflow(*kind, *scope, has_ui);
                    let units: Vec<_> = selected.units.iter().map(|unit| unit.prefix()).collect();
                    let (ui, split) = (
                        if has_ui { " ui" } else { "" },
                        if selected.is_split { " split" } else { "" },
                    );
                    lines.push(format!("{kind} {scope}{ui}: {}{split}", units.join(" ")));
                }
            }
        }

        let expected = [
            "new_project trivial: spec impl review test split",
            "new_project trivial ui: spec design impl review test split",
            "new_project small: spec impl review test split",
            "new_project small ui: spec design impl review test split",
            "new_project medium: spec impl review test split",
            "new_project medium ui: spec design impl review test split",
            "new_project large: spec impl review test split",
            "new_project large ui: spec design impl review test split",
            "feature_request trivial: impl review",
            "feature_request trivial ui: impl review",
            "feature_request small: impl review",
            "feature_request small ui: impl review",
            "feature_request medium: spec impl review test split",
            "feature_request medium ui: spec impl review test split",
            "feature_request large: spec impl review test split",
            "feature_request large ui: spec design impl review test split",
            "quick_fix trivial: impl",
            "quick_fix trivial ui: impl",
            "quick_fix small: impl",
            "quick_fix small ui: impl",
            "quick_fix medium: impl review",
            "quick_fix medium ui: impl review",
            "quick_fix large: spec impl review test split",
            "quick_fix large ui: spec design impl review test split",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_chosen_workflow_has_an_implementation_and_every_kind_at_most_once() {
        use UnitKind::{Design, Implementation, Review, Spec, Test};

        let ordered = check_workflow(&[Test, Review, Implementation]).unwrap();
        assert_eq!(ordered, [Implementation, Review, Test]);
        for kind in WorkKind::ALL {
            for scope in WorkScope::ALL {
                let units = select_workflow(*kind, *scope, true).units;
                assert_eq!(check_workflow(&units), Ok(units));
            }
        }
        let none: &[UnitKind] = &[];
        for units in [none, &[Spec, Design], &[Review], &[Implementation, Implementation]] {
            let fault = check_workflow(units).unwrap_err();
            assert!(fault.contains("needs implementation"), "{fault}");
            assert!(fault.contains("spec and design before it, review and test after it"));
        }
    }

    #[test]
    fn work_is_implemented_and_reviewed_work_has_something_to_review() {
        for kind in WorkKind::ALL {
            for scope in WorkScope::ALL {
                let units = select_workflow(*kind, *scope, true).units;
                assert!(units.contains(&UnitKind::Implementation), "{kind} {scope}");
                assert!(units.is_sorted(), "{kind} {scope}");
            }
        }
    }
}
