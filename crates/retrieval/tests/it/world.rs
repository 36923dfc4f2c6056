//! A database with a user, a project and profiles.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cynode_domain::ids::{ProfileId, ProjectId, UserId};
use cynode_domain::profile::ProfileSpec;
use cynode_domain::project_memory::MemoryAuthorKind;
use cynode_knowledge::{chunk_document, content_hash, kind_of_path};
use cynode_resources::Caller;
use cynode_retrieval::{DatabaseBackend, Knowledge, NewDocument, VectorBackend as _};
use cynode_runtime::clock::{Clock as _, ManualClock, SharedClock};
use cynode_store::{Profile, Project, Store, User};
use cynode_testkit::{TestDatabase, query};

/// Makes each function of a [`KnowledgeWorld`] a test on either engine.
macro_rules! on_each_engine {
    ($($test:ident,)+) => {
        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    let database = cynode_testkit::sqlite_database();
                    super::$test(crate::world::KnowledgeWorld::open(database).await).await;
                }
            )+
        }

        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    let database = cynode_testkit::migrated_postgres_database().await;
                    super::$test(crate::world::KnowledgeWorld::open(database).await).await;
                }
            )+
        }
    };
}

pub(crate) struct KnowledgeWorld {
    pub(crate) store: Store,
    pub(crate) backend: DatabaseBackend,
    pub(crate) clock: SharedClock,
    pub(crate) owner: Caller,
    pub(crate) project: ProjectId,
    numbers: AtomicU32,
    pub(crate) database: TestDatabase,
}

impl KnowledgeWorld {
    pub(crate) async fn open(database: TestDatabase) -> Self {
        let store = Store::open(&database.url).await.unwrap();
        let clock = ManualClock::new("2026-11-19T12:00:00Z".parse().unwrap());
        let user = User {
            id: UserId::generate(),
            handle: "ada".to_owned(),
            is_admin: false,
            is_active: true,
            created_at: clock.now(),
        };
        let owner = Caller::on_behalf_of(user.id, user.handle.clone(), false);
        let project = Project {
            id: ProjectId::generate(),
            slug: "engine".to_owned(),
            display_name: "Engine".to_owned(),
            description: String::new(),
            owner: user.id,
            group: None,
            is_default: false,
            is_active: true,
            repository: None,
            created_at: clock.now(),
            updated_at: clock.now(),
        };
        let id = project.id;
        store
            .write(move |tx| {
                Box::pin(async move {
                    tx.user_insert(&user).await?;
                    tx.project_insert(&project).await
                })
            })
            .await
            .unwrap();
        let backend = DatabaseBackend::new(store.clone());
        backend.connect().await.unwrap();
        let (clock, numbers): (SharedClock, _) = (Arc::new(clock), AtomicU32::new(0));
        Self { store, backend, clock, owner, project: id, numbers, database }
    }

    pub(crate) fn number(&self) -> u32 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) async fn profile(&self) -> ProfileId {
        self.profile_with(ProfileSpec::default()).await
    }

    pub(crate) async fn profile_with(&self, spec: ProfileSpec) -> ProfileId {
        let profile = Profile {
            id: ProfileId::generate(),
            project: self.project,
            name: format!("profile-{}", self.number()),
            is_default: false,
            spec,
            revision: 1,
            created_by: self.owner.user,
            created_at: self.clock.now(),
            updated_at: self.clock.now(),
        };
        let id = profile.id;
        let insert =
            self.store.write(move |tx| Box::pin(async move { tx.profile_insert(&profile).await }));
        assert!(insert.await.unwrap());
        id
    }

    pub(crate) fn knowledge(&self) -> Knowledge {
        Knowledge::new(self.store.clone(), Arc::new(self.backend.clone()), self.clock.clone())
    }

    /// A document of the source `handbook`.
    pub(crate) fn document(&self, path: &str, content: &str) -> NewDocument {
        let kind = kind_of_path(path).unwrap();
        NewDocument {
            source: "handbook".to_owned(),
            path: path.to_owned(),
            kind,
            hash: content_hash(content),
            bytes: u32::try_from(content.len()).unwrap(),
            author: MemoryAuthorKind::Person,
            created_by: self.owner.user,
            now: self.clock.now(),
            chunks: chunk_document(kind, content).unwrap(),
        }
    }

    /// Checks that totals and terms are those of the stored passages.
    pub(crate) async fn check_statistics(&self, profile: ProfileId) {
        let url = &self.database.url;
        let passages =
            format!("SELECT count(*) FROM knowledge_passages WHERE profile_id = '{profile}'");
        let of_documents = format!(
            "SELECT coalesce(sum(passages), 0) FROM knowledge_documents WHERE profile_id = '{profile}'"
        );
        let totals = format!(
            "SELECT coalesce(sum(passages), 0) FROM knowledge_totals WHERE profile_id = '{profile}'"
        );
        let counted = query(url, &passages).await;
        assert_eq!(query(url, &of_documents).await, counted);
        assert_eq!(query(url, &totals).await, counted);
        let stale = format!(
            "SELECT count(*) FROM knowledge_terms WHERE profile_id = '{profile}' AND passages <= 0"
        );
        assert_eq!(query(url, &stale).await, [["0"]]);
        if counted == [["0"]] {
            let terms =
                format!("SELECT count(*) FROM knowledge_terms WHERE profile_id = '{profile}'");
            assert_eq!(query(url, &terms).await, [["0"]]);
        }
    }
}
