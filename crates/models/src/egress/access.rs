//! Access to providers: rules first, then the provider's row. Default deny.

use cynode_domain::ids::GroupId;
use cynode_domain::model::{CALL_ACTION, CHAT_OPERATION, OPERATION_RESOURCE, ProviderUse};
use cynode_domain::policy::rules::{Access, AccessRule, RuleVerdict, evaluate};
use cynode_store::{ModelProvider, NarrowingProfile};

use super::Inference;
use super::resolve::ParsedModelName;

/// The access decision and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProviderAccess {
    Allow(String),
    Deny(String),
}

/// Returns the resource name that rules match.
pub(super) fn access_resource(provider: &str) -> String {
    format!("{provider}/{CHAT_OPERATION}")
}

/// Decides whether this provider may be called for a user in these groups with these admin rights.
pub(super) fn decide_access(
    inference: &Inference,
    groups: &[GroupId],
    is_admin: bool,
    provider: &ModelProvider,
    rules: &[AccessRule],
) -> ProviderAccess {
    let resource = access_resource(&provider.name);
    let access = Access {
        caller: inference.principal(),
        user: Some(inference.caller.user),
        groups,
        project: inference.project,
        task: inference.task,
        action: CALL_ACTION,
        resource_type: OPERATION_RESOURCE,
        resource: &resource,
        server: None,
    };
    let by_row = |is_allowed: bool| {
        let reason = format!("provider allows {}", provider.allow);
        if is_allowed { ProviderAccess::Allow(reason) } else { ProviderAccess::Deny(reason) }
    };
    if !provider.is_local && !inference.routing.allows_external(&provider.name) {
        return ProviderAccess::Deny("not in allowed_external_providers".to_owned());
    }
    match evaluate(rules, &access) {
        RuleVerdict::Denied(rule) => ProviderAccess::Deny(format!("rule {rule}")),
        RuleVerdict::Allowed(rule) => ProviderAccess::Allow(format!("rule {rule}")),
        RuleVerdict::NoMatch => match provider.allow {
            ProviderUse::Everyone => by_row(true),
            ProviderUse::Admins => by_row(is_admin),
            ProviderUse::Rules => by_row(false),
        },
    }
}

/// Why the profile of the call does not allow a model; `None` if it does. `asked` is the name in the request.
pub(super) fn profile_denial(
    profile: Option<&NarrowingProfile>,
    provider: &str,
    model: &str,
    asked: &ParsedModelName,
) -> Option<String> {
    let profile = profile?;
    let Some(spec) = &profile.spec else {
        return Some("the profile of this token cannot be read, so it allows nothing".to_owned());
    };
    let hint = match asked {
        ParsedModelName::Hint(hint) => Some(*hint),
        ParsedModelName::Full(..) | ParsedModelName::Plain(_) => None,
    };
    let full = format!("{provider}/{model}");
    if spec.allows_model(model, hint) || spec.allows_model(&full, None) {
        return None;
    }
    Some(format!("the profile \"{}\" of this token does not allow the model {full}", profile.name))
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use cynode_domain::ids::{RuleId, UserId};
    use cynode_domain::model::ProviderKind;
    use cynode_domain::policy::Effect;
    use cynode_domain::policy::rules::{Conditions, RuleSubject};
    use serde_json::json;

    use super::*;
    use crate::egress::ModelRouting;
    use cynode_resources::Caller;

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

    fn rule(subject: RuleSubject, effect: Effect, resource: &str) -> AccessRule {
        AccessRule {
            id: RuleId::generate(),
            subject,
            action: CALL_ACTION.parse().unwrap(),
            resource_type: OPERATION_RESOURCE.parse().unwrap(),
            resource: resource.parse().unwrap(),
            server: None,
            effect,
            priority: 0,
            conditions: Conditions::default(),
        }
    }

    fn inference() -> Inference {
        let caller = Caller::on_behalf_of(UserId::generate(), "ada".to_owned(), false);
        Inference::for_user(caller, "chat", "t")
    }

    fn is_allowed(decision: &ProviderAccess) -> bool {
        matches!(decision, ProviderAccess::Allow(_))
    }

    #[test]
    fn without_rules_the_provider_says_who_may_use_it() {
        for (allow, of_user, of_admin) in [
            (ProviderUse::Everyone, true, true),
            (ProviderUse::Admins, false, true),
            (ProviderUse::Rules, false, false),
        ] {
            for (is_admin, expected) in [(false, of_user), (true, of_admin)] {
                let decision = decide_access(&inference(), &[], is_admin, &provider(allow), &[]);
                assert_eq!(is_allowed(&decision), expected, "{allow} {is_admin}: {decision:?}");
            }
        }
    }

    #[test]
    fn a_rule_allows_what_the_provider_does_not_and_a_denying_one_wins() {
        let asks = inference();
        let user = RuleSubject::User(asks.caller.user);
        let allow = rule(user, Effect::Allow, "far/*");
        let deny = rule(RuleSubject::System, Effect::Deny, "*/chat");
        let elsewhere = rule(RuleSubject::System, Effect::Deny, "near/*");
        let decided = |allow_use, rules: &[AccessRule]| {
            decide_access(&asks, &[], true, &provider(allow_use), rules)
        };

        assert!(is_allowed(&decided(ProviderUse::Rules, &[allow.clone(), elsewhere])));
        assert!(!is_allowed(&decided(ProviderUse::Everyone, &[allow, deny])));
    }

    #[test]
    fn a_provider_that_the_caller_does_not_want_is_not_asked_whoever_allows_it() {
        let routing = ModelRouting {
            allowed_external_providers: Some(vec!["other".to_owned()]),
            ..ModelRouting::default()
        };
        let asks = Inference { routing, ..inference() };
        let allow = rule(RuleSubject::System, Effect::Allow, "*");
        let near = ModelProvider { is_local: true, ..provider(ProviderUse::Everyone) };

        let far = provider(ProviderUse::Everyone);
        assert!(!is_allowed(&decide_access(&asks, &[], true, &far, &[allow])));
        assert!(is_allowed(&decide_access(&asks, &[], false, &near, &[])));
    }
}
