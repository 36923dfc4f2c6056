//! What verifications found about tasks.

use chrono::{DateTime, Utc};
use cynode_domain::finding::FindingAuthor;
use cynode_domain::ids::{FindingId, TaskId, TokenId};
use cynode_domain::verification::VerificationKey;
use cynode_runtime::clock::SharedClock;
use cynode_store::{
    EventStore, Finder, Finding, FindingPlace, FindingStore, JobStore, NewEvent, Store, Task, Tx,
    WorkflowStore,
};
use cynode_wire::findings::{CreateFinding, FindingView};
use cynode_wire::page::{Page, PageQuery};
use serde_json::json;

use crate::paging::PageRequest;
use crate::secrets::WithoutSecrets as _;
use crate::tasks::{self, TaskError};
use crate::{BadCursor, Caller};

const MAX_TEXT_CHARS: usize = 4000;
const MAX_LOCATION_CHARS: usize = 500;
const MAX_FINDINGS: i64 = 1000;

/// Why an operation on findings was refused.
#[derive(Debug, thiserror::Error)]
pub enum FindingError {
    /// There is no such finding of that task.
    #[error("there is no finding {0} of that task")]
    NotFound(FindingId),
    /// The request breaks rules; every one of them is named.
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    /// An analyst that was not asked for this verification.
    #[error("{0}")]
    NotVerifier(String),
    /// The task was not found.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The page asked for cannot be given.
    #[error(transparent)]
    Page(#[from] BadCursor),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// Who writes a finding, as the token says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// An agent or a person.
    pub author: FindingAuthor,
    /// The token.
    pub token: Option<TokenId>,
    /// The verification that the token was issued for.
    pub verification: Option<VerificationKey>,
}

/// Findings. Cheap to clone.
#[derive(Clone)]
pub struct Findings {
    store: Store,
    clock: SharedClock,
}

impl Findings {
    /// Findings kept in `store`.
    pub fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock }
    }

    /// Keeps a finding about a task, and tells of it. An analyst writes about the job that its token was
    /// issued to verify, and about nothing else.
    pub async fn create(
        &self,
        caller: &Caller,
        source: Source,
        task: &str,
        request: CreateFinding,
    ) -> Result<FindingView, FindingError> {
        check(&request)?;
        let (caller, task, now) = (caller.clone(), task.to_owned(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let task = tasks::find(tx, &caller, &task).await?;
                    let id = task.asked.id;
                    if room(tx, id).await? == 0 {
                        return Err(invalid(format!("a task has {MAX_FINDINGS} findings at most")));
                    }
                    let mut request = request;
                    let verification = verification(tx, id, &source, &mut request).await?;
                    let mut place = FindingPlace {
                        run: tx.run_of_task(id).await?.map(|run| run.id),
                        job: request.job_id,
                        step_index: request.step_index,
                    };
                    if let Some(job) = request.job_id {
                        let job = tx.job_get(job).await?.filter(|job| job.asked.task == id);
                        let job = job.ok_or_else(|| invalid("job_id is no job of that task"))?;
                        let verifying = verification.map(|key| key.run);
                        place.run = Some(verifying.unwrap_or(job.asked.run));
                        place.step_index = Some(job.asked.step_index);
                    }
                    let (author, token) = (source.author, source.token);
                    let by = Finder { author, token, user: caller.user };
                    let new = New { place, by, now, request, verification };
                    let finding = new.insert(tx, &task).await?;
                    Ok(view(finding))
                })
            })
            .await
    }

    /// A page of the findings of a task, newest first.
    pub async fn list(
        &self,
        caller: &Caller,
        task: &str,
        query: &PageQuery,
    ) -> Result<Page<FindingView>, FindingError> {
        let request = PageRequest::<FindingId>::check(query)?;
        let (before, fetch) = (request.before, request.fetch);
        let (caller, task) = (caller.clone(), task.to_owned());
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let task = tasks::find(tx, &caller, &task).await?.asked.id;
                    Ok::<_, FindingError>(tx.finding_list(task, before, fetch).await?)
                })
            })
            .await?;
        Ok(request.page(found, |finding| finding.id.to_string(), view))
    }

    /// A finding of a task.
    pub async fn get(
        &self,
        caller: &Caller,
        task: &str,
        id: FindingId,
    ) -> Result<FindingView, FindingError> {
        let (caller, task) = (caller.clone(), task.to_owned());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let task = tasks::find(tx, &caller, &task).await?.asked.id;
                    let found = tx.finding_get(id).await?.filter(|found| found.task == task);
                    found.map(view).ok_or(FindingError::NotFound(id))
                })
            })
            .await
    }
}

/// The verification that a finding decides: that of the analyst's token. Rejects an analyst whose token was
/// not issued for a verification of this job, or whose verification is over.
async fn verification(
    tx: &mut Tx,
    task: TaskId,
    source: &Source,
    request: &mut CreateFinding,
) -> Result<Option<VerificationKey>, FindingError> {
    if source.author != FindingAuthor::Pa {
        return Ok(None);
    }
    let rejected = |why: &str| {
        let rule =
            "only the analyst that the orchestrator started for a verification writes its findings";
        Err(FindingError::NotVerifier(format!("{why}: {rule}")))
    };
    let Some(key) = source.verification else {
        return rejected("this token was issued for no verification");
    };
    if request.job_id.is_some_and(|job| job != key.job) {
        return rejected(&format!("this token was issued to verify job {}", key.job));
    }
    let job = tx.job_get(key.job).await?.filter(|job| job.asked.task == task);
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

/// How many more findings a task may have.
pub(crate) async fn room(tx: &mut Tx, task: TaskId) -> Result<usize, cynode_store::Error> {
    let left = MAX_FINDINGS - tx.finding_count(task).await?;
    Ok(usize::try_from(left).unwrap_or(0))
}

/// A finding on its way into the record, whoever made it.
pub(crate) struct New {
    pub(crate) place: FindingPlace,
    pub(crate) by: Finder,
    pub(crate) now: DateTime<Utc>,
    pub(crate) request: CreateFinding,
    /// The verification whose verdict it decides.
    pub(crate) verification: Option<VerificationKey>,
}

impl New {
    /// Keeps it and tells of it, in one transaction.
    pub(crate) async fn insert(
        self,
        tx: &mut Tx,
        task: &Task,
    ) -> Result<Finding, cynode_store::Error> {
        let Self { place, by, now, request, verification } = self;
        let finding = Finding {
            id: FindingId::generate(),
            task: task.asked.id,
            place,
            status: request.status,
            severity: request.severity,
            message: request.message.without_secrets(),
            location: request.location.without_secrets(),
            suggestion: request.suggestion.without_secrets(),
            by,
            verification,
            created_at: now,
        };
        tx.finding_insert(&finding).await?;
        let data = json!({
            "finding_id": finding.id,
            "status": finding.status,
            "severity": finding.severity,
            "step_index": place.step_index,
            "by": finding.by.author,
        });
        let told = tasks::event(task, "finding.created", data);
        tx.event_append(&NewEvent { run: place.run, job: place.job, ..told }).await?;
        Ok(finding)
    }
}

fn check(request: &CreateFinding) -> Result<(), FindingError> {
    let mut faults = vec![];
    let texts = [
        ("message", Some(&request.message), MAX_TEXT_CHARS),
        ("suggestion", request.suggestion.as_ref(), MAX_TEXT_CHARS),
        ("location", request.location.as_ref(), MAX_LOCATION_CHARS),
    ];
    for (name, text, most) in texts {
        if text.is_some_and(|text| !(1..=most).contains(&text.trim().chars().count())) {
            faults.push(format!("{name} has 1 to {most} characters"));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(FindingError::Invalid(faults)) }
}

/// A text as a finding can keep it.
pub(crate) fn fit(text: &str) -> String {
    text.chars().filter(|c| *c != '\0').take(MAX_TEXT_CHARS).collect()
}

fn invalid(fault: impl Into<String>) -> FindingError {
    FindingError::Invalid(vec![fault.into()])
}

fn view(finding: Finding) -> FindingView {
    FindingView {
        id: finding.id,
        task_id: finding.task,
        run_id: finding.place.run,
        job_id: finding.place.job,
        step_index: finding.place.step_index,
        status: finding.status,
        severity: finding.severity,
        message: finding.message,
        location: finding.location,
        suggestion: finding.suggestion,
        agent_type: finding.by.author,
        token_id: finding.by.token,
        user_id: finding.by.user,
        created_at: finding.created_at,
    }
}
