//! Deltas of a run's state between transitions, so that history rows need not repeat the full state.
//!
//! Start at [`Changes::apply`]. A history has occasional full states with [`Changes`] in between; the
//! state at any row is the nearest full state before it plus the changes since ([`rebuild_state`]).
//!
//! Invariant: lossless for any JSON. A removed field is listed in `unset`, which distinguishes a null
//! value from an absent field.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Changes of a state, which is a JSON object.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    /// Fields with a new value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Value>,
    /// Entries added to or replaced in fields that are maps.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub merge: BTreeMap<String, BTreeMap<String, Value>>,
    /// Removed fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<String>,
}

/// The state of a run at one transition, as it is sent and stored.
#[derive(Debug, Clone, PartialEq)]
pub enum StateRecord {
    Full(Value),
    /// The delta to the previous transition.
    Changes(Changes),
}

/// Changes were applied to a value that is not a JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("changes apply to a JSON object only")]
pub struct NotJsonObject;

impl Changes {
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.merge.is_empty() && self.unset.is_empty()
    }

    /// Applies the changes to a state.
    pub fn apply(self, state: &mut Value) -> Result<(), NotJsonObject> {
        let fields = state.as_object_mut().ok_or(NotJsonObject)?;
        for name in &self.unset {
            fields.remove(name);
        }
        for (name, value) in self.set {
            fields.insert(name, value);
        }
        for (name, entries) in self.merge {
            let map = fields.entry(name).or_insert_with(|| Value::Object(Map::new()));
            map.as_object_mut().ok_or(NotJsonObject)?.extend(entries);
        }
        Ok(())
    }
}

/// Applies `records`, oldest first, to `base`.
pub fn rebuild_state(
    base: Value,
    records: impl IntoIterator<Item = StateRecord>,
) -> Result<Value, NotJsonObject> {
    let mut state = base;
    for record in records {
        match record {
            StateRecord::Full(whole) => state = whole,
            StateRecord::Changes(changes) => changes.apply(&mut state)?,
        }
    }
    Ok(state)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn changes(value: Value) -> Changes {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn changes_set_merge_and_remove_fields_and_leave_the_rest() {
        let mut state = json!({"plan": [1], "request": "x", "attempts": {"0": 1}, "job": {"a": 1}});
        let told = changes(json!({
            "set": {"job": {"b": null}}, "merge": {"attempts": {"1": 1}}, "unset": ["request"],
        }));

        told.apply(&mut state).unwrap();

        let expected = json!({"plan": [1], "attempts": {"0": 1, "1": 1}, "job": {"b": null}});
        assert_eq!(state, expected);
    }

    #[test]
    fn a_map_that_was_not_there_begins_with_its_first_entries() {
        let state = rebuild_state(
            json!({}),
            [StateRecord::Changes(changes(json!({"merge": {"attempts": {"0": 1}}})))],
        );

        assert_eq!(state, Ok(json!({"attempts": {"0": 1}})));
    }

    #[test]
    fn a_whole_state_takes_the_place_of_all_before_it() {
        let told = changes(json!({"set": {"a": 2}}));
        let records = [
            StateRecord::Changes(changes(json!({"set": {"b": 1}}))),
            StateRecord::Full(json!({"a": 1})),
            StateRecord::Changes(told),
        ];

        assert_eq!(rebuild_state(json!({"z": 0}), records), Ok(json!({"a": 2})));
    }

    #[test]
    fn only_an_object_can_be_changed() {
        let told = changes(json!({"set": {"a": 2}}));

        assert_eq!(rebuild_state(json!("text"), [StateRecord::Changes(told)]), Err(NotJsonObject));
    }

    #[test]
    fn nothing_changed_is_an_empty_object() {
        assert_eq!(serde_json::to_value(Changes::default()).unwrap(), json!({}));
        assert!(changes(json!({})).is_empty());
    }
}
