//! `users`: administration of accounts.

use clap::{Args, Subcommand};
use cynode_wire::auth::{CreateUser, UpdateUser, UserView};

use crate::auth;
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

/// Manage users. Administrators only.
#[derive(Debug, Subcommand)]
pub enum UsersCommand {
    /// List all users.
    List,
    /// Create a user; prompts for the password, at least 12 characters.
    ///
    /// Example: `cynork users create bob --password-stdin < bob.password`
    Create(UserCreateArgs),
    /// Disable users: end their sessions and reject their API and agent tokens until they are enabled again.
    Disable(UserArgs),
    /// Enable disabled users; their API tokens are accepted again.
    Enable(UserArgs),
    /// Make users administrators.
    Promote(UserArgs),
    /// Remove the administrator rights of users.
    Demote(UserArgs),
    /// Set a new password for a user and end the user's sessions; prompts for it, at least 12 characters.
    ResetPassword(ResetPasswordArgs),
    /// End all sessions of users; --tokens revokes their API tokens too.
    SignOut(SignOutArgs),
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

/// Users to change.
#[derive(Debug, Args)]
pub struct UserArgs {
    /// The users, by handle or id.
    #[arg(required = true)]
    users: Vec<String>,
}

/// Arguments of `users reset-password`.
#[derive(Debug, Args)]
pub struct ResetPasswordArgs {
    /// The user, by handle or id.
    user: String,
    /// Read the password from standard input.
    #[arg(long)]
    password_stdin: bool,
}

/// Arguments of `users sign-out`.
#[derive(Debug, Args)]
pub struct SignOutArgs {
    #[command(flatten)]
    users: UserArgs,
    /// Revoke the users' API tokens too.
    #[arg(long)]
    tokens: bool,
}

pub async fn run(command: UsersCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    let activate = |is_active| UpdateUser { is_active: Some(is_active), ..UpdateUser::default() };
    let promote = |is_admin| UpdateUser { is_admin: Some(is_admin), ..UpdateUser::default() };
    match command {
        UsersCommand::List => {
            let users = app.session.load_pages(async |c, page| c.user_list(page).await).await?;
            app.out.list(users, render)
        }
        UsersCommand::Create(args) => create(args, app).await,
        UsersCommand::Disable(args) => update(args.users, &activate(false), app).await,
        UsersCommand::Enable(args) => update(args.users, &activate(true), app).await,
        UsersCommand::Promote(args) => update(args.users, &promote(true), app).await,
        UsersCommand::Demote(args) => update(args.users, &promote(false), app).await,
        UsersCommand::ResetPassword(ResetPasswordArgs { user, password_stdin }) => {
            let password = Some(read_new_password(password_stdin)?);
            update(vec![user], &UpdateUser { password, ..UpdateUser::default() }, app).await
        }
        UsersCommand::SignOut(args) => sign_out(args, app).await,
    }
}

async fn create(args: UserCreateArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let UserCreateArgs { handle, admin, password_stdin } = args;
    let body = CreateUser { handle, password: read_new_password(password_stdin)?, is_admin: admin };
    let created = app.session.call(async |client| client.user_create(&body).await).await?;
    app.out.show(&created, auth::render)
}

async fn update(
    users: Vec<String>,
    change: &UpdateUser,
    app: &mut CliContext,
) -> Result<(), CliFailure> {
    let mut updated = vec![];
    for user in &users {
        updated.push(app.session.call(async |c| c.user_update(user, change).await).await?);
    }
    app.out.list(updated, render)
}

async fn sign_out(args: SignOutArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    for user in &args.users.users {
        let sessions = app.session.call(async |client| client.sessions_end(user).await).await?;
        app.out.print_message(&format!("{user}: {} sessions ended", sessions.ended));
        if args.tokens {
            let call = app.session.call(async |client| client.tokens_revoke_all(user).await);
            let tokens = call.await?;
            app.out.print_message(&format!("{user}: {} API tokens revoked", tokens.ended));
        }
    }
    Ok(())
}

fn read_new_password(from_stdin: bool) -> Result<String, CliFailure> {
    if from_stdin { auth::read_password_stdin() } else { auth::prompt_new_password() }
}

fn render(users: &[UserView], ctx: RenderContext) -> String {
    let rows = users.iter().map(|user| {
        vec![
            user.handle.clone(),
            if user.is_admin { "admin" } else { "user" }.to_owned(),
            if user.is_active { "active" } else { "disabled" }.to_owned(),
            relative_time::format_relative(ctx.now, user.created_at),
            user.id.to_string(),
        ]
    });
    table::render_table(&["HANDLE", "ROLE", "STATE", "CREATED", "ID"], rows, ctx)
}
