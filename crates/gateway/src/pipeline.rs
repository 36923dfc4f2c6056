//! The decision about a tool call: stages in a fixed order, each pure, each refusal named.
//!
//! Start at [`reach`], then [`arguments::check`], [`context::ids`], [`context::check`] and
//! [`rules`]: that is the order in which `crate::invoke` asks them. A list asks [`is_visible`],
//! which is the same without arguments; an explanation asks all of them and stops nowhere.
//!
//! Invariant: nothing here performs I/O. What must be looked up is named by one stage
//! ([`context::needed`]) and judged by the next, so that a second implementation can be compared
//! with this one on plain data.

pub mod arguments;
pub mod context;
pub mod hosts;

use std::sync::Arc;

use cynode_domain::ids::{ProjectId, RuleId, TaskId};
use cynode_domain::policy::rules::{Access, INVOKE, TOOL, Verdict, evaluate};
use cynode_domain::policy::{ErrorKind, Stage, allowlist};

use crate::identity::Identity;
use crate::snapshot::{Server, Snapshot, Tool};

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
    snapshot.tool(name).ok_or_else(|| {
        let shown: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
        Denial::new(Stage::Known, ErrorKind::NotFound, format!("there is no tool \"{shown}\""))
    })
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
    if tool.server.is_some() || allowlist::is_allowlisted(who.agent, &tool.name) {
        return Ok(());
    }
    let text = format!("\"{}\" is not among the tools of a {} caller", tool.name, who.agent);
    Err(Denial::new(Stage::Allowlist, ErrorKind::AgentAllowlistDenied, text))
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

/// Whether a list shows the tool: every stage that needs no arguments agrees.
pub fn is_visible(snapshot: &Snapshot, who: &Identity, tool: &Tool) -> bool {
    let setting = Setting { task: who.task, project: who.project };
    reach(snapshot, who, &tool.name).is_ok() && rules(tool, who, setting).is_ok()
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
    let name = format!("{slug}.{feature}");
    let server = snapshot
        .server(slug)
        .ok_or_else(|| Denial::new(Stage::Known, ErrorKind::NotFound, "there is no such server"))?;
    if !server.is_enabled {
        let text = format!("the server \"{slug}\" is turned off");
        return Err(Denial::new(Stage::Enabled, ErrorKind::ToolDisabled, text));
    }
    // A server is where its tools are; one without tools is on the side of the project manager.
    let mut tools = snapshot.tools_of(server.id).peekable();
    let is_in_scope = if tools.peek().is_some() {
        tools.any(|tool| tool.scope.admits(who.agent))
    } else {
        cynode_domain::policy::ToolScope::Pm.admits(who.agent)
    };
    if !is_in_scope {
        let text = format!("no tool of \"{slug}\" is for a {} caller", who.agent);
        return Err(Denial::new(Stage::Scope, ErrorKind::ScopeDenied, text));
    }
    let setting = Setting { task: who.task, project: who.project };
    let access = access(who, setting, &name);
    judge(evaluate(snapshot.rules().iter().map(AsRef::as_ref), &access), &name)?;
    Ok(Arc::clone(server))
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
