//! `agent`: profiles of agents, and the canary runs that admit them to worker nodes.

mod canary;
mod profile_args;
mod view;

use clap::{Args, Subcommand};
use cynode_wire::agent_profiles::CreateAgentProfile;

use self::canary::AgentCanaryArgs;
use self::profile_args::{NewProfileArgs, ProfileChangeArgs};
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;

/// Manage the agents that `task create --agent` names, apart from the built-in one.
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// List the agent profiles, or define, change and delete them.
    #[command(visible_alias = "profile")]
    Profiles(AgentProfilesArgs),
    /// Try an agent profile out on worker nodes; a node that passes gets its tasks. Administrators only.
    Canary(AgentCanaryArgs),
}

/// Arguments of `agent profiles`.
#[derive(Debug, Args)]
pub struct AgentProfilesArgs {
    #[command(subcommand)]
    command: Option<AgentProfilesCommand>,
}

#[derive(Debug, Subcommand)]
enum AgentProfilesCommand {
    /// List the profiles and where their canary runs passed.
    List,
    /// Show one profile, with the checks of its canary runs.
    Get {
        /// The profile, by name.
        profile: String,
    },
    /// Define a profile. Administrators only.
    #[command(visible_alias = "create")]
    Add(Box<NewProfileArgs>),
    /// Change a profile; each flag replaces that part of it. Administrators only.
    ///
    /// The new revision needs canary runs of its own.
    Update(Box<ProfileChangeArgs>),
    /// Delete a profile; steps that wait for it fail. Administrators only.
    #[command(visible_alias = "remove")]
    Delete {
        /// The profile, by name.
        profile: String,
    },
}

pub(crate) async fn run(command: AgentCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        AgentCommand::Profiles(args) => {
            let command = args.command.unwrap_or(AgentProfilesCommand::List);
            run_profiles(command, app).await
        }
        AgentCommand::Canary(args) => canary::run(args, app).await,
    }
}

async fn run_profiles(
    command: AgentProfilesCommand,
    app: &mut CliContext,
) -> Result<(), CliFailure> {
    let session = &mut app.session;
    let profile = match command {
        AgentProfilesCommand::List => {
            let profiles = session.call(async |c| c.agent_profile_list().await).await?;
            let is_empty = profiles.is_empty();
            app.out.list(profiles, view::render_profiles)?;
            if is_empty {
                app.out.print_message(
                    "there is no agent profile; define one with `cynork agent profiles add NAME --acp COMMAND`",
                );
            }
            return Ok(());
        }
        AgentProfilesCommand::Get { profile } => {
            session.call(async |c| c.agent_profile_get(&profile).await).await?
        }
        AgentProfilesCommand::Add(args) => {
            let body: CreateAgentProfile = args.into_request()?;
            session.call(async |c| c.agent_profile_create(&body).await).await?
        }
        AgentProfilesCommand::Update(args) => {
            let name = args.profile.clone();
            let current = session.call(async |c| c.agent_profile_get(&name).await).await?;
            let body = args.apply(current)?;
            session.call(async |c| c.agent_profile_update(&name, &body).await).await?
        }
        AgentProfilesCommand::Delete { profile } => {
            session.call(async |c| c.agent_profile_remove(&profile).await).await?;
            app.out.print_message(&format!("agent profile {profile} deleted"));
            return Ok(());
        }
    };
    let needs_canary = view::needs_canary(&profile);
    app.out.show(&profile, view::render_profile)?;
    if needs_canary {
        app.out.print_message(&format!(
            "no worker node has passed its canary run yet: run `cynork agent canary {}`",
            profile.name
        ));
    }
    Ok(())
}
