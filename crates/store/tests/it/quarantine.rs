//! A row that cannot be decoded affects only callers that request it: in every table that is claimed or listed,
//! on both engines.

use cynode_domain::agent::MessageKind;
use cynode_domain::ids::{
    GroupId, HolderId, InferenceId, JobId, ProjectId, RuleId, RunId, ScheduleId, TaskId, ThreadId,
    UserId,
};
use cynode_domain::job::Limits;
use cynode_domain::policy::Effect;
use cynode_domain::policy::rules::RuleSubject;
use cynode_domain::preference::Scope;
use cynode_domain::project_context::{ProjectContext, TreeId};
use cynode_domain::schedule::{SchedulePayload, ScheduleTiming};
use cynode_store::*;
use cynode_testkit::{TestDatabase, postgres_database, query, sqlite_database};
use serde_json::json;
use uuid::Uuid;

use crate::opening::execute;

const KEY: &str = "00000000-0000-7000-8000-000000000001";

fn shared(number: u128) -> Uuid {
    Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0f00 + number)
}

/// The text of a seed on one engine, for row `number`.
fn seed(text: &str, is_sqlite: bool, number: u32) -> String {
    let options = json!({
        "expected_outputs": [], "limits": Limits::default(), "retry_interrupted": false,
    });
    let server = ServerTransport::Stdio {
        command: "files".to_owned(),
        args: vec![],
        env: cynode_store::ServerSecrets::Plain([].into()),
        allow_network: false,
        allowed_hosts: vec![],
    };
    let definition = McpToolDefinition {
        title: None,
        description: String::new(),
        input_schema: json!({}),
        output_schema: None,
        other: serde_json::Map::new(),
    };
    let pairs = [
        ("{options}", options.to_string()),
        ("{server}", json!(server).to_string()),
        ("{definition}", json!(definition).to_string()),
        ("{timing}", json!(ScheduleTiming::cron("0 3 * * *").unwrap()).to_string()),
        ("{payload}", json!(SchedulePayload::Prompt { text: "x".to_owned() }).to_string()),
        ("{id}", KEY.replace("000001", &format!("{number:06}"))),
        ("{user}", shared(1).to_string()),
        ("{project}", shared(2).to_string()),
        ("{task}", shared(3).to_string()),
        ("{run}", shared(4).to_string()),
        ("{job}", shared(5).to_string()),
        ("{agent}", shared(6).to_string()),
        ("{thread}", shared(7).to_string()),
        ("{schedule}", shared(8).to_string()),
        ("{group}", shared(9).to_string()),
        ("{profile}", shared(10).to_string()),
        ("{yes}", if is_sqlite { "1" } else { "true" }.to_owned()),
        ("{no}", if is_sqlite { "0" } else { "false" }.to_owned()),
        ("{b}", if is_sqlite { format!("x'0{number}'") } else { format!("'\\x0{number}'") }),
        ("{t}", if is_sqlite { "1700000000000000" } else { "to_timestamp(1700000000)" }.to_owned()),
        ("{due}", if is_sqlite { format!("{number}") } else { format!("to_timestamp({number})") }),
        ("#", number.to_string()),
    ];
    pairs.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

async fn seeded(database: &TestDatabase) -> Store {
    let store = Store::open(&database.url).await.unwrap();
    let is_sqlite = database.url.starts_with("sqlite:");
    execute(&database.url, &seed(include_str!("quarantine/shared.sql"), is_sqlite, 0)).await;
    for number in [1, 2] {
        execute(&database.url, &seed(include_str!("quarantine/seed.sql"), is_sqlite, number)).await;
    }
    store
}

/// The stored corruption: on both engines, or on SQLite alone if PostgreSQL cannot store it.
enum RowCorruption {
    Both(&'static str, &'static str),
    Sqlite(&'static str),
}
use RowCorruption::{Both, Sqlite};

const ODD_ID: &str = "'not an id'";
const ODD_WORD: &str = "'a word of a later version'";

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

fn user() -> UserId {
    UserId::from(shared(1))
}

fn task() -> TaskId {
    TaskId::from(shared(3))
}

fn run() -> RunId {
    RunId::from(shared(4))
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

/// A cache needs no quarantine: a row that cannot be read is as good as none, and the next one replaces it.
#[tokio::test]
async fn a_cached_context_that_cannot_be_read_is_none_until_it_is_replaced() {
    for database in [sqlite_database(), postgres_database().await] {
        let store = seeded(&database).await;
        let project = ProjectId::from(shared(2));
        let tree: TreeId = "ab".repeat(20).parse().unwrap();
        let context: ProjectContext = serde_json::from_value(json!({
            "kind": "unknown", "architecture": "a bell", "has_tests": false, "has_ci": false,
            "has_ui": false, "has_brief": false, "file_count": 1,
        }))
        .unwrap();
        for is_damaged in [true, false] {
            let (of, new) = (tree.clone(), context.clone());
            write_tx!(store, tx => tx.project_context_put(project, &of, 1, &new).await);
            if is_damaged {
                execute(&database.url, "UPDATE project_contexts SET context = '{}'").await;
            }
            let of = tree.clone();
            let found = read_tx!(store, tx => tx.project_context_get(project, &of, 1).await);
            assert_eq!(found.is_none(), is_damaged);
        }
        assert_eq!(read_tx!(store, tx => tx.quarantine_count().await), 0);
    }
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

fn claim() -> RunClaim {
    let versions = GraphVersionRange { oldest: 0, newest: 9 };
    let (holder, lease_ms) = (HolderId::generate(), 60_000);
    RunClaim { holder, lease_ms, versions, max: 5, started_event: "task.started" }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_row_that_cannot_be_read_is_claimed_by_nobody_and_keeps_no_other_waiting() {
    for database in [sqlite_database(), postgres_database().await] {
        let store = seeded(&database).await;
        for (table, column) in
            [("runs", "status"), ("schedule_runs", "status"), ("agent_messages", "component")]
        {
            let bad = if table == "agent_messages" { "turns = -5" } else { "" };
            let bad =
                if bad.is_empty() { format!("{column} = {ODD_WORD}") } else { bad.to_owned() };
            execute(&database.url, &format!("UPDATE {table} SET {bad} WHERE id = '{KEY}'")).await;
        }

        let granted = store.run_claim(claim()).await.unwrap();
        let due = write_tx!(store, tx => tx.schedule_run_claim(60_000, 5).await);
        let report = write_tx!(store, tx => tx.report_claim(60_000, &[]).await);

        assert_eq!(granted.len(), 1, "{granted:?}");
        assert!(granted[0].run.id.to_string().ends_with('2'));
        assert_eq!(due.len(), 1, "{due:?}");
        assert!(report.unwrap().message.sent.id.to_string().ends_with('2'));
        // They are recorded, so no claim returns them again.
        assert!(!read_tx!(store, tx => tx.run_has_next().await));
        assert!(!read_tx!(store, tx => tx.report_has_pending().await));
        let ahead = read_tx!(store, tx => tx.schedule_next_wait().await);
        assert!(ahead.run.is_some_and(|wait| wait.num_seconds() > 30), "{ahead:?}");
        assert_eq!(read_tx!(store, tx => tx.quarantine_count().await), 3);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_task_cannot_be_read_waits_until_the_task_is_repaired() {
    for database in [sqlite_database(), postgres_database().await] {
        let store = seeded(&database).await;
        let id: TaskId = KEY.parse().unwrap();
        let good = seed("'{options}'", false, 1);
        execute(&database.url, &format!("UPDATE tasks SET options = '{{}}' WHERE id = '{KEY}'"))
            .await;

        let refused = store.read(move |tx| Box::pin(async move { tx.task_get(id).await })).await;
        let granted = store.run_claim(claim()).await.unwrap();

        let refused = refused.unwrap_err();
        assert!(refused.is_unreadable());
        for word in ["tasks", KEY, "options", "repair or delete it", "cynork status"] {
            assert!(refused.to_string().contains(word), "{word}: {refused}");
        }
        assert_eq!(granted.len(), 1, "{granted:?}");
        assert_ne!(granted[0].run.task, id);

        execute(&database.url, &format!("UPDATE tasks SET options = {good} WHERE id = '{KEY}'"))
            .await;
        assert_eq!(write_tx!(store, tx => tx.quarantine_recheck().await), 1);
        let granted = store.run_claim(claim()).await.unwrap();
        assert_eq!(granted.iter().map(|granted| granted.run.task).collect::<Vec<_>>(), [id]);
        assert_eq!(read_tx!(store, tx => tx.quarantine_count().await), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_as_long_as_it_was_asked_for_whatever_is_left_out() {
    for database in [sqlite_database(), postgres_database().await] {
        let store = seeded(&database).await;
        let broken = format!("UPDATE tasks SET status = {ODD_WORD} WHERE id <> '{KEY}'");
        execute(&database.url, &broken).await;

        let filter = TaskFilter { limit: 1, ..TaskFilter::default() };
        let page = read_tx!(store, tx => tx.task_list(&filter).await);

        assert_eq!(page.iter().map(|task| task.spec.id.to_string()).collect::<Vec<_>>(), [KEY]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_decided_by_every_row_fails_where_one_cannot_be_read() {
    for database in [sqlite_database(), postgres_database().await] {
        let store = seeded(&database).await;
        let broken = format!("UPDATE work_units SET status = {ODD_WORD} WHERE unit_id = 'u1'");
        execute(&database.url, &broken).await;

        let units = store.read(|tx| Box::pin(async move { tx.work_unit_list(task()).await })).await;

        assert!(units.unwrap_err().is_unreadable());
        let broken = "UPDATE step_verdicts SET verdict = '{}'";
        execute(&database.url, broken).await;
        let verdicts =
            store.read(|tx| Box::pin(async move { tx.verdict_list_run(run()).await })).await;
        assert!(verdicts.unwrap_err().is_unreadable());
        if database.url.starts_with("sqlite:") {
            // A skipped output would be missing from the evidence.
            let broken = "UPDATE job_outputs SET size_bytes = 'x' WHERE path = 'o1'";
            execute(&database.url, broken).await;
            let job = JobId::from(shared(5));
            let outputs = store.read(move |tx| Box::pin(async move { tx.output_list(job).await }));
            assert!(outputs.await.unwrap_err().is_unreadable());
            // A skipped effect would be executed again.
            let broken = "UPDATE workflow_effects SET answer = '{' WHERE key = 'key/1'";
            execute(&database.url, broken).await;
            let effects = store.read(|tx| Box::pin(async move { tx.effect_list(run(), 0).await }));
            assert!(effects.await.unwrap_err().is_unreadable());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_is_shown_without_the_job_or_dependency_that_cannot_be_read_and_does_not_start() {
    for database in [sqlite_database(), postgres_database().await] {
        let store = seeded(&database).await;
        let jobs = read_tx!(store, tx => tx.step_job_list(task(), 100).await).len();
        let broken = format!("UPDATE jobs SET status = {ODD_WORD} WHERE id = '{KEY}'");
        execute(&database.url, &broken).await;

        assert_eq!(read_tx!(store, tx => tx.step_job_list(task(), 100).await).len(), jobs - 1);
        if database.url.starts_with("sqlite:") {
            let broken = format!(
                "PRAGMA foreign_keys = OFF; UPDATE tasks SET id = {ODD_ID} WHERE id = '{KEY}';
                 UPDATE task_dependencies SET depends_on_task_id = {ODD_ID}
                 WHERE depends_on_task_id = '{KEY}';
                 UPDATE jobs SET pinned_node_id = {ODD_ID} WHERE id = '{KEY}';"
            );
            execute(&database.url, &broken).await;
            assert_eq!(read_tx!(store, tx => tx.dependencies_of(&[task()]).await).len(), 1);
            let awaited = read_tx!(store, tx => tx.awaited_nodes_of(&[task()]).await);
            assert!(awaited.values().all(Option::is_none), "{awaited:?}");
            let needed =
                store.read(|tx| Box::pin(async move { tx.dependency_list(task()).await })).await;
            assert!(needed.unwrap_err().is_unreadable());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deny_that_cannot_be_read_denies_no_less_and_an_allow_allows_nothing() {
    for database in [sqlite_database(), postgres_database().await] {
        let store = seeded(&database).await;
        let id: RuleId = KEY.parse().unwrap();
        let update =
            |what: &str| format!("UPDATE access_control_rules SET {what} WHERE id = '{KEY}'");
        let enforced = || async {
            let rules = read_tx!(store, tx => tx.rule_list_enforced().await);
            rules.into_iter().find(|rule| rule.id == id)
        };

        execute(&database.url, &update("conditions = '1'")).await;
        let deny = enforced().await.unwrap();
        assert_eq!((deny.effect, deny.resource.as_str()), (Effect::Deny, "files.*"));
        assert!(deny.conditions.callers.is_empty());

        execute(&database.url, &update(&format!("effect = {ODD_WORD}, resource_pattern = ''")))
            .await;
        let deny = enforced().await.unwrap();
        assert_eq!((deny.effect, deny.resource.as_str()), (Effect::Deny, "*"));
        assert_eq!(deny.subject, RuleSubject::System);

        execute(&database.url, &update("effect = 'allow'")).await;
        assert!(enforced().await.is_none());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_of_one_group_are_listed_without_the_row_that_cannot_be_read() {
    let database = sqlite_database();
    let store = seeded(&database).await;
    let broken = format!("UPDATE user_group_members SET added_at = 'x' WHERE user_id = '{KEY}'");
    execute(&database.url, &broken).await;

    let group = GroupId::from(shared(9));
    let members = read_tx!(store, tx => tx.member_list(group, None, 10).await);

    assert_eq!(members.len(), 1);
    let schedule = ScheduleId::from(shared(8));
    assert_eq!(read_tx!(store, tx => tx.schedule_run_list(schedule, None, 10).await).len(), 2);
}
