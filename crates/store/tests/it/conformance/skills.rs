//! Tests of skills.

use cynode_domain::ids::{ProjectId, SkillId, UserId};
use cynode_domain::skill::SkillScope;
use cynode_store::{Skill, SkillFilter, Store};

use crate::world::{World, at};

fn skill(name: &str, scope: SkillScope, owner: Option<UserId>) -> Skill {
    Skill {
        id: SkillId::generate(),
        name: name.to_owned(),
        scope,
        project: None,
        group: None,
        owner,
        content: format!("# {name}"),
        content_sha256: "00".to_owned(),
        version: 1,
        created_at: at(0),
        updated_at: at(1),
        updated_by: owner,
    }
}

fn of_project(name: &str, project: ProjectId, owner: UserId) -> Skill {
    Skill { project: Some(project), ..skill(name, SkillScope::Project, Some(owner)) }
}

pub(crate) async fn a_skill_is_replaced_by_its_next_version_only(store: Store) {
    let world = World::new(store).await;
    let first = skill("a", SkillScope::User, Some(world.user));
    let row = first.clone();
    write_tx!(world.store, tx => tx.skill_insert(&row).await);
    for version in [1, 3] {
        let stale = Skill { version, ..first.clone() };
        assert!(!write_tx!(world.store, tx => tx.skill_update(&stale).await), "{version}");
    }
    let second = Skill {
        name: "b".to_owned(),
        scope: SkillScope::Project,
        project: Some(world.project),
        content: "other".to_owned(),
        content_sha256: "11".to_owned(),
        version: 2,
        updated_at: at(2),
        updated_by: None,
        ..first.clone()
    };
    let row = second.clone();

    assert!(write_tx!(world.store, tx => tx.skill_update(&row).await));

    assert_eq!(read_tx!(world.store, tx => tx.skill_get(first.id).await), Some(second));
    assert!(write_tx!(world.store, tx => tx.skill_delete(first.id).await));
    assert!(!write_tx!(world.store, tx => tx.skill_delete(first.id).await));
}

pub(crate) async fn a_reader_finds_own_skills_those_of_own_projects_and_global_ones(store: Store) {
    let world = World::new(store).await;
    let (ada, bob) = (world.user, world.other_user("bob").await);
    let all = [
        skill("ada's", SkillScope::User, Some(ada)),
        skill("bob's", SkillScope::User, Some(bob)),
        of_project("bob's in ada's project", world.project, bob),
        skill("bob's for all", SkillScope::Global, Some(bob)),
        skill("the system's", SkillScope::Global, None),
    ];
    for row in all {
        write_tx!(world.store, tx => tx.skill_insert(&row).await);
    }
    let names = async |filter: SkillFilter| -> Vec<String> {
        let found = read_tx!(world.store, tx => tx.skill_list(&filter).await);
        assert!(found.iter().all(|skill| skill.content.is_empty()));
        found.into_iter().map(|skill| skill.name).collect()
    };
    let filter = SkillFilter { limit: 10, ..SkillFilter::default() };

    assert_eq!(
        names(SkillFilter { reader: Some(ada), ..filter }).await,
        ["the system's", "bob's for all", "bob's in ada's project", "ada's"]
    );
    assert_eq!(
        names(SkillFilter { reader: Some(bob), scope: Some(SkillScope::User), ..filter }).await,
        ["bob's"]
    );
    assert_eq!(names(SkillFilter { owner: Some(bob), ..filter }).await.len(), 3);
    assert_eq!(read_tx!(world.store, tx => tx.skill_count(bob).await), 3);
    let newest = SkillFilter { limit: 1, ..filter };
    let id = read_tx!(world.store, tx => tx.skill_list(&newest).await)[0].id;
    assert_eq!(
        names(SkillFilter { before: Some(id), limit: 1, ..filter }).await,
        ["bob's for all"]
    );
}
