//! The first start, and the ones after it.

use std::os::unix::fs::PermissionsExt;

use secrecy::ExposeSecret;

use crate::harness::{Harness, refused};

const SECRETS: [&str; 4] = ["admin.token", "admin.password", "runner.token", "node-join.token"];

fn contents(harness: &Harness) -> Vec<String> {
    SECRETS.iter().map(|file| harness.secret(file).expose_secret().to_owned()).collect()
}

pub(crate) async fn the_first_start_writes_secrets_that_only_their_owner_can_read(
    harness: Harness,
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

pub(crate) async fn a_second_start_keeps_the_secrets_and_the_work(harness: Harness) {
    let (before, task) = (contents(&harness), harness.task().await);

    let harness = harness.restart_with(|_| {}).await;

    assert_eq!(contents(&harness), before);
    assert_eq!(harness.admin().task_get(&task.id.to_string()).await.unwrap(), task);
    assert_eq!(harness.runner().claim(0).await.unwrap().hold.task_id, task.id);
}

/// As after a crash between writing the files and writing the database.
pub(crate) async fn secrets_without_a_database_are_replaced_by_working_ones(harness: Harness) {
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
    let harness = Harness::sqlite().await.restart_with(|options| options.database_url = None).await;
    harness.task().await;

    let metadata = std::fs::metadata(harness.data_dir().join("cynode.db")).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
}
