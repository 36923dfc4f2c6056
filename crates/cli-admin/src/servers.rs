//! `servers`: installed MCP servers.

mod probe;

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use cynode_domain::policy::ToolScope;
use cynode_runtime::env;
use cynode_wire::servers::{InstallServer, ServerView, Transport, TransportView, UpdateServer};
use serde_json::json;

use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;
use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

/// Install MCP servers; their tools are named `<server>.<tool>`.
#[derive(Debug, Subcommand)]
pub enum ServersCommand {
    /// List your servers; administrators see all servers.
    List,
    /// Show one server.
    Get {
        /// The server, by name or id.
        server: String,
    },
    /// Install a program that speaks MCP on its standard streams; it runs in a sandbox.
    ///
    /// Example: `cynork servers add-stdio files --env API_KEY -- npx -y some-mcp-server /srv`
    AddStdio(AddStdioArgs),
    /// Install a streamable HTTP endpoint.
    AddHttp(AddHttpArgs),
    /// Rename a server; its tools and the rules about it are renamed too.
    Rename {
        /// The server, by name or id.
        server: String,
        /// The new name: lowercase letters, digits and dashes.
        name: String,
    },
    /// Remove a server and its tools.
    #[command(visible_alias = "delete")]
    Remove {
        /// The server, by name or id.
        server: String,
    },
    /// Enable a server, so that its tools can be called.
    Enable {
        /// The server, by name or id.
        server: String,
    },
    /// Disable a server; calls of its tools are rejected.
    Disable {
        /// The server, by name or id.
        server: String,
    },
}

/// Arguments of `servers add-stdio`.
#[derive(Debug, Args)]
pub struct AddStdioArgs {
    /// The server name: lowercase letters, digits and dashes.
    slug: String,
    /// An environment variable for the program: NAME=VALUE, or NAME to copy it from your environment; repeatable.
    /// The program gets no other variables.
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// A host that the program may connect to: HOST, *.HOST or HOST:PORT, port 443 by default; repeatable. It connects
    /// through a proxy, which `HTTPS_PROXY` and `HTTP_PROXY` name.
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// Allow the program to connect to every public host, at ports 80 and 443; for administrators.
    #[arg(long)]
    allow_network: bool,
    /// Who may call its tools: sandbox, pm or both.
    #[arg(long, value_name = "SCOPE")]
    scope: Option<ToolScope>,
    /// Install it for all users. Administrators only.
    #[arg(long)]
    system: bool,
    /// The program and its arguments, after `--`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Arguments of `servers add-http`.
#[derive(Debug, Args)]
pub struct AddHttpArgs {
    /// The server name: lowercase letters, digits and dashes.
    slug: String,
    /// The endpoint URL.
    url: String,
    /// A header for every request: NAME=VALUE, or NAME to take the value from the environment variable of that
    /// name; repeatable.
    #[arg(long, value_name = "NAME[=VALUE]")]
    header: Vec<String>,
    /// Who may call its tools: sandbox, pm or both.
    #[arg(long, value_name = "SCOPE")]
    scope: Option<ToolScope>,
    /// Install it for all users. Administrators only.
    #[arg(long)]
    system: bool,
}

pub async fn run(command: ServersCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    let view = match command {
        ServersCommand::List => {
            let servers = app.session.call(async |client| client.server_list().await).await?;
            let hint = hidden_hint(&servers);
            app.out.list(servers, render_all)?;
            if let Some(hint) = hint {
                app.out.print_message(&hint);
            }
            return Ok(());
        }
        ServersCommand::Remove { server } => return remove(&server, app).await,
        ServersCommand::Get { server } => {
            app.session.call(async |client| client.server_get(&server).await).await?
        }
        ServersCommand::AddStdio(args) => return install(app, stdio_request(args)?).await,
        ServersCommand::AddHttp(args) => return install(app, http_request(args)?).await,
        ServersCommand::Rename { server, name } => {
            let body = UpdateServer { slug: Some(name), ..UpdateServer::default() };
            app.session.call(async |client| client.server_update(&server, &body).await).await?
        }
        ServersCommand::Enable { server } => set_enabled(app, &server, true).await?,
        ServersCommand::Disable { server } => set_enabled(app, &server, false).await?,
    };
    app.out.show(&view, render)
}

/// Installs a server and prints its tools.
async fn install(app: &mut CliContext, body: InstallServer) -> Result<(), CliFailure> {
    let server = app.session.call(async |client| client.server_install(&body).await).await?;
    let probed = probe::wait_for_tools(server, app).await?;
    app.out.show(&probed, probe::render)?;
    if let Some(advice) = probe::advice(&probed) {
        app.out.print_message(&advice);
    }
    Ok(())
}

async fn set_enabled(
    app: &mut CliContext,
    server: &str,
    enabled: bool,
) -> Result<ServerView, CliFailure> {
    let body = UpdateServer { enabled: Some(enabled), ..UpdateServer::default() };
    app.session.call(async |client| client.server_update(server, &body).await).await
}

async fn remove(server: &str, app: &mut CliContext) -> Result<(), CliFailure> {
    app.session.call(async |client| client.server_remove(server).await).await?;
    if app.out.format == Format::Json {
        app.out.print_json(&json!({"server": server, "removed": true}))?;
    }
    app.out.print_message(&format!("server {server} and its tools removed"));
    Ok(())
}

fn stdio_request(args: AddStdioArgs) -> Result<InstallServer, CliFailure> {
    let mut words = args.command.into_iter();
    let command = words.next().unwrap_or_default();
    let transport = Transport::Stdio {
        command,
        args: words.collect(),
        env: parse_values(&args.env, &env::var)?,
        allow_network: args.allow_network,
        allowed_hosts: args.allow_host,
    };
    Ok(InstallServer { slug: args.slug, system: args.system, transport, scope: args.scope })
}

fn http_request(args: AddHttpArgs) -> Result<InstallServer, CliFailure> {
    let transport =
        Transport::Http { url: args.url, headers: parse_values(&args.header, &env::var)? };
    Ok(InstallServer { slug: args.slug, system: args.system, transport, scope: args.scope })
}

/// Parses `NAME=VALUE`; the value of a bare `NAME` comes from the environment.
fn parse_values(
    given: &[String],
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<BTreeMap<String, String>, CliFailure> {
    let value_of = |given: &String| match given.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => lookup(given).map(|value| (given.clone(), value)).ok_or_else(|| {
            CliFailure::Usage(format!("{given} has no value and is not set in your environment"))
        }),
    };
    given.iter().map(value_of).collect()
}

/// Advice about servers that calls by name do not reach.
fn hidden_hint(servers: &[ServerView]) -> Option<String> {
    let hidden = servers.iter().find(|server| server.hidden_by_system)?;
    let ServerView { slug, id, .. } = hidden;
    Some(format!(
        "a server for all users is called {slug} too, so that calls of {slug}.… do not reach that of \
         {}: rename it with `cynork servers rename {id} NEW-NAME`",
        hidden.owner_handle
    ))
}

fn render_all(servers: &[ServerView], ctx: RenderContext) -> String {
    let rows = servers.iter().map(|server| {
        vec![
            server.slug.clone(),
            format_owner(server),
            format_state(server).to_owned(),
            server.scope.to_string(),
            table::truncate(&format_transport(&server.transport), 50),
            table::truncate(server.last_error.as_deref().unwrap_or("-"), 40),
        ]
    });
    table::render_table(&["SERVER", "OWNER", "STATE", "SCOPE", "WHERE", "LAST ERROR"], rows, ctx)
}

fn format_owner(server: &ServerView) -> String {
    if server.system { "all users".to_owned() } else { server.owner_handle.clone() }
}

fn format_state(server: &ServerView) -> &'static str {
    match (server.enabled, server.hidden_by_system) {
        (false, _) => "disabled",
        (true, true) => "hidden",
        (true, false) => "enabled",
    }
}

fn format_transport(transport: &TransportView) -> String {
    match transport {
        TransportView::Stdio { command, args, .. } => {
            let words: Vec<&str> =
                std::iter::once(command).chain(args).map(String::as_str).collect();
            words.join(" ")
        }
        TransportView::Http { url, .. } => url.clone(),
    }
}

fn render(server: &ServerView, ctx: RenderContext) -> String {
    let (names, network) = match &server.transport {
        TransportView::Stdio { env_names, allow_network, allowed_hosts, .. } => {
            let mut hosts = allowed_hosts.clone();
            hosts.extend(allow_network.then(|| "every public host".to_owned()));
            let network = if hosts.is_empty() { "none".to_owned() } else { hosts.join(", ") };
            (env_names.join(", "), Some(network))
        }
        TransportView::Http { header_names, .. } => (header_names.join(", "), None),
    };
    let pairs = [
        ("server", Some(server.slug.clone())),
        ("owner", Some(format_owner(server))),
        ("state", Some(format_state(server).to_owned())),
        ("scope", Some(server.scope.to_string())),
        ("where", Some(format_transport(&server.transport))),
        ("values", Some(names)),
        ("network", network),
        ("last error", server.last_error.clone()),
        ("installed", Some(relative_time::format_relative(ctx.now, server.created_at))),
        ("id", Some(server.id.to_string())),
    ];
    table::render_pairs(&pairs, ctx)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_takes_its_value_from_the_environment() {
        let lookup = |name: &str| (name == "KEY").then(|| "sesame".to_owned());

        let found = parse_values(&["KEY".to_owned(), "A=b=c".to_owned()], &lookup).unwrap();

        assert_eq!(found["KEY"], "sesame");
        assert_eq!(found["A"], "b=c");
        assert_eq!(parse_values(&["GONE".to_owned()], &lookup).unwrap_err().code(), 2);
    }
}
