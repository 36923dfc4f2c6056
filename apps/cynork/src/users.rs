//! `users`: making users.

use clap::{Args, Subcommand};
use cynode_wire::auth::CreateUser;

use crate::app::App;
use crate::auth;
use crate::failure::Failure;

/// Make users. Administrators only.
#[derive(Debug, Subcommand)]
pub enum UsersCommand {
    /// Make a user; asks for the password, at least 12 characters.
    ///
    /// Example: `cynork users create bob --password-stdin < bob.password`
    Create(CreateArgs),
}

/// A user to make.
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// The name to sign in with: lowercase letters, digits and single dashes.
    handle: String,
    /// Whether the user administers this installation.
    #[arg(long)]
    admin: bool,
    /// Read the password from standard input.
    #[arg(long)]
    password_stdin: bool,
}

/// Does what the command says.
pub(crate) async fn run(command: UsersCommand, app: &mut App) -> Result<(), Failure> {
    let UsersCommand::Create(CreateArgs { handle, admin, password_stdin }) = command;
    let password = if password_stdin { auth::read_password()? } else { auth::new_password()? };
    let body = CreateUser { handle, password, is_admin: admin };
    let made = app.session.call(async |client| client.user_create(&body).await).await?;
    app.out.show(&made, auth::render)
}
