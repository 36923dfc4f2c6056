//! Tests of resolving names to candidates.

use chrono::DateTime;
use cynode_domain::model::{ProviderKind, ProviderUse};
use serde_json::json;

use super::*;

fn provider(name: &str, is_local: bool, models: &[&str]) -> ModelProvider {
    ModelProvider {
        name: name.to_owned(),
        kind: ProviderKind::OpenAi,
        base_url: String::new(),
        is_local,
        is_enabled: true,
        allow: ProviderUse::Everyone,
        models: models.iter().map(|model| (*model).to_owned()).collect(),
        concurrency: 1,
        prices: json!({}),
        version: 1,
        updated_at: DateTime::UNIX_EPOCH,
        updated_by: None,
    }
}

fn providers() -> Vec<ModelProvider> {
    vec![
        provider("far", false, &["big", "shared", "org/deep"]),
        provider("near", true, &["small", "shared"]),
    ]
}

fn full_names(
    name: Option<&str>,
    settings: &BTreeMap<String, Value>,
    routing: &ModelRouting,
) -> Result<Vec<String>, EgressError> {
    let providers = providers();
    let lists = providers.iter().map(|p| (p.name.clone(), p.models.clone())).collect();
    let named = parse_model_name(name, &providers);
    let found = resolve_candidates(&named, &providers, &lists, settings, routing)?;
    Ok(found.iter().map(|found| format!("{}/{}", found.provider.name, found.model)).collect())
}

fn resolve_plain(name: &str) -> Result<Vec<String>, EgressError> {
    full_names(Some(name), &BTreeMap::new(), &ModelRouting::default())
}

fn routing_with_order(names: &[&str], prefer_local: bool) -> ModelRouting {
    let fallback_provider_order = names.iter().map(|name| (*name).to_owned()).collect();
    ModelRouting { prefer_local, fallback_provider_order, ..ModelRouting::default() }
}

#[test]
fn a_full_name_and_a_name_that_one_provider_lists_mean_one_model() {
    assert_eq!(resolve_plain("far/shared").unwrap(), ["far/shared"]);
    assert_eq!(resolve_plain("small").unwrap(), ["near/small"]);
    assert_eq!(resolve_plain("org/deep").unwrap(), ["far/org/deep"]);
}

#[test]
fn a_name_that_several_list_is_ambiguous_unless_the_caller_has_an_order() {
    let error = resolve_plain("shared").unwrap_err().to_string();
    assert_eq!(error, "several providers offer \"shared\"; use far/shared or near/shared");

    let far_first = routing_with_order(&["far", "near"], false);
    let found = full_names(Some("shared"), &BTreeMap::new(), &far_first).unwrap();
    assert_eq!(found, ["far/shared", "near/shared"]);
    let own_first = routing_with_order(&["far", "near"], true);
    let found = full_names(Some("shared"), &BTreeMap::new(), &own_first).unwrap();
    assert_eq!(found, ["near/shared", "far/shared"]);
}

#[test]
fn a_model_that_a_provider_does_not_list_is_unknown() {
    for name in ["far/small", "absent/small", "nothing"] {
        assert!(matches!(resolve_plain(name), Err(EgressError::UnknownModel(_))), "{name}");
    }
}

#[test]
fn a_hint_means_what_the_setting_says_in_the_order_the_caller_wants() {
    let settings = BTreeMap::from([
        ("models.hints.strong".to_owned(), json!(["far/big", "near/small", "gone/x"])),
        ("models.hints.fast".to_owned(), json!("near/small")),
    ]);
    let expected =
        |name: &str, routing: &ModelRouting| full_names(Some(name), &settings, routing).unwrap();

    assert_eq!(expected("strong", &routing_with_order(&[], false)), ["far/big", "near/small"]);
    assert_eq!(expected("opus", &ModelRouting::default()), ["near/small", "far/big"]);
    assert_eq!(expected("haiku", &ModelRouting::default()), ["near/small"]);
    assert_eq!(hints_for_model("near/small", &settings), ["fast", "strong"]);
}

#[test]
fn a_hint_without_a_setting_and_no_name_mean_the_first_model_of_each() {
    let none = BTreeMap::new();

    let found = full_names(None, &none, &ModelRouting::default()).unwrap();
    assert_eq!(found, ["near/small", "far/big"]);
    let found = full_names(Some("fast"), &none, &routing_with_order(&["far"], false)).unwrap();
    assert_eq!(found, ["far/big", "near/small"]);
}
