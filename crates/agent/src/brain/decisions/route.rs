//! Decision: the role for work without an obvious owner.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{object_schema, text_schema};
use crate::brain::{BrainDecision, RuleAnswer};
use crate::context::untrusted;

/// The default role.
const USUAL: &str = "developer";

/// Chooses a role for work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteAmbiguity {
    pub work: String,
    /// The available roles; at least one.
    pub roles: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoutedRole {
    pub role: String,
    pub reason: String,
}

impl BrainDecision for RouteAmbiguity {
    type Answer = RoutedRole;

    const PURPOSE: &'static str = "route_ambiguity";
    const HINT: &'static str = "fast";

    fn schema(&self) -> Value {
        object_schema(&json!({
            "role": text_schema("One of the roles that are named.", 64),
            "reason": text_schema("Why, in one sentence.", 500),
        }))
    }

    fn prompt(&self) -> String {
        let work = untrusted::quote("work", &self.work, 16 * 1024);
        format!("Which of these roles does this work: {}?\n\n{work}", self.roles.join(", "))
    }

    fn decide_by_rule(&self) -> Option<RuleAnswer<RoutedRole>> {
        let [only] = self.roles.as_slice() else { return None };
        let reason = "there is no other role".to_owned();
        Some(RuleAnswer::new(
            RoutedRole { role: only.clone(), reason },
            format!("{only}: the only role"),
        ))
    }

    fn fallback(&self) -> RuleAnswer<RoutedRole> {
        let usual = self.roles.iter().find(|role| *role == USUAL).or(self.roles.first());
        let role = usual.map_or_else(|| USUAL.to_owned(), Clone::clone);
        let reason = "the default role for unclear work".to_owned();
        let words = format!("{role}: {reason}");
        RuleAnswer::new(RoutedRole { role, reason }, words)
    }

    fn find_objection(&self, answer: &RoutedRole) -> Option<String> {
        let is_known = self.roles.contains(&answer.role);
        (!is_known).then(|| format!("role must be one of: {}", self.roles.join(", ")))
    }

    fn summarize(answer: &RoutedRole) -> String {
        format!("{}: {}", answer.role, answer.reason)
    }
}
