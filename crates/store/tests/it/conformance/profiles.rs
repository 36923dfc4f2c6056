//! Tests of profiles.

use cynode_domain::ids::{ProfileId, ProjectId};
use cynode_domain::profile::ProfileSpec;
use cynode_domain::status::TaskStatus;
use cynode_store::{AgentToken, NewTask, Profile, Store};
use serde_json::json;

use crate::conformance::agent_tokens::token;
use crate::world::{World, at, project};

fn profile(world: &World, project: ProjectId, name: &str) -> Profile {
    Profile {
        id: ProfileId::generate(),
        project,
        name: name.to_owned(),
        is_default: false,
        spec: serde_json::from_value(json!({ "tools": ["db.*"], "limits": { "timeout_s": 3 } }))
            .unwrap(),
        revision: 1,
        created_by: world.user,
        created_at: at(0),
        updated_at: at(1),
    }
}

async fn insert(world: &World, profile: &Profile) -> bool {
    let row = profile.clone();
    write_tx!(world.store, tx => tx.profile_insert(&row).await)
}

async fn other_project(world: &World) -> ProjectId {
    let other = project("attic", world.user);
    let id = other.id;
    write_tx!(world.store, tx => tx.project_insert(&other).await);
    id
}

pub(crate) async fn a_profile_is_found_in_its_own_project_only(store: Store) {
    let world = World::new(store).await;
    let (here, there) = (world.project, other_project(&world).await);
    let (one, same) = (profile(&world, here, "web"), profile(&world, there, "web"));
    assert!(insert(&world, &one).await && insert(&world, &same).await);

    assert!(!insert(&world, &profile(&world, here, "web")).await, "the name is taken");

    for (project, expected) in [(here, &one), (there, &same)] {
        let found = read_tx!(world.store, tx => tx.profile_by_name(project, "web").await);
        assert_eq!(found.as_ref(), Some(expected));
        let listed = read_tx!(world.store, tx => tx.profile_list(project).await);
        assert_eq!(listed, std::slice::from_ref(expected));
    }
    let (id, nowhere) = (one.id, ProjectId::generate());
    assert_eq!(read_tx!(world.store, tx => tx.profile_get(id).await), Some(one.clone()));
    assert_eq!(read_tx!(world.store, tx => tx.profile_by_name(nowhere, "web").await), None);
    assert_eq!(read_tx!(world.store, tx => tx.profile_by_name(here, "WEB").await), None);
    assert_eq!(read_tx!(world.store, tx => tx.profile_count(here).await), 1);
    let names = read_tx!(world.store, tx => tx.profile_names(&[id, ProfileId::generate()]).await);
    assert_eq!(names.into_iter().collect::<Vec<_>>(), [(one.id, "web".to_owned())]);
    let open = Profile { spec: ProfileSpec::default(), ..profile(&world, here, "open") };
    insert(&world, &open).await;
    let narrowing = read_tx!(world.store, tx => tx.profile_list_narrowing().await);
    let found: Vec<_> = narrowing.iter().map(|found| (found.id, found.spec.clone())).collect();
    assert_eq!(found, [(one.id, Some(one.spec.clone())), (same.id, Some(same.spec.clone()))]);
}

pub(crate) async fn a_project_has_one_default_profile_that_stays(store: Store) {
    let world = World::new(store).await;
    let here = world.project;
    let default = |name| Profile {
        id: ProfileId::default_of(here),
        is_default: true,
        ..profile(&world, here, name)
    };
    assert_eq!(read_tx!(world.store, tx => tx.profile_default(here).await), None);

    assert!(insert(&world, &default("default")).await);
    let second = Profile { id: ProfileId::generate(), ..default("second") };
    assert!(!insert(&world, &second).await);

    let id = ProfileId::default_of(here);
    assert!(!write_tx!(world.store, tx => tx.profile_delete(id).await));
    let found = read_tx!(world.store, tx => tx.profile_default(here).await);
    assert_eq!(found, Some(default("default")));
}

pub(crate) async fn a_profile_is_replaced_by_its_next_revision_alone(store: Store) {
    let world = World::new(store).await;
    let first = profile(&world, world.project, "web");
    insert(&world, &first).await;
    for revision in [1, 3] {
        let stale = Profile { revision, ..first.clone() };
        assert!(!write_tx!(world.store, tx => tx.profile_update(&stale).await), "{revision}");
    }
    let next = Profile {
        revision: 2,
        name: "net".to_owned(),
        spec: serde_json::from_value(json!({ "tools": [] })).unwrap(),
        updated_at: at(5),
        ..first
    };

    let (row, id) = (next.clone(), next.id);
    assert!(write_tx!(world.store, tx => tx.profile_update(&row).await));

    assert_eq!(read_tx!(world.store, tx => tx.profile_get(id).await), Some(next));
}

pub(crate) async fn deleting_a_profile_revokes_its_tokens_and_no_others(store: Store) {
    let world = World::new(store).await;
    let (one, two) = (profile(&world, world.project, "one"), profile(&world, world.project, "two"));
    let (id, other) = (one.id, two.id);
    insert(&world, &one).await;
    insert(&world, &two).await;
    for (hash, profile) in [(1, Some(id)), (2, Some(other)), (3, None)] {
        let token = AgentToken { profile_id: profile, ..token(world.user, hash) };
        write_tx!(world.store, tx => tx.agent_token_insert(&token).await);
    }
    assert!(write_tx!(world.store, tx => tx.profile_hold(id).await));

    assert!(write_tx!(world.store, tx => tx.profile_delete(id).await));

    assert!(!write_tx!(world.store, tx => tx.profile_delete(id).await));
    assert!(!write_tx!(world.store, tx => tx.profile_hold(id).await));
    for (hash, is_revoked) in [(1, true), (2, false), (3, false)] {
        let found = read_tx!(world.store, tx => tx.agent_token_by_hash(&[hash; 32]).await).unwrap();
        assert_eq!(found.revoked_at.is_some(), is_revoked, "{hash}");
    }
}

pub(crate) async fn a_profile_is_in_use_until_its_tasks_have_ended(store: Store) {
    let world = World::new(store).await;
    let web = profile(&world, world.project, "web");
    let id = web.id;
    insert(&world, &web).await;
    assert!(!read_tx!(world.store, tx => tx.profile_has_open_tasks(id).await));

    let task = world.add(NewTask { profile_id: Some(id), ..world.new_task("t") }).await.unwrap();

    assert!(read_tx!(world.store, tx => tx.profile_has_open_tasks(id).await));
    let stored = read_tx!(world.store, tx => tx.task_get(task).await).unwrap();
    assert_eq!(stored.spec.profile_id, Some(id));
    write_tx!(world.store, tx => tx.task_set_status(task, TaskStatus::Canceled, None).await);
    assert!(!read_tx!(world.store, tx => tx.profile_has_open_tasks(id).await));
}
