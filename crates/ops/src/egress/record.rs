//! One call on record: written when it ended, also when whoever asked went away.

use cynode_domain::ids::InferenceId;
use cynode_domain::model::InferenceOutcome;
use cynode_runtime::redact::redact;
use cynode_store::{Entry, InferenceCall};
use cynode_wire::openai::{ChatChunk, ChatCompletion, Usage};
use tokio::time::Instant;

use super::tariff::{Tariff, said_in, said_in_piece};
use super::{Egress, Inference, Tab};

const MAX_PURPOSE_CHARS: usize = 100;
const MAX_MODEL_CHARS: usize = 200;
const MAX_ERROR_CHARS: usize = 300;

/// A call under way. Dropped without [`Record::finish`], it is recorded as canceled.
pub(super) struct Record {
    id: InferenceId,
    egress: Egress,
    began: Instant,
    tariff: Tariff,
    heard: Heard,
    /// Where it is written, if not here.
    tab: Option<Tab>,
    /// What is known so far; nothing once it is written.
    call: Option<InferenceCall>,
}

/// How much of an answer there was, to tell what it cost if nobody counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    /// Nothing was sent, or it was turned away: it cost nothing.
    Unasked,
    /// The answer comes whole or not at all, and has not come: it may have cost the most.
    Unheard,
    /// So many bytes of it came.
    Said(usize),
}

impl Record {
    /// A call that begins now.
    pub(super) fn begin(
        egress: &Egress,
        inference: &Inference,
        prompt_hash: &str,
        (provider, model): (&str, &str),
        tariff: Tariff,
    ) -> Self {
        let id = InferenceId::generate();
        let call = InferenceCall {
            id,
            created_at: egress.clock.now(),
            purpose: clean(&inference.purpose, MAX_PURPOSE_CHARS),
            agent: inference.agent,
            user: inference.caller.user,
            project: inference.project,
            task: inference.task,
            run: inference.run,
            thread: inference.thread,
            trace_id: inference.trace_id.clone(),
            provider: provider.to_owned(),
            model: clean(model, MAX_MODEL_CHARS),
            prompt_hash: Some(prompt_hash.to_owned()),
            input_tokens: None,
            output_tokens: None,
            cost_micro_usd: None,
            is_estimate: false,
            latency_ms: 0,
            first_ms: None,
            outcome: InferenceOutcome::Canceled,
            error: None,
        };
        let (egress, tab, call) = (egress.clone(), inference.tab.clone(), Some(call));
        Self { id, egress, began: Instant::now(), tariff, heard: Heard::Unasked, tab, call }
    }

    /// The call's id.
    pub(super) fn id(&self) -> InferenceId {
        self.id
    }

    /// Whether it is known that the call costs nothing.
    pub(super) fn is_free(&self) -> bool {
        self.tariff.is_free()
    }

    /// The call as it is put on record before it is made, with the most that it may cost; nothing if
    /// the price is not known.
    pub(super) fn open(&self) -> Option<InferenceCall> {
        let cost_micro_usd = Some(self.tariff.most()?);
        let outcome = InferenceOutcome::Open;
        Some(InferenceCall { cost_micro_usd, is_estimate: true, outcome, ..self.call.clone()? })
    }

    /// What came before, such as a probe of the model, does not count as this call's time.
    pub(super) fn begins_now(&mut self) {
        self.began = Instant::now();
    }

    /// The question is sent; the answer comes whole.
    pub(super) fn asks_whole(&mut self) {
        self.heard = Heard::Unheard;
    }

    /// The question is sent; the answer comes in pieces.
    pub(super) fn asks_pieces(&mut self) {
        self.heard = Heard::Said(0);
    }

    /// The whole answer has come.
    pub(super) fn hear(&mut self, answer: &ChatCompletion) {
        self.heard = Heard::Said(said_in(answer));
        if let Some(usage) = &answer.usage {
            self.count(usage);
        }
    }

    /// A piece has come.
    pub(super) fn hear_piece(&mut self, piece: &ChatChunk) {
        let elapsed = millis(self.began);
        if let Some(call) = &mut self.call {
            call.first_ms.get_or_insert(elapsed);
        }
        if let Heard::Said(bytes) = &mut self.heard {
            *bytes = bytes.saturating_add(said_in_piece(piece));
        }
        if let Some(usage) = &piece.usage {
            self.count(usage);
        }
    }

    /// The question was turned away. What was said before costs all the same.
    pub(super) fn turned_away(&mut self) {
        if matches!(self.heard, Heard::Unheard | Heard::Said(0)) {
            self.heard = Heard::Unasked;
        }
    }

    /// What the provider counted.
    fn count(&mut self, usage: &Usage) {
        let signed = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        if let Some(call) = &mut self.call {
            call.input_tokens = Some(signed(usage.prompt_tokens));
            call.output_tokens = Some(signed(usage.completion_tokens));
            call.cost_micro_usd = self.tariff.counted(usage);
        }
    }

    /// Writes what came of it.
    pub(super) async fn finish(
        mut self,
        outcome: InferenceOutcome,
        error: Option<String>,
    ) -> Result<(), cynode_store::Error> {
        let Some(mut call) = self.call.take() else { return Ok(()) };
        let latency_ms = millis(self.began);
        let error = error.map(|text| clean(&text, MAX_ERROR_CHARS));
        (call.outcome, call.error, call.latency_ms) = (outcome, error, latency_ms);
        self.settle(&mut call);
        match &self.tab {
            Some(tab) => {
                tab.put(Entry::Call(call));
                Ok(())
            }
            None => self.egress.store.enter(vec![Entry::Call(call)]).await,
        }
    }

    /// Says what the call cost, if nobody counted.
    fn settle(&self, call: &mut InferenceCall) {
        let is_refused =
            matches!(call.outcome, InferenceOutcome::Denied | InferenceOutcome::OverBudget);
        if call.cost_micro_usd.is_some() || is_refused {
            return;
        }
        call.cost_micro_usd = match self.heard {
            Heard::Unasked => self.tariff.most().map(|_| 0),
            Heard::Unheard => self.tariff.most(),
            Heard::Said(bytes) => self.tariff.after(bytes),
        };
        call.is_estimate = call.cost_micro_usd.is_some_and(|cost| cost > 0);
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let Some(mut call) = self.call.take() else { return };
        call.latency_ms = millis(self.began);
        self.settle(&mut call);
        if let Some(tab) = &self.tab {
            tab.put(Entry::Call(call));
            return;
        }
        let store = self.egress.store.clone();
        self.egress.tasks.spawn("record of a model call", async move {
            let id = call.id;
            if let Err(error) = store.enter(vec![Entry::Call(call)]).await {
                tracing::error!(
                    call.id = %id, error = &error as &dyn std::error::Error,
                    "call {id} could not be recorded"
                );
            }
        });
    }
}

fn millis(since: Instant) -> i64 {
    i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX)
}

/// A text of somebody else as it is kept: without secrets, without what no database keeps, not endless.
fn clean(text: &str, max_chars: usize) -> String {
    redact(text).chars().filter(|character| *character != '\0').take(max_chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_say_is_kept_without_secrets_and_nul_characters() {
        let needle = "Zk93hQ0vLx72PbNcR5tYw8AeUi4SdGf6";
        let kept = clean(&format!("no model \0ghp_{needle}"), 300);

        assert!(kept.starts_with("no model ") && !kept.contains(needle), "{kept}");
        assert_eq!(clean("a\0bcd", 3), "abc");
    }
}
