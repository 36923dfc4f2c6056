//! What the tools for preferences have in common.

use cynode_domain::policy::ErrorKind;
use cynode_domain::preference::{ScopeKind, ValueType};
use cynode_wire::preferences::{PreferenceKey, WritePreference};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::tools::schema::{cursor, limit, text};
use crate::tools::{ToolContext, ToolFault};

/// How the keys of preferences about verification begin.
const VERIFICATION: &str = "verification.";

/// Whom a preference is for. The context stage has checked that the caller may name it.
#[derive(Deserialize)]
pub(super) struct Scoped {
    pub(super) scope_type: ScopeKind,
    pub(super) scope_id: Option<Uuid>,
}

impl Scoped {
    /// The preference of this scope for `key`.
    pub(super) fn key(&self, key: String) -> PreferenceKey {
        PreferenceKey { scope_type: self.scope_type, scope_id: self.scope_id, key }
    }
}

/// Rejects a change of a preference about verification by an agent: what a result must meet, only people say.
pub(super) fn may_change(context: &ToolContext, key: &str) -> Result<(), ToolFault> {
    if key.starts_with(VERIFICATION) && context.who.agent.agent().is_some() {
        let rule = format!("only a person changes preferences that begin with {VERIFICATION}");
        return Err(ToolFault::new(ErrorKind::Forbidden, rule));
    }
    Ok(())
}

/// A preference to be written.
#[derive(Deserialize)]
pub(super) struct Written {
    value: Value,
    value_type: ValueType,
    expected_version: Option<i64>,
    reason: Option<String>,
}

impl From<Written> for WritePreference {
    fn from(written: Written) -> Self {
        let Written { value, value_type, expected_version, reason } = written;
        Self { value, value_type, expected_version, reason }
    }
}

/// The arguments that name a scope, and `more` of those that some of the tools take.
pub(super) fn members(more: &[&str]) -> Value {
    let known = json!({
        "scope_type": {
            "enum": ["system", "group", "user", "project", "task"],
            "description": "Whom it is for; later ones win over earlier ones.",
        },
        "scope_id": {
            "type": "string", "format": "uuid", "minLength": 36, "maxLength": 36,
            "description": "The id of the group, user, project or task; absent for system, and for oneself.",
        },
        "key": text("What it is about, such as output.summary_style; case matters.", 200),
        "key_prefix": text("How keys begin.", 200),
        "value": { "description": "The value, of type value_type, or null to hide what weaker scopes say." },
        "value_type": { "enum": ["string", "number", "boolean", "object", "array"] },
        "expected_version": { "type": "integer", "description": "The version that is meant." },
        "reason": text("Why, for the record.", 1000),
        "limit": limit(),
        "cursor": cursor(),
    });
    let is_wanted = |name: &str| name.starts_with("scope_") || more.contains(&name);
    let Value::Object(known) = known else {
        return Value::Null;
    };
    Value::Object(known.into_iter().filter(|(name, _)| is_wanted(name)).collect::<Map<_, _>>())
}
