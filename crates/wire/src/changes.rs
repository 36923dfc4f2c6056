//! Who changed what, when and why: one shape for preferences, settings, rules, credentials and
//! providers.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ChangeId, UserId};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::page::PageQuery;

/// One change on record. Secrets are never part of it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ChangeView {
    /// Its id.
    pub id: ChangeId,
    /// When it was made.
    pub changed_at: DateTime<Utc>,
    /// Who made it; nobody if the system did.
    pub changed_by: Option<UserId>,
    /// That user's handle.
    pub changed_by_handle: Option<String>,
    /// What was done, such as `preference.update` or `rule.create`.
    pub action: String,
    /// To what kind of thing: `preference`, `setting`, `access_control_rule`, `api_credential`,
    /// `model_provider`, …
    pub resource_type: String,
    /// To which: its key, name or id.
    pub resource: String,
    /// What it was. Absent if it is new, or has no value that may be shown.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub old_value: Option<Value>,
    /// What it is. Absent if it was removed, or has no value that may be shown.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub new_value: Option<Value>,
    /// Why, or what it was about.
    pub reason: Option<String>,
}

/// Which changes of what access is decided by are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChangeQuery {
    /// Of this kind of thing, such as `access_control_rule`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<String>,
    /// Made by this user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// How many items, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the page before; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl ChangeQuery {
    /// A page of the changes of one kind of thing.
    pub fn of(resource_type: &str, page: PageQuery) -> Self {
        let PageQuery { limit, cursor } = page;
        Self { resource_type: Some(resource_type.to_owned()), user_id: None, limit, cursor }
    }
}

/// Null is a value: only what is not there is nothing.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_of_null_is_told_from_no_value() {
        let text = json!({
            "id": ChangeId::generate(), "changed_at": "2026-01-31T00:00:00Z", "changed_by": null,
            "changed_by_handle": null, "action": "preference.create", "resource_type": "preference",
            "resource": "a", "new_value": null, "reason": null,
        });

        let view: ChangeView = serde_json::from_value(text.clone()).unwrap();

        assert_eq!((&view.old_value, &view.new_value), (&None, &Some(Value::Null)));
        assert_eq!(serde_json::to_value(view).unwrap(), text);
    }
}
