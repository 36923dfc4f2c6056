//! Profiles of projects, their memory, and the isolation of both.

mod isolation;
mod memory;

use std::sync::atomic::{AtomicUsize, Ordering};

use cynode_blobs::BlobStore;
use cynode_domain::ids::{ProfileId, ProjectId};
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::policy::AgentType;
use cynode_domain::project_memory::{MemoryKind, MemorySource};
use cynode_execution::TaskService;
use cynode_execution::tasks::TaskError;
use cynode_resources::agents::AgentIdentity;
use cynode_resources::profile_access::{ProfileAccess, ProfileAccessError, ProfileSubject};
use cynode_resources::profiles::{ProfileError, Profiles};
use cynode_resources::project_memory::{ProjectMemory, ProjectMemoryError};
use cynode_resources::{Caller, Projects};
use cynode_wire::agents::{BindingView, IssueAgentToken};
use cynode_wire::page::PageQuery;
use cynode_wire::profiles::{CreateProfile, ProfileView, UpdateProfile};
use cynode_wire::project_memory::{AddMemoryEntry, MemoryEntryView};
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
