//! Tests of installed servers and of tools.

use cynode_domain::ids::{ServerId, ToolId, UserId};
use cynode_domain::policy::ToolScope;
use cynode_store::{
    Error, McpServer, McpToolDefinition, ServerSecrets, ServerTransport, Store, StoredTool,
};
use serde_json::json;

use crate::world::{World, at};

fn server(owner: UserId, slug: &str) -> McpServer {
    McpServer {
        id: ServerId::generate(),
        slug: slug.to_owned(),
        owner,
        transport: ServerTransport::Stdio {
            command: "files".to_owned(),
            args: vec!["--root".to_owned(), "/srv".to_owned()],
            env: ServerSecrets::Plain([("KEY".to_owned(), "sesame".to_owned())].into()),
            allow_network: false,
            allowed_hosts: vec![],
        },
        scope: ToolScope::Both,
        enabled: true,
        last_error: None,
        listed_at: None,
        created_at: at(1),
        updated_at: at(1),
    }
}

fn definition(description: &str) -> McpToolDefinition {
    McpToolDefinition {
        title: Some("Read".to_owned()),
        description: description.to_owned(),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        output_schema: None,
        other: serde_json::Map::new(),
    }
}

fn tool(server: Option<ServerId>, name: &str) -> StoredTool {
    StoredTool {
        id: ToolId::generate(),
        name: name.to_owned(),
        server,
        scope: ToolScope::Pm,
        enabled: true,
        disabled_by_owner: false,
        present: true,
        definition: definition("reads a file"),
        definition_sha256: "aa".to_owned(),
        approved: definition("reads a file"),
        approved_sha256: "aa".to_owned(),
        first_seen_at: at(1),
        updated_at: at(1),
    }
}

pub(crate) async fn a_server_reads_back_with_its_secrets_and_hides_them_in_debug_output(
    store: Store,
) {
    let world = World::new(store).await;
    let mut made = server(world.user, "files");
    let (row, id) = (made.clone(), made.id);
    write_tx!(world.store, tx => tx.server_insert(&row).await);

    assert_eq!(read_tx!(world.store, tx => tx.server_get(id).await), Some(made.clone()));
    assert!(!format!("{made:?}").contains("sesame"));

    made.transport = ServerTransport::Http {
        url: "https://mcp.example/mcp".to_owned(),
        headers: ServerSecrets::Sealed {
            names: vec!["authorization".to_owned()],
            key: "k".to_owned(),
            sealed: "AAEC".to_owned(),
        },
        may_be_internal: true,
    };
    (made.enabled, made.last_error, made.updated_at) = (false, Some("gone".to_owned()), at(2));
    made.listed_at = Some(at(2));
    let row = made.clone();
    write_tx!(world.store, tx => tx.server_update(&row).await);
    assert_eq!(read_tx!(world.store, tx => tx.server_by_slug("files").await), Some(made.clone()));
    assert!(!format!("{made:?}").contains("sesame"));
}

pub(crate) async fn a_taken_server_slug_is_a_duplicate(store: Store) {
    let world = World::new(store).await;
    let (one, other) = (server(world.user, "files"), server(world.user, "files"));
    write_tx!(world.store, tx => tx.server_insert(&one).await);

    let refused = try_write_tx!(world.store, tx => tx.server_insert(&other).await).unwrap_err();

    assert!(refused.is_duplicate());
}

pub(crate) async fn a_tool_reads_back_as_it_was_written_and_updated(store: Store) {
    let mut made = tool(None, "db.task.get");
    let row = made.clone();
    write_tx!(store, tx => tx.tool_insert(&row).await);
    assert_eq!(read_tx!(store, tx => tx.tool_by_name("db.task.get").await), Some(made.clone()));
    assert!(made.is_approved());

    made.definition = definition("reads a file and sends it away");
    (made.definition_sha256, made.scope) = ("bb".to_owned(), ToolScope::Both);
    (made.enabled, made.present, made.updated_at) = (false, false, at(3));
    made.disabled_by_owner = true;
    let row = made.clone();
    write_tx!(store, tx => tx.tool_update(&row).await);

    assert!(!made.is_approved());
    assert_eq!(read_tx!(store, tx => tx.tool_list().await), [made]);
    let refused = try_write_tx!(store, tx => tx.tool_insert(&tool(None, "db.task.get")).await);
    assert!(matches!(refused, Err(Error::Duplicate { .. })));
}

pub(crate) async fn tools_go_with_their_server(store: Store) {
    let world = World::new(store).await;
    let files = server(world.user, "files");
    let id = files.id;
    let (of_server, built_in) = (tool(Some(id), "files.read"), tool(None, "help.get"));
    let kept = built_in.clone();
    write_tx!(world.store, tx => {
        tx.server_insert(&files).await?;
        tx.tool_insert(&of_server).await?;
        tx.tool_insert(&built_in).await
    });

    write_tx!(world.store, tx => {
        tx.tool_delete_by_server(id).await?;
        tx.server_delete(id).await
    });

    let id = kept.id;
    assert_eq!(read_tx!(world.store, tx => tx.tool_list().await), [kept]);
    assert_eq!(read_tx!(world.store, tx => tx.server_list().await), []);
    write_tx!(world.store, tx => tx.tool_delete(id).await);
    assert_eq!(read_tx!(world.store, tx => tx.tool_list().await), []);
}
