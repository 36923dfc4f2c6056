//! Analysts started by the orchestrator through a scripted launcher.

mod deaths;

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cynode_analysts::{
    AnalystLaunchError, AnalystLauncher, AnalystOptions, AnalystRequestError, AnalystService,
};
use cynode_blobs::BlobStore;
use cynode_domain::ids::{ArtifactId, JobId};
use cynode_execution::ArtifactService;
use cynode_execution::{
    handoff::HandoffOptions, handoff::HandoffService, handoff::NoProjectManager,
    handoff::ProjectManager,
};
use cynode_resources::Signals;
use cynode_resources::agents::AgentTokenError;
use cynode_store::Artifact;
use cynode_wire::artifacts::ArtifactKind;
use cynode_wire::git::{CHANGES_FILE, PATCH_FILE, changes_path};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::catalogue::Catalogue;
use crate::engines::on_each_engine;

on_each_engine! {
    an_analyst_is_given_the_prose_the_evidence_and_a_token_for_one_task_that_ends_with_it,
    an_analyst_is_given_the_changes_that_were_collected_after_its_job_alone,
    no_more_analysts_work_at_once_than_allowed,
    asking_twice_for_an_analyst_is_asking_once,
    a_fault_while_an_analyst_works_keeps_no_other_from_looking,
    there_are_no_analysts_where_they_are_off_for_others_jobs_or_for_work_that_goes_on,
}

/// Records the input of analysts, and lets each run until it may end.
struct ScriptedAnalystLauncher {
    given: Mutex<Vec<Value>>,
    working: AtomicUsize,
    most: AtomicUsize,
    may_end: Semaphore,
    ended: AtomicUsize,
    /// Whether the next one panics.
    panics: AtomicBool,
    /// How many of the next ones are killed.
    dies: AtomicUsize,
}

#[async_trait]
impl AnalystLauncher for ScriptedAnalystLauncher {
    async fn launch(&self, handoff: Value, _: Duration) -> Result<Value, AnalystLaunchError> {
        self.given.lock().unwrap().push(handoff);
        if self.dies.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok()
        {
            return Err(AnalystLaunchError::Died("it ended with signal: 9 (SIGKILL)".to_owned()));
        }
        assert!(!self.panics.swap(false, Ordering::SeqCst), "a fault of ours");
        let now = self.working.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        self.may_end.acquire().await.unwrap().forget();
        self.working.fetch_sub(1, Ordering::SeqCst);
        self.ended.fetch_add(1, Ordering::SeqCst);
        Ok(json!({ "status": "pass", "findings": [] }))
    }
}

struct AnalystProcessFixture {
    fixture: Catalogue,
    launcher: Arc<ScriptedAnalystLauncher>,
    analysts: AnalystService,
}

impl AnalystProcessFixture {
    async fn with(options: AnalystOptions) -> Self {
        Self::new(options, Arc::new(NoProjectManager)).await
    }

    async fn new(options: AnalystOptions, manager: Arc<dyn ProjectManager>) -> Self {
        let mut fixture = Catalogue::new().await;
        let requests = json!({
            "input_mode": "commands", "commands": ["true"],
            "acceptance_criteria": [
                { "kind": "exit_code", "equals": 0 },
                { "kind": "text", "description": "it reads well" },
            ],
        });
        let requests = serde_json::from_value(requests).unwrap();
        fixture.task = fixture.tasks.create(fixture.bob(), requests).await.unwrap();
        let (store, clock) = (fixture.world.store.clone(), fixture.world.clock.clone());
        let signals = Signals::new(store.engine());
        let handoffs = HandoffService::new(
            store.clone(),
            clock,
            signals.clone(),
            manager,
            HandoffOptions::default(),
        );
        let launcher = Arc::new(ScriptedAnalystLauncher {
            given: Mutex::default(),
            working: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            may_end: Semaphore::new(0),
            ended: AtomicUsize::new(0),
            panics: AtomicBool::new(false),
            dies: AtomicUsize::new(0),
        });
        let artifacts = ArtifactService::new(
            store.clone(),
            fixture.world.clock.clone(),
            BlobStore::new(fixture.world.data.path().join("blobs")),
        );
        let analysts = AnalystService::new(store, signals, handoffs, launcher.clone(), options)
            .with_artifacts(artifacts);
        Self { fixture, launcher, analysts }
    }

    /// A job of the task that has ended.
    async fn job(&self) -> JobId {
        let job = self.fixture.job().await;
        self.fixture.close(job).await;
        job
    }

    /// Stores changes as a worker node uploads them after a job.
    async fn store_changes(&self, job: JobId, files: usize, patch: &str) {
        let paths = (0..files).map(|number| format!("src/{number}.rs"));
        let files: Vec<Value> = paths
            .map(|path| json!({ "path": path, "status": "modified", "added": 2, "deleted": 1 }))
            .collect();
        let finding = json!({ "severity": "block", "rule": "secret", "message": "a key" });
        let changes = json!({
            "url": "https://example.com/app", "branch": "cynode/fix",
            "base": "a".repeat(40), "head": "b".repeat(40),
            "commits": [{ "commit": "b".repeat(40), "author": "Ada", "subject": "mend" }],
            "files": files, "findings": [finding],
        });
        let blobs = BlobStore::new(self.fixture.world.data.path().join("blobs"));
        for (file, text) in [(PATCH_FILE, patch.to_owned()), (CHANGES_FILE, changes.to_string())] {
            let chunk = Ok::<_, Infallible>(text.into());
            let content = blobs.stage(futures_util::stream::iter([chunk]), 1 << 20).await.unwrap();
            let artifact = Artifact {
                id: ArtifactId::generate(),
                task: self.fixture.task.id,
                job: None,
                kind: ArtifactKind::Changes.as_str().to_owned(),
                path: changes_path(job, file),
                size_bytes: content.size_bytes,
                sha256: content.sha256.clone(),
                created_at: chrono::DateTime::UNIX_EPOCH,
            };
            content.place().unwrap();
            let stored: Result<_, cynode_store::Error> = self
                .fixture
                .world
                .store
                .write(move |tx| Box::pin(async move { tx.artifact_put(&artifact).await }))
                .await;
            stored.unwrap();
        }
    }

    async fn until(&self, count: usize, of: impl Fn(&ScriptedAnalystLauncher) -> usize) {
        while of(&self.launcher) < count {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

async fn an_analyst_is_given_the_prose_the_evidence_and_a_token_for_one_task_that_ends_with_it() {
    let verified = AnalystProcessFixture::with(AnalystOptions::default()).await;
    let job = verified.job().await;

    verified.analysts.request(verified.fixture.bob(), job).await.unwrap();
    verified.until(1, |it| it.given.lock().unwrap().len()).await;

    let given = verified.launcher.given.lock().unwrap()[0].clone();
    let token = given["context"]["agent_token"].as_str().unwrap().to_owned();
    let agents = &verified.fixture.world.agents;
    let identity = agents.authenticate(&token).await.unwrap();
    assert!(token.starts_with("cyn_pa_"));
    assert_eq!(identity.task, Some(verified.fixture.task.id));
    assert_eq!(identity.user, verified.fixture.bob().user);
    let verification = identity.origin.verification.unwrap();
    assert_eq!((verification.job, Some(verification.run)), (job, identity.run));
    assert_eq!(given["body"]["criteria"], json!(["it reads well"]));
    assert_eq!(given["body"]["job_id"], json!(job));
    verified.launcher.may_end.add_permits(1);
    while !matches!(agents.authenticate(&token).await, Err(AgentTokenError::BadToken)) {
        tokio::task::yield_now().await;
    }
}

async fn an_analyst_is_given_the_changes_that_were_collected_after_its_job_alone() {
    let options = AnalystOptions { max: 1, ..AnalystOptions::default() };
    let verified = AnalystProcessFixture::with(options).await;
    let (first, second, third) = (verified.job().await, verified.job().await, verified.job().await);
    verified.store_changes(first, 203, &"+first\n".repeat(10_000)).await;
    verified.store_changes(second, 1, "+second\n").await;
    verified.launcher.may_end.add_permits(3);

    for (count, job) in [first, second, third].into_iter().enumerate() {
        verified.analysts.request(verified.fixture.bob(), job).await.unwrap();
        verified.until(count + 1, |it| it.ended.load(Ordering::SeqCst)).await;
    }

    let given = verified.launcher.given.lock().unwrap().clone();
    let changes: Vec<_> = given.iter().map(|given| &given["body"]["changes"]).collect();
    let patch = changes[0]["patch"].as_str().unwrap();
    assert!(patch.starts_with("+first\n") && patch.len() == 16 * 1024, "{}", patch.len());
    assert_eq!(changes[0]["is_truncated"], true);
    assert_eq!(changes[0]["files"].as_array().unwrap().len(), 200);
    assert_eq!(changes[0]["omitted_files"], 3);
    assert_eq!(
        (&changes[1]["patch"], &changes[1]["is_truncated"]),
        (&json!("+second\n"), &json!(false))
    );
    assert_eq!(changes[1]["files"][0]["added"], 2);
    assert_eq!(changes[1]["findings"][0]["rule"], "secret");
    assert_eq!(*changes[2], Value::Null, "changes of other jobs are no evidence");
}

async fn no_more_analysts_work_at_once_than_allowed() {
    let options = AnalystOptions { max: 1, ..AnalystOptions::default() };
    let verified = AnalystProcessFixture::with(options).await;
    for _ in 0..3 {
        let job = verified.job().await;
        verified.analysts.request(verified.fixture.bob(), job).await.unwrap();
    }

    verified.launcher.may_end.add_permits(3);
    verified.until(3, |it| it.ended.load(Ordering::SeqCst)).await;

    assert_eq!(verified.launcher.most.load(Ordering::SeqCst), 1);
}

async fn asking_twice_for_an_analyst_is_asking_once() {
    let verified = AnalystProcessFixture::with(AnalystOptions::default()).await;
    let job = verified.job().await;

    for _ in 0..2 {
        verified.analysts.request(verified.fixture.bob(), job).await.unwrap();
    }
    verified.launcher.may_end.add_permits(2);
    verified.until(1, |it| it.ended.load(Ordering::SeqCst)).await;

    assert_eq!(verified.launcher.given.lock().unwrap().len(), 1);
}

async fn a_fault_while_an_analyst_works_keeps_no_other_from_looking() {
    let verified =
        AnalystProcessFixture::with(AnalystOptions { max: 1, ..AnalystOptions::default() }).await;
    verified.launcher.panics.store(true, Ordering::SeqCst);
    verified.launcher.may_end.add_permits(1);
    let job = verified.job().await;

    while verified.launcher.ended.load(Ordering::SeqCst) == 0 {
        verified.analysts.request(verified.fixture.bob(), job).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    assert!(verified.launcher.given.lock().unwrap().len() > 1);
}

async fn there_are_no_analysts_where_they_are_off_for_others_jobs_or_for_work_that_goes_on() {
    let off = AnalystOptions { is_enabled: false, ..AnalystOptions::default() };
    let off = AnalystProcessFixture::with(off).await;
    let on = AnalystProcessFixture::with(AnalystOptions::default()).await;
    let (ended, open) = (on.job().await, on.fixture.job().await);

    let refused = off.analysts.request(off.fixture.bob(), off.job().await).await.unwrap_err();
    assert!(matches!(refused, AnalystRequestError::Disabled), "{refused}");
    let refused = on.analysts.request(&on.fixture.eve, ended).await.unwrap_err();
    assert!(matches!(refused, AnalystRequestError::NoJob), "{refused}");
    let refused = on.analysts.request(on.fixture.bob(), open).await.unwrap_err();
    assert!(matches!(refused, AnalystRequestError::NothingToJudge(_)), "{refused}");
    assert!(on.launcher.given.lock().unwrap().is_empty());
}
