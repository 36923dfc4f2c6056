//! Records of work: notes of jobs, findings, runs, and closing by owners.

use cynode_domain::finding::{FindingAuthor, FindingStatus, Severity};
use cynode_domain::ids::{FindingId, JobId};
use cynode_domain::status::{JobStatus, RunStatus, ShownTaskStatus};
use cynode_execution::TaskError;
use cynode_execution::{findings::FindingError, findings::Source};
use cynode_ops::memory::JobNoteError;
use cynode_resources::{Caller, Signals};
use cynode_runs::RunError;
use cynode_runs::Sweeper;
use cynode_wire::findings::CreateFinding;
use cynode_wire::memory::AddNote;
use cynode_wire::page::PageQuery;
use cynode_wire::runs::RunQuery;

use crate::catalogue::Catalogue;
use crate::engines::on_each_engine;

on_each_engine! {
    notes_last_as_long_as_their_job,
    a_job_notes_only_so_much,
    a_finding_says_who_found_what_about_which_step,
    runs_are_looked_back_at_by_those_who_see_their_task,
    a_task_is_ended_by_its_owner_but_completed_by_its_workflow_only,
    a_job_is_canceled_by_its_owner_and_reported_by_its_node_only,
}

fn finding(message: &str) -> CreateFinding {
    CreateFinding {
        status: FindingStatus::Fail,
        severity: Severity::Error,
        message: message.to_owned(),
        location: None,
        suggestion: None,
        step_index: None,
        job_id: None,
    }
}

fn of_task(fixture: &Catalogue) -> RunQuery {
    RunQuery { task: Some(fixture.task.id.to_string()), ..RunQuery::default() }
}

async fn notes_last_as_long_as_their_job() {
    let fixture = Catalogue::new().await;
    let (bob, job, page) = (fixture.bob(), fixture.job().await, PageQuery::default());
    let note = |key: &str, content: &str| AddNote {
        key: key.to_owned(),
        content: content.to_owned(),
        summary: Some("in short".to_owned()),
    };
    fixture.memory.add(bob, job, note("plan", "old")).await.unwrap();
    fixture.memory.add(bob, job, note("plan", "first wash")).await.unwrap();

    let kept = fixture.memory.get_note(bob, job, "plan").await.unwrap();
    let by_eve = fixture.memory.get_note(&fixture.eve, job, "plan").await;

    assert_eq!((kept.content.as_str(), kept.note.size_bytes), ("first wash", 10));
    assert!(matches!(by_eve, Err(JobNoteError::NoJob(_))));
    assert_eq!(fixture.memory.list(bob, job, &page).await.unwrap().items, [kept.note]);
    let gone = fixture.memory.remove(bob, job, "other").await;
    assert!(matches!(gone, Err(JobNoteError::NotFound(_))));

    fixture.close(job).await;
    let late = fixture.memory.add(bob, job, note("plan", "x")).await;
    assert!(matches!(late, Err(JobNoteError::Ended(_))));
    assert!(matches!(fixture.memory.list(bob, job, &page).await, Err(JobNoteError::Ended(_))));
    let (store, clock) = (fixture.world.store.clone(), fixture.world.clock.clone());
    let signals = Signals::new(store.engine());
    let sweeper = Sweeper::new(store.clone(), signals, fixture.world.accounts.clone(), clock);
    sweeper.sweep_once().await.unwrap();
    let left: Result<_, cynode_store::Error> =
        store.read(move |tx| Box::pin(async move { tx.note_list(job, None, 10).await })).await;
    assert_eq!(left.unwrap(), []);
}

async fn a_job_notes_only_so_much() {
    let fixture = Catalogue::new().await;
    let (bob, job) = (fixture.bob(), fixture.job().await);
    let note = |key: String, content: String| AddNote { key, content, summary: None };
    let full = "x".repeat(64 * 1024);

    let long = fixture.memory.add(bob, job, note("a".to_owned(), format!("{full}x"))).await;
    let nameless = fixture.memory.add(bob, job, note(String::new(), "x".to_owned())).await;
    for n in 0..16 {
        fixture.memory.add(bob, job, note(n.to_string(), full.clone())).await.unwrap();
    }
    let more = fixture.memory.add(bob, job, note("16".to_owned(), "x".to_owned())).await;

    for refused in [long, nameless, more] {
        assert!(matches!(refused, Err(JobNoteError::Invalid(_))));
    }
    let replaced = fixture.memory.add(bob, job, note("0".to_owned(), full)).await;
    assert!(replaced.is_ok(), "what is replaced does not count");
}

async fn a_finding_says_who_found_what_about_which_step() {
    let fixture = Catalogue::new().await;
    let (bob, task, job) = (fixture.bob(), fixture.task.id.to_string(), fixture.job().await);
    let source = Source { author: FindingAuthor::Pm, token: None, verification: None };
    let about_job = CreateFinding { job_id: Some(job), ..finding("no output") };

    let made =
        fixture.findings.create(bob, source, &task.as_str().into(), about_job).await.unwrap();
    let bare =
        fixture.findings.create(bob, source, &task.as_str().into(), finding("odd")).await.unwrap();
    let elsewhere = CreateFinding { job_id: Some(JobId::generate()), ..finding("x") };
    let elsewhere = fixture.findings.create(bob, source, &task.as_str().into(), elsewhere).await;
    let empty = fixture.findings.create(bob, source, &task.as_str().into(), finding(" ")).await;
    let by_eve =
        fixture.findings.create(&fixture.eve, source, &task.as_str().into(), finding("x")).await;

    assert_eq!((made.step_index, made.job_id), (Some(3), Some(job)));
    assert_eq!((made.agent_type, made.user_id), (FindingAuthor::Pm, bob.user));
    assert!(matches!(elsewhere, Err(FindingError::Invalid(_))));
    assert!(matches!(empty, Err(FindingError::Invalid(_))));
    assert!(matches!(by_eve, Err(FindingError::Task(TaskError::NotFound(_)))));
    let page = PageQuery { limit: Some(1), cursor: None };
    let page = fixture.findings.list(bob, &task.as_str().into(), &page).await.unwrap();
    assert_eq!(page.items, std::slice::from_ref(&bare));
    assert_eq!(page.next_cursor, Some(bare.id.to_string()));
    assert_eq!(fixture.findings.get(bob, &task.as_str().into(), made.id).await.unwrap(), made);
    let unknown = fixture.findings.get(bob, &task.as_str().into(), FindingId::generate()).await;
    assert!(matches!(unknown, Err(FindingError::NotFound(_))));
}

async fn runs_are_looked_back_at_by_those_who_see_their_task() {
    let fixture = Catalogue::new().await;
    let (bob, page) = (fixture.bob(), PageQuery::default());
    fixture.job().await;

    let runs = fixture.runs.list(bob, of_task(&fixture)).await.unwrap().items;

    assert_eq!(runs.len(), 2, "the one of the task, and the one of the job");
    assert_eq!(fixture.runs.get(bob, runs[0].id).await.unwrap(), runs[0]);
    assert_eq!(fixture.runs.history(bob, &runs[0].id.into(), &page).await.unwrap().items, []);
    let by_eve = fixture.runs.get(&fixture.eve, runs[0].id).await;
    assert!(matches!(by_eve, Err(RunError::NotFound(_))));
    assert!(fixture.runs.history(&fixture.eve, &runs[0].id.into(), &page).await.is_err());
    assert!(fixture.runs.list(&fixture.eve, of_task(&fixture)).await.is_err());
}

async fn a_task_is_ended_by_its_owner_but_completed_by_its_workflow_only() {
    let fixture = Catalogue::new().await;
    let (bob, task) = (fixture.bob(), fixture.task.id.to_string());
    let job = fixture.job().await;
    let set = async |who: &Caller, status: ShownTaskStatus| {
        fixture.tasks.set_status(who, &task.as_str().into(), status, Some("no longer wanted")).await
    };

    let completed = set(bob, ShownTaskStatus::Completed).await.unwrap_err();
    let by_eve = set(&fixture.eve, ShownTaskStatus::Failed).await;
    let same = set(bob, ShownTaskStatus::Queued).await.unwrap();
    let superseded = set(bob, ShownTaskStatus::Superseded).await.unwrap();
    let again = set(bob, ShownTaskStatus::Superseded).await.unwrap();
    let back = set(bob, ShownTaskStatus::Failed).await.unwrap_err();

    assert_eq!(
        completed.to_string(),
        "a queued task can be set to: failed, canceled, superseded; only its workflow sets completed"
    );
    assert!(matches!(by_eve, Err(TaskError::NotFound(_))));
    assert_eq!(same.status.as_str(), "queued");
    assert_eq!(superseded.summary.as_deref(), Some("superseded by bob: no longer wanted"));
    assert_eq!((again.status.as_str(), again.closed), ("superseded", true));
    assert!(matches!(back, TaskError::Closed { status: ShownTaskStatus::Superseded }));
    assert_eq!(fixture.tasks.job(bob, job).await.unwrap().status, JobStatus::Canceled);
    let runs = fixture.runs.list(bob, of_task(&fixture)).await.unwrap().items;
    assert_eq!(runs[0].status, RunStatus::Canceled);
}

async fn a_job_is_canceled_by_its_owner_and_reported_by_its_node_only() {
    let fixture = Catalogue::new().await;
    let (bob, job) = (fixture.bob(), fixture.job().await);
    let set = async |status: JobStatus| fixture.tasks.set_job_status(bob, job, status).await;

    let completed = set(JobStatus::Completed).await.unwrap_err();
    let by_eve = fixture.tasks.set_job_status(&fixture.eve, job, JobStatus::Canceled).await;
    let canceled = set(JobStatus::Canceled).await.unwrap();
    let again = set(JobStatus::Canceled).await.unwrap();
    let back = set(JobStatus::Failed).await.unwrap_err();

    assert_eq!(
        completed.to_string(),
        "a queued job can be set to: canceled; only its node sets completed"
    );
    assert!(matches!(by_eve, Err(TaskError::NotFound(_))));
    assert_eq!((canceled.status, again.status), (JobStatus::Canceled, JobStatus::Canceled));
    assert_eq!(back.to_string(), "the job is already canceled");
}
