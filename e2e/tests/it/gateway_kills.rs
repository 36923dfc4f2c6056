//! The gateway is killed repeatedly under load: the audit log must be correct about every call. A
//! server next to the orchestrator records each received call, clients record each sent call and
//! its response. Afterwards all three are compared, call by call.

use std::collections::HashMap;
use std::fs::{self, File};
use std::process::Child;
use std::time::{Duration, Instant};

use cynode_client::Client;
use cynode_domain::policy::{AgentType, CallStatus, Effect, ToolScope};
use cynode_runtime::tasks::BackgroundTasks;
use cynode_testkit::{TestDatabase, postgres_database};
use cynode_wire::agents::{BindingView, IssueAgentToken};
use cynode_wire::audit::{AuditQuery, CallView};
use cynode_wire::auth::CreateToken;
use cynode_wire::servers::{InstallServer, Transport};
use cynode_wire::tools::UpdateTool;
use nix::sys::signal::Signal;
use secrecy::SecretString;
use serde_json::json;
use tokio::sync::watch;

use crate::callers::{CallingClient, ClientCallResponse, SERVER, SentCall};
use crate::counting::{CountingServer, FORBIDDEN, NUMBERED};
use crate::processes::{eventually, send_signal, wait_until_none_left};
use crate::programs::{ProgramOutput, call};
use crate::seed::TestSeed;
use crate::system::{PATIENCE, SystemDatabase};
use crate::work::retry_while_unavailable;

const KILLS: u32 = 50;
const AGENTS: usize = 4;
const PEOPLE: usize = 2;
/// Maximum lifetime of an orchestrator, from its first call on.
const LIFE: Duration = Duration::from_millis(250);
/// One in this many starts is killed before its first call.
const HASTY: u32 = 4;
/// One in this many starts is killed during start, after at most this long.
const STILLBORN: u32 = 10;
const BIRTH: Duration = Duration::from_millis(150);
const INTERRUPTED: Option<&str> = Some("interrupted");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_record_of_calls_is_true_however_often_the_gateway_is_killed() {
    kill_under_load(SystemDatabase::Embedded).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_record_of_calls_is_true_however_often_the_gateway_is_killed_on_postgres() {
    kill_under_load(SystemDatabase::Postgres).await;
}

async fn kill_under_load(database: SystemDatabase) {
    let mut seed = TestSeed::for_run("gateway kills");
    let begun = Instant::now();
    let server = CountingServer::start().await;
    let mut gateway = RestartableOrchestrator::new(database).await;
    let mut url = gateway.start().await;
    install_server_and_rules(&gateway.client(&url), &server.url).await;
    // A gateway learns of changed rules asynchronously; a new one starts with them.
    gateway.kill();
    url = gateway.start().await;
    let client = gateway.client(&url);
    let (address, at) = watch::channel(Some((0, url.clone())));
    let tasks = BackgroundTasks::new();
    let mut callers = vec![];
    for number in 0..AGENTS + PEOPLE {
        let (token, secret) = issue_token(&client, number).await;
        callers.push(CallingClient::start((number, token, secret), at.clone(), &tasks));
    }
    for kill in 1..=KILLS {
        if !kill.is_multiple_of(HASTY) {
            let before = server.received_calls().len();
            let is_busy = || (server.received_calls().len() > before).then_some(());
            eventually("a call", PATIENCE, is_busy).await;
        }
        tokio::time::sleep(seed.below(LIFE)).await;
        gateway.kill();
        if kill.is_multiple_of(STILLBORN) {
            gateway.spawn();
            tokio::time::sleep(seed.below(BIRTH)).await;
            gateway.kill();
        }
        url = gateway.start().await;
        address.send_replace(Some((kill, url.clone())));
    }
    // The last one serves for a while, and every client finishes its call.
    tokio::time::sleep(LIFE).await;
    address.send_replace(None);
    assert!(tasks.finish(PATIENCE).await, "a client did not end");

    let rows = load_call_records(&gateway.client(&url)).await;
    println!("{KILLS} kills in {:?}", begun.elapsed());
    compare_all_calls(&callers, &server, rows);
    gateway.verify(&url);
}

/// Installs the server, and creates the deny rules.
async fn install_server_and_rules(client: &Client, url: &str) {
    let transport = Transport::Http { url: url.to_owned(), headers: [].into() };
    let body = InstallServer { slug: SERVER.to_owned(), system: false, transport, scope: None };
    client.server_install(&body).await.unwrap();
    let begun = Instant::now();
    while client.tool_list().await.unwrap().iter().filter(|tool| tool.server == SERVER).count()
        < NUMBERED + FORBIDDEN.len()
    {
        assert!(begun.elapsed() < PATIENCE, "the server's tools do not come");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let off = UpdateTool { enabled: Some(false), ..UpdateTool::default() };
    client.tool_update(&format!("{SERVER}.off"), &off).await.unwrap();
    let inner = UpdateTool { scope: Some(ToolScope::Sandbox), ..UpdateTool::default() };
    client.tool_update(&format!("{SERVER}.inner"), &inner).await.unwrap();
    let rule = json!({
        "subject_type": "system",
        "resource_pattern": format!("{SERVER}.ruled"),
        "effect": "deny",
    });
    client.rule_create(&serde_json::from_value(rule).unwrap()).await.unwrap();
}

/// A token of an agent, or of a person.
async fn issue_token(client: &Client, number: usize) -> (cynode_domain::ids::TokenId, String) {
    if number < AGENTS {
        let body = IssueAgentToken {
            agent_type: AgentType::Pm,
            name: format!("agent {number}"),
            user_id: None,
            expires_in_seconds: None,
            binding: BindingView::default(),
        };
        let made = client.agent_token_issue(&body).await.unwrap();
        return (made.token.id, made.secret);
    }
    let body = CreateToken { name: format!("person {number}"), ..CreateToken::default() };
    let made = client.token_create(&body).await.unwrap();
    (made.token.id, made.secret)
}

/// Every record of a call, in the order of the chain.
async fn load_call_records(client: &Client) -> Vec<CallView> {
    let (mut rows, mut cursor) = (vec![], None);
    loop {
        let query = AuditQuery { limit: Some(200), cursor, ..AuditQuery::default() };
        let page = retry_while_unavailable(async || client.call_list(&query).await).await;
        rows.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    rows.sort_by_key(|row| row.seq);
    assert!(rows.iter().all(|row| row.chain_id == rows[0].chain_id), "a chain was given up");
    rows
}

/// Number of each outcome.
#[derive(Debug, Default)]
struct CallOutcomeCounts {
    sent: usize,
    arrived: usize,
    allow_rows: usize,
    deny_rows: usize,
    /// The decision was durable, and the call was not made: the process died between the two.
    allowed_and_never_made: usize,
    /// The decision was durable, and the call failed before it was made: its client got an error.
    failed_and_never_made: usize,
    /// The call was made, and its end was not recorded before the process died.
    made_and_interrupted: usize,
    /// The end was durable, and the client got no response.
    ended_without_response: usize,
    /// The client got no response, and nothing happened.
    lost_before_decision: usize,
}

fn compare_all_calls(callers: &[CallingClient], server: &CountingServer, rows: Vec<CallView>) {
    let mut arrived: HashMap<String, usize> = HashMap::new();
    for (tool, text) in server.received_calls() {
        assert!(!FORBIDDEN.contains(&tool.as_str()), "{tool} was called with {text}");
        *arrived.entry(text).or_default() += 1;
    }
    let mut tally =
        CallOutcomeCounts { arrived: arrived.values().sum(), ..CallOutcomeCounts::default() };
    let mut by_token: HashMap<_, Vec<CallView>> = HashMap::new();
    for row in rows {
        by_token.entry(row.token_id.unwrap()).or_default().push(row);
    }
    for caller in callers {
        let rows = by_token.remove(&caller.token).unwrap_or_default();
        let mut rows = rows.into_iter().peekable();
        for call in caller.calls() {
            tally.sent += 1;
            let count = arrived.remove(&call.text).unwrap_or(0);
            assert!(count < 2, "{call:?} arrived {count} times");
            // Records of one client are in the order of its calls.
            let row = rows.next_if(|row| row.tool_name == format!("{SERVER}.{}", call.tool));
            compare_call(&call, count == 1, row.as_ref(), &mut tally);
        }
        assert!(rows.next().is_none(), "there is a record of a call that no client sent");
    }
    println!("{tally:#?}");
    assert!(by_token.is_empty(), "there are records of an unknown token");
    assert!(arrived.is_empty(), "calls arrived that no client sent: {arrived:?}");
    let never_made = tally.allowed_and_never_made + tally.failed_and_never_made;
    assert_eq!(tally.arrived + never_made, tally.allow_rows);
    assert!(tally.made_and_interrupted > 0, "no process was killed during a call");
}

/// Compares one call: the client's response, whether it was made, and its record.
fn compare_call(
    call: &SentCall,
    is_made: bool,
    row: Option<&CallView>,
    tally: &mut CallOutcomeCounts,
) {
    let Some(row) = row else {
        assert_eq!(
            call.response,
            ClientCallResponse::ConnectionLost,
            "an answered call is not on record: {call:?}"
        );
        assert!(!is_made, "a call was made that is not on record: {call:?}");
        tally.lost_before_decision += 1;
        return;
    };
    let reported = format!("{call:?}\n{row:?}");
    if let Some(stage) = call.expected_denial_stage() {
        tally.deny_rows += 1;
        assert_eq!((row.decision, row.stage.as_str()), (Effect::Deny, stage), "{reported}");
        match &call.response {
            ClientCallResponse::ConnectionLost => {}
            // Hidden tools are answered as if they did not exist.
            ClientCallResponse::Error(heard, _) if ["scope", "rules"].contains(&stage) => {
                assert_eq!(heard, "known", "{reported}");
            }
            ClientCallResponse::Error(heard, _) => assert_eq!(heard, stage, "{reported}"),
            ClientCallResponse::Result => panic!("{reported}"),
        }
        return;
    }
    tally.allow_rows += 1;
    assert_eq!(row.decision, Effect::Allow, "{reported}");
    let is_interrupted = row.error_type.as_deref() == INTERRUPTED;
    match (&call.response, row.status) {
        (ClientCallResponse::Result, CallStatus::Success) => assert!(is_made, "{reported}"),
        (ClientCallResponse::ConnectionLost, CallStatus::Success) => {
            assert!(is_made, "{reported}");
            tally.ended_without_response += 1;
        }
        (ClientCallResponse::ConnectionLost, CallStatus::Error) if is_interrupted && is_made => {
            tally.made_and_interrupted += 1;
        }
        (ClientCallResponse::ConnectionLost, CallStatus::Error) if is_interrupted => {
            tally.allowed_and_never_made += 1;
        }
        // On a busy machine the server may not answer the gateway's `initialize` in time.
        (ClientCallResponse::Error(stage, kind), CallStatus::Error)
            if stage == "invoke" && row.error_type.as_ref() == Some(kind) && !is_made =>
        {
            tally.failed_and_never_made += 1;
        }
        _ => panic!("{reported}"),
    }
}

/// The process, its directory and its database.
struct RestartableOrchestrator {
    running: Option<Child>,
    home: tempfile::TempDir,
    database: Option<TestDatabase>,
}

impl RestartableOrchestrator {
    async fn new(database: SystemDatabase) -> Self {
        let home = tempfile::Builder::new().prefix("cynode-e2e-").tempdir().unwrap();
        let database = match database {
            SystemDatabase::Embedded => None,
            SystemDatabase::Postgres => Some(postgres_database().await),
        };
        Self { running: None, home, database }
    }

    fn data(&self) -> std::path::PathBuf {
        self.home.path().join("data")
    }

    fn spawn(&mut self) {
        let _ = fs::remove_file(self.data().join("orchestrator.addr"));
        let mut command = call("cynode-orchestrator", self.home.path());
        command.args(["--listen", "127.0.0.1:0", "--data-dir"]).arg(self.data());
        if let Some(database) = &self.database {
            command.args(["--database-url", &database.url]);
        }
        let log = File::options().create(true).append(true).open(self.home.path().join("log"));
        self.running = Some(command.stderr(log.unwrap()).spawn().unwrap());
    }

    /// Starts it and waits for its address.
    async fn start(&mut self) -> String {
        self.spawn();
        let path = self.data().join("orchestrator.addr");
        let running = self.running.as_mut().unwrap();
        let address = eventually("an address", PATIENCE, || {
            if let Some(ended) = running.try_wait().unwrap() {
                panic!("the orchestrator ended with {ended}");
            }
            fs::read_to_string(&path).ok()
        });
        format!("http://{}", address.await)
    }

    fn kill(&mut self) {
        let mut running = self.running.take().unwrap();
        send_signal(i32::try_from(running.id()).unwrap(), Signal::SIGKILL);
        running.wait().unwrap();
    }

    fn client(&self, url: &str) -> Client {
        let token = fs::read_to_string(self.data().join("admin.token")).unwrap();
        Client::new(url, SecretString::from(token.trim().to_owned())).unwrap()
    }

    /// Runs `cynork audit verify`.
    fn verify(&self, url: &str) {
        let token = fs::read_to_string(self.data().join("admin.token")).unwrap();
        let mut command = call("cynork", self.home.path());
        command.env("CYNORK_TOKEN", token.trim()).args(["--gateway-url", url]);
        command.args(["audit", "verify", "--output", "json"]);
        let said = ProgramOutput::from(command.output().unwrap()).expect_success().json();
        assert_eq!(said["intact"], true, "{said}");
        println!("{} records in a whole chain", said["records"]);
    }
}

impl Drop for RestartableOrchestrator {
    fn drop(&mut self) {
        if self.running.is_some() {
            self.kill();
        }
        if std::thread::panicking() {
            let log = fs::read_to_string(self.home.path().join("log")).unwrap_or_default();
            let lines: Vec<_> = log.lines().rev().take(40).collect();
            println!("{}", lines.into_iter().rev().collect::<Vec<_>>().join("\n"));
        }
        let left = wait_until_none_left(self.home.path(), PATIENCE);
        assert!(left.is_empty() || std::thread::panicking(), "left behind: {left:?}");
    }
}
