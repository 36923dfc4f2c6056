//! Questions of a run to a person, and their answers.

use serde::{Deserialize, Serialize};

words! {
    /// The reason for a question.
    QuestionKind("question kind") {
    /// An action requires a person's approval.
        Approval = "approval",
        /// The request is unclear.
        Clarification = "clarification",
    }

    /// The form of an answer.
    ReplyForm("reply form") {
    /// Approve.
        Yes = "yes",
        /// Decline.
        No = "no",
        /// Command lines to run.
        Commands = "commands",
        /// A script to run.
        Script = "script",
        /// Prose.
        Text = "text",
        /// Retry the failed step.
        Retry = "retry",
    }
}

/// A question of a run. The run is suspended until it is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Question {
    /// The reason for the question.
    pub kind: QuestionKind,
    /// The question.
    pub text: String,
    /// Context, one line each: the steps of a plan, or the request.
    #[serde(default)]
    pub about: Vec<String>,
    /// The accepted forms of an answer.
    pub accepts: Vec<ReplyForm>,
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "form", rename_all = "snake_case", deny_unknown_fields)]
pub enum Reply {
    /// Approve.
    Yes {},
    /// Decline.
    No {},
    /// Command lines to run in order.
    Commands {
        /// The lines.
        lines: Vec<String>,
    },
    /// A script to run.
    Script {
        /// Its text.
        text: String,
    },
    /// Prose.
    Text {
        /// The text.
        text: String,
    },
    /// Retry the failed step.
    Retry {},
}

impl Reply {
    pub const fn form(&self) -> ReplyForm {
        match self {
            Self::Yes {} => ReplyForm::Yes,
            Self::No {} => ReplyForm::No,
            Self::Commands { .. } => ReplyForm::Commands,
            Self::Script { .. } => ReplyForm::Script,
            Self::Text { .. } => ReplyForm::Text,
            Self::Retry {} => ReplyForm::Retry,
        }
    }
}

/// An answer as the run receives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Answer {
    /// The reply; absent if the question timed out.
    pub reply: Option<Reply>,
    /// The person's comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The handle of the person, or that an agent answered on behalf of it; absent if the question timed out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl Answer {
    /// The answer of a question that timed out.
    pub const fn too_late() -> Self {
        Self { reply: None, comment: None, by: None }
    }

    /// Why the run does not continue; `None` if it does.
    pub fn refusal(&self) -> Option<String> {
        let why = self.comment.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        match self.reply {
            None => Some("no answer in time".to_owned()),
            Some(Reply::No {}) => {
                let by = self.by.as_deref().unwrap_or("a person");
                Some(format!("declined by {by}{why}"))
            }
            Some(
                Reply::Yes {}
                | Reply::Commands { .. }
                | Reply::Script { .. }
                | Reply::Text { .. }
                | Reply::Retry {},
            ) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_no_says_who_and_why_and_a_yes_refuses_nothing() {
        let no = Answer {
            reply: Some(Reply::No {}),
            comment: Some("too costly".to_owned()),
            by: Some("ada".to_owned()),
        };

        assert_eq!(no.refusal().as_deref(), Some("declined by ada: too costly"));
        assert_eq!(Answer { reply: Some(Reply::Yes {}), ..no }.refusal(), None);
        assert_eq!(Answer::too_late().refusal().as_deref(), Some("no answer in time"));
    }

    #[test]
    fn a_reply_is_told_by_its_form() {
        let reply: Reply =
            serde_json::from_value(json!({"form": "commands", "lines": ["make"]})).unwrap();

        assert_eq!(reply.form(), ReplyForm::Commands);
        assert!(serde_json::from_value::<Reply>(json!({"form": "yes", "why": 1})).is_err());
    }
}
