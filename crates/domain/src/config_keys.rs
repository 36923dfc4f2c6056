//! Registry of the settings and preferences that CyNode reads, with their allowed values.
//!
//! Start at [`validate_value`]. Other keys may have any value: agents and skills of an installation read their own
//! keys. An invalid value of a known key is rejected when it is set, so that readers need not handle it.

use serde_json::Value;

use crate::image_name::{ALLOWED_IMAGES_KEY, check_image_name};
use crate::job_cache::{CACHE_ENABLED_KEY, CACHE_QUOTA_KEY};
use crate::policy::network::{AllowedNetworks, HostPattern};
use crate::request::MAX_PARALLEL_UNITS;
use crate::role_limits::ROLE_LIMITS_PREFIX;
use crate::run_policy;
use crate::skill::Category;
use crate::suspension::{IF_INTERRUPTED_KEY, IfInterrupted};
use crate::verification::ACCEPT_UNVERIFIED_KEY;

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

const fn setting(key: &'static str, kind: ValueKind, description: &'static str) -> KnownKey {
    KnownKey { key_kind: ConfigKeyKind::Setting, key, description, kind }
}

const fn preference(key: &'static str, kind: ValueKind, description: &'static str) -> KnownKey {
    KnownKey { key_kind: ConfigKeyKind::Preference, key, description, kind }
}

fn budget_modes() -> Vec<&'static str> {
    vec!["block", "warn"]
}

fn interruption_policies() -> Vec<&'static str> {
    IfInterrupted::ALL.iter().map(|way| way.as_str()).collect()
}

const ATTEMPTS: ValueKind =
    ValueKind::Integer(run_policy::ATTEMPTS_RANGE.0, run_policy::ATTEMPTS_RANGE.1);
const SECONDS: ValueKind =
    ValueKind::Integer(run_policy::SECONDS_RANGE.0, run_policy::SECONDS_RANGE.1);
const PAUSE_MS: ValueKind =
    ValueKind::Integer(run_policy::BACKOFF_MS_RANGE.0, run_policy::BACKOFF_MS_RANGE.1);
const PARALLEL: ValueKind = ValueKind::Integer(1, MAX_PARALLEL_UNITS);
const PREFER_LOCAL: &str = "prefer local models to external ones";
const EXTERNAL: &str = "the only external providers that may be used";
const ORDER: &str = "the order in which providers are tried";
const CONTEXT: &str = "text that is added to the prompt of this agent";

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

/// Every known key: settings, then preferences, each sorted by name.
pub const KNOWN_KEYS: &[KnownKey] = &[
    setting(
        "access.rules.repositories_seeded",
        ValueKind::Boolean,
        "the initial access rules about repositories were written",
    ),
    setting("access.rules.seeded", ValueKind::Boolean, "the initial access rules were written"),
    setting(
        "agents.project_manager.sandbox.allow_add_to_allowed_images",
        ValueKind::Boolean,
        "project managers may add allowed sandbox images",
    ),
    setting(
        "agents.sandbox_agent.heartbeat_timeout_s",
        ValueKind::Integer(0, 86_400),
        "seconds without a sign of life after which an agent's job is ended; 0 is never",
    ),
    setting("budget.day_usd", ValueKind::Usd, "maximum cost of models per day"),
    setting(
        "budget.mode",
        ValueKind::Word(budget_modes),
        "what happens when a budget is exhausted",
    ),
    setting("budget.run_usd", ValueKind::Usd, "maximum cost of models per run"),
    setting(
        "mcp.audit.retention_days",
        ValueKind::Integer(0, 36_500),
        "days that audit records are kept; 0 keeps them forever",
    ),
    setting(
        "models.hints.balanced",
        ValueKind::TextOrList,
        "the models that \"balanced\" stands for, in order",
    ),
    setting(
        "models.hints.fast",
        ValueKind::TextOrList,
        "the models that \"fast\" stands for, in order",
    ),
    setting(
        "models.hints.strong",
        ValueKind::TextOrList,
        "the models that \"strong\" stands for, in order",
    ),
    setting("models.prices", ValueKind::Prices, "US dollars per million tokens, by model"),
    setting(MODEL_TIMEOUTS, ValueKind::Timeouts, "timeouts in seconds, by provider"),
    setting(
        "network.internal.allowed",
        ValueKind::InternalNetworks,
        "internal addresses and hosts that may be reached",
    ),
    setting(
        "pm.max_parallel.architect",
        PARALLEL,
        "units of architects that run at once in a request; 8 without it",
    ),
    setting(
        "pm.max_parallel.designer",
        PARALLEL,
        "units of designers that run at once in a request; 8 without it",
    ),
    setting(
        "pm.max_parallel.developer",
        PARALLEL,
        "units of developers that run at once in a request; 8 without it",
    ),
    setting(
        "pm.max_parallel.reviewer",
        PARALLEL,
        "units of reviewers that run at once in a request; 8 without it",
    ),
    setting(
        "pm.max_parallel.tester",
        PARALLEL,
        "units of testers that run at once in a request; 4 without it",
    ),
    setting(
        "pm.pull_requests.poll_seconds",
        ValueKind::Integer(1, 86_400),
        "poll interval of an open pull request, in seconds; 120 without it",
    ),
    setting(
        ALLOWED_IMAGES_KEY,
        ValueKind::Images,
        "the images that tasks and sandboxes may use; without it host and those of worker nodes",
    ),
    setting(
        CACHE_QUOTA_KEY,
        ValueKind::Integer(0, 1_048_576),
        "MiB that the caches of one project may fill on each worker node; 0 switches caches off",
    ),
    setting(
        "skills.scan.phrases",
        ValueKind::Phrases,
        "additional phrases that no skill may contain",
    ),
    setting(
        "skills.scan.rules",
        ValueKind::ScanRules,
        "additional rules of the skill scan; the built-in rules stay",
    ),
    setting("web.fetch.allowed_hosts", ValueKind::Hosts, "the hosts that web.fetch may reach"),
    preference("agents.project_analyst.additional_context", ValueKind::TextOrList, CONTEXT),
    preference(
        "agents.project_analyst.model_routing.allowed_external_providers",
        ValueKind::TextList,
        EXTERNAL,
    ),
    preference(
        "agents.project_analyst.model_routing.fallback_provider_order",
        ValueKind::TextList,
        ORDER,
    ),
    preference(
        "agents.project_analyst.model_routing.prefer_local",
        ValueKind::Boolean,
        PREFER_LOCAL,
    ),
    preference("agents.project_manager.additional_context", ValueKind::TextOrList, CONTEXT),
    preference(
        IF_INTERRUPTED_KEY,
        ValueKind::Word(interruption_policies),
        "what happens to an interrupted step",
    ),
    preference(
        "agents.project_manager.model_routing.allowed_external_providers",
        ValueKind::TextList,
        EXTERNAL,
    ),
    preference(
        "agents.project_manager.model_routing.fallback_provider_order",
        ValueKind::TextList,
        ORDER,
    ),
    preference(
        "agents.project_manager.model_routing.prefer_local",
        ValueKind::Boolean,
        PREFER_LOCAL,
    ),
    preference(
        "agents.project_manager.placement.node",
        ValueKind::Text,
        "the preferred worker node if several match",
    ),
    preference(
        "agents.project_manager.review.require_tests",
        ValueKind::Boolean,
        "submitted work must have passing tests",
    ),
    preference("agents.sandbox_agent.additional_context", ValueKind::TextOrList, CONTEXT),
    preference(
        "agents.sandbox_agent.model_routing.allowed_external_providers",
        ValueKind::TextList,
        EXTERNAL,
    ),
    preference(
        "agents.sandbox_agent.model_routing.fallback_provider_order",
        ValueKind::TextList,
        ORDER,
    ),
    preference("agents.sandbox_agent.model_routing.prefer_local", ValueKind::Boolean, PREFER_LOCAL),
    preference(
        "budget.day_usd",
        ValueKind::Usd,
        "maximum cost of models per day; can only lower the setting",
    ),
    preference(
        "budget.run_usd",
        ValueKind::Usd,
        "maximum cost of models per run; can only lower the setting",
    ),
    preference("model_routing.allowed_external_providers", ValueKind::TextList, EXTERNAL),
    preference("model_routing.fallback_provider_order", ValueKind::TextList, ORDER),
    preference("model_routing.prefer_local", ValueKind::Boolean, PREFER_LOCAL),
    preference(
        CACHE_ENABLED_KEY,
        ValueKind::Boolean,
        "jobs have a cache directory that survives them",
    ),
    preference(
        ACCEPT_UNVERIFIED_KEY,
        ValueKind::Boolean,
        "accept results whose acceptance criteria could not be judged, as unverified",
    ),
    preference(run_policy::NODE_ATTEMPTS_KEY, ATTEMPTS, "maximum attempts per workflow node"),
    preference(run_policy::STEP_ATTEMPTS_KEY, ATTEMPTS, "maximum attempts per step"),
    preference(
        run_policy::MAX_BACKOFF_KEY,
        PAUSE_MS,
        "maximum backoff between two attempts of a workflow node, in milliseconds",
    ),
    preference(
        run_policy::INITIAL_BACKOFF_KEY,
        PAUSE_MS,
        "initial backoff between two attempts of a workflow node, in milliseconds",
    ),
    preference(
        run_policy::NODE_ATTEMPTS_PREFIX,
        ATTEMPTS,
        "maximum attempts of this workflow node",
    ),
    preference(
        run_policy::NODE_TIMEOUT_PREFIX,
        SECONDS,
        "inactivity timeout of this workflow node, in seconds",
    ),
];

/// Prefixes whose keys are all known: another key with such a prefix is a typo.
const CLOSED_PREFIXES: &[(ConfigKeyKind, &str)] = &[
    (ConfigKeyKind::Setting, "budget."),
    (ConfigKeyKind::Setting, "models.hints."),
    (ConfigKeyKind::Setting, ROLE_LIMITS_PREFIX),
    (ConfigKeyKind::Preference, "agents.project_analyst.model_routing."),
    (ConfigKeyKind::Preference, "agents.project_manager.continue."),
    (ConfigKeyKind::Preference, "agents.project_manager.model_routing."),
    (ConfigKeyKind::Preference, "agents.project_manager.placement."),
    (ConfigKeyKind::Preference, "agents.sandbox_agent.model_routing."),
    (ConfigKeyKind::Preference, "budget."),
    (ConfigKeyKind::Preference, "model_routing."),
    (ConfigKeyKind::Preference, "verification."),
    (ConfigKeyKind::Preference, run_policy::PREFIX),
];

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
    let found = value.to_string();
    let found = if found.chars().count() > 60 {
        found.chars().take(60).chain(['…']).collect()
    } else {
        found
    };
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

#[cfg(test)]
mod tests;
