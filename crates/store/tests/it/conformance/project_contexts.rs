//! Tests of cached contexts of projects.

use cynode_domain::project_context::{ProjectContext, TreeId};
use cynode_store::{MAX_PROJECT_CONTEXTS, Store};
use serde_json::json;

use crate::world::{World, project};

const RULES: u32 = 1;

fn tree(number: u32) -> TreeId {
    format!("{number:040x}").parse().unwrap()
}

fn context(architecture: &str) -> ProjectContext {
    serde_json::from_value(json!({
        "kind": "unknown", "architecture": architecture, "has_tests": false, "has_ci": false,
        "has_ui": false, "has_brief": false, "file_count": 1, "files": ["a"],
    }))
    .unwrap()
}

pub(crate) async fn a_context_is_found_by_its_project_tree_and_rules_only(store: Store) {
    let world = World::new(store).await;
    let (own, other) = (world.project, project("other", world.user));
    let other_id = other.id;
    write_tx!(world.store, tx => tx.project_insert(&other).await);
    let (stored, expected) = (context("a bell"), context("a bell"));

    write_tx!(world.store, tx => tx.project_context_put(own, &tree(1), RULES, &stored).await);

    let found = read_tx!(world.store, tx => tx.project_context_get(own, &tree(1), RULES).await);
    assert_eq!(found, Some(expected));
    for (project, tree, rules) in
        [(other_id, tree(1), RULES), (own, tree(2), RULES), (own, tree(1), RULES + 1)]
    {
        let found =
            read_tx!(world.store, tx => tx.project_context_get(project, &tree, rules).await);
        assert_eq!(found, None);
    }
    let newer = context("a louder bell");
    let expected = newer.clone();
    write_tx!(world.store, tx => tx.project_context_put(own, &tree(1), RULES + 1, &newer).await);
    let found = read_tx!(world.store, tx => tx.project_context_get(own, &tree(1), RULES + 1).await);
    assert_eq!(found, Some(expected));
}

pub(crate) async fn the_contexts_of_a_project_that_were_used_last_stay(store: Store) {
    let world = World::new(store).await;
    let (own, other) = (world.project, project("other", world.user));
    let other_id = other.id;
    write_tx!(world.store, tx => tx.project_insert(&other).await);
    let stored = context("a bell");
    let of_other = stored.clone();
    write_tx!(world.store, tx => tx.project_context_put(other_id, &tree(0), RULES, &of_other).await);

    for number in 0..MAX_PROJECT_CONTEXTS {
        let stored = stored.clone();
        write_tx!(world.store, tx => tx.project_context_put(own, &tree(number), RULES, &stored).await);
    }
    // The oldest one is used again, so that the second one goes.
    let again = stored.clone();
    write_tx!(world.store, tx => tx.project_context_put(own, &tree(0), RULES, &again).await);
    let one_more = stored.clone();
    write_tx!(world.store, tx => tx.project_context_put(own, &tree(99), RULES, &one_more).await);

    for (number, is_there) in [(0, true), (1, false), (2, true), (99, true)] {
        let found =
            read_tx!(world.store, tx => tx.project_context_get(own, &tree(number), RULES).await);
        assert_eq!(found.is_some(), is_there, "{number}");
    }
    let found =
        read_tx!(world.store, tx => tx.project_context_get(other_id, &tree(0), RULES).await);
    assert_eq!(found, Some(stored));
}

pub(crate) async fn a_context_that_is_too_long_is_not_stored(store: Store) {
    let world = World::new(store).await;
    let own = world.project;
    let long = ProjectContext { guide: Some("x".repeat(300_000)), ..context("a bell") };

    write_tx!(world.store, tx => tx.project_context_put(own, &tree(1), RULES, &long).await);

    let found = read_tx!(world.store, tx => tx.project_context_get(own, &tree(1), RULES).await);
    assert_eq!(found, None);
}
