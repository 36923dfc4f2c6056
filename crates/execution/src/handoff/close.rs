//! Closing a handoff: its token is revoked and its decisions are recorded, however it ended.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{DecisionId, ProfileId, TokenId, TraceEventId, TraceId};
use cynode_domain::trace::{TraceEvent, TraceEvents};
use cynode_store::{ManagerDecision, TraceEventRow};
use cynode_wire::handoff::{DecisionRecord, HandoffContext, HandoffKind};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::prepare::PreparedHandoff;
use super::{HandoffService, HandoffSubject};
use cynode_resources::secrets::RedactSecrets;

/// Limit of a recorded reason.
const MAX_REASON_CHARS: usize = 2000;
/// Limit of every other text of a decision.
const MAX_WORD_CHARS: usize = 200;
/// How many decisions of one handoff are recorded.
const MAX_DECISIONS: usize = 100;

/// An open handoff. Dropping it closes it in the background.
pub struct OpenHandoff {
    handoffs: HandoffService,
    kind: HandoffKind,
    subject: HandoffSubject,
    decisions: Vec<DecisionRecord>,
    trace: TraceEvents,
    context: HandoffContext,
    /// The token to revoke; `None` once closing has started.
    token: Option<TokenId>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl OpenHandoff {
    pub(super) fn new(
        handoffs: HandoffService,
        kind: HandoffKind,
        subject: HandoffSubject,
        prepared: PreparedHandoff,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Self {
        let PreparedHandoff { context, token } = prepared;
        let (decisions, trace, token) = (vec![], TraceEvents::default(), Some(token));
        Self { handoffs, kind, subject, decisions, trace, context, token, _permit: permit }
    }

    /// The context that is sent with the handoff.
    pub fn context(&self) -> HandoffContext {
        self.context.clone()
    }

    /// Adds the excerpts of the project that fit the subject.
    pub(super) async fn add_excerpts(&mut self) {
        let excerpts = self.handoffs.find_excerpts(&self.subject, &self.context).await;
        self.context.excerpts = excerpts;
    }

    /// Sets the decisions to record at the end.
    pub fn decided(&mut self, decisions: Vec<DecisionRecord>) {
        self.decisions = decisions;
    }

    /// Sets the events to record at the end.
    pub fn recorded(&mut self, trace: TraceEvents) {
        self.trace = trace;
    }

    /// Closes the handoff. The writes complete even if the caller stops waiting.
    pub async fn close(mut self) {
        if let Some(ended) = self.close_in_background() {
            let _ = ended.await;
        }
    }

    /// Closes the handoff in the background; the receiver completes when it is closed.
    fn close_in_background(&mut self) -> Option<oneshot::Receiver<()>> {
        let closing = self.start_closing()?;
        let (done, ended) = oneshot::channel();
        self.handoffs.background.spawn("handoff end", async move {
            closing.run().await;
            let _ = done.send(());
        });
        Some(ended)
    }

    fn start_closing(&mut self) -> Option<HandoffClosing> {
        let token = self.token.take()?;
        let project = self.context.project.as_ref().map(|project| project.id);
        Some(HandoffClosing {
            handoffs: self.handoffs.clone(),
            kind: self.kind,
            subject: HandoffSubject { project, ..self.subject.clone() },
            decisions: std::mem::take(&mut self.decisions),
            trace: std::mem::take(&mut self.trace),
            profile: self.context.profile_id,
            token,
        })
    }
}

impl Drop for OpenHandoff {
    fn drop(&mut self) {
        drop(self.close_in_background());
    }
}

struct HandoffClosing {
    handoffs: HandoffService,
    kind: HandoffKind,
    subject: HandoffSubject,
    decisions: Vec<DecisionRecord>,
    trace: TraceEvents,
    profile: Option<ProfileId>,
    token: TokenId,
}

impl HandoffClosing {
    /// Failures are logged and not returned: the token expires soon anyway.
    async fn run(self) {
        let token = self.token;
        if let Err(error) = self.handoffs.agents.end(token).await {
            tracing::warn!(
                token.id = %token, error = &error as &dyn std::error::Error,
                "handoff token not revoked"
            );
        }
        let trace_id = self.subject.trace_id.clone();
        if let Err(error) = self.record_work().await {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                trace_id,
                "decisions and trace events not recorded"
            );
        }
    }

    /// Records the decisions and the trace events, in one transaction.
    async fn record_work(self) -> Result<(), cynode_store::Error> {
        if self.decisions.is_empty() && self.trace.is_empty() {
            return Ok(());
        }
        let now = self.handoffs.clock.now();
        let subject = &self.subject;
        let events = trace_rows(self.kind, subject, self.profile, self.trace, now);
        let rows: Vec<ManagerDecision> = self
            .decisions
            .into_iter()
            .take(MAX_DECISIONS)
            .map(|decision| ManagerDecision {
                id: DecisionId::generate(),
                handoff: self.kind.as_str().to_owned(),
                user: subject.caller.user,
                project: subject.project,
                task: subject.task,
                run: subject.run,
                thread: subject.thread,
                trace_id: sanitize_decision_text(&subject.trace_id, MAX_WORD_CHARS),
                purpose: sanitize_decision_text(&decision.purpose, MAX_WORD_CHARS),
                decided_by: decision.by.as_str().to_owned(),
                reason: sanitize_decision_text(&decision.reason, MAX_REASON_CHARS),
                input_hash: sanitize_decision_text(&decision.input_hash, MAX_WORD_CHARS),
                model: decision
                    .model
                    .as_deref()
                    .map(|model| sanitize_decision_text(model, MAX_WORD_CHARS)),
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
                    for row in &events {
                        tx.trace_event_insert(row).await?;
                    }
                    Ok(())
                })
            })
            .await
    }
}

/// The rows of events, under the trace and in the profile of the handoff, whatever the agent names.
fn trace_rows(
    kind: HandoffKind,
    subject: &HandoffSubject,
    profile: Option<ProfileId>,
    trace: TraceEvents,
    now: DateTime<Utc>,
) -> Vec<TraceEventRow> {
    let Ok(id) = subject.trace_id.parse::<TraceId>() else { return vec![] };
    if trace.dropped() > 0 {
        tracing::warn!(trace_id = %id, trace.dropped = trace.dropped(), "trace events dropped");
    }
    let row = |mut event: TraceEvent| {
        (event.trace, event.profile) = (id, profile);
        let fields = std::mem::take(&mut event.entry.fields);
        event.entry.fields = fields.map_words(RedactSecrets::redact_secrets);
        TraceEventRow {
            id: TraceEventId::generate(),
            user: subject.caller.user,
            task: subject.task,
            run: subject.run,
            job: None,
            handoff: Some(kind.as_str().to_owned()),
            event,
            recorded_at: now,
        }
    };
    trace.into_events().into_iter().map(row).collect()
}

fn sanitize_decision_text(text: &str, chars: usize) -> String {
    text.to_owned().redact_secrets().chars().filter(|c| *c != '\0').take(chars).collect()
}
