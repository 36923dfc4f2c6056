//! Tests of skills.

use cynode_domain::ids::{ProjectId, SkillId, UserId};
use cynode_domain::skill::SkillScope;
use cynode_store::{Skill, SkillFilter, SkillScan, SkillVersion, Store};

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
    let bound = SkillFilter { bound_project: Some(world.project), ..filter };
    assert_eq!(names(bound).await.len(), 5);
    let elsewhere = SkillFilter { bound_project: Some(ProjectId::generate()), ..filter };
    assert_eq!(
        names(SkillFilter { limit: 3, ..elsewhere }).await,
        ["the system's", "bob's for all", "bob's"],
        "a page is filled with the skills of no project"
    );
    assert_eq!(read_tx!(world.store, tx => tx.skill_count(bob).await), 3);
    let newest = SkillFilter { limit: 1, ..filter };
    let id = read_tx!(world.store, tx => tx.skill_list(&newest).await)[0].id;
    assert_eq!(
        names(SkillFilter { before: Some(id), limit: 1, ..filter }).await,
        ["bob's for all"]
    );
}

pub(crate) async fn versions_of_a_skill_stay_until_they_are_pruned_or_it_is_deleted(store: Store) {
    let world = World::new(store).await;
    let row = skill("a", SkillScope::User, Some(world.user));
    let id = row.id;
    let version = |version| SkillVersion {
        skill: id,
        version,
        name: "a".to_owned(),
        content: format!("text {version}"),
        content_sha256: "00".to_owned(),
        author: (version > 1).then_some(world.user),
        reason: (version > 1).then(|| "better".to_owned()),
        created_at: at(version),
    };
    let versions = [version(1), version(2), version(3)];
    write_tx!(world.store, tx => {
        tx.skill_insert(&row).await.unwrap();
        for version in &versions {
            tx.skill_version_insert(version).await.unwrap();
        }
        // The same version again changes nothing.
        tx.skill_version_insert(&SkillVersion { content: "x".to_owned(), ..versions[0].clone() }).await
    });

    let listed = read_tx!(world.store, tx => tx.skill_version_list(id, None, 2).await);
    let older = read_tx!(world.store, tx => tx.skill_version_list(id, Some(2), 2).await);
    let first = read_tx!(world.store, tx => tx.skill_version_get(id, 1).await);
    write_tx!(world.store, tx => tx.skill_version_prune(id, 1).await);
    let pruned = read_tx!(world.store, tx => tx.skill_version_list(id, None, 9).await);
    write_tx!(world.store, tx => tx.skill_delete(id).await);
    let deleted = read_tx!(world.store, tx => tx.skill_version_list(id, None, 9).await);

    let numbers = |all: &[SkillVersion]| all.iter().map(|one| one.version).collect::<Vec<_>>();
    assert_eq!((numbers(&listed), numbers(&older)), (vec![3, 2], vec![1]));
    assert!(listed.iter().all(|version| version.content.is_empty()));
    assert_eq!(first, Some(version(1)));
    assert_eq!((numbers(&pruned), numbers(&deleted)), (vec![3, 2], vec![]));
}

pub(crate) async fn a_verdict_counts_for_its_text_and_its_rules_only(store: Store) {
    let world = World::new(store).await;
    let rows = ["a", "b", "c"].map(|name| skill(name, SkillScope::User, Some(world.user)));
    let [judged, other_text, other_rules] = rows.each_ref().map(|row| row.id);
    let scan = |skill, sha: &str, rules: &str| SkillScan {
        skill,
        content_sha256: sha.to_owned(),
        rules: rules.to_owned(),
        findings: Some("[]".to_owned()),
        released: None,
        scanned_at: at(1),
    };
    let scans =
        [scan(judged, "00", "r1"), scan(other_text, "11", "r1"), scan(other_rules, "00", "r0")];
    write_tx!(world.store, tx => {
        for row in &rows {
            tx.skill_insert(row).await.unwrap();
        }
        for scan in &scans {
            tx.skill_scan_put(scan).await.unwrap();
        }
        Ok::<_, cynode_store::Error>(())
    });

    let due = read_tx!(world.store, tx => tx.skill_list_unscanned("r1", None, 9).await);
    let rest =
        read_tx!(world.store, tx => tx.skill_list_unscanned("r1", Some(other_text), 9).await);
    let passed = SkillScan { findings: None, ..scan(judged, "00", "r1") };
    let row = passed.clone();
    write_tx!(world.store, tx => tx.skill_scan_put(&row).await);
    let quarantined = read_tx!(world.store, tx => tx.skill_quarantine_list(9).await);

    let ids = |all: &[Skill]| all.iter().map(|skill| skill.id).collect::<Vec<_>>();
    assert_eq!((ids(&due), ids(&rest)), (vec![other_text, other_rules], vec![other_rules]));
    assert_eq!(read_tx!(world.store, tx => tx.skill_scan_get(judged).await), Some(passed));
    let quarantined: Vec<SkillId> = quarantined.iter().map(|scan| scan.skill).collect();
    assert_eq!(quarantined, [other_text, other_rules]);
}
