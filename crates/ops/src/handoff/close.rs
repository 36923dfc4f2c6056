//! The end of a handoff: its token is revoked and its decisions are kept, whatever ended it.

use cynode_domain::ids::{DecisionId, TokenId};
use cynode_store::{Decision, DecisionStore};
use cynode_wire::handoff::{DecisionRecord, HandoffContext, HandoffKind};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::prepare::Prepared;
use super::{Handoffs, Subject};
use crate::secrets::WithoutSecrets as _;

/// The longest reason that is kept.
const MAX_REASON_CHARS: usize = 2000;
/// Other texts of a decision are words.
const MAX_WORD_CHARS: usize = 200;
/// How many decisions of one handoff are kept.
const MAX_DECISIONS: usize = 100;

/// A handoff that is open. Dropping it ends it in the background.
pub(crate) struct Open {
    handoffs: Handoffs,
    kind: HandoffKind,
    subject: Subject,
    decisions: Vec<DecisionRecord>,
    context: HandoffContext,
    /// What has to be ended; taken by whoever does.
    token: Option<TokenId>,
    _room: Option<OwnedSemaphorePermit>,
}

impl Open {
    pub(super) fn new(
        handoffs: Handoffs,
        (kind, subject): (HandoffKind, Subject),
        prepared: Prepared,
        room: Option<OwnedSemaphorePermit>,
    ) -> Self {
        let Prepared { context, token } = prepared;
        let (decisions, token) = (vec![], Some(token));
        Self { handoffs, kind, subject, decisions, context, token, _room: room }
    }

    /// The context that goes with the handoff.
    pub(crate) fn context(&self) -> HandoffContext {
        self.context.clone()
    }

    /// Notes what was decided.
    pub(crate) fn decided(&mut self, decisions: Vec<DecisionRecord>) {
        self.decisions = decisions;
    }

    /// Ends it now. What has to be written is written also if the caller does not wait for it.
    pub(crate) async fn close(mut self) {
        if let Some(ended) = self.end() {
            let _ = ended.await;
        }
    }

    /// Ends it beside the caller, who may wait for that.
    fn end(&mut self) -> Option<oneshot::Receiver<()>> {
        let closing = self.closing()?;
        let (done, ended) = oneshot::channel();
        self.handoffs.background.spawn("handoff end", async move {
            closing.run().await;
            let _ = done.send(());
        });
        Some(ended)
    }

    fn closing(&mut self) -> Option<Closing> {
        let token = self.token.take()?;
        let project = self.context.project.as_ref().map(|project| project.id);
        Some(Closing {
            handoffs: self.handoffs.clone(),
            kind: self.kind,
            subject: Subject { project, ..self.subject.clone() },
            decisions: std::mem::take(&mut self.decisions),
            token,
        })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        drop(self.end());
    }
}

struct Closing {
    handoffs: Handoffs,
    kind: HandoffKind,
    subject: Subject,
    decisions: Vec<DecisionRecord>,
    token: TokenId,
}

impl Closing {
    /// Failures are told and not returned: the token ends by itself soon.
    async fn run(self) {
        let token = self.token;
        if let Err(error) = self.handoffs.agents.end(token).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the token {token} of a handoff could not be ended"
            );
        }
        let trace_id = self.subject.trace_id.clone();
        if let Err(error) = self.keep().await {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                trace_id,
                "decisions of the project manager were not kept"
            );
        }
    }

    async fn keep(self) -> Result<(), cynode_store::Error> {
        if self.decisions.is_empty() {
            return Ok(());
        }
        let now = self.handoffs.clock.now();
        let subject = &self.subject;
        let rows: Vec<Decision> = self
            .decisions
            .into_iter()
            .take(MAX_DECISIONS)
            .map(|decision| Decision {
                id: DecisionId::generate(),
                handoff: self.kind.as_str().to_owned(),
                user: subject.caller.user,
                project: subject.project,
                task: subject.task,
                run: subject.run,
                thread: subject.thread,
                trace_id: fit(&subject.trace_id, MAX_WORD_CHARS),
                purpose: fit(&decision.purpose, MAX_WORD_CHARS),
                decided_by: decision.by.as_str().to_owned(),
                reason: fit(&decision.reason, MAX_REASON_CHARS),
                input_hash: fit(&decision.input_hash, MAX_WORD_CHARS),
                model: decision.model.as_deref().map(|model| fit(model, MAX_WORD_CHARS)),
                created_at: now,
            })
            .collect();
        self.handoffs
            .store
            .write(move |tx| {
                Box::pin(async move {
                    for row in &rows {
                        tx.decision_insert(row).await?;
                    }
                    Ok(())
                })
            })
            .await
    }
}

fn fit(text: &str, chars: usize) -> String {
    text.to_owned().without_secrets().chars().filter(|c| *c != '\0').take(chars).collect()
}
