//! Shell completion, including the names of tasks, projects, nodes and so on.
//!
//! The shell calls `cynork` for each completion (see [`print_script`]); names come from the configured gateway.
//! Without a response within [`LIMIT`], only commands and flags are completed.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Command, CommandFactory as _};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use cynode_client::{Client, ClientError};
use cynode_domain::agent_profile::BUILT_IN;
use cynode_domain::ids::TraceId;
use cynode_runtime::env;
use cynode_wire::page::{MAX_LIMIT, PageQuery};
use cynode_wire::schedules::ScheduleQuery;
use cynode_wire::tasks::TaskQuery;

use crate::cli::Cli;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::GlobalArgs;
use cynode_cli::out::CommandOutput;
use cynode_cli::resolved_settings::CliSettings;
use cynode_cli::session::ApiSession;

/// Environment variable that the completion script sets to the name of the shell.
const VARIABLE: &str = "CYNORK_COMPLETE";
const PROGRAM: &str = "cynork";
/// Maximum delay of a completion.
const LIMIT: Duration = Duration::from_millis(1500);

/// Handles a completion request of a shell; `None` if this is an ordinary call.
pub(crate) fn answer(args: &[OsString]) -> Option<ExitCode> {
    let complete = CompleteEnv::with_factory(|| with_candidates(Cli::command()))
        .var(VARIABLE)
        .bin(PROGRAM)
        .completer(PROGRAM);
    let directory = std::env::current_dir().ok();
    match complete.try_complete(args, directory.as_deref()) {
        Ok(true) => Some(ExitCode::SUCCESS),
        Ok(false) => None,
        Err(error) => {
            // Printing fails only on a closed pipe.
            let _ = error.print();
            Some(ExitCode::from(2))
        }
    }
}

/// Prints the completion script for `shell`.
pub(crate) fn print_script(
    shell: clap_complete::Shell,
    out: CommandOutput,
) -> Result<(), CliFailure> {
    let (shells, name) = (Shells::builtins(), shell.to_string());
    let completer = shells
        .completer(&name)
        .ok_or_else(|| CliFailure::Usage(format!("no completion script for {name}")))?;
    let mut script = Vec::new();
    completer.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    out.data(script)
}

/// Adds candidates to every argument that is a name.
fn with_candidates(command: Command) -> Command {
    let command =
        command.mut_args(|arg| match CompletionKind::of_argument(arg.get_id().as_str()) {
            Some(names) => arg.add(ArgValueCandidates::new(move || candidates(names))),
            None => arg,
        });
    command.mut_subcommands(with_candidates)
}

/// What an argument names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CompletionKind {
    AgentProfiles,
    Groups,
    Nodes,
    Projects,
    Schedules,
    Servers,
    Tasks,
    Tools,
}

impl CompletionKind {
    /// Maps an argument id to what it names. A run is named by its task.
    fn of_argument(id: &str) -> Option<Self> {
        match id {
            "agent_name" | "profile" => Some(Self::AgentProfiles),
            "group" => Some(Self::Groups),
            "node" => Some(Self::Nodes),
            "project" => Some(Self::Projects),
            "schedule" => Some(Self::Schedules),
            "server" => Some(Self::Servers),
            "task" | "run" | "depends_on" | "on" => Some(Self::Tasks),
            "tool" => Some(Self::Tools),
            _ => None,
        }
    }

    /// Fetches all names, newest first where the API orders them so.
    async fn fetch(self, client: &Client) -> Result<Vec<String>, ClientError> {
        let page = PageQuery { limit: Some(MAX_LIMIT), cursor: None };
        Ok(match self {
            Self::AgentProfiles => {
                let profiles = client.agent_profile_list().await?.into_iter();
                profiles
                    .map(|profile| profile.name.to_string())
                    .chain([BUILT_IN.to_owned()])
                    .collect()
            }
            Self::Groups => {
                let groups = client.group_list(&page).await?.items;
                groups.into_iter().map(|group| group.name).collect()
            }
            Self::Nodes => {
                client.node_list().await?.into_iter().map(|node| node.node_slug).collect()
            }
            Self::Projects => {
                let projects = client.project_list(&page).await?.items;
                projects.into_iter().map(|project| project.slug).collect()
            }
            Self::Schedules => {
                let query = ScheduleQuery { limit: Some(MAX_LIMIT), ..ScheduleQuery::default() };
                let schedules = client.schedule_list(&query).await?.items;
                schedules.into_iter().map(|schedule| schedule.name).collect()
            }
            Self::Servers => {
                client.server_list().await?.into_iter().map(|server| server.slug).collect()
            }
            Self::Tasks => {
                let query = TaskQuery { limit: Some(MAX_LIMIT), ..TaskQuery::default() };
                let tasks = client.task_list(&query).await?.items;
                tasks.into_iter().map(|task| task.task_name).collect()
            }
            Self::Tools => client.tool_list().await?.into_iter().map(|tool| tool.name).collect(),
        })
    }
}

/// Candidates of one kind; empty on any failure, because a shell cannot show errors.
fn candidates(names: CompletionKind) -> Vec<CompletionCandidate> {
    let found = fetch_names(names).unwrap_or_default();
    let candidate = |(order, name)| CompletionCandidate::new(name).display_order(Some(order));
    found.into_iter().enumerate().map(candidate).collect()
}

fn fetch_names(names: CompletionKind) -> Option<Vec<String>> {
    let settings = CliSettings::resolve(&GlobalArgs::default(), &|name| env::var(name)).ok()?;
    let mut session = ApiSession::open(settings, TraceId::generate()).ok()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async {
        let request = session.call(async |client| names.fetch(client).await);
        tokio::time::timeout(LIMIT, request).await.ok()?.ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_argument_that_names_a_task_has_candidates() {
        let command = with_candidates(Cli::command());
        let of = |path: [&str; 2]| {
            let found = command.find_subcommand(path[0]).and_then(|c| c.find_subcommand(path[1]));
            let mut args = found.unwrap().get_arguments();
            args.any(|arg| arg.get::<ArgValueCandidates>().is_some())
        };

        for verb in ["get", "watch", "logs", "result", "cancel", "update", "history"] {
            assert!(of(["task", verb]), "task {verb}");
        }
        for verb in ["show", "pause", "answer", "retry", "history"] {
            assert!(of(["run", verb]), "run {verb}");
        }
        assert!(!of(["auth", "login"]));
    }
}
