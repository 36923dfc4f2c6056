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

/// The units of a plan, and the changes that one operation makes to them.
pub struct WorkBoard {
    components: Vec<WorkComponent>,
    units: Vec<WorkUnit>,
    now: DateTime<Utc>,
    /// How often a unit can be sent back.
    max_revisions: u32,
    /// Indexes of changed units.
    changed: BTreeSet<usize>,
    /// Ids of units assigned by this transition.
    pub assigned: Vec<String>,
    /// Ids of units completed by this transition.
    pub completed: Vec<String>,
}

impl WorkBoard {
    pub fn new(components: Vec<WorkComponent>, units: Vec<WorkUnit>, now: DateTime<Utc>) -> Self {
        let (changed, assigned, completed) = (BTreeSet::new(), vec![], vec![]);
        let max_revisions = MAX_REVISIONS;
        Self { components, units, now, max_revisions, changed, assigned, completed }
    }

    /// Sets how often a unit can be sent back.
    #[must_use]
    pub fn with_max_revisions(self, max_revisions: u32) -> Self {
        Self { max_revisions, ..self }
    }

    pub fn components(&self) -> &[WorkComponent] {
        &self.components
    }

    pub fn now(&self) -> DateTime<Utc> {
        self.now
    }

    pub fn changed(&self) -> impl Iterator<Item = &WorkUnit> {
        self.changed.iter().filter_map(|index| self.units.get(*index))
    }

    pub fn is_completed(&self) -> bool {
        self.units.iter().all(|unit| unit.status == Status::Completed)
    }

    pub fn find_unit(&self, id: &str) -> Result<usize, WorkError> {
        let found = self.units.iter().position(|unit| unit.id == id);
        found.ok_or_else(|| WorkError::NotFound(id.chars().take(100).collect()))
    }

    pub fn units(&self) -> &[WorkUnit] {
        &self.units
    }

    pub fn unit(&self, index: usize) -> &WorkUnit {
        &self.units[index]
    }

    /// Returns a unit for changes other than its status.
    pub fn edit_unit(&mut self, index: usize) -> &mut WorkUnit {
        self.changed.insert(index);
        let unit = &mut self.units[index];
        unit.updated_at = self.now;
        unit
    }

    /// Changes the status of a unit, if the transition is legal.
    pub fn transition(&mut self, index: usize, to: Status) -> Result<(), IllegalTransition> {
        let (status, now) = (self.units[index].status.advance(to)?, self.now);
        let unit = self.edit_unit(index);
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
    pub fn approve(&mut self, index: usize) -> Result<(), WorkError> {
        self.transition(index, Status::Approved)?;
        for after in self.successors(index) {
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
    pub fn revise(&mut self, index: usize, feedback: Value) -> Result<(), WorkError> {
        if self.units[index].revision_count >= self.max_revisions {
            return Err(WorkError::TooManyRevisions(self.units[index].id.clone()));
        }
        self.transition(index, Status::RevisionRequested)?;
        let unit = self.edit_unit(index);
        unit.revision_count += 1;
        unit.revision_feedback = Some(feedback);
        Ok(())
    }

    /// As [`Self::revise`], without a limit: a person requests it.
    pub fn revise_for_person(&mut self, index: usize, feedback: Value) -> Result<(), WorkError> {
        let limit = std::mem::replace(&mut self.max_revisions, u32::MAX);
        let revised = self.revise(index, feedback);
        self.max_revisions = limit;
        revised
    }

    /// Assigns ready units and completes finished components, until nothing changes.
    pub fn advance(&mut self) -> Result<(), WorkError> {
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
        for index in 0..self.units.len() {
            let is_pending = self.units[index].status == Status::Pending;
            if is_pending && self.is_ready(index) {
                self.transition(index, Status::Assigned)?;
                self.assigned.push(self.units[index].id.clone());
            }
        }
        Ok(())
    }

    fn mark_routed(&mut self) -> Result<(), WorkError> {
        for index in 0..self.units.len() {
            let after = self.successors(index);
            let is_open = |index: &usize| self.units[*index].status != Status::Pending;
            let is_handed_on = !after.is_empty() && after.iter().all(is_open);
            if self.units[index].status == Status::Approved && is_handed_on {
                self.transition(index, Status::Routed)?;
            }
        }
        Ok(())
    }

    fn complete_components(&mut self) -> Result<(), WorkError> {
        let names: Vec<_> = self.components.iter().map(|part| part.name.clone()).collect();
        for name in names {
            let of_it: Vec<_> = self.unit_indexes(&name).collect();
            let is_approved = |index: &usize| {
                matches!(self.units[*index].status, Status::Approved | Status::Routed)
            };
            if of_it.iter().all(is_approved) {
                for index in of_it {
                    self.transition(index, Status::Completed)?;
                    self.completed.push(self.units[index].id.clone());
                }
            }
        }
        Ok(())
    }

    fn is_ready(&self, index: usize) -> bool {
        let unit = &self.units[index];
        let component = self.components.iter().find(|part| part.name == unit.component);
        let is_done = |name: &String| {
            self.unit_indexes(name).all(|index| self.units[index].status == Status::Completed)
        };
        let is_passed = |index: usize| {
            matches!(
                self.units[index].status,
                Status::Approved | Status::Routed | Status::Completed
            )
        };
        component.is_none_or(|part| part.dependencies.iter().all(is_done))
            && (self.predecessors(index).all(is_passed) || cynode_fault::fault!("PMO-12"))
    }

    fn unit_indexes(&self, component: &str) -> impl Iterator<Item = usize> {
        let is_of_it = move |index: &usize| self.units[*index].component == component;
        (0..self.units.len()).filter(is_of_it)
    }

    /// Units of the same component that precede this one.
    pub fn predecessors(&self, index: usize) -> impl Iterator<Item = usize> {
        let wanted = self.waits_for(index);
        self.unit_indexes(&self.units[index].component)
            .filter(move |other| wanted.contains(&self.units[*other].kind))
    }

    /// Direct successors in the same component.
    fn successors(&self, index: usize) -> Vec<usize> {
        let kind = self.units[index].kind;
        self.unit_indexes(&self.units[index].component)
            .filter(|other| self.waits_for(*other).contains(&kind))
            .collect()
    }

    fn waits_for(&self, index: usize) -> Vec<UnitKind> {
        let unit = &self.units[index];
        let present: Vec<_> =
            self.unit_indexes(&unit.component).map(|other| self.units[other].kind).collect();
        unit.kind.waits_for(&present)
    }
}

#[cfg(test)]
mod tests;
