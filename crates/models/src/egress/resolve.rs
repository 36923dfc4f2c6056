//! Resolves a model name to candidates, in the order in which they are tried.

use std::collections::BTreeMap;

use cynode_store::ModelProvider;
use serde_json::Value;

use super::{EgressError, ModelRouting};

/// Hints that stand for a model, with the aliases that some clients send.
const HINTS: [(&str, &[&str]); 3] =
    [("fast", &["haiku"]), ("balanced", &["sonnet"]), ("strong", &["opus"])];

/// The hint of a request that names no model.
const DEFAULT_HINT: &str = "balanced";

/// A provider and its name for the model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ModelCandidate {
    pub(super) provider: ModelProvider,
    pub(super) model: String,
}

/// Listed models by provider name.
pub(super) type ModelLists = BTreeMap<String, Vec<String>>;

/// The parsed form of a model name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ParsedModelName {
    /// Resolved by the setting `models.hints.<hint>`.
    Hint(&'static str),
    Full(String, String),
    /// A model of any provider that lists it.
    Plain(String),
}

/// Parses a model name, without the providers' lists.
pub(super) fn parse_model_name(name: Option<&str>, providers: &[ModelProvider]) -> ParsedModelName {
    let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) else {
        return ParsedModelName::Hint(DEFAULT_HINT);
    };
    let hint = HINTS.iter().find(|(hint, others)| *hint == name || others.contains(&name));
    if let Some((hint, _)) = hint {
        return ParsedModelName::Hint(hint);
    }
    match name.split_once('/') {
        Some((provider, model)) if providers.iter().any(|known| known.name == provider) => {
            ParsedModelName::Full(provider.to_owned(), model.to_owned())
        }
        _ => ParsedModelName::Plain(name.to_owned()),
    }
}

/// Returns the full names that a hint stands for.
pub(super) fn hint_targets(hint: &str, settings: &BTreeMap<String, Value>) -> Vec<String> {
    let set = settings.get(&format!("models.hints.{hint}"));
    match set {
        Some(Value::String(name)) => vec![name.clone()],
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
        }
        _ => vec![],
    }
}

/// Returns the hints that stand for a model.
pub(super) fn hints_for_model(full: &str, settings: &BTreeMap<String, Value>) -> Vec<String> {
    let stands = |hint: &str| hint_targets(hint, settings).iter().any(|name| name == full);
    HINTS.iter().filter(|(hint, _)| stands(hint)).map(|(hint, _)| (*hint).to_owned()).collect()
}

/// Returns the candidates in the order of the caller's routing.
pub(super) fn resolve_candidates(
    named: &ParsedModelName,
    providers: &[ModelProvider],
    lists: &ModelLists,
    settings: &BTreeMap<String, Value>,
    routing: &ModelRouting,
) -> Result<Vec<ModelCandidate>, EgressError> {
    let mut found = match named {
        ParsedModelName::Hint(hint) => match &*hint_targets(hint, settings) {
            [] => first_model_of_each(providers, lists),
            meant => meant.iter().filter_map(|name| find_exact(name, providers)).collect(),
        },
        ParsedModelName::Full(provider, model) => {
            find_exact(&format!("{provider}/{model}"), providers).into_iter().collect()
        }
        ParsedModelName::Plain(model) => find_by_model(model, providers, lists, routing)?,
    };
    if found.is_empty() {
        let name = match named {
            ParsedModelName::Hint(hint) => (*hint).to_owned(),
            ParsedModelName::Full(provider, model) => format!("{provider}/{model}"),
            ParsedModelName::Plain(model) => model.clone(),
        };
        return Err(EgressError::UnknownModel(name.chars().take(200).collect()));
    }
    found.sort_by_key(|candidate| rank(candidate, routing));
    Ok(found)
}

/// Sorts local providers first if preferred, then by the routing order.
fn rank(candidate: &ModelCandidate, routing: &ModelRouting) -> (bool, usize) {
    let order = &routing.fallback_provider_order;
    let place = order.iter().position(|name| *name == candidate.provider.name);
    let is_late = routing.prefer_local && !candidate.provider.is_local;
    (is_late, place.unwrap_or(order.len()))
}

fn find_exact(full: &str, providers: &[ModelProvider]) -> Option<ModelCandidate> {
    let (name, model) = full.split_once('/')?;
    let provider = providers.iter().find(|known| known.name == name)?;
    // A provider without configured models may serve models that it does not list.
    let is_offered =
        provider.models.is_empty() || provider.models.iter().any(|known| known == model);
    is_offered.then(|| ModelCandidate { provider: provider.clone(), model: model.to_owned() })
}

fn find_by_model(
    model: &str,
    providers: &[ModelProvider],
    lists: &ModelLists,
    routing: &ModelRouting,
) -> Result<Vec<ModelCandidate>, EgressError> {
    let lists_it = |provider: &&ModelProvider| {
        lists.get(&provider.name).is_some_and(|list| list.iter().any(|known| known == model))
    };
    let candidate = |provider: &ModelProvider| ModelCandidate {
        provider: provider.clone(),
        model: model.to_owned(),
    };
    let found: Vec<ModelCandidate> = providers.iter().filter(lists_it).map(candidate).collect();
    let is_ordered = |candidate: &ModelCandidate| {
        routing.fallback_provider_order.contains(&candidate.provider.name)
    };
    if found.len() > 1 && !found.iter().any(is_ordered) {
        let full = |found: &ModelCandidate| format!("{}/{model}", found.provider.name);
        let full_names = found.iter().map(full).collect();
        return Err(EgressError::Ambiguous { model: model.to_owned(), full_names });
    }
    Ok(found)
}

/// Without a setting, a hint means the first model that each provider lists.
fn first_model_of_each(providers: &[ModelProvider], lists: &ModelLists) -> Vec<ModelCandidate> {
    let first = |provider: &ModelProvider| {
        let model = lists.get(&provider.name)?.first()?.clone();
        Some(ModelCandidate { provider: provider.clone(), model })
    };
    providers.iter().filter_map(first).collect()
}

#[cfg(test)]
mod tests;
