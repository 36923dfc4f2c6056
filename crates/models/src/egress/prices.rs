//! Model prices.

use std::collections::BTreeMap;

use cynode_llm_wire::openai::Usage;
use cynode_store::ModelProvider;
use cynode_wire::providers::Price;
use serde_json::Value;

/// US dollars per million tokens, input and output, by model name prefix. List prices of the end of
/// 2025, which will age: a provider's row and the setting `models.prices` take precedence.
const LIST_PRICES: &[(&str, f64, f64)] = &[
    ("claude-3-5-haiku", 0.8, 4.0),
    ("claude-3-haiku", 0.25, 1.25),
    ("claude-haiku-4", 1.0, 5.0),
    ("claude-opus-4", 15.0, 75.0),
    ("claude-opus-4-5", 5.0, 25.0),
    ("claude-sonnet-4", 3.0, 15.0),
    ("gpt-4.1", 2.0, 8.0),
    ("gpt-4.1-mini", 0.4, 1.6),
    ("gpt-4.1-nano", 0.1, 0.4),
    ("gpt-4o", 2.5, 10.0),
    ("gpt-4o-mini", 0.15, 0.6),
    ("gpt-5", 1.25, 10.0),
    ("gpt-5-mini", 0.25, 2.0),
    ("gpt-5-nano", 0.05, 0.4),
    ("o3", 2.0, 8.0),
    ("o4-mini", 1.1, 4.4),
];

/// Returns the price of a model, if known: from the provider's row, the setting `models.prices` (by
/// full name or by model), or the built-in list; local models are free.
pub(super) fn find_price(
    provider: &ModelProvider,
    model: &str,
    settings: &BTreeMap<String, Value>,
) -> Option<Price> {
    let is_price = |price: &Price| price.input >= 0.0 && price.output >= 0.0;
    let read = |value: &Value| serde_json::from_value::<Price>(value.clone()).ok().filter(is_price);
    let set = settings.get("models.prices");
    let full = format!("{}/{model}", provider.name);
    let price = provider.prices.get(model).and_then(read);
    price
        .or_else(|| set?.get(&full).and_then(read))
        .or_else(|| set?.get(model).and_then(read))
        .or_else(|| provider.is_local.then_some(Price { input: 0.0, output: 0.0 }))
        .or_else(|| find_list_price(model))
}

/// Returns whether a model is known to be free.
pub(super) fn is_free(price: Option<Price>) -> bool {
    price.is_some_and(|price| price.input + price.output <= 0.0)
}

fn find_list_price(model: &str) -> Option<Price> {
    let known = LIST_PRICES.iter().filter(|(name, ..)| model.starts_with(name));
    let best = known.max_by_key(|(name, ..)| name.len())?;
    Some(Price { input: best.1, output: best.2 })
}

/// Returns the cost of an answer in millionths of a US dollar.
pub(super) fn cost_micro_usd(price: Price, usage: &Usage) -> i64 {
    // Dollars per million tokens equal micro-dollars per token.
    let tokens = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let cost =
        tokens(usage.prompt_tokens) * price.input + tokens(usage.completion_tokens) * price.output;
    #[expect(clippy::cast_possible_truncation, reason = "a cast of a float saturates")]
    let rounded = cost.ceil() as i64;
    rounded
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use cynode_domain::model::{ProviderKind, ProviderUse};
    use serde_json::json;

    use super::*;

    fn provider(is_local: bool, prices: Value) -> ModelProvider {
        ModelProvider {
            name: "p".to_owned(),
            kind: ProviderKind::OpenAi,
            base_url: String::new(),
            is_local,
            is_enabled: true,
            allow: ProviderUse::Everyone,
            models: vec![],
            concurrency: 1,
            prices,
            version: 1,
            updated_at: DateTime::UNIX_EPOCH,
            updated_by: None,
        }
    }

    fn input(provider: &ModelProvider, model: &str, set: Value) -> Option<f64> {
        let settings = BTreeMap::from([("models.prices".to_owned(), set)]);
        find_price(provider, model, &settings).map(|price| price.input)
    }

    #[test]
    fn the_nearest_price_counts() {
        let price = provider(false, json!({ "m": { "input": 1.0, "output": 1.0 } }));
        let silent = provider(false, json!({}));
        let set = json!({
            "p/m": { "input": 2.0, "output": 1.0 },
            "m": { "input": 3.0, "output": 1.0 },
            "n": { "input": 4.0, "output": 1.0 },
        });

        assert_eq!(input(&price, "m", set.clone()), Some(1.0));
        assert_eq!(input(&silent, "m", set.clone()), Some(2.0));
        assert_eq!(input(&silent, "n", set.clone()), Some(4.0));
        assert_eq!(input(&silent, "gpt-4o-mini-2024", set.clone()), Some(0.15));
        assert_eq!(input(&silent, "unheard-of", set.clone()), None);
        let negative = json!({ "unheard-of": { "input": -3.0, "output": 1.0 } });
        assert_eq!(input(&silent, "unheard-of", negative), None);
        assert_eq!(input(&provider(true, json!({})), "unheard-of", set), Some(0.0));
    }

    #[test]
    fn a_cost_is_counted_in_millionths_and_rounded_up() {
        let price = Price { input: 0.15, output: 0.6 };

        assert_eq!(cost_micro_usd(price, &Usage::new(1_000_000, 0)), 150_000);
        assert_eq!(cost_micro_usd(price, &Usage::new(0, 1_000)), 600);
        assert_eq!(cost_micro_usd(price, &Usage::new(1, 0)), 1);
        assert_eq!(cost_micro_usd(price, &Usage::new(0, 0)), 0);
    }
}
