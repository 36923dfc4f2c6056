//! The first start, and the ones after it.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use cynode_client::Client;
use cynode_orchestrator::{OrchestratorOptions, OrchestratorServer};
use cynode_runtime::clock::SystemClock;
use cynode_runtime::secret_file;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_testkit::postgres_database;
use futures_util::future::join_all;
use secrecy::ExposeSecret;

use crate::harness::{OrchestratorHarness, refused};

const SECRETS: [&str; 4] = ["admin.token", "admin.password", "runner.token", "node-join.token"];

fn contents(harness: &OrchestratorHarness) -> Vec<String> {
    SECRETS.iter().map(|file| harness.secret(file).expose_secret().to_owned()).collect()
}

pub(crate) async fn the_first_start_writes_secrets_that_only_their_owner_can_read(
    harness: OrchestratorHarness,
) {
    for file in SECRETS {
        let metadata = std::fs::metadata(harness.data_dir().join(file)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{file}");
    }
    let me = harness.admin().whoami().await.unwrap();
    assert_eq!((me.handle.as_str(), me.is_admin), ("admin", true));
    let password = harness.secret("admin.password");
    harness.sign_in("admin", password.expose_secret()).await.unwrap();
    let address = std::fs::read_to_string(harness.data_dir().join("orchestrator.addr")).unwrap();
    assert_eq!(format!("http://{address}"), harness.url());
}

pub(crate) async fn a_second_start_keeps_the_secrets_and_the_work(harness: OrchestratorHarness) {
    let (before, task) = (contents(&harness), harness.task().await);

    let harness = harness.restart_with(|_| {}).await;

    assert_eq!(contents(&harness), before);
    assert_eq!(harness.admin().task_get(&task.id.to_string()).await.unwrap(), task);
    assert_eq!(harness.runner().claim(0).await.unwrap().lease.task_id, task.id);
}

/// As after a crash between writing the files and writing the database.
pub(crate) async fn secrets_without_a_database_are_replaced_by_working_ones(
    harness: OrchestratorHarness,
) {
    let before = contents(&harness);

    let harness = harness.restart_without_database().await;

    let after = contents(&harness);
    assert_ne!((&before[0], &before[1]), (&after[0], &after[1]));
    assert_eq!(before[2..], after[2..]);
    harness.admin().whoami().await.unwrap();
    harness.sign_in("admin", &after[1]).await.unwrap();
    refused(harness.client(before[0].clone()).whoami().await, 401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_embedded_database_can_be_read_by_its_owner_only() {
    let harness = OrchestratorHarness::sqlite()
        .await
        .restart_with(|options| options.database_url = None)
        .await;
    harness.task().await;

    let metadata = std::fs::metadata(harness.data_dir().join("cynode.db")).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
}

/// As three machines that are set up at once. Each has files of its own, or they share them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_orchestrators_that_start_at_once_on_an_empty_database_all_serve() {
    for shares_files in [false, true] {
        let database = postgres_database().await;
        let shared = Arc::new(tempfile::tempdir().unwrap());
        let mut starts = vec![];
        for _ in 0..3 {
            let data_dir = if shares_files {
                Arc::clone(&shared)
            } else {
                Arc::new(tempfile::tempdir().unwrap())
            };
            let url = database.url.clone();
            starts.push(async move {
                let options = OrchestratorOptions {
                    listen: "127.0.0.1:0".to_owned(),
                    database_url: Some(url),
                    ..OrchestratorOptions::default()
                };
                let started =
                    OrchestratorServer::start(&options, data_dir.path(), Arc::new(SystemClock))
                        .await;
                (started, data_dir)
            });
        }

        let started = join_all(starts).await;

        let mut tokens = vec![];
        let (stop, tasks) = (Shutdown::new(), BackgroundTasks::new());
        let mut urls = vec![];
        for (orchestrator, data_dir) in &started {
            assert!(orchestrator.is_ok(), "{:#}", orchestrator.as_ref().err().unwrap());
            tokens.extend(secret_file::read(data_dir.path().join("admin.token")).ok());
        }
        for (orchestrator, _data_dir) in started {
            let (orchestrator, stop) = (orchestrator.unwrap(), stop.clone());
            urls.push(format!("http://{}", orchestrator.address()));
            tasks.spawn("orchestrator", async move { orchestrator.serve(stop).await });
        }
        // One of them created the administrator, and only its files contain the credentials.
        assert_eq!(tokens.len(), if shares_files { 3 } else { 1 });
        for (url, token) in urls.iter().zip(tokens.iter().cycle()) {
            Client::new(url, token.clone()).unwrap().whoami().await.unwrap();
        }
        stop.trigger();
        tasks.finish(std::time::Duration::from_mins(1)).await;
    }
}
