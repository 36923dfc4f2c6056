//! `db.request.*`

use cynode_domain::git::TaskRepository;
use cynode_domain::ids::{ProjectId, TaskId};
use cynode_domain::question::ReplyForm;
use cynode_domain::request::{DeliveryMode, RequestOrigin, RequestSettings};
use cynode_domain::work_kind::{WorkKind, WorkScope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool_calls;
use crate::page::PageQuery;
use crate::requests::SubmitRequest;
use crate::runs::MAX_COMMENT_CHARS;
use crate::tasks::{MAX_IDEMPOTENCY_KEY_BYTES, MAX_NAME_CHARS};

/// The longest text of a request.
pub const MAX_REQUEST_BYTES: usize = 100 * 1024;
/// The longest answer in prose.
pub const MAX_ANSWER_BYTES: usize = 16 * 1024;

tool_calls! {
    DbRequestAnswer => "db.request.answer",
    DbRequestCreate => "db.request.create",
    DbRequestGet => "db.request.get",
    DbRequestList => "db.request.list",
}

/// The fields of [`SubmitRequest`] that agents may set; the others are for people.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbRequestCreate {
    /// The id of the project; the caller's default project when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// The profile of the project, by name; an agent's own, or the default one of the project, when absent.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// What is wanted, in the words of the person.
    #[schemars(length(min = 1, max = MAX_REQUEST_BYTES))]
    pub text: String,
    /// The git repository to work on; that of the project when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<TaskRepository>,
    /// A name; derived from the text when absent.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The kind, if the person decided it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<WorkKind>,
    /// The scope, if the person decided it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<WorkScope>,
    /// What is delivered; `branch` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deliver: Option<DeliveryMode>,
    /// Whether it ends with its plan, before anything changes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Repeated calls with the same key create one request.
    #[schemars(length(min = 1, max = MAX_IDEMPOTENCY_KEY_BYTES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

impl DbRequestCreate {
    /// The submission, in the project that the call was checked for.
    pub fn into_submission(
        self,
        project: Option<ProjectId>,
        origin: RequestOrigin,
    ) -> SubmitRequest {
        let defaults = RequestSettings::default();
        let settings = RequestSettings {
            deliver: self.deliver.unwrap_or(defaults.deliver),
            dry_run: self.dry_run,
            ..defaults
        };
        SubmitRequest {
            text: self.text,
            origin: Some(origin),
            reference: None,
            labels: vec![],
            is_brief: false,
            repository: self.repository,
            project_repository: None,
            project: project.map(|project| project.to_string()),
            profile: self.profile,
            name: self.name,
            settings,
            kind: self.kind,
            scope: self.scope,
            force: false,
            idempotency_key: self.idempotency_key,
        }
    }
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbRequestGet {
    /// The id of the request, which is that of its task.
    pub task_id: TaskId,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
pub struct DbRequestList {
    /// The id of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// Only requests that are open, or that have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<bool>,
    /// Only requests that wait for a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waiting: bool,
    #[serde(flatten)]
    pub page: PageQuery,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbRequestAnswer {
    /// The id of the request, which is that of its task.
    pub task_id: TaskId,
    /// The form of the answer: one that the question accepts. `text` needs `text`.
    #[schemars(with = "String", extend("enum" = ["yes", "no", "text", "retry"]))]
    pub reply: ReplyForm,
    /// The answer in prose.
    #[schemars(length(min = 1, max = MAX_ANSWER_BYTES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The reason, in prose.
    #[schemars(length(max = MAX_COMMENT_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}
