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
use crate::snapshot::{RequestSnapshot, is_conflict_stop, is_done};

/// A child task whose changes are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AttemptSource {
    child: TaskId,
    /// Whether the request accepted its result.
    is_accepted: bool,
}

impl AttemptSource {
    pub(super) fn from_accepted(attempt: &AttemptStatus) -> Self {
        Self { child: attempt.attempt.child, is_accepted: true }
    }

    /// The changes of an attempt, accepted or not, which the next attempt at its unit may go on from.
    pub(super) fn from_attempt(attempt: &AttemptStatus) -> Self {
        Self { child: attempt.attempt.child, is_accepted: is_done(attempt) }
    }
}

impl RequestSnapshot {
    /// The attempts at a unit, newest first. Those at reviews and tests change nothing.
    fn own_sources(&self, unit: &WorkUnit) -> Vec<AttemptSource> {
        if !is_source_kind(unit.kind) {
            return vec![];
        }
        let mut own: Vec<AttemptSource> =
            self.attempts_at(&unit.id).map(AttemptSource::from_attempt).collect();
        own.reverse();
        own
    }

    /// The accepted results that a unit starts from: of the units before it, and of the components that it depends on.
    /// In this order the first one that resolved a conflict between others is merged before them.
    fn earlier_sources(&self, unit: &WorkUnit) -> Vec<AttemptSource> {
        let Some(board) = &self.board else { return vec![] };
        let component = board.components().iter().find(|part| part.name == unit.component);
        let needed: BTreeSet<&str> =
            component.into_iter().flat_map(|part| &part.dependencies).map(String::as_str).collect();
        let accepted = |is_wanted: &dyn Fn(&WorkUnit) -> bool| -> Vec<AttemptSource> {
            let wanted = board.units().iter().filter(|other| is_source_kind(other.kind));
            let wanted: Vec<&WorkUnit> = wanted.filter(|other| is_wanted(other)).collect();
            self.resolving_first(wanted)
        };
        let mut sources = accepted(&|other: &WorkUnit| {
            other.component == unit.component && other.kind < unit.kind
        });
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
    /// The tasks whose changes an attempt at a unit starts from: the newest own changes, then those of earlier units.
    pub(super) async fn unit_changes(
        &self,
        owner: &Caller,
        unit: &WorkUnit,
    ) -> Result<Vec<String>, RequestError> {
        let own = self.newest_changes(owner, self.snapshot.own_sources(unit)).await?;
        let earlier = self.with_changes(owner, self.snapshot.earlier_sources(unit)).await?;
        Ok(own.into_iter().chain(earlier).collect())
    }

    /// The first of these attempts, which are given newest first, that left usable changes. An attempt that never started,
    /// or whose node was lost, left none: the one before it counts. The search ends at an accepted attempt whose changes
    /// were collected, because each attempt contains what it was built on.
    pub(super) async fn newest_changes(
        &self,
        owner: &Caller,
        attempts: Vec<AttemptSource>,
    ) -> Result<Option<String>, RequestError> {
        for AttemptSource { child, is_accepted } in attempts {
            let Some(diff) = self.read_changes(owner, child, DiffScope::All).await? else {
                continue;
            };
            if has_changed(&diff) && blocking_finding(&diff).is_none() {
                return Ok(Some(child.to_string()));
            }
            if is_accepted {
                return Ok(None);
            }
        }
        Ok(None)
    }

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

fn has_changed(diff: &TaskDiffView) -> bool {
    diff.changes.head != diff.changes.base
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
