//! Secrets of installed servers are encrypted in the database.

use cynode_resources::servers::open_transport;
use cynode_store::McpServer;
use cynode_testkit::query;
use cynode_wire::servers::{InstallServer, Transport, UpdateServer};
use serde_json::{Value, json};

use crate::engines::on_each_engine;
use crate::world::{World, stdio};

on_each_engine! {
    secrets_of_a_server_are_not_in_the_database,
    secrets_of_earlier_versions_are_encrypted_at_the_next_start,
    secrets_are_not_sent_to_where_a_changed_row_says,
    a_rotated_key_opens_secrets_of_servers,
    a_lost_key_is_named_and_nothing_is_overwritten,
}

const CONFIG: &str = "SELECT config FROM mcp_servers";

fn remote() -> InstallServer {
    let transport = Transport::Http {
        url: "https://mcp.example.com/mcp?key=sesame-in-query".to_owned(),
        headers: [("authorization".to_owned(), "Bearer sesame".to_owned())].into(),
    };
    InstallServer { transport, ..stdio("remote") }
}

async fn stored(world: &World) -> McpServer {
    world.registry.load().await.unwrap().servers.remove(0)
}

/// The opened transport; it has secrets, so it cannot be printed as it is.
fn opened(world: &World, server: &McpServer) -> Result<Value, String> {
    let transport = open_transport(server, &world.credentials);
    transport.map(|transport| json!(transport)).map_err(|error| error.to_string())
}

async fn secrets_of_a_server_are_not_in_the_database() {
    for request in [stdio("files"), remote()] {
        let world = World::new().await;
        let shown = world.servers.install(&world.bob, request.clone()).await.unwrap();

        let rows = format!("{:?}", query(&world.database.url, CONFIG).await);
        assert!(!rows.contains("sesame"), "{rows}");
        let shown = serde_json::to_string(&shown).unwrap();
        assert!(!shown.contains("sesame") && !shown.contains("\"?\""), "{shown}");
        let server = stored(&world).await;
        assert!(!format!("{server:?}").contains("sesame"));
        assert_eq!(opened(&world, &server).unwrap(), json!(request.transport));

        let body = UpdateServer { transport: Some(remote().transport), ..UpdateServer::default() };
        world.servers.update(&world.bob, &server.slug.as_str().into(), body).await.unwrap();
        let rows = format!("{:?}", query(&world.database.url, CONFIG).await);
        assert!(!rows.contains("sesame"), "{rows}");
        assert_eq!(opened(&world, &stored(&world).await).unwrap(), json!(remote().transport));
    }
}

async fn secrets_of_earlier_versions_are_encrypted_at_the_next_start() {
    let world = World::new().await;
    world.servers.install(&world.bob, stdio("files")).await.unwrap();
    let plain = r#"{"type": "http", "url": "https://h.example/?key=sesame", "headers": {"x-key": "sesame"}}"#;
    query(&world.database.url, &format!("UPDATE mcp_servers SET config = '{plain}'")).await;
    let before = opened(&world, &stored(&world).await).unwrap();

    world.servers.seal_plain_secrets().await.unwrap();

    let rows = format!("{:?}", query(&world.database.url, CONFIG).await);
    assert!(!rows.contains("sesame"), "{rows}");
    assert_eq!(opened(&world, &stored(&world).await).unwrap(), before);
}

async fn secrets_are_not_sent_to_where_a_changed_row_says() {
    let world = World::new().await;
    world.servers.install(&world.bob, remote()).await.unwrap();
    let change = "UPDATE mcp_servers SET config = replace(CAST(config AS text), 'mcp.example.com', 'evil.example.com')";
    let change = if world.database.url.starts_with("sqlite:") {
        change.to_owned()
    } else {
        format!("{change}::json")
    };
    query(&world.database.url, &change).await;

    let refused = opened(&world, &stored(&world).await).unwrap_err();

    assert!(refused.contains("was changed in the database"), "{refused}");
}

async fn a_rotated_key_opens_secrets_of_servers() {
    let world = World::new().await;
    world.servers.install(&world.bob, remote()).await.unwrap();
    let before = query(&world.database.url, CONFIG).await;

    // The first key leaves the file with the second rotation.
    for _ in 0..3 {
        world.credentials.rotate_key(&world.admin).await.unwrap();
        assert_eq!(opened(&world, &stored(&world).await).unwrap(), json!(remote().transport));
    }

    assert_ne!(query(&world.database.url, CONFIG).await, before);
}

async fn a_lost_key_is_named_and_nothing_is_overwritten() {
    let world = World::new().await;
    world.servers.install(&world.bob, remote()).await.unwrap();
    let (key, server) = (world.data.path().join("credentials.key"), stored(&world).await);
    std::fs::rename(&key, key.with_extension("away")).unwrap();

    let refused = world.servers.install(&world.bob, stdio("files")).await.unwrap_err().to_string();

    assert!(refused.contains("credentials.key") && refused.contains("put it back"), "{refused}");
    assert!(!key.exists());
    std::fs::rename(key.with_extension("away"), &key).unwrap();
    assert_eq!(opened(&world, &server).unwrap(), json!(remote().transport));
}
