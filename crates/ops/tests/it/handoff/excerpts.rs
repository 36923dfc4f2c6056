//! The excerpts of a project in handoffs, with a scripted search of its documents.

use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering};

use cynode_domain::ids::{KnowledgeDocumentId, ProfileId, ProjectId};
use cynode_domain::knowledge::DocumentKind;
use cynode_domain::project_memory::{MemoryAuthorKind, MemoryKind, MemorySource};
use cynode_resources::profile_access::{ProfileAccess, ProfileSubject};
use cynode_resources::profiles::Profiles;
use cynode_resources::project_excerpts::{ExcerptFinder, PassageSource};
use cynode_resources::project_memory::ProjectMemory;
use cynode_store::KnowledgeDocument;
use cynode_wire::handoff::PlanHandoff;
use cynode_wire::profiles::CreateProfile;
use cynode_wire::project_memory::AddMemoryEntry;
use cynode_wire::tasks::CreateTask;

use super::*;

on_each_engine! {
    a_chat_turn_quotes_the_memory_that_fits_and_says_what_a_model_wrote,
    a_plan_quotes_the_profile_of_its_task_unless_its_agents_may_not_read,
    a_search_that_fails_or_hangs_fails_no_turn,
    a_profile_without_memory_and_documents_is_not_searched,
}

/// Documents whose search behaves as scripted, and counts.
struct ScriptedPassages {
    behaviour: PassageBehaviour,
    searches: AtomicU32,
}

#[derive(Debug, Clone, Copy)]
enum PassageBehaviour {
    Find,
    Fail,
    Hang,
}

#[async_trait]
impl PassageSource for ScriptedPassages {
    async fn quote_passages(
        &self,
        _: ProjectId,
        _: ProfileId,
        _: &str,
        _: u32,
    ) -> Result<Vec<String>, Box<dyn Error + Send + Sync>> {
        self.searches.fetch_add(1, Ordering::Relaxed);
        match self.behaviour {
            PassageBehaviour::Find => Ok(vec!["[handbook/a.md:1] hello".to_owned()]),
            PassageBehaviour::Fail => Err("the index is gone".into()),
            PassageBehaviour::Hang => std::future::pending().await,
        }
    }
}

impl HandoffFixture {
    async fn with_passages(behaviour: PassageBehaviour) -> (Self, Arc<ScriptedPassages>) {
        let options = HandoffOptions {
            excerpts_within: Duration::from_millis(500),
            ..HandoffOptions::default()
        };
        let mut handing = Self::with(ScriptedHandoffTarget::default(), options).await;
        let passages = Arc::new(ScriptedPassages { behaviour, searches: AtomicU32::new(0) });
        let finder = ExcerptFinder::new(handing.fixture.world.store.clone());
        let finder = finder.with_passages(passages.clone());
        handing.handoffs = handing.handoffs.clone().with_excerpts(finder);
        (handing, passages)
    }

    fn project(&self) -> ProjectId {
        self.fixture.task.project_id
    }

    async fn remember(&self, subject: ProfileSubject, title: &str) {
        let world = &self.fixture.world;
        let memory = ProjectMemory::new(world.store.clone(), world.clock.clone());
        let access = ProfileAccess { caller: self.fixture.bob().clone(), subject };
        let (kind, title) = (MemoryKind::Fact, title.to_owned());
        memory.add(access, AddMemoryEntry { kind, title, text: String::new() }).await.unwrap();
    }

    fn person(&self, profile: Option<ProfileId>) -> ProfileSubject {
        ProfileSubject::Person { project: self.project().into(), profile: profile.map(Into::into) }
    }

    /// A document in the default profile of the project.
    async fn add_document(&self) {
        let now = "2026-11-19T12:00:00Z".parse().unwrap();
        let document = KnowledgeDocument {
            id: KnowledgeDocumentId::generate(),
            profile: ProfileId::default_of(self.project()),
            source: "handbook".to_owned(),
            path: "a.md".to_owned(),
            kind: DocumentKind::Markdown,
            hash: "00".to_owned(),
            bytes: 1,
            passages: 0,
            author: MemoryAuthorKind::Person,
            created_by: self.fixture.bob().user,
            created_at: now,
            updated_at: now,
        };
        let store = &self.fixture.world.store;
        let added: Result<_, cynode_store::Error> = store
            .write(move |tx| Box::pin(async move { tx.knowledge_document_insert(&document).await }))
            .await;
        added.unwrap();
    }

    /// The excerpts of the newest handoff.
    fn excerpts(&self) -> Value {
        self.handed().last().unwrap()["context"]["excerpts"].clone()
    }
}

async fn a_chat_turn_quotes_the_memory_that_fits_and_says_what_a_model_wrote() {
    let handing = HandoffFixture::to(ScriptedHandoffTarget::default()).await;
    handing.remember(handing.person(None), "say hello in the morning").await;
    handing.remember(handing.person(None), "dates are in UTC").await;
    let model = ProfileSubject::Agent {
        own: Some(ProfileId::default_of(handing.project())),
        named_project: None,
        named_profile: None,
        source: MemorySource::default(),
    };
    handing.remember(model, "everybody says hello twice to friends").await;

    let _open = handing.handoffs.chat(&handing.subject(), hello()).await.unwrap();

    let entries = json!([
        "fact by a person: say hello in the morning. ",
        "fact by a model, unconfirmed: everybody says hello twice to friends. ",
    ]);
    assert_eq!(handing.excerpts(), json!({ "memory": entries }));
    let earlier = Turn { role: TurnRole::User, content: "hello".to_owned() };
    let newest = Turn { role: TurnRole::User, content: "what about dates?".to_owned() };
    let body = ChatHandoff { messages: vec![earlier, newest] };
    let _open = handing.handoffs.chat(&handing.subject(), body).await.unwrap();
    assert_eq!(
        handing.excerpts(),
        json!({ "memory": ["fact by a person: dates are in UTC. "] }),
        "only the newest message counts"
    );
}

async fn a_plan_quotes_the_profile_of_its_task_unless_its_agents_may_not_read() {
    let planned = || {
        Ok(
            json!({ "outcome": { "kind": "planned", "steps": [], "assumptions": [] }, "decisions": [] }),
        )
    };
    let manager = ScriptedHandoffTarget {
        says: Mutex::new(vec![planned(), planned(), planned()]),
        ..ScriptedHandoffTarget::default()
    };
    let handing = HandoffFixture::to(manager).await;
    let world = &handing.fixture.world;
    let profiles = Profiles::new(world.store.clone(), world.clock.clone(), world.signals());
    let plan_in = async |profile: Option<&str>| {
        let request = json!({ "commands": ["true"], "input_mode": "commands", "profile": profile });
        let request: CreateTask = serde_json::from_value(request).unwrap();
        let task = handing.fixture.tasks.create(handing.fixture.bob(), request).await.unwrap().id;
        let subject = HandoffSubject { task: Some(task), ..handing.subject() };
        let body = PlanHandoff { prompt: "Ship the release".to_owned(), expected_outputs: vec![] };
        handing.handoffs.plan(&subject, body).await.unwrap();
        handing.excerpts()
    };
    let mut made = vec![];
    for (name, spec) in [
        ("careful", json!({})),
        ("blind", json!({ "memory": { "readable": false, "writable": false } })),
    ] {
        let spec = serde_json::from_value(spec).unwrap();
        let create = CreateProfile { name: name.to_owned(), spec };
        let project = handing.project().into();
        made.push(profiles.create(handing.fixture.bob(), &project, create).await.unwrap().id);
    }
    handing.remember(handing.person(None), "ship on friday").await;
    handing.remember(handing.person(Some(made[0])), "ship never").await;
    handing.remember(handing.person(Some(made[1])), "ship blindly").await;

    assert_eq!(plan_in(None).await, json!({ "memory": ["fact by a person: ship on friday. "] }));
    let careful = plan_in(Some("careful")).await;
    assert_eq!(careful, json!({ "memory": ["fact by a person: ship never. "] }));
    assert_eq!(plan_in(Some("blind")).await, Value::Null);
}

async fn a_search_that_fails_or_hangs_fails_no_turn() {
    let passage = json!(["[handbook/a.md:1] hello"]);
    for (behaviour, knowledge) in [
        (PassageBehaviour::Find, passage),
        (PassageBehaviour::Fail, Value::Null),
        (PassageBehaviour::Hang, Value::Null),
    ] {
        let (handing, passages) = HandoffFixture::with_passages(behaviour).await;
        handing.add_document().await;

        let _open = handing.handoffs.chat(&handing.subject(), hello()).await.unwrap();

        assert_eq!(handing.excerpts()["knowledge"], knowledge, "{behaviour:?}");
        assert_eq!(passages.searches.load(Ordering::Relaxed), 1, "{behaviour:?}");
    }
}

async fn a_profile_without_memory_and_documents_is_not_searched() {
    let (handing, passages) = HandoffFixture::with_passages(PassageBehaviour::Find).await;

    let _open = handing.handoffs.chat(&handing.subject(), hello()).await.unwrap();

    assert_eq!(handing.excerpts(), Value::Null);
    assert_eq!(passages.searches.load(Ordering::Relaxed), 0);
    // Other handoffs quote nothing.
    handing.add_document().await;
    handing.manager.says.lock().unwrap().push(Ok(retried()));
    handing.continue_run().await.unwrap();
    assert_eq!(passages.searches.load(Ordering::Relaxed), 0);
}
