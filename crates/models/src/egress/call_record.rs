//! The record of one call: persisted at its end, also when the caller disconnects.

use cynode_domain::ids::InferenceId;
use cynode_domain::model::InferenceOutcome;
use cynode_llm::ProviderError;
use cynode_llm_wire::openai::{ChatChunk, ChatCompletion, Usage};
use cynode_runtime::redact::redact;
use cynode_store::{AppendRows, Entry, InferenceCall};
use tokio::time::Instant;
use tracing::Span;

use super::call_span::ModelCallSpan;
use super::cost_estimate::{CostEstimate, chunk_bytes, completion_bytes};
use super::{CallRecordBuffer, Egress, Inference};

const MAX_PURPOSE_CHARS: usize = 100;
const MAX_MODEL_CHARS: usize = 200;
const MAX_ERROR_CHARS: usize = 300;

/// A call in progress. Dropped without [`CallRecorder::finish`], it is recorded as canceled.
pub(super) struct CallRecorder {
    id: InferenceId,
    egress: Egress,
    began: Instant,
    tariff: CostEstimate,
    progress: AnswerProgress,
    /// `None` before the call is sent, and once it is recorded.
    span: Option<ModelCallSpan>,
    /// The class of the failure, if the provider failed.
    error_class: Option<&'static str>,
    /// Collects the row for the caller, if the caller persists it.
    record_buffer: Option<CallRecordBuffer>,
    /// The row so far; `None` once persisted.
    call: Option<InferenceCall>,
}

/// How much of the answer arrived, to estimate the cost if the provider reports no usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerProgress {
    /// Nothing was sent, or the provider rejected it: no cost.
    NotSent,
    /// Sent, but no answer arrived: it may have cost the maximum.
    AwaitingAnswer,
    /// Bytes received so far.
    Received(usize),
}

impl CallRecorder {
    /// Starts the record of a call.
    pub(super) fn begin(
        egress: &Egress,
        inference: &Inference,
        prompt_hash: &str,
        provider: &str,
        model: &str,
        tariff: CostEstimate,
    ) -> Self {
        let id = InferenceId::generate();
        let call = InferenceCall {
            id,
            created_at: egress.clock.now(),
            purpose: clean_for_storage(&inference.purpose, MAX_PURPOSE_CHARS),
            agent: inference.agent,
            user: inference.caller.user,
            project: inference.project,
            task: inference.task,
            run: inference.run,
            thread: inference.thread,
            trace_id: inference.trace_id.clone(),
            provider: provider.to_owned(),
            model: clean_for_storage(model, MAX_MODEL_CHARS),
            prompt_hash: Some(prompt_hash.to_owned()),
            input_tokens: None,
            output_tokens: None,
            cost_micro_usd: None,
            is_estimate: false,
            latency_ms: 0,
            first_chunk_ms: None,
            outcome: InferenceOutcome::Canceled,
            error: None,
        };
        let (egress, record_buffer, call) =
            (egress.clone(), inference.record_buffer.clone(), Some(call));
        Self {
            id,
            egress,
            began: Instant::now(),
            tariff,
            progress: AnswerProgress::NotSent,
            span: None,
            error_class: None,
            record_buffer,
            call,
        }
    }

    pub(super) fn id(&self) -> InferenceId {
        self.id
    }

    /// Returns whether the call is known to be free.
    pub(super) fn is_free(&self) -> bool {
        self.tariff.is_free()
    }

    /// Returns the reservation row, with the maximum cost; `None` if the price is unknown.
    pub(super) fn reservation(&self) -> Option<InferenceCall> {
        let cost_micro_usd = Some(self.tariff.max_cost()?);
        let outcome = InferenceOutcome::Open;
        Some(InferenceCall { cost_micro_usd, is_estimate: true, outcome, ..self.call.clone()? })
    }

    /// Restarts the latency clock, so that a probe does not count.
    pub(super) fn restart_clock(&mut self) {
        self.began = Instant::now();
    }

    /// Marks the request as sent, with an unstreamed answer; returns the span to send it in.
    pub(super) fn mark_sent_unstreamed(&mut self) -> Span {
        self.progress = AnswerProgress::AwaitingAnswer;
        self.open_span()
    }

    /// Marks the request as sent, with a streamed answer; returns the span to send it in.
    pub(super) fn mark_sent_streamed(&mut self) -> Span {
        self.progress = AnswerProgress::Received(0);
        self.open_span()
    }

    fn open_span(&mut self) -> Span {
        self.span = self.call.as_ref().map(ModelCallSpan::open);
        self.span.as_ref().map_or_else(Span::none, ModelCallSpan::span)
    }

    /// Records the complete answer.
    pub(super) fn record_answer(&mut self, answer: &ChatCompletion) {
        self.progress = AnswerProgress::Received(completion_bytes(answer));
        if let Some(span) = &mut self.span {
            span.note_answer(answer);
        }
        if let Some(usage) = &answer.usage {
            self.record_usage(usage);
        }
    }

    /// Records one chunk.
    pub(super) fn record_chunk(&mut self, chunk: &ChatChunk) {
        let elapsed = millis(self.began);
        if let Some(call) = &mut self.call {
            call.first_chunk_ms.get_or_insert(elapsed);
        }
        if let AnswerProgress::Received(bytes) = &mut self.progress {
            *bytes = bytes.saturating_add(chunk_bytes(chunk));
        }
        if let Some(span) = &mut self.span {
            span.note_chunk(chunk);
        }
        if let Some(usage) = &chunk.usage {
            self.record_usage(usage);
        }
    }

    /// Marks the call as failed. Output received before still costs.
    pub(super) fn mark_failed(&mut self, cause: &ProviderError) {
        self.error_class = Some(cause.class());
        let is_free = cause.is_free_of_charge();
        if is_free
            && matches!(self.progress, AnswerProgress::AwaitingAnswer | AnswerProgress::Received(0))
        {
            self.progress = AnswerProgress::NotSent;
        }
    }

    /// Records the usage that the provider reported.
    fn record_usage(&mut self, usage: &Usage) {
        let signed = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        if let Some(call) = &mut self.call {
            call.input_tokens = Some(signed(usage.prompt_tokens));
            call.output_tokens = Some(signed(usage.completion_tokens));
            call.cost_micro_usd = self.tariff.cost_of_usage(usage);
        }
    }

    /// Persists the outcome.
    pub(super) async fn finish(
        mut self,
        outcome: InferenceOutcome,
        error: Option<String>,
    ) -> Result<(), cynode_store::Error> {
        let Some(mut call) = self.call.take() else { return Ok(()) };
        let latency_ms = millis(self.began);
        let error = error.map(|text| clean_for_storage(&text, MAX_ERROR_CHARS));
        (call.outcome, call.error, call.latency_ms) = (outcome, error, latency_ms);
        if let Some(span) = self.span.take() {
            span.finish(&call, self.error_class);
        }
        self.estimate_cost(&mut call);
        match &self.record_buffer {
            Some(tab) => {
                tab.push(Entry::InferenceCall(call));
                Ok(())
            }
            None => self.egress.store.batch(AppendRows(vec![Entry::InferenceCall(call)])).await,
        }
    }

    /// Estimates the cost if the provider reported no usage.
    fn estimate_cost(&self, call: &mut InferenceCall) {
        let is_refused =
            matches!(call.outcome, InferenceOutcome::Denied | InferenceOutcome::OverBudget);
        if call.cost_micro_usd.is_some() || is_refused {
            return;
        }
        call.cost_micro_usd = match self.progress {
            AnswerProgress::NotSent => self.tariff.max_cost().map(|_| 0),
            AnswerProgress::AwaitingAnswer => self.tariff.max_cost(),
            AnswerProgress::Received(bytes) => self.tariff.cost_after_bytes(bytes),
        };
        call.is_estimate = call.cost_micro_usd.is_some_and(|cost| cost > 0);
    }
}

impl Drop for CallRecorder {
    fn drop(&mut self) {
        let Some(mut call) = self.call.take() else { return };
        call.latency_ms = millis(self.began);
        self.estimate_cost(&mut call);
        if let Some(tab) = &self.record_buffer {
            tab.push(Entry::InferenceCall(call));
            return;
        }
        let store = self.egress.store.clone();
        self.egress.tasks.spawn("record of a model call", async move {
            let id = call.id;
            if let Err(error) = store.batch(AppendRows(vec![Entry::InferenceCall(call)])).await {
                tracing::error!(
                    call.id = %id, error = &error as &dyn std::error::Error,
                    "model call not recorded"
                );
            }
        });
    }
}

fn millis(since: Instant) -> i64 {
    i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX)
}

/// Prepares foreign text for storage: secrets redacted, NUL characters removed, truncated.
fn clean_for_storage(text: &str, max_chars: usize) -> String {
    redact(text).chars().filter(|character| *character != '\0').take(max_chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_say_is_kept_without_secrets_and_nul_characters() {
        let needle = "Zk93hQ0vLx72PbNcR5tYw8AeUi4SdGf6";
        let kept = clean_for_storage(&format!("no model \0ghp_{needle}"), 300);

        assert!(kept.starts_with("no model ") && !kept.contains(needle), "{kept}");
        assert_eq!(clean_for_storage("a\0bcd", 3), "abc");
    }
}
