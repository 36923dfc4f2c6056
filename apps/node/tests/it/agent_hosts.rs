//! Hosts of agent profiles: an agent reaches them through the proxy of its node only, and every connection is recorded first.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use cynode_domain::job::JobEnding;
use cynode_wire::nodes::{Assignment, JobConnectionEvent, RecordConnection};

use crate::agent_programs::{profile_job, shell_program};
use crate::testbed::NodeTestbed;

/// A server on this machine that redirects to the metadata of clouds, and keeps what it received.
#[derive(Clone)]
struct HostServer {
    port: u16,
    connections: Arc<AtomicUsize>,
    received: Arc<Mutex<Vec<u8>>>,
}

impl HostServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Self { port, connections: Arc::default(), received: Arc::default() };
        let counted = server.clone();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                counted.connections.fetch_add(1, Ordering::Relaxed);
                let mut buffer = [0; 4096];
                let length = stream.read(&mut buffer).unwrap_or_default();
                counted.received.lock().unwrap().extend_from_slice(&buffer[..length]);
                let _ = stream.write_all(
                    b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest\r\nContent-Length: 7\r\n\
                      Connection: close\r\n\r\nreached",
                );
            }
        });
        server
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

fn job_with_hosts(hosts: &[String]) -> Assignment {
    let mut job = profile_job(shell_program("true"));
    job.agent.as_mut().unwrap().hosts = hosts.to_vec();
    job
}

/// Starts a node whose agents run `script`, and a job of one.
async fn run_agent(
    stage: &NodeTestbed,
    options: &[&str],
    job: &Assignment,
    script: &str,
) -> String {
    stage.set_agent(script);
    let _node = stage.spawn_process_with(options);
    stage.fake.assign(job);
    let result = stage.fake.result_of(job.job_id).await;
    assert_eq!(result.ending, JobEnding::Exited { code: 0 }, "{result:?}");
    result.stdout
}

fn recorded(stage: &NodeTestbed) -> Vec<RecordConnection> {
    stage.fake.state().connections.iter().map(|(_, record)| record.clone()).collect()
}

const OPEN_LOOPBACK: [&str; 4] = ["--agent-network", "127.0.0.0/8", "--agent-network", "::1"];

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_host_is_reached_through_the_proxy_and_recorded_before_and_after() {
    let (stage, server) = (NodeTestbed::new().await, HostServer::start());
    let target = format!("localhost:{}", server.port);
    let job = job_with_hosts(std::slice::from_ref(&target));
    let script = format!(
        "HOST={target} request GET http://{target}/
        echo $HTTPS_PROXY $http_proxy $NO_PROXY
        grep -o '\"ext_net_allowed\": true' /job/job.json
        (exec 3<>/dev/tcp/127.0.0.1/{}) 2>/dev/null || echo no network",
        server.port
    );

    let printed = run_agent(&stage, &OPEN_LOOPBACK, &job, &script).await;

    assert_eq!(
        printed,
        "302 reached\nhttp://127.0.0.1:3128 http://127.0.0.1:3128 localhost,127.0.0.1,::1\n\
         \"ext_net_allowed\": true\nno network\n"
    );
    assert_eq!(server.connections(), 1);
    // The end is recorded in the background.
    let is_closed =
        |record: &RecordConnection| matches!(record.event, JobConnectionEvent::Closed { .. });
    stage
        .fake
        .wait_for("the end of the connection", |known| {
            known.connections.iter().any(|(_, record)| is_closed(record)).then_some(())
        })
        .await;
    let records = recorded(&stage);
    assert!(records.iter().all(|record| record.target == target), "{records:?}");
    let opened =
        records.iter().position(|it| matches!(it.event, JobConnectionEvent::Opened { .. }));
    assert!(opened < records.iter().position(is_closed), "{records:?}");
    let JobConnectionEvent::Closed { sent, received, .. } = &records.last().unwrap().event else {
        panic!("{records:?}")
    };
    assert!(*sent > 0 && *received > 0, "{records:?}");
    assert!(stage.fake.state().connections.iter().all(|(of, _)| *of == job.job_id));
}

/// Sends each request to the proxy, and prints the status; in tunnels, also what follows.
const ATTEMPTS: &str = r#"/usr/bin/python3 - <<'PROGRAM'
import socket, ssl
PORT = '@PORT@'

def connect(head):
    proxy = socket.create_connection(('127.0.0.1', 3128))
    proxy.sendall(head.encode())
    return proxy, proxy.recv(4096).decode(errors='replace').split(' ')[1]

def read(proxy):
    try: return len(proxy.recv(4096))
    except OSError: return 0

def get(url, host=None):
    return connect(f'GET {url} HTTP/1.1\r\nHost: {host or url.split("/")[2]}\r\nConnection: close\r\n\r\n')[1]

def tunnel(target, payload):
    proxy, status = connect(f'CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n')
    if status == '200':
        proxy.sendall(payload)
        status += f' and {read(proxy)} bytes'
    return status

def hello(name):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname=name)
    try: client.do_handshake()
    except ssl.SSLWantReadError: pass
    return outgoing.read()

print('another host:', get('http://example.com/'))
print('another port:', get('http://localhost:1/'))
print('address of the host:', get(f'http://127.0.0.1:{PORT}/'))
print('decimal address:', get(f'http://2130706433:{PORT}/'))
print('mapped address:', get(f'http://[::ffff:127.0.0.1]:{PORT}/'))
print('another host in the header:', get(f'http://localhost:{PORT}/', 'example.com'))
print('target of the redirect:', get('http://169.254.169.254/latest'))
print('internal address that is allowed:', get('http://10.0.0.1:8080/'))
print('tunnel to another host:', tunnel('example.com:443', hello('example.com')))
print('tunnel to an address:', tunnel('169.254.169.254:443', hello('a')))
print('tunnel in a tunnel:', tunnel(f'localhost:{PORT}', b'CONNECT example.com:443 HTTP/1.1\r\n\r\n'))
print('another name in a tunnel:', tunnel(f'localhost:{PORT}', hello('example.com')))
PROGRAM"#;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_but_the_allowed_host_is_reached_whatever_the_agent_sends() {
    let (stage, server) = (NodeTestbed::new().await, HostServer::start());
    let hosts = [format!("localhost:{}", server.port), "10.0.0.1:8080".to_owned()];
    let script = ATTEMPTS.replace("@PORT@", &server.port.to_string());

    let printed = run_agent(&stage, &OPEN_LOOPBACK, &job_with_hosts(&hosts), &script).await;

    for line in printed.lines() {
        let (attempt, status) = line.split_once(": ").unwrap();
        let is_refused = ["400", "403"].contains(&status) || status == "200 and 0 bytes";
        assert!(is_refused, "{attempt}: {status}");
    }
    assert_eq!(printed.lines().count(), 12, "{printed}");
    assert_eq!(server.received.lock().unwrap().as_slice(), b"", "nothing was passed on");
    let refusals = recorded(&stage);
    let refused = |target: &str| {
        let is_refusal =
            |it: &&RecordConnection| matches!(it.event, JobConnectionEvent::Refused { .. });
        refusals.iter().filter(is_refusal).any(|record| record.target == target)
    };
    for target in
        ["example.com:80", "localhost:1", "169.254.169.254:80", "10.0.0.1:8080", "example.com:443"]
    {
        assert!(refused(target), "{target}: {refusals:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_internal_host_is_not_reached_unless_the_node_opens_it() {
    let (stage, server) = (NodeTestbed::new().await, HostServer::start());
    let target = format!("localhost:{}", server.port);
    let script = format!("HOST={target} request GET http://{target}/");

    let printed = run_agent(&stage, &[], &job_with_hosts(&[target]), &script).await;

    assert!(printed.starts_with("403") && printed.contains("internal network"), "{printed}");
    assert_eq!(server.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_cannot_be_recorded_is_not_made() {
    let (mut stage, host) = (NodeTestbed::new().await, HostServer::start());
    let target = format!("localhost:{}", host.port);
    let job = job_with_hosts(std::slice::from_ref(&target));
    stage.fake.change(|known| {
        known.broken.insert("connections".to_owned());
    });
    let get = format!("HOST={target} request GET http://{target}/");
    stage.set_agent(&format!(
        "{get}; touch one; while [ ! -e two ]; do sleep 0.02; done; {get}; touch three"
    ));
    let _node = stage.spawn_process_with(&OPEN_LOOPBACK);
    stage.fake.assign(&job);

    stage.wait_for_file(&job, "one").await;
    stage.served.take().unwrap().shut_down();
    std::fs::write(stage.workspace(&job).join("two"), "").unwrap();
    stage.wait_for_file(&job, "three").await;
    let (_, served) = stage.fake.serve(stage.address).await;
    stage.served = Some(served);

    let printed = stage.fake.result_of(job.job_id).await.stdout;
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), 2, "{printed}");
    for line in lines {
        assert!(line.starts_with("503") && line.contains("cannot be recorded"), "{printed}");
    }
    assert_eq!(host.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_connections_are_recorded_up_to_a_limit() {
    let stage = NodeTestbed::new().await;
    let job = job_with_hosts(&["example.com".to_owned()]);
    let script = "for i in $(seq 120); do HOST=other.example request GET http://other.example/ > /dev/null; done; echo done";

    assert_eq!(run_agent(&stage, &[], &job, script).await, "done\n");

    let records = recorded(&stage);
    assert_eq!(records.len(), 100);
    assert!(records.iter().all(|record| record.target == "other.example:80"), "{records:?}");
}
