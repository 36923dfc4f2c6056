//! Who may do what with the knowledge of a profile, and what becomes of bad input.

use cynode_domain::error_class::{Classified as _, ErrorClass};
use cynode_domain::ids::{ProfileId, UserId};
use cynode_domain::knowledge::DocumentOutcome;
use cynode_domain::profile::ProfileSpec;
use cynode_domain::project_memory::{MemoryAuthorKind, MemorySource};
use cynode_resources::Caller;
use cynode_resources::profile_access::{ProfileAccess, ProfileSubject};
use cynode_retrieval::{DocumentContent, DocumentSelection, KnowledgeError};
use cynode_wire::page::PageQuery;
use serde_json::json;

use crate::world::KnowledgeWorld;

on_each_engine! {
    a_fault_of_a_document_does_not_keep_the_others_out,
    strangers_and_agents_of_other_profiles_reach_nothing,
    an_agent_writes_to_sources_of_its_own_and_a_person_deletes_them,
    secrets_are_redacted_before_they_are_stored,
    pages_follow_each_other_and_wrong_input_is_named,
    prompts_quote_what_fits_with_citations_unless_agents_may_not_read,
}

fn person(world: &KnowledgeWorld, profile: Option<ProfileId>) -> ProfileAccess {
    let profile = profile.map(Into::into);
    let subject = ProfileSubject::Person { project: world.project.into(), profile };
    ProfileAccess { caller: world.owner.clone(), subject }
}

fn agent(world: &KnowledgeWorld, profile: ProfileId) -> ProfileAccess {
    let subject = ProfileSubject::Agent {
        own: Some(profile),
        named_project: None,
        named_profile: None,
        source: MemorySource::default(),
    };
    ProfileAccess { caller: world.owner.clone(), subject }
}

fn document(path: &str, content: &str) -> DocumentContent {
    DocumentContent { path: path.to_owned(), content: content.to_owned(), kind: None }
}

fn class(result: Result<impl std::fmt::Debug, KnowledgeError>) -> ErrorClass {
    result.unwrap_err().classify().class
}

async fn a_fault_of_a_document_does_not_keep_the_others_out(world: KnowledgeWorld) {
    let knowledge = world.knowledge();
    let documents = vec![
        document("a.md", "A tariff."),
        document("../b.md", "x"),
        document("c.png", "x"),
        document("d.pdf", "%PDF-1.7"),
        document("e.md", "  \n"),
        document("f.txt", "nul \0 inside"),
        document("g.md", "Pilots."),
    ];

    let done = knowledge.ingest(person(&world, None), "docs", documents).await.unwrap();

    let outcomes: Vec<_> = done.items.iter().map(|item| item.outcome).collect();
    let added = Some(DocumentOutcome::Added);
    assert_eq!(outcomes, [added, None, None, None, None, None, added]);
    for (item, word) in
        done.items[1..6].iter().zip(["relative", "type", "pdftotext", "no text", "text"])
    {
        assert!(item.error.as_ref().unwrap().contains(word), "{item:?}");
    }
    // The default profile got its row, and is what a call without a profile is about.
    let default = ProfileId::default_of(world.project);
    assert_eq!(done.profile_id, default);
    let overview = knowledge.overview(person(&world, Some(default))).await.unwrap();
    assert_eq!((overview.documents, overview.sources[0].source.as_str()), (2, "docs"));
}

async fn strangers_and_agents_of_other_profiles_reach_nothing(world: KnowledgeWorld) {
    let knowledge = world.knowledge();
    let (own, other) = (world.profile().await, world.profile().await);
    let tariff = vec![document("a.md", "A tariff.")];
    knowledge.ingest(person(&world, Some(own)), "docs", tariff.clone()).await.unwrap();

    let stranger = ProfileAccess {
        caller: Caller::on_behalf_of(UserId::generate(), "eve".to_owned(), false),
        ..person(&world, Some(own))
    };
    let all = DocumentSelection::default();
    let page = PageQuery::default();
    assert_eq!(
        class(knowledge.search(stranger.clone(), "tariff", None).await),
        ErrorClass::NotFound
    );
    assert_eq!(
        class(knowledge.list(stranger.clone(), all.clone(), &page).await),
        ErrorClass::NotFound
    );
    assert_eq!(class(knowledge.overview(stranger.clone()).await), ErrorClass::NotFound);
    assert_eq!(
        class(knowledge.delete(stranger.clone(), all.clone(), true).await),
        ErrorClass::NotFound
    );
    assert_eq!(class(knowledge.ingest(stranger, "docs", tariff).await), ErrorClass::NotFound);

    let found = knowledge.search(agent(&world, other), "tariff", None).await.unwrap();
    assert_eq!(found.items, []);
    let mut named = agent(&world, other);
    if let ProfileSubject::Agent { named_profile, .. } = &mut named.subject {
        *named_profile = Some(own.into());
    }
    assert_eq!(class(knowledge.search(named, "tariff", None).await), ErrorClass::NotFound);
    let mut without = agent(&world, own);
    if let ProfileSubject::Agent { own, .. } = &mut without.subject {
        *own = None;
    }
    assert_eq!(class(knowledge.search(without, "tariff", None).await), ErrorClass::Forbidden);
    let found = knowledge.search(agent(&world, own), "tariff", None).await.unwrap();
    assert_eq!(found.items[0].citation, "a.md:1");
}

async fn an_agent_writes_to_sources_of_its_own_and_a_person_deletes_them(world: KnowledgeWorld) {
    let knowledge = world.knowledge();
    let profile = world.profile().await;
    let given = vec![document("a.md", "What a person gave.")];
    knowledge.ingest(person(&world, Some(profile)), "docs", given).await.unwrap();
    let forged = vec![document("a.md", "What an agent claims.")];
    let done = knowledge.ingest(agent(&world, profile), "docs", forged.clone()).await.unwrap();

    assert_eq!(done.items[0].outcome, Some(DocumentOutcome::Added));
    let page = PageQuery::default();
    let listed = knowledge.list(person(&world, Some(profile)), DocumentSelection::default(), &page);
    let listed = listed.await.unwrap().items;
    let marks: Vec<_> = listed.iter().map(|it| (it.source.as_str(), it.author)).collect();
    assert_eq!(
        marks,
        [("agent/docs", MemoryAuthorKind::Model), ("docs", MemoryAuthorKind::Person)]
    );
    let docs = DocumentSelection { source: Some("docs".to_owned()), path: None, is_exact: false };
    let deleted = knowledge.delete(agent(&world, profile), docs, false).await.unwrap();
    assert_eq!(deleted.deleted, 1);
    let found = knowledge.search(agent(&world, profile), "what person gave", None).await.unwrap();
    assert_eq!(found.items[0].source, "docs");
    // A person does not write under the name of agents, but removes what agents wrote.
    let as_agent =
        knowledge.ingest(person(&world, Some(profile)), "agent/docs", forged.clone()).await;
    assert_eq!(class(as_agent), ErrorClass::Invalid);
    knowledge.ingest(agent(&world, profile), "agent/docs", forged).await.unwrap();
    let of_agents =
        DocumentSelection { source: Some("agent/docs".to_owned()), path: None, is_exact: false };
    let deleted = knowledge.delete(person(&world, Some(profile)), of_agents, false).await.unwrap();
    assert_eq!(deleted.deleted, 1);
    // A profile that may only be read.
    let spec: ProfileSpec =
        serde_json::from_value(json!({ "memory": { "readable": true, "writable": false } }))
            .unwrap();
    let reading = world.profile_with(spec).await;
    let refused = knowledge.ingest(agent(&world, reading), "x", vec![document("a.md", "x")]).await;
    assert_eq!(class(refused), ErrorClass::Forbidden);
}

async fn secrets_are_redacted_before_they_are_stored(world: KnowledgeWorld) {
    let knowledge = world.knowledge();
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let text = format!("# Access\n\nThe token is {secret} for now.");

    knowledge.ingest(person(&world, None), "docs", vec![document("a.md", &text)]).await.unwrap();

    let found = knowledge.search(person(&world, None), "token access", None).await.unwrap();
    assert!(found.items[0].text.contains("The token is") && !found.items[0].text.contains(secret));
    let rows =
        cynode_testkit::query(&world.database.url, "SELECT text FROM knowledge_passages").await;
    assert!(!rows[0][0].contains(secret), "{rows:?}");
}

async fn pages_follow_each_other_and_wrong_input_is_named(world: KnowledgeWorld) {
    let knowledge = world.knowledge();
    let documents = (0..5).map(|n| document(&format!("{n}.md"), &format!("text {n}"))).collect();
    knowledge.ingest(person(&world, None), "docs", documents).await.unwrap();
    let (mut page, mut paths) = (PageQuery { limit: Some(2), cursor: None }, vec![]);
    loop {
        let all = DocumentSelection::default();
        let found = knowledge.list(person(&world, None), all, &page).await.unwrap();
        paths.extend(found.items.into_iter().map(|item| item.path));
        match found.next_cursor {
            Some(cursor) => page.cursor = Some(cursor),
            None => break,
        }
    }
    assert_eq!(paths, ["0.md", "1.md", "2.md", "3.md", "4.md"]);

    let wrong = PageQuery { limit: None, cursor: Some("x".to_owned()) };
    let all = DocumentSelection::default();
    assert_eq!(
        class(knowledge.list(person(&world, None), all.clone(), &wrong).await),
        ErrorClass::Invalid
    );
    assert_eq!(
        class(knowledge.search(person(&world, None), "x", Some(51)).await),
        ErrorClass::Invalid
    );
    let long = "x".repeat(5000);
    assert_eq!(
        class(knowledge.search(person(&world, None), &long, None).await),
        ErrorClass::Invalid
    );
    assert_eq!(
        class(knowledge.delete(person(&world, None), all, false).await),
        ErrorClass::Invalid
    );
    for source in ["", " x", "a\nb", "a\u{e0041}", "\u{202e}scod", &"x".repeat(201)] {
        let one = vec![document("a.md", "text")];
        let refused = knowledge.ingest(person(&world, None), source, one).await;
        assert_eq!(class(refused), ErrorClass::Invalid, "{source:?}");
    }
    let none = knowledge.ingest(person(&world, None), "docs", vec![]).await;
    assert_eq!(class(none), ErrorClass::Invalid);
}

async fn prompts_quote_what_fits_with_citations_unless_agents_may_not_read(world: KnowledgeWorld) {
    let knowledge = world.knowledge();
    let tariff = document("docs/tariff.md", "# Tariffs\n\nA berth costs 40 euros a day.");
    knowledge.ingest(person(&world, None), "handbook", vec![tariff.clone()]).await.unwrap();

    let found =
        knowledge.quote(world.project, None, "what does a berth cost a day?", 3).await.unwrap();
    assert_eq!(found[0].to_line(), "[handbook/docs/tariff.md:3] A berth costs 40 euros a day.");
    let other = knowledge.quote(world.project, None, "colours of the console", 3).await.unwrap();
    assert_eq!(other, []);
    let spec: ProfileSpec =
        serde_json::from_value(json!({ "memory": { "readable": false, "writable": false } }))
            .unwrap();
    let closed = world.profile_with(spec).await;
    knowledge.ingest(person(&world, Some(closed)), "handbook", vec![tariff]).await.unwrap();
    let hidden = knowledge.quote(world.project, Some(closed), "berth cost", 3).await.unwrap();
    assert_eq!(hidden, []);
}
