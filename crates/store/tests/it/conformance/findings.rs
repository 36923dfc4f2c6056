//! Tests of findings.

use cynode_domain::finding::{FindingAuthor, FindingStatus, Severity};
use cynode_domain::ids::{FindingId, JobId, TaskId, TokenId, UserId};
use cynode_domain::verification::VerificationKey;
use cynode_store::{FindingAuthorship, FindingSubject, Store, StoredFinding};

use crate::world::{World, at};

fn finding(task: TaskId, message: &str) -> StoredFinding {
    StoredFinding {
        id: FindingId::generate(),
        task,
        subject: FindingSubject::default(),
        status: FindingStatus::Fail,
        severity: Severity::Error,
        message: message.to_owned(),
        location: None,
        suggestion: None,
        authorship: FindingAuthorship {
            author: FindingAuthor::Rule,
            token: None,
            user: UserId::generate(),
        },
        verification: None,
        created_at: at(1),
    }
}

pub(crate) async fn a_finding_reads_back_as_it_was_written(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    let whole = StoredFinding {
        subject: FindingSubject {
            run: Some(run.id),
            job: Some(JobId::generate()),
            step_index: Some(3),
        },
        status: FindingStatus::NeedsClarification,
        severity: Severity::Info,
        location: Some("src/main.rs:7".to_owned()),
        suggestion: Some("ask".to_owned()),
        authorship: FindingAuthorship {
            author: FindingAuthor::Pa,
            token: Some(TokenId::generate()),
            user: UserId::generate(),
        },
        verification: Some(VerificationKey { run: run.id, job: JobId::generate(), round: 1 }),
        ..finding(run.task, "whole")
    };
    for row in [finding(run.task, "bare"), whole] {
        let written = row.clone();
        write_tx!(world.store, tx => tx.finding_insert(&written).await);
        assert_eq!(read_tx!(world.store, tx => tx.finding_get(row.id).await), Some(row));
    }
    let nothing = read_tx!(world.store, tx => tx.finding_get(FindingId::generate()).await);
    assert_eq!(nothing, None);
}

pub(crate) async fn findings_of_a_task_are_paged_newest_first(store: Store) {
    let world = World::new(store).await;
    let (task, other) = (world.task("a").await, world.task("b").await);
    for message in ["1", "2", "3"] {
        let (row, strange) = (finding(task, message), finding(other, message));
        write_tx!(world.store, tx => {
            tx.finding_insert(&row).await?;
            tx.finding_insert(&strange).await
        });
    }

    let page = read_tx!(world.store, tx => tx.finding_list(task, None, 2).await);
    let before = page[1].id;
    let rest = read_tx!(world.store, tx => tx.finding_list(task, Some(before), 2).await);

    let messages: Vec<_> = page.iter().chain(&rest).map(|finding| &*finding.message).collect();
    assert_eq!(messages, ["3", "2", "1"]);
    assert_eq!(read_tx!(world.store, tx => tx.finding_count(task).await), 3);
}
