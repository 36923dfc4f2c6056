//! What a node writes down about a job, and what the sandbox writes down about its end.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use cynode_domain::ids::TaskId;
use cynode_domain::job::{Action, Ending, Limits};
use cynode_wire::jobs::Truncated;
use cynode_wire::nodes::Assignment;
use serde::{Deserialize, Serialize};

/// The first id of the range that jobs run under when the node is root; nothing else uses it.
const FIRST_UID: u32 = 2_000_000;
const UIDS: u128 = 1_000_000;

/// Everything needed to run a job: `spec.json` in its directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSpec {
    /// The job as the orchestrator gave it.
    pub assignment: Assignment,
    /// The directory that jobs of one task share.
    pub workspace: PathBuf,
    /// How the job is kept apart from the node's own user.
    pub isolation: Isolation,
    /// Host paths the job may read beyond the system's own.
    pub expose: Vec<PathBuf>,
    /// What runs instead of the assignment's action, if somebody talks with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactive: Option<Interactive>,
}

/// A program that somebody talks with over its standard streams.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interactive {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Whether it may use the network.
    pub network: bool,
}

/// How a job is kept apart from the user the node runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Isolation {
    /// The node is root: the job runs under an id of its own, without a user namespace.
    OwnUser,
    /// The job runs in a user namespace where the node's user appears as root without powers.
    UserNamespace,
}

impl Isolation {
    /// The id that jobs of `task` run under: one per task, because they share a workspace.
    pub fn uid(self, task: TaskId) -> u32 {
        match self {
            Self::OwnUser => {
                let offset = u32::try_from(task.as_uuid().as_u128() % UIDS).unwrap_or_default();
                FIRST_UID + offset
            }
            Self::UserNamespace => 0,
        }
    }
}

/// What came of a job: `outcome.json` in its directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// Which streams were longer than what was kept.
    pub truncated: Truncated,
    /// When its supervisor began.
    pub started_at: DateTime<Utc>,
    /// When it was over.
    pub ended_at: DateTime<Utc>,
    /// What the sandbox enforced.
    pub features: Vec<String>,
}

/// What PID 1 tells the supervisor, one JSON line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Report {
    /// The command runs, confined by these features.
    Started { features: Vec<String> },
    /// It is over.
    Ended { ending: Ending },
}

/// What the last stage needs to know to become the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ExecPlan {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    /// The bounds it puts on itself.
    pub limits: Limits,
    /// The id to change to; absent in a user namespace, where there is only one.
    pub uid: Option<u32>,
    /// Whether somebody talks with it: it then reads [`STDIN`] and gets the variables in
    /// [`DECLARED`], too.
    pub is_interactive: bool,
}

/// Where what is said to an interactive program comes from, inside the sandbox.
pub(crate) const STDIN: &str = "/job/stdin";
/// The variable in which the stages of a sandbox hand on those declared for the program, as JSON.
/// In one piece, so that none of them means something to the stages themselves; and not in a file
/// or an argument, because values may be secret.
pub(crate) const DECLARED: &str = "CYNODE_SANDBOX_DECLARED";

/// What the last stage says before it becomes the command.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Confined {
    /// It is confined, and about to start.
    Enforced(Vec<String>),
    /// It could not be confined or started.
    Failed(String),
}

/// Where a script is found inside the sandbox.
pub(crate) const SCRIPT: &str = "/job/script";
/// The kernel refuses single arguments of 128 KiB; longer lines go through a file.
const MAX_LINE: usize = 100_000;

/// The text to place at [`SCRIPT`], and the program with its arguments.
pub(crate) fn argv(action: &Action) -> (Option<&str>, Vec<String>) {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    match action {
        Action::Command { line } if line.len() <= MAX_LINE => {
            (None, words(&["/bin/sh", "-c", line]))
        }
        Action::Script { text } if text.starts_with("#!") => (Some(text), words(&[SCRIPT])),
        Action::Command { line: text } | Action::Script { text } => {
            (Some(text), words(&["/bin/sh", SCRIPT]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_chooses_its_interpreter_and_long_lines_become_scripts() {
        let bash = Action::Script { text: "#!/bin/bash\n".to_owned() };
        let plain = Action::Script { text: "true".to_owned() };
        let long = Action::Command { line: format!("true {}", "x".repeat(MAX_LINE)) };

        assert_eq!(argv(&bash).1, [SCRIPT]);
        assert_eq!(argv(&plain).1, ["/bin/sh", SCRIPT]);
        assert_eq!(argv(&long).1, ["/bin/sh", SCRIPT]);
    }

    #[test]
    fn jobs_of_one_task_share_an_id_outside_the_range_of_people() {
        let task = TaskId::generate();

        assert_eq!(Isolation::OwnUser.uid(task), Isolation::OwnUser.uid(task));
        assert!((FIRST_UID..FIRST_UID + 1_000_000).contains(&Isolation::OwnUser.uid(task)));
    }
}
