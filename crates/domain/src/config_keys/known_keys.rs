//! The table of the known keys, and the prefixes whose keys are all known.

use super::{ConfigKeyKind, KnownKey, MODEL_TIMEOUTS, ValueKind};
use crate::image_name::ALLOWED_IMAGES_KEY;
use crate::job_cache::{CACHE_ENABLED_KEY, CACHE_QUOTA_KEY};
use crate::request::MAX_PARALLEL_UNITS;
use crate::role_limits::ROLE_LIMITS_PREFIX;
use crate::run_policy;
use crate::suspension::{IF_INTERRUPTED_KEY, IfInterrupted};
use crate::verification::ACCEPT_UNVERIFIED_KEY;

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
pub(super) const CLOSED_PREFIXES: &[(ConfigKeyKind, &str)] = &[
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
