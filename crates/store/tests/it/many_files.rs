//! An upload costs the same whatever is stored already.

use cynode_domain::ids::{JobId, ProjectId, UserId};
use cynode_store::{Artifact, Error, Store};
use cynode_testkit::{postgres_database, sqlite_database};

use crate::conformance::storage::{file, held};
use crate::opening::execute;
use crate::world::World;

const FILES: i64 = 50_000;

/// Stores a file as an upload does; returns how many statements that took.
async fn upload(store: &Store, new: Artifact, user: UserId, project: ProjectId) -> u64 {
    let counted = store.write(move |tx| {
        Box::pin(async move {
            let before = tx.statement_count();
            tx.artifact_put(&new).await?;
            tx.storage_held(user, Some(project)).await?;
            tx.blob_group_share("00").await?;
            Ok::<_, Error>(tx.statement_count() - before)
        })
    });
    counted.await.unwrap()
}

/// Adds many files to a task, without the store.
async fn add_files(url: &str, task: &str) {
    let (numbers, id) = if url.starts_with("sqlite:") {
        let numbers = "WITH RECURSIVE numbers (n) AS
            (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 50000)";
        (numbers, "printf('00000000-0000-7000-8000-%012x', n)")
    } else {
        let id = "CAST('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0') AS uuid)";
        ("WITH numbers AS (SELECT generate_series(1, 50000) AS n)", id)
    };
    let now = if url.starts_with("sqlite:") { "0" } else { "now()" };
    let sql = format!(
        "INSERT INTO task_artifacts {numbers} SELECT {id}, '{task}', NULL, 'output', 'f' || n, 5000, 'aa', {now}
         FROM numbers"
    );
    execute(url, &sql).await;
}

#[tokio::test]
async fn fifty_thousand_files_add_no_statement_to_an_upload() {
    for database in [sqlite_database(), postgres_database().await] {
        let world = World::new(Store::open(&database.url).await.unwrap()).await;
        let run = world.run("a").await;
        let (task, job): (_, JobId) = (run.task, world.job(&run, 0).await);
        let (user, project) = (world.user, world.project);
        let first = upload(&world.store, file(task, Some(job), "first", 1), user, project).await;
        add_files(&database.url, &task.to_string()).await;

        let last = upload(&world.store, file(task, Some(job), "last", 1), user, project).await;

        assert_eq!(last, first, "{}", database.url);
        let sum = FILES * 5000 + 2 * 4096;
        assert_eq!(held(&world, user, project).await, (sum, sum));
        let deleted = write_tx!(world.store, tx => tx.artifact_delete(task, None).await);
        assert_eq!((deleted.files, deleted.freed_bytes), (50_002, sum));
        assert_eq!(held(&world, user, project).await, (0, 0));
    }
}
