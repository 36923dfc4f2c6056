//! Findings of verifications about tasks.

use chrono::{DateTime, Utc};
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::finding::FindingAuthor;
use cynode_domain::ids::{FindingId, TaskId, TokenId};
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::verification::VerificationKey;
use cynode_runtime::clock::SharedClock;
use cynode_store::{FindingAuthorship, FindingSubject, NewEvent, Store, StoredFinding, Task, Tx};
use cynode_wire::findings::{CreateFinding, FindingView, MAX_LOCATION_CHARS, MAX_TEXT_CHARS};
use cynode_wire::page::{Page, PageQuery};
use serde_json::json;

use crate::{tasks, tasks::TaskError};
use cynode_resources::paging::PageRequest;
use cynode_resources::secrets::RedactSecrets as _;
use cynode_resources::{Caller, PageError};

const MAX_FINDINGS: i64 = 1000;

/// Why an operation on findings was rejected.
#[derive(Debug, thiserror::Error)]
pub enum FindingError {
    #[error("there is no finding {0} of that task")]
    NotFound(FindingId),
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    /// The token of the analyst was not issued for this verification.
    #[error("{0}")]
    NotVerifier(String),
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for FindingError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound(_) => Classification::new(ErrorClass::NotFound, self),
            Self::Invalid(faults) => Classification::invalid(self, faults),
            Self::NotVerifier(_) => Classification::new(ErrorClass::Forbidden, self),
            Self::Task(error) => error.classify(),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// The author of a finding, from the token of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    pub author: FindingAuthor,
    pub token: Option<TokenId>,
    /// The verification for which the token was issued.
    pub verification: Option<VerificationKey>,
}

/// Findings. Cheap to clone.
#[derive(Clone)]
pub struct FindingService {
    store: Store,
    clock: SharedClock,
}

impl FindingService {
    /// Creates the service.
    pub fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock }
    }

    /// Persists a finding about a task and appends an event. An analyst may only write about the job that its token
    /// was issued to verify.
    pub async fn create(
        &self,
        caller: &Caller,
        source: Source,
        task: &NameOrId<TaskId>,
        request: CreateFinding,
    ) -> Result<FindingView, FindingError> {
        validate_finding(&request)?;
        let (caller, task, now) = (caller.clone(), task.to_owned(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let task = tasks::find(tx, &caller, &task).await?;
                    let id = task.spec.id;
                    if remaining_findings(tx, id).await? == 0 {
                        return Err(invalid_finding(format!(
                            "a task may not have more than {MAX_FINDINGS} findings"
                        )));
                    }
                    let mut request = request;
                    let verification = require_verification(tx, id, &source, &mut request).await?;
                    let mut subject = FindingSubject {
                        run: tx.run_of_task(id).await?.map(|run| run.id),
                        job: request.job_id,
                        step_index: request.step_index,
                    };
                    if let Some(job) = request.job_id {
                        let job = tx.job_get(job).await?.filter(|job| job.spec.task == id);
                        let job =
                            job.ok_or_else(|| invalid_finding("job_id is not a job of that task"))?;
                        let verifying = verification.map(|key| key.run);
                        subject.run = Some(verifying.unwrap_or(job.spec.run));
                        subject.step_index = Some(job.spec.step_index);
                    }
                    let (author, token) = (source.author, source.token);
                    let by = FindingAuthorship { author, token, user: caller.user };
                    let new = FindingDraft { subject, by, now, request, verification };
                    let finding = new.insert(tx, &task).await?;
                    Ok(finding_view(finding))
                })
            })
            .await
    }

    /// Returns a page of the findings of a task, newest first.
    pub async fn list(
        &self,
        caller: &Caller,
        task: &NameOrId<TaskId>,
        query: &PageQuery,
    ) -> Result<Page<FindingView>, FindingError> {
        let request = PageRequest::<FindingId>::parse(query)?;
        let (before, fetch) = (request.before, request.fetch);
        let (caller, task) = (caller.clone(), task.to_owned());
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let task = tasks::find(tx, &caller, &task).await?.spec.id;
                    Ok::<_, FindingError>(tx.finding_list(task, before, fetch).await?)
                })
            })
            .await?;
        Ok(request.page(found, |finding| finding.id.to_string(), finding_view))
    }

    /// Returns a finding of a task.
    pub async fn get(
        &self,
        caller: &Caller,
        task: &NameOrId<TaskId>,
        id: FindingId,
    ) -> Result<FindingView, FindingError> {
        let (caller, task) = (caller.clone(), task.to_owned());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let task = tasks::find(tx, &caller, &task).await?.spec.id;
                    let found = tx.finding_get(id).await?.filter(|found| found.task == task);
                    found.map(finding_view).ok_or(FindingError::NotFound(id))
                })
            })
            .await
    }
}

/// Returns the verification of the analyst's token. Rejects an analyst whose token was not issued for a verification of
/// this job, or whose verification has ended.
async fn require_verification(
    tx: &mut Tx,
    task: TaskId,
    source: &Source,
    request: &mut CreateFinding,
) -> Result<Option<VerificationKey>, FindingError> {
    if source.author != FindingAuthor::Pa {
        return Ok(None);
    }
    let rejected = |why: &str| {
        let rule = "only the analyst that the orchestrator started for a verification may write its findings";
        Err(FindingError::NotVerifier(format!("{why}: {rule}")))
    };
    let Some(key) = source.verification else {
        return rejected("this token was issued for no verification");
    };
    if request.job_id.is_some_and(|job| job != key.job) {
        return rejected(&format!("this token was issued to verify job {}", key.job));
    }
    let job = tx.job_get(key.job).await?.filter(|job| job.spec.task == task);
    let Some(job) = job else {
        return rejected("this token was issued to verify a job of another task");
    };
    if !job.status.is_terminal() {
        return rejected(&format!("job {} has not ended", key.job));
    }
    if tx.run_of_task(task).await?.is_none_or(|run| run.id != key.run) {
        return rejected(&format!("run {} is no longer the run of the task", key.run));
    }
    request.job_id = Some(key.job);
    Ok(Some(key))
}

/// Counts how many more findings a task may have.
pub async fn remaining_findings(tx: &mut Tx, task: TaskId) -> Result<usize, cynode_store::Error> {
    let left = MAX_FINDINGS - tx.finding_count(task).await?;
    Ok(usize::try_from(left).unwrap_or(0))
}

/// A finding to insert, of any author.
pub(crate) struct FindingDraft {
    pub subject: FindingSubject,
    pub by: FindingAuthorship,
    pub now: DateTime<Utc>,
    pub request: CreateFinding,
    /// The verification in whose verdict it counts.
    pub verification: Option<VerificationKey>,
}

impl FindingDraft {
    /// Inserts the finding and its event.
    pub(crate) async fn insert(
        self,
        tx: &mut Tx,
        task: &Task,
    ) -> Result<StoredFinding, cynode_store::Error> {
        let Self { subject, by, now, request, verification } = self;
        let finding = StoredFinding {
            id: FindingId::generate(),
            task: task.spec.id,
            subject,
            status: request.status,
            severity: request.severity,
            message: request.message.redact_secrets(),
            location: request.location.redact_secrets(),
            suggestion: request.suggestion.redact_secrets(),
            authorship: by,
            verification,
            created_at: now,
        };
        tx.finding_insert(&finding).await?;
        let data = json!({
            "finding_id": finding.id,
            "status": finding.status,
            "severity": finding.severity,
            "step_index": subject.step_index,
            "by": finding.authorship.author,
        });
        let event = tasks::task_event(task, "finding.created", data);
        tx.event_append(&NewEvent { run: subject.run, job: subject.job, ..event }).await?;
        Ok(finding)
    }
}

fn validate_finding(request: &CreateFinding) -> Result<(), FindingError> {
    let mut faults = vec![];
    let texts = [
        ("message", Some(&request.message), MAX_TEXT_CHARS),
        ("suggestion", request.suggestion.as_ref(), MAX_TEXT_CHARS),
        ("location", request.location.as_ref(), MAX_LOCATION_CHARS),
    ];
    for (name, text, most) in texts {
        if text.is_some_and(|text| !(1..=most).contains(&text.trim().chars().count())) {
            faults.push(format!("{name} needs 1 to {most} characters"));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(FindingError::Invalid(faults)) }
}

/// Removes NUL characters and truncates a text to the limit of a finding.
pub fn sanitize_finding_text(text: &str) -> String {
    text.chars().filter(|c| *c != '\0').take(MAX_TEXT_CHARS).collect()
}

fn invalid_finding(fault: impl Into<String>) -> FindingError {
    FindingError::Invalid(vec![fault.into()])
}

fn finding_view(finding: StoredFinding) -> FindingView {
    FindingView {
        id: finding.id,
        task_id: finding.task,
        run_id: finding.subject.run,
        job_id: finding.subject.job,
        step_index: finding.subject.step_index,
        status: finding.status,
        severity: finding.severity,
        message: finding.message,
        location: finding.location,
        suggestion: finding.suggestion,
        agent_type: finding.authorship.author,
        token_id: finding.authorship.token,
        user_id: finding.authorship.user,
        created_at: finding.created_at,
    }
}
