//! Every list leaves out a row that it cannot decode, and reports it; every table is listed or named as never listed.

use cynode_domain::agent::MessageKind;
use cynode_domain::ids::{InferenceId, JobId, ProjectId, ScheduleId, ThreadId};
use cynode_domain::preference::Scope;
use cynode_store::*;
use cynode_testkit::{postgres_database, query, sqlite_database};

use super::{KEY, ODD_ID, ODD_WORD, run, seeded, shared, task, user};
use crate::opening::execute;
use RowCorruption::{Both, Sqlite};

/// The stored corruption: on both engines, or on SQLite alone if PostgreSQL cannot store it.
enum RowCorruption {
    Both(&'static str, &'static str),
    Sqlite(&'static str),
}

/// One table: the corruption, and how many rows its list returns.
struct CorruptionCase {
    table: &'static str,
    key: String,
    column: &'static str,
    bad: RowCorruption,
}

impl CorruptionCase {
    /// The statement that corrupts the first row, if this engine allows it.
    fn statement(&self, is_sqlite: bool) -> Option<String> {
        let Self { table, column, .. } = self;
        let (value, key_column) = match &self.bad {
            Both(value, key_column) => (*value, *key_column),
            Sqlite(key_column) if is_sqlite => (ODD_ID, *key_column),
            Sqlite(_) => return None,
        };
        let key = match key_column {
            "sequence" | "seq" => "1".to_owned(),
            "key" if *table == "workflow_effects" => "'key/1'".to_owned(),
            "key" => "'k1'".to_owned(),
            "name" => "'p1'".to_owned(),
            "unit_id" => "'u1'".to_owned(),
            _ => format!("'{KEY}'"),
        };
        // Other rows reference the corrupted id.
        let free = if is_sqlite { "PRAGMA foreign_keys = OFF; " } else { "" };
        Some(format!("{free}UPDATE {table} SET {column} = {value} WHERE {key_column} = {key};"))
    }
}

/// Corrupts the first row of each table in its own database, and compares its list before and after.
macro_rules! lists {
    ($($table:literal ($column:literal, $bad:expr) $key:expr => |$tx:ident| $list:expr;)+) => {
        const LISTED: &[&str] = &[$($table),+];

        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn one_row_that_cannot_be_read_is_left_out_of_every_list() {
            for database in [sqlite_database(), postgres_database().await] {
                let is_sqlite = database.url.starts_with("sqlite:");
                let store = seeded(&database).await;
                let mut broken = vec![];
                $({
                    let case = CorruptionCase { table: $table, key: $key.into(), column: $column, bad: $bad };
                    if let Some(statement) = case.statement(is_sqlite) {
                        let before = read_tx!(store, $tx => $list).len();
                        execute(&database.url, &statement).await;
                        let after = read_tx!(store, $tx => $list).len();
                        assert_eq!((before > 1, after), (true, before - 1), "{}", case.table);
                        broken.push((case.table.to_owned(), case.key.clone()));
                    }
                })+
                assert_reported(&store, &mut broken).await;
            }
        }
    };
}

async fn assert_reported(store: &Store, broken: &mut [(String, String)]) {
    let rows = read_tx!(store, tx => tx.quarantine_list(100).await);
    let count = read_tx!(store, tx => tx.quarantine_count().await);
    let mut found: Vec<_> = rows.iter().map(|row| (row.table.clone(), row.key.clone())).collect();
    found.sort();
    broken.sort();
    assert_eq!((&found[..], count), (&*broken, i64::try_from(broken.len()).unwrap()));
    // None of them was repaired.
    assert_eq!(write_tx!(store, tx => tx.quarantine_recheck().await), 0);
}

lists! {
    "system_settings" ("value", Sqlite("key")) "k1" => |tx| tx.setting_list("k", None, 10).await;
    "system_settings_audit_log" ("changed_by", Sqlite("id")) KEY =>
        |tx| tx.setting_changes("k", None, 10).await;
    "preference_entries" ("value", Sqlite("id")) KEY =>
        |tx| tx.preference_list_scopes(&[Scope::User(user())]).await;
    "preference_audit_log" ("changed_by", Sqlite("id")) KEY =>
        |tx| tx.preference_changes(Scope::User(user()), "k", None, 10).await;
    "access_control_rules" ("effect", Both(ODD_WORD, "id")) KEY => |tx| tx.rule_list().await;
    "access_control_audit_log" ("subject_id", Both(ODD_ID, "id")) KEY =>
        |tx| tx.access_changes(&AccessChangeFilter::default(), None, 10).await;
    "api_credentials" ("credential_type", Both(ODD_WORD, "id")) KEY =>
        |tx| tx.credential_list().await;
    "model_providers" ("kind", Both(ODD_WORD, "name")) "p1" => |tx| tx.provider_list().await;
    "mcp_servers" ("config", Both("'{}'", "id")) KEY => |tx| tx.server_list().await;
    "mcp_tools" ("definition", Both("'[]'", "id")) KEY => |tx| tx.tool_list().await;
    "mcp_tool_call_audit_log" ("stage", Both(ODD_WORD, "id")) KEY =>
        |tx| tx.call_list(&AuditFilter::default(), 10).await;
    "agent_tokens" ("agent_type", Both(ODD_WORD, "id")) KEY =>
        |tx| tx.agent_token_list(None, None, 10).await;
    "agent_profiles" ("spec", Both("'{}'", "id")) KEY => |tx| tx.agent_profile_list().await;
    "agent_canaries" ("job_id", Sqlite("node_id")) format!("{KEY}/1/{KEY}") =>
        |tx| tx.agent_canary_list().await;
    "api_tokens" ("token_hash", Sqlite("id")) KEY => |tx| tx.token_list(user(), None, 10).await;
    "capability_leases" ("token_id", Sqlite("id")) KEY =>
        |tx| tx.capability_lease_list(None, None, 10).await;
    "lease_keys" ("owner", Sqlite("id")) KEY => |tx| tx.lease_key_list(crate::world::at(0)).await;
    "node_join_tokens" ("token_hash", Sqlite("id")) KEY =>
        |tx| tx.join_token_list(None, 10).await;
    "users" ("is_admin", Sqlite("id")) KEY => |tx| tx.user_list(None, 10).await;
    "auth_audit_log" ("success", Sqlite("id")) KEY => |tx| tx.auth_event_list(10).await;
    "skills" ("scope", Both(ODD_WORD, "id")) KEY =>
        |tx| tx.skill_list(&SkillFilter { owner: Some(user()), limit: 10, ..SkillFilter::default() }).await;
    "profiles" ("spec", Both("'{\"tools\":1}'", "id")) KEY =>
        |tx| tx.profile_list(shared(2).into()).await;
    "project_memory" ("kind", Both(ODD_WORD, "id")) KEY =>
        |tx| tx.memory_list_all(shared(10).into()).await;
    "knowledge_documents" ("kind", Both(ODD_WORD, "id")) KEY =>
        |tx| tx.knowledge_document_list(shared(10).into(), &DocumentSelection::default(), None, 10).await;
    "projects" ("owner_id", Sqlite("id")) KEY => |tx| tx.project_list(None, None, 10).await;
    "events" ("data", Sqlite("seq")) "1" =>
        |tx| tx.event_list(EventCursor::default(), EventFilter::default(), 10).await;
    "jobs" ("status", Both(ODD_WORD, "id")) KEY => |tx| tx.job_list_open(task()).await;
    "job_memory" ("size_bytes", Sqlite("key")) format!("{}/k1", shared(5)) =>
        |tx| tx.note_list(JobId::from(shared(5)), None, 10).await;
    "task_artifacts" ("job_id", Sqlite("id")) KEY => |tx| tx.artifact_list(task()).await;
    "workflow_history" ("job_id", Sqlite("sequence")) format!("{}/1", shared(4)) =>
        |tx| tx.history_page(run(), 0, 10).await;
    "verification_findings" ("severity", Both(ODD_WORD, "id")) KEY =>
        |tx| tx.finding_list(task(), None, 10).await;
    "step_verdicts" ("verdict", Both("'{}'", "job_id")) format!("{}/{KEY}", shared(4)) =>
        |tx| tx.verdict_list(task()).await;
    "task_agents" ("artifacts", Both("'{}'", "id")) KEY => |tx| tx.agent_list(task(), 10).await;
    "agent_checkpoints" ("pending_items", Both("'{}'", "id")) KEY =>
        |tx| tx.agent_checkpoint_list(task(), &"role-1".parse().unwrap(), 10).await;
    "agent_messages" ("kind", Both(ODD_WORD, "id")) KEY =>
        |tx| tx.message_list(&messages()).await;
    "run_questions" ("question", Both("'{}'", "key")) format!("{}/k1", shared(4)) =>
        |tx| tx.question_list_overdue(10).await;
    "run_acts" ("verb", Both(ODD_WORD, "id")) KEY => |tx| tx.run_action_list(run(), 0, 9).await;
    "pm_decisions" ("project_id", Sqlite("id")) KEY => |tx| tx.decision_list(task(), 10).await;
    "trace_events" ("kind", Both(ODD_WORD, "id")) KEY => |tx| tx.trace_event_list(&events_of_trace()).await;
    "brain_calls" ("outcome", Both(ODD_WORD, "id")) KEY =>
        |tx| tx.inference_list(&InferenceFilter::default(), None, 10).await;
    "egress_audit" ("decision", Both(ODD_WORD, "id")) KEY =>
        |tx| tx.egress_decision_list(InferenceId::from(shared(4))).await;
    "chat_threads" ("number", Sqlite("id")) KEY =>
        |tx| tx.thread_list(user(), None, None, 10).await;
    "chat_messages" ("turn_id", Sqlite("id")) KEY =>
        |tx| tx.thread_message_tail(ThreadId::from(shared(7)), 10).await;
    "chat_audit_log" ("redaction_kinds", Both("'{}'", "id")) KEY =>
        |tx| tx.chat_record_list(user(), None, 10).await;
    "schedules" ("payload", Both("'{}'", "id")) KEY =>
        |tx| tx.schedule_list(None, None, None, 10).await;
    "schedule_runs" ("status", Both(ODD_WORD, "id")) KEY =>
        |tx| tx.schedule_run_list(ScheduleId::from(shared(8)), None, 10).await;
    "user_groups" ("created_by", Sqlite("id")) KEY => |tx| tx.group_list(None, None, 10).await;
    "nodes" ("status", Both(ODD_WORD, "id")) KEY => |tx| tx.node_list().await;
    "user_group_members" ("user_id", Sqlite("user_id"))
        format!("{}/not an id", shared(9)) => |tx| tx.membership_list().await;
    "runs" ("status", Both(ODD_WORD, "id")) KEY =>
        |tx| tx.run_page(&RunFilter { limit: 10, ..RunFilter::default() }).await;
    "notice_deliveries" ("status", Both(ODD_WORD, "id")) KEY => |tx| tx.notice_list(&deliveries()).await;
    "notice_channels" ("kind", Both(ODD_WORD, "id")) KEY =>
        |tx| tx.notice_channel_list(None).await;
    "project_forges" ("settings", Both("'{}'", "id")) KEY =>
        |tx| tx.forge_list(shared(2).into()).await;
    "work_requests" ("phase", Both(ODD_WORD, "task_id")) KEY =>
        |tx| tx.request_list(&RequestFilter { limit: 10, ..RequestFilter::default() }).await;
    "tasks" ("options", Both("'{}'", "id")) KEY =>
        |tx| tx.task_list(&TaskFilter { limit: 10, ..TaskFilter::default() }).await;
}

fn deliveries() -> DeliveryFilter {
    DeliveryFilter { owner: user(), channel: None, status: None, before: None, limit: 10 }
}

/// Tables without a list that skips rows: they are read by key, counted, or read as a whole that every row decides.
const NOT_LISTED: &[&str] = &[
    "blob_directory",
    "blob_groups",
    "edge_audit_chains",
    "forge_deliveries",
    "job_logs",
    "job_outputs",
    "knowledge_index",
    "knowledge_index_config",
    "knowledge_index_data",
    "knowledge_index_docsize",
    "knowledge_index_idx",
    "knowledge_passages",
    "knowledge_terms",
    "knowledge_totals",
    "mcp_audit_anchors",
    "mcp_audit_chains",
    "mcp_tool_call_outcomes",
    "notice_cursor",
    "password_credentials",
    "policy_revision",
    "project_contexts",
    "quarantined_rows",
    "refresh_sessions",
    "sandbox_execs",
    "sandboxes",
    "schedule_run_tasks",
    "schema_version",
    "sealed_values",
    "skill_scans",
    "skill_versions",
    "spent_refresh_tokens",
    "storage_usage",
    "task_dependencies",
    "task_workflow_leases",
    "unit_attempts",
    "work_plans",
    "work_units",
    "workflow_checkpoints",
    "workflow_effects",
    "write_probe",
];

#[tokio::test]
async fn every_table_is_listed_with_a_row_that_cannot_be_read_or_named_as_never_listed() {
    let database = sqlite_database();
    Store::open(&database.url).await.unwrap();
    let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";

    let mut found: Vec<_> = query(&database.url, sql).await.into_iter().flatten().collect();
    let mut known = [LISTED, NOT_LISTED].concat();
    found.sort();
    known.sort_unstable();

    assert_eq!(found, known, "a new table needs a line in one of the two");
}

fn events_of_trace() -> TraceFilter {
    TraceFilter { trace: shared(4).into(), owner: None, limit: 10 }
}

fn messages() -> MessageFilter {
    MessageFilter {
        owner: None,
        project: Some(ProjectId::from(shared(2))),
        profiles: ListedProfiles::All,
        task: None,
        role: None,
        kind: None::<MessageKind>,
        is_unprocessed: false,
        waits_for_person: false,
        order: MessageOrder::NewestFirst,
        after: None,
        limit: 10,
    }
}
