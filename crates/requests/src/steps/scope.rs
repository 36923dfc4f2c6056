//! How instructions changed the scope of units since they were planned.
//!
//! Only people and the project manager give instructions, so a change of the scope may take a requirement out of the work.
//! Texts of agents and of the repository cannot.

use cynode_domain::agent::InstructionKind;
use cynode_domain::request::ScopeChange;
use cynode_domain::work::UnitKind;
use cynode_ops::work::WorkBoard;
use cynode_store::WorkUnit;

use super::Step;

impl Step<'_> {
    /// The changes to the scope of a unit as lines, oldest first.
    pub(super) fn scope_changes(&self, unit: &str) -> Vec<String> {
        self.list_scope_changes(unit).iter().map(describe_change).collect()
    }

    /// The changes to the scope of the implementation that a review judges, as lines; none for other units.
    pub(super) fn judged_scope_changes(&self, unit: &WorkUnit) -> Vec<String> {
        self.judged_units(unit).flat_map(|judged| self.scope_changes(&judged.id)).collect()
    }

    /// Whether an instruction reduced the scope of a review, or of the implementation that it judges.
    pub(super) fn is_scope_reduced(&self, unit: &WorkUnit) -> bool {
        let own = std::iter::once(unit).filter(|unit| unit.kind == UnitKind::Review);
        own.chain(self.judged_units(unit)).any(|unit| {
            let changes = self.list_scope_changes(&unit.id);
            changes.iter().any(|change| change.instruction == InstructionKind::ReduceScope)
        })
    }

    fn list_scope_changes(&self, unit: &str) -> &[ScopeChange] {
        let changes = self.snapshot.request.state.scope_changes.get(unit);
        changes.map(Vec::as_slice).unwrap_or_default()
    }

    /// The implementation of the component of a review.
    fn judged_units<'a>(&'a self, unit: &'a WorkUnit) -> impl Iterator<Item = &'a WorkUnit> {
        let units = self.snapshot.board.as_ref().map(WorkBoard::units).unwrap_or_default();
        units.iter().filter(move |other| {
            unit.kind == UnitKind::Review
                && other.kind == UnitKind::Implementation
                && other.component == unit.component
        })
    }
}

fn describe_change(change: &ScopeChange) -> String {
    match change.instruction {
        InstructionKind::ReduceScope => format!("Do less: {}", change.text),
        InstructionKind::ExpandScope
        | InstructionKind::Continue
        | InstructionKind::Pause
        | InstructionKind::Revise
        | InstructionKind::Abort => format!("Do also: {}", change.text),
    }
}
