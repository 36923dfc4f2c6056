//! Additional context from preferences, by the key of the role.

use cynode_wire::handoff::AgentRole;
use cynode_wire::preferences::EffectiveView;
use serde_json::Value;
use tracing::warn;

/// Returns the texts that the effective preferences add for this role, in order.
///
/// The orchestrator resolves the scopes; this reads only the key of `role`, so that context for one role never
/// reaches the other. A value that is neither a text nor a list of texts is ignored.
pub fn additional_context(role: AgentRole, preferences: &EffectiveView) -> Vec<String> {
    let key = format!("agents.{}.additional_context", role.as_str());
    let texts = match preferences.effective.get(&key) {
        None | Some(Value::Null) => return vec![],
        Some(Value::String(text)) => Some(vec![text.clone()]),
        Some(Value::Array(items)) => {
            items.iter().map(|item| item.as_str().map(str::to_owned)).collect()
        }
        Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => None,
    };
    let Some(texts) = texts else {
        warn!(preference.key = key, "preference ignored: neither text nor a list of texts");
        return vec![];
    };
    texts.into_iter().filter(|text| !text.trim().is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn effective_view(pairs: Value) -> EffectiveView {
        let effective = serde_json::from_value(pairs).unwrap();
        EffectiveView { effective, sources: None, skipped: vec![] }
    }

    #[test]
    fn each_role_reads_its_own_key_and_never_the_other_ones() {
        let preferences = effective_view(json!({
            "agents.project_manager.additional_context": "for the manager",
            "agents.project_analyst.additional_context": ["for the", "analyst"],
            "agents.sandbox_agent.additional_context": "for nobody here",
        }));

        let of_role = |role| additional_context(role, &preferences);

        assert_eq!(of_role(AgentRole::ProjectManager), ["for the manager"]);
        assert_eq!(of_role(AgentRole::ProjectAnalyst), ["for the", "analyst"]);
    }

    #[test]
    fn what_is_null_blank_or_no_text_adds_nothing() {
        for value in [json!(null), json!("  "), json!(3), json!({"a": "b"}), json!(["a", 1])] {
            let preferences =
                effective_view(json!({ "agents.project_manager.additional_context": value }));

            assert!(additional_context(AgentRole::ProjectManager, &preferences).is_empty());
        }
    }
}
