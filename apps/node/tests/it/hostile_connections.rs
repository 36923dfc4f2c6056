//! Hostile programs against the way out of an agent's sandbox. Each runs on a real node whose profile allows one port of
//! every host, prints `ESCAPED` if something other than a refusal comes back, and `DONE` when it has tried.
//!
//! They run on a node of this process's user, and again on an unprivileged one. `127.0.0.2` plays a public address, which the
//! node opens; `127.0.0.1` is internal.

mod programs;
mod test_resolver;

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use cynode_domain::job::{JobEnding, Limits};
use cynode_wire::nodes::{Assignment, JobConnectionEvent};

use crate::agent_programs::{profile_job, shell_program};
use crate::testbed::NodeTestbed;
use crate::workbench::rerun_unprivileged;
use programs::{CONTROL, PRELUDE, PROGRAMS};
use test_resolver::TestResolver;

/// A server that keeps what it receives, and answers `reached` to everything.
#[derive(Clone, Default)]
struct RecordingServer {
    connections: Arc<AtomicUsize>,
    received: Arc<Mutex<Vec<u8>>>,
}

impl RecordingServer {
    fn start(listener: TcpListener) -> Self {
        let server = Self::default();
        let counted = server.clone();
        let port = listener.local_addr().unwrap().port();
        let answer = format!(
            "HTTP/1.1 200 OK\r\nLocation: http://127.0.0.1:{port}/\r\nContent-Length: 7\r\nConnection: close\r\n\r\nreached"
        );
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                counted.connections.fetch_add(1, Ordering::Relaxed);
                let (received, answer) = (Arc::clone(&counted.received), answer.clone());
                thread::spawn(move || {
                    let mut buffer = [0; 4096];
                    let length = stream.read(&mut buffer).unwrap_or_default();
                    received.lock().unwrap().extend_from_slice(&buffer[..length]);
                    if length > 0 {
                        let _ = stream.write_all(answer.as_bytes());
                    }
                });
            }
        });
        server
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    fn received(&self) -> String {
        String::from_utf8_lossy(&self.received.lock().unwrap()).into_owned()
    }
}

/// The servers that the programs are after.
struct Servers {
    port: u16,
    other_port: u16,
    /// At `allowed.example`, on the port of the profile.
    public: RecordingServer,
    /// At internal addresses on the same port, or at the public one on another port.
    forbidden: Vec<RecordingServer>,
}

impl Servers {
    fn start() -> Self {
        let internal = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = internal.local_addr().unwrap().port();
        let public = TcpListener::bind(("127.0.0.2", port)).unwrap();
        let other = TcpListener::bind("127.0.0.2:0").unwrap();
        let other_port = other.local_addr().unwrap().port();
        let mut forbidden = vec![internal, other];
        // A machine without IPv6 has one server less.
        forbidden.extend(TcpListener::bind(("::1", port)));
        Self {
            port,
            other_port,
            public: RecordingServer::start(public),
            forbidden: forbidden.into_iter().map(RecordingServer::start).collect(),
        }
    }

    /// The Python program with every attack.
    fn script(&self) -> String {
        let attacks =
            PROGRAMS.iter().map(|(name, body)| format!("attack('{name}', r'''{body}''')"));
        let attacks = attacks.collect::<Vec<_>>().join("\n");
        let prelude = PRELUDE
            .replace("@P@", &self.port.to_string())
            .replace("@Q@", &self.other_port.to_string());
        format!("/usr/bin/python3 - <<'PROGRAM'\n{prelude}{CONTROL}{attacks}\nPROGRAM")
    }
}

fn attacking_job(servers: &Servers) -> Assignment {
    let mut job = profile_job(shell_program("true"));
    let agent = job.agent.as_mut().unwrap();
    agent.hosts = vec![format!("*:{}", servers.port), "*:80".to_owned(), "*:443".to_owned()];
    Assignment { limits: Limits { timeout_s: 300, ..job.limits }, ..job }
}

async fn run_programs(state: &NodeTestbed, servers: &Servers, libraries: &Path) -> String {
    let resolver = TestResolver::build(libraries);
    state.set_agent(&servers.script());
    let options = ["--agent-network", "127.0.0.2/32"];
    let _node = state.spawn_process_in(&resolver.environment(), &options);
    let job = attacking_job(servers);
    state.fake.assign(&job);
    let result = state.fake.result_of(job.job_id).await;
    assert_eq!(result.ending, JobEnding::Exited { code: 0 }, "{result:?}");
    result.stdout
}

#[tokio::test(flavor = "multi_thread")]
async fn no_hostile_connection_gets_out_of_its_sandbox() {
    let (state, servers) = (NodeTestbed::new().await, Servers::start());
    let libraries = tempfile::tempdir().unwrap();

    let printed = run_programs(&state, &servers, libraries.path()).await;

    let (controls, attacks): (Vec<_>, Vec<_>) =
        printed.lines().partition(|line| line.starts_with("CONTROL"));
    assert_eq!(controls, ["CONTROL 200 True", "CONTROL True"], "{printed}");
    let done: Vec<String> = PROGRAMS.iter().map(|(name, _)| format!("DONE {name}")).collect();
    assert_eq!(attacks, done, "a program escaped or ended early");
    for server in &servers.forbidden {
        assert_eq!(server.connections(), 0, "{}", server.received());
    }
    let received = servers.public.received();
    for hidden in ["SMUGGLED", "TUNNELED", "X-Injected", "HIDDEN", "evil.example", "CONNECT"] {
        assert!(!received.contains(hidden), "{hidden}: {received}");
    }
    // A name was looked up once for each connection, also when its address had changed.
    assert!(received.contains("/rebind"), "the first address was not reached: {received}");
    // Models, tools and other routes of the orchestrator got no request.
    assert_eq!(state.fake.state().agent_requests, []);
    let known = state.fake.state();
    let is_refusal =
        |event: &JobConnectionEvent| matches!(event, JobConnectionEvent::Refused { .. });
    let refusals = known.connections.iter().filter(|(_, record)| is_refusal(&record.event));
    assert!(refusals.count() >= 50, "{:?}", known.connections);
}

#[test]
fn no_hostile_connection_gets_out_of_the_sandbox_of_an_unprivileged_node() {
    rerun_unprivileged("hostile_connections::no_hostile_connection_gets_out_of_its_sandbox");
}
