//! Exports spans under the trace ids of the product, so that a collector joins the spans of several processes.
//!
//! A span with the field `trace_id` is in that trace: as a child of the span around it if that one is in the same trace,
//! otherwise as a root with a link to it. Where the field is no UUID, the id of the trace is generated, and the field
//! remains an attribute.

use std::cell::Cell;

use cynode_domain::ids::TraceId as ProductTraceId;
use opentelemetry::trace::{Link, SpanBuilder, SpanId, TraceContextExt as _, TraceId, Tracer};
use opentelemetry::{Context, KeyValue, Value};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, SdkTracer, Span};

use crate::telemetry::TRACE_ID;

thread_local! {
    /// The id of the trace that the span which is started on this thread begins.
    static NEXT_TRACE: Cell<Option<TraceId>> = const { Cell::new(None) };
}

/// Starts spans in the traces that their fields name.
#[derive(Debug, Clone)]
pub(super) struct ProductTracer(pub(super) SdkTracer);

impl Tracer for ProductTracer {
    type Span = Span;

    fn build_with_context(&self, mut builder: SpanBuilder, parent: &Context) -> Span {
        let around = parent.span().span_context().clone();
        let named = builder.attributes.as_deref().and_then(product_trace);
        match named.filter(|trace| *trace != around.trace_id()) {
            Some(trace) if !parent.is_telemetry_suppressed() => {
                if around.is_valid() {
                    builder.links.get_or_insert_default().push(Link::with_context(around));
                }
                NEXT_TRACE.set(Some(trace));
                let span = self.0.build_with_context(builder, &Context::new());
                NEXT_TRACE.set(None);
                span
            }
            _ => self.0.build_with_context(builder, parent),
        }
    }
}

/// The trace of the product that a span names.
fn product_trace(attributes: &[KeyValue]) -> Option<TraceId> {
    let named = attributes.iter().rfind(|attribute| attribute.key.as_str() == TRACE_ID)?;
    let Value::String(text) = &named.value else { return None };
    let trace: ProductTraceId = text.as_str().parse().ok()?;
    Some(TraceId::from(trace.as_uuid().as_u128())).filter(|trace| *trace != TraceId::INVALID)
}

/// Generates ids, except for traces that [`ProductTracer`] begins.
#[derive(Debug, Default)]
pub(super) struct ProductIds(RandomIdGenerator);

impl IdGenerator for ProductIds {
    fn new_trace_id(&self) -> TraceId {
        NEXT_TRACE.take().unwrap_or_else(|| self.0.new_trace_id())
    }

    fn new_span_id(&self) -> SpanId {
        self.0.new_span_id()
    }
}
