//! Submission: a text becomes a request, or an answer that says what to do instead.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::git::{RepositoryUrl, UseProjectRepository};
use cynode_domain::ids::{ScheduleRunId, UserId};
use cynode_domain::plan::InputMode;
use cynode_domain::request::{
    Decided, DecisionAuthor, DeliveryMode, RequestOrigin, RequestSettings, RequestSource,
    RequestState,
};
use cynode_domain::status::{RequestPhase, TaskStatus};
use cynode_domain::text::truncate_chars;
use cynode_domain::visible_text::strip_invisible;
use cynode_execution::tasks::{CreationHook, TaskError, task_event};
use cynode_planning::assignment::is_known_agent;
use cynode_planning::intake::{MAX_SUBMISSION_BYTES, SubmissionFault, inspect};
use cynode_resources::Caller;
use cynode_resources::secrets::RedactSecrets as _;
use cynode_resources::signals::Topic;
use cynode_store::{Task, Tx, WorkRequest};
use cynode_wire::requests::{RequestView, SubmitRequest};
use cynode_wire::tasks::CreateTask;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::{RequestError, RequestService};

const MAX_REFERENCE_BYTES: usize = 2_000;
const MAX_LABELS: usize = 50;
const MAX_LABEL_BYTES: usize = 100;

impl RequestService {
    /// Accepts a request; its driver starts at once.
    pub async fn submit(
        &self,
        caller: &Caller,
        submission: SubmitRequest,
    ) -> Result<RequestView, RequestError> {
        self.submit_for_run(caller, submission, None).await
    }

    /// As [`Self::submit`], linked to a run of a schedule.
    pub(crate) async fn submit_for_run(
        &self,
        caller: &Caller,
        submission: SubmitRequest,
        schedule_run: Option<ScheduleRunId>,
    ) -> Result<RequestView, RequestError> {
        // Invisible characters count neither for the length nor as text.
        let submission = strip_invisible_text(submission);
        let faults = validate(&submission);
        if !faults.is_empty() {
            return Err(RequestError::Invalid(faults));
        }
        self.check_agent(submission.settings.agent.as_deref()).await?;
        let wanted = match &submission.repository {
            Some(_) => None,
            None => Some(submission.project_repository.clone().unwrap_or_default()),
        };
        let repository = self.find_repository(caller, &submission, wanted.clone()).await?;
        self.check_delivery(caller, &submission, &repository).await?;
        let text = submission.text.clone().redact_secrets();
        let text_sha256 = text_hash(&text, repository.as_str());
        let is_checked =
            !submission.force && (submission.idempotency_key.is_none() || schedule_run.is_some());
        let state = RequestState {
            kind: submission.kind.map(decided_by_person),
            scope: submission.scope.map(decided_by_person),
            ..RequestState::default()
        };
        let hook = NewRequest {
            source: RequestSource {
                origin: submission.origin.unwrap_or(RequestOrigin::Text),
                reference: submission.reference.redact_secrets(),
                labels: submission.labels,
                is_brief: submission.is_brief,
            },
            settings: submission.settings,
            state,
            text_sha256,
            rejects_duplicates_of: is_checked.then_some(caller.user),
            duplicate: OnceLock::new(),
            schedule_run,
            now: self.clock.now(),
        };
        let hook = Arc::new(hook);
        let request = CreateTask {
            input_mode: InputMode::Request,
            prompt: text,
            task_name: submission.name,
            project: submission.project,
            profile: submission.profile,
            repository: submission.repository,
            project_repository: wanted,
            idempotency_key: submission.idempotency_key,
            ..CreateTask::default()
        };
        let created = self.tasks.create_with_hook(caller, request, hook.clone()).await;
        let task = match (created, hook.duplicate.get()) {
            (Ok(task), _) => task,
            (Err(_), Some(name)) => return Err(RequestError::Duplicate { name: name.clone() }),
            (Err(error), None) => return Err(error.into()),
        };
        self.signals.send(Topic::Messages);
        self.get(caller, &task.id.into()).await
    }

    /// Rejects a pull request where no forge is set or no rule allows it.
    async fn check_delivery(
        &self,
        caller: &Caller,
        submission: &SubmitRequest,
        repository: &RepositoryUrl,
    ) -> Result<(), RequestError> {
        if submission.settings.deliver != DeliveryMode::PullRequest {
            return Ok(());
        }
        let project = self.find_project_id(caller, submission.project.as_deref()).await?;
        self.forges.check_pull_requests((caller.user, project), repository).await
    }

    /// The address of the repository that a submission names, or of that of a project.
    async fn find_repository(
        &self,
        caller: &Caller,
        submission: &SubmitRequest,
        wanted: Option<UseProjectRepository>,
    ) -> Result<RepositoryUrl, RequestError> {
        if let Some(repository) = &submission.repository {
            return Ok(repository.url.clone());
        }
        let (project, wanted) = (submission.project.as_deref(), wanted.unwrap_or_default());
        Ok(self.tasks.find_project_repository(caller, project, wanted).await?.url)
    }

    /// Rejects an agent that does not exist.
    async fn check_agent(&self, agent: Option<&str>) -> Result<(), RequestError> {
        let Some(name) = agent.filter(|name| !is_known_agent(name)) else { return Ok(()) };
        let wanted = name.to_owned();
        let found = self.store.read(move |tx| {
            Box::pin(async move { Ok::<_, RequestError>(tx.agent_profile_get(&wanted).await?) })
        });
        if found.await?.is_some() {
            return Ok(());
        }
        let name = truncate_chars(name, 100);
        let fault = format!("there is no agent \"{name}\"; `cynork agent profiles` lists them");
        Err(RequestError::Invalid(vec![fault]))
    }
}

/// The submission without characters that a reader does not see.
fn strip_invisible_text(submission: SubmitRequest) -> SubmitRequest {
    SubmitRequest {
        text: strip_invisible(&submission.text),
        reference: submission.reference.as_deref().map(strip_invisible),
        labels: submission.labels.iter().map(|label| strip_invisible(label)).collect(),
        ..submission
    }
}

fn decided_by_person<T>(value: T) -> Decided<T> {
    Decided { value, by: DecisionAuthor::Person, reason: "given with the request".to_owned() }
}

/// Every reason to reject a submission.
fn validate(submission: &SubmitRequest) -> Vec<String> {
    let mut faults = submission.settings.validation_errors();
    match inspect(&submission.text) {
        Some(SubmissionFault::Blank) => {
            faults.push("the request is empty: say what should be done".to_owned());
        }
        Some(SubmissionFault::TooLong { bytes }) => faults.push(format!(
            "the request has {bytes} bytes; allowed are {MAX_SUBMISSION_BYTES}: put details into a file of the repository and name it"
        )),
        Some(SubmissionFault::Question) if !submission.force => faults.push(
            "this is a question, not work: ask it with `cynork chat`, or submit it as work with --force".to_owned(),
        ),
        Some(SubmissionFault::SeveralRequests { requests }) if !submission.force => {
            let list: Vec<String> = requests.iter().take(5).map(|request| format!("\"{request}\"")).collect();
            faults.push(format!(
                "these are {} requests: submit each one for itself ({}), or all as one with --force",
                requests.len(),
                list.join(", ")
            ));
        }
        Some(SubmissionFault::Question | SubmissionFault::SeveralRequests { .. }) | None => {}
    }
    if submission.repository.is_some() && submission.project_repository.is_some() {
        faults.push(
            "repository and project_repository exclude each other: name a repository, or use that of a project".to_owned(),
        );
    }
    if submission.reference.as_ref().is_some_and(|text| text.len() > MAX_REFERENCE_BYTES) {
        faults.push(format!("reference is longer than {MAX_REFERENCE_BYTES} bytes"));
    }
    let is_long = |label: &String| label.len() > MAX_LABEL_BYTES;
    if submission.labels.len() > MAX_LABELS || submission.labels.iter().any(is_long) {
        faults.push(format!("labels: at most {MAX_LABELS} of {MAX_LABEL_BYTES} bytes"));
    }
    faults
}

/// Texts that differ in white space and case only are the same.
fn text_hash(text: &str, repository: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    hex::encode(Sha256::digest(format!("{repository}\n{}", words.join(" "))))
}

/// Inserts the request together with its task.
struct NewRequest {
    source: RequestSource,
    settings: RequestSettings,
    state: RequestState,
    text_sha256: String,
    /// The user whose open requests must not have the same text.
    rejects_duplicates_of: Option<UserId>,
    /// The request with the same text, if one was found.
    duplicate: OnceLock<String>,
    schedule_run: Option<ScheduleRunId>,
    now: DateTime<Utc>,
}

#[async_trait]
impl CreationHook for NewRequest {
    fn fingerprint(&self) -> Option<String> {
        let RequestState { kind, scope, .. } = &self.state;
        Some(json!([self.source, self.settings, kind, scope]).to_string())
    }

    /// Rejects a duplicate in the transaction that inserts the request, so that one of two submissions at once is rejected.
    async fn before(&self, tx: &mut Tx) -> Result<(), TaskError> {
        let Some(user) = self.rejects_duplicates_of else { return Ok(()) };
        tx.request_lock_text(&self.text_sha256).await?;
        let Some(known) = tx.request_find_duplicate(user, &self.text_sha256).await? else {
            return Ok(());
        };
        let name = tx.task_get(known).await?.map(|task| task.spec.name).unwrap_or_default();
        let _ = self.duplicate.set(name);
        Err(TaskError::Conflict)
    }

    async fn after(&self, tx: &mut Tx, task: &Task) -> Result<(), TaskError> {
        let request = WorkRequest {
            task: task.spec.id,
            phase: RequestPhase::Intake,
            source: self.source.clone(),
            settings: self.settings.clone(),
            state: self.state.clone(),
            question: None,
            asked_at: None,
            text_sha256: self.text_sha256.clone(),
            failures: 0,
            created_at: self.now,
            updated_at: self.now,
        };
        tx.request_insert(&request).await?;
        if let Some(run) = self.schedule_run {
            tx.scheduled_task_add(run, task.spec.id).await?;
        }
        tx.task_set_status(task.spec.id, TaskStatus::Running, None).await?;
        let data = json!({ "name": task.spec.name, "origin": self.source.origin });
        tx.event_append(&task_event(task, "request.submitted", data)).await?;
        Ok(())
    }
}
