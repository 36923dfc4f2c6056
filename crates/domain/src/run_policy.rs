//! How hard a run tries: attempts, pauses and patience, and the preferences that change them.
//!
//! Start at [`RunPolicy::from_preferences`]. A value that is no number is passed over and one out of
//! range is brought to the nearest bound; either is noted, and nothing here ever fails a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What every key of this module begins with.
pub const PREFIX: &str = "workflow.";
/// How often a failing step runs in all, for tasks that do not say so themselves.
pub const STEP_ATTEMPTS: &str = "workflow.max_step_retries";
/// How often a node is tried in all.
pub const NODE_ATTEMPTS: &str = "workflow.max_node_retries";
/// The same for one node, which is the rest of the key.
pub const ATTEMPTS_OF: &str = "workflow.node_retries.";
/// How long a node may be silent, in seconds; the node is the rest of the key.
pub const TIMEOUT_OF: &str = "workflow.node_timeouts.";
/// The pause before the second attempt at a node, in milliseconds; it doubles from there.
pub const FIRST_PAUSE: &str = "workflow.node_backoff_ms";
/// The longest pause between two attempts at a node, in milliseconds.
pub const LONGEST_PAUSE: &str = "workflow.node_backoff_cap_ms";

/// The nodes, and how long each may be silent, in seconds.
const TIMEOUTS: [(&str, u32); 7] = [
    ("load_task_context", 30),
    ("plan_steps", 120),
    ("dispatch_step", 30),
    ("collect_result", 600),
    ("verify_step_result", 120),
    ("finalize_summary", 60),
    ("mark_failed", 30),
];
/// It runs before anybody knows the preferences.
const FIRST_NODE: &str = "load_task_context";

pub(crate) const ATTEMPTS: (u32, u32) = (1, 10);
pub(crate) const SECONDS: (u32, u32) = (1, 86_400);
pub(crate) const PAUSE_MS: (u32, u32) = (10, 600_000);

/// How hard a run tries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct RunPolicy {
    /// How often a failing step runs in all, 1 to 10.
    pub step_attempts: u32,
    /// How often a node is tried in all, 1 to 10.
    pub node_attempts: u32,
    /// The same for single nodes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attempts_of: BTreeMap<String, u32>,
    /// The pause before the second attempt at a node, in milliseconds; it doubles from there.
    pub first_pause_ms: u32,
    /// The longest pause, in milliseconds.
    pub longest_pause_ms: u32,
    /// How long each node may be silent, in seconds.
    pub timeouts_s: BTreeMap<String, u32>,
    /// Preferences that were not taken as they are, and why.
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
            timeouts_s: TIMEOUTS.iter().map(|(node, s)| ((*node).to_owned(), *s)).collect(),
            notes: vec![],
        }
    }
}

impl RunPolicy {
    /// What preferences make of the usual policy. Keys of other subjects are not looked at.
    pub fn from_preferences<'a>(
        effective: impl IntoIterator<Item = (&'a String, &'a Value)>,
    ) -> Self {
        let mut policy = Self::default();
        for (key, value) in effective {
            // Null hides what weaker scopes say, and leaves the usual value.
            if key.starts_with(PREFIX) && !value.is_null() {
                policy.set(key, value);
            }
        }
        policy.longest_pause_ms = policy.longest_pause_ms.max(policy.first_pause_ms);
        policy
    }

    /// How often this node is tried in all.
    pub fn attempts_at(&self, node: &str) -> u32 {
        self.attempts_of.get(node).copied().unwrap_or(self.node_attempts)
    }

    /// How long this node may be silent, in seconds.
    pub fn timeout_of(&self, node: &str) -> Option<u32> {
        self.timeouts_s.get(node).copied()
    }

    fn set(&mut self, key: &str, value: &Value) {
        let known = if let Some(node) = key.strip_prefix(TIMEOUT_OF) {
            self.of_node(key, node).map(|node| (SECONDS, Field::Timeout(node)))
        } else if let Some(node) = key.strip_prefix(ATTEMPTS_OF) {
            self.of_node(key, node).map(|node| (ATTEMPTS, Field::Attempts(node)))
        } else {
            match key {
                STEP_ATTEMPTS => Some((ATTEMPTS, Field::StepAttempts)),
                NODE_ATTEMPTS => Some((ATTEMPTS, Field::NodeAttempts)),
                FIRST_PAUSE => Some((PAUSE_MS, Field::FirstPause)),
                LONGEST_PAUSE => Some((PAUSE_MS, Field::LongestPause)),
                _ => {
                    self.notes.push(format!("{key} is not known"));
                    None
                }
            }
        };
        let Some((range, field)) = known else { return };
        let Some(number) = self.number(key, value, range) else { return };
        match field {
            Field::StepAttempts => self.step_attempts = number,
            Field::NodeAttempts => self.node_attempts = number,
            Field::FirstPause => self.first_pause_ms = number,
            Field::LongestPause => self.longest_pause_ms = number,
            Field::Attempts(node) => drop(self.attempts_of.insert(node, number)),
            Field::Timeout(node) => drop(self.timeouts_s.insert(node, number)),
        }
    }

    /// The node that a key is about, if preferences can reach it.
    fn of_node(&mut self, key: &str, node: &str) -> Option<String> {
        let fault = if node == FIRST_NODE {
            format!("{key} has no effect: {node} runs before preferences are known")
        } else if TIMEOUTS.iter().any(|(known, _)| *known == node) {
            return Some(node.to_owned());
        } else {
            format!("{key} names no node")
        };
        self.notes.push(fault);
        None
    }

    fn number(&mut self, key: &str, value: &Value, (low, high): (u32, u32)) -> Option<u32> {
        let Some(given) = value.as_i64() else {
            self.notes.push(format!("{key} is no whole number"));
            return None;
        };
        let number = given.clamp(low.into(), high.into());
        if number != given {
            self.notes
                .push(format!("{key} is {given}, taken as {number}: allowed is {low} to {high}"));
        }
        u32::try_from(number).ok()
    }
}

/// Whether preferences can say something about this node.
pub(crate) fn can_be_set_for(node: &str) -> bool {
    node != FIRST_NODE && TIMEOUTS.iter().any(|(known, _)| *known == node)
}

/// What a key sets.
enum Field {
    StepAttempts,
    NodeAttempts,
    FirstPause,
    LongestPause,
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
                "workflow.max_node_retries is 1000, taken as 10: allowed is 1 to 10".to_owned(),
                "workflow.max_step_retries is no whole number".to_owned(),
                "workflow.node_retries.load_task_context has no effect: load_task_context runs \
                 before preferences are known"
                    .to_owned(),
                "workflow.node_timeouts.no_such_node names no node".to_owned(),
                "workflow.speed is not known".to_owned(),
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
                STEP_ATTEMPTS, NODE_ATTEMPTS, "workflow.node_retries.plan_steps",
                "workflow.node_timeouts.plan_steps", FIRST_PAUSE, LONGEST_PAUSE,
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
