//! The official SDK clients: each lists the tools of a server and calls some.

use std::fmt;
use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::packages::{InstalledPackages, SdkGeneration};

const PYTHON_V1: &str = include_str!("clients/python_v1.py");
const PYTHON_V2: &str = include_str!("clients/python_v2.py");
const TYPESCRIPT_V1: &str = include_str!("clients/typescript_v1.mjs");
const TYPESCRIPT_V2: &str = include_str!("clients/typescript_v2.mjs");

/// The token is passed in this variable, not in an argument, which every user of the machine could
/// read.
const TOKEN: &str = "MCP_TOKEN";

/// The protocol mode of a client of the second version.
const LEGACY: &str = "legacy";
const STATELESS: &str = "2026-07-28";

/// The language of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SdkLanguage {
    Python,
    TypeScript,
}

/// An official client, and its protocol mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SdkClient {
    language: SdkLanguage,
    generation: SdkGeneration,
    protocol_mode: &'static str,
}

impl SdkClient {
    /// Every client in every era that it supports.
    pub(super) const ALL: [Self; 6] = [
        Self::with_mode(SdkLanguage::Python, SdkGeneration::V1, LEGACY),
        Self::with_mode(SdkLanguage::Python, SdkGeneration::V2, LEGACY),
        Self::PYTHON,
        Self::TYPESCRIPT,
        Self::with_mode(SdkLanguage::TypeScript, SdkGeneration::V2, LEGACY),
        Self::with_mode(SdkLanguage::TypeScript, SdkGeneration::V2, STATELESS),
    ];
    /// The newest Python client, without sessions.
    pub(super) const PYTHON: Self =
        Self::with_mode(SdkLanguage::Python, SdkGeneration::V2, STATELESS);
    /// The TypeScript client that most programs still use, with sessions.
    pub(super) const TYPESCRIPT: Self =
        Self::with_mode(SdkLanguage::TypeScript, SdkGeneration::V1, LEGACY);

    const fn with_mode(
        language: SdkLanguage,
        generation: SdkGeneration,
        protocol_mode: &'static str,
    ) -> Self {
        Self { language, generation, protocol_mode }
    }

    /// Lists the tools at `url` and makes `calls`; returns the client's output, or its error.
    pub(super) fn run(
        self,
        packages: &InstalledPackages,
        url: &str,
        token: Option<&str>,
        calls: &Value,
    ) -> Result<Result<String, String>> {
        let mut command = self.command(packages)?;
        command.arg(url).arg(calls.to_string()).arg(self.protocol_mode).stdin(Stdio::null());
        if let Some(token) = token {
            command.env(TOKEN, token);
        }
        let output = command.output().context("the client does not start")?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        let is_fine = output.status.success();
        Ok(if is_fine { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) })
    }

    fn command(self, packages: &InstalledPackages) -> Result<Command> {
        let (name, script) = match (self.language, self.generation) {
            (SdkLanguage::Python, SdkGeneration::V1) => ("client_v1.py", PYTHON_V1),
            (SdkLanguage::Python, SdkGeneration::V2) => ("client_v2.py", PYTHON_V2),
            (SdkLanguage::TypeScript, SdkGeneration::V1) => ("client_v1.mjs", TYPESCRIPT_V1),
            (SdkLanguage::TypeScript, SdkGeneration::V2) => ("client_v2.mjs", TYPESCRIPT_V2),
        };
        // Node resolves the SDK relative to the script.
        let (directory, mut command) = match self.language {
            SdkLanguage::Python => {
                let home = packages.python_home(self.generation);
                (home, Command::new(packages.python(self.generation)))
            }
            SdkLanguage::TypeScript => (packages.typescript(), packages.node()),
        };
        let path = directory.join(name);
        fs::write(&path, script).context("cannot write the client's script")?;
        command.arg(path);
        Ok(command)
    }
}

impl fmt::Display for SdkClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = match self.generation {
            SdkGeneration::V1 => "1",
            SdkGeneration::V2 => "2",
        };
        let era = if self.protocol_mode == LEGACY { "sessions" } else { self.protocol_mode };
        write!(f, "{:?} SDK {version}, {era}", self.language)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_named_by_language_version_and_era() {
        assert_eq!(SdkClient::PYTHON.to_string(), "Python SDK 2, 2026-07-28");
        assert_eq!(SdkClient::TYPESCRIPT.to_string(), "TypeScript SDK 1, sessions");
    }
}
