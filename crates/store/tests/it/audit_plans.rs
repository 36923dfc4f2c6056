//! A big log is searched through its indexes.

use cynode_domain::ids::{ProjectId, TaskId, UserId};
use cynode_store::{AuditFilter, AuditStore, Store};
use cynode_testkit::{postgres_database, sqlite_database};

use crate::opening::execute;
use crate::world::at;

/// A hundred thousand calls, made by the engine itself.
fn fill(is_sqlite: bool) -> String {
    let (numbers, id, time, empty) = if is_sqlite {
        (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)",
            "printf('00000000-0000-7000-8000-%012d', i",
            "i * 1000000",
            "x'00'",
        )
    } else {
        (
            "WITH n(i) AS (SELECT generate_series(1, 100000))",
            "uuid('00000000-0000-7000-8000-' || lpad((i",
            "to_timestamp(i)",
            "'\\x00'::bytea",
        )
    };
    let close = if is_sqlite { ")" } else { ")::text, 12, '0'))" };
    format!(
        "INSERT INTO mcp_tool_call_audit_log (id, chain_id, seq, created_at, agent_type, user_id,
         group_ids, role_names, project_id, task_id, tool_name, server, decision, stage, status,
         origin, request_id, prev_hash, hash)
         {numbers} SELECT {id}{close}, {id} % 2{close}, i, {time}, 'pm', {id} % 50{close}, '[]', '[]',
         {id} % 100{close}, {id} % 1000{close}, 'tool-' || (i % 100), 'builtin', 'allow', 'invoke',
         'pending', 'gateway', 'r', {empty}, {empty} FROM n;
         ANALYZE;"
    )
}

#[tokio::test]
async fn a_big_log_is_searched_through_its_indexes() {
    for database in [sqlite_database(), postgres_database().await] {
        let store = Store::open(&database.url).await.unwrap();
        execute(&database.url, &fill(database.url.starts_with("sqlite:"))).await;
        let all = AuditFilter::default;
        let id = |number: u128| uuid::Uuid::from_u128(0x7000_8000_0000_0000_0000 + number);
        let (since, until) = (Some(at(0)), Some(at(1)));
        let cases = [
            (AuditFilter { task: Some(TaskId::from(id(7))), ..all() }, "mcp_calls_by_task"),
            (
                AuditFilter { project: Some(ProjectId::from(id(7))), ..all() },
                "mcp_calls_by_project",
            ),
            (AuditFilter { user: Some(UserId::from(id(7))), ..all() }, "mcp_calls_by_user"),
            (AuditFilter { tool: Some("tool-7".to_owned()), ..all() }, "mcp_calls_by_tool"),
            (AuditFilter { since, until, ..all() }, "mcp_calls_by_time"),
            (all(), "mcp_calls_by_time"),
        ];
        for (filter, index) in cases {
            let plan = look!(store, tx => tx.call_list_plan(&filter, 50).await);

            assert!(plan.contains(index), "{index} is not used:\n{plan}");
            assert!(!plan.contains("Seq Scan on mcp_tool_call_audit_log"), "{plan}");
            assert!(!plan.contains("USE TEMP B-TREE"), "{plan}");
        }
    }
}
