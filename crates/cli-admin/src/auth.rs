//! `auth`: sign in, sign out, whoami, own password.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};

use clap::{Args, Subcommand};
use cynode_wire::auth::{ChangePassword, Login, RefreshToken, UserView};

use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::out::RenderContext;
use cynode_cli::resolved_settings::GatewayOrigin;
use cynode_cli::session::stored_session;
use cynode_cli::{relative_time, table};

/// Longer input is not a password.
const MAX_PASSWORD_BYTES: u64 = 4096;

/// Sign in and out.
#[derive(Debug, Subcommand)]
pub enum AuthCommand {
    /// Sign in with handle and password, and store the session; with --gateway-url, the gateway address too.
    ///
    /// Example: cynork auth login -u admin --password-stdin < admin.password
    Login(LoginArgs),
    /// Sign out: delete the stored session here and revoke it on the gateway.
    Logout,
    /// Show the user you are signed in as.
    Whoami,
    /// Renew the stored session now.
    Refresh,
    /// Change your password and end your other sessions. Standard input: the current password on the first
    /// line, the new one on the second.
    ///
    /// Example: cat current.password new.password | cynork auth change-password --password-stdin
    ChangePassword {
        /// Read both passwords from standard input.
        #[arg(long)]
        password_stdin: bool,
    },
}

/// Arguments of `auth login`.
#[derive(Debug, Args)]
pub struct LoginArgs {
    /// Your handle [default: prompt for it].
    #[arg(short, long, value_name = "HANDLE")]
    user: Option<String>,
    /// Read the password from standard input.
    #[arg(long)]
    password_stdin: bool,
}

pub async fn run(command: AuthCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        AuthCommand::Login(args) => login(args, app).await,
        AuthCommand::Logout => logout(app).await,
        AuthCommand::Whoami => whoami(app).await,
        AuthCommand::Refresh => refresh(app).await,
        AuthCommand::ChangePassword { password_stdin } => {
            change_password(password_stdin, app).await
        }
    }
}

async fn login(args: LoginArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let handle = match args.user {
        Some(handle) => handle,
        None => prompt_handle(app)?,
    };
    let password = if args.password_stdin { read_password_stdin()? } else { prompt_password(app)? };
    let body = Login { handle: handle.clone(), password };
    let view = app.session.call_anonymous(async |client| client.login(&body).await).await?;
    let mut session = stored_session(view, app.session.gateway_url(), &handle);
    // Signing in again to the remembered gateway keeps it remembered.
    session.is_default_gateway =
        matches!(app.session.origin(), GatewayOrigin::Flag | GatewayOrigin::SignIn);
    let remembered = if session.is_default_gateway {
        "; commands use this gateway until `cynork auth logout`"
    } else {
        ""
    };
    app.session.config().update(|stored| stored.session = Some(session))?;
    app.out.print_message(&format!(
        "signed in to {} as {handle}{remembered}",
        app.session.gateway_url()
    ));
    Ok(())
}

/// Deletes the stored session even if the gateway does not answer.
async fn logout(app: &mut CliContext) -> Result<(), CliFailure> {
    let Some(session) = app.session.stored().cloned() else {
        app.out.print_message("not signed in to this gateway");
        return Ok(());
    };
    app.session.config().update(|stored| stored.session = None)?;
    let body = RefreshToken { refresh_token: session.refresh_token };
    match app.session.call_anonymous(async |client| client.logout(&body).await).await {
        Ok(()) => app.out.print_message(&format!("signed out of {}", app.session.gateway_url())),
        Err(failure) => app.out.print_message(&format!(
            "the stored session was deleted, but the gateway did not revoke it: {failure}"
        )),
    }
    Ok(())
}

async fn whoami(app: &mut CliContext) -> Result<(), CliFailure> {
    let user = app.session.call(async |client| client.whoami().await).await?;
    app.out.show(&user, render)
}

async fn refresh(app: &mut CliContext) -> Result<(), CliFailure> {
    if app.session.stored().is_none() {
        let url = app.session.gateway_url().to_owned();
        return Err(CliFailure::SignedOut { url });
    }
    app.session.renew().await?;
    app.out.print_message("session renewed");
    Ok(())
}

async fn change_password(from_stdin: bool, app: &mut CliContext) -> Result<(), CliFailure> {
    let (current_password, new_password) = if from_stdin {
        let text = read_password_stdin()?;
        let (current, new) = text.split_once('\n').ok_or_else(|| {
            CliFailure::Usage("give the current and the new password on two lines".to_owned())
        })?;
        (current.trim_end_matches('\r').to_owned(), new.to_owned())
    } else {
        if !io::stdin().is_terminal() {
            let usage = "give both passwords with --password-stdin";
            return Err(CliFailure::Usage(usage.to_owned()));
        }
        (rpassword::prompt_password("current password: ")?, prompt_new_password()?)
    };
    let body = ChangePassword { current_password, new_password };
    app.session.call(async |client| client.password_change(&body).await).await?;
    app.out.print_message("password changed; your other sessions are ended");
    Ok(())
}

fn prompt_handle(app: &CliContext) -> Result<String, CliFailure> {
    if !io::stdin().is_terminal() {
        return Err(CliFailure::Usage("give your handle with -u HANDLE".to_owned()));
    }
    app.out.write_stderr("handle: ");
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim().to_owned())
}

fn prompt_password(app: &CliContext) -> Result<String, CliFailure> {
    if !io::stdin().is_terminal() {
        let example = "give the password with --password-stdin, for example \
                       `cynork auth login -u admin --password-stdin < admin.password`";
        return Err(CliFailure::Usage(example.to_owned()));
    }
    if let Some(up) = &app.local {
        let file = up.admin_token_file.with_file_name("admin.password");
        app.out.print_message(&format!("(the admin's first password is in {})", file.display()));
    }
    Ok(rpassword::prompt_password("password: ")?)
}

/// Prompts twice for a new password, without echo.
pub fn prompt_new_password() -> Result<String, CliFailure> {
    if !io::stdin().is_terminal() {
        return Err(CliFailure::Usage("give the password with --password-stdin".to_owned()));
    }
    let password = rpassword::prompt_password("password: ")?;
    if rpassword::prompt_password("repeat password: ")? == password {
        return Ok(password);
    }
    Err(CliFailure::Usage("the passwords differ".to_owned()))
}

/// Reads a password from standard input.
pub fn read_password_stdin() -> Result<String, CliFailure> {
    let mut text = String::new();
    io::stdin().lock().take(MAX_PASSWORD_BYTES).read_to_string(&mut text)?;
    let password = text.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        return Err(CliFailure::Usage(
            "standard input is empty; pass the password on it".to_owned(),
        ));
    }
    Ok(password.to_owned())
}

pub fn render(user: &UserView, ctx: RenderContext) -> String {
    let role = if user.is_admin { "admin" } else { "user" };
    let pairs = [
        ("handle", Some(user.handle.clone())),
        ("role", Some(role.to_owned())),
        ("state", (!user.is_active).then(|| "disabled".to_owned())),
        ("id", Some(user.id.to_string())),
        ("since", Some(relative_time::format_relative(ctx.now, user.created_at))),
    ];
    table::render_pairs(&pairs, ctx)
}
