//! Export of spans to an OpenTelemetry collector by OTLP over HTTP.
//!
//! Start at [`Sender`]. [`product_traces`] assigns spans to the traces of the product.

mod product_traces;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry::trace::{Status, TracerProvider as _};
use opentelemetry::{Array, InstrumentationScope, KeyValue, StringValue, Value};
use opentelemetry_otlp::{SpanExporter as Otlp, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tokio::runtime::Handle;
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::Layer;
use tracing_subscriber::registry::LookupSpan;

use self::product_traces::{ProductIds, ProductTracer};
use super::{TelemetryError, gen_ai};
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
            .with_resource(describe_process(service))
            .with_id_generator(ProductIds::default())
            .with_batch_exporter(exporter)
            .build();
        Ok(Self { provider })
    }

    /// The layer that exports CyNode's spans. Spans of libraries are excluded: exporting them would
    /// create new ones endlessly. Events below `info` are excluded too: they may quote prompts.
    pub(super) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let scope = InstrumentationScope::builder("cynode")
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_schema_url(gen_ai::SCHEMA_URL)
            .build();
        tracing_opentelemetry::layer()
            .with_tracer(ProductTracer(self.provider.tracer_with_scope(scope)))
            .with_filter(filter_fn(is_exported))
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        if let Err(error) = self.provider.shutdown_with_timeout(LAST_SPANS) {
            tracing::warn!(error = &error as &dyn std::error::Error, "final span export failed");
        }
    }
}

/// What a collector learns of this process.
fn describe_process(service: &'static str) -> Resource {
    Resource::builder()
        .with_service_name(service)
        .with_schema_url(
            [KeyValue::new("service.version", env!("CARGO_PKG_VERSION"))],
            gen_ai::SCHEMA_URL,
        )
        .build()
}

fn is_exported(metadata: &Metadata<'_>) -> bool {
    metadata.target().starts_with("cyn") && (metadata.is_span() || *metadata.level() <= Level::INFO)
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
    span.attributes.iter_mut().for_each(split_list);
    span.attributes.iter_mut().for_each(clean_attribute);
    for event in &mut span.events.events {
        clean_text(&mut event.name);
        event.attributes.iter_mut().for_each(clean_attribute);
    }
    if let Status::Error { description } = &mut span.status {
        clean_text(description);
    }
}

/// Restores the attribute that is a list in the conventions.
fn split_list(attribute: &mut KeyValue) {
    if attribute.key.as_str() == gen_ai::FINISH_REASONS
        && let Value::String(text) = &attribute.value
    {
        let words = text.as_str().split(gen_ai::LIST_SEPARATOR);
        let words: Vec<StringValue> = words.map(|word| word.to_owned().into()).collect();
        attribute.value = Value::Array(words.into());
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
