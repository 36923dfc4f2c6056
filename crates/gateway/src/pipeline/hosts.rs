//! Stage `rules`, the part about hosts: whether a tool may reach out to where its arguments say.
//!
//! A rule about the action `web.fetch` and the resource type `web.domain` allows or denies a host; a
//! deny wins. Hosts that no rule is about are those of the setting [`ALLOWED_HOSTS`], else refused.

use cynode_domain::policy::network::HostPattern;
use cynode_domain::policy::rules::{Access, Verdict, evaluate};
use cynode_domain::policy::{ErrorKind, Stage};
use reqwest::Url;
use serde_json::Value;

use super::{Denial, Setting};
use crate::identity::Identity;
use crate::snapshot::{Snapshot, Tool};
use crate::tools::WEB_FETCH;

/// Fetching a document, as rules name it.
pub const FETCH: &str = "web.fetch";
/// Hosts, as rules name them.
pub const DOMAIN: &str = "web.domain";
/// The setting with the hosts that everybody who may call the tool may reach: a list of hosts such
/// as `docs.example` or `*.docs.example`, or `*` for every public one. Absent is empty.
pub const ALLOWED_HOSTS: &str = "web.fetch.allowed_hosts";

/// Judges the host that a call names, if the tool is one that reaches out.
pub fn named(
    snapshot: &Snapshot,
    tool: &Tool,
    who: &Identity,
    setting: Setting,
    arguments: &Value,
) -> Result<(), Denial> {
    if tool.server.is_some() || tool.name != WEB_FETCH {
        return Ok(());
    }
    let url = arguments.get("url").and_then(Value::as_str).and_then(|url| Url::parse(url).ok());
    match url.as_ref().and_then(Url::host_str) {
        Some(host) => check(snapshot, who, setting, host),
        None => Err(Denial::new(Stage::Arguments, ErrorKind::InvalidArguments, "url is not a URL")),
    }
}

/// Judges one host.
pub fn check(
    snapshot: &Snapshot,
    who: &Identity,
    setting: Setting,
    host: &str,
) -> Result<(), Denial> {
    let host = host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
    let refuse = |text: String| Err(Denial::new(Stage::Rules, ErrorKind::PolicyViolation, text));
    let access = Access {
        caller: who.agent,
        user: Some(who.user),
        groups: &who.groups,
        project: setting.project,
        task: setting.task,
        action: FETCH,
        resource_type: DOMAIN,
        resource: &host,
    };
    let shown: String = host.chars().take(100).collect();
    match evaluate(snapshot.rules().iter().map(AsRef::as_ref), &access) {
        Verdict::Allowed(_) => Ok(()),
        Verdict::Denied(rule) => refuse(format!("rule {rule} denies the host \"{shown}\"")),
        Verdict::Unmentioned if is_listed(snapshot, &host) => Ok(()),
        Verdict::Unmentioned => refuse(format!(
            "the host \"{shown}\" is not allowed: no rule and no entry of {ALLOWED_HOSTS} names it"
        )),
    }
}

fn is_listed(snapshot: &Snapshot, host: &str) -> bool {
    let entries = snapshot.setting(ALLOWED_HOSTS).and_then(Value::as_array);
    let patterns = entries.into_iter().flatten().filter_map(Value::as_str);
    patterns.filter_map(|entry| entry.parse::<HostPattern>().ok()).any(|entry| entry.matches(host))
}
