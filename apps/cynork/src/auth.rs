//! `auth`: sign in, sign out, who am I.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};

use clap::{Args, Subcommand};
use cynode_wire::auth::{Login, RefreshToken, UserView};

use crate::app::App;
use crate::failure::Failure;
use crate::out::Look;
use crate::session::stored_session;
use crate::settings::GatewayOrigin;
use crate::{age, table};

/// No password is longer; more is not a password.
const MAX_PASSWORD_BYTES: u64 = 4096;

/// Sign in and out.
#[derive(Debug, Subcommand)]
pub enum AuthCommand {
    /// Sign in with handle and password, and remember the session; with --gateway-url, the gateway too.
    ///
    /// Example: cynork auth login -u admin --password-stdin < admin.password
    Login(LoginArgs),
    /// End the remembered session, here and on the gateway.
    Logout,
    /// Show who you are to the gateway.
    Whoami,
    /// Renew the remembered session now.
    Refresh,
}

/// How to sign in.
#[derive(Debug, Args)]
pub struct LoginArgs {
    /// Your handle; asked for when absent.
    #[arg(short, long, value_name = "HANDLE")]
    user: Option<String>,
    /// Read the password from standard input.
    #[arg(long)]
    password_stdin: bool,
}

/// Does what the command says.
pub(crate) async fn run(command: AuthCommand, app: &mut App) -> Result<(), Failure> {
    match command {
        AuthCommand::Login(args) => login(args, app).await,
        AuthCommand::Logout => logout(app).await,
        AuthCommand::Whoami => whoami(app).await,
        AuthCommand::Refresh => refresh(app).await,
    }
}

async fn login(args: LoginArgs, app: &mut App) -> Result<(), Failure> {
    let handle = match args.user {
        Some(handle) => handle,
        None => ask_handle(app)?,
    };
    let password = if args.password_stdin { read_password()? } else { ask_password(app)? };
    let body = Login { handle: handle.clone(), password };
    let view = app.session.call_anyway(async |client| client.login(&body).await).await?;
    let mut session = stored_session(view, app.session.gateway_url(), &handle);
    // Signing in again to the remembered gateway keeps it remembered.
    session.is_default_gateway =
        matches!(app.session.origin(), GatewayOrigin::Flag | GatewayOrigin::SignIn);
    let remembered = if session.is_default_gateway {
        "; commands go there from now on, until `cynork auth logout`"
    } else {
        ""
    };
    app.session.config().change(|stored| stored.session = Some(session))?;
    app.out.say(&format!("signed in to {} as {handle}{remembered}", app.session.gateway_url()));
    Ok(())
}

/// The local half happens whatever the gateway says: a person who signs out is signed out.
async fn logout(app: &mut App) -> Result<(), Failure> {
    let Some(session) = app.session.stored().cloned() else {
        app.out.say("no session is remembered for this gateway");
        return Ok(());
    };
    app.session.config().change(|stored| stored.session = None)?;
    let body = RefreshToken { refresh_token: session.refresh_token };
    match app.session.call_anyway(async |client| client.logout(&body).await).await {
        Ok(()) => app.out.say(&format!("signed out of {}", app.session.gateway_url())),
        Err(failure) => app.out.say(&format!(
            "the session is forgotten here, but the gateway was not told: {failure}"
        )),
    }
    Ok(())
}

async fn whoami(app: &mut App) -> Result<(), Failure> {
    let user = app.session.call(async |client| client.whoami().await).await?;
    app.out.show(&user, render)
}

async fn refresh(app: &mut App) -> Result<(), Failure> {
    if app.session.stored().is_none() {
        let url = app.session.gateway_url().to_owned();
        return Err(Failure::SignedOut { url });
    }
    app.session.renew().await?;
    app.out.say("the session is renewed");
    Ok(())
}

fn ask_handle(app: &App) -> Result<String, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::Usage("name yourself with -u HANDLE".to_owned()));
    }
    app.out.tell("handle: ");
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim().to_owned())
}

fn ask_password(app: &App) -> Result<String, Failure> {
    if !io::stdin().is_terminal() {
        let example = "give the password with --password-stdin, for example \
                       `cynork auth login -u admin --password-stdin < admin.password`";
        return Err(Failure::Usage(example.to_owned()));
    }
    if let Some(up) = &app.local {
        let file = up.admin_token_file.with_file_name("admin.password");
        app.out.say(&format!("(the admin's first password is in {})", file.display()));
    }
    Ok(rpassword::prompt_password("password: ")?)
}

/// The password of somebody new, typed twice without being shown.
pub(crate) fn new_password() -> Result<String, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::Usage("give the password with --password-stdin".to_owned()));
    }
    let password = rpassword::prompt_password("password: ")?;
    if rpassword::prompt_password("once more: ")? == password {
        return Ok(password);
    }
    Err(Failure::Usage("the two passwords differ".to_owned()))
}

/// The password on standard input.
pub(crate) fn read_password() -> Result<String, Failure> {
    let mut text = String::new();
    io::stdin().lock().take(MAX_PASSWORD_BYTES).read_to_string(&mut text)?;
    let password = text.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        return Err(Failure::Usage("standard input holds no password".to_owned()));
    }
    Ok(password.to_owned())
}

pub(crate) fn render(user: &UserView, look: Look) -> String {
    let role = if user.is_admin { "admin" } else { "user" };
    let pairs = [
        ("handle", Some(user.handle.clone())),
        ("role", Some(role.to_owned())),
        ("id", Some(user.id.to_string())),
        ("since", Some(age::ago(look.now, user.created_at))),
    ];
    table::pairs(&pairs, look)
}
