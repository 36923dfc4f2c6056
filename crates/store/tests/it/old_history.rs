//! History of the first versions, which stored the full state in every row, can be read and resumed.

use std::sync::Arc;

use cynode_domain::ids::{HolderId, RunId, TaskId};
use cynode_store::{EventPayload, GraphVersionRange, LeaseToken, RunClaim, Store, TransitionWrite};
use cynode_testkit::{postgres_database, sqlite_database};
use cynode_workflow_state::changes::{Changes, StateRecord};
use serde_json::json;

use crate::opening::execute;

/// A running task whose runner died after its second transition. Ids are `…-<number>`; differences between the
/// dialects are replaced.
const ROWS: &str = "
    INSERT INTO users VALUES ('<1>', 'ada', true, true, <now>, <now>);
    INSERT INTO projects VALUES ('<2>', 'engine', 'Engine', '', '<1>', true, true, <now>, <now>);
    INSERT INTO tasks VALUES ('<3>', '<1>', '<2>', NULL, 'build', 'running', false, 'commands', '',
        '[]', '[]', '{\"expected_outputs\":[],\"limits\":{\"timeout_s\":60,\"memory_mib\":64,
        \"processes\":8,\"output_bytes\":1024,\"disk_mib\":16},\"retry_interrupted\":true,
        \"max_attempts\":3}', NULL, NULL, <now>, <now>, <now>, NULL);
    INSERT INTO runs VALUES ('<4>', '<3>', '<5>', 'running', true, <now>, <now>, NULL);
    INSERT INTO task_workflow_leases VALUES ('<6>', '<3>', '<4>', '<7>', '<8>', 3, <now>, <now>, <now>);
    INSERT INTO workflow_checkpoints VALUES ('<9>', '<3>', '<4>', '{\"at\":\"two\",\"n\":null}',
        'plan_steps', 'first_step', 2, <now>);
    INSERT INTO workflow_history VALUES ('<4>', 1, '<3>', 'load_task_context', 'loaded', NULL, NULL,
        '{\"at\":\"one\"}', 3, 12, <now>);
    INSERT INTO workflow_history VALUES ('<4>', 2, '<3>', 'plan_steps', 'first_step', NULL, NULL,
        '{\"at\":\"two\",\"n\":null}', 3, 12, <now>);
    CREATE TABLE schema_version (version bigint NOT NULL);
    INSERT INTO schema_version VALUES (1);";

fn id(number: u8) -> String {
    format!("00000000-0000-7000-8000-0000000000{number:02x}")
}

async fn old_database(url: &str) {
    let is_sqlite = url.starts_with("sqlite:");
    let schema = if is_sqlite {
        include_str!("../../migrations/sqlite/0001_init.sql")
    } else {
        include_str!("../../migrations/postgres/0001_init.sql")
    };
    let mut rows = ROWS.replace("<now>", if is_sqlite { "1700000000000000" } else { "now()" });
    for number in 1..=9 {
        rows = rows.replace(&format!("<{number}>"), &id(number));
    }
    execute(url, schema).await;
    execute(url, &rows).await;
}

#[tokio::test]
async fn a_run_with_whole_states_in_its_history_is_read_at_every_row_and_goes_on() {
    for database in [sqlite_database(), postgres_database().await] {
        old_database(&database.url).await;
        let store = Store::open(&database.url).await.unwrap();
        let (task, run): (TaskId, RunId) = (id(3).parse().unwrap(), id(4).parse().unwrap());

        let claim = RunClaim {
            holder: HolderId::generate(),
            lease_ms: 60_000,
            versions: GraphVersionRange { oldest: 1, newest: 1 },
            max: 1,
            started_event: "task.started",
        };
        let granted = store.run_claim(claim).await.unwrap();
        let lease = granted[0].lease;
        assert_eq!((lease.task, lease.run, lease.epoch), (task, run, 4));
        let checkpoint = read_tx!(store, tx => tx.checkpoint_get(task).await).unwrap();
        assert_eq!((checkpoint.sequence, checkpoint.last_node.as_str()), (2, "plan_steps"));
        assert_eq!(checkpoint.state, json!({ "at": "two", "n": null }));

        let set = [("at".to_owned(), json!("three"))].into();
        let third = TransitionWrite {
            lease: LeaseToken { task_id: task, lease_id: lease.id, epoch: lease.epoch },
            sequence: 3,
            node: "dispatch_step".to_owned(),
            edge: "dispatched".to_owned(),
            subject: (None, None),
            record: StateRecord::Changes(Changes { set, ..Changes::default() }),
            duration_ms: 1,
            lease_ms: None,
            event: EventPayload { kind: "workflow.transition", data: json!({}) },
            close: None,
        };
        assert!(store.transition(Arc::new(third)).await.unwrap().is_some());

        let expected = [
            json!({ "at": "one" }),
            json!({ "at": "two", "n": null }),
            json!({ "at": "three", "n": null }),
        ];
        for (sequence, expected) in (1..).zip(expected) {
            let state = read_tx!(store, tx => tx.state_at(run, sequence).await);
            assert_eq!(state, Some(expected));
        }
        let checkpoint = read_tx!(store, tx => tx.checkpoint_get(task).await).unwrap();
        assert_eq!(checkpoint.state, json!({ "at": "three", "n": null }));
        assert!(read_tx!(store, tx => tx.task_get(task).await).is_some());
    }
}
