//! Spans of model calls, tool calls and agents, named after OpenTelemetry's semantic conventions for generative AI.
//!
//! Start at [`ModelCallAttributes`], [`ToolCallAttributes`] and [`AgentAttributes`]: each opens an [`OperationSpan`].
//! The constants are the only place that spells names of the conventions; `docs/reference/traces.md` lists them.
//!
//! Invariants: the spans are for a collector and are not part of log lines; without a collector they are disabled. They
//! have names and numbers, never prompts, arguments, results or texts of errors.

use tracing::field::Empty;
use tracing::{Metadata, Span, info_span};

/// Version of the semantic conventions that the names follow.
pub const CONVENTIONS_VERSION: &str = "1.37.0";
/// The schema of that version, exported with every span.
pub const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.37.0";

pub const OPERATION_NAME: &str = "gen_ai.operation.name";
pub const PROVIDER_NAME: &str = "gen_ai.provider.name";
pub const REQUEST_MODEL: &str = "gen_ai.request.model";
pub const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub const TOOL_NAME: &str = "gen_ai.tool.name";
pub const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
pub const AGENT_NAME: &str = "gen_ai.agent.name";
pub const CONVERSATION_ID: &str = "gen_ai.conversation.id";
pub const ERROR_TYPE: &str = "error.type";

/// Every attribute of the conventions that is exported.
pub const ATTRIBUTES: [&str; 12] = [
    OPERATION_NAME,
    PROVIDER_NAME,
    REQUEST_MODEL,
    RESPONSE_MODEL,
    FINISH_REASONS,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    TOOL_NAME,
    TOOL_CALL_ID,
    AGENT_NAME,
    CONVERSATION_ID,
    ERROR_TYPE,
];

/// Values of [`OPERATION_NAME`].
pub const CHAT: &str = "chat";
pub const EXECUTE_TOOL: &str = "execute_tool";
pub const INVOKE_AGENT: &str = "invoke_agent";

/// The provider of the agents of this installation.
const OWN_PROVIDER: &str = "cynode";
/// The class of an operation that was dropped before its end.
const CANCELED: &str = "canceled";
/// Separates the values of a list until the export: `tracing` has no lists.
pub(super) const LIST_SEPARATOR: char = ',';

/// The target of the spans.
const TARGET: &str = "cynode::gen_ai";
/// The most bytes of a name.
const MAX_NAME_BYTES: usize = 200;
/// Exported in place of a name that is none.
const OMITTED: &str = "[omitted]";

/// Whether a log line may have the fields of the span.
pub(super) fn is_logged(metadata: &Metadata<'_>) -> bool {
    metadata.target() != TARGET
}

/// A request to a model.
#[derive(Debug, Clone, Copy)]
pub struct ModelCallAttributes<'a> {
    /// The trace of the product.
    pub trace_id: &'a str,
    /// The name of the provider in this installation.
    pub provider: &'a str,
    pub model: &'a str,
    pub agent: Option<&'a str>,
    pub conversation: Option<&'a str>,
}

impl ModelCallAttributes<'_> {
    /// Opens the span `chat MODEL`.
    pub fn open_span(&self) -> OperationSpan {
        OperationSpan::new(info_span!(
            target: TARGET,
            "model_call",
            trace_id = self.trace_id,
            otel.name = format!("{CHAT} {}", export_name(self.model)),
            otel.kind = "client",
            otel.status_code = Empty,
            { OPERATION_NAME } = CHAT,
            { PROVIDER_NAME } = export_name(self.provider),
            { REQUEST_MODEL } = export_name(self.model),
            { RESPONSE_MODEL } = Empty,
            { FINISH_REASONS } = Empty,
            { INPUT_TOKENS } = Empty,
            { OUTPUT_TOKENS } = Empty,
            { AGENT_NAME } = self.agent,
            { CONVERSATION_ID } = self.conversation,
            { ERROR_TYPE } = Empty,
        ))
    }
}

/// What is known about the answer of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelAnswerAttributes {
    pub model: Option<String>,
    pub finish_reasons: Vec<String>,
    pub input_tokens: Option<i64>,
    pub output_tokens: Option<i64>,
}

/// A call of a tool that was allowed.
#[derive(Debug, Clone, Copy)]
pub struct ToolCallAttributes<'a> {
    /// The trace of the product.
    pub trace_id: &'a str,
    pub tool: &'a str,
    pub call_id: Option<&'a str>,
    pub agent: Option<&'a str>,
}

impl ToolCallAttributes<'_> {
    /// Opens the span `execute_tool NAME`.
    pub fn open_span(&self) -> OperationSpan {
        OperationSpan::new(info_span!(
            target: TARGET,
            "tool_call",
            trace_id = self.trace_id,
            otel.name = format!("{EXECUTE_TOOL} {}", export_name(self.tool)),
            otel.kind = "internal",
            otel.status_code = Empty,
            { OPERATION_NAME } = EXECUTE_TOOL,
            { TOOL_NAME } = export_name(self.tool),
            { TOOL_CALL_ID } = self.call_id.map(export_name),
            { AGENT_NAME } = self.agent,
            { ERROR_TYPE } = Empty,
        ))
    }
}

/// A piece of work of an agent.
#[derive(Debug, Clone, Copy)]
pub struct AgentAttributes<'a> {
    /// The trace of the product.
    pub trace_id: &'a str,
    pub agent: &'a str,
    pub conversation: Option<&'a str>,
}

impl AgentAttributes<'_> {
    /// Opens the span `invoke_agent NAME`.
    pub fn open_span(&self) -> OperationSpan {
        OperationSpan::new(info_span!(
            target: TARGET,
            "agent",
            trace_id = self.trace_id,
            otel.name = format!("{INVOKE_AGENT} {}", export_name(self.agent)),
            otel.kind = "internal",
            otel.status_code = Empty,
            { OPERATION_NAME } = INVOKE_AGENT,
            { PROVIDER_NAME } = OWN_PROVIDER,
            { AGENT_NAME } = export_name(self.agent),
            { CONVERSATION_ID } = self.conversation,
            { ERROR_TYPE } = Empty,
        ))
    }
}

/// The span of an operation. Dropped before it is finished, it ends as canceled.
#[derive(Debug)]
#[must_use = "the span ends when it is dropped"]
pub struct OperationSpan {
    /// `None` once finished.
    span: Option<Span>,
}

impl OperationSpan {
    fn new(span: Span) -> Self {
        Self { span: Some(span) }
    }

    /// The span of an operation that is not exported.
    pub fn disabled() -> Self {
        Self { span: None }
    }

    /// Whether a collector receives it; otherwise its attributes need not be computed.
    pub fn is_enabled(&self) -> bool {
        self.span.as_ref().is_some_and(|span| !span.is_disabled())
    }

    /// The span to work in.
    pub fn span(&self) -> Span {
        self.span.clone().unwrap_or_else(Span::none)
    }

    /// Ends the span; `error` is the class of the failure, if it is one.
    pub fn finish(mut self, error: Option<&'static str>) {
        self.close(error);
    }

    /// Ends the span of a model call.
    pub fn finish_model_call(
        mut self,
        answer: &ModelAnswerAttributes,
        error: Option<&'static str>,
    ) {
        if let Some(span) = self.span.as_ref().filter(|span| !span.is_disabled()) {
            if let Some(model) = &answer.model {
                span.record(RESPONSE_MODEL, export_name(model));
            }
            if !answer.finish_reasons.is_empty() {
                let reasons: Vec<&str> =
                    answer.finish_reasons.iter().map(|reason| export_name(reason)).collect();
                span.record(FINISH_REASONS, reasons.join(&LIST_SEPARATOR.to_string()));
            }
            span.record(INPUT_TOKENS, answer.input_tokens);
            span.record(OUTPUT_TOKENS, answer.output_tokens);
        }
        self.close(error);
    }

    fn close(&mut self, error: Option<&'static str>) {
        let Some(span) = self.span.take() else { return };
        if let Some(class) = error {
            span.record(ERROR_TYPE, class);
            span.record("otel.status_code", "error");
        }
        // The exported end is that of the last time in the span.
        span.in_scope(|| {});
    }
}

impl Drop for OperationSpan {
    fn drop(&mut self) {
        self.close(Some(CANCELED));
    }
}

/// Returns a name as it is exported: text that others wrote is omitted unless it can be a name.
fn export_name(text: &str) -> &str {
    let is_name = (1..=MAX_NAME_BYTES).contains(&text.len())
        && text.chars().all(|c| c.is_ascii_graphic() && c != '@' && c != LIST_SEPARATOR);
    if is_name { text } else { OMITTED }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::capture::LogCapture;

    const MODEL_CALL: ModelCallAttributes<'_> = ModelCallAttributes {
        trace_id: "0190d7a0-0000-7000-8000-000000000001",
        provider: "lab",
        model: "tiny-1",
        agent: Some("pm"),
        conversation: None,
    };

    #[test]
    fn every_attribute_and_the_version_are_in_the_reference_of_traces() {
        let reference = include_str!("../../../../docs/reference/traces.md");

        for name in ATTRIBUTES {
            assert!(reference.contains(&format!("`{name}`")), "{name} is not documented");
        }
        assert!(reference.contains(CONVENTIONS_VERSION));
        assert!(SCHEMA_URL.ends_with(CONVENTIONS_VERSION));
    }

    #[test]
    fn the_spans_are_disabled_and_not_in_log_lines_where_spans_are_not_exported() {
        let capture = LogCapture::default();
        tracing::subscriber::with_default(capture.subscriber(), || {
            let _request = info_span!("request", trace_id = "outer").entered();
            let call = MODEL_CALL.open_span();
            assert!(!call.is_enabled());
            call.span().in_scope(|| tracing::info!("inside"));
            call.finish(Some("timeout"));
        });

        let [line] = &capture.lines()[..] else { panic!("{}", capture.text()) };
        assert_eq!((&line["trace_id"], &line["span"]), (&"outer".into(), &"request".into()));
        assert!(line.get("fields").is_none(), "{line}");
    }

    #[test]
    fn text_that_is_no_name_is_not_exported() {
        for name in ["db.task.get", "openai/gpt-4o:latest", "tool_calls"] {
            assert_eq!(export_name(name), name);
        }
        let long = "x".repeat(MAX_NAME_BYTES + 1);
        for text in ["", "write to ada", "ada@example.org", "a,b", "tür", &long] {
            assert_eq!(export_name(text), OMITTED);
        }
    }
}
