//! Tests of installed servers and of tools.

use cynode_domain::ids::{ServerId, ToolId, UserId};
use cynode_domain::policy::ToolScope;
use cynode_domain::policy::rules::{AccessRule, RuleSubject};
use cynode_store::{
    Error, McpServer, McpToolDefinition, ServerSecrets, ServerTransport, Store, StoredRule,
    StoredTool,
};
use serde_json::json;

use super::rules::rule;
use crate::world::{World, at};

fn server(owner: UserId, slug: &str) -> McpServer {
    McpServer {
        id: ServerId::generate(),
        slug: slug.to_owned(),
        owner,
        is_system: false,
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
    assert_eq!(read_tx!(world.store, tx => tx.server_list().await), [made.clone()]);
    assert!(!format!("{made:?}").contains("sesame"));
}

pub(crate) async fn a_server_slug_is_taken_for_its_owner_or_for_the_system(store: Store) {
    let world = World::new(store).await;
    let bob = world.other_user("bob").await;
    let of_system = |owner| McpServer { is_system: true, ..server(owner, "files") };
    for made in [server(world.user, "files"), server(bob, "files"), of_system(bob)] {
        write_tx!(world.store, tx => tx.server_insert(&made).await);
    }

    for taken in [server(bob, "files"), of_system(world.user)] {
        let refused = try_write_tx!(world.store, tx => tx.server_insert(&taken).await);
        assert!(refused.unwrap_err().is_duplicate());
    }
    assert_eq!(read_tx!(world.store, tx => tx.server_list().await).len(), 3);
}

pub(crate) async fn a_renamed_server_takes_its_own_tools_and_rules_along(store: Store) {
    let world = World::new(store).await;
    let bob = world.other_user("bob").await;
    let (own, other) = (server(world.user, "files"), server(bob, "files"));
    let (id, other_id, slug) = (own.id, other.id, own.slug.clone());
    let rule = |pattern: &str, server| StoredRule {
        rule: AccessRule {
            resource: pattern.parse().unwrap(),
            server,
            ..rule(RuleSubject::System).rule
        },
        ..rule(RuleSubject::System)
    };
    let rules = [
        rule("files.read*", Some(id)),
        rule("files.*", Some(other_id)),
        rule("files.*", None),
        rule("*", Some(id)),
    ];
    write_tx!(world.store, tx => {
        tx.server_insert(&own).await?;
        tx.server_insert(&other).await?;
        tx.tool_insert(&tool(Some(id), "files.read.all")).await?;
        tx.tool_insert(&tool(Some(other_id), "files.read.all")).await?;
        for rule in &rules {
            tx.rule_insert(rule).await?;
        }
        tx.server_rename(&own, "docs").await
    });

    let servers = read_tx!(world.store, tx => tx.server_list().await);
    let found = |wanted| servers.iter().find(|server| server.id == wanted).unwrap().slug.clone();
    assert_eq!((found(id), found(other_id)), ("docs".to_owned(), slug));
    let find = |server, name: &'static str| {
        let store = world.store.clone();
        async move { read_tx!(store, tx => tx.tool_by_name(Some(server), name).await).is_some() }
    };
    assert!(find(id, "docs.read.all").await && find(other_id, "files.read.all").await);
    assert!(!find(id, "files.read.all").await && !find(other_id, "docs.read.all").await);
    let patterns: Vec<_> = read_tx!(world.store, tx => tx.rule_list().await);
    let patterns: Vec<_> =
        patterns.iter().map(|stored| stored.rule.resource.as_str().to_owned()).collect();
    assert_eq!(patterns, ["docs.read*", "files.*", "files.*", "*"]);
}

pub(crate) async fn a_tool_reads_back_as_it_was_written_and_updated(store: Store) {
    let mut made = tool(None, "db.task.get");
    let row = made.clone();
    write_tx!(store, tx => tx.tool_insert(&row).await);
    assert_eq!(
        read_tx!(store, tx => tx.tool_by_name(None, "db.task.get").await),
        Some(made.clone())
    );
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
