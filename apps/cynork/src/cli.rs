//! What can be typed: the commands and the flags that every command takes.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use serde::{Deserialize, Serialize};

use crate::agent_token::AgentTokenCommand;
use crate::audit::AuditCommand;
use crate::auth::AuthCommand;
use crate::brain::BrainCommand;
use crate::chat::ChatArgs;
use crate::creds::CredsCommand;
use crate::groups::GroupsCommand;
use crate::inbox::InboxCommand;
use crate::nodes::NodesCommand;
use crate::prefs::PrefsCommand;
use crate::project::ProjectCommand;
use crate::providers::ModelsCommand;
use crate::rules::{AccessCommand, RulesCommand};
use crate::runs::RunCommand;
use crate::schedule::ScheduleCommand;
use crate::servers::ServersCommand;
use crate::setting::SettingsCommand;
use crate::skills::SkillsCommand;
use crate::task::TaskCommand;
use crate::token::TokenCommand;
use crate::tools::ToolsCommand;
use crate::users::UsersCommand;

const EXAMPLES: &str = "\
Examples:
  cynork task create --command 'echo hello' --wait   run a command and see its output
  cynork task create --script build.sh --attach src.tar
  cynork task watch                                  see everything that happens, live
  cynork task list -o json | jq '.items[].task_name'

A local `cynode up` is found without any setting. For another gateway set CYNORK_GATEWAY_URL
and CYNORK_TOKEN, or run `cynork --gateway-url URL auth login`.

Exit codes: 0 done, 1 the task did not complete, 2 usage, 3 not signed in or not allowed,
4 not found, 5 conflict, 6 invalid input, 7 no answer or server trouble, 8 internal,
9 the task completed unverified: an acceptance criterion was not judged.";

/// Hand work to CyNode and see what becomes of it.
#[derive(Debug, Parser)]
#[command(name = "cynork", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub struct Cli {
    /// Flags that every command takes.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Flags that every command takes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Configuration file [default: `$XDG_CONFIG_HOME/cynork/config.toml`].
    #[arg(short, long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// How to print: `table` for people, `json` for programs [default: table].
    #[arg(
        short,
        long,
        global = true,
        value_enum,
        value_name = "FORMAT",
        hide_possible_values = true
    )]
    pub output: Option<Format>,
    /// Print data only: no progress, no advice.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// No colour; `NO_COLOR` does the same.
    #[arg(long, global = true)]
    pub no_color: bool,
    /// Where to look for a local `cynode up` [default: `$XDG_DATA_HOME/cynode`].
    #[arg(long, global = true, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Where the gateway listens [default: a local `cynode up`, else `http://localhost:12080`].
    #[arg(long, global = true, value_name = "URL")]
    pub gateway_url: Option<String>,
    /// Read the API token from this file.
    #[arg(long, global = true, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

/// How data is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// One JSON value.
    Json,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Talk to the project manager, or to a model.
    Chat(ChatArgs),
    /// Create tasks, watch them, read their results.
    #[command(subcommand, visible_alias = "tasks")]
    Task(TaskCommand),
    /// See where runs stand, how they went and why; pause, resume, answer, retry and fork them.
    #[command(subcommand, visible_alias = "runs")]
    Run(RunCommand),
    /// See what waits for you, and answer agents.
    #[command(subcommand)]
    Inbox(InboxCommand),
    /// Have work come due by the clock.
    #[command(subcommand, visible_alias = "schedules")]
    Schedule(ScheduleCommand),
    /// Group tasks into projects.
    #[command(subcommand, visible_alias = "projects")]
    Project(ProjectCommand),
    /// See the worker nodes and take them in and out of service.
    #[command(subcommand, visible_alias = "node")]
    Nodes(NodesCommand),
    /// Sign in and out.
    #[command(subcommand)]
    Auth(AuthCommand),
    /// API tokens for scripts.
    #[command(subcommand, visible_alias = "tokens")]
    Token(TokenCommand),
    /// Tokens that agents present to the MCP gateway.
    #[command(subcommand, visible_alias = "agent-tokens")]
    AgentToken(AgentTokenCommand),
    /// See what agents can call, and turn it on and off.
    #[command(subcommand, visible_alias = "tool")]
    Tools(ToolsCommand),
    /// Install MCP servers; their tools are called `<server>.<tool>`.
    #[command(subcommand, visible_alias = "server")]
    Servers(ServersCommand),
    /// What the installation allows. Silence is no, and one rule that denies outweighs the rest.
    #[command(subcommand, visible_alias = "rule")]
    Rules(RulesCommand),
    /// Why something is allowed or not.
    #[command(subcommand)]
    Access(AccessCommand),
    /// The record of tool calls, chats and changes of access: who did what, and what came of it.
    #[command(subcommand)]
    Audit(AuditCommand),
    /// See which models there are, and say who offers them.
    #[command(subcommand, visible_alias = "model")]
    Models(ModelsCommand),
    /// Credentials for model providers: secrets go in, sealed, and never come out.
    #[command(subcommand, visible_alias = "credentials")]
    Creds(CredsCommand),
    /// What models were asked and what it cost, and what the project manager decided.
    #[command(subcommand)]
    Brain(BrainCommand),
    /// Make users.
    #[command(subcommand, visible_alias = "user")]
    Users(UsersCommand),
    /// Groups of users: who is in them.
    #[command(subcommand, visible_alias = "group")]
    Groups(GroupsCommand),
    /// Texts that tell agents how to work, and the one that goes with every prompt.
    #[command(subcommand, visible_alias = "skill")]
    Skills(SkillsCommand),
    /// Wishes about how work is done, by group, user, project, task or for everybody.
    #[command(subcommand, visible_alias = "preferences")]
    Prefs(PrefsCommand),
    /// Settings of the installation.
    #[command(subcommand, visible_alias = "setting")]
    Settings(SettingsCommand),
    /// Whether the gateway answers and work can be done.
    Status,
    /// The version of this program.
    Version,
    /// Print a completion script for a shell; it knows the names of your tasks, projects and nodes.
    ///
    /// For bash: cynork completions bash > ~/.local/share/bash-completion/completions/cynork
    Completions {
        /// Which shell.
        shell: Shell,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

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
