//! Who does a piece of work that nobody obviously owns.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{object, text};
use crate::brain::{Decision, Ruling};
use crate::context::untrusted;

/// Whoever does what nobody else is for.
const USUAL: &str = "developer";

/// Who does this?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteAmbiguity {
    /// The work.
    pub work: String,
    /// The roles that there are; at least one.
    pub roles: Vec<String>,
}

/// Who does it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routed {
    /// The role.
    pub role: String,
    /// Why.
    pub reason: String,
}

impl Decision for RouteAmbiguity {
    type Answer = Routed;

    const PURPOSE: &'static str = "route_ambiguity";
    const HINT: &'static str = "fast";

    fn schema(&self) -> Value {
        object(&json!({
            "role": text("One of the roles that are named.", 64),
            "reason": text("Why, in one sentence.", 500),
        }))
    }

    fn prompt(&self) -> String {
        let work = untrusted::quote("work", &self.work, 16 * 1024);
        format!("Which of these roles does this work: {}?\n\n{work}", self.roles.join(", "))
    }

    fn by_rule(&self) -> Option<Ruling<Routed>> {
        let [only] = self.roles.as_slice() else { return None };
        let reason = "there is no other role".to_owned();
        Some(Ruling::new(Routed { role: only.clone(), reason }, format!("{only}: the only role")))
    }

    fn fallback(&self) -> Ruling<Routed> {
        let usual = self.roles.iter().find(|role| *role == USUAL).or(self.roles.first());
        let role = usual.map_or_else(|| USUAL.to_owned(), Clone::clone);
        let reason = "the usual role for what is not clear".to_owned();
        let words = format!("{role}: {reason}");
        Ruling::new(Routed { role, reason }, words)
    }

    fn objection(&self, answer: &Routed) -> Option<String> {
        let is_known = self.roles.contains(&answer.role);
        (!is_known).then(|| format!("role must be one of: {}", self.roles.join(", ")))
    }

    fn summary(answer: &Routed) -> String {
        format!("{}: {}", answer.role, answer.reason)
    }
}
