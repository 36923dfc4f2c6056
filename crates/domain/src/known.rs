//! The settings and preferences that CyNode itself reads, and what each of them can be.
//!
//! Start at [`check`]. Other keys may be set to anything: agents and skills of an installation read keys
//! of their own. What is read here and has a value it cannot have is refused when it is set, because
//! whoever reads it later could only guess.

use serde_json::Value;

use crate::policy::network::{HostPattern, Openings};
use crate::run_policy;
use crate::skill::Category;
use crate::standstill::{IF_INTERRUPTED, IfInterrupted};
use crate::verification::ACCEPT_UNVERIFIED;

words! {
    /// Where a key is set.
    Place("place of a key") {
        /// For the installation.
        Setting = "setting",
        /// For a user, a group, a project, a task or everybody.
        Preference = "preference",
    }
}

/// What a value can be.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Flag,
    Usd,
    Whole(u32, u32),
    Word(fn() -> Vec<&'static str>),
    Text,
    Texts,
    TextOrTexts,
    Prices,
    Timeouts,
    Hosts,
    Openings,
    Phrases,
}

/// A key that is read.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// Where it is set.
    pub place: Place,
    /// Its name. One that ends with a dot stands for every name that goes on with a node of a workflow.
    pub key: &'static str,
    /// What it decides, in words.
    pub about: &'static str,
    kind: Kind,
}

/// A value that a key cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadValue {
    /// The value is of another kind, or out of range.
    #[error("{key} is {allowed}, not {found}")]
    Unfit {
        /// The key.
        key: String,
        /// What it can be.
        allowed: String,
        /// The value, shortened.
        found: String,
    },
    /// The key is in a family whose every member is known, and is none of them.
    #[error("there is no {place} \"{key}\"; there are: {known}")]
    Unknown {
        /// Where it was to be set.
        place: Place,
        /// The key.
        key: String,
        /// The members of its family.
        known: String,
    },
}

const fn setting(key: &'static str, kind: Kind, about: &'static str) -> Known {
    Known { place: Place::Setting, key, about, kind }
}

const fn preference(key: &'static str, kind: Kind, about: &'static str) -> Known {
    Known { place: Place::Preference, key, about, kind }
}

fn modes() -> Vec<&'static str> {
    vec!["block", "warn"]
}

fn ways() -> Vec<&'static str> {
    IfInterrupted::ALL.iter().map(|way| way.as_str()).collect()
}

const ATTEMPTS: Kind = Kind::Whole(run_policy::ATTEMPTS.0, run_policy::ATTEMPTS.1);
const SECONDS: Kind = Kind::Whole(run_policy::SECONDS.0, run_policy::SECONDS.1);
const PAUSE_MS: Kind = Kind::Whole(run_policy::PAUSE_MS.0, run_policy::PAUSE_MS.1);
const PREFER_LOCAL: &str = "ask one's own models before those of others";
const EXTERNAL: &str = "the only providers of others that may be asked";
const ORDER: &str = "the order in which providers are tried";
const CONTEXT: &str = "what is added to what this agent is told";

/// The setting that says how long providers may take.
pub const MODEL_TIMEOUTS: &str = "models.timeouts";

/// What of a provider's answer is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeoutField {
    /// The first token, after the prompt was read.
    FirstToken,
    /// The next token.
    Silence,
    /// The whole answer.
    Total,
}

impl TimeoutField {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::FirstToken, Self::Silence, Self::Total];

    /// Its name in the setting.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FirstToken => "first_token_s",
            Self::Silence => "silence_s",
            Self::Total => "total_s",
        }
    }

    /// The seconds that it may have.
    pub const fn range(self) -> std::ops::RangeInclusive<u64> {
        1..=86_400
    }
}

/// Every key that is read: settings, then preferences, each by name.
pub const KNOWN: &[Known] = &[
    setting("access.rules.seeded", Kind::Flag, "the rules of a new installation were written"),
    setting(
        "agents.project_manager.sandbox.allow_add_to_allowed_images",
        Kind::Flag,
        "project managers may add images that sandboxes are made from",
    ),
    setting("budget.day_usd", Kind::Usd, "the most that models may cost on one day"),
    setting("budget.mode", Kind::Word(modes), "what happens where a budget has no room"),
    setting("budget.run_usd", Kind::Usd, "the most that models may cost in one run"),
    setting(
        "mcp.audit.retention_days",
        Kind::Whole(0, 36_500),
        "days that audit records are kept; 0 for good",
    ),
    setting(
        "models.hints.balanced",
        Kind::TextOrTexts,
        "the models that \"balanced\" stands for, in order",
    ),
    setting(
        "models.hints.fast",
        Kind::TextOrTexts,
        "the models that \"fast\" stands for, in order",
    ),
    setting(
        "models.hints.strong",
        Kind::TextOrTexts,
        "the models that \"strong\" stands for, in order",
    ),
    setting("models.prices", Kind::Prices, "US dollars for a million tokens, by model"),
    setting(
        MODEL_TIMEOUTS,
        Kind::Timeouts,
        "how many seconds a provider may be silent, by provider",
    ),
    setting(
        "network.internal.allowed",
        Kind::Openings,
        "what may be reached beyond public addresses",
    ),
    setting("skills.scan.phrases", Kind::Phrases, "further phrases that no skill may hold"),
    setting("web.fetch.allowed_hosts", Kind::Hosts, "the hosts that web.fetch may reach"),
    preference("agents.project_analyst.additional_context", Kind::TextOrTexts, CONTEXT),
    preference(
        "agents.project_analyst.model_routing.allowed_external_providers",
        Kind::Texts,
        EXTERNAL,
    ),
    preference("agents.project_analyst.model_routing.fallback_provider_order", Kind::Texts, ORDER),
    preference("agents.project_analyst.model_routing.prefer_local", Kind::Flag, PREFER_LOCAL),
    preference("agents.project_manager.additional_context", Kind::TextOrTexts, CONTEXT),
    preference(IF_INTERRUPTED, Kind::Word(ways), "what becomes of a step that was interrupted"),
    preference(
        "agents.project_manager.model_routing.allowed_external_providers",
        Kind::Texts,
        EXTERNAL,
    ),
    preference("agents.project_manager.model_routing.fallback_provider_order", Kind::Texts, ORDER),
    preference("agents.project_manager.model_routing.prefer_local", Kind::Flag, PREFER_LOCAL),
    preference(
        "agents.project_manager.placement.node",
        Kind::Text,
        "the node that work goes to where several could take it",
    ),
    preference(
        "agents.project_manager.review.require_tests",
        Kind::Flag,
        "work that is handed in has tests that pass",
    ),
    preference("agents.sandbox_agent.additional_context", Kind::TextOrTexts, CONTEXT),
    preference(
        "agents.sandbox_agent.model_routing.allowed_external_providers",
        Kind::Texts,
        EXTERNAL,
    ),
    preference("agents.sandbox_agent.model_routing.fallback_provider_order", Kind::Texts, ORDER),
    preference("agents.sandbox_agent.model_routing.prefer_local", Kind::Flag, PREFER_LOCAL),
    preference(
        "budget.day_usd",
        Kind::Usd,
        "the most that models may cost on one day; less than the setting only",
    ),
    preference(
        "budget.run_usd",
        Kind::Usd,
        "the most that models may cost in one run; less than the setting only",
    ),
    preference("model_routing.allowed_external_providers", Kind::Texts, EXTERNAL),
    preference("model_routing.fallback_provider_order", Kind::Texts, ORDER),
    preference("model_routing.prefer_local", Kind::Flag, PREFER_LOCAL),
    preference(
        ACCEPT_UNVERIFIED,
        Kind::Flag,
        "accept results whose acceptance criteria could not be judged, as unverified",
    ),
    preference(
        run_policy::NODE_ATTEMPTS,
        ATTEMPTS,
        "how often a node of a workflow is tried in all",
    ),
    preference(run_policy::STEP_ATTEMPTS, ATTEMPTS, "how often a failing step runs in all"),
    preference(
        run_policy::LONGEST_PAUSE,
        PAUSE_MS,
        "the longest pause between two attempts at a node, in milliseconds",
    ),
    preference(
        run_policy::FIRST_PAUSE,
        PAUSE_MS,
        "the first pause between two attempts at a node, in milliseconds",
    ),
    preference(run_policy::ATTEMPTS_OF, ATTEMPTS, "how often this node is tried in all"),
    preference(run_policy::TIMEOUT_OF, SECONDS, "how long this node may be silent, in seconds"),
];

/// Families whose every member is known: another key in one of them is a slip of the keyboard.
const CLOSED: &[(Place, &str)] = &[
    (Place::Setting, "budget."),
    (Place::Setting, "models.hints."),
    (Place::Preference, "agents.project_analyst.model_routing."),
    (Place::Preference, "agents.project_manager.continue."),
    (Place::Preference, "agents.project_manager.model_routing."),
    (Place::Preference, "agents.project_manager.placement."),
    (Place::Preference, "agents.sandbox_agent.model_routing."),
    (Place::Preference, "budget."),
    (Place::Preference, "model_routing."),
    (Place::Preference, "verification."),
    (Place::Preference, run_policy::PREFIX),
];

/// Refuses a value that this key cannot have. Null is no value of a setting; as a preference it hides
/// what weaker scopes say.
pub fn check(place: Place, key: &str, value: &Value) -> Result<(), BadValue> {
    let Some(known) = KNOWN.iter().find(|known| known.place == place && known.names(key)) else {
        return is_free(place, key);
    };
    if (place == Place::Preference && value.is_null()) || known.kind.fits(value) {
        return Ok(());
    }
    let found = value.to_string();
    let found = if found.chars().count() > 60 {
        found.chars().take(60).chain(['…']).collect()
    } else {
        found
    };
    Err(BadValue::Unfit { key: key.to_owned(), allowed: known.allowed(), found })
}

fn is_free(place: Place, key: &str) -> Result<(), BadValue> {
    let family = CLOSED.iter().find(|(of, family)| *of == place && key.starts_with(family));
    let Some((_, family)) = family else { return Ok(()) };
    let members =
        KNOWN.iter().filter(|known| known.place == place && known.key.starts_with(family));
    let known: Vec<_> = members.map(Known::spelling).collect();
    let key = key.chars().take(100).collect();
    Err(BadValue::Unknown { place, key, known: known.join(", ") })
}

/// A number of US dollars, if that is what a value is.
pub fn usd(value: &Value) -> Option<f64> {
    value.as_f64().filter(|usd| usd.is_finite() && *usd >= 0.0)
}

impl Known {
    /// The key as it is shown to people.
    pub fn spelling(&self) -> String {
        if self.key.ends_with('.') { format!("{}NODE", self.key) } else { self.key.to_owned() }
    }

    /// What the value can be, in words.
    pub fn allowed(&self) -> String {
        match self.kind {
            Kind::Flag => "true or false".to_owned(),
            Kind::Usd => "a number of US dollars, 0 or more".to_owned(),
            Kind::Whole(low, high) => format!("a whole number from {low} to {high}"),
            Kind::Word(words) => format!("one of: {}", words().join(", ")),
            Kind::Text => "a text".to_owned(),
            Kind::Texts => "a list of names, such as [\"local\"]".to_owned(),
            Kind::TextOrTexts => "a text or a list of texts".to_owned(),
            Kind::Prices => {
                "prices by model, such as {\"ext/tiny\": {\"input\": 0.1, \"output\": 0.4}}, none negative"
                    .to_owned()
            }
            Kind::Timeouts => {
                let fields: Vec<_> = TimeoutField::ALL.iter().map(|field| field.as_str()).collect();
                format!(
                    "seconds by provider, such as {{\"local\": {{\"first_token_s\": 900}}}}; there are: {}",
                    fields.join(", ")
                )
            }
            Kind::Hosts => "a list of hosts, such as [\"docs.rs\", \"*.example.org\"]".to_owned(),
            Kind::Openings => {
                "a list of networks, addresses and hosts, such as [\"10.1.0.0/16\"]".to_owned()
            }
            Kind::Phrases => {
                let categories: Vec<_> = Category::ALL.iter().map(|known| known.as_str()).collect();
                format!("lists of phrases by category ({})", categories.join(", "))
            }
        }
    }

    fn names(&self, key: &str) -> bool {
        match key.strip_prefix(self.key) {
            Some("") => !self.key.ends_with('.'),
            Some(node) => self.key.ends_with('.') && run_policy::can_be_set_for(node),
            None => false,
        }
    }
}

impl Kind {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Flag => value.is_boolean(),
            Self::Usd => usd(value).is_some(),
            Self::Whole(low, high) => value
                .as_u64()
                .is_some_and(|number| (u64::from(low)..=u64::from(high)).contains(&number)),
            Self::Word(words) => value.as_str().is_some_and(|word| words().contains(&word)),
            Self::Text => is_text(value),
            Self::Texts => texts(value).is_some(),
            Self::TextOrTexts => is_text(value) || texts(value).is_some(),
            Self::Prices => value.as_object().is_some_and(|all| all.values().all(is_price)),
            Self::Timeouts => value.as_object().is_some_and(|all| all.values().all(is_timeouts)),
            Self::Hosts => texts(value)
                .is_some_and(|hosts| hosts.iter().all(|host| host.parse::<HostPattern>().is_ok())),
            Self::Openings => texts(value).is_some_and(|all| Openings::parse(all).is_ok()),
            Self::Phrases => value.as_object().is_some_and(|all| {
                all.iter().all(|(category, phrases)| {
                    category.parse::<Category>().is_ok() && texts(phrases).is_some()
                })
            }),
        }
    }
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

fn texts(value: &Value) -> Option<Vec<&str>> {
    let items = value.as_array()?;
    items.iter().map(|item| item.as_str().filter(|text| !text.trim().is_empty())).collect()
}

fn is_price(value: &Value) -> bool {
    let part = |name: &str| value.get(name).and_then(usd).is_some();
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
mod tests {
    use serde_json::json;

    use super::*;

    fn said(place: Place, key: &str, value: &Value) -> String {
        check(place, key, value).map_or_else(|fault| fault.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn a_value_that_a_setting_cannot_have_is_refused_with_what_is_allowed() {
        let setting = |key, value| said(Place::Setting, key, &value);

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
            ("skills.scan.phrases", json!({ "colour": ["x"] })),
            ("mcp.audit.retention_days", json!("90")),
            ("access.rules.seeded", json!(1)),
        ] {
            assert!(
                setting(key, value.clone()).starts_with(&format!("{key} is ")),
                "{key} {value}"
            );
        }
        assert_eq!(
            setting("budget.day_usd", json!("abc")),
            "budget.day_usd is a number of US dollars, 0 or more, not \"abc\""
        );
        assert_eq!(
            setting("models.hints.quick", json!("a/b")),
            "there is no setting \"models.hints.quick\"; there are: models.hints.balanced, \
             models.hints.fast, models.hints.strong"
        );
    }

    #[test]
    fn a_preference_is_checked_like_a_setting_and_may_be_null() {
        let preference = |key, value| said(Place::Preference, key, &value);

        for (key, value) in [
            ("budget.run_usd", Value::Null),
            ("output.summary_style", json!(7)),
            ("model_routing.prefer_local", json!(true)),
            (IF_INTERRUPTED, json!("give_up")),
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
            (IF_INTERRUPTED, json!("banana"), "one of: ask, retry, give_up"),
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
        let keys: Vec<_> = KNOWN.iter().map(|known| (known.place, known.spelling())).collect();

        assert!(keys.is_sorted_by(|one, next| one < next), "{keys:#?}");
    }
}
