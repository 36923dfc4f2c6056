//! The gateway killed again and again under load: the record tells the truth about every call.
//!
//! A server beside the orchestrator remembers each call that reached it, clients remember each call
//! that they sent and what they heard. Afterwards all three are compared, call by call.

use std::collections::HashMap;
use std::fs::{self, File};
use std::process::Child;
use std::time::{Duration, Instant};

use cynode_client::Client;
use cynode_domain::policy::{AgentType, CallStatus, Effect, ToolScope};
use cynode_runtime::tasks::Tasks;
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

use crate::callers::{Call, Caller, Heard, SERVER};
use crate::counting::{Counting, FORBIDDEN, NUMBERED};
use crate::processes::{eventually, left_after, send};
use crate::programs::{Said, call};
use crate::seed::Seed;
use crate::system::{Database, PATIENCE};
use crate::work::patiently;

const KILLS: u32 = 50;
const AGENTS: usize = 4;
const PEOPLE: usize = 2;
/// How long an orchestrator lives at most, from its first call on.
const LIFE: Duration = Duration::from_millis(250);
/// Every so often one is not given the time to make a call.
const HASTY: u32 = 4;
/// Every so often one is killed while it starts, this long after its beginning at most.
const STILLBORN: u32 = 10;
const BIRTH: Duration = Duration::from_millis(150);
const INTERRUPTED: Option<&str> = Some("interrupted");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_record_of_calls_is_true_however_often_the_gateway_is_killed() {
    kill_under_load(Database::Embedded).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_record_of_calls_is_true_however_often_the_gateway_is_killed_on_postgres() {
    kill_under_load(Database::Postgres).await;
}

async fn kill_under_load(database: Database) {
    let mut seed = Seed::of_run("gateway kills");
    let begun = Instant::now();
    let server = Counting::start().await;
    let mut gateway = Orchestrator::new(database).await;
    let mut url = gateway.start().await;
    prepare(&gateway.client(&url), &server.url).await;
    // A gateway hears of what is forbidden in its own time; one that starts begins with it.
    gateway.kill();
    url = gateway.start().await;
    let client = gateway.client(&url);
    let (place, at) = watch::channel(Some((0, url.clone())));
    let tasks = Tasks::new();
    let mut callers = vec![];
    for number in 0..AGENTS + PEOPLE {
        let (token, secret) = token(&client, number).await;
        callers.push(Caller::start((number, token, secret), at.clone(), &tasks));
    }
    for kill in 1..=KILLS {
        if !kill.is_multiple_of(HASTY) {
            let before = server.arrived().len();
            let is_busy = || (server.arrived().len() > before).then_some(());
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
        place.send_replace(Some((kill, url.clone())));
    }
    // The last one serves for a while, and everybody ends their call.
    tokio::time::sleep(LIFE).await;
    place.send_replace(None);
    assert!(tasks.finish(PATIENCE).await, "a client did not end");

    let rows = records(&gateway.client(&url)).await;
    println!("{KILLS} kills in {:?}", begun.elapsed());
    compare(&callers, &server, rows);
    gateway.verify(&url);
}

/// Installs the server, and forbids what is forbidden.
async fn prepare(client: &Client, url: &str) {
    let transport = Transport::Http { url: url.to_owned(), headers: [].into() };
    let body = InstallServer { slug: SERVER.to_owned(), transport, scope: None };
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
async fn token(client: &Client, number: usize) -> (cynode_domain::ids::TokenId, String) {
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
    let body = CreateToken { name: format!("person {number}"), expires_in_days: None };
    let made = client.token_create(&body).await.unwrap();
    (made.token.id, made.secret)
}

/// Every record of a call, in the order of the chain.
async fn records(client: &Client) -> Vec<CallView> {
    let (mut rows, mut cursor) = (vec![], None);
    loop {
        let query = AuditQuery { limit: Some(200), cursor, ..AuditQuery::default() };
        let page = patiently(async || client.call_list(&query).await).await;
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

/// How often what happened.
#[derive(Debug, Default)]
struct Tally {
    sent: usize,
    arrived: usize,
    allow_rows: usize,
    deny_rows: usize,
    /// Permission was durable, and the call was not made: the process died between the two.
    allowed_and_never_made: usize,
    /// Permission was durable, and the call failed before it was made: its client heard so.
    failed_and_never_made: usize,
    /// The call was made, and its end was not recorded before the process died.
    made_and_interrupted: usize,
    /// The end was durable, and the client did not hear of it.
    ended_and_not_heard: usize,
    /// The client heard nothing, and nothing happened.
    lost_before_the_decision: usize,
}

fn compare(callers: &[Caller], server: &Counting, rows: Vec<CallView>) {
    let mut arrived: HashMap<String, usize> = HashMap::new();
    for (tool, text) in server.arrived() {
        assert!(!FORBIDDEN.contains(&tool.as_str()), "{tool} was called with {text}");
        *arrived.entry(text).or_default() += 1;
    }
    let mut tally = Tally { arrived: arrived.values().sum(), ..Tally::default() };
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
            judge(&call, count == 1, row.as_ref(), &mut tally);
        }
        assert!(rows.next().is_none(), "there is a record of a call that nobody sent");
    }
    println!("{tally:#?}");
    assert!(by_token.is_empty(), "there are records of a token that nobody has");
    assert!(arrived.is_empty(), "calls arrived that nobody sent: {arrived:?}");
    let never_made = tally.allowed_and_never_made + tally.failed_and_never_made;
    assert_eq!(tally.arrived + never_made, tally.allow_rows);
    assert!(tally.made_and_interrupted > 0, "nobody was killed in the middle of a call");
}

/// One call: what its client heard, whether it was made, and what is on record.
fn judge(call: &Call, is_made: bool, row: Option<&CallView>, tally: &mut Tally) {
    let Some(row) = row else {
        assert_eq!(call.heard, Heard::Nothing, "an answered call is not on record: {call:?}");
        assert!(!is_made, "a call was made that is not on record: {call:?}");
        tally.lost_before_the_decision += 1;
        return;
    };
    let told = format!("{call:?}\n{row:?}");
    if let Some(stage) = call.forbidden() {
        tally.deny_rows += 1;
        assert_eq!((row.decision, row.stage.as_str()), (Effect::Deny, stage), "{told}");
        match &call.heard {
            Heard::Nothing => {}
            // Tools out of the caller's reach are answered as if they did not exist.
            Heard::Error(heard, _) if ["scope", "rules"].contains(&stage) => {
                assert_eq!(heard, "known", "{told}");
            }
            Heard::Error(heard, _) => assert_eq!(heard, stage, "{told}"),
            Heard::Result => panic!("{told}"),
        }
        return;
    }
    tally.allow_rows += 1;
    assert_eq!(row.decision, Effect::Allow, "{told}");
    let is_interrupted = row.error_type.as_deref() == INTERRUPTED;
    match (&call.heard, row.status) {
        (Heard::Result, CallStatus::Success) => assert!(is_made, "{told}"),
        (Heard::Nothing, CallStatus::Success) => {
            assert!(is_made, "{told}");
            tally.ended_and_not_heard += 1;
        }
        (Heard::Nothing, CallStatus::Error) if is_interrupted && is_made => {
            tally.made_and_interrupted += 1;
        }
        (Heard::Nothing, CallStatus::Error) if is_interrupted => {
            tally.allowed_and_never_made += 1;
        }
        // On a busy machine the server may not answer the gateway's greeting in time.
        (Heard::Error(stage, kind), CallStatus::Error)
            if stage == "invoke" && row.error_type.as_ref() == Some(kind) && !is_made =>
        {
            tally.failed_and_never_made += 1;
        }
        _ => panic!("{told}"),
    }
}

/// The program, its directory and its database.
struct Orchestrator {
    running: Option<Child>,
    home: tempfile::TempDir,
    database: Option<TestDatabase>,
}

impl Orchestrator {
    async fn new(database: Database) -> Self {
        let home = tempfile::Builder::new().prefix("cynode-e2e-").tempdir().unwrap();
        let database = match database {
            Database::Embedded => None,
            Database::Postgres => Some(postgres_database().await),
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
        send(i32::try_from(running.id()).unwrap(), Signal::SIGKILL);
        running.wait().unwrap();
    }

    fn client(&self, url: &str) -> Client {
        let token = fs::read_to_string(self.data().join("admin.token")).unwrap();
        Client::new(url, SecretString::from(token.trim().to_owned())).unwrap()
    }

    /// What `cynork audit verify` says.
    fn verify(&self, url: &str) {
        let token = fs::read_to_string(self.data().join("admin.token")).unwrap();
        let mut command = call("cynork", self.home.path());
        command.env("CYNORK_TOKEN", token.trim()).args(["--gateway-url", url]);
        command.args(["audit", "verify", "--output", "json"]);
        let said = Said::from(command.output().unwrap()).fine().json();
        assert_eq!(said["intact"], true, "{said}");
        println!("{} records in a whole chain", said["records"]);
    }
}

impl Drop for Orchestrator {
    fn drop(&mut self) {
        if self.running.is_some() {
            self.kill();
        }
        if std::thread::panicking() {
            let log = fs::read_to_string(self.home.path().join("log")).unwrap_or_default();
            let lines: Vec<_> = log.lines().rev().take(40).collect();
            println!("{}", lines.into_iter().rev().collect::<Vec<_>>().join("\n"));
        }
        let left = left_after(self.home.path(), PATIENCE);
        assert!(left.is_empty() || std::thread::panicking(), "left behind: {left:?}");
    }
}
