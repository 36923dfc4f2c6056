//! How many units of one role run at once in a request.

use std::collections::BTreeMap;

use crate::request::MAX_PARALLEL_UNITS;
use crate::work::UnitKind;

/// The prefix of the settings with the limits; the name of a role follows.
pub const ROLE_LIMITS_PREFIX: &str = "pm.max_parallel.";
/// The default limit of a role.
const DEFAULT_LIMIT: u32 = 8;
/// Testers build and run the project, which takes most of a worker node.
const DEFAULT_TESTERS: u32 = 4;

/// The limits by role, beside `max_parallel_units` of the request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoleLimits(BTreeMap<UnitKind, u32>);

impl RoleLimits {
    /// Reads the settings, by key. A value that cannot be read, which only an older version can have stored, allows one unit.
    pub fn from_settings<'a>(
        settings: impl IntoIterator<Item = (&'a str, &'a serde_json::Value)>,
    ) -> Self {
        let limit = |(key, value): (&str, &serde_json::Value)| {
            let role = key.strip_prefix(ROLE_LIMITS_PREFIX)?;
            let kind = UnitKind::ALL.iter().copied().find(|kind| kind.role() == role)?;
            let limit = value.as_u64().and_then(|limit| u32::try_from(limit).ok());
            Some((kind, limit.map_or(1, |limit| limit.clamp(1, MAX_PARALLEL_UNITS))))
        };
        Self(settings.into_iter().filter_map(limit).collect())
    }

    /// How many units of a kind may run at once. Each role works on one kind.
    pub fn limit(&self, kind: UnitKind) -> u32 {
        let default = if kind == UnitKind::Test { DEFAULT_TESTERS } else { DEFAULT_LIMIT };
        self.0.get(&kind).copied().unwrap_or(default)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config_keys::{ConfigKeyKind, validate_value};

    #[test]
    fn every_role_has_a_setting_and_a_default() {
        for kind in UnitKind::ALL {
            let key = format!("{ROLE_LIMITS_PREFIX}{}", kind.role());
            let set = |value| validate_value(ConfigKeyKind::Setting, &key, &value);
            assert!(set(json!(1)).is_ok() && set(json!(MAX_PARALLEL_UNITS)).is_ok(), "{key}");
            assert!(set(json!(0)).is_err() && set(json!(MAX_PARALLEL_UNITS + 1)).is_err(), "{key}");
            let value = json!(3);
            let limits = RoleLimits::from_settings([(key.as_str(), &value)]);
            assert_eq!(limits.limit(*kind), 3);
            assert!(RoleLimits::default().limit(*kind) >= 1);
        }
        let unknown = validate_value(ConfigKeyKind::Setting, "pm.max_parallel.coder", &json!(1));
        assert!(unknown.unwrap_err().to_string().contains("pm.max_parallel.developer"));
    }

    #[test]
    fn a_limit_that_cannot_be_read_allows_one_unit() {
        for value in [json!("many"), json!(-1), json!(0)] {
            let limits = RoleLimits::from_settings([("pm.max_parallel.reviewer", &value)]);
            assert_eq!(limits.limit(UnitKind::Review), 1, "{value}");
        }
    }
}
