//! The state machine of a plan's work units. No I/O.
//!
//! A unit is assigned to its role when everything it waits for is approved and every component that
//! its component depends on is completed. Successors of a changed unit must be revised. A component
//! is completed at once, when all its units are approved: until then any of them can be sent back.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use cynode_domain::status::{IllegalTransition, WorkUnitStatus as Status};
use cynode_domain::work::{MAX_REVISIONS, UnitKind, WorkComponent};
use cynode_store::WorkUnit;
use serde_json::Value;

use super::WorkError;

pub(super) struct WorkBoard {
    components: Vec<WorkComponent>,
    units: Vec<WorkUnit>,
    now: DateTime<Utc>,
    /// Indexes of changed units.
    changed: BTreeSet<usize>,
    /// Ids of units assigned by this transition.
    pub(super) assigned: Vec<String>,
    /// Ids of units completed by this transition.
    pub(super) completed: Vec<String>,
}

impl WorkBoard {
    pub(super) fn new(
        components: Vec<WorkComponent>,
        units: Vec<WorkUnit>,
        now: DateTime<Utc>,
    ) -> Self {
        let (changed, assigned, completed) = (BTreeSet::new(), vec![], vec![]);
        Self { components, units, now, changed, assigned, completed }
    }

    pub(super) fn now(&self) -> DateTime<Utc> {
        self.now
    }

    pub(super) fn changed(&self) -> impl Iterator<Item = &WorkUnit> {
        self.changed.iter().filter_map(|place| self.units.get(*place))
    }

    pub(super) fn is_completed(&self) -> bool {
        self.units.iter().all(|unit| unit.status == Status::Completed)
    }

    pub(super) fn find_unit(&self, id: &str) -> Result<usize, WorkError> {
        let found = self.units.iter().position(|unit| unit.id == id);
        found.ok_or_else(|| WorkError::NotFound(id.chars().take(100).collect()))
    }

    pub(super) fn unit(&self, place: usize) -> &WorkUnit {
        &self.units[place]
    }

    /// Returns a unit for changes other than its status.
    pub(super) fn edit_unit(&mut self, place: usize) -> &mut WorkUnit {
        self.changed.insert(place);
        let unit = &mut self.units[place];
        unit.updated_at = self.now;
        unit
    }

    /// Changes the status of a unit, if the transition is legal.
    pub(super) fn transition(&mut self, place: usize, to: Status) -> Result<(), IllegalTransition> {
        let (status, now) = (self.units[place].status.advance(to)?, self.now);
        let unit = self.edit_unit(place);
        unit.status = status;
        match status {
            Status::Assigned => unit.assigned_at = Some(now),
            Status::Completed => unit.completed_at = Some(now),
            Status::Pending
            | Status::InProgress
            | Status::Submitted
            | Status::RevisionRequested
            | Status::Approved
            | Status::Routed
            | Status::Blocked
            | Status::Failed => {}
        }
        Ok(())
    }

    /// Approves a submitted unit. Its successors start or must be revised.
    pub(super) fn approve(&mut self, place: usize) -> Result<(), WorkError> {
        self.transition(place, Status::Approved)?;
        for after in self.successors(place) {
            let is_stale = matches!(
                self.units[after].status,
                Status::Submitted | Status::Approved | Status::Routed
            );
            if is_stale {
                self.transition(after, Status::RevisionRequested)?;
            }
        }
        self.advance()
    }

    /// Requests a revision.
    pub(super) fn revise(&mut self, place: usize, feedback: Value) -> Result<(), WorkError> {
        if self.units[place].revision_count >= MAX_REVISIONS {
            return Err(WorkError::TooManyRevisions(self.units[place].id.clone()));
        }
        self.transition(place, Status::RevisionRequested)?;
        let unit = self.edit_unit(place);
        unit.revision_count += 1;
        unit.revision_feedback = Some(feedback);
        Ok(())
    }

    /// Assigns ready units and completes finished components, until nothing changes.
    pub(super) fn advance(&mut self) -> Result<(), WorkError> {
        loop {
            let before = (self.assigned.len(), self.completed.len());
            self.assign_ready()?;
            self.mark_routed()?;
            self.complete_components()?;
            if before == (self.assigned.len(), self.completed.len()) {
                return Ok(());
            }
        }
    }

    fn assign_ready(&mut self) -> Result<(), WorkError> {
        for place in 0..self.units.len() {
            let is_pending = self.units[place].status == Status::Pending;
            if is_pending && self.is_ready(place) {
                self.transition(place, Status::Assigned)?;
                self.assigned.push(self.units[place].id.clone());
            }
        }
        Ok(())
    }

    fn mark_routed(&mut self) -> Result<(), WorkError> {
        for place in 0..self.units.len() {
            let after = self.successors(place);
            let is_open = |place: &usize| self.units[*place].status != Status::Pending;
            let is_handed_on = !after.is_empty() && after.iter().all(is_open);
            if self.units[place].status == Status::Approved && is_handed_on {
                self.transition(place, Status::Routed)?;
            }
        }
        Ok(())
    }

    fn complete_components(&mut self) -> Result<(), WorkError> {
        let names: Vec<_> = self.components.iter().map(|part| part.name.clone()).collect();
        for name in names {
            let of_it: Vec<_> = self.unit_indexes(&name).collect();
            let is_approved = |place: &usize| {
                matches!(self.units[*place].status, Status::Approved | Status::Routed)
            };
            if of_it.iter().all(is_approved) {
                for place in of_it {
                    self.transition(place, Status::Completed)?;
                    self.completed.push(self.units[place].id.clone());
                }
            }
        }
        Ok(())
    }

    fn is_ready(&self, place: usize) -> bool {
        let unit = &self.units[place];
        let component = self.components.iter().find(|part| part.name == unit.component);
        let is_done = |name: &String| {
            self.unit_indexes(name).all(|place| self.units[place].status == Status::Completed)
        };
        let is_passed = |place: usize| {
            matches!(
                self.units[place].status,
                Status::Approved | Status::Routed | Status::Completed
            )
        };
        component.is_none_or(|part| part.dependencies.iter().all(is_done))
            && self.predecessors(place).all(is_passed)
    }

    fn unit_indexes(&self, component: &str) -> impl Iterator<Item = usize> {
        let is_of_it = move |place: &usize| self.units[*place].component == component;
        (0..self.units.len()).filter(is_of_it)
    }

    /// Units of the same component that precede this one.
    fn predecessors(&self, place: usize) -> impl Iterator<Item = usize> {
        let wanted = self.waits_for(place);
        self.unit_indexes(&self.units[place].component)
            .filter(move |other| wanted.contains(&self.units[*other].kind))
    }

    /// Direct successors in the same component.
    fn successors(&self, place: usize) -> Vec<usize> {
        let kind = self.units[place].kind;
        self.unit_indexes(&self.units[place].component)
            .filter(|other| self.waits_for(*other).contains(&kind))
            .collect()
    }

    fn waits_for(&self, place: usize) -> Vec<UnitKind> {
        let unit = &self.units[place];
        let present: Vec<_> =
            self.unit_indexes(&unit.component).map(|other| self.units[other].kind).collect();
        unit.kind.waits_for(&present)
    }
}

#[cfg(test)]
mod tests;
