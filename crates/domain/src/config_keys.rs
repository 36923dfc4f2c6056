//! Registry of the settings and preferences that CyNode reads, with their allowed values.
//!
//! Start at [`validate_value`]. Other keys may have any value: agents and skills of an installation read their own
//! keys. An invalid value of a known key is rejected when it is set, so that readers need not handle it.

mod known_keys;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::image_name::check_image_name;
use crate::policy::network::{AllowedNetworks, HostPattern};
use crate::run_policy;
use crate::skill::Category;
use crate::text::ellipsize_chars;
use known_keys::CLOSED_PREFIXES;
pub use known_keys::KNOWN_KEYS;

words! {
    /// Whether a key is a setting or a preference.
    ConfigKeyKind("key type") {
        /// Applies to the installation.
        Setting = "setting",
        /// Applies to a user, a group, a project, a task or the system.
        Preference = "preference",
    }
}

/// The type of a value.
#[derive(Debug, Clone, Copy)]
enum ValueKind {
    Boolean,
    Usd,
    Integer(u32, u32),
    Word(fn() -> Vec<&'static str>),
    Text,
    TextList,
    TextOrList,
    Prices,
    Timeouts,
    Hosts,
    InternalNetworks,
    Images,
    Phrases,
    ScanRules,
}

/// A known key.
#[derive(Debug, Clone, Copy)]
pub struct KnownKey {
    pub key_kind: ConfigKeyKind,
    /// The key. One that ends with a dot is a prefix, followed by the name of a workflow node.
    pub key: &'static str,
    /// Description for people.
    pub description: &'static str,
    kind: ValueKind,
}

/// An invalid key or value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("{key} must be {allowed}; got {found}")]
    InvalidValue {
        key: String,
        allowed: String,
        /// Truncated.
        found: String,
    },
    /// The key has a prefix whose keys are all known, and is not one of them.
    #[error("there is no {key_kind} \"{key}\"; there are: {known}")]
    UnknownKey {
        key_kind: ConfigKeyKind,
        key: String,
        /// The known keys with the same prefix.
        known: String,
    },
}

/// The setting with the timeouts of providers.
pub const MODEL_TIMEOUTS: &str = "models.timeouts";

/// A timeout of a provider call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeoutField {
    /// Until the first token.
    FirstToken,
    /// Between two tokens.
    Silence,
    /// Until the end of the answer.
    Total,
}

impl TimeoutField {
    pub const ALL: [Self; 3] = [Self::FirstToken, Self::Silence, Self::Total];

    /// The field name in the setting.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FirstToken => "first_token_s",
            Self::Silence => "silence_s",
            Self::Total => "total_s",
        }
    }

    /// The allowed seconds.
    pub const fn range(self) -> std::ops::RangeInclusive<u64> {
        1..=86_400
    }
}

/// Rejects an invalid value of a known key. Null is invalid for a setting; as a preference it hides
/// the values of lower-precedence scopes.
pub fn validate_value(key_kind: ConfigKeyKind, key: &str, value: &Value) -> Result<(), KeyError> {
    let Some(known) =
        KNOWN_KEYS.iter().find(|known| known.key_kind == key_kind && known.matches_key(key))
    else {
        return check_unknown_key(key_kind, key);
    };
    if (key_kind == ConfigKeyKind::Preference && value.is_null()) || known.kind.accepts(value) {
        return Ok(());
    }
    let found = ellipsize_chars(&value.to_string(), 60).into_owned();
    Err(KeyError::InvalidValue { key: key.to_owned(), allowed: known.allowed(), found })
}

fn check_unknown_key(key_kind: ConfigKeyKind, key: &str) -> Result<(), KeyError> {
    let family =
        CLOSED_PREFIXES.iter().find(|(of, family)| *of == key_kind && key.starts_with(family));
    let Some((_, family)) = family else { return Ok(()) };
    let members = KNOWN_KEYS
        .iter()
        .filter(|known| known.key_kind == key_kind && known.key.starts_with(family));
    let known: Vec<_> = members.map(KnownKey::spelling).collect();
    let key = key.chars().take(100).collect();
    Err(KeyError::UnknownKey { key_kind, key, known: known.join(", ") })
}

/// The value as an amount of US dollars.
pub fn parse_usd(value: &Value) -> Option<f64> {
    value.as_f64().filter(|usd| usd.is_finite() && *usd >= 0.0)
}

impl KnownKey {
    /// The key for display; a prefix ends with `NODE`.
    pub fn spelling(&self) -> String {
        if self.key.ends_with('.') { format!("{}NODE", self.key) } else { self.key.to_owned() }
    }

    /// Description of the allowed values.
    pub fn allowed(&self) -> String {
        match self.kind {
            ValueKind::Boolean => "true or false".to_owned(),
            ValueKind::Usd => "a number of US dollars, 0 or more".to_owned(),
            ValueKind::Integer(low, high) => format!("a whole number from {low} to {high}"),
            ValueKind::Word(words) => format!("one of: {}", words().join(", ")),
            ValueKind::Text => "a text".to_owned(),
            ValueKind::TextList => "a list of names, such as [\"local\"]".to_owned(),
            ValueKind::TextOrList => "a text or a list of texts".to_owned(),
            ValueKind::Prices => {
                "prices by model, such as {\"ext/tiny\": {\"input\": 0.1, \"output\": 0.4}}, none negative"
                    .to_owned()
            }
            ValueKind::Timeouts => {
                let fields: Vec<_> = TimeoutField::ALL.iter().map(|field| field.as_str()).collect();
                format!(
                    "seconds by provider, such as {{\"local\": {{\"first_token_s\": 900}}}}; fields: {}",
                    fields.join(", ")
                )
            }
            ValueKind::Hosts => "a list of hosts, such as [\"docs.rs\", \"*.example.org\"]".to_owned(),
            ValueKind::InternalNetworks => {
                "a list of networks, addresses and hosts, such as [\"10.1.0.0/16\"]".to_owned()
            }
            ValueKind::Images => {
                "a list of names of images, at least one, such as [\"host\", \"python\"]".to_owned()
            }
            ValueKind::Phrases => {
                let categories: Vec<_> = Category::ALL.iter().map(|known| known.as_str()).collect();
                format!("lists of phrases by category ({})", categories.join(", "))
            }
            ValueKind::ScanRules => {
                "a list of rules, each with id, category, reason and pattern".to_owned()
            }
        }
    }

    fn matches_key(&self, key: &str) -> bool {
        match key.strip_prefix(self.key) {
            Some("") => !self.key.ends_with('.'),
            Some(node) => self.key.ends_with('.') && run_policy::is_configurable_node(node),
            None => false,
        }
    }
}

impl ValueKind {
    fn accepts(self, value: &Value) -> bool {
        match self {
            Self::Boolean => value.is_boolean(),
            Self::Usd => parse_usd(value).is_some(),
            Self::Integer(low, high) => value
                .as_u64()
                .is_some_and(|number| (u64::from(low)..=u64::from(high)).contains(&number)),
            Self::Word(words) => value.as_str().is_some_and(|word| words().contains(&word)),
            Self::Text => is_text(value),
            Self::TextList => text_list(value).is_some(),
            Self::TextOrList => is_text(value) || text_list(value).is_some(),
            Self::Prices => value.as_object().is_some_and(|all| all.values().all(is_price)),
            Self::Timeouts => value.as_object().is_some_and(|all| all.values().all(is_timeouts)),
            Self::Hosts => text_list(value)
                .is_some_and(|hosts| hosts.iter().all(|host| host.parse::<HostPattern>().is_ok())),
            Self::InternalNetworks => {
                text_list(value).is_some_and(|all| AllowedNetworks::parse(all).is_ok())
            }
            Self::Images => text_list(value).is_some_and(|all| {
                !all.is_empty() && all.iter().all(|name| check_image_name(name).is_ok())
            }),
            Self::Phrases => value.as_object().is_some_and(|all| {
                all.iter().all(|(category, phrases)| {
                    category.parse::<Category>().is_ok() && text_list(phrases).is_some()
                })
            }),
            // The scan itself checks each rule, when the setting is set.
            Self::ScanRules => value.is_array(),
        }
    }
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

fn text_list(value: &Value) -> Option<Vec<&str>> {
    let items = value.as_array()?;
    items.iter().map(|item| item.as_str().filter(|text| !text.trim().is_empty())).collect()
}

fn is_price(value: &Value) -> bool {
    let part = |name: &str| value.get(name).and_then(parse_usd).is_some();
    value.as_object().is_some_and(|parts| parts.len() == 2) && part("input") && part("output")
}

fn is_timeouts(value: &Value) -> bool {
    let fits = |(name, seconds): (&String, &Value)| {
        let field = TimeoutField::ALL.into_iter().find(|field| field.as_str() == name);
        field.zip(seconds.as_u64()).is_some_and(|(field, seconds)| field.range().contains(&seconds))
    };
    value.as_object().is_some_and(|fields| fields.iter().all(fits))
}
