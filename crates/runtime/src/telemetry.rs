//! Logs to stderr, and spans to an OpenTelemetry collector.
//!
//! Start at [`init`]. A line carries the service, the `trace_id` of the innermost span that has
//! one, and the fields of all spans around it. [`gen_ai`] has the spans of agents, models and tools.
//!
//! Invariant: all output passes through [`crate::redact`].

#[cfg(test)]
pub(crate) mod capture;
pub mod gen_ai;
mod json;
#[cfg(feature = "otlp")]
mod otlp;
pub mod tracing_capture;
mod writer;

use std::io;
use std::panic;

use serde::{Deserialize, Serialize};
use tracing_subscriber::filter::{EnvFilter, FilterFn, filter_fn};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use self::json::JsonLogLayer;
use self::writer::RedactingMakeWriter;
use crate::config::{ConfigFault, ConfigSection};

/// The span field that correlates what belongs to one request.
const TRACE_ID: &str = "trace_id";

/// The section `[log]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogOptions {
    /// `error`, `warn`, `info`, `debug`, `trace`, or by module as in `info,cynode_ops=debug`.
    pub level: String,
    pub format: LogFormat,
    /// The OTLP/HTTP endpoint for spans; `None` disables export.
    pub otlp_endpoint: Option<String>,
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// One JSON object per line.
    #[default]
    Json,
    /// Plain text.
    Text,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self { level: "info".to_owned(), format: LogFormat::default(), otlp_endpoint: None }
    }
}

impl ConfigSection for LogOptions {
    const NAME: &'static str = "log";

    fn validate(&self) -> Vec<ConfigFault> {
        let level = EnvFilter::try_new(&self.level).err().map(|_| {
            let allowed =
                "error, warn, info, debug, trace, off, or by module as in info,cynode_ops=debug";
            ConfigFault::new("log.level", format!("{:?}", self.level), allowed)
        });
        let is_address = |url: &&String| url.starts_with("http://") || url.starts_with("https://");
        let endpoint = self.otlp_endpoint.as_ref().filter(|url| !is_address(url)).map(|url| {
            let allowed = "an address that begins with http:// or https://";
            ConfigFault::new("log.otlp_endpoint", format!("{url:?}"), allowed)
        });
        level.into_iter().chain(endpoint).collect()
    }
}

/// Errors of [`init`].
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("log.level is \"{level}\": {reason}")]
    BadLevel { level: String, reason: String },
    #[error("logging is already initialised in this process")]
    AlreadyOn,
    #[error(
        "log.otlp_endpoint is set, but this binary was built without the feature `otlp`; build with --features otlp or remove the setting"
    )]
    OtlpNotBuilt,
    #[error("spans cannot be sent to {endpoint}: {reason}")]
    Otlp { endpoint: String, reason: String },
}

/// Guard of the process's logging. Dropping it flushes pending spans.
#[derive(Debug)]
#[must_use = "dropping it stops the export of spans"]
pub struct Telemetry {
    #[cfg(feature = "otlp")]
    _spans: Option<otlp::Sender>,
}

/// Initialises logging, once per process. Panics are logged too.
///
/// With an OTLP endpoint it must be called in a multi-threaded tokio runtime.
pub fn init(service: &'static str, options: &LogOptions) -> Result<Telemetry, TelemetryError> {
    let filter = EnvFilter::try_new(&options.level).map_err(|error| TelemetryError::BadLevel {
        level: options.level.clone(),
        reason: error.to_string(),
    })?;
    let writer = RedactingMakeWriter::new(io::stderr);
    let lines = match options.format {
        LogFormat::Json => JsonLogLayer::new(service, writer).boxed(),
        // Colour codes between a field's name and its value would defeat redaction.
        LogFormat::Text => {
            tracing_subscriber::fmt::layer().with_ansi(false).with_writer(writer).boxed()
        }
    };
    let lines = lines.with_filter(logged_spans());
    let subscriber = tracing_subscriber::registry().with(lines).with(filter);
    let telemetry = start(service, options, subscriber)?;
    panic::set_hook(Box::new(log_panic));
    Ok(telemetry)
}

/// What log lines are made of: everything but the spans that exist for a collector.
fn logged_spans() -> FilterFn {
    filter_fn(gen_ai::is_logged)
}

#[cfg(feature = "otlp")]
fn start<S>(
    service: &'static str,
    options: &LogOptions,
    subscriber: S,
) -> Result<Telemetry, TelemetryError>
where
    S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a> + Send + Sync,
{
    let spans = options.otlp_endpoint.as_ref();
    let spans = spans.map(|endpoint| otlp::Sender::new(service, endpoint)).transpose()?;
    let layer = spans.as_ref().map(otlp::Sender::layer);
    subscriber.with(layer).try_init().map_err(|_| TelemetryError::AlreadyOn)?;
    Ok(Telemetry { _spans: spans })
}

#[cfg(not(feature = "otlp"))]
fn start<S>(
    _: &'static str,
    options: &LogOptions,
    subscriber: S,
) -> Result<Telemetry, TelemetryError>
where
    S: tracing::Subscriber + Send + Sync,
{
    if options.otlp_endpoint.is_some() {
        return Err(TelemetryError::OtlpNotBuilt);
    }
    subscriber.try_init().map_err(|_| TelemetryError::AlreadyOn)?;
    Ok(Telemetry {})
}

fn log_panic(info: &panic::PanicHookInfo<'_>) {
    let place = info.location().map_or_else(String::new, ToString::to_string);
    let reason = info.payload_as_str().unwrap_or("no message");
    tracing::error!(panic.location = place, "panic at {place}: {reason}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_options_that_mean_nothing_are_faults() {
        let options = LogOptions {
            level: "info,cynode=loud".to_owned(),
            otlp_endpoint: Some("collector".to_owned()),
            ..LogOptions::default()
        };
        let keys: Vec<String> = options.validate().into_iter().map(|fault| fault.key).collect();
        assert_eq!(keys, ["log.level", "log.otlp_endpoint"]);
        assert_eq!(LogOptions::default().validate(), []);
    }

    #[test]
    fn a_level_that_means_nothing_is_refused_in_words() {
        let options = LogOptions { level: "x=loud".to_owned(), ..LogOptions::default() };
        let refused = init("test", &options).unwrap_err().to_string();
        assert!(refused.contains("x=loud"), "{refused}");
    }

    #[cfg(not(feature = "otlp"))]
    #[test]
    fn an_otlp_endpoint_is_refused_by_a_binary_that_cannot_send_spans() {
        let options = LogOptions {
            otlp_endpoint: Some("http://127.0.0.1:4318".to_owned()),
            ..LogOptions::default()
        };
        let refused = init("test", &options).unwrap_err();
        assert!(matches!(refused, TelemetryError::OtlpNotBuilt), "{refused}");
        assert!(refused.to_string().contains("--features otlp"), "{refused}");
    }
}
