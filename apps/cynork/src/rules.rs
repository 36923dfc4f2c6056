//! `rules` and `access`: what the installation allows, and why something is allowed or not.

use clap::{Args, Subcommand};
use cynode_domain::ids::{GroupId, RuleId};
use cynode_domain::model::{CALL, OPERATION};
use cynode_domain::policy::pattern::Pattern;
use cynode_domain::policy::rules::{Conditions, Subject};
use cynode_domain::policy::{Effect, Principal};
use cynode_wire::changes::ChangeQuery;
use cynode_wire::rules::{CreateRule, RuleView};
use cynode_wire::tools::{ExplainAccess, ExplainView, StageVerdict};
use serde_json::json;

use crate::app::App;
use crate::cli::Format;
use crate::failure::Failure;
use crate::history::HistoryArgs;
use crate::out::Look;
use crate::{groups, history, table};

/// What the installation allows. Silence is no, and one rule that denies outweighs all that allow.
#[derive(Debug, Subcommand)]
pub enum RulesCommand {
    /// List every rule.
    List,
    /// Add a rule.
    ///
    /// Example: `cynork rules add allow 'web.*' --for agent:pm`
    Add(AddArgs),
    /// Show who made and removed rules, newest first. Administrators only.
    History {
        /// The rule's id; without it, the changes of all of them.
        rule: Option<RuleId>,
        /// How much of it.
        #[command(flatten)]
        page: HistoryArgs,
    },
    /// Remove a rule.
    #[command(visible_alias = "delete")]
    Remove {
        /// The rule's id.
        rule: RuleId,
    },
}

/// A rule to add.
#[derive(Debug, Args)]
pub struct AddArgs {
    /// allow or deny.
    effect: Effect,
    /// Which tools, such as `db.*`; or which model providers, such as `anthropic/*`, with
    /// `--action api.call`.
    tools: Pattern,
    /// For whom: system, agent:TYPE, user:ID, group:NAME, project:ID or task:ID.
    #[arg(long = "for", value_name = "SUBJECT", default_value = "system", value_parser = named)]
    subject: Named,
    /// Only when called by: pm, pa, sandbox or user. May be given several times.
    #[arg(long, value_name = "CALLER")]
    caller: Vec<Principal>,
    /// What they do: mcp.tool.invoke, or api.call for calls to model providers.
    #[arg(long, value_name = "ACTION")]
    action: Option<Pattern>,
    /// Which of several matching rules is named as the reason: the highest.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    priority: i64,
}

/// Why something is allowed or not.
#[derive(Debug, Subcommand)]
pub enum AccessCommand {
    /// Show what each stage of the decision says about a call, without calling.
    ///
    /// Example: `cynork access explain --agent sandbox --tool db.task.get`
    Explain(ExplainArgs),
}

/// A call to explain.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Who would call: pm, pa, sandbox or user.
    #[arg(long, value_name = "CALLER")]
    agent: Principal,
    /// Which tool.
    #[arg(long)]
    tool: String,
    /// For which user, by handle or id; you, without it.
    #[arg(long)]
    user: Option<String>,
    /// For which task, by name or id.
    #[arg(long)]
    task: Option<String>,
    /// With which arguments, as JSON.
    #[arg(long, value_name = "JSON")]
    arguments: Option<serde_json::Value>,
}

/// Does what the command says.
pub(crate) async fn run(command: RulesCommand, app: &mut App) -> Result<(), Failure> {
    match command {
        RulesCommand::List => {
            let rules = app.session.call(async |client| client.rule_list().await).await?;
            app.out.list(rules, render)
        }
        RulesCommand::Add(args) => {
            let is_call = args.action.as_ref().is_some_and(|action| action.as_str() == CALL);
            let subject = match args.subject {
                Named::Subject(subject) => subject,
                Named::Group(name) => Subject::Group(groups::id_of(app, &name).await?),
            };
            let body = CreateRule {
                subject,
                action: args.action,
                resource_type: is_call.then(|| OPERATION.parse()).transpose().ok().flatten(),
                resource_pattern: args.tools,
                effect: args.effect,
                priority: args.priority,
                conditions: Conditions { callers: args.caller },
            };
            let rule = app.session.call(async |client| client.rule_create(&body).await).await?;
            app.out.show(&rule, |rule, look| render(std::slice::from_ref(rule), look))
        }
        RulesCommand::History { rule, page } => {
            let query = page.page();
            let page = if let Some(rule) = rule {
                app.session.call(async |client| client.rule_changes(rule, &query).await).await?
            } else {
                let query = ChangeQuery::of("access_control_rule", query);
                app.session.call(async |client| client.access_changes(&query).await).await?
            };
            history::show(&page, app)
        }
        RulesCommand::Remove { rule } => {
            app.session.call(async |client| client.rule_remove(rule).await).await?;
            if app.out.format == Format::Json {
                app.out.json(&json!({"id": rule, "removed": true}))?;
            }
            app.out.say(&format!("rule {rule} is removed"));
            Ok(())
        }
    }
}

/// Does what the command says.
pub(crate) async fn run_access(command: AccessCommand, app: &mut App) -> Result<(), Failure> {
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

/// A subject as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Named {
    /// By id.
    Subject(Subject),
    /// A group by its name.
    Group(String),
}

fn named(text: &str) -> Result<Named, String> {
    match text.strip_prefix("group:") {
        Some(name) if !name.is_empty() && name.parse::<GroupId>().is_err() => {
            Ok(Named::Group(name.to_owned()))
        }
        Some(_) | None => subject(text).map(Named::Subject),
    }
}

/// `agent:pm`, `user:…`: the way rules are written on the command line.
fn subject(text: &str) -> Result<Subject, String> {
    let (kind, id) = match text.split_once(':') {
        Some((kind, id)) => (kind, Some(id)),
        None => (text, None),
    };
    serde_json::from_value(json!({"subject_type": kind, "subject_id": id})).map_err(|_| {
        "use system, agent:pm, agent:pa, agent:sandbox, user:ID, group:NAME, project:ID or task:ID"
            .to_owned()
    })
}

fn subject_text(subject: Subject) -> String {
    match subject {
        Subject::System => "system".to_owned(),
        Subject::User(id) => format!("user:{id}"),
        Subject::Group(id) => format!("group:{id}"),
        Subject::Project(id) => format!("project:{id}"),
        Subject::Task(id) => format!("task:{id}"),
        Subject::Agent(agent) => format!("agent:{agent}"),
    }
}

fn render(rules: &[RuleView], look: Look) -> String {
    let rows = rules.iter().map(|rule| {
        let callers: Vec<_> =
            rule.conditions.callers.iter().map(|caller| caller.as_str()).collect();
        vec![
            rule.effect.to_string(),
            rule.resource_pattern.to_string(),
            subject_text(rule.subject),
            if callers.is_empty() { "any".to_owned() } else { callers.join(",") },
            rule.id.to_string(),
        ]
    });
    table::rows(&["EFFECT", "TOOLS", "FOR", "CALLER", "ID"], rows, look)
}

fn render_stages(view: &ExplainView, look: Look) -> String {
    let rows = view.stages.iter().map(|stage| {
        let verdict = match stage.verdict {
            StageVerdict::Pass => "pass",
            StageVerdict::Refuse => "REFUSE",
            StageVerdict::Skipped => "-",
        };
        vec![stage.stage.to_string(), verdict.to_owned(), stage.reason.clone()]
    });
    let stages = table::rows(&["STAGE", "VERDICT", "REASON"], rows, look);
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
            assert_eq!(subject_text(subject(&text).unwrap()), text);
        }
        assert_eq!(subject("agent:sandbox").unwrap(), Subject::Agent(AgentType::Sandbox));
        assert_eq!(named("group:writers"), Ok(Named::Group("writers".to_owned())));
        let of_group = Subject::Group(id.parse().unwrap());
        assert_eq!(named(&format!("group:{id}")), Ok(Named::Subject(of_group)));
        assert!(named("group:").is_err());
        for odd in ["agent:root", "user:ada", "everybody", "user"] {
            assert!(subject(odd).unwrap_err().starts_with("use system"), "{odd}");
        }
    }
}
