//! The state machines, each as a transition table.
//!
//! A status changes only through [`TaskStatus::advance`] and its siblings; an illegal transition is an
//! [`IllegalTransition`], never a silent overwrite. A status without successors is terminal.

mod shown;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use self::shown::ShownTaskStatus;

/// A transition that is not in the table of `machine`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a {machine} cannot change from {from} to {to}")]
pub struct IllegalTransition {
    pub machine: &'static str,
    pub from: &'static str,
    pub to: &'static str,
}

/// An unknown status of `machine`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{word}\" is not a {machine} status; use one of: {allowed}")]
pub struct UnknownStatus {
    pub machine: &'static str,
    pub word: String,
    /// Comma separated.
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

            /// The spelling in the database and on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $wire,)*
                }
            }

            /// Whether the status has no successors.
            pub const fn is_terminal(self) -> bool {
                self.successors().is_empty()
            }

            /// Changes the status, if the table has that transition.
            pub fn advance(self, to: Self) -> Result<Self, IllegalTransition> {
                if self.successors().contains(&to) {
                    Ok(to)
                } else {
                    Err(IllegalTransition { machine: $machine, from: self.as_str(), to: to.as_str() })
                }
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": [$($wire),*] })
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
    /// The status of a task as stored; clients see [`ShownTaskStatus`].
    TaskStatus("task") {
        /// Created, and nothing has run yet.
        Pending = "pending" => [Running, Failed, Canceled, Superseded],
        /// A runner executes its workflow.
        Running = "running" => [Completed, Failed, Canceled, Superseded],
        /// Every step was accepted.
        Completed = "completed" => [],
        /// A step failed permanently; the summary says why.
        Failed = "failed" => [],
        /// A person canceled it, or a task it depends on was canceled.
        Canceled = "canceled" => [],
        /// Replaced by another task.
        Superseded = "superseded" => [],
    }

    /// The status of a run.
    RunStatus("run") {
        /// Waiting for a runner.
        Pending = "pending" => [Running, Canceled],
        /// A runner holds, or held, its lease.
        Running = "running" => [Completed, Failed, Canceled],
        /// Reached `finalize_summary`.
        Completed = "completed" => [],
        /// Reached `mark_failed`.
        Failed = "failed" => [],
        /// Canceled.
        Canceled = "canceled" => [],
    }

    /// The status of a job.
    JobStatus("job") {
        /// Waiting for a worker node.
        Queued = "queued" => [Running, Failed, Canceled],
        /// Dispatched to a worker node; it may have had side effects.
        Running = "running" => [Completed, Failed, Canceled, LeaseExpired],
        /// The command exited; the result has its exit code.
        Completed = "completed" => [],
        /// The sandbox could not run it, or it exceeded a limit.
        Failed = "failed" => [],
        /// Stopped on request.
        Canceled = "canceled" => [],
        /// The worker node stopped reporting; it is unknown whether the command finished.
        LeaseExpired = "lease_expired" => [],
    }

    /// The status of a worker node.
    NodeStatus("node") {
        /// Registered; has not polled yet.
        Registered = "registered" => [Active, Inactive, Drained],
        /// Polls for work.
        Active = "active" => [Inactive, Drained],
        /// Has not polled for a while.
        Inactive = "inactive" => [Active, Drained],
        /// Finishes its jobs and gets no new ones.
        Drained = "drained" => [Active, Inactive],
    }

    /// The status of a work unit. An approved unit can be sent back until its component is completed.
    WorkUnitStatus("work unit") {
        /// Waits for the units before it.
        Pending = "pending" => [Assigned, Blocked, Failed],
        /// Assigned to a role.
        Assigned = "assigned" => [InProgress, Blocked, Failed],
        /// An agent works on it.
        InProgress = "in_progress" => [Submitted, Blocked, Failed],
        /// Waits for the project manager's verdict.
        Submitted = "submitted" => [Approved, RevisionRequested, Blocked, Failed],
        /// Sent back with feedback.
        RevisionRequested = "revision_requested" => [InProgress, Blocked, Failed],
        /// Approved; the units after it may start.
        Approved = "approved" => [Routed, Completed, RevisionRequested, Blocked, Failed],
        /// The units after it were assigned.
        Routed = "routed" => [Completed, RevisionRequested, Blocked, Failed],
        /// Completed, like every unit of its component.
        Completed = "completed" => [],
        /// Cannot continue without help.
        Blocked = "blocked" => [Assigned, Failed],
        /// Failed permanently.
        Failed = "failed" => [],
    }

    /// The phase of a request. The status of its task says how an ended one went.
    RequestPhase("request") {
        /// Its kind is decided.
        Intake = "intake" => [Context, Ended],
        /// The facts about its project are gathered.
        Context = "context" => [Planning, Ended],
        /// Its scope, its workflow and its components are decided.
        Planning = "planning" => [Working, Ended],
        /// Its work units are worked on.
        Working = "working" => [Delivering, Ended],
        /// The results are merged, tested and pushed.
        Delivering = "delivering" => [Working, InReview, Ended],
        /// Its pull request is open.
        InReview = "in_review" => [Working, Ended],
        /// Nothing more happens.
        Ended = "ended" => [],
    }

    /// The status of an agent instance on a task.
    AgentStatus("agent") {
        /// Running, by its own report.
        Running = "running" => [Paused, Escalated, Completed, Aborted],
        /// Instructed to wait, or its context is full.
        Paused = "paused" => [Running, Escalated, Completed, Aborted],
        /// Waits for help.
        Escalated = "escalated" => [Running, Paused, Aborted],
        /// Reported completion.
        Completed = "completed" => [],
        /// Instructed to stop, or replaced.
        Aborted = "aborted" => [],
    }
}

impl JobStatus {
    /// Records the late result of a job whose lease expired: the only transition out of a terminal
    /// status.
    pub fn settle_expired(self, known: Self) -> Result<Self, IllegalTransition> {
        if let (Self::LeaseExpired, Self::Completed | Self::Failed) = (self, known) {
            return Ok(known);
        }
        let (from, to) = (self.as_str(), known.as_str());
        Err(IllegalTransition { machine: "job", from, to })
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
        requests_move_only_as_their_table_says: RequestPhase,
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

        assert_eq!(refusal.to_string(), "a task cannot change from completed to running");
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
                assert_eq!(from.settle_expired(known).is_ok(), may, "{from} to {known}");
            }
        }
    }
}
