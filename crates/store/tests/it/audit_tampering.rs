//! Changes of the audit log by anything but its writer are detected.

use cynode_domain::ids::ChainId;
use cynode_store::{Store, verify};
use cynode_testkit::{TestDatabase, postgres_database, sqlite_database};

use crate::conformance::audit::{call, denied, open_writer, success};
use crate::opening::execute;

const CALLS: &str = "mcp_tool_call_audit_log";
const OUTCOMES: &str = "mcp_tool_call_outcomes";

/// A log of twelve records: calls at odd positions, outcomes at even ones, denials at the end.
async fn log(database: &TestDatabase, chain: ChainId) -> Store {
    let store = Store::open(&database.url).await.unwrap();
    let lane = open_writer(&store, chain).await;
    for number in 0..5 {
        let made = call(number);
        lane.call(made.clone()).await.unwrap();
        lane.record_outcome(success(made.id)).await.unwrap();
    }
    lane.call(denied(6)).await.unwrap();
    lane.call(denied(7)).await.unwrap();
    store
}

async fn faults(store: &Store) -> Vec<String> {
    verify(store).await.unwrap().into_iter().flat_map(|report| report.faults).collect()
}

/// The faults that a verification reports after `sql` was executed, on each engine.
async fn faults_after(sql: &str) -> [Vec<String>; 2] {
    let mut reported = vec![];
    for database in [sqlite_database(), postgres_database().await] {
        let store = log(&database, ChainId::generate()).await;
        assert_eq!(faults(&store).await, Vec::<String>::new());
        execute(&database.url, sql).await;
        reported.push(faults(&store).await);
    }
    reported.try_into().unwrap()
}

#[tokio::test]
async fn an_edited_audit_record_is_found_whichever_column_was_edited() {
    let edits = [
        ("tool_name = 'help.get'", 3),
        ("decision = 'deny'", 3),
        ("decision = 'nonsense'", 3),
        ("agent_type = 'pa'", 5),
        ("user_id = NULL", 5),
        ("task_id = NULL", 5),
        ("group_ids = '[\"00000000-0000-0000-0000-000000000000\"]'", 7),
        ("role_names = '[]'", 7),
        ("status = 'success'", 9),
        ("error_type = ''", 9),
        ("duration_ms = 1", 11),
        ("origin = 'elsewhere'", 11),
        ("stage = 'scope'", 12),
        ("request_id = 'another'", 12),
    ];
    for database in [sqlite_database(), postgres_database().await] {
        for (edit, seq) in edits {
            let chain = ChainId::generate();
            let store = log(&database, chain).await;
            let sql =
                format!("UPDATE {CALLS} SET {edit} WHERE chain_id = '{chain}' AND seq = {seq}");
            execute(&database.url, &sql).await;

            let reports = verify(&store).await.unwrap();

            let report = reports.iter().find(|report| report.chain == chain).unwrap();
            let expected = format!("record {seq} was edited");
            assert!(
                report.faults.len() == 1 && report.faults[0].contains(&expected),
                "{edit}: {:?}",
                report.faults
            );
        }
    }
}

#[tokio::test]
async fn an_edited_outcome_is_found() {
    for reported in
        faults_after(&format!("UPDATE {OUTCOMES} SET status = 'error' WHERE seq = 4")).await
    {
        assert_eq!(reported, ["record 4 was edited: its hash does not fit"]);
    }
}

#[tokio::test]
async fn a_missing_audit_record_is_found() {
    for reported in faults_after(&format!("DELETE FROM {CALLS} WHERE seq = 5")).await {
        assert_eq!(reported, ["records 5 to 5 are missing"]);
    }
    for reported in faults_after(&format!("DELETE FROM {OUTCOMES} WHERE seq = 6")).await {
        assert_eq!(reported, ["records 6 to 6 are missing"]);
    }
}

#[tokio::test]
async fn records_cut_off_at_either_end_are_found() {
    for reported in faults_after(&format!("DELETE FROM {CALLS} WHERE seq >= 11")).await {
        assert_eq!(reported, ["records 11 to 12 are missing"]);
    }
    for reported in faults_after(&format!("DELETE FROM {CALLS} WHERE seq = 1")).await {
        assert_eq!(reported, ["records 1 to 1 are missing"]);
    }
}

#[tokio::test]
async fn reordered_audit_records_are_found() {
    let swap = format!(
        "UPDATE {CALLS} SET seq = 99 WHERE seq = 11; UPDATE {CALLS} SET seq = 11 WHERE seq = 12;
         UPDATE {CALLS} SET seq = 12 WHERE seq = 99;"
    );
    for reported in faults_after(&swap).await {
        assert_eq!(
            reported[..2],
            [
                "record 11 was edited: its hash does not fit",
                "record 12 was edited: its hash does not fit"
            ]
        );
    }
}

#[tokio::test]
async fn an_inserted_audit_record_is_found() {
    let copy = |seq: i64| {
        format!(
            "INSERT INTO {OUTCOMES} SELECT '00000000-0000-0000-0000-000000000007', chain_id, {seq},
             status, error_type, duration_ms, recorded_at, prev_hash, hash
             FROM {OUTCOMES} WHERE seq = 2"
        )
    };
    // At the position of a call, and after the end.
    for reported in faults_after(&copy(3)).await {
        assert!(
            reported.iter().any(|fault| fault.contains("record 3 was inserted")),
            "{reported:?}"
        );
    }
    for reported in faults_after(&copy(13)).await {
        assert!(
            reported.iter().any(|fault| fault.contains("records 13 to 13 were inserted")),
            "{reported:?}"
        );
    }
}

#[tokio::test]
async fn a_removed_chain_leaves_its_records_as_evidence() {
    for reported in faults_after("DELETE FROM mcp_audit_chains").await {
        assert_eq!(reported, ["records of a chain that no writer began"]);
    }
}

#[tokio::test]
async fn a_writer_does_not_go_on_with_a_chain_that_somebody_changed() {
    for database in [sqlite_database(), postgres_database().await] {
        let chain = ChainId::generate();
        let store = log(&database, chain).await;
        execute(&database.url, &format!("DELETE FROM {CALLS} WHERE seq = 12")).await;

        let next = open_writer(&store, chain).await;
        next.call(call(1)).await.unwrap();

        assert_ne!(next.chain(), chain);
        assert_eq!(faults(&store).await, ["records 12 to 12 are missing"]);
    }
}
