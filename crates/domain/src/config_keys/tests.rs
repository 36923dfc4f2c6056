//! Tests of the known keys: their kinds, ranges and messages.

use serde_json::json;

use super::*;
use crate::suspension::IF_INTERRUPTED_KEY;

fn validation_message(key_kind: ConfigKeyKind, key: &str, value: &Value) -> String {
    validate_value(key_kind, key, value)
        .map_or_else(|fault| fault.to_string(), |()| "fine".to_owned())
}

#[test]
fn a_value_that_a_setting_cannot_have_is_refused_with_what_is_allowed() {
    let setting = |key, value| validation_message(ConfigKeyKind::Setting, key, &value);

    for (key, value) in [
        ("budget.day_usd", json!(0)),
        ("budget.day_usd", json!(2.5)),
        ("budget.mode", json!("warn")),
        ("models.hints.fast", json!("local/tiny")),
        ("models.hints.strong", json!(["a/b", "c/d"])),
        ("models.prices", json!({ "ext/tiny": { "input": 0, "output": 0.4 } })),
        ("models.timeouts", json!({ "local": { "first_token_s": 900, "total_s": 7200 } })),
        ("network.internal.allowed", json!(["10.1.0.0/16", "wiki.corp.example"])),
        ("web.fetch.allowed_hosts", json!(["*"])),
        ("sandbox.allowed_images", json!(["host", "python-3.12"])),
        ("skills.scan.phrases", json!({ "secret_bypass": ["sesame"] })),
        ("mcp.audit.retention_days", json!(90)),
        ("house.colour", json!({ "any": "thing" })),
    ] {
        assert_eq!(setting(key, value.clone()), "fine", "{key} {value}");
    }
    for (key, value) in [
        ("budget.day_usd", json!("0 USD")),
        ("budget.day_usd", json!(-1)),
        ("budget.day_usd", Value::Null),
        ("budget.mode", json!("foo")),
        ("models.hints.fast", json!(5)),
        ("models.prices", json!("{bad")),
        ("models.prices", json!({ "ext/tiny": { "input": -3, "output": 1 } })),
        ("models.prices", json!({ "ext/tiny": { "input": 3 } })),
        ("models.timeouts", json!({ "local": { "silence_s": 0 } })),
        ("models.timeouts", json!({ "local": { "silent_s": 5 } })),
        ("network.internal.allowed", json!(["10.0.0.0/99"])),
        ("web.fetch.allowed_hosts", json!("docs.rs")),
        ("sandbox.allowed_images", json!([])),
        ("sandbox.allowed_images", json!(["docker.io/python"])),
        ("skills.scan.phrases", json!({ "colour": ["x"] })),
        ("mcp.audit.retention_days", json!("90")),
        ("access.rules.seeded", json!(1)),
    ] {
        assert!(
            setting(key, value.clone()).starts_with(&format!("{key} must be ")),
            "{key} {value}"
        );
    }
    assert_eq!(
        setting("budget.day_usd", json!("abc")),
        "budget.day_usd must be a number of US dollars, 0 or more; got \"abc\""
    );
    assert_eq!(
        setting("models.hints.quick", json!("a/b")),
        "there is no setting \"models.hints.quick\"; there are: models.hints.balanced, \
         models.hints.fast, models.hints.strong"
    );
}

#[test]
fn a_preference_is_checked_like_a_setting_and_may_be_null() {
    let preference = |key, value| validation_message(ConfigKeyKind::Preference, key, &value);

    for (key, value) in [
        ("budget.run_usd", Value::Null),
        ("output.summary_style", json!(7)),
        ("model_routing.prefer_local", json!(true)),
        (IF_INTERRUPTED_KEY, json!("give_up")),
        ("workflow.node_timeouts.collect_result", json!(900)),
    ] {
        assert_eq!(preference(key, value.clone()), "fine", "{key} {value}");
    }
    for (key, value, expected) in [
        ("budget.run_usd", json!("abc"), "a number of US dollars"),
        ("model_routing.prefer_local", json!("maybe"), "true or false"),
        ("model_routing.prefer_locall", json!(true), "there is no preference"),
        ("model_routing.allowed_external_providers", json!("claude"), "a list of names"),
        ("agents.project_manager.placement.node", json!(5), "a text"),
        (IF_INTERRUPTED_KEY, json!("banana"), "one of: ask, retry, give_up"),
        ("workflow.max_step_retries", json!(99), "a whole number from 1 to 10"),
        ("workflow.node_retries.nowhere", json!(2), "there is no preference"),
        ("workflow.node_retries.", json!(2), "there is no preference"),
    ] {
        let said = preference(key, value);
        assert!(said.contains(expected), "{key}: {said}");
    }
}

#[test]
fn keys_are_listed_once_each_by_place_and_name() {
    let keys: Vec<_> = KNOWN_KEYS.iter().map(|known| (known.key_kind, known.spelling())).collect();

    assert!(keys.is_sorted_by(|one, next| one < next), "{keys:#?}");
}
