//! `users`: creates users.

use clap::{Args, Subcommand};
use cynode_wire::auth::CreateUser;

use crate::app::CliContext;
use crate::auth;
use crate::failure::CliFailure;

/// Create users. Administrators only.
#[derive(Debug, Subcommand)]
pub enum UsersCommand {
    /// Create a user; prompts for the password, at least 12 characters.
    ///
    /// Example: `cynork users create bob --password-stdin < bob.password`
    Create(UserCreateArgs),
}

/// Arguments of `users create`.
#[derive(Debug, Args)]
pub struct UserCreateArgs {
    /// The handle for sign-in: lowercase letters, digits and single dashes.
    handle: String,
    /// Make the user an administrator.
    #[arg(long)]
    admin: bool,
    /// Read the password from standard input.
    #[arg(long)]
    password_stdin: bool,
}

pub(crate) async fn run(command: UsersCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    let UsersCommand::Create(UserCreateArgs { handle, admin, password_stdin }) = command;
    let password =
        if password_stdin { auth::read_password_stdin()? } else { auth::prompt_new_password()? };
    let body = CreateUser { handle, password, is_admin: admin };
    let made = app.session.call(async |client| client.user_create(&body).await).await?;
    app.out.show(&made, auth::render)
}
