//! Provider order and limits, from preferences by agent type.

use std::collections::BTreeMap;

use cynode_domain::config_keys;
use cynode_domain::policy::AgentType;
use serde_json::Value;

/// Provider order and spending limits of a caller.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRouting {
    /// Local providers come before external ones.
    pub prefer_local: bool,
    /// The external providers that may be called; all when absent.
    pub allowed_external_providers: Option<Vec<String>>,
    /// Providers in the order in which they are tried; the rest follow by name.
    pub fallback_provider_order: Vec<String>,
    /// Maximum cost of one run, in US dollars.
    pub run_usd: Option<f64>,
    /// Maximum cost of all runs of one day, in US dollars.
    pub day_usd: Option<f64>,
}

impl Default for ModelRouting {
    /// Every provider, local ones first.
    fn default() -> Self {
        Self {
            prefer_local: true,
            allowed_external_providers: None,
            fallback_provider_order: vec![],
            run_usd: None,
            day_usd: None,
        }
    }
}

impl ModelRouting {
    /// Reads the preferences of an agent type, or of a person. Keys of the agent type win over
    /// general ones and never apply to another type. A limit that cannot be parsed counts as 0
    /// (fails closed).
    pub fn from_preferences(role: Option<AgentType>, effective: &BTreeMap<String, Value>) -> Self {
        let wanted = |key: &str| {
            let own = role.and_then(|role| {
                effective.get(&format!("agents.{}.model_routing.{key}", preference_role_name(role)))
            });
            let everybodys = || effective.get(&format!("model_routing.{key}"));
            let own = own.filter(|value| !value.is_null() && !cynode_fault::fault!("PMA-19"));
            own.or_else(everybodys)
        };
        let usd = |key: &str| {
            let set = effective.get(key).filter(|value| !value.is_null())?;
            Some(config_keys::parse_usd(set).unwrap_or(0.0))
        };
        let external = wanted("allowed_external_providers").filter(|value| !value.is_null());
        Self {
            prefer_local: wanted("prefer_local").and_then(Value::as_bool).unwrap_or(true),
            allowed_external_providers: external.map(|set| string_array(set).unwrap_or_default()),
            fallback_provider_order: wanted("fallback_provider_order")
                .and_then(string_array)
                .unwrap_or_default(),
            run_usd: usd("budget.run_usd"),
            day_usd: usd("budget.day_usd"),
        }
    }

    /// Returns whether an external provider may be called.
    pub(crate) fn allows_external(&self, provider: &str) -> bool {
        let allowed = self.allowed_external_providers.as_ref();
        allowed.is_none_or(|allowed| allowed.iter().any(|name| name == provider))
    }
}

/// Returns the name of the agent type in preference keys.
const fn preference_role_name(role: AgentType) -> &'static str {
    match role {
        AgentType::Pm => "project_manager",
        AgentType::Pa => "project_analyst",
        AgentType::Sandbox => "sandbox_agent",
    }
}

/// Returns the strings of an array; `None` if the value is no array.
fn string_array(value: &Value) -> Option<Vec<String>> {
    let words = |items: &Vec<Value>| {
        items.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
    };
    value.as_array().map(words)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn preferences(entries: &[(&str, Value)]) -> BTreeMap<String, Value> {
        entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
    }

    #[test]
    fn a_role_s_own_routing_comes_before_that_for_everybody() {
        let set = preferences(&[
            ("agents.project_manager.model_routing.prefer_local", json!(false)),
            ("agents.project_manager.model_routing.fallback_provider_order", json!(["b"])),
            ("model_routing.prefer_local", json!(true)),
            ("model_routing.fallback_provider_order", json!(["a"])),
            ("model_routing.allowed_external_providers", json!(["a", "b"])),
        ]);

        let routing = ModelRouting::from_preferences(Some(AgentType::Pm), &set);

        assert!(!routing.prefer_local);
        assert_eq!(routing.fallback_provider_order, ["b"]);
        assert!(routing.allows_external("a") && !routing.allows_external("c"));
    }

    #[test]
    fn null_for_a_role_leaves_the_routing_to_what_holds_for_everybody() {
        let set = preferences(&[
            ("agents.project_analyst.model_routing.fallback_provider_order", Value::Null),
            ("model_routing.fallback_provider_order", json!(["a"])),
        ]);

        let routing = ModelRouting::from_preferences(Some(AgentType::Pa), &set);

        assert_eq!(routing.fallback_provider_order, ["a"]);
    }

    #[test]
    fn a_limit_that_cannot_be_read_allows_nothing() {
        let set = preferences(&[
            ("budget.run_usd", json!("abc")),
            ("model_routing.allowed_external_providers", json!("a")),
        ]);

        let routing = ModelRouting::from_preferences(None, &set);

        assert_eq!((routing.run_usd, routing.day_usd), (Some(0.0), None));
        assert!(!routing.allows_external("a"));
    }

    fn values() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<bool>().prop_map(Value::from),
            Just(Value::Null),
            prop::collection::vec("[a-c]", 0..3).prop_map(Value::from),
        ]
    }

    proptest! {
        #[test]
        fn the_routing_of_one_role_never_counts_for_another(
            entries in prop::collection::btree_map(
                "(prefer_local|allowed_external_providers|fallback_provider_order)", values(), 0..4),
        ) {
            let role = |role: AgentType| -> BTreeMap<String, Value> {
                let key = |key: &str| format!("agents.{}.model_routing.{key}", preference_role_name(role));
                entries.iter().map(|(k, value)| (key(k), value.clone())).collect()
            };
            let nothing = ModelRouting::default();
            for (of, other) in [(AgentType::Pm, AgentType::Pa), (AgentType::Pa, AgentType::Pm)] {
                prop_assert_eq!(&ModelRouting::from_preferences(Some(other), &role(of)), &nothing);
                prop_assert_eq!(&ModelRouting::from_preferences(None, &role(of)), &nothing);
            }
        }
    }
}
