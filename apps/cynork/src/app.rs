//! One command, from parsed command line to exit code.

use std::process::ExitCode;

use cynode_runtime::env;

use crate::cli::{Cli, Command, Global};
use crate::failure::Failure;
use crate::out::{Out, Talk};
use crate::session::Session;
use crate::settings::{LocalUp, Settings};
use crate::{
    agent_token, audit, auth, brain, chat, complete, creds, groups, inbox, nodes, prefs, project,
    providers, rules, runs, schedule, servers, setting, skills, status, task, token, tools, users,
};

/// What a command works with.
pub(crate) struct App {
    /// The gateway.
    pub(crate) session: Session,
    /// Where output goes.
    pub(crate) out: Out,
    /// The local `cynode up`, if there is one.
    pub(crate) local: Option<LocalUp>,
}

/// Does what a command line says and answers with the documented exit code.
pub async fn run(cli: Cli) -> ExitCode {
    let out = outlet(&cli.global);
    match dispatch(cli, out).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            report(out, &failure);
            ExitCode::from(failure.code())
        }
    }
}

async fn dispatch(cli: Cli, out: Out) -> Result<(), Failure> {
    if let Command::Completions { shell } = cli.command {
        return complete::script(shell, out);
    }
    if matches!(cli.command, Command::Version) {
        return status::version(&cli.global, out);
    }
    let settings = Settings::resolve(&cli.global, &|name| env::var(name))?;
    let out = Out { format: settings.format, ..out };
    let local = settings.local.clone();
    let mut app = App { session: Session::open(settings)?, out, local };
    match cli.command {
        Command::Chat(args) => chat::run(args, &mut app).await,
        Command::Task(command) => task::run(command, &mut app).await,
        Command::Run(command) => runs::run(command, &mut app).await,
        Command::Inbox(command) => inbox::run(command, &mut app).await,
        Command::Schedule(command) => schedule::run(command, &mut app).await,
        Command::Project(command) => project::run(command, &mut app).await,
        Command::Nodes(command) => nodes::run(command, &mut app).await,
        Command::Auth(command) => auth::run(command, &mut app).await,
        Command::Token(command) => token::run(command, &mut app).await,
        Command::AgentToken(command) => agent_token::run(command, &mut app).await,
        Command::Tools(command) => tools::run(command, &mut app).await,
        Command::Servers(command) => servers::run(command, &mut app).await,
        Command::Rules(command) => rules::run(command, &mut app).await,
        Command::Access(command) => rules::run_access(command, &mut app).await,
        Command::Audit(command) => audit::run(command, &mut app).await,
        Command::Models(command) => providers::run(command, &mut app).await,
        Command::Creds(command) => creds::run(command, &mut app).await,
        Command::Brain(command) => brain::run(command, &mut app).await,
        Command::Users(command) => users::run(command, &mut app).await,
        Command::Groups(command) => groups::run(command, &mut app).await,
        Command::Skills(command) => skills::run(command, &mut app).await,
        Command::Prefs(command) => prefs::run(command, &mut app).await,
        Command::Settings(command) => setting::run(command, &mut app).await,
        Command::Status => status::run(&mut app).await,
        Command::Version | Command::Completions { .. } => Ok(()),
    }
}

fn outlet(global: &Global) -> Out {
    let talk = if global.quiet { Talk::Quiet } else { Talk::Normal };
    Out::of_process(global.output.unwrap_or_default(), talk, global.no_color)
}

/// A task that did not complete has told its story already.
fn report(out: Out, failure: &Failure) {
    if matches!(failure, Failure::NotCompleted | Failure::Unverified) {
        return;
    }
    out.tell(&format!("{} {failure}\n", out.paint(31, "error:")));
    for detail in failure.details() {
        out.tell(&format!("  - {detail}\n"));
    }
    if let Some(advice) = failure.advice() {
        out.tell(&format!("  {advice}\n"));
    }
}
