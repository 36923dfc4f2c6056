//! Profiles of projects, their memory, and the isolation of both.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use cynode_blobs::BlobStore;
use cynode_domain::ids::{MemoryEntryId, ProfileId, ProjectId};
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::policy::AgentType;
use cynode_domain::project_memory::{MAX_ENTRIES, MemoryAuthorKind, MemoryKind, MemorySource};
use cynode_execution::TaskService;
use cynode_execution::tasks::TaskError;
use cynode_resources::agents::AgentIdentity;
use cynode_resources::profile_access::{ProfileAccess, ProfileAccessError, ProfileSubject};
use cynode_resources::profiles::{ProfileError, Profiles};
use cynode_resources::project_memory::{
    ProjectMemory, ProjectMemoryError, RuleMemory, record_by_rule,
};
use cynode_resources::{Caller, Projects};
use cynode_runtime::clock::Clock as _;
use cynode_testkit::{ProfileData, check_isolation};
use cynode_wire::agents::{BindingView, IssueAgentToken};
use cynode_wire::page::PageQuery;
use cynode_wire::profiles::{CreateProfile, ProfileView, UpdateProfile};
use cynode_wire::project_memory::{AddMemoryEntry, MemoryEntryView, UpdateMemoryEntry};
use cynode_wire::projects::CreateProject;
use cynode_wire::tasks::{CreateTask, TaskView};
use serde_json::{Value, json};

use crate::engines::on_each_engine;
use crate::world::World;

on_each_engine! {
    a_project_has_a_default_profile_and_its_owner_alone_adds_others,
    all_faults_of_a_profile_are_reported_at_once,
    the_profile_of_a_token_is_that_of_its_task_else_the_default_one_of_its_project,
    a_profile_with_open_tasks_stays_and_its_tokens_end_with_it,
    a_profile_of_another_project_is_not_found,
    an_agent_reads_and_writes_the_memory_of_its_own_profile_as_the_profile_allows,
    what_an_agent_wrote_is_marked_until_a_person_takes_it_over,
    a_full_memory_refuses_and_a_rule_writes_once,
    secrets_are_redacted_before_they_are_remembered,
    no_operation_of_a_person_crosses_profiles,
    no_operation_of_an_agent_crosses_profiles,
}

struct Team {
    world: World,
    profiles: Profiles,
    memory: ProjectMemory,
    projects: Projects,
    tasks: TaskService,
    numbers: AtomicUsize,
}

impl Team {
    async fn new() -> Self {
        let world = World::new().await;
        let (store, clock) = (world.store.clone(), world.clock.clone());
        let blobs = BlobStore::new(world.data.path().join("blobs"));
        Self {
            profiles: Profiles::new(store.clone(), clock.clone(), world.signals()),
            memory: ProjectMemory::new(store.clone(), clock.clone()),
            projects: Projects::new(store.clone(), clock.clone()),
            tasks: TaskService::new(store, clock, world.signals(), blobs),
            numbers: AtomicUsize::new(0),
            world,
        }
    }

    async fn project(&self, owner: &Caller) -> ProjectId {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let display_name = format!("Project {number}");
        let request = CreateProject { display_name, description: String::new(), ..<_>::default() };
        self.projects.create(owner, request).await.unwrap().id
    }

    async fn profile(&self, owner: &Caller, project: ProjectId, spec: Value) -> ProfileView {
        let name = format!("profile-{}", self.numbers.fetch_add(1, Ordering::Relaxed));
        let request = CreateProfile { name, spec: serde_json::from_value(spec).unwrap() };
        self.profiles.create(owner, &project.into(), request).await.unwrap()
    }

    async fn task(&self, project: ProjectId, profile: Option<ProfileId>) -> TaskView {
        let request = json!({
            "input_mode": "commands", "commands": ["true"], "project": project, "profile": profile,
        });
        let request: CreateTask = serde_json::from_value(request).unwrap();
        self.tasks.create(&self.world.bob, request).await.unwrap()
    }

    /// An agent of bob on a task, and its token.
    async fn agent(&self, binding: BindingView) -> (AgentIdentity, String) {
        let request = IssueAgentToken {
            agent_type: AgentType::Pm,
            name: "agent".to_owned(),
            user_id: None,
            expires_in_seconds: None,
            binding,
        };
        let issued = self.world.agents.issue(&self.world.bob, request).await.unwrap();
        let identity = self.world.agents.authenticate(&issued.secret).await.unwrap();
        (identity, issued.secret)
    }

    async fn agent_on(&self, task: &TaskView) -> AgentIdentity {
        let binding = BindingView { task_id: Some(task.id), ..BindingView::default() };
        self.agent(binding).await.0
    }

    fn person(&self, project: ProjectId, profile: Option<ProfileId>) -> ProfileAccess {
        let subject =
            ProfileSubject::Person { project: project.into(), profile: profile.map(NameOrId::Id) };
        ProfileAccess { caller: self.world.bob.clone(), subject }
    }

    async fn remember(
        &self,
        access: ProfileAccess,
        title: &str,
    ) -> Result<MemoryEntryView, ProjectMemoryError> {
        self.memory.add(access, fact(title)).await
    }
}

fn fact(title: &str) -> AddMemoryEntry {
    AddMemoryEntry { kind: MemoryKind::Fact, title: title.to_owned(), text: String::new() }
}

fn of_agent(agent: &AgentIdentity) -> ProfileAccess {
    let source = MemorySource { task_id: agent.task, ..MemorySource::default() };
    let subject = ProfileSubject::Agent {
        own: agent.profile_id,
        named_project: None,
        named_profile: None,
        source,
    };
    ProfileAccess { caller: agent.caller.clone(), subject }
}

async fn a_project_has_a_default_profile_and_its_owner_alone_adds_others() {
    let team = Team::new().await;
    let (bob, admin) = (&team.world.bob, &team.world.admin);
    let (own, of_admin) = (team.project(bob).await, team.project(admin).await);
    let made = team.profile(bob, own, json!({ "tools": ["db.*"] })).await;

    let listed = team.profiles.list(bob, &own.into()).await.unwrap();
    let default = team.profiles.get(bob, &own.into(), None).await.unwrap();

    assert_eq!(listed, [default.clone(), made.clone()]);
    assert_eq!((default.name.as_str(), default.is_default), ("default", true));
    let taken = CreateProfile { name: made.name.clone(), spec: made.spec.clone() };
    let taken = team.profiles.create(bob, &own.into(), taken).await;
    assert!(matches!(taken, Err(ProfileError::Conflict(_))), "{taken:?}");
    let foreign = CreateProfile { name: "mine".to_owned(), spec: made.spec.clone() };
    let foreign = team.profiles.create(bob, &of_admin.into(), foreign).await;
    assert!(matches!(foreign, Err(ProfileError::Project(_))), "{foreign:?}");
    let deleted = team.profiles.delete(bob, &own.into(), &"default".into()).await;
    assert!(matches!(deleted, Err(ProfileError::Conflict(_))), "{deleted:?}");
    // The default profile is narrowed like any other, and a stale change is refused.
    let narrow = UpdateProfile { spec: made.spec, revision: Some(1) };
    let changed = team.profiles.update(bob, &own.into(), &"default".into(), narrow.clone()).await;
    assert_eq!(changed.unwrap().revision, 2);
    let stale = team.profiles.update(bob, &own.into(), &"default".into(), narrow).await;
    assert!(matches!(stale, Err(ProfileError::Conflict(_))), "{stale:?}");
}

async fn all_faults_of_a_profile_are_reported_at_once() {
    let team = Team::new().await;
    let project = team.project(&team.world.bob).await;
    let spec = json!({ "tools": ["a b"], "hosts": ["http://x"], "limits": { "timeout_s": 0 } });
    let request = CreateProfile {
        name: "Not a slug".to_owned(),
        spec: serde_json::from_value(spec).unwrap(),
    };

    let refused = team.profiles.create(&team.world.bob, &project.into(), request).await;

    let Err(ProfileError::Invalid(faults)) = refused else { panic!("{refused:?}") };
    let text = faults.join("\n");
    for part in ["name must", "tools[0]", "hosts:", "limits.timeout_s"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

async fn the_profile_of_a_token_is_that_of_its_task_else_the_default_one_of_its_project() {
    let team = Team::new().await;
    let project = team.project(&team.world.bob).await;
    let web = team.profile(&team.world.bob, project, json!({})).await;
    let (narrow, plain) = (team.task(project, Some(web.id)).await, team.task(project, None).await);
    assert_eq!((narrow.profile_id, plain.profile_id), (Some(web.id), None));

    let of_narrow = team.agent_on(&narrow).await;
    let of_plain = team.agent_on(&plain).await;
    let in_project = BindingView { project_id: Some(project), ..BindingView::default() };
    let (of_project, _) = team.agent(in_project).await;
    let (unbound, _) = team.agent(BindingView::default()).await;

    let default = ProfileId::default_of(project);
    assert_eq!(of_narrow.profile_id, Some(web.id));
    assert_eq!(of_plain.profile_id, Some(default));
    assert_eq!(of_project.profile_id, Some(default));
    let own = team.profiles.get(&team.world.bob, &"default".into(), None).await.unwrap();
    assert_eq!(unbound.profile_id, Some(own.id));
    // The work of a task without a profile and the memory of the project are in one profile.
    team.remember(of_agent(&of_plain), "seen").await.unwrap();
    let page = PageQuery::default();
    let found = team.memory.list(team.person(project, None), None, &page).await.unwrap();
    assert_eq!(found.items[0].title, "seen");
}

async fn a_profile_with_open_tasks_stays_and_its_tokens_end_with_it() {
    let team = Team::new().await;
    let (bob, project) = (&team.world.bob, team.project(&team.world.bob).await);
    let web = team.profile(bob, project, json!({})).await;
    let task = team.task(project, Some(web.id)).await;
    let binding = BindingView { task_id: Some(task.id), ..BindingView::default() };
    let (agent, secret) = team.agent(binding).await;
    team.remember(of_agent(&agent), "soon gone").await.unwrap();

    let refused = team.profiles.delete(bob, &project.into(), &web.id.into()).await;
    assert!(matches!(refused, Err(ProfileError::Conflict(_))), "{refused:?}");
    team.tasks.cancel(bob, &task.id.into()).await.unwrap();
    team.profiles.delete(bob, &project.into(), &web.id.into()).await.unwrap();

    assert!(team.world.agents.authenticate(&secret).await.is_err());
    let gone = team.remember(of_agent(&agent), "again").await;
    assert!(
        matches!(gone, Err(ProjectMemoryError::Access(ProfileAccessError::NoProfile))),
        "{gone:?}"
    );
    let copy = team.world.agents.issue(
        bob,
        IssueAgentToken {
            agent_type: AgentType::Pm,
            name: "late".to_owned(),
            user_id: None,
            expires_in_seconds: None,
            binding: BindingView { task_id: Some(task.id), ..BindingView::default() },
        },
    );
    assert!(copy.await.err().unwrap().to_string().contains("the profile of the task was deleted"));
}

async fn a_profile_of_another_project_is_not_found() {
    let team = Team::new().await;
    let bob = &team.world.bob;
    let (here, there) = (team.project(bob).await, team.project(bob).await);
    let web = team.profile(bob, there, json!({})).await;
    let of_admin = team.project(&team.world.admin).await;

    let by_id = team.profiles.get(bob, &here.into(), Some(&web.id.into())).await;
    assert!(matches!(by_id, Err(ProfileError::NotFound(_))), "{by_id:?}");
    let request = json!({
        "input_mode": "commands", "commands": ["true"], "project": here, "profile": web.name,
    });
    let task = team.tasks.create(bob, serde_json::from_value(request).unwrap()).await;
    assert!(matches!(task, Err(TaskError::Profile(ProfileError::NotFound(_)))), "{task:?}");
    let foreign = team.remember(team.person(of_admin, None), "x").await;
    assert!(
        matches!(foreign, Err(ProjectMemoryError::Access(ProfileAccessError::Project(_)))),
        "{foreign:?}"
    );
    let mixed = team.remember(team.person(here, Some(web.id)), "x").await;
    assert!(
        matches!(mixed, Err(ProjectMemoryError::Access(ProfileAccessError::Profile(_)))),
        "{mixed:?}"
    );
}

async fn an_agent_reads_and_writes_the_memory_of_its_own_profile_as_the_profile_allows() {
    let team = Team::new().await;
    let (bob, project) = (&team.world.bob, team.project(&team.world.bob).await);
    let reader = team.profile(bob, project, json!({ "memory": { "writable": false } })).await;
    let closed = json!({ "memory": { "readable": false, "writable": false } });
    let closed = team.profile(bob, project, closed).await;
    let kept = team.remember(team.person(project, Some(reader.id)), "kept").await.unwrap();
    let agent = team.agent_on(&team.task(project, Some(reader.id)).await).await;
    let shut = team.agent_on(&team.task(project, Some(closed.id)).await).await;

    assert_eq!(team.memory.get(of_agent(&agent), kept.id).await.unwrap(), kept);
    let written = team.remember(of_agent(&agent), "x").await;
    assert!(
        matches!(written, Err(ProjectMemoryError::Access(ProfileAccessError::Forbidden(_)))),
        "{written:?}"
    );
    let read = team.memory.search(of_agent(&shut), "kept", None).await;
    assert!(
        matches!(read, Err(ProjectMemoryError::Access(ProfileAccessError::Forbidden(_)))),
        "{read:?}"
    );
    // What an agent names beside its token opens nothing.
    let mut access = of_agent(&agent);
    if let ProfileSubject::Agent { named_profile, .. } = &mut access.subject {
        *named_profile = Some("default".into());
    }
    let named = team.memory.search(access, "kept", None).await;
    assert!(
        matches!(named, Err(ProjectMemoryError::Access(ProfileAccessError::Profile(_)))),
        "{named:?}"
    );
    let mut access = of_agent(&agent);
    if let ProfileSubject::Agent { named_project, .. } = &mut access.subject {
        *named_project = Some(team.project(bob).await);
    }
    let named = team.memory.search(access, "kept", None).await;
    assert!(
        matches!(named, Err(ProjectMemoryError::Access(ProfileAccessError::Project(_)))),
        "{named:?}"
    );
}

async fn what_an_agent_wrote_is_marked_until_a_person_takes_it_over() {
    let team = Team::new().await;
    let project = team.project(&team.world.bob).await;
    let agent = team.agent_on(&team.task(project, None).await).await;
    let person = || team.person(project, None);
    let written = team.remember(of_agent(&agent), "use make").await.unwrap();
    let own = team.remember(person(), "use just").await.unwrap();
    assert_eq!(written.author, MemoryAuthorKind::Model);
    assert_eq!((own.author, written.source.task_id), (MemoryAuthorKind::Person, agent.task));

    let edit = UpdateMemoryEntry { promote: true, ..UpdateMemoryEntry::default() };
    let refused = team.memory.update(of_agent(&agent), written.id, edit.clone()).await;
    assert!(matches!(refused, Err(ProjectMemoryError::Forbidden(_))), "{refused:?}");
    let title =
        UpdateMemoryEntry { title: Some("make".to_owned()), ..UpdateMemoryEntry::default() };
    let renamed = team.memory.update(person(), written.id, title).await.unwrap();
    assert_eq!((renamed.author, renamed.revision), (MemoryAuthorKind::Model, 2));
    let promoted = team.memory.update(person(), written.id, edit).await.unwrap();
    assert_eq!(
        (promoted.author, promoted.author_id),
        (MemoryAuthorKind::Person, team.world.bob.user)
    );

    for entry in [promoted.id, own.id] {
        let refused = team.memory.delete(of_agent(&agent), entry).await;
        assert!(matches!(refused, Err(ProjectMemoryError::Forbidden(_))), "{refused:?}");
    }
    let again = team.remember(of_agent(&agent), "mine").await.unwrap();
    team.memory.delete(of_agent(&agent), again.id).await.unwrap();
    let stale =
        UpdateMemoryEntry { revision: Some(1), promote: true, ..UpdateMemoryEntry::default() };
    let stale = team.memory.update(person(), written.id, stale).await;
    assert!(matches!(stale, Err(ProjectMemoryError::Conflict(_))), "{stale:?}");
}

async fn a_full_memory_refuses_and_a_rule_writes_once() {
    let team = Team::new().await;
    let project = team.project(&team.world.bob).await;
    let rule = |key: &str| RuleMemory {
        project,
        profile: None,
        user: team.world.bob.user,
        author: MemoryAuthorKind::Rule,
        kind: MemoryKind::Failure,
        title: "a\ntitle".to_owned(),
        text: "é".repeat(5000),
        source: MemorySource::default(),
        key: key.to_owned(),
        now: team.world.clock.now(),
    };
    for _ in 0..2 {
        let memory = rule("one");
        let written: Result<(), cynode_store::Error> =
            team.world.store.write(move |tx| Box::pin(record_by_rule(tx, memory))).await;
        written.unwrap();
    }
    let page = PageQuery::default();
    let found = team.memory.list(team.person(project, None), None, &page).await.unwrap().items;
    assert_eq!((found.len(), found[0].title.as_str()), (1, "a title"));
    assert!(found[0].text.len() <= 4096 && found[0].author == MemoryAuthorKind::Rule);

    for _ in 1..MAX_ENTRIES {
        team.remember(team.person(project, None), "x").await.unwrap();
    }
    let refused = team.remember(team.person(project, None), "one more").await;
    assert!(matches!(refused, Err(ProjectMemoryError::Conflict(_))), "{refused:?}");
    let memory = rule("two");
    let written: Result<(), cynode_store::Error> =
        team.world.store.write(move |tx| Box::pin(record_by_rule(tx, memory))).await;
    written.unwrap();
    let other = team.profile(&team.world.bob, project, json!({})).await;
    team.remember(team.person(project, Some(other.id)), "has room").await.unwrap();
}

async fn secrets_are_redacted_before_they_are_remembered() {
    let team = Team::new().await;
    let project = team.project(&team.world.bob).await;
    let key = "sk-proj-Zk93hQ0vLx72PbNcR5tYw8AeUi4SdGf6";
    let request = AddMemoryEntry {
        kind: MemoryKind::Fact,
        title: format!("the key is {key}"),
        text: format!("use {key}"),
    };

    let added = team.memory.add(team.person(project, None), request).await.unwrap();
    let text = Some(format!("no: {key}"));
    let edit = UpdateMemoryEntry { text, ..UpdateMemoryEntry::default() };
    let edited = team.memory.update(team.person(project, None), added.id, edit).await.unwrap();

    for view in [added, edited] {
        assert!(!format!("{view:?}").contains(key), "{view:?}");
    }
}

/// The memory as people use it.
struct MemoryOfPeople<'a>(&'a Team);

/// The memory as agents use it, each with its own token.
struct MemoryOfAgents<'a>(&'a Team);

async fn search(team: &Team, access: ProfileAccess, query: &str) -> Vec<(String, f64)> {
    let found = team.memory.search(access, query, Some(50)).await.unwrap().items;
    found.into_iter().map(|item| (item.entry.id.to_string(), item.score)).collect()
}

async fn list(team: &Team, access: ProfileAccess) -> BTreeSet<String> {
    let page = PageQuery { limit: Some(200), cursor: None };
    let found = team.memory.list(access, None, &page).await.unwrap().items;
    found.into_iter().map(|entry| entry.id.to_string()).collect()
}

fn entry_id(id: &str) -> MemoryEntryId {
    id.parse().unwrap()
}

impl ProfileData for MemoryOfPeople<'_> {
    type Profile = (ProjectId, ProfileId);

    async fn create_profile(&self) -> Self::Profile {
        // Two profiles of one project are as far apart as those of two.
        let project = match self.0.numbers.load(Ordering::Relaxed) % 3 {
            0 => self.0.project(&self.0.world.bob).await,
            _ => self.0.projects.get(&self.0.world.bob, &"project-0".into()).await.unwrap().id,
        };
        (project, self.0.profile(&self.0.world.bob, project, json!({})).await.id)
    }

    async fn add(&self, (project, profile): &Self::Profile, text: &str) -> String {
        let access = self.0.person(*project, Some(*profile));
        self.0.remember(access, text).await.unwrap().id.to_string()
    }

    async fn search(&self, (project, profile): &Self::Profile, query: &str) -> Vec<(String, f64)> {
        search(self.0, self.0.person(*project, Some(*profile)), query).await
    }

    async fn list(&self, (project, profile): &Self::Profile) -> BTreeSet<String> {
        list(self.0, self.0.person(*project, Some(*profile))).await
    }

    async fn can_read(&self, (project, profile): &Self::Profile, id: &str) -> bool {
        let access = self.0.person(*project, Some(*profile));
        self.0.memory.get(access, entry_id(id)).await.is_ok()
    }

    async fn delete(&self, (project, profile): &Self::Profile, id: &str) -> bool {
        let access = self.0.person(*project, Some(*profile));
        self.0.memory.delete(access, entry_id(id)).await.is_ok()
    }
}

impl ProfileData for MemoryOfAgents<'_> {
    type Profile = AgentIdentity;

    async fn create_profile(&self) -> Self::Profile {
        let (project, profile) = MemoryOfPeople(self.0).create_profile().await;
        self.0.agent_on(&self.0.task(project, Some(profile)).await).await
    }

    async fn add(&self, agent: &Self::Profile, text: &str) -> String {
        self.0.remember(of_agent(agent), text).await.unwrap().id.to_string()
    }

    async fn search(&self, agent: &Self::Profile, query: &str) -> Vec<(String, f64)> {
        search(self.0, of_agent(agent), query).await
    }

    async fn list(&self, agent: &Self::Profile) -> BTreeSet<String> {
        list(self.0, of_agent(agent)).await
    }

    async fn can_read(&self, agent: &Self::Profile, id: &str) -> bool {
        self.0.memory.get(of_agent(agent), entry_id(id)).await.is_ok()
    }

    async fn delete(&self, agent: &Self::Profile, id: &str) -> bool {
        self.0.memory.delete(of_agent(agent), entry_id(id)).await.is_ok()
    }
}

async fn no_operation_of_a_person_crosses_profiles() {
    let team = Team::new().await;
    team.project(&team.world.bob).await;
    for seed in 0..4 {
        check_isolation(&MemoryOfPeople(&team), seed).await;
    }
}

async fn no_operation_of_an_agent_crosses_profiles() {
    let team = Team::new().await;
    team.project(&team.world.bob).await;
    for seed in 10..14 {
        check_isolation(&MemoryOfAgents(&team), seed).await;
    }
}
