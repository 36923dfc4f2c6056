//! Changes of the audit log by anything but its writer are detected.

use cynode_domain::ids::ChainId;
use cynode_store::Store;
use cynode_testkit::{TestDatabase, postgres_database, sqlite_database};

use crate::conformance::audit::{call, denied, open_writer, open_writer_at, success, verify};
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
    verify(store).await.into_iter().flat_map(|report| report.faults).collect()
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

            let reports = verify(&store).await;

            let report = reports.iter().find(|report| report.head.chain == chain).unwrap();
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

/// What cuts the last two records, and gives the chain the head that it had before them, but not its signature.
const REWIND: &str = "UPDATE mcp_audit_chains SET seq = 10, hash =
    (SELECT hash FROM mcp_tool_call_outcomes WHERE seq = 10);
    DELETE FROM mcp_tool_call_audit_log WHERE seq > 10";

#[tokio::test]
async fn a_rebuilt_end_is_found_because_the_key_is_not_in_the_database() {
    for reported in faults_after(REWIND).await {
        assert_eq!(reported, ["no trusted key signed the head at record 10"]);
    }
}

#[tokio::test]
async fn records_removed_behind_a_forged_anchor_are_found() {
    let forge = |last: i64, table: &str| {
        format!(
            "INSERT INTO mcp_audit_anchors (chain_id, seq, hash, created_at, signature)
             SELECT c.chain_id, r.seq, r.hash, c.created_at, c.signature
             FROM mcp_audit_chains c, {table} r WHERE r.seq = {last};
             DELETE FROM {CALLS} WHERE seq <= {last}; DELETE FROM {OUTCOMES} WHERE seq <= {last}"
        )
    };
    for (last, table) in [(6, OUTCOMES), (12, CALLS)] {
        for reported in faults_after(&forge(last, table)).await {
            let expected = format!("records 1 to {last} are missing: no trusted key signed");
            assert!(reported.len() == 1 && reported[0].starts_with(&expected), "{reported:?}");
        }
    }
}

#[tokio::test]
async fn a_writer_does_not_go_on_with_a_chain_that_something_else_changed() {
    let cut = format!("DELETE FROM {CALLS} WHERE seq = 12");
    for database in [sqlite_database(), postgres_database().await] {
        for change in [&cut, REWIND] {
            let chain = ChainId::generate();
            let store = log(&database, chain).await;
            execute(&database.url, change).await;

            let next = open_writer(&store, chain).await;
            next.call(call(1)).await.unwrap();

            assert_ne!(next.chain(), chain, "{change}");
            // The next case has the database for itself.
            execute(
                &database.url,
                &format!(
                    "DELETE FROM {CALLS}; DELETE FROM {OUTCOMES}; DELETE FROM mcp_audit_chains"
                ),
            )
            .await;
        }
    }
}

#[tokio::test]
async fn a_writer_does_not_go_on_with_a_chain_that_lost_what_is_known_of_it() {
    for database in [sqlite_database(), postgres_database().await] {
        let chain = ChainId::generate();
        let store = Store::open(&database.url).await.unwrap();
        let writer = open_writer(&store, chain).await;
        for number in 0..4 {
            writer.call(denied(number)).await.unwrap();
        }
        let (known, other) = (writer.head(), ChainId::generate());
        drop(writer);
        let again = open_writer_at(&store, chain, Some(known.clone())).await;
        assert_eq!(again.chain(), chain);
        drop(again);
        execute(&database.url, &format!("DELETE FROM {CALLS}; DELETE FROM mcp_audit_chains")).await;

        let next = open_writer_at(&store, chain, Some(known.clone())).await;

        assert_ne!(next.chain(), chain);
        // Without that knowledge, a dropped chain looks like a new one.
        assert_eq!(open_writer_at(&store, other, None).await.chain(), other);
    }
}

#[tokio::test]
async fn a_running_writer_stops_when_its_chain_is_rewound() {
    for database in [sqlite_database(), postgres_database().await] {
        let store = Store::open(&database.url).await.unwrap();
        let writer = open_writer(&store, ChainId::generate()).await;
        for number in 0..4 {
            writer.call(denied(number)).await.unwrap();
        }
        execute(
            &database.url,
            &format!(
                "UPDATE mcp_audit_chains SET seq = 2, hash = (SELECT hash FROM {CALLS} WHERE seq = 2);
                 DELETE FROM {CALLS} WHERE seq > 2"
            ),
        )
        .await;

        for number in 4..8 {
            assert!(writer.call(denied(number)).await.is_err());
        }
    }
}
