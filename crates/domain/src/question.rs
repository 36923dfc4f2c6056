//! What a run asks a person, and what may be answered.

use serde::{Deserialize, Serialize};

words! {
    /// Why a person is asked.
    QuestionKind("kind of question") {
        /// Something is to be done only if a person agrees.
        Approval = "approval",
        /// It is not clear what is to be done.
        Clarification = "clarification",
    }

    /// In which form a question may be answered.
    ReplyForm("form of reply") {
        /// Go on.
        Yes = "yes",
        /// Do not go on.
        No = "no",
        /// Command lines to run.
        Commands = "commands",
        /// A script to run.
        Script = "script",
        /// Prose.
        Text = "text",
        /// Try again what could not be done.
        Retry = "retry",
    }
}

/// A question of a run. It waits for the answer without a runner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Question {
    /// Why a person is asked.
    pub kind: QuestionKind,
    /// The question, in words.
    pub text: String,
    /// What it is about, a line each: the steps of a plan, or the request.
    #[serde(default)]
    pub about: Vec<String>,
    /// The forms in which it may be answered.
    pub accepts: Vec<ReplyForm>,
}

/// What a person answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "form", rename_all = "snake_case", deny_unknown_fields)]
pub enum Reply {
    /// Go on.
    Yes {},
    /// Do not go on.
    No {},
    /// Command lines to run, one after the other.
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
    /// Try again what could not be done.
    Retry {},
}

impl Reply {
    /// The form of this reply.
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

/// An answer as the run that asked gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Answer {
    /// What was answered; nothing if nobody did in time.
    pub reply: Option<Reply>,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The handle of who answered; nobody's if nobody did in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl Answer {
    /// The answer that takes the place of one that did not come in time.
    pub const fn too_late() -> Self {
        Self { reply: None, comment: None, by: None }
    }

    /// Why the run does not go on, if the answer says so.
    pub fn refusal(&self) -> Option<String> {
        let why = self.comment.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        match self.reply {
            None => Some("nobody answered in time".to_owned()),
            Some(Reply::No {}) => {
                let by = self.by.as_deref().unwrap_or("somebody");
                Some(format!("{by} said no{why}"))
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

        assert_eq!(no.refusal().as_deref(), Some("ada said no: too costly"));
        assert_eq!(Answer { reply: Some(Reply::Yes {}), ..no }.refusal(), None);
        assert_eq!(Answer::too_late().refusal().as_deref(), Some("nobody answered in time"));
    }

    #[test]
    fn a_reply_is_told_by_its_form() {
        let reply: Reply =
            serde_json::from_value(json!({"form": "commands", "lines": ["make"]})).unwrap();

        assert_eq!(reply.form(), ReplyForm::Commands);
        assert!(serde_json::from_value::<Reply>(json!({"form": "yes", "why": 1})).is_err());
    }
}
