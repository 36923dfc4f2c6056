//! Tests of access rules.

use cynode_domain::ids::{GroupId, ProjectId, RuleId, ServerId, TaskId, UserId};
use cynode_domain::policy::rules::{AccessRule, Conditions, RuleSubject};
use cynode_domain::policy::{AgentType, Effect, Principal};
use cynode_store::{Store, StoredRule};

use crate::world::at;

pub(super) fn rule(subject: RuleSubject) -> StoredRule {
    StoredRule {
        rule: AccessRule {
            id: RuleId::generate(),
            subject,
            action: "mcp.tool.invoke".parse().unwrap(),
            resource_type: "mcp.tool".parse().unwrap(),
            resource: "db.*".parse().unwrap(),
            server: Some(ServerId::generate()),
            effect: Effect::Deny,
            priority: -3,
            conditions: Conditions { callers: vec![Principal::PM, Principal::User] },
        },
        updated_by: Some(UserId::generate()),
        created_at: at(1),
        updated_at: at(2),
    }
}

pub(crate) async fn a_rule_of_every_kind_of_subject_reads_back_as_written(store: Store) {
    let rules: Vec<_> = [
        RuleSubject::System,
        RuleSubject::User(UserId::generate()),
        RuleSubject::Group(GroupId::generate()),
        RuleSubject::Project(ProjectId::generate()),
        RuleSubject::Task(TaskId::generate()),
        RuleSubject::Agent(AgentType::Sandbox),
    ]
    .into_iter()
    .map(rule)
    .collect();

    for rule in rules.clone() {
        write_tx!(store, tx => tx.rule_insert(&rule).await);
    }

    assert_eq!(read_tx!(store, tx => tx.rule_list().await), rules);
    let id = rules[3].rule.id;
    assert_eq!(read_tx!(store, tx => tx.rule_get(id).await).as_ref(), Some(&rules[3]));
}

pub(crate) async fn a_removed_rule_is_gone(store: Store) {
    let made = rule(RuleSubject::System);
    let id = made.rule.id;
    write_tx!(store, tx => tx.rule_insert(&made).await);

    assert!(write_tx!(store, tx => tx.rule_delete(id).await));
    assert!(!write_tx!(store, tx => tx.rule_delete(id).await));
    assert_eq!(read_tx!(store, tx => tx.rule_get(id).await), None);
}
