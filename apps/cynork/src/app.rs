//! One command, from parsed command line to exit code.

use std::process::ExitCode;

use cynode_domain::ids::TraceId;
use cynode_runtime::env;

use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::out::CommandOutput;
use cynode_cli::resolved_settings::CliSettings;
use cynode_cli::session::ApiSession;
use cynode_cli_admin::{
    agent_token, audit, auth, creds, groups, leases, nodes, notify, providers, rules, servers,
    settings_command, token, tools, users,
};

use crate::cli::{Cli, CynorkCommand};
use crate::{
    agent, brain, chat, completion, forge, inbox, knowledge, memory, pm, prefs, profiles, project,
    runs, schedule, skills, status, task, trace,
};

/// Runs a parsed command line and returns the documented exit code.
pub async fn run(cli: Cli) -> ExitCode {
    let out = CommandOutput::detect(&cli.global);
    match Box::pin(dispatch(cli, out)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            print_failure(out, &failure);
            ExitCode::from(failure.code())
        }
    }
}

async fn dispatch(cli: Cli, out: CommandOutput) -> Result<(), CliFailure> {
    if let CynorkCommand::Completions { shell } = cli.command {
        return completion::print_script(shell, out);
    }
    if matches!(cli.command, CynorkCommand::Version) {
        return status::print_version(&cli.global, out);
    }
    let settings = CliSettings::resolve(&cli.global, &|name| env::var(name))?;
    let out = CommandOutput { format: settings.format, ..out };
    let local = settings.local.clone();
    let trace = TraceId::generate();
    if cli.global.verbose {
        out.write_stderr(&format!("trace {trace}\n"));
    }
    let mut app = CliContext { session: ApiSession::open(settings, trace)?, out, local };
    match cli.command {
        CynorkCommand::Chat(args) => chat::run(args, &mut app).await,
        CynorkCommand::Task(command) => task::run(command, &mut app).await,
        CynorkCommand::Run(command) => runs::run(command, &mut app).await,
        CynorkCommand::Trace(command) => trace::run(command, &mut app).await,
        CynorkCommand::Pm(command) => pm::run(command, &mut app).await,
        CynorkCommand::Inbox(command) => inbox::run(command, &mut app).await,
        CynorkCommand::Notify(command) => notify::run(command, &mut app).await,
        CynorkCommand::Schedule(command) => schedule::run(command, &mut app).await,
        CynorkCommand::Project(command) => project::run(command, &mut app).await,
        CynorkCommand::Nodes(command) => nodes::run(command, &mut app).await,
        CynorkCommand::Auth(command) => auth::run(command, &mut app).await,
        CynorkCommand::Token(command) => token::run(command, &mut app).await,
        CynorkCommand::Agent(command) => agent::run(command, &mut app).await,
        CynorkCommand::AgentToken(command) => agent_token::run(command, &mut app).await,
        CynorkCommand::Leases(command) => leases::run(command, &mut app).await,
        CynorkCommand::Tools(command) => tools::run(command, &mut app).await,
        CynorkCommand::Servers(command) => servers::run(command, &mut app).await,
        CynorkCommand::Rules(command) => rules::run(command, &mut app).await,
        CynorkCommand::Access(command) => rules::run_access(command, &mut app).await,
        CynorkCommand::Audit(command) => audit::run(command, &mut app).await,
        CynorkCommand::Models(command) => providers::run(command, &mut app).await,
        CynorkCommand::Creds(command) => creds::run(command, &mut app).await,
        CynorkCommand::Forge(command) => forge::run(command, &mut app).await,
        CynorkCommand::Brain(command) => brain::run(command, &mut app).await,
        CynorkCommand::Users(command) => users::run(command, &mut app).await,
        CynorkCommand::Groups(command) => groups::run(command, &mut app).await,
        CynorkCommand::Profiles(command) => profiles::run(command, &mut app).await,
        CynorkCommand::Knowledge(command) => knowledge::run(command, &mut app).await,
        CynorkCommand::Memory(command) => memory::run(command, &mut app).await,
        CynorkCommand::Skills(command) => skills::run(command, &mut app).await,
        CynorkCommand::Prefs(command) => prefs::run(command, &mut app).await,
        CynorkCommand::Settings(command) => settings_command::run(command, &mut app).await,
        CynorkCommand::Status => status::run(&mut app).await,
        CynorkCommand::Version | CynorkCommand::Completions { .. } => Ok(()),
    }
}

/// Prints an error, its details and its advice. The outcome of a task is printed by the command that waited.
fn print_failure(out: CommandOutput, failure: &CliFailure) {
    if matches!(failure, CliFailure::NotCompleted | CliFailure::Unverified) {
        return;
    }
    out.write_stderr(&format!("{} {failure}\n", out.paint(31, "error:")));
    for detail in failure.details() {
        out.write_stderr(&format!("  - {detail}\n"));
    }
    if let Some(advice) = failure.advice() {
        out.write_stderr(&format!("  {advice}\n"));
    }
}
