//! What every backend does, on either engine.

use cynode_domain::ids::ProfileId;
use cynode_domain::knowledge::DocumentOutcome;
use cynode_retrieval::{
    BackendError, DatabaseBackend, DocumentSelection, IngestedPassages, NewDocument, SearchHit,
    VectorBackend,
};
use cynode_testkit::{query, reject_writes};

use crate::world::KnowledgeWorld;

on_each_engine! {
    scores_are_ordered_and_follow_similarity,
    a_document_is_replaced_when_its_content_changes_and_left_otherwise,
    a_deleted_document_is_found_by_nothing_and_leaves_no_statistics,
    a_folder_selects_its_documents_and_no_neighbour,
    a_document_is_deleted_without_the_folder_of_its_name,
    what_does_not_fit_or_fails_in_the_middle_leaves_nothing,
    concurrent_changes_of_one_profile_keep_its_statistics,
    a_backend_without_its_tables_is_refused_when_it_is_connected,
    a_frequent_word_is_found_among_many_passages,
    a_deleted_profile_accepts_nothing,
}

async fn upsert(
    world: &KnowledgeWorld,
    profile: ProfileId,
    documents: &[(&str, &str)],
) -> Vec<IngestedPassages> {
    let documents = documents.iter().map(|(path, text)| world.document(path, text)).collect();
    world.backend.upsert(profile, documents).await.unwrap()
}

async fn search(world: &KnowledgeWorld, profile: ProfileId, text: &str) -> Vec<SearchHit> {
    world.backend.search(profile, text.to_owned(), 10).await.unwrap()
}

async fn paths(world: &KnowledgeWorld, profile: ProfileId, text: &str) -> Vec<String> {
    search(world, profile, text).await.into_iter().map(|hit| hit.path).collect()
}

async fn scores_are_ordered_and_follow_similarity(world: KnowledgeWorld) {
    let profile = world.profile().await;
    let documents = [
        ("a.md", "# Leases\n\nA lease lets a node decide alone for ninety seconds."),
        ("b.md", "# Nodes\n\nA node runs jobs in sandboxes."),
        ("c.md", "# Colours\n\nThe console has a dark theme."),
    ];
    upsert(&world, profile, &documents).await;

    let hits = search(&world, profile, "How long does a lease let nodes decide?").await;

    assert_eq!(hits[0].path, "a.md");
    assert_eq!((hits[0].heading.as_str(), hits[0].first_line), ("Leases", 1));
    assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score), "{hits:?}");
    assert!(hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score) && hit.path != "c.md"));
    // Whole words only; a query without words finds nothing; equal data gives equal answers.
    assert_eq!(paths(&world, profile, "lea").await, Vec::<String>::new());
    assert_eq!(paths(&world, profile, "… !").await, Vec::<String>::new());
    assert_eq!(search(&world, profile, "node").await, search(&world, profile, "NODE").await);
}

async fn a_document_is_replaced_when_its_content_changes_and_left_otherwise(world: KnowledgeWorld) {
    let profile = world.profile().await;
    let first = upsert(&world, profile, &[("a.md", "The old tariff."), ("b.md", "Pilots.")]).await;
    let again = upsert(&world, profile, &[("a.md", "The new price."), ("b.md", "Pilots.")]).await;

    let outcomes =
        |all: Vec<IngestedPassages>| all.iter().map(|one| one.outcome).collect::<Vec<_>>();
    assert_eq!(outcomes(first), [DocumentOutcome::Added, DocumentOutcome::Added]);
    assert_eq!(outcomes(again), [DocumentOutcome::Replaced, DocumentOutcome::Unchanged]);
    assert_eq!(paths(&world, profile, "tariff").await, Vec::<String>::new());
    assert_eq!(paths(&world, profile, "price").await, ["a.md"]);
    let totals = world.backend.totals(profile).await.unwrap();
    assert_eq!((totals.documents, totals.passages, totals.words), (2, 2, 4));
    // Twice in one call: the last one stays.
    upsert(&world, profile, &[("c.md", "first"), ("c.md", "second")]).await;
    assert_eq!(paths(&world, profile, "second").await, ["c.md"]);
    assert_eq!(paths(&world, profile, "first").await, Vec::<String>::new());
    world.check_statistics(profile).await;
}

async fn a_deleted_document_is_found_by_nothing_and_leaves_no_statistics(world: KnowledgeWorld) {
    let profile = world.profile().await;
    let texts: Vec<(String, String)> =
        (0..60).map(|n| (format!("{n:02}.md"), format!("crane number{n} turns"))).collect();
    let documents: Vec<(&str, &str)> =
        texts.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    upsert(&world, profile, &documents).await;
    assert_eq!(paths(&world, profile, "number7").await, ["07.md"]);

    let one = DocumentSelection { source: None, path: Some("07.md".to_owned()), is_exact: false };
    assert_eq!(world.backend.delete(profile, one.clone()).await.unwrap(), 1);
    assert_eq!(world.backend.delete(profile, one).await.unwrap(), 0);
    assert_eq!(paths(&world, profile, "number7").await, Vec::<String>::new());
    world.check_statistics(profile).await;

    let all = DocumentSelection::default();
    assert_eq!(world.backend.delete(profile, all).await.unwrap(), 59);
    assert_eq!(paths(&world, profile, "crane").await, Vec::<String>::new());
    world.check_statistics(profile).await;
    let again = upsert(&world, profile, &[("07.md", "crane number7 turns")]).await;
    assert_eq!(again[0].outcome, DocumentOutcome::Added);
    assert_eq!(paths(&world, profile, "number7").await, ["07.md"]);
}

async fn a_document_is_deleted_without_the_folder_of_its_name(world: KnowledgeWorld) {
    let profile = world.profile().await;
    upsert(&world, profile, &[("docs", "one"), ("docs/a.md", "two")]).await;
    let exact = DocumentSelection {
        source: Some("handbook".to_owned()),
        path: Some("docs".to_owned()),
        is_exact: true,
    };

    assert_eq!(world.backend.delete(profile, exact).await.unwrap(), 1);

    assert_eq!(paths(&world, profile, "one two").await, ["docs/a.md"]);
}

async fn a_folder_selects_its_documents_and_no_neighbour(world: KnowledgeWorld) {
    let profile = world.profile().await;
    let documents = [
        ("docs/a.md", "one"),
        ("docs/b/c.md", "two"),
        ("docs-old/a.md", "three"),
        ("docs", "four"),
    ];
    upsert(&world, profile, &documents).await;

    let folder = DocumentSelection {
        source: Some("handbook".to_owned()),
        path: Some("docs".to_owned()),
        is_exact: false,
    };
    let listed = world.backend.list(profile, folder.clone(), None, 10).await.unwrap();
    let listed: Vec<&str> = listed.iter().map(|document| document.path.as_str()).collect();

    assert_eq!(listed, ["docs", "docs/a.md", "docs/b/c.md"]);
    assert_eq!(world.backend.delete(profile, folder).await.unwrap(), 3);
    assert_eq!(paths(&world, profile, "one two three four").await, ["docs-old/a.md"]);
    let page = world.backend.list(profile, DocumentSelection::default(), None, 10).await.unwrap();
    let after = (page[0].source.clone(), page[0].path.clone());
    let rest = world.backend.list(profile, DocumentSelection::default(), Some(after), 10).await;
    assert_eq!(rest.unwrap(), []);
}

async fn what_does_not_fit_or_fails_in_the_middle_leaves_nothing(world: KnowledgeWorld) {
    let profile = world.profile().await;
    upsert(&world, profile, &[("kept.md", "kept")]).await;
    let small = DatabaseBackend::new(world.store.clone()).with_max_bytes(100);
    let large = world.document("large.md", &"many words ".repeat(20));

    let refused = small.upsert(profile, vec![large.clone()]).await;
    assert!(matches!(&refused, Err(BackendError::Quota(text)) if text.contains("100 are allowed")));
    assert_eq!(paths(&world, profile, "many").await, Vec::<String>::new());

    let full = reject_writes(&world.database.url).await;
    let refused = tokio::time::timeout(
        std::time::Duration::from_millis(500),
        world.backend.upsert(profile, vec![large.clone()]),
    );
    assert!(!matches!(refused.await, Ok(Ok(_))), "nothing is stored while nothing can be written");
    full.end().await;

    break_on_marker(&world).await;
    let text = format!("{}\n\n# Broken\n\nmarker", "first words ".repeat(200));
    let broken = world.document("broken.md", &text);
    assert!(broken.chunks.len() > 1);
    assert!(world.backend.upsert(profile, vec![broken]).await.is_err());
    assert_eq!(paths(&world, profile, "first").await, Vec::<String>::new());
    assert_eq!(paths(&world, profile, "kept").await, ["kept.md"]);
    world.check_statistics(profile).await;
}

/// Makes the insertion of a passage with the word `marker` fail.
async fn break_on_marker(world: &KnowledgeWorld) {
    let url = &world.database.url;
    let sql = if url.starts_with("sqlite:") {
        "CREATE TRIGGER broken BEFORE INSERT ON knowledge_passages WHEN new.text LIKE '%marker%'
         BEGIN SELECT RAISE(ABORT, 'broken'); END"
    } else {
        "ALTER TABLE knowledge_passages ADD CHECK (text NOT LIKE '%marker%')"
    };
    // SQLite's statements of a trigger contain semicolons, which `query` separates at.
    match url.strip_prefix("sqlite:") {
        Some(path) => rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap(),
        None => drop(query(url, sql).await),
    }
}

async fn concurrent_changes_of_one_profile_keep_its_statistics(world: KnowledgeWorld) {
    let profile = world.profile().await;
    let change = async |turn: u32| {
        for round in 0..6 {
            let text = format!("shared words of turn {turn} round {round}");
            let documents: Vec<NewDocument> = (0..4)
                .map(|n| world.document(&format!("{n}.md"), &format!("{text} {n}")))
                .collect();
            world.backend.upsert(profile, documents).await.unwrap();
            let one = DocumentSelection {
                source: None,
                path: Some(format!("{}.md", turn % 4)),
                is_exact: false,
            };
            world.backend.delete(profile, one).await.unwrap();
        }
    };

    tokio::join!(change(0), change(1), change(2), change(3));

    world.check_statistics(profile).await;
    let fresh = world.profile().await;
    for document in
        world.backend.list(profile, DocumentSelection::default(), None, 10).await.unwrap()
    {
        let passages = search(&world, profile, "shared words turn round").await;
        let text = passages.iter().find(|hit| hit.path == document.path).unwrap().text.clone();
        upsert(&world, fresh, &[(&document.path, &text)]).await;
    }
    let words = "shared words turn round 0 1 2 3";
    assert_eq!(search(&world, profile, words).await, search(&world, fresh, words).await);
}

async fn a_backend_without_its_tables_is_refused_when_it_is_connected(world: KnowledgeWorld) {
    let table = if world.database.url.starts_with("sqlite:") {
        "DROP TABLE knowledge_index"
    } else {
        "ALTER TABLE knowledge_passages DROP COLUMN terms"
    };
    query(&world.database.url, table).await;

    let refused = world.backend.connect().await;

    assert!(
        matches!(&refused, Err(BackendError::Configuration(text)) if text.contains("backup")),
        "{refused:?}"
    );
}

async fn a_frequent_word_is_found_among_many_passages(world: KnowledgeWorld) {
    let profile = world.profile().await;
    // As long as passages usually are, so that one occurrence is not what they are mainly about.
    let filler = "pilots wait at the quay while berths are cleaned and tugs are fuelled ".repeat(4);
    let documents = (0..5000)
        .map(|n| world.document(&format!("{n:05}.md"), &format!("crane part{n} {filler}")));
    let mut all: Vec<NewDocument> = documents.collect();
    all.push(world.document("main.md", "# Crane\n\nThe crane is a crane; this crane turns."));
    world.backend.upsert(profile, all).await.unwrap();

    assert_eq!(paths(&world, profile, "crane").await[0], "main.md");
    assert_eq!(paths(&world, profile, "crane part4711").await[0], "04711.md");
}

async fn a_deleted_profile_accepts_nothing(world: KnowledgeWorld) {
    let profile = world.profile().await;
    let delete =
        world.store.write(move |tx| Box::pin(async move { tx.profile_delete(profile).await }));
    assert!(delete.await.unwrap());

    let refused = world.backend.upsert(profile, vec![world.document("a.md", "text")]).await;

    assert!(matches!(refused, Err(BackendError::NoProfile)), "{refused:?}");
    assert_eq!(world.backend.delete(profile, DocumentSelection::default()).await.unwrap(), 0);
}
