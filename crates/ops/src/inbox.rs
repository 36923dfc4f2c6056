//! The project manager's inbox: what agents report is handed over, oldest first.
//!
//! A reconciler: what was not processed is in the database, so a restart in the middle goes on where it
//! was. A report is processed once the project manager has answered; if the process ends in between, the
//! report is handed over again. What only a person can answer waits for the person.

use std::collections::HashMap;
use std::time::Duration;

use cynode_domain::agent::MessageKind;
use cynode_domain::ids::MessageId;
use cynode_domain::report::{Report, ReportKind};
use cynode_runtime::clock::SharedClock;
use cynode_runtime::shutdown::Shutdown;
use cynode_store::{
    Message, MessageFilter, MessageOrder, MessageStore, Store, TaskStore, Tx, WorkflowStore,
};
use cynode_wire::handoff::AgentReportHandoff;
use serde_json::json;
use tokio::time::Instant;

use crate::Signals;
use crate::handoff::{HandoffError, Handoffs, Subject};
use crate::signals::Topic;
use crate::workflow::owner;

/// How long it waits for a signal before it looks anyway.
const INTERVAL: Duration = Duration::from_secs(5);
const PAGE: u32 = 50;
/// How often a report is handed over that the project manager cannot deal with.
const TRIES: u32 = 3;

/// The project manager's inbox.
pub struct Inbox {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    handoffs: Handoffs,
    /// How often each report failed here.
    failures: HashMap<MessageId, u32>,
}

impl Inbox {
    /// The inbox of the project manager behind `handoffs`.
    pub fn new((store, clock, signals): (Store, SharedClock, Signals), handoffs: Handoffs) -> Self {
        Self { store, clock, signals, handoffs, failures: HashMap::new() }
    }

    /// Hands over what comes in until the process stops.
    pub async fn run(mut self, shutdown: Shutdown) {
        if !self.handoffs.is_configured() {
            return;
        }
        let mut listener = self.signals.listen(Topic::Events);
        loop {
            if let Err(error) = self.activate().await {
                tracing::warn!(%error, "reports of agents wait for the project manager");
            }
            tokio::select! {
                () = shutdown.triggered() => return,
                _ = listener.wait(Instant::now() + INTERVAL) => {}
            }
        }
    }

    /// Hands over every report that waits.
    pub async fn activate(&mut self) -> Result<(), HandoffError> {
        let mut beyond = None;
        loop {
            let waiting = self.waiting(beyond).await?;
            for message in &waiting {
                beyond = Some(message.sent.id);
                if self.failures.get(&message.sent.id).is_some_and(|count| *count >= TRIES) {
                    continue;
                }
                self.hand_over(message).await?;
            }
            if waiting.len() < usize::try_from(PAGE).unwrap_or(usize::MAX) {
                return Ok(());
            }
        }
    }

    async fn waiting(&self, beyond: Option<MessageId>) -> Result<Vec<Message>, HandoffError> {
        let filter = MessageFilter {
            kind: Some(MessageKind::Report),
            is_unprocessed: true,
            order: MessageOrder::OldestFirst,
            beyond,
            limit: PAGE,
            ..MessageFilter::default()
        };
        self.store
            .read(move |tx| {
                Box::pin(async move { Ok::<_, HandoffError>(tx.message_list(&filter).await?) })
            })
            .await
    }

    async fn hand_over(&mut self, message: &Message) -> Result<(), HandoffError> {
        let id = message.sent.id;
        let Some(body) = report_of(message) else { return Ok(()) };
        let task = message.sent.task;
        let subject = self.store.read(move |tx| Box::pin(subject(tx, task))).await?;
        let Some(subject) = subject else { return Ok(()) };
        match self.handoffs.agent_report(&subject, body).await {
            Ok(answer) => {
                let now = self.clock.now();
                self.store
                    .write(move |tx| {
                        Box::pin(async move {
                            Ok::<_, HandoffError>(tx.message_process(id, now).await?)
                        })
                    })
                    .await?;
                tracing::info!(message.id = %id, task.id = %task, "a report was dealt with: {}", answer.summary);
                Ok(())
            }
            // Nobody is there: the others wait too.
            Err(error) if error.may_repeat() => Err(error),
            Err(error) => {
                *self.failures.entry(id).or_default() += 1;
                tracing::warn!(message.id = %id, %error, "a report was not dealt with");
                Ok(())
            }
        }
    }
}

/// The report in a message, unless only a person can answer it.
fn report_of(message: &Message) -> Option<AgentReportHandoff> {
    let kind: ReportKind = message.sent.subtype.parse().ok()?;
    if matches!(kind, ReportKind::NeedsClarification | ReportKind::RequestHumanInput) {
        return None;
    }
    let tagged = json!({ "messageType": kind, "payload": message.sent.payload });
    let report: Report = serde_json::from_value(tagged).ok()?;
    Some(AgentReportHandoff { from: message.sent.sender.clone(), report })
}

/// For whom the report is dealt with; nobody once its task is closed.
async fn subject(
    tx: &mut Tx,
    task: cynode_domain::ids::TaskId,
) -> Result<Option<Subject>, HandoffError> {
    let Some(task) = tx.task_get(task).await?.filter(|task| !task.status.is_terminal()) else {
        return Ok(None);
    };
    let run = tx.run_of_task(task.asked.id).await?;
    let trace = run.as_ref().map(|run| run.trace.to_string()).unwrap_or_default();
    Ok(Some(Subject {
        task: Some(task.asked.id),
        run: run.map(|run| run.id),
        ..Subject::of(owner(tx, task.asked.created_by).await?, trace)
    }))
}
