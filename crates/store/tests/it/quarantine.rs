//! A row that cannot be decoded affects only callers that request it: in every table that is claimed or listed,
//! on both engines.

mod lists;

use cynode_domain::ids::{
    GroupId, HolderId, JobId, ProjectId, RuleId, RunId, ScheduleId, TaskId, UserId,
};
use cynode_domain::job::Limits;
use cynode_domain::policy::Effect;
use cynode_domain::policy::rules::RuleSubject;
use cynode_domain::project_context::{ProjectContext, TreeId};
use cynode_domain::schedule::{SchedulePayload, ScheduleTiming};
use cynode_store::*;
use cynode_testkit::{TestDatabase, postgres_database, sqlite_database};
use serde_json::json;
use uuid::Uuid;

use crate::opening::execute;

const KEY: &str = "00000000-0000-7000-8000-000000000001";
const ODD_ID: &str = "'not an id'";
const ODD_WORD: &str = "'a word of a later version'";

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

fn user() -> UserId {
    UserId::from(shared(1))
}

fn task() -> TaskId {
    TaskId::from(shared(3))
}

fn run() -> RunId {
    RunId::from(shared(4))
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
