//! How long a provider may take, by where it runs and by the setting `models.timeouts`.

use std::collections::BTreeMap;
use std::time::Duration;

use cynode_domain::known::{MODEL_TIMEOUTS, TimeoutField};
use cynode_llm::Limits;
use cynode_store::ModelProvider;
use serde_json::Value;

/// Every setting.
pub(super) type Settings = BTreeMap<String, Value>;

/// The limits of a provider: by default a local one may read a prompt for minutes; the setting overrides that.
pub(super) fn limits(row: &ModelProvider, settings: &Settings) -> Limits {
    let mut limits = if row.is_local { Limits::local() } else { Limits::default() };
    let Some(set) = settings.get(MODEL_TIMEOUTS).and_then(|all| all.get(&row.name)) else {
        return limits;
    };
    let seconds = |field: TimeoutField| {
        let range = field.range();
        let seconds = set.get(field.as_str()).and_then(Value::as_u64);
        // What an older version took, or no version would, changes nothing.
        seconds.filter(|it| range.contains(it)).map(Duration::from_secs)
    };
    if let Some(first) = seconds(TimeoutField::FirstToken) {
        limits.begin = first;
    }
    if let Some(silence) = seconds(TimeoutField::Silence) {
        limits.go_on = silence;
    }
    if let Some(total) = seconds(TimeoutField::Total) {
        (limits.finish, limits.longest) = (total, total);
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
        let none = Settings::new();
        let (own, others) = (limits(&row("own", true), &none), limits(&row("far", false), &none));
        assert_eq!((own, others), (Limits::local(), Limits::default()));

        let set = json!({ "own": { "first_token_s": 1200, "silence_s": 30, "total_s": 7200 } });
        let set = Settings::from([(MODEL_TIMEOUTS.to_owned(), set)]);
        let own = limits(&row("own", true), &set);

        let seconds = [own.begin, own.go_on, own.finish, own.longest].map(|it| it.as_secs());
        assert_eq!(seconds, [1200, 30, 7200, 7200]);
        assert_eq!(limits(&row("far", false), &set), Limits::default());
    }

    #[test]
    fn a_timeout_that_cannot_be_read_changes_nothing() {
        for bad in [json!(5), json!({ "own": 5 }), json!({ "own": { "silence_s": 0 } })] {
            let set = Settings::from([(MODEL_TIMEOUTS.to_owned(), bad)]);
            assert_eq!(limits(&row("own", true), &set), Limits::local());
        }
    }
}
