//! Tests of the project memory.

use cynode_domain::ids::{KnowledgeDocumentId, MemoryEntryId, ProfileId, RunId, TaskId};
use cynode_domain::knowledge::DocumentKind;
use cynode_domain::profile::ProfileSpec;
use cynode_domain::project_memory::{MemoryAuthorKind, MemoryKind, MemorySource};
use cynode_store::{KnowledgeDocument, MemoryEntry, Profile, ProfileContents, Store};

use crate::world::{World, at};

async fn profile(world: &World, name: &str) -> ProfileId {
    let profile = Profile {
        id: ProfileId::generate(),
        project: world.project,
        name: name.to_owned(),
        is_default: false,
        spec: ProfileSpec::default(),
        revision: 1,
        created_by: world.user,
        created_at: at(0),
        updated_at: at(0),
    };
    let id = profile.id;
    write_tx!(world.store, tx => tx.profile_insert(&profile).await);
    id
}

fn entry(world: &World, profile: ProfileId, kind: MemoryKind) -> MemoryEntry {
    MemoryEntry {
        id: MemoryEntryId::generate(),
        project: world.project,
        profile,
        kind,
        title: "Größe".to_owned(),
        text: "the text".to_owned(),
        author: MemoryAuthorKind::Model,
        author_id: world.user,
        source: MemorySource {
            task_id: Some(TaskId::generate()),
            run_id: Some(RunId::generate()),
            step: Some("impl:main".to_owned()),
            agent: Some("developer".to_owned()),
        },
        rule_key: None,
        revision: 1,
        created_at: at(1),
        updated_at: at(2),
    }
}

async fn insert(world: &World, entry: &MemoryEntry) -> bool {
    let row = entry.clone();
    write_tx!(world.store, tx => tx.memory_insert(&row).await)
}

async fn all(world: &World, profile: ProfileId) -> Vec<MemoryEntry> {
    read_tx!(world.store, tx => tx.memory_list_all(profile).await)
}

pub(crate) async fn an_entry_reads_back_in_its_own_profile_only(store: Store) {
    let world = World::new(store).await;
    let (one, two) = (profile(&world, "one").await, profile(&world, "two").await);
    let fact = entry(&world, one, MemoryKind::Fact);
    assert!(insert(&world, &fact).await);

    let id = fact.id;
    assert_eq!(read_tx!(world.store, tx => tx.memory_get(one, id).await), Some(fact.clone()));
    assert_eq!(read_tx!(world.store, tx => tx.memory_get(two, id).await), None);
    assert_eq!(all(&world, two).await, []);
    assert_eq!(read_tx!(world.store, tx => tx.memory_count(two).await), 0);
    assert!(!write_tx!(world.store, tx => tx.memory_delete(two, id, 1).await));
    assert_eq!(all(&world, one).await, [fact]);
    assert!(!write_tx!(world.store, tx => tx.memory_delete(one, id, 2).await), "changed");
    assert!(write_tx!(world.store, tx => tx.memory_delete(one, id, 1).await));
    assert_eq!(read_tx!(world.store, tx => tx.memory_count(one).await), 0);
}

pub(crate) async fn a_rule_writes_once_in_a_profile(store: Store) {
    let world = World::new(store).await;
    let (one, two) = (profile(&world, "one").await, profile(&world, "two").await);
    let ruled = |profile| MemoryEntry {
        rule_key: Some("answer/1".to_owned()),
        ..entry(&world, profile, MemoryKind::Decision)
    };

    assert!(insert(&world, &ruled(one)).await);
    assert!(!insert(&world, &ruled(one)).await);
    assert!(insert(&world, &ruled(two)).await);
    for _ in 0..2 {
        assert!(insert(&world, &entry(&world, one, MemoryKind::Fact)).await, "no rule wrote it");
    }
    assert_eq!(read_tx!(world.store, tx => tx.memory_count(one).await), 3);
}

pub(crate) async fn an_entry_is_replaced_by_its_next_revision_in_its_profile_alone(store: Store) {
    let world = World::new(store).await;
    let (one, two) = (profile(&world, "one").await, profile(&world, "two").await);
    let first = entry(&world, one, MemoryKind::Fact);
    insert(&world, &first).await;
    let next = MemoryEntry {
        kind: MemoryKind::Decision,
        title: "new".to_owned(),
        author: MemoryAuthorKind::Person,
        revision: 2,
        updated_at: at(9),
        ..first.clone()
    };
    let stale = [
        MemoryEntry { profile: two, ..next.clone() },
        MemoryEntry { revision: 1, ..next.clone() },
        MemoryEntry { revision: 3, ..next.clone() },
    ];
    for row in stale {
        assert!(!write_tx!(world.store, tx => tx.memory_update(&row).await));
    }
    assert_eq!(all(&world, one).await, [first]);

    let row = next.clone();
    assert!(write_tx!(world.store, tx => tx.memory_update(&row).await));

    assert_eq!(all(&world, one).await, [next]);
}

pub(crate) async fn entries_go_with_their_profile(store: Store) {
    let world = World::new(store).await;
    let (one, two) = (profile(&world, "one").await, profile(&world, "two").await);
    for of in [one, one, two] {
        insert(&world, &entry(&world, of, MemoryKind::Fact)).await;
    }

    assert!(write_tx!(world.store, tx => tx.profile_delete(one).await));

    assert_eq!(all(&world, one).await, []);
    assert_eq!(all(&world, two).await.len(), 1);
}

pub(crate) async fn entries_are_paged_newest_first_by_kind(store: Store) {
    let world = World::new(store).await;
    let one = profile(&world, "one").await;
    let made = [MemoryKind::Fact, MemoryKind::Decision, MemoryKind::Fact]
        .map(|kind| entry(&world, one, kind));
    for row in &made {
        insert(&world, row).await;
    }
    let ids = |rows: Vec<MemoryEntry>| rows.into_iter().map(|row| row.id).collect::<Vec<_>>();

    let page = ids(read_tx!(world.store, tx => tx.memory_list(one, None, None, 2).await));
    let last = page.last().copied();
    let rest = ids(read_tx!(world.store, tx => tx.memory_list(one, None, last, 2).await));
    let facts =
        read_tx!(world.store, tx => tx.memory_list(one, Some(MemoryKind::Fact), None, 9).await);

    assert_eq!(page, [made[2].id, made[1].id]);
    assert_eq!(rest, [made[0].id]);
    assert_eq!(ids(facts), [made[2].id, made[0].id]);
}

pub(crate) async fn contents_of_a_profile_are_its_own(store: Store) {
    let world = World::new(store).await;
    let (one, two) = (profile(&world, "one").await, profile(&world, "two").await);
    let contents = async |profile| read_tx!(world.store, tx => tx.profile_contents(profile).await);
    insert(&world, &entry(&world, one, MemoryKind::Fact)).await;
    let document = KnowledgeDocument {
        id: KnowledgeDocumentId::generate(),
        profile: two,
        source: "docs".to_owned(),
        path: "a.md".to_owned(),
        kind: DocumentKind::Markdown,
        hash: "00".to_owned(),
        bytes: 1,
        passages: 0,
        author: MemoryAuthorKind::Person,
        created_by: world.user,
        created_at: at(1),
        updated_at: at(1),
    };
    write_tx!(world.store, tx => tx.knowledge_document_insert(&document).await);

    let memory = ProfileContents { has_memory: true, has_documents: false };
    assert_eq!(contents(one).await, memory);
    let documents = ProfileContents { has_memory: false, has_documents: true };
    assert_eq!(contents(two).await, documents);
    assert_eq!(contents(ProfileId::generate()).await, ProfileContents::default());
}
