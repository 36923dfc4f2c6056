//! Every state machine, each as one transition table.
//!
//! A status may only change through [`TaskStatus::advance`] and its siblings; an illegal move is an
//! [`IllegalMove`], never a silent overwrite. A status without successors is terminal and stays.

mod shown;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use self::shown::ShownTaskStatus;

/// A move that the state machine of `machine` does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a {machine} cannot go from {from} to {to}")]
pub struct IllegalMove {
    /// Which state machine refused.
    pub machine: &'static str,
    /// Where it stands.
    pub from: &'static str,
    /// Where it was asked to go.
    pub to: &'static str,
}

/// A status word that the state machine of `machine` does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{word}\" is not a {machine} status; use one of: {allowed}")]
pub struct UnknownStatus {
    /// Which state machine was asked.
    pub machine: &'static str,
    /// The word it was given.
    pub word: String,
    /// The words it knows, comma separated.
    pub allowed: String,
}

macro_rules! state_machines {
    ($(
        $(#[$doc:meta])*
        $name:ident($machine:literal) {
            $($(#[$vdoc:meta])* $variant:ident = $wire:literal => [$($next:ident),*],)*
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $wire)] #[schema(rename = $wire)] $variant,)*
        }

        impl $name {
            /// Every status, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The successors of this status.
            pub const fn successors(self) -> &'static [Self] {
                match self {
                    $(Self::$variant => &[$(Self::$next),*],)*
                }
            }

            /// The word for this status in the database and on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $wire,)*
                }
            }

            /// Whether nothing can follow.
            pub const fn is_terminal(self) -> bool {
                self.successors().is_empty()
            }

            /// The next status, if the table has that move.
            pub fn advance(self, to: Self) -> Result<Self, IllegalMove> {
                if self.successors().contains(&to) {
                    Ok(to)
                } else {
                    Err(IllegalMove { machine: $machine, from: self.as_str(), to: to.as_str() })
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownStatus;
            fn from_str(word: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|status| status.as_str() == word).ok_or_else(|| {
                    UnknownStatus {
                        machine: $machine,
                        word: word.to_owned(),
                        allowed: Self::ALL.iter().map(|s| s.as_str()).collect::<Vec<_>>().join(", "),
                    }
                })
            }
        }
    )*};
}

state_machines! {
    /// Where a task stands, in the words of the database; others see [`ShownTaskStatus`].
    TaskStatus("task") {
        /// Created, and nothing has run yet.
        Pending = "pending" => [Running, Failed, Canceled, Superseded],
        /// A workflow drives it.
        Running = "running" => [Completed, Failed, Canceled, Superseded],
        /// Every step was accepted.
        Completed = "completed" => [],
        /// A step failed for good; the summary says why.
        Failed = "failed" => [],
        /// A person stopped it, or a task it depends on was stopped.
        Canceled = "canceled" => [],
        /// Another task took its place.
        Superseded = "superseded" => [],
    }

    /// Where one execution of a workflow stands.
    RunStatus("run") {
        /// Waiting for a runner.
        Pending = "pending" => [Running, Canceled],
        /// A runner holds, or held, its lease.
        Running = "running" => [Completed, Failed, Canceled],
        /// Reached `finalize_summary`.
        Completed = "completed" => [],
        /// Reached `mark_failed`.
        Failed = "failed" => [],
        /// Stopped from outside.
        Canceled = "canceled" => [],
    }

    /// Where a job on a worker node stands.
    JobStatus("job") {
        /// Waiting for a node to take it.
        Queued = "queued" => [Running, Failed, Canceled],
        /// Handed to a node; from here on it may have had effects.
        Running = "running" => [Completed, Failed, Canceled, LeaseExpired],
        /// The command ended by itself; its exit code is in the result.
        Completed = "completed" => [],
        /// The sandbox could not run it, or a limit ended it.
        Failed = "failed" => [],
        /// Stopped on request.
        Canceled = "canceled" => [],
        /// The node stopped reporting; whether the command finished is unknown.
        LeaseExpired = "lease_expired" => [],
    }

    /// Where a worker node stands.
    NodeStatus("node") {
        /// Known, never heard of since.
        Registered = "registered" => [Active, Inactive, Drained],
        /// Polls for work.
        Active = "active" => [Inactive, Drained],
        /// Has not polled for a while.
        Inactive = "inactive" => [Active, Drained],
        /// Finishes what it has and takes nothing new.
        Drained = "drained" => [Active, Inactive],
    }

    /// Where a work unit stands. What was approved can be sent back until its component is done.
    WorkUnitStatus("work unit") {
        /// Waits for what comes before it.
        Pending = "pending" => [Assigned, Blocked, Failed],
        /// A role is to do it.
        Assigned = "assigned" => [InProgress, Blocked, Failed],
        /// An agent works on it.
        InProgress = "in_progress" => [Submitted, Blocked, Failed],
        /// Waits for the project manager's verdict.
        Submitted = "submitted" => [Approved, RevisionRequested, Blocked, Failed],
        /// Sent back, with what is wrong.
        RevisionRequested = "revision_requested" => [InProgress, Blocked, Failed],
        /// Accepted; what comes after it may begin.
        Approved = "approved" => [Routed, Completed, RevisionRequested, Blocked, Failed],
        /// What comes after it was handed out.
        Routed = "routed" => [Completed, RevisionRequested, Blocked, Failed],
        /// Done, like everything in its component.
        Completed = "completed" => [],
        /// Cannot go on until somebody helps.
        Blocked = "blocked" => [Assigned, Failed],
        /// Given up.
        Failed = "failed" => [],
    }

    /// Where one life of an agent on a task stands.
    AgentStatus("agent") {
        /// It works, as far as it says.
        Running = "running" => [Paused, Escalated, Completed, Aborted],
        /// It was told to wait, or its context is full.
        Paused = "paused" => [Running, Escalated, Completed, Aborted],
        /// It waits for help.
        Escalated = "escalated" => [Running, Paused, Aborted],
        /// It said that it is done.
        Completed = "completed" => [],
        /// It was told to stop, or another took its place.
        Aborted = "aborted" => [],
    }
}

impl JobStatus {
    /// The status of a job whose lease ran out, once its node says after all what came of it: the only
    /// move out of a status without successors.
    pub fn settle(self, known: Self) -> Result<Self, IllegalMove> {
        if let (Self::LeaseExpired, Self::Completed | Self::Failed) = (self, known) {
            return Ok(known);
        }
        let (from, to) = (self.as_str(), known.as_str());
        Err(IllegalMove { machine: "job", from, to })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::{Index, select};

    use super::*;

    /// Walks `moves` through the table and checks the laws that every machine obeys.
    macro_rules! machine_obeys_its_table {
        ($($test:ident: $machine:ident,)*) => {$(
            proptest! {
                #[test]
                fn $test(start in select($machine::ALL), moves in prop::collection::vec(any::<Index>(), 0..40)) {
                    let mut at = start;
                    for wanted in moves.iter().map(|index| *index.get($machine::ALL)) {
                        let before = at;
                        match at.advance(wanted) {
                            Ok(next) => {
                                prop_assert!(!before.is_terminal(), "{before} is terminal but moved to {next}");
                                prop_assert_eq!(next, wanted);
                                prop_assert!(before.successors().contains(&next));
                                at = next;
                            }
                            Err(refusal) => {
                                prop_assert!(!before.successors().contains(&wanted));
                                prop_assert_eq!(refusal.from, before.as_str());
                            }
                        }
                    }
                    prop_assert_eq!(at.as_str().parse::<$machine>().unwrap(), at);
                }
            }
        )*};
    }

    machine_obeys_its_table! {
        tasks_move_only_as_their_table_says: TaskStatus,
        runs_move_only_as_their_table_says: RunStatus,
        jobs_move_only_as_their_table_says: JobStatus,
        nodes_move_only_as_their_table_says: NodeStatus,
        work_units_move_only_as_their_table_says: WorkUnitStatus,
        agents_move_only_as_their_table_says: AgentStatus,
    }

    #[test]
    fn no_machine_loops_back_into_its_first_state() {
        assert!(TaskStatus::ALL.iter().all(|s| !s.successors().contains(&TaskStatus::Pending)));
        assert!(RunStatus::ALL.iter().all(|s| !s.successors().contains(&RunStatus::Pending)));
        assert!(JobStatus::ALL.iter().all(|s| !s.successors().contains(&JobStatus::Queued)));
    }

    #[test]
    fn an_illegal_move_says_both_ends() {
        let refusal = TaskStatus::Completed.advance(TaskStatus::Running).unwrap_err();

        assert_eq!(refusal.to_string(), "a task cannot go from completed to running");
    }

    #[test]
    fn a_word_that_no_machine_knows_lists_the_known_ones() {
        let refusal = "asleep".parse::<NodeStatus>().unwrap_err();

        assert_eq!(
            refusal.to_string(),
            "\"asleep\" is not a node status; use one of: registered, active, inactive, drained"
        );
    }

    #[test]
    fn only_a_job_whose_lease_ran_out_is_settled_and_only_by_what_came_of_it() {
        for &from in JobStatus::ALL {
            for &known in JobStatus::ALL {
                let may = from == JobStatus::LeaseExpired
                    && matches!(known, JobStatus::Completed | JobStatus::Failed);
                assert_eq!(from.settle(known).is_ok(), may, "{from} to {known}");
            }
        }
    }
}
