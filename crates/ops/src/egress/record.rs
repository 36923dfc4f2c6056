//! One call on record: written when it ended, also when whoever asked went away.

use cynode_domain::ids::InferenceId;
use cynode_domain::model::InferenceOutcome;
use cynode_runtime::redact::redact;
use cynode_store::{Entry, InferenceCall};
use cynode_wire::openai::Usage;
use cynode_wire::providers::Price;
use tokio::time::Instant;

use super::prices::{cost_micro_usd, is_free};
use super::{Egress, Inference, Tab};

const MAX_PURPOSE_CHARS: usize = 100;
const MAX_MODEL_CHARS: usize = 200;
const MAX_ERROR_CHARS: usize = 300;

/// A call under way. Dropped without [`Record::finish`], it is recorded as canceled.
pub(super) struct Record {
    id: InferenceId,
    egress: Egress,
    began: Instant,
    price: Option<Price>,
    /// Where it is written, if not here.
    tab: Option<Tab>,
    /// What is known so far; nothing once it is written.
    call: Option<InferenceCall>,
}

impl Record {
    /// A call that begins now.
    pub(super) fn begin(
        egress: &Egress,
        inference: &Inference,
        prompt_hash: &str,
        (provider, model): (&str, &str),
        price: Option<Price>,
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
            latency_ms: 0,
            first_ms: None,
            outcome: InferenceOutcome::Canceled,
            error: None,
        };
        let (egress, tab, call) = (egress.clone(), inference.tab.clone(), Some(call));
        Self { id, egress, began: Instant::now(), price, tab, call }
    }

    /// The call's id.
    pub(super) fn id(&self) -> InferenceId {
        self.id
    }

    /// The first piece has come.
    pub(super) fn saw_first(&mut self) {
        let elapsed = millis(self.began);
        if let Some(call) = &mut self.call {
            call.first_ms.get_or_insert(elapsed);
        }
    }

    /// What the provider counted.
    pub(super) fn count(&mut self, usage: &Usage) {
        let signed = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        if let Some(call) = &mut self.call {
            call.input_tokens = Some(signed(usage.prompt_tokens));
            call.output_tokens = Some(signed(usage.completion_tokens));
            call.cost_micro_usd = self.price.map(|price| cost_micro_usd(price, usage));
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
        if outcome == InferenceOutcome::Success && is_free(self.price) {
            // Not everybody's own models count what they say.
            call.cost_micro_usd = Some(0);
        }
        match &self.tab {
            Some(tab) => {
                tab.put(Entry::Call(call));
                Ok(())
            }
            None => self.egress.store.enter(vec![Entry::Call(call)]).await,
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let Some(mut call) = self.call.take() else { return };
        call.latency_ms = millis(self.began);
        if let Some(tab) = &self.tab {
            tab.put(Entry::Call(call));
            return;
        }
        let store = self.egress.store.clone();
        self.egress.tasks.spawn("record of a model call", async move {
            let id = call.id;
            if let Err(error) = store.enter(vec![Entry::Call(call)]).await {
                tracing::error!(call.id = %id, %error, "call {id} could not be recorded");
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
