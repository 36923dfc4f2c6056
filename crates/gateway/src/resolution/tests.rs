//! Two servers of the same name, with the same and with different tools.

use chrono::DateTime;
use cynode_domain::ids::{RuleId, ServerId, TokenId, UserId};
use cynode_domain::policy::rules::{AccessRule, Conditions, INVOKE, RuleSubject, TOOL};
use cynode_domain::policy::{Effect, Principal, ToolScope};
use cynode_resources::Caller;
use cynode_resources::agents::{JobAgent, TokenOrigin};
use serde_json::json;

use super::*;
use crate::snapshot::{RegistryData, ServerRow, ToolRow};

fn identity(user: UserId) -> Identity {
    Identity {
        token_id: TokenId::generate(),
        agent: Principal::PM,
        user,
        caller: Caller::on_behalf_of(user, "x".to_owned(), false),
        groups: vec![],
        roles: vec![],
        project: None,
        task: None,
        run: None,
        job: None,
        session: None,
        origin: TokenOrigin::default(),
        job_agent: JobAgent::default(),
        profile_id: None,
        expires_at: None,
    }
}

fn server(owner: UserId, is_system: bool) -> ServerRow {
    ServerRow {
        id: ServerId::generate(),
        slug: "files".to_owned(),
        owner,
        is_system,
        is_enabled: true,
        updated_at: DateTime::UNIX_EPOCH,
    }
}

fn tool(server: &ServerRow, name: &str) -> ToolRow {
    ToolRow {
        name: name.to_owned(),
        server: Some(server.id),
        scope: ToolScope::Both,
        is_enabled: true,
        needs_review: false,
        definition: json!({ "description": "d", "inputSchema": {} }),
    }
}

fn allow(subject: RuleSubject, server: Option<ServerId>) -> AccessRule {
    AccessRule {
        id: RuleId::generate(),
        subject,
        action: INVOKE.parse().unwrap(),
        resource_type: TOOL.parse().unwrap(),
        resource: "files.*".parse().unwrap(),
        server,
        effect: Effect::Allow,
        priority: 0,
        conditions: Conditions::default(),
    }
}

/// The server that `files.read` means to the caller and whether a call is allowed.
fn meaning(snapshot: &PolicySnapshot, user: UserId, name: &str) -> Option<(ServerId, bool)> {
    let identity = identity(user);
    let tool = resolve_tool(snapshot, &identity, name)?;
    let is_visible = pipeline::is_visible(snapshot, &identity, tool);
    Some((tool.server.as_ref().unwrap().id, is_visible))
}

#[test]
fn a_name_means_the_own_server_and_rules_of_one_server_grant_no_other() {
    let [ada, eve, mallory] = [(); 3].map(|()| UserId::generate());
    let servers = vec![server(ada, false), server(eve, false)];
    let tools: Vec<_> = servers.iter().map(|row| tool(row, "files.read")).collect();
    let (of_ada, of_eve) = (servers[0].id, servers[1].id);
    let rules = vec![
        allow(RuleSubject::User(ada), Some(of_ada)),
        allow(RuleSubject::User(eve), Some(of_eve)),
        // Written before or beside the servers: grants no server of a user to others.
        allow(RuleSubject::System, None),
    ];

    let snapshot =
        PolicySnapshot::build(RegistryData { tools, servers, rules, ..RegistryData::default() });

    assert_eq!(meaning(&snapshot, ada, "files.read"), Some((of_ada, true)));
    assert_eq!(meaning(&snapshot, eve, "files.read"), Some((of_eve, true)));
    assert_eq!(meaning(&snapshot, mallory, "files.read"), Some((of_ada, false)));
    let listed = |user| {
        let identity = identity(user);
        let tools = snapshot.tools_after(None).iter();
        let seen = tools.filter(|tool| pipeline::is_visible(&snapshot, &identity, tool));
        seen.map(|tool| tool.server.as_ref().unwrap().id).collect::<Vec<_>>()
    };
    assert_eq!([listed(ada), listed(eve), listed(mallory)], [vec![of_ada], vec![of_eve], vec![]]);
}

#[test]
fn a_server_of_the_system_has_its_name_alone_also_for_tools_that_it_lacks() {
    let (ada, admin) = (UserId::generate(), UserId::generate());
    let servers = vec![server(ada, false), server(admin, true)];
    let tools = vec![
        tool(&servers[0], "files.read"),
        tool(&servers[0], "files.own"),
        tool(&servers[1], "files.read"),
    ];
    let (of_ada, of_system) = (servers[0].id, servers[1].id);
    let rules = vec![
        allow(RuleSubject::User(ada), Some(of_ada)),
        allow(RuleSubject::System, Some(of_system)),
    ];

    let snapshot =
        PolicySnapshot::build(RegistryData { tools, servers, rules, ..RegistryData::default() });

    assert_eq!(meaning(&snapshot, ada, "files.read"), Some((of_system, true)));
    assert_eq!(meaning(&snapshot, ada, "files.own"), None);
    let identity = identity(ada);
    let hidden = snapshot.tool_of(of_ada, "files.own").unwrap();
    assert!(!pipeline::is_visible(&snapshot, &identity, hidden), "it is not listed");
    let opened = pipeline::check_may_open(&snapshot, &identity, "files").unwrap();
    assert_eq!(opened.id, of_system);
}

#[test]
fn of_the_servers_of_others_a_name_means_one_that_the_caller_may_use() {
    let [ada, bob, eve] = [(); 3].map(|()| UserId::generate());
    let servers = vec![server(ada, false), server(bob, false)];
    let tools = servers.iter().map(|row| tool(row, "files.read")).collect();
    let (of_ada, of_bob) = (servers[0].id, servers[1].id);
    let grant = |server| allow(RuleSubject::User(eve), Some(server));
    let build = |rules| {
        let (tools, servers) = (Vec::clone(&tools), Vec::clone(&servers));
        PolicySnapshot::build(RegistryData { tools, servers, rules, ..RegistryData::default() })
    };

    let one = build(vec![grant(of_bob)]);
    let both = build(vec![grant(of_ada), grant(of_bob)]);

    assert_eq!(meaning(&one, eve, "files.read"), Some((of_bob, true)));
    assert_eq!(
        meaning(&both, eve, "files.read"),
        None,
        "the owner of one could receive calls to the other"
    );
}
