//! Provider timeouts: defaults for local and external ones, overridden by the setting
//! `models.timeouts`.

use std::collections::BTreeMap;
use std::time::Duration;

use cynode_domain::config_keys::{MODEL_TIMEOUTS, TimeoutField};
use cynode_llm::ProviderLimits;
use cynode_store::ModelProvider;
use serde_json::Value;

pub(super) type SettingValues = BTreeMap<String, Value>;

/// Returns the timeouts of a provider. By default a local one may process a prompt for minutes; the
/// setting overrides that.
pub(super) fn provider_limits(row: &ModelProvider, settings: &SettingValues) -> ProviderLimits {
    let mut limits = if row.is_local { ProviderLimits::local() } else { ProviderLimits::default() };
    let Some(set) = settings.get(MODEL_TIMEOUTS).and_then(|all| all.get(&row.name)) else {
        return limits;
    };
    let seconds = |field: TimeoutField| {
        let range = field.range();
        let seconds = set.get(field.as_str()).and_then(Value::as_u64);
        // Out-of-range values, such as from another version, are ignored.
        seconds.filter(|it| range.contains(it)).map(Duration::from_secs)
    };
    if let Some(first) = seconds(TimeoutField::FirstToken) {
        limits.begin = first;
    }
    if let Some(silence) = seconds(TimeoutField::Silence) {
        limits.idle_timeout = silence;
    }
    if let Some(total) = seconds(TimeoutField::Total) {
        (limits.finish, limits.max_stream_duration) = (total, total);
    }
    limits
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use cynode_domain::model::{ProviderKind, ProviderUse};
    use serde_json::json;

    use super::*;

    fn row(name: &str, is_local: bool) -> ModelProvider {
        ModelProvider {
            name: name.to_owned(),
            kind: ProviderKind::OpenAi,
            base_url: "http://127.0.0.1:1/v1".to_owned(),
            is_local,
            is_enabled: true,
            allow: ProviderUse::Everyone,
            models: vec![],
            concurrency: 1,
            prices: json!({}),
            version: 1,
            updated_at: DateTime::UNIX_EPOCH,
            updated_by: None,
        }
    }

    #[test]
    fn ones_own_models_are_waited_for_longer_and_a_setting_decides() {
        let none = SettingValues::new();
        let (own, others) =
            (provider_limits(&row("own", true), &none), provider_limits(&row("far", false), &none));
        assert_eq!((own, others), (ProviderLimits::local(), ProviderLimits::default()));

        let set = json!({ "own": { "first_token_s": 1200, "silence_s": 30, "total_s": 7200 } });
        let set = SettingValues::from([(MODEL_TIMEOUTS.to_owned(), set)]);
        let own = provider_limits(&row("own", true), &set);

        let seconds = [own.begin, own.idle_timeout, own.finish, own.max_stream_duration]
            .map(|it| it.as_secs());
        assert_eq!(seconds, [1200, 30, 7200, 7200]);
        assert_eq!(provider_limits(&row("far", false), &set), ProviderLimits::default());
    }

    #[test]
    fn a_timeout_that_cannot_be_read_changes_nothing() {
        for bad in [json!(5), json!({ "own": 5 }), json!({ "own": { "silence_s": 0 } })] {
            let set = SettingValues::from([(MODEL_TIMEOUTS.to_owned(), bad)]);
            assert_eq!(provider_limits(&row("own", true), &set), ProviderLimits::local());
        }
    }
}
