//! Agents that work on a task, and the words in which they and the project manager speak.
//!
//! Hub and spoke: an agent speaks to the project manager and to nobody else. Its name on a task is
//! its [`Role`]; two agents of one kind are told apart by a number, such as `developer-2`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest role.
const MAX_CHARS: usize = 64;
/// The project manager's own name as a sender and recipient.
pub const PM: &str = "pm";
/// Other names under which agents know the project manager.
const PM_NAMES: &[&str] = &[PM, "project-manager", "pm-orchestrator", "supervisor"];
/// Names that nobody can have: they mean somebody else.
const RESERVED: &[&str] = &["all", "human", "user", "system"];

/// The name of an agent on its task, such as `developer` or `developer-2`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Role(String);

/// A text that is no role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotARole {
    /// It has the wrong shape.
    #[error("a role is 1 to 64 letters, digits and dashes and begins with a letter")]
    Shape,
    /// The name means somebody else.
    #[error("\"{0}\" is no role of an agent")]
    Reserved(String),
}

impl Role {
    /// The role as text.
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

impl FromStr for Role {
    type Err = NotARole;

    /// Roles are the same in upper and lower case.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let role = text.to_ascii_lowercase();
        let is_fine = role.len() <= MAX_CHARS
            && role.starts_with(|c: char| c.is_ascii_lowercase())
            && role.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        if !is_fine {
            return Err(NotARole::Shape);
        }
        if is_project_manager(&role) || RESERVED.contains(&role.as_str()) {
            return Err(NotARole::Reserved(role));
        }
        Ok(Self(role))
    }
}

impl TryFrom<String> for Role {
    type Error = NotARole;

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

/// Whether a recipient means the project manager.
pub fn is_project_manager(name: &str) -> bool {
    PM_NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

words! {
    /// What an agent's life sign says it does.
    Activity("activity") {
        /// It works.
        Working = "working",
        /// It thinks.
        Thinking = "thinking",
        /// It writes.
        Writing = "writing",
    }

    /// How an agent says it is going.
    Progress("status") {
        /// Going on.
        Working = "working",
        /// Finished.
        Done = "done",
        /// Cannot go on without help.
        Blocked = "blocked",
        /// Waits for somebody to look at its work.
        NeedsReview = "needs_review",
        /// Its context is full; a successor goes on from its checkpoint.
        ContextLimit = "context_limit",
    }

    /// Whom an agent asks for help. Every question goes to the project manager, who passes it on.
    HelpKind("kind of help") {
        /// A person.
        Human = "human",
        /// Another agent.
        Agent = "agent",
        /// Whoever knows what was meant.
        Clarification = "clarification",
        /// The project manager itself.
        PmDecision = "pm_decision",
    }

    /// What a plain message to the project manager is.
    NoteKind("kind of message") {
        /// It wants an answer.
        Question = "question",
        /// It is an answer.
        Answer = "answer",
        /// It wants nothing.
        Info = "info",
        /// It wants something done.
        Request = "request",
    }

    /// What the project manager tells an agent.
    InstructionKind("kind of instruction") {
        /// Keep going.
        Continue = "continue",
        /// Wait for further instructions.
        Pause = "pause",
        /// Fix what is named.
        Revise = "revise",
        /// Stop for good.
        Abort = "abort",
        /// Do this as well.
        ExpandScope = "expand_scope",
        /// Leave this out.
        ReduceScope = "reduce_scope",
    }

    /// What kind of message a row is.
    MessageKind("kind of message") {
        /// A typed report.
        Report = "report",
        /// How it is going.
        Status = "status",
        /// A plain message.
        Note = "note",
        /// A cry for help.
        Help = "help",
        /// An agent is done.
        Completion = "completion",
        /// A work unit was handed in.
        Submission = "submission",
        /// The project manager's word to an agent.
        Instruction = "instruction",
    }
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
            assert!(matches!(name.parse::<Role>(), Err(NotARole::Reserved(_))), "{name}");
        }
        for name in ["", "2nd", "a b", "ä", "a\0", &"x".repeat(65)] {
            assert_eq!(name.parse::<Role>(), Err(NotARole::Shape), "{name}");
        }
        assert!(is_project_manager("PM") && !is_project_manager("developer"));
    }
}
