//! The flags that name a project and a profile of it.

use clap::Args;

/// Slug of every user's default project.
pub(crate) const DEFAULT_PROJECT: &str = "default";

/// The project of a command.
#[derive(Debug, Args)]
pub struct ProjectArgs {
    /// The project, by slug or id [default: your default project].
    #[arg(long, default_value = DEFAULT_PROJECT, hide_default_value = true)]
    pub(crate) project: String,
}

/// The profile of a project whose memory or knowledge a command uses.
#[derive(Debug, Args)]
pub struct ProfileArgs {
    /// The project, by slug or id [default: your default project].
    #[arg(long, default_value = DEFAULT_PROJECT, hide_default_value = true)]
    pub(crate) project: String,
    /// The profile of the project, by name or id [default: its default profile].
    #[arg(long)]
    pub(crate) profile: Option<String>,
}
