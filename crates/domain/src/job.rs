//! Jobs of worker nodes: action, limits and ending.

use serde::{Deserialize, Serialize};

use crate::criteria::Criterion;

/// How the reason begins why a job did not start, if the changes that its task builds on conflict.
const MERGE_CONFLICT: &str = "merge conflict: ";

/// What runs inside the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// A command for `/bin/sh -c`.
    Command {
        /// The line.
        line: String,
    },
    /// A script; its `#!` line selects the interpreter, `/bin/sh` without one.
    Script {
        /// The text of the script.
        text: String,
    },
    /// An agent that works on a request with a model and tools.
    Agent {
        /// The request.
        prompt: String,
        /// The criteria that its result is verified against; added when the job is created.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        criteria: Vec<Criterion>,
        /// Which model it uses, such as `fast`; added when the job is created.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model_hint: Option<String>,
    },
}

/// The limits of a job. A job that reaches one of them is ended, and its ending names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Wall-clock time, in seconds.
    pub timeout_s: u32,
    /// Resident memory of all processes together, in MiB.
    pub memory_mib: u32,
    /// Processes and threads alive at once.
    pub processes: u32,
    /// Bytes stored of each of stdout and stderr; more than 64 times that ends the job.
    pub output_bytes: u32,
    /// Disk used by the workspace and artifacts together, in MiB.
    pub disk_mib: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout_s: 3600,
            memory_mib: 2048,
            processes: 256,
            output_bytes: 256 * 1024,
            disk_mib: 2048,
        }
    }
}

impl Limits {
    /// The maximum of each limit.
    pub const MAX: Self = Self {
        timeout_s: 10_800,
        memory_mib: 1 << 20,
        processes: 4096,
        output_bytes: 1 << 20,
        disk_mib: 1 << 20,
    };

    /// Validation errors: one for each field outside 1 to [`Limits::MAX`].
    pub fn validation_errors(&self) -> Vec<String> {
        self.errors_above(&Self::MAX)
    }

    /// Lowers each field that has its default value to that of `ceiling`: a request that names no limit is valid
    /// under every ceiling.
    #[must_use]
    pub fn with_defaults_below(self, ceiling: &Self) -> Self {
        let usual = Self::default();
        let lower = |value: u32, usual: u32, most: u32| {
            if value == usual { value.min(most) } else { value }
        };
        Self {
            timeout_s: lower(self.timeout_s, usual.timeout_s, ceiling.timeout_s),
            memory_mib: lower(self.memory_mib, usual.memory_mib, ceiling.memory_mib),
            processes: lower(self.processes, usual.processes, ceiling.processes),
            output_bytes: lower(self.output_bytes, usual.output_bytes, ceiling.output_bytes),
            disk_mib: lower(self.disk_mib, usual.disk_mib, ceiling.disk_mib),
        }
    }

    /// Lowers each field to that of `ceiling`.
    #[must_use]
    pub fn at_most(self, ceiling: &Self) -> Self {
        Self {
            timeout_s: self.timeout_s.min(ceiling.timeout_s),
            memory_mib: self.memory_mib.min(ceiling.memory_mib),
            processes: self.processes.min(ceiling.processes),
            output_bytes: self.output_bytes.min(ceiling.output_bytes),
            disk_mib: self.disk_mib.min(ceiling.disk_mib),
        }
    }

    /// Validation errors: one for each field outside 1 to that of `ceiling`.
    pub fn errors_above(&self, ceiling: &Self) -> Vec<String> {
        let fields = [
            ("timeout_s", self.timeout_s, ceiling.timeout_s),
            ("memory_mib", self.memory_mib, ceiling.memory_mib),
            ("processes", self.processes, ceiling.processes),
            ("output_bytes", self.output_bytes, ceiling.output_bytes),
            ("disk_mib", self.disk_mib, ceiling.disk_mib),
        ];
        fields
            .iter()
            .filter(|(_, value, max)| !(1..=*max).contains(value))
            .map(|(name, value, max)| format!("limits.{name} is {value}; allowed is 1 to {max}"))
            .collect()
    }
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum JobEnding {
    /// The command exited.
    Exited {
        /// Its exit code; 128 + n when signal n ended it.
        code: i32,
    },
    /// It ran longer than `timeout_s`.
    TimedOut,
    /// It reached a limit other than time.
    LimitReached {
        /// A description of the limit.
        limit: String,
    },
    /// It was stopped on request.
    Canceled,
    /// It was running, or may have been, when its worker node stopped. It was not run again.
    Interrupted {
        /// A description of what happened.
        reason: String,
    },
    /// The sandbox could not be set up; the command did not start.
    NotStarted {
        /// A description of why.
        reason: String,
    },
}

impl JobEnding {
    /// Whether the command exited with code 0.
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Exited { code: 0 })
    }

    /// Whether it did not start because the changes that its task builds on conflict. Another attempt would find the same.
    pub fn is_merge_conflict(&self) -> bool {
        matches!(self, Self::NotStarted { reason } if reason.starts_with(MERGE_CONFLICT))
    }

    /// A description for people, to follow a subject.
    pub fn describe(&self) -> String {
        match self {
            Self::Exited { code } => format!("exited with code {code}"),
            Self::TimedOut => "ran longer than its time limit and was ended".to_owned(),
            Self::LimitReached { limit } => format!("was ended: {limit}"),
            Self::Canceled => "was canceled".to_owned(),
            Self::Interrupted { reason } => format!("was interrupted: {reason}"),
            Self::NotStarted { reason } => format!("could not start: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_out_of_range_is_reported_at_once() {
        let limits = Limits { timeout_s: 0, processes: 5000, ..Limits::default() };

        assert_eq!(
            limits.validation_errors(),
            [
                "limits.timeout_s is 0; allowed is 1 to 10800",
                "limits.processes is 5000; allowed is 1 to 4096"
            ]
        );
    }

    #[test]
    fn only_exit_code_zero_is_success() {
        assert!(JobEnding::Exited { code: 0 }.is_success());
        assert!(!JobEnding::Exited { code: 1 }.is_success());
        assert!(!JobEnding::TimedOut.is_success());
    }
}
