//! From the name of a model to those who could answer, in the order in which they are asked.

use std::collections::BTreeMap;

use cynode_store::ModelProvider;
use serde_json::Value;

use super::{EgressError, Routing};

/// What stands for a model without naming one, and what some clients call it.
const HINTS: [(&str, &[&str]); 3] =
    [("fast", &["haiku"]), ("balanced", &["sonnet"]), ("strong", &["opus"])];

/// What a request means that names no model.
const USUAL_HINT: &str = "balanced";

/// A provider, and its own name for the model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) provider: ModelProvider,
    pub(super) model: String,
}

/// The models that each provider lists, by its name.
pub(super) type Lists = BTreeMap<String, Vec<String>>;

/// What a name means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Named {
    /// Whatever the setting `models.hints.<hint>` says.
    Hint(&'static str),
    /// A model of this provider.
    Full(String, String),
    /// A model of whoever lists it.
    Plain(String),
}

/// What a name means, before anybody is asked what they list.
pub(super) fn read(name: Option<&str>, providers: &[ModelProvider]) -> Named {
    let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) else {
        return Named::Hint(USUAL_HINT);
    };
    let hint = HINTS.iter().find(|(hint, others)| *hint == name || others.contains(&name));
    if let Some((hint, _)) = hint {
        return Named::Hint(hint);
    }
    match name.split_once('/') {
        Some((provider, model)) if providers.iter().any(|known| known.name == provider) => {
            Named::Full(provider.to_owned(), model.to_owned())
        }
        _ => Named::Plain(name.to_owned()),
    }
}

/// The full names that a hint stands for.
pub(super) fn hinted(hint: &str, settings: &BTreeMap<String, Value>) -> Vec<String> {
    let set = settings.get(&format!("models.hints.{hint}"));
    match set {
        Some(Value::String(name)) => vec![name.clone()],
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
        }
        _ => vec![],
    }
}

/// The hints that stand for a model.
pub(super) fn hints_of(full: &str, settings: &BTreeMap<String, Value>) -> Vec<String> {
    let stands = |hint: &str| hinted(hint, settings).iter().any(|name| name == full);
    HINTS.iter().filter(|(hint, _)| stands(hint)).map(|(hint, _)| (*hint).to_owned()).collect()
}

/// Those who could answer, in the order in which the caller wants them asked.
pub(super) fn choose(
    named: &Named,
    providers: &[ModelProvider],
    lists: &Lists,
    settings: &BTreeMap<String, Value>,
    routing: &Routing,
) -> Result<Vec<Candidate>, EgressError> {
    let mut found = match named {
        Named::Hint(hint) => match &*hinted(hint, settings) {
            [] => first_of_each(providers, lists),
            meant => meant.iter().filter_map(|name| exact(name, providers)).collect(),
        },
        Named::Full(provider, model) => {
            exact(&format!("{provider}/{model}"), providers).into_iter().collect()
        }
        Named::Plain(model) => plain(model, providers, lists, routing)?,
    };
    if found.is_empty() {
        let name = match named {
            Named::Hint(hint) => (*hint).to_owned(),
            Named::Full(provider, model) => format!("{provider}/{model}"),
            Named::Plain(model) => model.clone(),
        };
        return Err(EgressError::UnknownModel(name.chars().take(200).collect()));
    }
    found.sort_by_key(|candidate| rank(candidate, routing));
    Ok(found)
}

/// One's own first if that is wanted; then in the order that is wanted.
fn rank(candidate: &Candidate, routing: &Routing) -> (bool, usize) {
    let order = &routing.fallback_provider_order;
    let place = order.iter().position(|name| *name == candidate.provider.name);
    let is_late = routing.prefer_local && !candidate.provider.is_local;
    (is_late, place.unwrap_or(order.len()))
}

fn exact(full: &str, providers: &[ModelProvider]) -> Option<Candidate> {
    let (name, model) = full.split_once('/')?;
    let provider = providers.iter().find(|known| known.name == name)?;
    // Who is asked what they offer need not list everything they answer to.
    let is_offered =
        provider.models.is_empty() || provider.models.iter().any(|known| known == model);
    is_offered.then(|| Candidate { provider: provider.clone(), model: model.to_owned() })
}

fn plain(
    model: &str,
    providers: &[ModelProvider],
    lists: &Lists,
    routing: &Routing,
) -> Result<Vec<Candidate>, EgressError> {
    let lists_it = |provider: &&ModelProvider| {
        lists.get(&provider.name).is_some_and(|list| list.iter().any(|known| known == model))
    };
    let candidate = |provider: &ModelProvider| Candidate {
        provider: provider.clone(),
        model: model.to_owned(),
    };
    let found: Vec<Candidate> = providers.iter().filter(lists_it).map(candidate).collect();
    let is_ordered =
        |candidate: &Candidate| routing.fallback_provider_order.contains(&candidate.provider.name);
    if found.len() > 1 && !found.iter().any(is_ordered) {
        let full = |found: &Candidate| format!("{}/{model}", found.provider.name);
        let full_names = found.iter().map(full).collect();
        return Err(EgressError::Ambiguous { model: model.to_owned(), full_names });
    }
    Ok(found)
}

/// Without a setting, a hint means the first model that each provider lists.
fn first_of_each(providers: &[ModelProvider], lists: &Lists) -> Vec<Candidate> {
    let first = |provider: &ModelProvider| {
        let model = lists.get(&provider.name)?.first()?.clone();
        Some(Candidate { provider: provider.clone(), model })
    };
    providers.iter().filter_map(first).collect()
}

#[cfg(test)]
mod tests;
