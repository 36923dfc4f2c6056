//! Servers that others wrote, behind the gateway.
//!
//! Each is installed with `cynork`, allowed by a rule, called with official clients, and every call
//! is looked up in the audit. Servers of a process run in the gateway's sandbox.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::clients::Client;
use super::gateway::Gateway;
use super::http::Endpoint;
use super::packages::{Generation, Packages};
use super::process::Program;

/// How long a server may take until its tools are known.
const START_UP: Duration = Duration::from_mins(3);
/// What the server of spreadsheets wants to hear before it answers.
const SECRET: &str = "not-a-secret-anywhere-else";

/// A server, and what is asked of it.
#[derive(Debug)]
pub(super) struct Foreign {
    /// The name it is installed under.
    pub(super) slug: &'static str,
    /// The arguments of `cynork servers` that install it, after the name.
    install: Vec<String>,
    is_process: bool,
    /// The calls, without the server's name before that of the tool.
    calls: Value,
    // Ends a server over HTTP when it is no longer needed.
    _program: Option<Program>,
}

/// Every server over every way to it. Those over HTTP are started.
pub(super) fn all(packages: &Packages) -> Result<Vec<Foreign>> {
    Ok(vec![
        everything_process(packages),
        everything_http(packages)?,
        time(packages),
        excel_process(packages),
        excel_http(packages)?,
    ])
}

impl Foreign {
    /// Installs the server, calls its tools with `client`, and finds the calls in the audit; says
    /// what the client printed.
    pub(super) fn judge(
        &self,
        packages: &Packages,
        gateway: &Gateway,
        client: Client,
    ) -> Result<String> {
        let slug = self.slug;
        self.install(gateway)?;
        let (before, expected) = (self.recorded(gateway)?, self.names().count());
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
        let url = gateway.of_everything().url();
        let said = client.run(packages, &url, Some(gateway.token()), &calls.into())?;
        let said = said.map_err(anyhow::Error::msg)?;
        let recorded = self.recorded(gateway)?.saturating_sub(before);
        ensure!(recorded == expected, "{expected} calls are {recorded} rows of the audit");
        Ok(said)
    }

    /// Installs the server, unless that was done, and waits until its tools are known.
    fn install(&self, gateway: &Gateway) -> Result<()> {
        let listed = gateway.cynork(&["servers", "list"])?;
        let is_installed = |slug: &str| {
            listed["items"]
                .as_array()
                .is_some_and(|all| all.iter().any(|server| server["slug"] == slug))
        };
        if !is_installed(self.slug) {
            let way = if self.is_process { "add-stdio" } else { "add-http" };
            let mut args = vec!["servers", way, self.slug];
            args.extend(self.install.iter().map(String::as_str));
            gateway.cynork(&args)?;
            let tools = format!("{}.*", self.slug);
            gateway.cynork(&["rules", "add", "allow", &tools, "--for", "agent:pm"])?;
        }
        let start = Instant::now();
        let mut fault = Value::Null;
        while start.elapsed() < START_UP {
            let tools = gateway.cynork(&["tools", "list"])?;
            let is_known = |name: String| {
                tools["items"]
                    .as_array()
                    .is_some_and(|all| all.iter().any(|tool| tool["name"] == name))
            };
            if self.names().all(|name| is_known(format!("{}.{name}", self.slug))) {
                return Ok(());
            }
            fault = gateway.cynork(&["servers", "get", self.slug])?["last_error"].clone();
            std::thread::sleep(Duration::from_millis(200));
        }
        bail!("its tools do not appear; its last error: {fault}")
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.calls.as_array().into_iter().flatten().filter_map(|call| call["tool"].as_str())
    }

    /// How many allowed calls of its tools that succeeded are on record.
    fn recorded(&self, gateway: &Gateway) -> Result<usize> {
        let mut recorded = 0;
        for name in self.names() {
            let tool = format!("{}.{name}", self.slug);
            let page = gateway.cynork(&["audit", "list", "--tool", &tool, "--limit", "200"])?;
            let rows = page["items"].as_array().context("the audit has no rows")?;
            recorded += rows
                .iter()
                .filter(|row| row["decision"] == "allow" && row["status"] == "success")
                .count();
        }
        Ok(recorded)
    }
}

fn process(slug: &'static str, command: Vec<String>, calls: Value) -> Foreign {
    let install = std::iter::once("--".to_owned()).chain(command).collect();
    Foreign { slug, install, is_process: true, calls, _program: None }
}

fn http(
    slug: &'static str,
    command: &mut Command,
    (endpoint, more): (&Endpoint, &[&str]),
    calls: Value,
) -> Result<Foreign> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let program = Program::start(command)?;
    endpoint.wait().with_context(|| format!("{slug} does not start"))?;
    let mut install = vec![endpoint.url()];
    install.extend(more.iter().map(|word| (*word).to_owned()));
    Ok(Foreign { slug, install, is_process: false, calls, _program: Some(program) })
}

/// The reference server of the protocol's makers, from npm.
fn everything_command(packages: &Packages, way: &str) -> Vec<String> {
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

fn everything_process(packages: &Packages) -> Foreign {
    process("everything", everything_command(packages, "stdio"), everything_calls())
}

fn everything_http(packages: &Packages) -> Result<Foreign> {
    let endpoint = Endpoint::free("/mcp")?;
    let words = everything_command(packages, "streamableHttp");
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env("PORT", endpoint.address.port().to_string());
    http("everything-http", &mut command, (&endpoint, &[]), everything_calls())
}

/// The reference server that knows the time, from `PyPI`.
fn time(packages: &Packages) -> Foreign {
    let python = packages.python(Generation::V2).to_string_lossy().into_owned();
    let words = ["-m", "mcp_server_time", "--local-timezone", "UTC"].map(str::to_owned);
    let arguments =
        json!({ "source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo" });
    let calls = json!([{ "tool": "convert_time", "arguments": arguments, "text": "21:00" }]);
    process("time", std::iter::once(python).chain(words).collect(), calls)
}

/// A server of spreadsheets, from `PyPI`.
fn excel_command(packages: &Packages, words: &[&str]) -> Vec<String> {
    let python = packages.python(Generation::V2).to_string_lossy().into_owned();
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

fn excel_process(packages: &Packages) -> Foreign {
    let words = excel_command(packages, &["stdio", "--allow-dir", "/workspace"]);
    process("excel", words, excel_calls())
}

fn excel_http(packages: &Packages) -> Result<Foreign> {
    let endpoint = Endpoint::free("/mcp")?;
    let directory = crate::tool::target_dir().join("conformance/spreadsheets");
    let (directory, port) = (directory.to_string_lossy(), endpoint.address.port().to_string());
    let words =
        excel_command(packages, &["streamable-http", "--port", &port, "--allow-dir", &directory]);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env("EXCEL_MCP_AUTH_TOKEN", SECRET);
    let header = format!("Authorization=Bearer {SECRET}");
    http("excel-http", &mut command, (&endpoint, &["--header", &header]), excel_calls())
}
