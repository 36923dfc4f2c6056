//! Agents that work on a task, and the vocabulary of their messages with the project manager.
//!
//! Hub and spoke: an agent exchanges messages with the project manager only. Its name on a task is
//! its [`Role`]; a number distinguishes two agents of one kind, such as `developer-2`.

use crate::ids::{JobId, ProjectId, RunId, SessionId, TaskId};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest role.
pub const MAX_ROLE_CHARS: usize = 64;
/// The project manager's own name as a sender and recipient.
pub const PM: &str = "pm";
/// Aliases of the project manager.
const PM_NAMES: &[&str] = &[PM, "project-manager", "pm-orchestrator", "supervisor"];
/// Names that are not agents.
const RESERVED: &[&str] = &["all", "human", "user", "system"];

/// The name of an agent on its task, such as `developer` or `developer-2`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Role(String);

/// A text that is not a valid role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRole {
    #[error("a role must be 1 to 64 letters, digits and dashes and begin with a letter")]
    InvalidFormat,
    #[error("\"{0}\" is reserved and cannot be the role of an agent")]
    Reserved(String),
}

impl Role {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The role without its number: `developer` for `developer-2`.
    pub fn family(&self) -> &str {
        match self.0.rsplit_once('-') {
            Some((family, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => family,
            _ => &self.0,
        }
    }
}

impl schemars::JsonSchema for Role {
    fn schema_name() -> Cow<'static, str> {
        "Role".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "minLength": 1, "maxLength": MAX_ROLE_CHARS })
    }
}

impl FromStr for Role {
    type Err = InvalidRole;

    /// Case-insensitive.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let role = text.to_ascii_lowercase();
        let is_fine = role.len() <= MAX_ROLE_CHARS
            && role.starts_with(|c: char| c.is_ascii_lowercase())
            && role.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        if !is_fine {
            return Err(InvalidRole::InvalidFormat);
        }
        if is_project_manager(&role) || RESERVED.contains(&role.as_str()) {
            return Err(InvalidRole::Reserved(role));
        }
        Ok(Self(role))
    }
}

impl TryFrom<String> for Role {
    type Error = InvalidRole;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Role> for String {
    fn from(role: Role) -> Self {
        role.0
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a recipient is the project manager.
pub fn is_project_manager(name: &str) -> bool {
    PM_NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

words! {
    /// The activity that an agent's heartbeat reports.
    Activity("activity") {
        Working = "working",
        Thinking = "thinking",
        Writing = "writing",
    }

    /// The progress that an agent reports.
    Progress("status") {
        Working = "working",
        Done = "done",
        /// Cannot continue without help.
        Blocked = "blocked",
        /// Waits for a review of its work.
        NeedsReview = "needs_review",
        /// Its context is full; a successor continues from its checkpoint.
        ContextLimit = "context_limit",
    }

    /// Whom an agent asks for help. Every request goes to the project manager, who forwards it.
    HelpKind("help kind") {
        Human = "human",
        Agent = "agent",
        /// The author of the unclear requirement.
        Clarification = "clarification",
        PmDecision = "pm_decision",
    }

    /// Kind of a plain message to the project manager.
    NoteKind("message kind") {
        /// Expects an answer.
        Question = "question",
        Answer = "answer",
        /// Expects nothing.
        Info = "info",
        /// Expects an action.
        Request = "request",
    }

    /// An instruction of the project manager to an agent.
    InstructionKind("instruction kind") {
        Continue = "continue",
        Pause = "pause",
        /// Fix the named issues.
        Revise = "revise",
        /// Stop permanently.
        Abort = "abort",
        ExpandScope = "expand_scope",
        ReduceScope = "reduce_scope",
    }

    /// Kind of a stored message.
    MessageKind("message kind") {
        /// A typed report.
        Report = "report",
        Status = "status",
        Note = "note",
        /// A request for help.
        Help = "help",
        Completion = "completion",
        /// A work unit was submitted.
        Submission = "submission",
        /// An instruction of the project manager to an agent.
        Instruction = "instruction",
    }
}

/// The agent that a token was issued to: the sender of every message that is sent with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobAgent {
    /// Its role on the task; `None` if the first message decides.
    pub role: Option<Role>,
    /// The work unit of its job; `None` if any unit of its role may be worked on.
    pub work_unit: Option<String>,
    /// Name and revision of its profile; `None` for the built-in agent.
    pub profile: Option<(String, u32)>,
}

/// The resources a token is limited to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenBinding {
    pub project: Option<ProjectId>,
    pub task: Option<TaskId>,
    pub run: Option<RunId>,
    pub job: Option<JobId>,
    pub session: Option<SessionId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_the_same_in_any_case_and_knows_its_family() {
        let role: Role = "Developer-2".parse().unwrap();

        assert_eq!((role.as_str(), role.family()), ("developer-2", "developer"));
        assert_eq!("ui-critic".parse::<Role>().unwrap().family(), "ui-critic");
    }

    #[test]
    fn a_role_that_means_somebody_else_is_refused() {
        for name in ["pm", "Supervisor", "project-manager", "pm-orchestrator", "all", "human"] {
            assert!(matches!(name.parse::<Role>(), Err(InvalidRole::Reserved(_))), "{name}");
        }
        for name in ["", "2nd", "a b", "ä", "a\0", &"x".repeat(65)] {
            assert_eq!(name.parse::<Role>(), Err(InvalidRole::InvalidFormat), "{name}");
        }
        assert!(is_project_manager("PM") && !is_project_manager("developer"));
    }
}
