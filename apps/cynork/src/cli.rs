//! The command line: its subcommands.

use clap::{Parser, Subcommand};
use clap_complete::Shell;
use cynode_cli::global_args::GlobalArgs;

use crate::agent::AgentCommand;
use crate::brain::BrainCommand;
use crate::chat::ChatCommandArgs;
use crate::forge::ForgeCommand;
use crate::inbox::InboxCommand;
use crate::knowledge::KnowledgeCommand;
use crate::memory::MemoryCommand;
use crate::pm::PmCommand;
use crate::prefs::PrefsCommand;
use crate::profiles::ProfilesCommand;
use crate::project::ProjectCommand;
use crate::runs::RunCommand;
use crate::schedule::ScheduleCommand;
use crate::skills::SkillsCommand;
use crate::task::TaskCommand;
use crate::trace::TraceCommand;
use cynode_cli_admin::agent_token::AgentTokenCommand;
use cynode_cli_admin::audit::AuditCommand;
use cynode_cli_admin::auth::AuthCommand;
use cynode_cli_admin::creds::CredsCommand;
use cynode_cli_admin::groups::GroupsCommand;
use cynode_cli_admin::leases::LeaseCommand;
use cynode_cli_admin::nodes::NodesCommand;
use cynode_cli_admin::notify::NotifyCommand;
use cynode_cli_admin::providers::ModelsCommand;
use cynode_cli_admin::rules::{AccessCommand, RulesCommand};
use cynode_cli_admin::servers::ServersCommand;
use cynode_cli_admin::settings_command::SettingsCommand;
use cynode_cli_admin::token::TokenCommand;
use cynode_cli_admin::tools::ToolsCommand;
use cynode_cli_admin::users::UsersCommand;

const EXAMPLES: &str = "\
Examples:
  cynork pm submit 'Add a dark mode toggle' --repo . --wait
  cynork task create --command 'echo hello' --wait   run a command and see its output
  cynork task create --script build.sh --attach src.tar
  cynork task watch                                  see everything that happens, live
  cynork task list -o json | jq '.items[].task_name'

A local `cynode up` is found automatically. For another gateway, set CYNORK_GATEWAY_URL
and CYNORK_TOKEN, or run `cynork --gateway-url URL auth login`.

Exit codes: 0 success, 1 the task did not complete, 2 usage error, 3 not signed in or not allowed,
4 not found, 5 conflict, 6 invalid input, 7 network or server error, 8 internal error,
9 the task completed unverified: an acceptance criterion was not judged.";

/// Command-line client of CyNode: create tasks and follow them.
#[derive(Debug, Parser)]
#[command(name = "cynork", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: CynorkCommand,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
pub enum CynorkCommand {
    /// Chat with the project manager, or with a model.
    Chat(ChatCommandArgs),
    /// Create tasks, watch them, read their results.
    #[command(subcommand, visible_alias = "tasks")]
    Task(TaskCommand),
    /// Inspect runs; pause, resume, answer, retry and fork them.
    #[command(subcommand, visible_alias = "runs")]
    Run(RunCommand),
    /// Show one request from its start to its end, with times and cost.
    #[command(subcommand, visible_alias = "traces")]
    Trace(TraceCommand),
    /// Submit work in your own words; follow it to a branch.
    #[command(subcommand)]
    Pm(PmCommand),
    /// List questions and messages that need your answer, and answer them.
    #[command(subcommand)]
    Inbox(InboxCommand),
    /// Be notified of what needs you, by webhook, e-mail or Slack.
    #[command(subcommand, visible_alias = "notifications")]
    Notify(NotifyCommand),
    /// Run work on a schedule.
    #[command(subcommand, visible_alias = "schedules")]
    Schedule(ScheduleCommand),
    /// Group tasks into projects.
    #[command(subcommand, visible_alias = "projects")]
    Project(ProjectCommand),
    /// Define what the agents of a project may use.
    #[command(subcommand, visible_alias = "profile")]
    Profiles(ProfilesCommand),
    /// Ingest documents, and search what the project knows.
    #[command(subcommand)]
    Knowledge(KnowledgeCommand),
    /// Read and edit what a project remembers across tasks.
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// List worker nodes; drain and enable them.
    #[command(subcommand, visible_alias = "node")]
    Nodes(NodesCommand),
    /// Sign in and out.
    #[command(subcommand)]
    Auth(AuthCommand),
    /// Manage API tokens for scripts.
    #[command(subcommand, visible_alias = "tokens")]
    Token(TokenCommand),
    /// Define the agents that tasks can name, and try them out on worker nodes.
    #[command(subcommand, visible_alias = "agents")]
    Agent(AgentCommand),
    /// Manage the tokens that agents present to the MCP gateway.
    #[command(subcommand, visible_alias = "agent-tokens")]
    AgentToken(AgentTokenCommand),
    /// List and revoke capability leases, with which agents use tools of a worker node directly.
    #[command(subcommand, visible_alias = "lease")]
    Leases(LeaseCommand),
    /// List the tools that agents can call; enable, disable and approve them.
    #[command(subcommand, visible_alias = "tool")]
    Tools(ToolsCommand),
    /// Install MCP servers; their tools are named `<server>.<tool>`.
    #[command(subcommand, visible_alias = "server")]
    Servers(ServersCommand),
    /// Manage access rules. Default deny; any deny rule wins.
    #[command(subcommand, visible_alias = "rule")]
    Rules(RulesCommand),
    /// Explain why a call is allowed or denied.
    #[command(subcommand)]
    Access(AccessCommand),
    /// Read the audit log of tool calls, chats and access changes.
    #[command(subcommand)]
    Audit(AuditCommand),
    /// List models, and manage the providers that serve them.
    #[command(subcommand, visible_alias = "model")]
    Models(ModelsCommand),
    /// Manage credentials for model providers and git hosts. Secrets are encrypted and never shown.
    #[command(subcommand, visible_alias = "credentials")]
    Creds(CredsCommand),
    /// Connect repositories with their forge: pull requests, issues, webhooks.
    #[command(subcommand)]
    Forge(ForgeCommand),
    /// Inspect model calls and their cost, and the decisions of the project manager.
    #[command(subcommand)]
    Brain(BrainCommand),
    /// Manage users: create, disable, reset passwords, end sessions and tokens.
    #[command(subcommand, visible_alias = "user")]
    Users(UsersCommand),
    /// Manage groups of users and their members.
    #[command(subcommand, visible_alias = "group")]
    Groups(GroupsCommand),
    /// Manage skills: instructions for agents, including the default one in every prompt.
    #[command(subcommand, visible_alias = "skill")]
    Skills(SkillsCommand),
    /// Manage preferences, by scope: system, group, user, project or task.
    #[command(subcommand, visible_alias = "preferences")]
    Prefs(PrefsCommand),
    /// Manage settings of the installation.
    #[command(subcommand, visible_alias = "setting")]
    Settings(SettingsCommand),
    /// Show whether the gateway is reachable and can run work.
    Status,
    /// Print the version of this program.
    Version,
    /// Print a shell completion script; it completes the names of your tasks, projects and nodes.
    ///
    /// For bash: cynork completions bash > ~/.local/share/bash-completion/completions/cynork
    Completions {
        /// The shell.
        shell: Shell,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use cynode_cli::global_args::Format;

    use super::*;

    #[test]
    fn the_command_line_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn global_flags_are_accepted_after_the_command() {
        let cli = Cli::try_parse_from(["cynork", "status", "-o", "json", "-q"]).unwrap();

        assert_eq!(cli.global.output, Some(Format::Json));
        assert!(cli.global.quiet);
    }
}
