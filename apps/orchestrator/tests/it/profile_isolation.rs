//! Profiles seen from outside: what one of them remembers is nowhere in another, over REST and over MCP.

use std::cell::Cell;
use std::collections::BTreeSet;

use cynode_client::Client;
use cynode_domain::ids::{MemoryEntryId, ProfileId, ProjectId};
use cynode_domain::policy::AgentType;
use cynode_domain::project_memory::MemoryKind;
use cynode_testkit::{ProfileData, check_isolation};
use cynode_wire::agents::BindingView;
use cynode_wire::profiles::CreateProfile;
use cynode_wire::project_memory::{
    AddMemoryEntry, MemoryProfileQuery, MemoryQuery, MemorySearchQuery,
};
use cynode_wire::projects::CreateProject;
use serde_json::{Value, json};

use crate::harness::{OrchestratorHarness, task_request};
use crate::mcp::{Mcp, issue};

fn fact(title: &str) -> AddMemoryEntry {
    AddMemoryEntry { kind: MemoryKind::Fact, title: title.to_owned(), text: String::new() }
}

async fn add_profile(admin: &Client, project: ProjectId, name: &str) -> ProfileId {
    let body =
        CreateProfile { name: name.to_owned(), spec: serde_json::from_value(json!({})).unwrap() };
    admin.profile_create(&project.to_string(), &body).await.unwrap().id
}

async fn add_project(admin: &Client, name: &str) -> ProjectId {
    let body = CreateProject {
        display_name: name.to_owned(),
        description: String::new(),
        ..<_>::default()
    };
    admin.project_create(&body).await.unwrap().id
}

/// An agent of a task in a profile, with its own token.
async fn agent_in(
    harness: &OrchestratorHarness,
    project: ProjectId,
    profile: Option<ProfileId>,
) -> Mcp {
    let body = task_request(json!({ "project": project, "profile": profile }));
    let task = harness.admin().task_create(&body).await.unwrap();
    let bound = BindingView { task_id: Some(task.id), ..BindingView::default() };
    Mcp::at(&harness.url(), &issue(harness, AgentType::Pm, bound).await.secret)
}

fn titles(items: &Value) -> Vec<&str> {
    let items = items.as_array().unwrap_or_else(|| panic!("{items}"));
    items.iter().map(|item| item["title"].as_str().unwrap()).collect()
}

pub(crate) async fn a_token_without_a_profile_uses_the_profile_of_the_memory_of_its_project(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let project = add_project(&admin, "Shop").await;
    let careful = add_profile(&admin, project, "careful").await;
    let name = project.to_string();
    let remembered = async |profile: Option<&str>| {
        let profile = profile.map(str::to_owned);
        let query = MemoryQuery { profile, ..MemoryQuery::default() };
        let found = admin.memory_list(&name, &query).await.unwrap().items;
        found.into_iter().map(|entry| entry.title).collect::<BTreeSet<_>>()
    };
    for (profile, title) in [(None, "ship on friday"), (Some("careful"), "ship never")] {
        let profile = MemoryProfileQuery { profile: profile.map(str::to_owned) };
        admin.memory_add(&name, &profile, &fact(title)).await.unwrap();
    }

    // Tokens that name no profile: of a task without one, of the project, and of nothing at all.
    let of_task = agent_in(&harness, project, None).await;
    let in_project = BindingView { project_id: Some(project), ..BindingView::default() };
    let issued = issue(&harness, AgentType::Pm, in_project).await;
    assert_eq!(issued.token.profile_id, Some(ProfileId::default_of(project)));
    let of_project = Mcp::at(&harness.url(), &issued.secret);
    let of_nothing = Mcp::agent(&harness, AgentType::Pm).await;
    let of_careful = agent_in(&harness, project, Some(careful)).await;

    for (agent, own) in
        [(&of_task, "ship on friday"), (&of_project, "ship on friday"), (&of_careful, "ship never")]
    {
        let listed = agent.call("project_memory.list", json!({})).await;
        let found = agent.call("project_memory.search", json!({ "query": "ship" })).await;
        assert!(titles(&listed["items"]).contains(&own), "{listed}");
        assert_eq!(titles(&found["items"]), [own], "{found}");
    }
    let elsewhere = of_nothing.call("project_memory.list", json!({})).await;
    assert!(titles(&elsewhere["items"]).is_empty(), "{elsewhere}");
    for (agent, title) in [(&of_task, "a"), (&of_project, "b"), (&of_careful, "c")] {
        let added =
            agent.call("project_memory.add", json!({ "kind": "fact", "title": title })).await;
        assert_eq!(added["title"], title, "{added}");
    }
    let set = |titles: &[&str]| titles.iter().map(|it| (*it).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(remembered(None).await, set(&["ship on friday", "a", "b"]));
    assert_eq!(remembered(Some("careful")).await, set(&["ship never", "c"]));
    // A token chooses no other profile.
    let named = json!({ "query": "ship", "profile": "careful" });
    let refusal = of_task.answer("project_memory.search", named).await;
    assert_eq!(refusal["result"]["isError"], true, "{refusal}");
    assert!(!refusal.to_string().contains("never"), "{refusal}");
}

/// The project memory, reached by REST and by MCP in turn.
struct MemoryOverInterfaces<'a> {
    harness: &'a OrchestratorHarness,
    admin: Client,
    shared: ProjectId,
    turn: Cell<usize>,
}

/// A profile as a person and as an agent name it.
struct ReachableProfile {
    project: ProjectId,
    id: ProfileId,
    agent: Mcp,
}

impl Clone for ReachableProfile {
    fn clone(&self) -> Self {
        Self { project: self.project, id: self.id, agent: self.agent.clone() }
    }
}

impl std::fmt::Debug for ReachableProfile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "profile {} of project {}", self.id, self.project)
    }
}

impl ReachableProfile {
    fn project(&self) -> String {
        self.project.to_string()
    }

    fn name(&self) -> String {
        self.id.to_string()
    }

    fn query(&self) -> MemoryProfileQuery {
        MemoryProfileQuery { profile: Some(self.name()) }
    }

    /// Calls a tool; `None` if it is refused.
    async fn call(&self, tool: &str, arguments: Value) -> Option<Value> {
        let answer = self.agent.answer(tool, arguments).await["result"].clone();
        (answer["isError"] != true).then(|| answer["structuredContent"].clone())
    }
}

impl MemoryOverInterfaces<'_> {
    fn next_turn(&self) -> usize {
        self.turn.set(self.turn.get() + 1);
        self.turn.get()
    }

    fn is_turn_of_rest(&self) -> bool {
        self.next_turn().is_multiple_of(2)
    }
}

fn parse(id: &str) -> MemoryEntryId {
    id.parse().unwrap()
}

impl ProfileData for MemoryOverInterfaces<'_> {
    type Profile = ReachableProfile;

    async fn create_profile(&self) -> ReachableProfile {
        let number = self.next_turn();
        // Two profiles of one project are as far apart as those of two.
        let project = match number % 3 {
            0 => add_project(&self.admin, &format!("Project {number}")).await,
            _ => self.shared,
        };
        let id = add_profile(&self.admin, project, &format!("profile-{number}")).await;
        ReachableProfile { project, id, agent: agent_in(self.harness, project, Some(id)).await }
    }

    async fn add(&self, profile: &ReachableProfile, text: &str) -> String {
        if self.is_turn_of_rest() {
            let (project, query) = (profile.project(), profile.query());
            let added = self.admin.memory_add(&project, &query, &fact(text)).await;
            return added.unwrap().id.to_string();
        }
        let arguments = json!({ "kind": "fact", "title": text });
        let added = profile.call("project_memory.add", arguments).await.unwrap();
        added["id"].as_str().unwrap().to_owned()
    }

    async fn search(&self, profile: &ReachableProfile, query: &str) -> Vec<(String, f64)> {
        if self.is_turn_of_rest() {
            let query = MemorySearchQuery {
                q: query.to_owned(),
                profile: Some(profile.name()),
                limit: Some(50),
            };
            let found = self.admin.memory_search(&profile.project(), &query).await.unwrap();
            return found.items.iter().map(|it| (it.entry.id.to_string(), it.score)).collect();
        }
        let arguments = json!({ "query": query, "limit": 50 });
        let found = profile.call("project_memory.search", arguments).await.unwrap();
        let hit = |item: &Value| {
            (item["id"].as_str().unwrap().to_owned(), item["score"].as_f64().unwrap())
        };
        found["items"].as_array().unwrap().iter().map(hit).collect()
    }

    async fn list(&self, profile: &ReachableProfile) -> BTreeSet<String> {
        let query = MemoryQuery {
            profile: Some(profile.name()),
            limit: Some(200),
            ..MemoryQuery::default()
        };
        let by_rest = self.admin.memory_list(&profile.project(), &query).await.unwrap();
        let by_rest: BTreeSet<_> = by_rest.items.iter().map(|it| it.id.to_string()).collect();
        let by_mcp = profile.call("project_memory.list", json!({ "limit": 200 })).await.unwrap();
        let id = |item: &Value| item["id"].as_str().unwrap().to_owned();
        let by_mcp = by_mcp["items"].as_array().unwrap().iter().map(id).collect();
        assert_eq!(by_rest, by_mcp, "{profile:?}");
        by_rest
    }

    async fn can_read(&self, profile: &ReachableProfile, id: &str) -> bool {
        let (project, query) = (profile.project(), profile.query());
        let by_rest = self.admin.memory_get(&project, &query, parse(id)).await.is_ok();
        let by_mcp = profile.call("project_memory.get", json!({ "entry_id": id })).await.is_some();
        assert_eq!(by_rest, by_mcp, "{profile:?}");
        by_rest
    }

    async fn delete(&self, profile: &ReachableProfile, id: &str) -> bool {
        let by_mcp = profile.call("project_memory.delete", json!({ "entry_id": id })).await;
        // An agent does not delete what a person wrote.
        let (project, query) = (profile.project(), profile.query());
        by_mcp.is_some() || self.admin.memory_delete(&project, &query, parse(id)).await.is_ok()
    }
}

pub(crate) async fn no_operation_over_rest_or_mcp_crosses_profiles(harness: OrchestratorHarness) {
    let admin = harness.admin();
    let shared = add_project(&admin, "Shared").await;
    let memory = MemoryOverInterfaces { harness: &harness, admin, shared, turn: Cell::new(0) };
    for seed in 20..23 {
        check_isolation(&memory, seed).await;
    }
}
