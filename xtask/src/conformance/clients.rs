//! The official SDK clients: each lists the tools of a server and calls some.

use std::fmt;
use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::packages::{Generation, Packages};

const PYTHON_V1: &str = include_str!("clients/python_v1.py");
const PYTHON_V2: &str = include_str!("clients/python_v2.py");
const TYPESCRIPT_V1: &str = include_str!("clients/typescript_v1.mjs");
const TYPESCRIPT_V2: &str = include_str!("clients/typescript_v2.mjs");

/// How a script learns the token: not by an argument, which every user of the machine could read.
const TOKEN: &str = "MCP_TOKEN";

/// How a client of the second version begins.
const LEGACY: &str = "legacy";
const STATELESS: &str = "2026-07-28";

/// The language of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    TypeScript,
}

/// An official client, and how it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Client {
    language: Language,
    generation: Generation,
    begin: &'static str,
}

impl Client {
    /// Every client in every era it knows.
    pub(super) const ALL: [Self; 6] = [
        Self::of(Language::Python, Generation::V1, LEGACY),
        Self::of(Language::Python, Generation::V2, LEGACY),
        Self::PYTHON,
        Self::TYPESCRIPT,
        Self::of(Language::TypeScript, Generation::V2, LEGACY),
        Self::of(Language::TypeScript, Generation::V2, STATELESS),
    ];
    /// The newest Python client, without sessions.
    pub(super) const PYTHON: Self = Self::of(Language::Python, Generation::V2, STATELESS);
    /// The TypeScript client that most programs still use, with sessions.
    pub(super) const TYPESCRIPT: Self = Self::of(Language::TypeScript, Generation::V1, LEGACY);

    const fn of(language: Language, generation: Generation, begin: &'static str) -> Self {
        Self { language, generation, begin }
    }

    /// Lists the tools at `url` and makes `calls`; what the client printed, or what it complained of.
    pub(super) fn run(
        self,
        packages: &Packages,
        url: &str,
        token: Option<&str>,
        calls: &Value,
    ) -> Result<Result<String, String>> {
        let mut command = self.command(packages)?;
        command.arg(url).arg(calls.to_string()).arg(self.begin).stdin(Stdio::null());
        if let Some(token) = token {
            command.env(TOKEN, token);
        }
        let output = command.output().context("the client does not start")?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        let is_fine = output.status.success();
        Ok(if is_fine { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) })
    }

    fn command(self, packages: &Packages) -> Result<Command> {
        let (name, script) = match (self.language, self.generation) {
            (Language::Python, Generation::V1) => ("client_v1.py", PYTHON_V1),
            (Language::Python, Generation::V2) => ("client_v2.py", PYTHON_V2),
            (Language::TypeScript, Generation::V1) => ("client_v1.mjs", TYPESCRIPT_V1),
            (Language::TypeScript, Generation::V2) => ("client_v2.mjs", TYPESCRIPT_V2),
        };
        // Node finds the SDK beside the script, wherever that is run from.
        let (directory, mut command) = match self.language {
            Language::Python => {
                let home = packages.python_home(self.generation);
                (home, Command::new(packages.python(self.generation)))
            }
            Language::TypeScript => (packages.typescript(), packages.node()),
        };
        let path = directory.join(name);
        fs::write(&path, script).context("cannot write the client's script")?;
        command.arg(path);
        Ok(command)
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = match self.generation {
            Generation::V1 => "1",
            Generation::V2 => "2",
        };
        let era = if self.begin == LEGACY { "sessions" } else { self.begin };
        write!(f, "{:?} SDK {version}, {era}", self.language)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_named_by_language_version_and_era() {
        assert_eq!(Client::PYTHON.to_string(), "Python SDK 2, 2026-07-28");
        assert_eq!(Client::TYPESCRIPT.to_string(), "TypeScript SDK 1, sessions");
    }
}
