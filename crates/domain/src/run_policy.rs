//! Retry policy of a run: attempts, backoff and timeouts, and the preferences that change them.
//!
//! Start at [`RunPolicy::from_preferences`]. A value that is not a number is ignored and one out of range
//! is clamped; both are noted, and neither fails a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Prefix of every key of this module.
pub const PREFIX: &str = "workflow.";
/// Maximum attempts per step, for tasks that do not set it.
pub const STEP_ATTEMPTS_KEY: &str = "workflow.max_step_retries";
/// Maximum attempts per workflow node.
pub const NODE_ATTEMPTS_KEY: &str = "workflow.max_node_retries";
/// The same for one workflow node, named by the rest of the key.
pub const NODE_ATTEMPTS_PREFIX: &str = "workflow.node_retries.";
/// Inactivity timeout of a workflow node in seconds; the rest of the key names the node.
pub const NODE_TIMEOUT_PREFIX: &str = "workflow.node_timeouts.";
/// Initial backoff between attempts of a workflow node, in milliseconds; exponential.
pub const INITIAL_BACKOFF_KEY: &str = "workflow.node_backoff_ms";
/// Maximum backoff, in milliseconds.
pub const MAX_BACKOFF_KEY: &str = "workflow.node_backoff_cap_ms";

/// The workflow nodes and their default inactivity timeouts, in seconds.
const DEFAULT_TIMEOUTS_S: [(&str, u32); 7] = [
    ("load_task_context", 30),
    ("plan_steps", 120),
    ("dispatch_step", 30),
    ("collect_result", 600),
    ("verify_step_result", 120),
    ("finalize_summary", 60),
    ("mark_failed", 30),
];
/// It runs before the preferences are loaded.
const FIRST_NODE: &str = "load_task_context";

pub(crate) const ATTEMPTS_RANGE: (u32, u32) = (1, 10);
pub(crate) const SECONDS_RANGE: (u32, u32) = (1, 86_400);
pub(crate) const BACKOFF_MS_RANGE: (u32, u32) = (10, 600_000);

/// The retry policy of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct RunPolicy {
    /// Maximum attempts per step, 1 to 10.
    pub step_attempts: u32,
    /// Maximum attempts per workflow node, 1 to 10.
    pub node_attempts: u32,
    /// The same for single workflow nodes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attempts_of: BTreeMap<String, u32>,
    /// Initial backoff between attempts of a workflow node, in milliseconds; it doubles with each attempt.
    pub first_pause_ms: u32,
    /// Maximum backoff, in milliseconds.
    pub longest_pause_ms: u32,
    /// Inactivity timeout of each workflow node, in seconds.
    pub timeouts_s: BTreeMap<String, u32>,
    /// Preferences that were ignored or clamped, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Default for RunPolicy {
    fn default() -> Self {
        Self {
            step_attempts: 1,
            node_attempts: 3,
            attempts_of: BTreeMap::new(),
            first_pause_ms: 1000,
            longest_pause_ms: 30_000,
            timeouts_s: DEFAULT_TIMEOUTS_S
                .iter()
                .map(|(node, s)| ((*node).to_owned(), *s))
                .collect(),
            notes: vec![],
        }
    }
}

impl RunPolicy {
    /// Applies preferences to the default policy. Keys without [`PREFIX`] are ignored.
    pub fn from_preferences<'a>(
        effective: impl IntoIterator<Item = (&'a String, &'a Value)>,
    ) -> Self {
        let mut policy = Self::default();
        for (key, value) in effective {
            // Null hides the values of lower-precedence scopes; the default applies.
            if key.starts_with(PREFIX) && !value.is_null() {
                policy.apply_preference(key, value);
            }
        }
        policy.longest_pause_ms = policy.longest_pause_ms.max(policy.first_pause_ms);
        policy
    }

    /// Maximum attempts of this workflow node.
    pub fn attempts_at(&self, node: &str) -> u32 {
        self.attempts_of.get(node).copied().unwrap_or(self.node_attempts)
    }

    /// Inactivity timeout of this workflow node, in seconds.
    pub fn timeout_of(&self, node: &str) -> Option<u32> {
        self.timeouts_s.get(node).copied()
    }

    fn apply_preference(&mut self, key: &str, value: &Value) {
        let known = if let Some(node) = key.strip_prefix(NODE_TIMEOUT_PREFIX) {
            self.check_node(key, node).map(|node| (SECONDS_RANGE, PolicyField::Timeout(node)))
        } else if let Some(node) = key.strip_prefix(NODE_ATTEMPTS_PREFIX) {
            self.check_node(key, node).map(|node| (ATTEMPTS_RANGE, PolicyField::Attempts(node)))
        } else {
            match key {
                STEP_ATTEMPTS_KEY => Some((ATTEMPTS_RANGE, PolicyField::StepAttempts)),
                NODE_ATTEMPTS_KEY => Some((ATTEMPTS_RANGE, PolicyField::NodeAttempts)),
                INITIAL_BACKOFF_KEY => Some((BACKOFF_MS_RANGE, PolicyField::InitialBackoff)),
                MAX_BACKOFF_KEY => Some((BACKOFF_MS_RANGE, PolicyField::MaxBackoff)),
                _ => {
                    self.notes.push(format!("{key} is not a known key"));
                    None
                }
            }
        };
        let Some(((low, high), field)) = known else { return };
        let Some(number) = self.clamp_number(key, value, low, high) else { return };
        match field {
            PolicyField::StepAttempts => self.step_attempts = number,
            PolicyField::NodeAttempts => self.node_attempts = number,
            PolicyField::InitialBackoff => self.first_pause_ms = number,
            PolicyField::MaxBackoff => self.longest_pause_ms = number,
            PolicyField::Attempts(node) => drop(self.attempts_of.insert(node, number)),
            PolicyField::Timeout(node) => drop(self.timeouts_s.insert(node, number)),
        }
    }

    /// The workflow node of a key, if preferences apply to it.
    fn check_node(&mut self, key: &str, node: &str) -> Option<String> {
        let fault = if node == FIRST_NODE {
            format!("{key} has no effect: {node} runs before preferences are loaded")
        } else if DEFAULT_TIMEOUTS_S.iter().any(|(known, _)| *known == node) {
            return Some(node.to_owned());
        } else {
            format!("{key} does not name a workflow node")
        };
        self.notes.push(fault);
        None
    }

    fn clamp_number(&mut self, key: &str, value: &Value, low: u32, high: u32) -> Option<u32> {
        let Some(given) = value.as_i64() else {
            self.notes.push(format!("{key} is not a whole number"));
            return None;
        };
        let number = given.clamp(low.into(), high.into());
        if number != given {
            self.notes
                .push(format!("{key} is {given}, using {number}: allowed is {low} to {high}"));
        }
        u32::try_from(number).ok()
    }
}

/// Whether preferences apply to this workflow node.
pub(crate) fn is_configurable_node(node: &str) -> bool {
    node != FIRST_NODE && DEFAULT_TIMEOUTS_S.iter().any(|(known, _)| *known == node)
}

/// The field that a key sets.
enum PolicyField {
    StepAttempts,
    NodeAttempts,
    InitialBackoff,
    MaxBackoff,
    Attempts(String),
    Timeout(String),
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn policy(preferences: Value) -> RunPolicy {
        let preferences: BTreeMap<String, Value> = serde_json::from_value(preferences).unwrap();
        RunPolicy::from_preferences(&preferences)
    }

    #[test]
    fn every_part_of_a_policy_has_its_key() {
        let policy = policy(json!({
            "workflow.max_step_retries": 4,
            "workflow.max_node_retries": 5,
            "workflow.node_retries.dispatch_step": 7,
            "workflow.node_timeouts.collect_result": 900,
            "workflow.node_backoff_ms": 50,
            "workflow.node_backoff_cap_ms": 200,
            "output.summary_style": "concise",
        }));

        assert_eq!((policy.step_attempts, policy.node_attempts), (4, 5));
        assert_eq!((policy.attempts_at("dispatch_step"), policy.attempts_at("plan_steps")), (7, 5));
        assert_eq!(policy.timeout_of("collect_result"), Some(900));
        assert_eq!(policy.timeout_of("plan_steps"), Some(120));
        assert_eq!((policy.first_pause_ms, policy.longest_pause_ms), (50, 200));
        assert_eq!(policy.notes, [""; 0]);
    }

    #[test]
    fn a_value_that_cannot_be_taken_is_noted_and_changes_nothing_else() {
        let policy = policy(json!({
            "workflow.max_step_retries": "many",
            "workflow.max_node_retries": 1000,
            "workflow.node_backoff_ms": null,
            "workflow.node_retries.load_task_context": 2,
            "workflow.node_timeouts.no_such_node": 5,
            "workflow.speed": 9,
        }));

        let expected = RunPolicy {
            node_attempts: 10,
            notes: vec![
                "workflow.max_node_retries is 1000, using 10: allowed is 1 to 10".to_owned(),
                "workflow.max_step_retries is not a whole number".to_owned(),
                "workflow.node_retries.load_task_context has no effect: load_task_context runs \
                 before preferences are loaded"
                    .to_owned(),
                "workflow.node_timeouts.no_such_node does not name a workflow node".to_owned(),
                "workflow.speed is not a known key".to_owned(),
            ],
            ..RunPolicy::default()
        };
        assert_eq!(policy, expected);
    }

    proptest! {
        #[test]
        fn whatever_preferences_say_a_run_tries_within_bounds(
            numbers in prop::collection::vec(any::<i64>(), 6),
        ) {
            let keys = [
                STEP_ATTEMPTS_KEY, NODE_ATTEMPTS_KEY, "workflow.node_retries.plan_steps",
                "workflow.node_timeouts.plan_steps", INITIAL_BACKOFF_KEY, MAX_BACKOFF_KEY,
            ];
            let given = keys.iter().zip(numbers).map(|(key, n)| ((*key).to_owned(), json!(n)));
            let given: BTreeMap<_, _> = given.collect();

            let policy = RunPolicy::from_preferences(&given);

            let attempts = [policy.step_attempts, policy.attempts_at("plan_steps"), policy.attempts_at("x")];
            prop_assert!(attempts.iter().all(|n| (1..=10).contains(n)));
            prop_assert!((1..=86_400).contains(&policy.timeout_of("plan_steps").unwrap()));
            prop_assert!((10..=600_000).contains(&policy.first_pause_ms));
            prop_assert!(policy.longest_pause_ms >= policy.first_pause_ms);
        }
    }
}
