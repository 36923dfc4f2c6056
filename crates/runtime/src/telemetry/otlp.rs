//! Export of spans to an OpenTelemetry collector by OTLP over HTTP.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry::trace::{Status, TracerProvider as _};
use opentelemetry::{Array, KeyValue, Value};
use opentelemetry_otlp::{SpanExporter as Otlp, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tokio::runtime::Handle;
use tracing::Subscriber;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::Layer;
use tracing_subscriber::registry::LookupSpan;

use super::TelemetryError;
use crate::redact::{REDACTED, is_secret_key, redact};

const TRACES: &str = "/v1/traces";

/// Timeout of the final flush.
const LAST_SPANS: Duration = Duration::from_secs(2);

/// Exports spans until it is dropped.
#[derive(Debug)]
pub(super) struct Sender {
    provider: SdkTracerProvider,
}

impl Sender {
    /// Starts the export; `endpoint` is the collector's URL, with or without `/v1/traces`.
    pub(super) fn new(service: &'static str, endpoint: &str) -> Result<Self, TelemetryError> {
        let refused = |reason: String| TelemetryError::Otlp {
            endpoint: redact(endpoint).into_owned(),
            reason,
        };
        let runtime = Handle::try_current().map_err(|error| refused(error.to_string()))?;
        let otlp = Otlp::builder().with_http().with_endpoint(traces(endpoint)).build();
        let exporter = Redacting {
            otlp: Arc::new(otlp.map_err(|error| refused(error.to_string()))?),
            runtime,
        };
        let provider = SdkTracerProvider::builder()
            .with_resource(Resource::builder().with_service_name(service).build())
            .with_batch_exporter(exporter)
            .build();
        Ok(Self { provider })
    }

    /// The layer that exports CyNode's spans. Spans of libraries are excluded: exporting them would
    /// create new ones endlessly.
    pub(super) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("cynode"))
            .with_filter(filter_fn(|metadata| metadata.target().starts_with("cyn")))
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        if let Err(error) = self.provider.shutdown_with_timeout(LAST_SPANS) {
            tracing::warn!(error = &error as &dyn std::error::Error, "final span export failed");
        }
    }
}

fn traces(endpoint: &str) -> String {
    let base = endpoint.trim_end_matches('/');
    base.strip_suffix(TRACES).unwrap_or(base).to_owned() + TRACES
}

/// Redacts spans and exports them on the process's runtime: the batch processor has a plain thread,
/// where the HTTP client cannot run.
#[derive(Debug)]
struct Redacting {
    otlp: Arc<Otlp>,
    runtime: Handle,
}

impl SpanExporter for Redacting {
    async fn export(&self, mut batch: Vec<SpanData>) -> OTelSdkResult {
        batch.iter_mut().for_each(clean);
        let otlp = Arc::clone(&self.otlp);
        let sent = self.runtime.spawn(async move { otlp.export(batch).await });
        sent.await.map_err(|error| OTelSdkError::InternalFailure(error.to_string()))?
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.otlp.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        if let Some(otlp) = Arc::get_mut(&mut self.otlp) {
            otlp.set_resource(resource);
        }
    }
}

fn clean(span: &mut SpanData) {
    clean_text(&mut span.name);
    span.attributes.iter_mut().for_each(clean_attribute);
    for event in &mut span.events.events {
        clean_text(&mut event.name);
        event.attributes.iter_mut().for_each(clean_attribute);
    }
    if let Status::Error { description } = &mut span.status {
        clean_text(description);
    }
}

fn clean_attribute(attribute: &mut KeyValue) {
    if is_secret_key(attribute.key.as_str()) {
        attribute.value = Value::from(REDACTED);
    } else if let Value::String(text) = &attribute.value {
        attribute.value = Value::from(redact(text.as_str()).into_owned());
    } else if let Value::Array(Array::String(texts)) = &mut attribute.value {
        for text in texts {
            *text = redact(text.as_str()).into_owned().into();
        }
    }
}

fn clean_text(text: &mut Cow<'static, str>) {
    if let Cow::Owned(clean) = redact(text) {
        *text = Cow::Owned(clean);
    }
}
