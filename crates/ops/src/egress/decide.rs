//! Whether a provider may be asked: rules first, then what its row says; silence is no.

use cynode_domain::ids::GroupId;
use cynode_domain::model::{CALL, CHAT, OPERATION, ProviderUse};
use cynode_domain::policy::rules::{Access, Rule, Verdict, evaluate};
use cynode_store::ModelProvider;

use super::Inference;

/// What was decided, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    /// It may be asked.
    Allow(String),
    /// It may not.
    Deny(String),
}

/// The operation, as rules name it.
pub(super) fn resource(provider: &str) -> String {
    format!("{provider}/{CHAT}")
}

/// Whether this provider may be asked, for a user of these groups who may administer.
pub(super) fn decide(
    inference: &Inference,
    (groups, is_admin): (&[GroupId], bool),
    provider: &ModelProvider,
    rules: &[Rule],
) -> Decision {
    let resource = resource(&provider.name);
    let access = Access {
        caller: inference.principal(),
        user: Some(inference.caller.user),
        groups,
        project: inference.project,
        task: inference.task,
        action: CALL,
        resource_type: OPERATION,
        resource: &resource,
    };
    let by_row = |is_allowed: bool| {
        let reason = format!("provider allows {}", provider.allow);
        if is_allowed { Decision::Allow(reason) } else { Decision::Deny(reason) }
    };
    if !provider.is_local && !inference.routing.allows_external(&provider.name) {
        return Decision::Deny("not in allowed_external_providers".to_owned());
    }
    match evaluate(rules, &access) {
        Verdict::Denied(rule) => Decision::Deny(format!("rule {rule}")),
        Verdict::Allowed(rule) => Decision::Allow(format!("rule {rule}")),
        Verdict::Unmentioned => match provider.allow {
            ProviderUse::Everyone => by_row(true),
            ProviderUse::Admins => by_row(is_admin),
            ProviderUse::Rules => by_row(false),
        },
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use cynode_domain::ids::{RuleId, UserId};
    use cynode_domain::model::ProviderKind;
    use cynode_domain::policy::Effect;
    use cynode_domain::policy::rules::{Conditions, Subject};
    use serde_json::json;

    use super::*;
    use crate::Caller;
    use crate::egress::Routing;

    fn provider(allow: ProviderUse) -> ModelProvider {
        ModelProvider {
            name: "far".to_owned(),
            kind: ProviderKind::OpenAi,
            base_url: String::new(),
            is_local: false,
            is_enabled: true,
            allow,
            models: vec![],
            concurrency: 1,
            prices: json!({}),
            version: 1,
            updated_at: DateTime::UNIX_EPOCH,
            updated_by: None,
        }
    }

    fn rule(subject: Subject, effect: Effect, resource: &str) -> Rule {
        Rule {
            id: RuleId::generate(),
            subject,
            action: CALL.parse().unwrap(),
            resource_type: OPERATION.parse().unwrap(),
            resource: resource.parse().unwrap(),
            effect,
            priority: 0,
            conditions: Conditions::default(),
        }
    }

    fn asks() -> Inference {
        let caller = Caller::on_behalf_of(UserId::generate(), "ada".to_owned(), false);
        Inference::of_user(caller, "chat", "t")
    }

    fn is_allowed(decision: &Decision) -> bool {
        matches!(decision, Decision::Allow(_))
    }

    #[test]
    fn without_rules_the_provider_says_who_may_use_it() {
        for (allow, of_user, of_admin) in [
            (ProviderUse::Everyone, true, true),
            (ProviderUse::Admins, false, true),
            (ProviderUse::Rules, false, false),
        ] {
            for (is_admin, expected) in [(false, of_user), (true, of_admin)] {
                let decision = decide(&asks(), (&[], is_admin), &provider(allow), &[]);
                assert_eq!(is_allowed(&decision), expected, "{allow} {is_admin}: {decision:?}");
            }
        }
    }

    #[test]
    fn a_rule_allows_what_the_provider_does_not_and_a_denying_one_wins() {
        let asks = asks();
        let user = Subject::User(asks.caller.user);
        let allow = rule(user, Effect::Allow, "far/*");
        let deny = rule(Subject::System, Effect::Deny, "*/chat");
        let elsewhere = rule(Subject::System, Effect::Deny, "near/*");
        let decided =
            |allow_use, rules: &[Rule]| decide(&asks, (&[], true), &provider(allow_use), rules);

        assert!(is_allowed(&decided(ProviderUse::Rules, &[allow.clone(), elsewhere])));
        assert!(!is_allowed(&decided(ProviderUse::Everyone, &[allow, deny])));
    }

    #[test]
    fn a_provider_that_the_caller_does_not_want_is_not_asked_whoever_allows_it() {
        let routing = Routing {
            allowed_external_providers: Some(vec!["other".to_owned()]),
            ..Routing::default()
        };
        let asks = Inference { routing, ..asks() };
        let allow = rule(Subject::System, Effect::Allow, "*");
        let near = ModelProvider { is_local: true, ..provider(ProviderUse::Everyone) };

        let far = provider(ProviderUse::Everyone);
        assert!(!is_allowed(&decide(&asks, (&[], true), &far, &[allow])));
        assert!(is_allowed(&decide(&asks, (&[], false), &near, &[])));
    }
}
