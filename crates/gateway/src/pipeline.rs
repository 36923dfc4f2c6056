//! The decision about a tool call: pure stages in a fixed order, each denial with its stage.
//!
//! Start at [`check_reach`], then [`precheck_rules`], [`arguments::check`], [`context::parse_ids`],
//! [`context::check`] and [`rules`]: `crate::invoke` runs them in that order. A tool list uses
//! [`is_visible`], which is the same without arguments; an explanation runs all stages. [`conceal`]
//! decides what a caller learns of a denial: tools of installed servers are private, so a caller
//! without permission gets the response for an unknown tool.
//!
//! Invariant: nothing here performs I/O. One stage names the lookups ([`context::needed_lookups`]) and the
//! next evaluates them, so that a second implementation can be compared with this one on plain
//! data.

pub mod arguments;
pub mod context;
pub mod hosts;

use std::sync::Arc;

use cynode_domain::ids::{ProjectId, RuleId, TaskId};
use cynode_domain::policy::rules::{
    Access, AccessRule, INVOKE, RuleSubject, RuleVerdict, TOOL, evaluate,
};
use cynode_domain::policy::{Effect, ErrorKind, Stage, ToolScope, allowlist};

use crate::identity::Identity;
use crate::resolution::{is_named, resolve_server, resolve_tool};
use crate::snapshot::PolicyServer;
use crate::snapshot::PolicySnapshot;
use crate::snapshot::PolicyTool;
use crate::snapshot::ScopedIds;

/// Why a call is denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    pub stage: Stage,
    /// For programs.
    pub kind: ErrorKind,
    /// For people; contains no secrets.
    pub message: String,
}

impl Denial {
    pub(crate) fn new(stage: Stage, kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { stage, kind, message: message.into() }
    }
}

/// The task and project that a call is about, after the context stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallScope {
    pub task: Option<TaskId>,
    pub project: Option<ProjectId>,
}

/// Stages `known` to `setting`: whether this caller may reach this tool at all.
pub fn check_reach<'s>(
    snapshot: &'s PolicySnapshot,
    identity: &Identity,
    name: &str,
) -> Result<&'s Arc<PolicyTool>, Denial> {
    let tool = check_known(snapshot, identity, name)?;
    check_usable(snapshot, identity, tool)?;
    Ok(tool)
}

/// Stages `enabled` to `setting`.
fn check_usable(
    snapshot: &PolicySnapshot,
    identity: &Identity,
    tool: &PolicyTool,
) -> Result<(), Denial> {
    check_enabled(tool)?;
    check_reviewed(tool)?;
    check_allowlisted(tool, identity)?;
    check_scope(tool, identity)?;
    check_setting(snapshot, tool)
}

/// The tool that the name means to the caller.
pub fn check_known<'s>(
    snapshot: &'s PolicySnapshot,
    identity: &Identity,
    name: &str,
) -> Result<&'s Arc<PolicyTool>, Denial> {
    resolve_tool(snapshot, identity, name).ok_or_else(|| unknown_tool(name))
}

/// The denial for a tool that does not exist.
pub fn unknown_tool(name: &str) -> Denial {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
    Denial::new(Stage::Known, ErrorKind::NotFound, format!("there is no tool \"{shown}\""))
}

/// The denial as the caller sees it. Tools of installed servers are private: a caller that scope or
/// rules reject gets the same denial as for an unknown tool.
pub fn conceal(
    snapshot: &PolicySnapshot,
    identity: &Identity,
    name: &str,
    denial: Denial,
) -> Denial {
    match resolve_tool(snapshot, identity, name) {
        Some(tool) if is_concealed(snapshot, tool, identity) => unknown_tool(name),
        _ => denial,
    }
}

/// Whether the caller may not learn that the tool exists.
pub fn is_concealed(snapshot: &PolicySnapshot, tool: &PolicyTool, identity: &Identity) -> bool {
    tool.server.is_some()
        && (check_scope(tool, identity).is_err()
            || rules(snapshot, tool, identity, token_scope(identity)).is_err())
}

/// Whether the tool and its server are enabled.
pub fn check_enabled(tool: &PolicyTool) -> Result<(), Denial> {
    let refuse = |text: String| Err(Denial::new(Stage::Enabled, ErrorKind::ToolDisabled, text));
    if !tool.is_enabled && !cynode_fault::fault!("REQ-MCPGAT-0113") {
        return refuse(format!("the tool \"{}\" is disabled", tool.name));
    }
    match &tool.server {
        Some(server) if !server.is_enabled => {
            refuse(format!("the server \"{}\" is disabled", server.slug))
        }
        _ => Ok(()),
    }
}

/// Whether the tool still has the definition that an administrator approved.
pub fn check_reviewed(tool: &PolicyTool) -> Result<(), Denial> {
    if !tool.needs_review {
        return Ok(());
    }
    let text = format!(
        "the definition of \"{}\" is new or changed: an administrator must review it",
        tool.name
    );
    Err(Denial::new(Stage::Review, ErrorKind::ReviewRequired, text))
}

/// Whether the caller's role may reach the tool. Tools of installed servers are on no allowlist;
/// scope, setting and rules decide.
pub fn check_allowlisted(tool: &PolicyTool, identity: &Identity) -> Result<(), Denial> {
    let refuse =
        |text: String| Err(Denial::new(Stage::Allowlist, ErrorKind::AgentAllowlistDenied, text));
    if tool.server.is_some() {
        return Ok(());
    }
    if !allowlist::is_allowlisted(identity.agent, &tool.name) {
        let text = format!("\"{}\" is not available to a {} caller", tool.name, identity.agent);
        return refuse(text);
    }
    if identity.task.is_some() && allowlist::is_closed_to_task_tokens(&tool.name) {
        return refuse(format!(
            "\"{}\" is not available to a token that is bound to a task",
            tool.name
        ));
    }
    Ok(())
}

/// Whether the tool's scope admits the caller.
pub fn check_scope(tool: &PolicyTool, identity: &Identity) -> Result<(), Denial> {
    if tool.scope.admits(identity.agent) || cynode_fault::fault!("REQ-MCPGAT-0114") {
        return Ok(());
    }
    let text = format!(
        "\"{}\" has scope {}, which excludes a {} caller",
        tool.name, tool.scope, identity.agent
    );
    Err(Denial::new(Stage::Scope, ErrorKind::ScopeDenied, text))
}

/// Whether the setting that guards the tool is on.
pub fn check_setting(snapshot: &PolicySnapshot, tool: &PolicyTool) -> Result<(), Denial> {
    match tool.setting {
        Some(setting) if !snapshot.is_setting_on(setting) => {
            let text = format!("\"{}\" requires the setting {setting} to be true", tool.name);
            Err(Denial::new(Stage::Setting, ErrorKind::SettingDenied, text))
        }
        _ => Ok(()),
    }
}

/// Evaluates the profile of the token and the access rules: default deny; any deny rule wins.
pub fn rules(
    snapshot: &PolicySnapshot,
    tool: &PolicyTool,
    identity: &Identity,
    setting: CallScope,
) -> Result<RuleId, Denial> {
    check_profile(snapshot, identity, &tool.name)?;
    let access = rule_access(identity, setting, &tool.name, tool.server.as_deref());
    rule_decision(evaluate(tool.rules.iter().map(AsRef::as_ref), &access), &tool.name)
}

/// Whether the profile of the token allows a tool, or a feature of a server. A profile only narrows.
fn check_profile(snapshot: &PolicySnapshot, identity: &Identity, name: &str) -> Result<(), Denial> {
    let narrowing = identity.profile_id.and_then(|profile| snapshot.profile(profile));
    let Some(profile) = narrowing else { return Ok(()) };
    if profile.spec.as_ref().is_some_and(|spec| spec.allows_tool(name)) {
        return Ok(());
    }
    let text = match &profile.spec {
        Some(_) => {
            format!("the profile \"{}\" of this token does not allow \"{name}\"", profile.name)
        }
        None => "the profile of this token cannot be read, so it allows nothing".to_owned(),
    };
    Err(Denial::new(Stage::Rules, ErrorKind::PolicyViolation, text))
}

/// Evaluates the rules before the arguments are parsed. Denies a call that no arguments could make
/// allowed, so that the schema is not revealed to a caller without permission.
pub fn precheck_rules(
    snapshot: &PolicySnapshot,
    tool: &PolicyTool,
    identity: &Identity,
) -> Result<(), Denial> {
    check_profile(snapshot, identity, &tool.name)?;
    let setting = token_scope(identity);
    let is_bound = identity.task.is_some() && identity.project.is_some();
    if is_bound || tool.scoped == ScopedIds::default() {
        // The arguments name no task or project beyond those of the token.
        return rules(snapshot, tool, identity, setting).map(drop);
    }
    let access = rule_access(identity, setting, &tool.name, tool.server.as_deref());
    let all = || tool.rules.iter().map(AsRef::as_ref);
    let denying = all().filter(|rule: &&AccessRule| rule.effect == Effect::Deny);
    let denied = evaluate(denying, &access);
    if matches!(denied, RuleVerdict::Denied(_)) {
        return rule_decision(denied, &tool.name).map(drop);
    }
    // The arguments may name the project or task that a rule is about.
    let could_allow = |rule: &AccessRule| {
        let named = match rule.subject {
            RuleSubject::Project(project) if setting.project.is_none() => {
                Access { project: Some(project), ..access }
            }
            RuleSubject::Task(task) if setting.task.is_none() => {
                Access { task: Some(task), ..access }
            }
            RuleSubject::Project(_)
            | RuleSubject::Task(_)
            | RuleSubject::System
            | RuleSubject::User(_)
            | RuleSubject::Group(_)
            | RuleSubject::Agent(_) => access,
        };
        rule.effect == Effect::Allow && rule.matches(&named)
    };
    if all().any(could_allow) {
        Ok(())
    } else {
        rule_decision(RuleVerdict::NoMatch, &tool.name).map(drop)
    }
}

/// Whether a list shows the tool: every stage that needs no arguments passes, and its name means this tool.
pub fn is_visible(snapshot: &PolicySnapshot, identity: &Identity, tool: &PolicyTool) -> bool {
    check_usable(snapshot, identity, tool).is_ok()
        && rules(snapshot, tool, identity, token_scope(identity)).is_ok()
        && is_named(snapshot, identity, tool)
}

/// The task and project of the token.
fn token_scope(identity: &Identity) -> CallScope {
    CallScope { task: identity.task, project: identity.project }
}

/// Whether the caller may use a feature of a server beside tools; `feature` is the method. Rules
/// match it as `<server>.<method>`, so a rule that covers a server's tools covers its resources and
/// prompts too.
pub fn check_server(
    snapshot: &PolicySnapshot,
    identity: &Identity,
    slug: &str,
    feature: &str,
) -> Result<Arc<PolicyServer>, Denial> {
    let server = resolve_server(snapshot, identity, slug).ok_or_else(unknown_server)?;
    if !server.is_enabled {
        let text = format!("the server \"{slug}\" is disabled");
        return Err(Denial::new(Stage::Enabled, ErrorKind::ToolDisabled, text));
    }
    server_permits(snapshot, identity, server, feature)?;
    Ok(Arc::clone(server))
}

/// Whether scope and rules permit a feature of a server.
fn server_permits(
    snapshot: &PolicySnapshot,
    identity: &Identity,
    server: &PolicyServer,
    feature: &str,
) -> Result<(), Denial> {
    let slug = &server.slug;
    // A server has the scope of its tools; one without tools is in scope `pm`.
    let mut tools = snapshot.tools_of(server.id).peekable();
    let is_in_scope = if tools.peek().is_some() {
        tools.any(|tool| tool.scope.admits(identity.agent))
    } else {
        ToolScope::Pm.admits(identity.agent)
    };
    if !is_in_scope {
        let text = format!("no tool of \"{slug}\" is available to a {} caller", identity.agent);
        return Err(Denial::new(Stage::Scope, ErrorKind::ScopeDenied, text));
    }
    let name = format!("{slug}.{feature}");
    check_profile(snapshot, identity, &name)?;
    let access = rule_access(identity, token_scope(identity), &name, Some(server));
    rule_decision(evaluate(snapshot.rules().iter().map(AsRef::as_ref), &access), &name).map(drop)
}

fn unknown_server() -> Denial {
    Denial::new(Stage::Known, ErrorKind::NotFound, "there is no such server")
}

/// The denial as the caller sees it: a server with nothing that the caller may use is reported as
/// unknown.
pub fn conceal_server(
    snapshot: &PolicySnapshot,
    identity: &Identity,
    slug: &str,
    denial: Denial,
) -> Denial {
    let named = resolve_server(snapshot, identity, slug);
    if named.is_some_and(|server| is_server_known(snapshot, identity, server)) {
        denial
    } else {
        unknown_server()
    }
}

/// Whether the caller may learn that the server exists.
pub fn is_server_known(
    snapshot: &PolicySnapshot,
    identity: &Identity,
    server: &PolicyServer,
) -> bool {
    snapshot.tools_of(server.id).any(|tool| !is_concealed(snapshot, tool, identity))
        || server_permits(snapshot, identity, server, "initialize").is_ok()
}

/// Whether the caller may use anything of a server.
pub fn check_may_open(
    snapshot: &PolicySnapshot,
    identity: &Identity,
    slug: &str,
) -> Result<Arc<PolicyServer>, Denial> {
    let is_used = |server: &&Arc<PolicyServer>| {
        snapshot.tools_of(server.id).any(|tool| is_visible(snapshot, identity, tool))
    };
    if let Some(server) = resolve_server(snapshot, identity, slug).filter(is_used) {
        return Ok(Arc::clone(server));
    }
    check_server(snapshot, identity, slug, "initialize")
}

fn rule_access<'a>(
    identity: &'a Identity,
    setting: CallScope,
    resource: &'a str,
    server: Option<&PolicyServer>,
) -> Access<'a> {
    Access {
        caller: identity.agent,
        user: Some(identity.user),
        groups: &identity.groups,
        project: setting.project,
        task: setting.task,
        action: INVOKE,
        resource_type: TOOL,
        resource,
        server: server.map(PolicyServer::accessed),
    }
}

fn rule_decision(verdict: RuleVerdict, name: &str) -> Result<RuleId, Denial> {
    let refuse = |text: String| Err(Denial::new(Stage::Rules, ErrorKind::PolicyViolation, text));
    match verdict {
        RuleVerdict::Allowed(rule) => Ok(rule),
        RuleVerdict::Denied(rule) => refuse(format!("rule {rule} denies \"{name}\"")),
        RuleVerdict::NoMatch => refuse(format!("no rule allows \"{name}\"")),
    }
}
