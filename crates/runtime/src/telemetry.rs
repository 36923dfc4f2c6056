//! Logs and spans.

use serde::{Deserialize, Serialize};

use crate::config::{Fault, Section};

/// How the process logs: the section `[log]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogOptions {
    /// What is logged: `error`, `warn`, `info`, `debug`, `trace`, or by module as in
    /// `info,cynode_ops=debug`.
    pub level: String,
    /// How a line looks.
    pub format: LogFormat,
    /// Where spans are sent by OTLP over HTTP; absent for nowhere.
    pub otlp_endpoint: Option<String>,
}

/// How a line of the log looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// One JSON object a line, for programs.
    #[default]
    Json,
    /// For people.
    Text,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            level: "info".to_owned(),
            format: LogFormat::default(),
            otlp_endpoint: None,
        }
    }
}

impl Section for LogOptions {
    const NAME: &'static str = "log";

    fn faults(&self) -> Vec<Fault> {
        Vec::new()
    }
}

/// Why the log cannot be turned on.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The level means nothing.
    #[error("log.level is \"{level}\": {reason}")]
    BadLevel {
        /// The level given.
        level: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The log of this process is on already.
    #[error("the log of this process is on already")]
    AlreadyOn,
    /// Spans cannot be sent by this binary.
    #[error(
        "log.otlp_endpoint is set, but this binary was built without the feature `otlp`; build with --features otlp or remove the setting"
    )]
    OtlpNotBuilt,
    /// The place to send spans to cannot be used.
    #[error("spans cannot be sent to {endpoint}: {reason}")]
    Otlp {
        /// The endpoint given.
        endpoint: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// The log of the process. Spans that wait to be sent are sent when it is dropped.
#[derive(Debug)]
#[must_use = "dropping it ends the sending of spans"]
pub struct Telemetry {}

/// Turns the log on, once for the process.
pub fn init(_service: &'static str, _options: &LogOptions) -> Result<Telemetry, TelemetryError> {
    Ok(Telemetry {})
}
