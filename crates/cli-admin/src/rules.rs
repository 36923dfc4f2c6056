//! `rules` and `access`: access rules, and explanations of access decisions.

use clap::{Args, Subcommand};
use cynode_domain::forge::{FORGE_REPOSITORY_RESOURCE, OPEN_PULL_REQUEST_ACTION};
use cynode_domain::ids::{GroupId, RuleId};
use cynode_domain::model::{CALL_ACTION, OPERATION_RESOURCE};
use cynode_domain::policy::pattern::Pattern;
use cynode_domain::policy::repository_access::{REPOSITORY_RESOURCE, RepositoryAction};
use cynode_domain::policy::rules::{Conditions, RuleSubject};
use cynode_domain::policy::{Effect, Principal};
use cynode_wire::changes::ChangeQuery;
use cynode_wire::rules::{CreateRule, RuleView};
use cynode_wire::tools::{ExplainAccess, ExplainView, StageVerdict};
use serde_json::json;

use crate::groups;
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;
use cynode_cli::history::HistoryPageArgs;
use cynode_cli::out::RenderContext;
use cynode_cli::{history, table};

/// Manage access rules. Default deny; any deny rule wins.
#[derive(Debug, Subcommand)]
pub enum RulesCommand {
    /// List all rules.
    List,
    /// Add a rule.
    ///
    /// Example: `cynork rules add allow 'web.*' --for agent:pm`
    Add(RuleAddArgs),
    /// Show who created and removed rules, newest first. Administrators only.
    History {
        /// The rule id [default: all rules].
        rule: Option<RuleId>,
        #[command(flatten)]
        page: HistoryPageArgs,
    },
    /// Remove a rule.
    #[command(visible_alias = "delete")]
    Remove {
        /// The rule id.
        rule: RuleId,
    },
}

/// Arguments of `rules add`.
#[derive(Debug, Args)]
pub struct RuleAddArgs {
    /// The effect: allow or deny.
    effect: Effect,
    /// The tools, such as `db.*`; with `--action api.call`, the model providers, such as `anthropic/*`; with `--action
    /// git.clone`, `git.push` or `forge.pull_request.open`, the repositories, such as `github.com/team/*`.
    tools: Pattern,
    /// The subject: system, agent:TYPE, user:ID, group:NAME, project:ID or task:ID.
    #[arg(long = "for", value_name = "SUBJECT", default_value = "system", value_parser = named)]
    subject: SubjectArg,
    /// Only for this caller: pm, pa, sandbox or user; repeatable.
    #[arg(long, value_name = "CALLER")]
    caller: Vec<Principal>,
    /// The action: mcp.tool.invoke, api.call for calls to model providers, `git.clone`, `git.push` or
    /// `forge.pull_request.open`.
    #[arg(long, value_name = "ACTION")]
    action: Option<Pattern>,
    /// Only the tools of this server, by id or name [default: for allow, the server that the pattern begins with].
    #[arg(long, value_name = "SERVER")]
    server: Option<String>,
    /// Of several matching rules, the one with the highest priority is reported as the reason.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    priority: i64,
}

/// Explain why a call is allowed or denied.
#[derive(Debug, Subcommand)]
pub enum AccessCommand {
    /// Show the verdict of each stage of the access decision, without making the call.
    ///
    /// Example: `cynork access explain --agent sandbox --tool db.task.get`
    Explain(AccessExplainArgs),
}

/// Arguments of `access explain`.
#[derive(Debug, Args)]
pub struct AccessExplainArgs {
    /// The caller: pm, pa, sandbox or user.
    #[arg(long, value_name = "CALLER")]
    agent: Principal,
    /// The tool.
    #[arg(long)]
    tool: String,
    /// The user, by handle or id [default: you].
    #[arg(long)]
    user: Option<String>,
    /// The task, by name or id.
    #[arg(long)]
    task: Option<String>,
    /// The call's arguments, as JSON.
    #[arg(long, value_name = "JSON")]
    arguments: Option<serde_json::Value>,
}

pub async fn run(command: RulesCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        RulesCommand::List => {
            let rules = app.session.call(async |client| client.rule_list().await).await?;
            app.out.list(rules, render)
        }
        RulesCommand::Add(args) => {
            let resource_type = match args.action.as_ref().map(Pattern::as_str) {
                Some(CALL_ACTION) => Some(OPERATION_RESOURCE),
                Some(OPEN_PULL_REQUEST_ACTION) => Some(FORGE_REPOSITORY_RESOURCE),
                Some(action) if action.parse::<RepositoryAction>().is_ok() => {
                    Some(REPOSITORY_RESOURCE)
                }
                _ => None,
            };
            let subject = match args.subject {
                SubjectArg::RuleSubject(subject) => subject,
                SubjectArg::Group(name) => {
                    RuleSubject::Group(groups::resolve_id(app, &name).await?)
                }
            };
            let body = CreateRule {
                subject,
                action: args.action,
                resource_type: resource_type.and_then(|name| name.parse().ok()),
                resource_pattern: args.tools,
                server: args.server,
                effect: args.effect,
                priority: args.priority,
                conditions: Conditions { callers: args.caller },
            };
            let rule = app.session.call(async |client| client.rule_create(&body).await).await?;
            app.out.show(&rule, |rule, ctx| render(std::slice::from_ref(rule), ctx))
        }
        RulesCommand::History { rule, page } => {
            let query = page.into_query();
            let page = if let Some(rule) = rule {
                app.session.call(async |client| client.rule_changes(rule, &query).await).await?
            } else {
                let query = ChangeQuery::for_resource_type("access_control_rule", query);
                app.session.call(async |client| client.access_changes(&query).await).await?
            };
            history::show(&page, app)
        }
        RulesCommand::Remove { rule } => {
            app.session.call(async |client| client.rule_remove(rule).await).await?;
            if app.out.format == Format::Json {
                app.out.print_json(&json!({"id": rule, "removed": true}))?;
            }
            app.out.print_message(&format!("rule {rule} removed"));
            Ok(())
        }
    }
}

pub async fn run_access(command: AccessCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    let AccessCommand::Explain(args) = command;
    let body = ExplainAccess {
        caller: args.agent,
        tool: args.tool,
        user: args.user,
        task: args.task,
        arguments: args.arguments,
    };
    let view = app.session.call(async |client| client.access_explain(&body).await).await?;
    app.out.show(&view, render_stages)
}

/// A subject as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum SubjectArg {
    RuleSubject(RuleSubject),
    /// A group by name, to be resolved.
    Group(String),
}

fn named(text: &str) -> Result<SubjectArg, String> {
    match text.strip_prefix("group:") {
        Some(name) if !name.is_empty() && name.parse::<GroupId>().is_err() => {
            Ok(SubjectArg::Group(name.to_owned()))
        }
        Some(_) | None => parse_subject(text).map(SubjectArg::RuleSubject),
    }
}

/// Parses a subject such as `agent:pm` or `user:…`.
fn parse_subject(text: &str) -> Result<RuleSubject, String> {
    let (kind, id) = match text.split_once(':') {
        Some((kind, id)) => (kind, Some(id)),
        None => (text, None),
    };
    serde_json::from_value(json!({"subject_type": kind, "subject_id": id})).map_err(|_| {
        "use system, agent:pm, agent:pa, agent:sandbox, user:ID, group:NAME, project:ID or task:ID"
            .to_owned()
    })
}

fn format_subject(subject: RuleSubject) -> String {
    match subject {
        RuleSubject::System => "system".to_owned(),
        RuleSubject::User(id) => format!("user:{id}"),
        RuleSubject::Group(id) => format!("group:{id}"),
        RuleSubject::Project(id) => format!("project:{id}"),
        RuleSubject::Task(id) => format!("task:{id}"),
        RuleSubject::Agent(agent) => format!("agent:{agent}"),
    }
}

fn render(rules: &[RuleView], ctx: RenderContext) -> String {
    let rows = rules.iter().map(|rule| {
        let callers: Vec<_> =
            rule.conditions.callers.iter().map(|caller| caller.as_str()).collect();
        vec![
            rule.effect.to_string(),
            rule.action.to_string(),
            rule.resource_pattern.to_string(),
            format_subject(rule.subject),
            if callers.is_empty() { "any".to_owned() } else { callers.join(",") },
            rule.server_id.map_or_else(|| "-".to_owned(), |server| server.to_string()),
            rule.id.to_string(),
        ]
    });
    table::render_table(
        &["EFFECT", "ACTION", "RESOURCE", "FOR", "CALLER", "SERVER", "ID"],
        rows,
        ctx,
    )
}

fn render_stages(view: &ExplainView, ctx: RenderContext) -> String {
    let rows = view.stages.iter().map(|stage| {
        let verdict = match stage.verdict {
            StageVerdict::Pass => "pass",
            StageVerdict::Refuse => "REFUSE",
            StageVerdict::Skipped => "-",
        };
        vec![stage.stage.to_string(), verdict.to_owned(), stage.reason.clone()]
    });
    let stages = table::render_table(&["STAGE", "VERDICT", "REASON"], rows, ctx);
    let end = match view.refused_by {
        Some(stage) => format!("refused at {stage}"),
        None => "allowed".to_owned(),
    };
    format!("{stages}\n{end}")
}

#[cfg(test)]
mod tests {
    use cynode_domain::policy::AgentType;

    use super::*;

    #[test]
    fn subjects_read_back_as_they_are_shown() {
        let id = "00000000-0000-0000-0000-000000000001";
        for text in ["system".to_owned(), "agent:pm".to_owned(), format!("task:{id}")] {
            assert_eq!(format_subject(parse_subject(&text).unwrap()), text);
        }
        assert_eq!(parse_subject("agent:sandbox").unwrap(), RuleSubject::Agent(AgentType::Sandbox));
        assert_eq!(named("group:writers"), Ok(SubjectArg::Group("writers".to_owned())));
        let of_group = RuleSubject::Group(id.parse().unwrap());
        assert_eq!(named(&format!("group:{id}")), Ok(SubjectArg::RuleSubject(of_group)));
        assert!(named("group:").is_err());
        for odd in ["agent:root", "user:ada", "everybody", "user"] {
            assert!(parse_subject(odd).unwrap_err().starts_with("use system"), "{odd}");
        }
    }
}
