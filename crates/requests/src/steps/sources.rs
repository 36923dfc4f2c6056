//! The changes that an attempt starts from.

use std::collections::BTreeSet;

use cynode_domain::ids::TaskId;
use cynode_domain::work::UnitKind;
use cynode_execution::artifacts::DiffScope;
use cynode_ops::work::WorkBoard;
use cynode_resources::Caller;
use cynode_store::{AttemptStatus, WorkUnit};
use cynode_wire::git::{GitSeverity, TaskDiffView};

use super::Step;
use crate::RequestError;
use crate::snapshot::{RequestSnapshot, is_conflict_stop};

/// A child task whose changes are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AttemptSource {
    child: TaskId,
    /// Whether the request accepted its result: its changes must not be missing.
    is_accepted: bool,
}

impl AttemptSource {
    pub(super) fn from_accepted(attempt: &AttemptStatus) -> Self {
        Self { child: attempt.attempt.child, is_accepted: true }
    }

    /// The changes of an attempt that was not accepted, if there are any.
    pub(super) fn from_open_attempt(attempt: &AttemptStatus) -> Self {
        Self { child: attempt.attempt.child, is_accepted: false }
    }
}

impl RequestSnapshot {
    /// The child tasks whose changes a unit starts from: its own last attempt, the units before it, the components that it
    /// depends on. In this order the first one that resolved a conflict between others is merged before them.
    pub(super) fn unit_sources(&self, unit: &WorkUnit) -> Vec<AttemptSource> {
        let Some(board) = &self.board else { return vec![] };
        let component = board.components().iter().find(|part| part.name == unit.component);
        let needed: BTreeSet<&str> =
            component.into_iter().flat_map(|part| &part.dependencies).map(String::as_str).collect();
        let accepted = |is_wanted: &dyn Fn(&WorkUnit) -> bool| -> Vec<AttemptSource> {
            let wanted = board.units().iter().filter(|other| is_source_kind(other.kind));
            let wanted: Vec<&WorkUnit> = wanted.filter(|other| is_wanted(other)).collect();
            self.resolving_first(wanted)
        };
        let own = self.newest_attempt(&unit.id).filter(|_| is_source_kind(unit.kind));
        let mut sources: Vec<AttemptSource> =
            own.map(AttemptSource::from_open_attempt).into_iter().collect();
        sources.extend(accepted(&|other: &WorkUnit| {
            other.component == unit.component && other.kind < unit.kind
        }));
        sources.extend(accepted(&|other: &WorkUnit| needed.contains(other.component.as_str())));
        sources
    }

    /// The accepted results, in the order of the plan; those that resolved conflicts between others first.
    pub(super) fn results(&self) -> Vec<AttemptSource> {
        let units = self.board.as_ref().map(WorkBoard::units).unwrap_or_default();
        self.resolving_first(units.iter().filter(|unit| is_source_kind(unit.kind)).collect())
    }

    fn resolving_first(&self, units: Vec<&WorkUnit>) -> Vec<AttemptSource> {
        let (mut resolving, others): (Vec<&WorkUnit>, Vec<&WorkUnit>) =
            units.into_iter().partition(|unit| self.has_conflict(&unit.id));
        resolving.extend(others);
        let accepted = resolving.into_iter().filter_map(|unit| self.accepted_attempt(&unit.id));
        accepted.map(AttemptSource::from_accepted).collect()
    }

    /// Whether the changes that a unit starts from conflict with each other: its agent resolves them.
    pub(super) fn has_conflict(&self, unit: &str) -> bool {
        self.attempts_at(unit).any(is_conflict_stop)
    }
}

impl Step<'_> {
    /// Those of the tasks that changed something. Fails if changes that were accepted are missing, or must not be used.
    pub(super) async fn with_changes(
        &self,
        owner: &Caller,
        sources: Vec<AttemptSource>,
    ) -> Result<Vec<String>, RequestError> {
        let mut found = vec![];
        for AttemptSource { child, is_accepted } in sources {
            let diff = self.read_changes(owner, child, DiffScope::All).await?;
            let finding = diff.as_ref().and_then(blocking_finding);
            if is_accepted && let Some(fault) = find_fault(diff.as_ref(), finding.as_deref()) {
                let fault = format!("the accepted changes of task {child} {fault}");
                return Err(RequestError::Invalid(vec![fault]));
            }
            let has_changed = |diff: &TaskDiffView| diff.changes.head != diff.changes.base;
            let child = child.to_string();
            if diff.as_ref().is_some_and(has_changed)
                && finding.is_none()
                && !found.contains(&child)
            {
                found.push(child);
            }
        }
        Ok(found)
    }
}

fn find_fault(diff: Option<&TaskDiffView>, finding: Option<&str>) -> Option<String> {
    match (diff, finding) {
        (None, _) => Some("are missing".to_owned()),
        (Some(_), Some(finding)) => Some(format!("must not be used: {finding}")),
        (Some(_), None) => None,
    }
}

/// Whether other units build on the changes of such a unit. Reviews and tests change nothing that is delivered.
pub(crate) const fn is_source_kind(kind: UnitKind) -> bool {
    matches!(kind, UnitKind::Spec | UnitKind::Design | UnitKind::Implementation)
}

/// The finding that forbids to use changes.
pub(crate) fn blocking_finding(diff: &TaskDiffView) -> Option<String> {
    let found =
        diff.changes.findings.iter().find(|finding| finding.severity == GitSeverity::Block)?;
    let path = found.path.as_deref().unwrap_or("the changes");
    Some(format!("{path}: {}", found.message))
}
