//! Servers that are processes.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use cynode_domain::ids::ServerId;
use cynode_wire::servers::Transport;
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use super::world::{RecordingClient, UpstreamFixture, call, quick, send_request};
use crate::ProcessHandle;
use crate::ProcessSpawner;
use crate::ServerCommand;
use crate::ServerProcess;
use crate::SpawnError;
use crate::UpstreamOptions;
use crate::interface::Upstream;
use crate::interface::UpstreamError;
use crate::interface::Upstreams as _;
use crate::rpc;

/// The first delay after a process ended.
const FIRST_RESTART_DELAY: Duration = Duration::from_millis(500);

/// Starts processes without a sandbox, and counts them.
#[derive(Default)]
struct UnsandboxedSpawner {
    started: AtomicUsize,
}

struct ChildHandle(Child);

#[async_trait]
impl ProcessHandle for ChildHandle {
    async fn wait_ended(&mut self) -> String {
        self.0.wait().await.map_or_else(|error| error.to_string(), |status| status.to_string())
    }

    fn kill(&mut self) {
        let _ = self.0.start_kill();
    }
}

#[async_trait]
impl ProcessSpawner for UnsandboxedSpawner {
    async fn spawn(&self, launch: &ServerCommand) -> Result<ServerProcess, SpawnError> {
        self.started.fetch_add(1, Ordering::SeqCst);
        let mut child = Command::new(&launch.command)
            .args(&launch.args)
            .envs(&launch.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| SpawnError::NotStarted(error.to_string()))?;
        Ok(ServerProcess {
            stdin: Box::new(child.stdin.take().unwrap()),
            stdout: Box::new(child.stdout.take().unwrap()),
            stderr: Box::new(child.stderr.take().unwrap()),
            handle: Box::new(ChildHandle(child)),
        })
    }
}

struct ProcessFixture {
    world: UpstreamFixture,
    plain: Arc<UnsandboxedSpawner>,
    server: ServerId,
}

fn process_fixture(options: UpstreamOptions) -> ProcessFixture {
    process_fixture_with_env(options, BTreeMap::new())
}

fn process_fixture_with_env(
    options: UpstreamOptions,
    env: BTreeMap<String, String>,
) -> ProcessFixture {
    let plain = Arc::new(UnsandboxedSpawner::default());
    let world = UpstreamFixture::with_processes(options, Arc::clone(&plain) as _);
    let script = include_str!("process.py").to_owned();
    let server = world.install(
        "process",
        Transport::Stdio {
            command: "python3".to_owned(),
            args: vec!["-c".to_owned(), script],
            env,
            allow_network: false,
            allowed_hosts: vec![],
        },
    );
    ProcessFixture { world, plain, server }
}

impl ProcessFixture {
    async fn open(&self, client: &Arc<RecordingClient>) -> Arc<dyn Upstream> {
        self.world.open(self.server, client).await
    }

    /// Calls a tool and returns its first content.
    async fn call_tool(
        &self,
        client: &Arc<RecordingClient>,
        tool: &str,
    ) -> Result<Value, UpstreamError> {
        let upstream = self.world.try_open(self.server, client).await?;
        let answer = send_request(&upstream, client, call("1", tool)).await?;
        Ok(answer["result"]["content"][0].clone())
    }

    fn started(&self) -> usize {
        self.plain.started.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn a_process_that_does_not_answer_a_greeting_is_greeted_otherwise_in_another() {
    let options = UpstreamOptions { probe_timeout: Duration::from_millis(100), ..quick() };
    let bench = process_fixture_with_env(options, [("SHY".to_owned(), "1".to_owned())].into());

    let said = bench.call_tool(&RecordingClient::stateless(), "pid").await;

    assert!(said.unwrap().is_u64());
    assert!(bench.started() > 1);
}

#[tokio::test]
async fn sessions_that_need_only_answers_share_one_process() {
    let bench = process_fixture(quick());
    let (one, other) = (RecordingClient::plain(), RecordingClient::plain());

    let (first, second) =
        tokio::join!(bench.call_tool(&one, "pid"), bench.call_tool(&other, "pid"));

    assert_eq!(first.unwrap(), second.unwrap());
    assert_eq!(bench.started(), 1);
    assert!(bench.open(&one).await.about().info.get().contains("process"));
}

#[tokio::test]
async fn clients_of_both_revisions_share_the_process_of_a_server_that_knows_only_sessions() {
    let bench = process_fixture(quick());
    let (with_session, stateless) = (RecordingClient::plain(), RecordingClient::stateless());

    let first = bench.call_tool(&with_session, "pid").await.unwrap();

    assert_eq!(bench.call_tool(&stateless, "pid").await.unwrap(), first);
    assert_eq!(bench.call_tool(&stateless, "pid").await.unwrap(), first);
    assert_eq!(bench.started(), 2, "one more, to ask which revision it speaks");
}

#[tokio::test]
async fn requests_with_the_same_id_of_two_sessions_get_their_own_answers() {
    let bench = process_fixture(quick());
    let clients: Vec<_> = (0..20).map(|_| RecordingClient::plain()).collect();
    let upstream = bench.open(&clients[0]).await;

    let request = clients.iter().enumerate().map(|(at, client)| {
        let mut request = call("same", "progress");
        request["params"]["_meta"] = json!({"progressToken": format!("token-{at}")});
        send_request(&upstream, client, request)
    });
    let answers = futures_util::future::join_all(request).await;

    for (at, (answer, client)) in answers.into_iter().zip(&clients).enumerate() {
        assert_eq!(answer.unwrap()["id"], "same");
        let tokens: Vec<_> = client
            .notifications()
            .iter()
            .map(|reported| reported["params"]["progressToken"].clone())
            .filter(Value::is_string)
            .collect();
        assert_eq!(tokens, [json!(format!("token-{at}"))]);
    }
}

#[tokio::test]
async fn what_certainly_belongs_to_no_one_session_is_heard_by_none() {
    let bench = process_fixture(quick());
    let (busy, other) = (RecordingClient::plain(), RecordingClient::plain());
    let upstream = bench.open(&busy).await;
    bench.open(&other).await;
    let mut request = call("1", "progress");
    request["params"]["_meta"] = json!({"progressToken": 1});

    let waiting = send_request(&upstream, &busy, call("2", "never"));
    let answered = send_request(&upstream, &other, request);
    tokio::select! {
        biased;
        _ = waiting => panic!("unexpected response"),
        answer = answered => { answer.unwrap(); }
    }

    assert_eq!(busy.notifications(), Vec::<Value>::new());
    assert_eq!(other.notifications().len(), 1, "{:?}", other.notifications());
}

#[tokio::test]
async fn a_session_that_can_be_asked_has_a_process_of_its_own() {
    let bench = process_fixture(quick());
    let plain = RecordingClient::plain();
    let request = RecordingClient::answering(json!({"action": "accept"}));

    let shared = bench.call_tool(&plain, "pid").await.unwrap();
    let own = bench.call_tool(&request, "pid").await.unwrap();

    assert_ne!(shared, own);
    assert_eq!(bench.call_tool(&request, "ask").await.unwrap(), json!({"action": "accept"}));
    assert_eq!(request.received_requests()[0]["method"], "elicitation/create");
}

#[tokio::test]
async fn a_session_that_sets_something_for_itself_gets_a_process_of_its_own() {
    let bench = process_fixture(quick());
    let (one, other) = (RecordingClient::plain(), RecordingClient::plain());
    let shared = bench.call_tool(&one, "pid").await.unwrap();
    let level = json!({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": "debug"}});

    send_request(&bench.open(&one).await, &one, level).await.unwrap();

    assert_ne!(bench.call_tool(&one, "pid").await.unwrap(), shared);
    assert_eq!(bench.call_tool(&other, "pid").await.unwrap(), shared);
}

#[tokio::test]
async fn a_message_over_several_lines_reaches_a_process_as_one() {
    let bench = process_fixture(quick());
    let client = RecordingClient::plain();
    let upstream = bench.open(&client).await;
    let pretty = serde_json::to_string_pretty(&call("1", "echo")).unwrap();

    let answer =
        upstream.request(rpc::raw(pretty), client.clone() as _, CancellationToken::new()).await;

    assert!(answer.unwrap().get().contains("content"));
}

#[tokio::test]
async fn lines_that_are_no_messages_are_passed_over() {
    let bench = process_fixture(quick());

    assert_eq!(bench.call_tool(&RecordingClient::plain(), "noise").await, Ok(Value::Null));
}

#[tokio::test]
async fn an_answer_larger_than_allowed_costs_only_the_one_who_asked() {
    let bench = process_fixture(quick());
    let client = RecordingClient::plain();
    let before = bench.call_tool(&client, "pid").await.unwrap();

    let fault = bench.call_tool(&client, "big").await.unwrap_err();

    assert_eq!(
        fault,
        UpstreamError::Protocol("its response is larger than 65536 bytes".to_owned())
    );
    assert_eq!(bench.call_tool(&client, "pid").await.unwrap(), before);
}

#[tokio::test]
async fn a_process_that_floods_is_ended() {
    let bench = process_fixture(quick());

    let fault = bench.call_tool(&RecordingClient::plain(), "flood").await.unwrap_err();

    assert!(fault.to_string().contains("a line of more than"), "{fault}");
}

#[tokio::test]
async fn a_process_that_dies_fails_what_is_under_way_and_is_started_again_after_a_pause() {
    let bench = process_fixture(quick());
    let client = RecordingClient::plain();
    let first = bench.call_tool(&client, "pid").await.unwrap();

    let fault = bench.call_tool(&client, "die").await.unwrap_err().to_string();
    let died = Instant::now();
    let early = bench.call_tool(&client, "pid").await;

    assert!(fault.contains("last line of stderr: I cannot go on"), "{fault}");
    match early {
        Ok(_) => assert!(died.elapsed() >= FIRST_RESTART_DELAY, "restarted without a delay"),
        Err(early) => assert!(early.to_string().contains("restarted shortly"), "{early}"),
    }
    let second = loop {
        match bench.call_tool(&client, "pid").await {
            Ok(pid) => break pid,
            Err(_) => tokio::time::sleep(FIRST_RESTART_DELAY).await,
        }
    };
    assert_ne!(first, second);
    assert_eq!(bench.started(), 2);
}

#[tokio::test]
async fn a_canceled_request_is_canceled_in_the_process() {
    let bench = process_fixture(quick());
    let client = RecordingClient::plain();
    let upstream = bench.open(&client).await;
    let cancel = CancellationToken::new();
    let request = upstream.request(
        rpc::raw(call("1", "never").to_string()),
        client.clone() as _,
        cancel.clone(),
    );

    let (answer, ()) = tokio::join!(request, async {
        bench.call_tool(&client, "pid").await.unwrap();
        cancel.cancel();
    });

    assert_eq!(answer.unwrap_err(), UpstreamError::Canceled);
    while bench.call_tool(&client, "canceled").await.unwrap().is_null() {}
}

#[tokio::test]
async fn a_process_that_does_not_answer_is_not_waited_for_without_end() {
    let bench =
        process_fixture(UpstreamOptions { quiet_timeout: Duration::from_millis(200), ..quick() });

    assert_eq!(
        bench.call_tool(&RecordingClient::plain(), "never").await,
        Err(UpstreamError::Timeout)
    );
}

#[tokio::test]
async fn processes_of_one_server_are_bounded_and_end_with_their_session() {
    let bench = process_fixture(UpstreamOptions { processes_per_server: 1, ..quick() });
    let (one, other) =
        (RecordingClient::answering(json!({})), RecordingClient::answering(json!({})));
    bench.call_tool(&one, "pid").await.unwrap();

    assert_eq!(bench.call_tool(&other, "pid").await, Err(UpstreamError::Busy));
    bench.world.pool.close(&one.key()).await;

    loop {
        match bench.call_tool(&other, "pid").await {
            Err(UpstreamError::Busy | UpstreamError::Unavailable(_)) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            answer => break assert!(answer.is_ok(), "{answer:?}"),
        }
    }
}

#[tokio::test]
async fn a_removed_server_loses_its_process() {
    let bench = process_fixture(quick());
    let client = RecordingClient::plain();
    let pid = bench.call_tool(&client, "pid").await.unwrap();

    bench.world.pool.drop_connections(bench.server).await;

    let proc = format!("/proc/{pid}");
    while std::path::Path::new(&proc).exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_an_error_of_that_server_alone() {
    let bench = process_fixture(quick());
    let missing = bench.world.install(
        "missing",
        Transport::Stdio {
            command: "/no/such/program".to_owned(),
            args: vec![],
            env: BTreeMap::new(),
            allow_network: false,
            allowed_hosts: vec![],
        },
    );
    let client = RecordingClient::plain();

    let fault = bench.world.try_open(missing, &client).await.err().unwrap().to_string();

    assert!(fault.contains("the process did not start"), "{fault}");
    assert!(bench.call_tool(&client, "pid").await.is_ok());
}
