//! The memory of a profile: who reads and writes it, its marks and its limit.

use cynode_domain::project_memory::{MAX_ENTRIES, MemoryAuthorKind, MemoryKind, MemorySource};
use cynode_resources::profile_access::{ProfileAccessError, ProfileSubject};
use cynode_resources::project_memory::{ProjectMemoryError, RuleMemory, record_by_rule};
use cynode_runtime::clock::Clock as _;
use cynode_wire::page::PageQuery;
use cynode_wire::project_memory::{AddMemoryEntry, UpdateMemoryEntry};
use serde_json::json;

use super::{Team, of_agent};
use crate::engines::on_each_engine;

on_each_engine! {
    an_agent_reads_and_writes_the_memory_of_its_own_profile_as_the_profile_allows,
    what_an_agent_wrote_is_marked_until_a_person_takes_it_over,
    a_full_memory_refuses_and_a_rule_writes_once,
    secrets_are_redacted_before_they_are_remembered,
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
