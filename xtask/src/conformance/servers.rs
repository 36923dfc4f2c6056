//! Third-party servers, behind the gateway. Each is installed with `cynork`, allowed by a rule,
//! called with official clients, and every call is looked up in the audit log. Stdio servers run in
//! the gateway's sandbox.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::clients::SdkClient;
use super::gateway::ConformanceGateway;
use super::http::LocalEndpoint;
use super::packages::{InstalledPackages, SdkGeneration};
use super::process::ChildProgram;

/// How long a server may take until its tools are known.
const START_UP: Duration = Duration::from_mins(3);
/// Token that the spreadsheet server requires.
const SECRET: &str = "not-a-secret-anywhere-else";

/// A server, and the calls to it.
#[derive(Debug)]
pub(super) struct ThirdPartyServer {
    /// Name of the installation.
    pub(super) slug: &'static str,
    /// The arguments of `cynork servers` that install it, after the name.
    install: Vec<String>,
    is_process: bool,
    /// The calls; tool names without the server's prefix.
    calls: Value,
    // Stops a server over HTTP on drop.
    _program: Option<ChildProgram>,
}

/// Every server over every transport. Those over HTTP are started.
pub(super) fn start_all_servers(packages: &InstalledPackages) -> Result<Vec<ThirdPartyServer>> {
    Ok(vec![
        everything_process(packages),
        everything_http(packages)?,
        time_server(packages),
        excel_process(packages),
        excel_http(packages)?,
    ])
}

impl ThirdPartyServer {
    /// Installs the server, calls its tools with `client`, and finds the calls in the audit log;
    /// returns the client's output.
    pub(super) fn check_with_client(
        &self,
        packages: &InstalledPackages,
        gateway: &ConformanceGateway,
        client: SdkClient,
    ) -> Result<String> {
        let slug = self.slug;
        self.install(gateway)?;
        let (before, expected) = (self.count_recorded_calls(gateway)?, self.names().count());
        let calls: Vec<Value> = self
            .calls
            .as_array()
            .into_iter()
            .flatten()
            .map(|call| {
                let mut call = call.clone();
                call["tool"] =
                    format!("{slug}.{}", call["tool"].as_str().unwrap_or_default()).into();
                call
            })
            .collect();
        let url = gateway.all_tools_endpoint().url();
        let output = client.run(packages, &url, Some(gateway.token()), &calls.into())?;
        let output = output.map_err(anyhow::Error::msg)?;
        let recorded = self.count_recorded_calls(gateway)?.saturating_sub(before);
        ensure!(recorded == expected, "{expected} calls are {recorded} rows of the audit");
        Ok(output)
    }

    /// Installs the server once, and waits until its tools are known.
    fn install(&self, gateway: &ConformanceGateway) -> Result<()> {
        let listed = gateway.run_cynork(&["servers", "list"])?;
        let is_installed = |slug: &str| {
            listed["items"]
                .as_array()
                .is_some_and(|all| all.iter().any(|server| server["slug"] == slug))
        };
        if !is_installed(self.slug) {
            let way = if self.is_process { "add-stdio" } else { "add-http" };
            let mut args = vec!["servers", way, self.slug];
            args.extend(self.install.iter().map(String::as_str));
            gateway.run_cynork(&args)?;
            let tools = format!("{}.*", self.slug);
            gateway.run_cynork(&["rules", "add", "allow", &tools, "--for", "agent:pm"])?;
        }
        let start = Instant::now();
        let mut fault = Value::Null;
        while start.elapsed() < START_UP {
            let tools = gateway.run_cynork(&["tools", "list"])?;
            let is_known = |name: String| {
                tools["items"]
                    .as_array()
                    .is_some_and(|all| all.iter().any(|tool| tool["name"] == name))
            };
            if self.names().all(|name| is_known(format!("{}.{name}", self.slug))) {
                return Ok(());
            }
            fault = gateway.run_cynork(&["servers", "get", self.slug])?["last_error"].clone();
            std::thread::sleep(Duration::from_millis(200));
        }
        bail!("its tools do not appear; its last error: {fault}")
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.calls.as_array().into_iter().flatten().filter_map(|call| call["tool"].as_str())
    }

    /// Number of recorded calls of its tools that were allowed and succeeded.
    fn count_recorded_calls(&self, gateway: &ConformanceGateway) -> Result<usize> {
        let mut recorded = 0;
        for name in self.names() {
            let tool = format!("{}.{name}", self.slug);
            let page = gateway.run_cynork(&["audit", "list", "--tool", &tool, "--limit", "200"])?;
            let rows = page["items"].as_array().context("the audit has no rows")?;
            recorded += rows
                .iter()
                .filter(|row| row["decision"] == "allow" && row["status"] == "success")
                .count();
        }
        Ok(recorded)
    }
}

fn stdio_server(slug: &'static str, command: Vec<String>, calls: Value) -> ThirdPartyServer {
    let install = std::iter::once("--".to_owned()).chain(command).collect();
    ThirdPartyServer { slug, install, is_process: true, calls, _program: None }
}

fn http_server(
    slug: &'static str,
    command: &mut Command,
    (endpoint, more): (&LocalEndpoint, &[&str]),
    calls: Value,
) -> Result<ThirdPartyServer> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let program = ChildProgram::start(command)?;
    endpoint.wait_until_listening().with_context(|| format!("{slug} does not start"))?;
    let mut install = vec![endpoint.url()];
    install.extend(more.iter().map(|word| (*word).to_owned()));
    Ok(ThirdPartyServer { slug, install, is_process: false, calls, _program: Some(program) })
}

/// The reference server of the protocol's authors, from npm.
fn everything_command(packages: &InstalledPackages, way: &str) -> Vec<String> {
    let script = packages
        .typescript()
        .join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    [packages.node_path(), script, way.into()]
        .map(|word| word.to_string_lossy().into_owned())
        .into()
}

fn everything_calls() -> Value {
    json!([
        { "tool": "echo", "arguments": { "message": "hello" }, "text": "Echo: hello" },
        { "tool": "get-sum", "arguments": { "a": 2, "b": 40 }, "text": "42" },
    ])
}

fn everything_process(packages: &InstalledPackages) -> ThirdPartyServer {
    stdio_server("everything", everything_command(packages, "stdio"), everything_calls())
}

fn everything_http(packages: &InstalledPackages) -> Result<ThirdPartyServer> {
    let endpoint = LocalEndpoint::with_free_port("/mcp")?;
    let words = everything_command(packages, "streamableHttp");
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env("PORT", endpoint.address.port().to_string());
    http_server("everything-http", &mut command, (&endpoint, &[]), everything_calls())
}

/// The reference time server, from `PyPI`.
fn time_server(packages: &InstalledPackages) -> ThirdPartyServer {
    let python = packages.python(SdkGeneration::V2).to_string_lossy().into_owned();
    let words = ["-m", "mcp_server_time", "--local-timezone", "UTC"].map(str::to_owned);
    let arguments =
        json!({ "source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo" });
    let calls = json!([{ "tool": "convert_time", "arguments": arguments, "text": "21:00" }]);
    stdio_server("time", std::iter::once(python).chain(words).collect(), calls)
}

/// A spreadsheet server, from `PyPI`.
fn excel_command(packages: &InstalledPackages, words: &[&str]) -> Vec<String> {
    let python = packages.python(SdkGeneration::V2).to_string_lossy().into_owned();
    let words = ["-m", "excel_mcp"].into_iter().chain(words.iter().copied());
    std::iter::once(python).chain(words.map(str::to_owned)).collect()
}

fn excel_calls() -> Value {
    let at = |more: Value| {
        let mut arguments = json!({ "path": "sums.xlsx", "sheet": "Sheet1" });
        if let (Some(arguments), Value::Object(more)) = (arguments.as_object_mut(), more) {
            arguments.extend(more);
        }
        arguments
    };
    json!([
        { "tool": "create_workbook", "arguments": { "path": "sums.xlsx", "overwrite": true } },
        { "tool": "write_range", "arguments": at(json!({ "at": "A1", "rows": [[2, 40, "=A1+B1"]] })) },
        { "tool": "read_range", "arguments": at(json!({ "range": "C1:C1" })), "text": "42" },
    ])
}

fn excel_process(packages: &InstalledPackages) -> ThirdPartyServer {
    let words = excel_command(packages, &["stdio", "--allow-dir", "/workspace"]);
    stdio_server("excel", words, excel_calls())
}

fn excel_http(packages: &InstalledPackages) -> Result<ThirdPartyServer> {
    let endpoint = LocalEndpoint::with_free_port("/mcp")?;
    let directory = crate::tool::target_dir().join("conformance/spreadsheets");
    let (directory, port) = (directory.to_string_lossy(), endpoint.address.port().to_string());
    let words =
        excel_command(packages, &["streamable-http", "--port", &port, "--allow-dir", &directory]);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env("EXCEL_MCP_AUTH_TOKEN", SECRET);
    let header = format!("Authorization=Bearer {SECRET}");
    http_server("excel-http", &mut command, (&endpoint, &["--header", &header]), excel_calls())
}
