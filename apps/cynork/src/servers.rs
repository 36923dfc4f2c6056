//! `servers`: MCP servers that you install.

mod probe;

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use cynode_domain::policy::ToolScope;
use cynode_runtime::env;
use cynode_wire::servers::{InstallServer, ServerView, Transport, TransportView, UpdateServer};
use serde_json::json;

use crate::app::App;
use crate::cli::Format;
use crate::failure::Failure;
use crate::out::Look;
use crate::{age, table};

/// Install MCP servers; their tools are called `<server>.<tool>`.
#[derive(Debug, Subcommand)]
pub enum ServersCommand {
    /// List your servers, or everybody's for administrators.
    List,
    /// Show one server.
    Get {
        /// The server, by name or id.
        server: String,
    },
    /// Install a program that speaks MCP over its standard streams; it runs in a sandbox.
    ///
    /// Example: `cynork servers add-stdio files --env API_KEY -- npx -y some-mcp-server /srv`
    AddStdio(StdioArgs),
    /// Install a streamable HTTP endpoint.
    AddHttp(HttpArgs),
    /// Remove a server and its tools.
    #[command(visible_alias = "delete")]
    Remove {
        /// The server, by name or id.
        server: String,
    },
    /// Let a server's tools be called again.
    Enable {
        /// The server, by name or id.
        server: String,
    },
    /// Refuse every call of a server's tools.
    Disable {
        /// The server, by name or id.
        server: String,
    },
}

/// A program to install.
#[derive(Debug, Args)]
pub struct StdioArgs {
    /// The server's name: lowercase letters, digits and dashes.
    slug: String,
    /// A variable that the program sees: NAME=VALUE, or NAME to take the value from your own
    /// environment. It sees no others.
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// Let the program use the network.
    #[arg(long)]
    allow_network: bool,
    /// Where its tools may be called from: sandbox, pm or both.
    #[arg(long, value_name = "SCOPE")]
    scope: Option<ToolScope>,
    /// The program and its arguments, after `--`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// An endpoint to install.
#[derive(Debug, Args)]
pub struct HttpArgs {
    /// The server's name: lowercase letters, digits and dashes.
    slug: String,
    /// The endpoint.
    url: String,
    /// A header sent with every request: NAME=VALUE, or NAME to take the value from the variable
    /// of that name in your own environment.
    #[arg(long, value_name = "NAME[=VALUE]")]
    header: Vec<String>,
    /// Where its tools may be called from: sandbox, pm or both.
    #[arg(long, value_name = "SCOPE")]
    scope: Option<ToolScope>,
}

/// Does what the command says.
pub(crate) async fn run(command: ServersCommand, app: &mut App) -> Result<(), Failure> {
    let view = match command {
        ServersCommand::List => {
            let servers = app.session.call(async |client| client.server_list().await).await?;
            return app.out.list(servers, render_all);
        }
        ServersCommand::Remove { server } => return remove(&server, app).await,
        ServersCommand::Get { server } => {
            app.session.call(async |client| client.server_get(&server).await).await?
        }
        ServersCommand::AddStdio(args) => return install(app, stdio(args)?).await,
        ServersCommand::AddHttp(args) => return install(app, http(args)?).await,
        ServersCommand::Enable { server } => set(app, &server, true).await?,
        ServersCommand::Disable { server } => set(app, &server, false).await?,
    };
    app.out.show(&view, render)
}

/// Installs a server, and shows the tools that it offers.
async fn install(app: &mut App, body: InstallServer) -> Result<(), Failure> {
    let server = app.session.call(async |client| client.server_install(&body).await).await?;
    let probed = probe::probe(server, app).await?;
    app.out.show(&probed, probe::render)?;
    if let Some(advice) = probe::advice(&probed) {
        app.out.say(&advice);
    }
    Ok(())
}

async fn set(app: &mut App, server: &str, enabled: bool) -> Result<ServerView, Failure> {
    let body = UpdateServer { transport: None, enabled: Some(enabled) };
    app.session.call(async |client| client.server_update(server, &body).await).await
}

async fn remove(server: &str, app: &mut App) -> Result<(), Failure> {
    app.session.call(async |client| client.server_remove(server).await).await?;
    if app.out.format == Format::Json {
        app.out.json(&json!({"server": server, "removed": true}))?;
    }
    app.out.say(&format!("server {server} and its tools are removed"));
    Ok(())
}

fn stdio(args: StdioArgs) -> Result<InstallServer, Failure> {
    let mut words = args.command.into_iter();
    let command = words.next().unwrap_or_default();
    let transport = Transport::Stdio {
        command,
        args: words.collect(),
        env: values(&args.env, &env::var)?,
        allow_network: args.allow_network,
    };
    Ok(InstallServer { slug: args.slug, transport, scope: args.scope })
}

fn http(args: HttpArgs) -> Result<InstallServer, Failure> {
    let transport = Transport::Http { url: args.url, headers: values(&args.header, &env::var)? };
    Ok(InstallServer { slug: args.slug, transport, scope: args.scope })
}

/// `NAME=VALUE` as given; the value of a bare `NAME` comes from the environment.
fn values(
    given: &[String],
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<BTreeMap<String, String>, Failure> {
    let value_of = |given: &String| match given.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => lookup(given).map(|value| (given.clone(), value)).ok_or_else(|| {
            Failure::Usage(format!("{given} has no value: it is not in your environment"))
        }),
    };
    given.iter().map(value_of).collect()
}

fn render_all(servers: &[ServerView], look: Look) -> String {
    let rows = servers.iter().map(|server| {
        vec![
            server.slug.clone(),
            if server.enabled { "enabled" } else { "disabled" }.to_owned(),
            server.scope.to_string(),
            table::short(&place(&server.transport), 50),
            table::short(server.last_error.as_deref().unwrap_or("-"), 40),
        ]
    });
    table::rows(&["SERVER", "STATE", "SCOPE", "WHERE", "LAST ERROR"], rows, look)
}

fn place(transport: &TransportView) -> String {
    match transport {
        TransportView::Stdio { command, args, .. } => {
            let words: Vec<&str> =
                std::iter::once(command).chain(args).map(String::as_str).collect();
            words.join(" ")
        }
        TransportView::Http { url, .. } => url.clone(),
    }
}

fn render(server: &ServerView, look: Look) -> String {
    let (names, network) = match &server.transport {
        TransportView::Stdio { env_names, allow_network, .. } => {
            (env_names.join(", "), if *allow_network { "allowed" } else { "none" })
        }
        TransportView::Http { header_names, .. } => (header_names.join(", "), "allowed"),
    };
    let pairs = [
        ("server", Some(server.slug.clone())),
        ("state", Some(if server.enabled { "enabled" } else { "disabled" }.to_owned())),
        ("scope", Some(server.scope.to_string())),
        ("where", Some(place(&server.transport))),
        ("values", Some(names)),
        ("network", Some(network.to_owned())),
        ("last error", server.last_error.clone()),
        ("installed", Some(age::ago(look.now, server.created_at))),
        ("id", Some(server.id.to_string())),
    ];
    table::pairs(&pairs, look)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_takes_its_value_from_the_environment() {
        let lookup = |name: &str| (name == "KEY").then(|| "sesame".to_owned());

        let found = values(&["KEY".to_owned(), "A=b=c".to_owned()], &lookup).unwrap();

        assert_eq!(found["KEY"], "sesame");
        assert_eq!(found["A"], "b=c");
        assert_eq!(values(&["GONE".to_owned()], &lookup).unwrap_err().code(), 2);
    }
}
