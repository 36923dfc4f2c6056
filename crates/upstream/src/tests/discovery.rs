//! Discovery of tools, and of changes.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;
use serde_json::json;

use super::fake::{Fake, Reply, event, stream};
use super::world::{UpstreamFixture, quick};
use crate::UpstreamOptions;
use crate::interface::Upstreams as _;

fn run(world: &UpstreamFixture) -> Shutdown {
    let (pool, shutdown) = (Arc::clone(&world.pool), Shutdown::new());
    let running = shutdown.clone();
    BackgroundTasks::new().spawn("pool", async move { pool.run(running).await });
    shutdown
}

#[tokio::test]
async fn all_pages_of_a_servers_tools_are_found_and_read_again_when_the_server_says_so() {
    let (sender, reply) = stream();
    let (reply, grew) = (Mutex::new(Some(reply)), Arc::new(AtomicBool::new(false)));
    let has_grown = Arc::clone(&grew);
    let fake = Fake::with_sessions(move |seen| match (&seen.verb, seen.method()) {
        (&http::Method::GET, _) => reply.lock().unwrap().take().unwrap_or(Reply::Silence),
        (_, "tools/list") if seen.body["params"]["cursor"] == "2" => {
            let mut tools = vec![json!({"name": "second", "inputSchema": {"type": "object"}})];
            if has_grown.load(Ordering::SeqCst) {
                tools.push(json!({"name": "third", "inputSchema": {"type": "object"}}));
            }
            seen.result(json!({"tools": tools}))
        }
        (_, "tools/list") => {
            let tools =
                json!([{"name": "first", "description": "d", "inputSchema": {"type": "object"}}]);
            seen.result(json!({"tools": tools, "nextCursor": "2"}))
        }
        (_, "resources/list") => seen.result(json!({"resources": [{"uri": "a:b", "name": "r"}]})),
        _ => seen.error(200, -32601),
    })
    .await;
    let world = UpstreamFixture::new(quick());
    let server = world.install_http(&fake.url);
    let shutdown = run(&world);

    world.register.wait_until(|register| register.tool_names("fake") == ["first", "second"]).await;
    assert_eq!(world.pool.listing(server).unwrap().resources.len(), 1);
    assert_eq!(world.register.tools.lock().unwrap()["fake"][0].definition["description"], "d");

    grew.store(true, Ordering::SeqCst);
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    sender.send(event(&changed)).await.unwrap();
    world.register.wait_until(|register| register.tool_names("fake").len() == 3).await;
    shutdown.trigger();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_connections_were_dropped_is_read_again_at_once() {
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reads);
    let fake = Fake::with_sessions(move |seen| match seen.method() {
        "tools/list" => {
            counted.fetch_add(1, Ordering::SeqCst);
            seen.result(json!({"tools": [{"name": "t", "inputSchema": {}}]}))
        }
        _ => seen.error(200, -32601),
    })
    .await;
    let never = Duration::from_hours(1);
    let world = UpstreamFixture::new(UpstreamOptions { refresh_every: never, ..quick() });
    let server = world.install_http(&fake.url);
    let shutdown = run(&world);

    let mut known = 0;
    for _ in 0..50 {
        let is_read = world.register.wait_until(|_| reads.load(Ordering::SeqCst) > known);
        tokio::time::timeout(Duration::from_secs(30), is_read).await.expect("it is read again");
        known = reads.load(Ordering::SeqCst);
        world.pool.drop_connections(server).await;
    }
    shutdown.trigger();
}

#[tokio::test]
async fn a_dead_server_is_reported_and_the_others_are_found_all_the_same() {
    let fake = Fake::with_sessions(|seen| match seen.method() {
        "tools/list" => seen.result(json!({"tools": [{"name": "t", "inputSchema": {}}]})),
        "resources/list" => seen.result(json!({"resources": []})),
        _ => seen.error(200, -32601),
    })
    .await;
    let world =
        UpstreamFixture::new(UpstreamOptions { refresh_every: Duration::from_secs(1), ..quick() });
    world.install(
        "dead",
        cynode_wire::servers::Transport::Http {
            url: "http://127.0.0.1:1/".to_owned(),
            headers: std::collections::BTreeMap::new(),
        },
    );
    world.install_http(&fake.url);
    let shutdown = run(&world);

    world.register.wait_until(|register| register.tool_names("fake") == ["t"]).await;
    let fault = |register: &super::world::RecordingDirectory, slug: &str| {
        register.faults.lock().unwrap().get(slug).cloned()
    };
    world.register.wait_until(|register| matches!(fault(register, "dead"), Some(Some(_)))).await;
    world.register.wait_until(|register| fault(register, "fake") == Some(None)).await;
    shutdown.trigger();
}

#[tokio::test]
async fn pages_that_go_in_a_circle_are_a_fault_of_the_server() {
    let fake = Fake::with_sessions(|seen| match seen.method() {
        "tools/list" => seen.result(json!({"tools": [], "nextCursor": "again"})),
        _ => seen.error(200, -32601),
    })
    .await;
    let world = UpstreamFixture::new(quick());
    world.install_http(&fake.url);
    let shutdown = run(&world);

    world.register.wait_until(|register| !register.faults.lock().unwrap().is_empty()).await;

    let faults = world.register.faults.lock().unwrap().clone();
    assert!(faults["fake"].as_ref().unwrap().contains("circle"), "{faults:?}");
    shutdown.trigger();
}
