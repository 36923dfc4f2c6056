//! Stage `rules`, for hosts: whether a tool may connect to the host in its arguments.
//!
//! A rule with action `web.fetch` and resource type `web.domain` allows or denies a host; any deny
//! wins. A host without a matching rule must be in the setting [`ALLOWED_HOSTS`], else it is
//! denied. A profile that lists hosts allows only these of the remaining ones.

use cynode_domain::policy::allowed_hosts::AllowedHosts;
use cynode_domain::policy::network::HostPattern;
use cynode_domain::policy::rules::{Access, RuleVerdict, evaluate};
use cynode_domain::policy::{ErrorKind, Stage};
use cynode_domain::text::truncate_chars;
use cynode_wire::tool_calls::{ToolCall as _, WebFetch, WebJson};
use reqwest::Url;
use serde_json::Value;

use super::{CallScope, Denial};
use crate::identity::Identity;
use crate::snapshot::PolicySnapshot;
use crate::snapshot::PolicyTool;

/// The action in rules.
pub const FETCH: &str = "web.fetch";
/// The resource type in rules.
pub const DOMAIN: &str = "web.domain";
/// The setting with the hosts that every caller of the tool may reach: a list of hosts such as
/// `docs.example` or `*.docs.example`, or `*` for every public one. Absent is empty.
pub const ALLOWED_HOSTS: &str = "web.fetch.allowed_hosts";

/// Checks the host in the arguments, if the tool makes outbound requests.
pub fn check_named_host(
    snapshot: &PolicySnapshot,
    tool: &PolicyTool,
    identity: &Identity,
    setting: CallScope,
    arguments: &Value,
) -> Result<(), Denial> {
    if tool.server.is_some() || ![WebFetch::NAME, WebJson::NAME].contains(&tool.name.as_str()) {
        return Ok(());
    }
    let url = arguments.get("url").and_then(Value::as_str).and_then(|url| Url::parse(url).ok());
    match url {
        Some(url) if url.has_host() => check_host(snapshot, identity, setting, &url),
        _ => Err(Denial::new(Stage::Arguments, ErrorKind::InvalidArguments, "url is not a URL")),
    }
}

/// Checks the host of a URL.
pub fn check_host(
    snapshot: &PolicySnapshot,
    identity: &Identity,
    setting: CallScope,
    url: &Url,
) -> Result<(), Denial> {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
    let refuse = |text: String| Err(Denial::new(Stage::Rules, ErrorKind::PolicyViolation, text));
    let access = Access {
        caller: identity.agent,
        user: Some(identity.user),
        groups: &identity.groups,
        project: setting.project,
        task: setting.task,
        action: FETCH,
        resource_type: DOMAIN,
        resource: &host,
        server: None,
    };
    let shown = truncate_chars(&host, 100);
    match evaluate(snapshot.rules().iter().map(AsRef::as_ref), &access) {
        RuleVerdict::Allowed(_) => {}
        RuleVerdict::Denied(rule) => {
            return refuse(format!("rule {rule} denies the host \"{shown}\""));
        }
        RuleVerdict::NoMatch if is_listed(snapshot, &host) => {}
        RuleVerdict::NoMatch => {
            return refuse(format!(
                "the host \"{shown}\" is not allowed: no rule or entry of {ALLOWED_HOSTS} matches it"
            ));
        }
    }
    let port = url.port_or_known_default().unwrap_or_default();
    profile_refusal(snapshot, identity, (&host, port)).map_or(Ok(()), refuse)
}

/// Why the profile of the token does not allow a host and port; `None` if it does.
fn profile_refusal(
    snapshot: &PolicySnapshot,
    identity: &Identity,
    (host, port): (&str, u16),
) -> Option<String> {
    let profile = identity.profile_id.and_then(|profile| snapshot.profile(profile))?;
    let Some(spec) = &profile.spec else {
        return Some("the profile of this token cannot be read, so it allows nothing".to_owned());
    };
    // A list that cannot be read allows no host.
    let allowed = AllowedHosts::parse(spec.hosts.as_deref()?).unwrap_or_default();
    if allowed.allows(host, port) {
        return None;
    }
    let (name, shown) = (&profile.name, truncate_chars(host, 100));
    Some(format!(
        "the profile \"{name}\" of this token does not allow the host \"{shown}\" at port {port}: the owner of the project \
         can add it to the hosts of the profile"
    ))
}

fn is_listed(snapshot: &PolicySnapshot, host: &str) -> bool {
    let entries = snapshot.setting(ALLOWED_HOSTS).and_then(Value::as_array);
    let patterns = entries.into_iter().flatten().filter_map(Value::as_str);
    patterns.filter_map(|entry| entry.parse::<HostPattern>().ok()).any(|entry| entry.matches(host))
}
