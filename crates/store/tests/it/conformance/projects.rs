//! Tests of projects.

use cynode_domain::git::ProjectRepository;
use cynode_domain::ids::UserId;
use cynode_store::{Project, Store};

use crate::world::{World, at, project};

pub(crate) async fn a_project_reads_back_as_it_was_made(store: Store) {
    let world = World::new(store).await;
    let repository = ProjectRepository {
        url: "https://git.example.com/loom".to_owned().try_into().unwrap(),
        default_branch: Some("main".parse().unwrap()),
        credential: Some("deploy".to_owned()),
    };
    let repository = Some(repository);
    let made = Project { is_default: true, repository, ..project("loom", world.user) };
    let (id, owner, new) = (made.id, made.owner, made.clone());

    assert!(write_tx!(world.store, tx => tx.project_insert(&new).await));

    assert_eq!(read_tx!(world.store, tx => tx.project_get(id).await), Some(made.clone()));
    assert_eq!(read_tx!(world.store, tx => tx.project_by_slug("loom").await), Some(made.clone()));
    assert_eq!(read_tx!(world.store, tx => tx.project_default(owner).await), Some(made));
    assert_eq!(read_tx!(world.store, tx => tx.project_by_slug("warp").await), None);
}

pub(crate) async fn a_taken_slug_is_not_added_again(store: Store) {
    let world = World::new(store).await;
    let (kept, new) = (world.project, project("engine", world.user));

    assert!(!write_tx!(world.store, tx => tx.project_insert(&new).await));

    let found = read_tx!(world.store, tx => tx.project_by_slug("engine").await);
    assert_eq!(found.unwrap().id, kept);
}

pub(crate) async fn an_owner_has_at_most_one_default_project(store: Store) {
    let world = World::new(store).await;
    let default = |slug, owner: UserId| Project { is_default: true, ..project(slug, owner) };
    let (first, second) = (default("one", world.user), default("two", world.user));
    let (kept, owner) = (first.id, world.user);
    let of_bob = default("three", world.other_user("bob").await);
    assert_eq!(read_tx!(world.store, tx => tx.project_default(owner).await), None);

    assert!(write_tx!(world.store, tx => tx.project_insert(&first).await));
    assert!(!write_tx!(world.store, tx => tx.project_insert(&second).await));
    assert!(write_tx!(world.store, tx => tx.project_insert(&of_bob).await));

    let found = read_tx!(world.store, tx => tx.project_default(owner).await);
    assert_eq!(found.unwrap().id, kept);
}

pub(crate) async fn projects_are_paged_newest_first_for_one_owner_or_for_all(store: Store) {
    let world = World::new(store).await;
    let (user, other) = (world.user, world.other_user("bob").await);
    for (slug, owner) in [("p1", user), ("p2", user), ("p3", other)] {
        write_tx!(world.store, tx => tx.project_insert(&project(slug, owner)).await);
    }
    let slugs = |page: &[Project]| page.iter().map(|p| p.slug.clone()).collect::<Vec<_>>();

    let all = read_tx!(world.store, tx => tx.project_list(None, None, 10).await);
    let page = read_tx!(world.store, tx => tx.project_list(Some(user), None, 2).await);
    let last = page.last().map(|project| project.id);
    let rest = read_tx!(world.store, tx => tx.project_list(Some(user), last, 2).await);

    assert_eq!(slugs(&all), ["p3", "p2", "p1", "engine"]);
    assert_eq!(slugs(&page), ["p2", "p1"]);
    assert_eq!(slugs(&rest), ["engine"]);
}

pub(crate) async fn a_project_update_leaves_slug_and_owner_alone(store: Store) {
    let world = World::new(store).await;
    let (id, owner) = (world.project, world.user);
    let before = read_tx!(world.store, tx => tx.project_get(id).await).unwrap();
    let expected = Project {
        display_name: "Difference".to_owned(),
        description: String::new(),
        is_active: false,
        repository: Some(ProjectRepository {
            url: "/srv/git/engine".to_owned().try_into().unwrap(),
            default_branch: None,
            credential: None,
        }),
        updated_at: at(9),
        ..before
    };
    let given = Project { slug: "other".to_owned(), owner: UserId::generate(), ..expected.clone() };

    write_tx!(world.store, tx => tx.project_update(&given).await);

    let after = read_tx!(world.store, tx => tx.project_get(id).await).unwrap();
    assert_eq!(after, expected);
    assert_eq!(after.owner, owner);
}
