//! The span of a call that was sent to a provider, for a collector.

use cynode_domain::policy::Principal;
use cynode_llm_wire::openai::{ChatChunk, ChatCompletion};
use cynode_runtime::telemetry::gen_ai::{
    ModelAnswerAttributes, ModelCallAttributes, OperationSpan,
};
use cynode_store::InferenceCall;
use tracing::Span;

/// The span of a call and what its answer says about itself.
#[derive(Debug)]
pub(super) struct ModelCallSpan {
    span: OperationSpan,
    answer: ModelAnswerAttributes,
}

impl ModelCallSpan {
    /// Opens the span of a call that is about to be sent.
    pub(super) fn open(call: &InferenceCall) -> Self {
        let conversation = call.thread.map(|thread| thread.to_string());
        let attributes = ModelCallAttributes {
            trace_id: &call.trace_id,
            provider: &call.provider,
            model: &call.model,
            agent: call.agent.map(Principal::as_str),
            conversation: conversation.as_deref(),
        };
        Self { span: attributes.open_span(), answer: ModelAnswerAttributes::default() }
    }

    pub(super) fn span(&self) -> Span {
        self.span.span()
    }

    /// Notes the model and the finish reasons of a complete answer.
    pub(super) fn note_answer(&mut self, answer: &ChatCompletion) {
        let reasons = answer.choices.iter().filter_map(|choice| choice.finish_reason.as_deref());
        self.note(&answer.model, reasons);
    }

    /// Notes the same of one chunk.
    pub(super) fn note_chunk(&mut self, chunk: &ChatChunk) {
        let reasons = chunk.choices.iter().filter_map(|choice| choice.finish_reason.as_deref());
        self.note(&chunk.model, reasons);
    }

    fn note<'a>(&mut self, model: &str, reasons: impl Iterator<Item = &'a str>) {
        if !self.span.is_enabled() {
            return;
        }
        if self.answer.model.is_none() && !model.is_empty() {
            self.answer.model = Some(model.to_owned());
        }
        self.answer.finish_reasons.extend(reasons.map(ToOwned::to_owned));
    }

    /// Ends the span with the usage that the provider reported.
    pub(super) fn finish(self, call: &InferenceCall, error: Option<&'static str>) {
        let Self { span, answer } = self;
        let (input_tokens, output_tokens) = (call.input_tokens, call.output_tokens);
        let answer = ModelAnswerAttributes { input_tokens, output_tokens, ..answer };
        span.finish_model_call(&answer, error);
    }
}
