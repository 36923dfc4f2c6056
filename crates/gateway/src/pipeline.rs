//! The decision about a tool call: stages in a fixed order, each pure, each refusal named.
//!
//! Start at [`reach`], then [`rules_in_advance`], [`arguments::check`], [`context::ids`],
//! [`context::check`] and [`rules`]: that is the order in which `crate::invoke` asks them. A list asks
//! [`is_visible`], which is the same without arguments; an explanation asks all of them and stops
//! nowhere. What a caller is told of a denial, [`conceal`] decides: tools of installed servers are
//! private, and a caller without permission is answered as if they did not exist.
//!
//! Invariant: nothing here performs I/O. What must be looked up is named by one stage
//! ([`context::needed`]) and judged by the next, so that a second implementation can be compared
//! with this one on plain data.

pub mod arguments;
pub mod context;
pub mod hosts;

use std::sync::Arc;

use cynode_domain::ids::{ProjectId, RuleId, TaskId};
use cynode_domain::policy::rules::{Access, INVOKE, Rule, Subject, TOOL, Verdict, evaluate};
use cynode_domain::policy::{Effect, ErrorKind, Stage, ToolScope, allowlist};

use crate::identity::Identity;
use crate::snapshot::{ScopedIds, Server, Snapshot, Tool};

/// Why a call is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// Which stage refused.
    pub stage: Stage,
    /// The kind of refusal, for programs.
    pub kind: ErrorKind,
    /// The reason in words, without secrets.
    pub message: String,
}

impl Denial {
    pub(crate) fn new(stage: Stage, kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { stage, kind, message: message.into() }
    }
}

/// What the caller may have meant by a task and a project, once the context was judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Setting {
    /// The task the call is about.
    pub task: Option<TaskId>,
    /// The project the call is about.
    pub project: Option<ProjectId>,
}

/// Stages `known` to `setting`: whether this caller may reach this tool at all.
pub fn reach<'s>(
    snapshot: &'s Snapshot,
    who: &Identity,
    name: &str,
) -> Result<&'s Arc<Tool>, Denial> {
    let tool = known(snapshot, name)?;
    enabled(tool)?;
    reviewed(tool)?;
    allowlisted(tool, who)?;
    in_scope(tool, who)?;
    switched_on(snapshot, tool)?;
    Ok(tool)
}

/// Whether the tool exists.
pub fn known<'s>(snapshot: &'s Snapshot, name: &str) -> Result<&'s Arc<Tool>, Denial> {
    snapshot.tool(name).ok_or_else(|| unknown_tool(name))
}

/// What is told of a tool that does not exist.
pub fn unknown_tool(name: &str) -> Denial {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
    Denial::new(Stage::Known, ErrorKind::NotFound, format!("there is no tool \"{shown}\""))
}

/// The denial as the caller is told it. A tool of an installed server is private: a caller whom its
/// scope or the rules do not let through is told what is told of a tool that does not exist.
pub fn conceal(snapshot: &Snapshot, who: &Identity, name: &str, denial: Denial) -> Denial {
    match snapshot.tool(name) {
        Some(tool) if is_concealed(tool, who) => unknown_tool(name),
        _ => denial,
    }
}

/// Whether the caller may not learn that the tool exists.
pub fn is_concealed(tool: &Tool, who: &Identity) -> bool {
    tool.server.is_some() && (in_scope(tool, who).is_err() || rules(tool, who, bound(who)).is_err())
}

/// Whether the tool and its server are turned on.
pub fn enabled(tool: &Tool) -> Result<(), Denial> {
    let refuse = |text: String| Err(Denial::new(Stage::Enabled, ErrorKind::ToolDisabled, text));
    if !tool.is_enabled {
        return refuse(format!("the tool \"{}\" is turned off", tool.name));
    }
    match &tool.server {
        Some(server) if !server.is_enabled => {
            refuse(format!("the server \"{}\" is turned off", server.slug))
        }
        _ => Ok(()),
    }
}

/// Whether the tool is still what an administrator approved.
pub fn reviewed(tool: &Tool) -> Result<(), Denial> {
    if !tool.needs_review {
        return Ok(());
    }
    let text =
        format!("the definition of \"{}\" changed: an administrator must review it", tool.name);
    Err(Denial::new(Stage::Review, ErrorKind::ReviewRequired, text))
}

/// Whether the caller's role may ever reach the tool. Tools of installed servers are on no
/// allowlist; for them scope, switch and rules decide.
pub fn allowlisted(tool: &Tool, who: &Identity) -> Result<(), Denial> {
    let refuse =
        |text: String| Err(Denial::new(Stage::Allowlist, ErrorKind::AgentAllowlistDenied, text));
    if tool.server.is_some() {
        return Ok(());
    }
    if !allowlist::is_allowlisted(who.agent, &tool.name) {
        let text = format!("\"{}\" is not among the tools of a {} caller", tool.name, who.agent);
        return refuse(text);
    }
    if who.task.is_some() && allowlist::is_beyond_a_task(&tool.name) {
        return refuse(format!("\"{}\" is not for a token that is bound to a task", tool.name));
    }
    Ok(())
}

/// Whether the tool may be called from where the caller is.
pub fn in_scope(tool: &Tool, who: &Identity) -> Result<(), Denial> {
    if tool.scope.admits(who.agent) {
        return Ok(());
    }
    let text =
        format!("\"{}\" has scope {}: not for a {} caller", tool.name, tool.scope, who.agent);
    Err(Denial::new(Stage::Scope, ErrorKind::ScopeDenied, text))
}

/// Whether the setting that guards the tool is on.
pub fn switched_on(snapshot: &Snapshot, tool: &Tool) -> Result<(), Denial> {
    match tool.setting {
        Some(setting) if !snapshot.is_on(setting) => {
            let text = format!("\"{}\" needs the setting {setting} to be true", tool.name);
            Err(Denial::new(Stage::Setting, ErrorKind::SettingDenied, text))
        }
        _ => Ok(()),
    }
}

/// What the installation's rules say: default deny, any deny wins.
pub fn rules(tool: &Tool, who: &Identity, setting: Setting) -> Result<RuleId, Denial> {
    let access = access(who, setting, &tool.name);
    judge(evaluate(tool.rules.iter().map(AsRef::as_ref), &access), &tool.name)
}

/// What the rules say before the arguments are read. Denies what no arguments could make allowed, so
/// that the shape of the arguments is not described to a caller who may not make the call.
pub fn rules_in_advance(tool: &Tool, who: &Identity) -> Result<(), Denial> {
    let setting = bound(who);
    let is_bound = who.task.is_some() && who.project.is_some();
    if is_bound || tool.scoped == ScopedIds::default() {
        // The arguments name no task and no project beyond those of the token.
        return rules(tool, who, setting).map(drop);
    }
    let access = access(who, setting, &tool.name);
    let all = || tool.rules.iter().map(AsRef::as_ref);
    let denying = all().filter(|rule: &&Rule| rule.effect == Effect::Deny);
    let denied = evaluate(denying, &access);
    if matches!(denied, Verdict::Denied(_)) {
        return judge(denied, &tool.name).map(drop);
    }
    // The arguments may name the project or the task that a rule is about.
    let could_allow = |rule: &Rule| {
        let named = match rule.subject {
            Subject::Project(project) if setting.project.is_none() => {
                Access { project: Some(project), ..access }
            }
            Subject::Task(task) if setting.task.is_none() => Access { task: Some(task), ..access },
            Subject::Project(_)
            | Subject::Task(_)
            | Subject::System
            | Subject::User(_)
            | Subject::Group(_)
            | Subject::Agent(_) => access,
        };
        rule.effect == Effect::Allow && rule.covers(&named)
    };
    if all().any(could_allow) { Ok(()) } else { judge(Verdict::Unmentioned, &tool.name).map(drop) }
}

/// Whether a list shows the tool: every stage that needs no arguments agrees.
pub fn is_visible(snapshot: &Snapshot, who: &Identity, tool: &Tool) -> bool {
    reach(snapshot, who, &tool.name).is_ok() && rules(tool, who, bound(who)).is_ok()
}

/// The task and project of the token.
fn bound(who: &Identity) -> Setting {
    Setting { task: who.task, project: who.project }
}

/// Whether the caller may use what a server offers beside tools: `feature` is the method. Rules see
/// it under the name `<server>.<method>`, so what covers a server's tools covers its resources and
/// prompts too.
pub fn reach_server(
    snapshot: &Snapshot,
    who: &Identity,
    slug: &str,
    feature: &str,
) -> Result<Arc<Server>, Denial> {
    let server = snapshot.server(slug).ok_or_else(unknown_server)?;
    if !server.is_enabled {
        let text = format!("the server \"{slug}\" is turned off");
        return Err(Denial::new(Stage::Enabled, ErrorKind::ToolDisabled, text));
    }
    server_permits(snapshot, who, server, feature)?;
    Ok(Arc::clone(server))
}

/// Whether scope and rules let the caller use a feature of a server.
fn server_permits(
    snapshot: &Snapshot,
    who: &Identity,
    server: &Server,
    feature: &str,
) -> Result<(), Denial> {
    let slug = &server.slug;
    // A server is where its tools are; one without tools is on the side of the project manager.
    let mut tools = snapshot.tools_of(server.id).peekable();
    let is_in_scope = if tools.peek().is_some() {
        tools.any(|tool| tool.scope.admits(who.agent))
    } else {
        ToolScope::Pm.admits(who.agent)
    };
    if !is_in_scope {
        let text = format!("no tool of \"{slug}\" is for a {} caller", who.agent);
        return Err(Denial::new(Stage::Scope, ErrorKind::ScopeDenied, text));
    }
    let name = format!("{slug}.{feature}");
    let access = access(who, bound(who), &name);
    judge(evaluate(snapshot.rules().iter().map(AsRef::as_ref), &access), &name).map(drop)
}

fn unknown_server() -> Denial {
    Denial::new(Stage::Known, ErrorKind::NotFound, "there is no such server")
}

/// The denial as the caller is told it: a server of which the caller may use nothing is answered as
/// one that does not exist.
pub fn conceal_server(snapshot: &Snapshot, who: &Identity, slug: &str, denial: Denial) -> Denial {
    let is_known = |server: &Arc<Server>| {
        snapshot.tools_of(server.id).any(|tool| !is_concealed(tool, who))
            || server_permits(snapshot, who, server, "initialize").is_ok()
    };
    if snapshot.server(slug).is_some_and(is_known) { denial } else { unknown_server() }
}

/// Whether the caller may speak with a server at all: there is something of it that they may use.
pub fn may_open(snapshot: &Snapshot, who: &Identity, slug: &str) -> Result<Arc<Server>, Denial> {
    let is_used = |server: &&Arc<Server>| {
        snapshot.tools_of(server.id).any(|tool| is_visible(snapshot, who, tool))
    };
    if let Some(server) = snapshot.server(slug).filter(is_used) {
        return Ok(Arc::clone(server));
    }
    reach_server(snapshot, who, slug, "initialize")
}

fn access<'a>(who: &'a Identity, setting: Setting, resource: &'a str) -> Access<'a> {
    Access {
        caller: who.agent,
        user: Some(who.user),
        groups: &who.groups,
        project: setting.project,
        task: setting.task,
        action: INVOKE,
        resource_type: TOOL,
        resource,
    }
}

fn judge(verdict: Verdict, name: &str) -> Result<RuleId, Denial> {
    let refuse = |text: String| Err(Denial::new(Stage::Rules, ErrorKind::PolicyViolation, text));
    match verdict {
        Verdict::Allowed(rule) => Ok(rule),
        Verdict::Denied(rule) => refuse(format!("rule {rule} denies \"{name}\"")),
        Verdict::Unmentioned => refuse(format!("no rule allows \"{name}\"")),
    }
}
