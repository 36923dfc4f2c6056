//! Property tests of rule evaluation.

use proptest::prelude::*;
use uuid::Uuid;

use super::*;

fn id<T: From<Uuid>>(number: u8) -> T {
    T::from(Uuid::from_u128(u128::from(number)))
}

fn subject() -> impl Strategy<Value = RuleSubject> {
    prop_oneof![
        Just(RuleSubject::System),
        (0_u8..3).prop_map(|n| RuleSubject::User(id(n))),
        (0_u8..3).prop_map(|n| RuleSubject::Group(id(n))),
        (0_u8..3).prop_map(|n| RuleSubject::Project(id(n))),
        (0_u8..3).prop_map(|n| RuleSubject::Task(id(n))),
        prop::sample::select(AgentType::ALL).prop_map(RuleSubject::Agent),
    ]
}

fn pattern(choices: &'static [&'static str]) -> impl Strategy<Value = Pattern> {
    prop::sample::select(choices).prop_map(|text| text.parse().unwrap())
}

fn rule() -> impl Strategy<Value = AccessRule> {
    let what = (pattern(&["*", INVOKE, "web.fetch"]), pattern(&["*", TOOL, "web.domain"]));
    let which = pattern(&["*", "db.*", "db.task.get", "*.get", "files.read"]);
    let callers = prop::collection::vec(prop::sample::select(Principal::ALL), 0..3);
    (any::<u8>(), subject(), what, which, (any::<bool>(), -2_i64..3, callers)).prop_map(
        |(number, subject, (action, resource_type), resource, (allows, priority, callers))| {
            AccessRule {
                id: id(number),
                subject,
                action,
                resource_type,
                resource,
                server: None,
                effect: if allows { Effect::Allow } else { Effect::Deny },
                priority,
                conditions: Conditions { callers },
            }
        },
    )
}

/// An owned access request.
#[derive(Debug, Clone)]
struct OwnedAccessRequest {
    caller: Principal,
    user: Option<UserId>,
    groups: Vec<GroupId>,
    project: Option<ProjectId>,
    task: Option<TaskId>,
    resource: &'static str,
}

impl OwnedAccessRequest {
    fn access(&self) -> Access<'_> {
        Access {
            caller: self.caller,
            user: self.user,
            groups: &self.groups,
            project: self.project,
            task: self.task,
            action: INVOKE,
            resource_type: TOOL,
            resource: self.resource,
            server: None,
        }
    }
}

fn attempt() -> impl Strategy<Value = OwnedAccessRequest> {
    let bound = || prop::option::of(0_u8..3);
    (
        prop::sample::select(Principal::ALL),
        bound(),
        prop::collection::vec(0_u8..3, 0..3),
        (bound(), bound()),
        prop::sample::select(&["db.task.get", "db.task.create", "files.read"][..]),
    )
        .prop_map(|(caller, user, groups, (project, task), resource)| OwnedAccessRequest {
            caller,
            user: user.map(id),
            groups: groups.into_iter().map(id).collect(),
            project: project.map(id),
            task: task.map(id),
            resource,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn what_no_rule_mentions_is_denied(rules in prop::collection::vec(rule(), 0..6), attempt in attempt()) {
        let access = attempt.access();
        if !rules.iter().any(|rule| rule.matches(&access)) {
            prop_assert_eq!(evaluate(&rules, &access), RuleVerdict::NoMatch);
        }
    }

    #[test]
    fn one_matching_deny_outweighs_every_allow(rules in prop::collection::vec(rule(), 0..6), attempt in attempt()) {
        let access = attempt.access();
        let denied = rules.iter().any(|rule| rule.effect == Effect::Deny && rule.matches(&access));
        let allowed = rules.iter().any(|rule| rule.effect == Effect::Allow && rule.matches(&access));
        prop_assert_eq!(evaluate(&rules, &access).is_allowed(), allowed && !denied);
    }

    #[test]
    fn adding_a_deny_never_opens_and_adding_an_allow_never_closes(
        rules in prop::collection::vec(rule(), 0..6), more in rule(), attempt in attempt(),
    ) {
        let access = attempt.access();
        let before = evaluate(&rules, &access).is_allowed();
        let after = evaluate(rules.iter().chain([&more]), &access).is_allowed();
        match more.effect {
            Effect::Deny => prop_assert!(before || !after),
            Effect::Allow => prop_assert!(!before || after),
        }
    }

    #[test]
    fn the_order_of_rules_changes_nothing(mut rules in prop::collection::vec(rule(), 0..6), attempt in attempt()) {
        let access = attempt.access();
        let forward = evaluate(&rules, &access).is_allowed();
        rules.reverse();
        prop_assert_eq!(evaluate(&rules, &access).is_allowed(), forward);
    }
}

#[test]
fn the_rule_of_highest_priority_is_named_as_the_reason() {
    let rule = |number, effect, priority| AccessRule {
        id: id(number),
        subject: RuleSubject::System,
        action: INVOKE.parse().unwrap(),
        resource_type: TOOL.parse().unwrap(),
        resource: "*".parse().unwrap(),
        server: None,
        effect,
        priority,
        conditions: Conditions::default(),
    };
    let attempt = OwnedAccessRequest {
        caller: Principal::PM,
        user: None,
        groups: vec![],
        project: None,
        task: None,
        resource: "db.task.get",
    };
    let mut rules = vec![rule(1, Effect::Allow, 1), rule(2, Effect::Allow, 5)];

    assert_eq!(evaluate(&rules, &attempt.access()), RuleVerdict::Allowed(id(2)));
    rules.push(rule(3, Effect::Deny, -9));
    assert_eq!(evaluate(&rules, &attempt.access()), RuleVerdict::Denied(id(3)));
}

#[test]
fn a_condition_this_version_does_not_know_is_refused() {
    let refused = serde_json::from_str::<Conditions>(r#"{"weekday":"monday"}"#);

    assert!(refused.unwrap_err().to_string().contains("unknown field"));
}

#[test]
fn rules_about_one_server_say_nothing_about_another_of_the_same_name() {
    let (ada, eve) = (id::<UserId>(1), id::<UserId>(2));
    let server = |number, owner, is_system| AccessedServer { id: id(number), owner, is_system };
    let (of_ada, of_eve) = (server(11, ada, false), server(12, eve, false));
    let of_system = server(13, ada, true);
    let rule = |effect, server| AccessRule {
        id: id(1),
        subject: RuleSubject::System,
        action: INVOKE.parse().unwrap(),
        resource_type: TOOL.parse().unwrap(),
        resource: "files.*".parse().unwrap(),
        server,
        effect,
        priority: 0,
        conditions: Conditions::default(),
    };
    let matches = |rule: &AccessRule, server| {
        rule.matches(&Access {
            caller: Principal::PM,
            user: Some(eve),
            groups: &[],
            project: None,
            task: None,
            action: INVOKE,
            resource_type: TOOL,
            resource: "files.read",
            server,
        })
    };
    let accesses = [Some(of_ada), Some(of_eve), Some(of_system), None];
    let seen = |rule: AccessRule| accesses.map(|server| matches(&rule, server));

    assert_eq!(seen(rule(Effect::Allow, Some(id(11)))), [true, false, false, false]);
    assert_eq!(seen(rule(Effect::Deny, Some(id(11)))), [true, false, false, false]);
    assert_eq!(seen(rule(Effect::Allow, None)), [false, true, true, true]);
    assert_eq!(seen(rule(Effect::Deny, None)), [true; 4]);
}
