//! Change records, in one format for preferences, settings, rules, credentials and
//! providers.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ChangeId, UserId};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::page::PageQuery;

/// One recorded change, without secrets.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ChangeView {
    /// Its id.
    pub id: ChangeId,
    /// Creation time.
    pub changed_at: DateTime<Utc>,
    /// User who made it; null for the system.
    pub changed_by: Option<UserId>,
    /// That user's handle.
    pub changed_by_handle: Option<String>,
    /// Action, such as `preference.update` or `rule.create`.
    pub action: String,
    /// Resource type: `preference`, `setting`, `access_control_rule`, `api_credential`, `model_provider`, …
    pub resource_type: String,
    /// Key, name or id of the resource.
    pub resource: String,
    /// Old value. Absent for a new resource, or if it may not be shown.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub old_value: Option<Value>,
    /// New value. Absent for a removed resource, or if it may not be shown.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub new_value: Option<Value>,
    /// Reason of the change.
    pub reason: Option<String>,
}

/// Filters on changes to access control.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChangeQuery {
    /// Only changes to this kind of resource, such as `access_control_rule`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<String>,
    /// Only changes by this user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// Page size, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl ChangeQuery {
    /// A page of the changes to one kind of resource.
    pub fn for_resource_type(resource_type: &str, page: PageQuery) -> Self {
        let PageQuery { limit, cursor } = page;
        Self { resource_type: Some(resource_type.to_owned()), user_id: None, limit, cursor }
    }
}

/// Distinguishes null, which is a value, from an absent field.
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
