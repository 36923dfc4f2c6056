//! Tests of groups and their members.

use cynode_domain::ids::{GroupId, SkillId, UserId};
use cynode_domain::preference::{Scope, ValueType};
use cynode_domain::skill::SkillScope;
use cynode_store::{Group, GroupMember, NewGroupMember, Preference, Skill, SkillFilter, Store};
use serde_json::json;
use uuid::Uuid;

use crate::world::{World, at};

fn group(number: u128, slug: &str) -> Group {
    Group {
        id: GroupId::from(Uuid::from_u128(number)),
        slug: slug.to_owned(),
        display_name: slug.to_uppercase(),
        created_by: None,
        created_at: at(0),
    }
}

async fn made(store: &Store, group: Group) -> GroupId {
    let id = group.id;
    assert!(write_tx!(store, tx => tx.group_insert(&group).await));
    id
}

async fn join(store: &Store, group: GroupId, user: UserId) -> bool {
    let new = NewGroupMember { group, user, by: Some(user), at: at(1) };
    write_tx!(store, tx => tx.member_add(&new).await)
}

pub(crate) async fn a_group_reads_back_and_its_name_is_taken_once(store: Store) {
    let world = World::new(store).await;
    let first = Group { created_by: Some(world.user), ..group(1, "writers") };
    let (id, row) = (first.id, first.clone());

    assert!(write_tx!(world.store, tx => tx.group_insert(&row).await));
    let taken = group(2, "writers");
    assert!(!write_tx!(world.store, tx => tx.group_insert(&taken).await));

    assert_eq!(read_tx!(world.store, tx => tx.group_get(id).await), Some(first.clone()));
    assert_eq!(read_tx!(world.store, tx => tx.group_by_slug("writers").await), Some(first));
    assert_eq!(read_tx!(world.store, tx => tx.group_by_slug("Writers").await), None);
}

pub(crate) async fn groups_of_a_user_are_listed_ascending_whenever_they_were_joined(store: Store) {
    let world = World::new(store).await;
    let (store, ada) = (&world.store, world.user);
    let bob = world.other_user("bob").await;
    let (late, early) = (made(store, group(9, "late")).await, made(store, group(3, "early")).await);

    assert!(join(store, late, ada).await);
    assert!(!join(store, late, ada).await, "once");
    assert!(join(store, early, ada).await);
    assert!(join(store, early, bob).await);

    assert_eq!(read_tx!(store, tx => tx.groups_of(ada).await), [early, late]);
    assert_eq!(read_tx!(store, tx => tx.groups_of(UserId::generate()).await), []);
    let mut all = vec![(ada, early), (ada, late), (bob, early)];
    all.sort_by_key(|(user, group)| (user.as_uuid(), group.as_uuid()));
    assert_eq!(read_tx!(store, tx => tx.membership_list().await), all);
    let members = read_tx!(store, tx => tx.member_list(early, None, 10).await);
    let handles: Vec<&str> = members.iter().map(|member| &*member.handle).collect();
    assert_eq!(handles, ["ada", "bob"]);
    let after = read_tx!(store, tx => tx.member_list(early, Some("ada"), 10).await);
    assert_eq!(after, [GroupMember { user: bob, handle: "bob".to_owned(), added_at: at(1) }]);

    assert!(write_tx!(store, tx => tx.member_remove(early, ada).await));
    assert!(!write_tx!(store, tx => tx.member_remove(early, ada).await));
    assert_eq!(read_tx!(store, tx => tx.groups_of(ada).await), [late]);
}

pub(crate) async fn groups_are_paged_by_name_for_one_member_or_for_all(store: Store) {
    let world = World::new(store).await;
    let (store, ada) = (&world.store, world.user);
    for (number, slug) in [(1, "c"), (2, "a"), (3, "b")] {
        made(store, group(number, slug)).await;
    }
    join(store, group(1, "c").id, ada).await;
    let slugs =
        |found: Vec<Group>| -> Vec<String> { found.into_iter().map(|group| group.slug).collect() };

    assert_eq!(slugs(read_tx!(store, tx => tx.group_list(None, None, 2).await)), ["a", "b"]);
    assert_eq!(slugs(read_tx!(store, tx => tx.group_list(None, Some("b"), 2).await)), ["c"]);
    assert_eq!(slugs(read_tx!(store, tx => tx.group_list(Some(ada), None, 9).await)), ["c"]);
}

pub(crate) async fn a_groups_skill_is_read_by_its_members_and_outlives_the_group(store: Store) {
    let world = World::new(store).await;
    let (store, ada) = (&world.store, world.user);
    let (bob, eve) = (world.other_user("bob").await, world.other_user("eve").await);
    let group = made(store, group(1, "writers")).await;
    join(store, group, bob).await;
    let skill = Skill {
        id: SkillId::generate(),
        name: "ours".to_owned(),
        scope: SkillScope::Group,
        project: None,
        group: Some(group),
        owner: Some(ada),
        content: "# ours".to_owned(),
        content_sha256: "00".to_owned(),
        version: 1,
        created_at: at(0),
        updated_at: at(1),
        updated_by: Some(ada),
    };
    let (id, row) = (skill.id, skill.clone());
    write_tx!(store, tx => tx.skill_insert(&row).await);
    let read_by = async |reader: UserId| {
        let filter = SkillFilter { reader: Some(reader), limit: 9, ..SkillFilter::default() };
        read_tx!(store, tx => tx.skill_list(&filter).await).len()
    };
    assert_eq!((read_by(ada).await, read_by(bob).await, read_by(eve).await), (1, 1, 0));
    assert_eq!(read_tx!(store, tx => tx.skill_get(id).await), Some(skill.clone()));

    assert!(write_tx!(store, tx => tx.group_delete(group).await));
    assert!(!write_tx!(store, tx => tx.group_delete(group).await));

    let left = read_tx!(store, tx => tx.skill_get(id).await).unwrap();
    assert_eq!((left.scope, left.group, left.version), (SkillScope::User, None, 2));
    assert_eq!((read_by(ada).await, read_by(bob).await), (1, 0));
    assert_eq!(read_tx!(store, tx => tx.groups_of(bob).await), []);
}

pub(crate) async fn a_shared_project_is_listed_for_a_member_but_not_among_own_ones(store: Store) {
    let world = World::new(store).await;
    let (store, ada) = (&world.store, world.user);
    let bob = world.other_user("bob").await;
    let group = made(store, group(1, "writers")).await;
    join(store, group, bob).await;
    let shared =
        cynode_store::Project { group: Some(group), ..crate::world::project("shared", ada) };
    let own = crate::world::project("own", bob);
    for project in [shared, own] {
        // The group is written by an update.
        write_tx!(store, tx => {
            tx.project_insert(&project).await?;
            tx.project_update(&project).await
        });
    }
    let slugs = |page: Vec<cynode_store::Project>| {
        page.into_iter().map(|project| project.slug).collect::<Vec<_>>()
    };

    let seen = slugs(read_tx!(store, tx => tx.project_list(Some(bob), None, 10).await));
    let owned = slugs(read_tx!(store, tx => tx.project_list_owned(Some(bob), None, 10).await));
    let all = slugs(read_tx!(store, tx => tx.project_list_owned(None, None, 10).await));

    assert_eq!(seen, ["own", "shared"]);
    assert_eq!(owned, ["own"]);
    assert_eq!(all, ["own", "shared", "engine"]);
}

pub(crate) async fn a_place_of_a_turn_knows_of_preferences_of_the_users_groups(store: Store) {
    let world = World::new(store).await;
    let (store, ada) = (&world.store, world.user);
    let home = crate::world::project("home", ada);
    let home = cynode_store::Project { is_default: true, ..home };
    write_tx!(store, tx => tx.project_insert(&home).await);
    let group = made(store, group(1, "writers")).await;
    let entry = Preference {
        id: cynode_domain::ids::PreferenceId::generate(),
        scope: Scope::Group(group),
        key: "custom.key".to_owned(),
        value: json!("x"),
        value_type: ValueType::String.to_string(),
        version: 1,
        updated_at: at(0),
        updated_by: None,
    };
    write_tx!(store, tx => tx.preference_insert(&entry).await);
    let knows = async || {
        read_tx!(store, tx => tx.default_project_context_get(ada).await).unwrap().has_preferences
    };

    assert!(!knows().await, "another group's do not count");
    join(store, group, ada).await;
    assert!(knows().await);
}
