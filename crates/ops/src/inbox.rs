//! The project manager's inbox: what agents report is handed over, oldest first.
//!
//! A reconciler: what was not processed is in the database, so a restart in the middle goes on where it
//! was. Every orchestrator has an inbox; a report is claimed by one of them for as long as its handoff
//! takes, and processed once the project manager has answered. If that orchestrator dies, the claim runs
//! out and another takes the report up. What only a person can answer waits for the person.
//!
//! Invariant: that a report is begun is counted before it is. One that fails, or ends whoever deals with
//! it, is given up after a few times, with the reason on record, and stays in sight as unprocessed. One
//! that is in hand when its orchestrator is told to stop is given back, and was not begun.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use cynode_domain::agent::MessageKind;
use cynode_domain::ids::{MessageId, TaskId};
use cynode_domain::report::{Report, ReportKind, WorkDone};
use cynode_runtime::clock::SharedClock;
use cynode_runtime::shutdown::Shutdown;
use cynode_store::{
    Began, ClaimedReport, EventStore, Message, ReportClaim, ReportClaimStore, Store, TaskStore, Tx,
    WorkflowStore,
};
use cynode_wire::handoff::AgentReportHandoff;
use futures_util::FutureExt as _;
use serde_json::json;
use tokio::time::Instant;

use crate::Signals;
use crate::handoff::{HandoffError, Handoffs, Subject};
use crate::signals::Topic;
use crate::tasks::event;
use crate::workflow::owner;

/// How long it waits for a signal before it looks anyway.
const INTERVAL: Duration = Duration::from_secs(5);
/// How often a report is begun that the project manager cannot deal with, or that nobody survives.
const TRIES: u32 = 5;
/// What only a person can answer.
const FOR_PEOPLE: [&str; 2] =
    [ReportKind::NeedsClarification.as_str(), ReportKind::RequestHumanInput.as_str()];

/// How long claims and pauses of an inbox are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InboxOptions {
    /// How long a claim lasts that nobody renews; it is renewed at a third of that.
    pub lease: Duration,
    /// The pause after the first failure; each further one is twice as long.
    pub pause: Duration,
}

impl Default for InboxOptions {
    fn default() -> Self {
        Self { lease: Duration::from_secs(10), pause: Duration::from_secs(1) }
    }
}

/// The project manager's inbox. Any number of them may share a database.
pub struct Inbox {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    handoffs: Handoffs,
    options: InboxOptions,
}

impl Inbox {
    /// The inbox of the project manager behind `handoffs`.
    pub fn new((store, clock, signals): (Store, SharedClock, Signals), handoffs: Handoffs) -> Self {
        Self { store, clock, signals, handoffs, options: InboxOptions::default() }
    }

    /// The same inbox with other claims and pauses.
    #[must_use]
    pub fn with(self, options: InboxOptions) -> Self {
        Self { options, ..self }
    }

    /// Hands over what comes in until the process stops.
    pub async fn run(self, shutdown: Shutdown) {
        if !self.handoffs.is_configured() {
            return;
        }
        let mut listener = self.signals.listen(Topic::Events);
        loop {
            if let Err(error) = self.activate_until(&shutdown).await {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "reports of agents wait for the project manager"
                );
            }
            tokio::select! {
                () = shutdown.triggered() => return,
                _ = listener.wait(Instant::now() + INTERVAL) => {}
            }
        }
    }

    /// Hands over every report that waits and that nobody else deals with.
    pub async fn activate(&self) -> Result<(), HandoffError> {
        self.activate_until(&Shutdown::new()).await
    }

    async fn activate_until(&self, stop: &Shutdown) -> Result<(), HandoffError> {
        while !stop.is_triggered()
            && let Some(report) = self.claim().await?
        {
            self.survive(report, stop).await?;
        }
        Ok(())
    }

    /// Deals with a report. A fault of ours in one of them ends neither the others nor the process; the
    /// report is taken up again when its claim has run out, a few times.
    async fn survive(&self, report: ClaimedReport, stop: &Shutdown) -> Result<(), HandoffError> {
        let id = report.claim.message;
        let dealt = AssertUnwindSafe(self.deal(report, stop)).catch_unwind().await;
        dealt.unwrap_or_else(|_| {
            tracing::error!(message.id = %id, "dealing with the report {id} panicked");
            Ok(())
        })
    }

    /// The next report, if there is one. Where nothing waits, nothing is written.
    async fn claim(&self) -> Result<Option<ClaimedReport>, cynode_store::Error> {
        let waits =
            self.store.read(|tx| Box::pin(async move { tx.report_waits(FOR_PEOPLE).await }));
        if !waits.await? {
            return Ok(None);
        }
        let (lease_ms, now) = (millis(self.options.lease), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    tx.report_close(FOR_PEOPLE, now).await?;
                    tx.report_claim(lease_ms, FOR_PEOPLE).await
                })
            })
            .await
    }

    async fn deal(&self, report: ClaimedReport, stop: &Shutdown) -> Result<(), HandoffError> {
        let ClaimedReport { message, claim, begun } = report;
        if begun > TRIES {
            let why = format!("it was begun {TRIES} times, and nobody came to the end of it");
            return self.give_up(claim, message.sent.task, why).await;
        }
        let Some(body) = report_of(&message) else {
            let why = "this version cannot read it".to_owned();
            return self.give_up(claim, message.sent.task, why).await;
        };
        let task = message.sent.task;
        let subject = self.store.read(move |tx| Box::pin(subject(tx, task))).await?;
        // Its task was closed since: nobody claims it any more.
        let Some(subject) = subject else { return Ok(()) };
        let answer = tokio::select! {
            biased;
            () = stop.triggered() => return self.put_off(claim, Duration::ZERO, Began::No).await,
            answer = self.handoffs.agent_report(&subject, body) => answer,
            // Whoever has it now hands it over; what is dropped here ends the first handoff.
            lost = self.keep_on(claim) => return lost,
        };
        match answer {
            Ok(answer) => {
                let (id, summary) = (claim.message, answer.summary);
                tracing::info!(message.id = %id, task.id = %task, "a report was dealt with: {summary}");
                self.end(claim, (task, answer.needs_person)).await
            }
            Err(error) => self.after(claim, (task, begun), error).await,
        }
    }

    /// What follows from a handoff that brought no answer.
    async fn after(
        &self,
        claim: ReportClaim,
        (task, begun): (TaskId, u32),
        error: HandoffError,
    ) -> Result<(), HandoffError> {
        let id = claim.message;
        if error.is_unstarted() {
            self.put_off(claim, Duration::ZERO, Began::No).await?;
            // Nobody is there: the others wait too.
            return Err(error);
        }
        tracing::warn!(
            message.id = %id, error = &error as &dyn std::error::Error,
            "a report was not dealt with"
        );
        if begun >= TRIES {
            return self
                .give_up(claim, task, format!("given up after {begun} tries: {error}"))
                .await;
        }
        // Who failed at this one, or went away with it, may do well at the next.
        let pause = self.options.pause * (1 << begun.saturating_sub(1).min(TRIES));
        self.put_off(claim, pause, Began::Yes).await
    }

    /// Renews the claim until it is lost.
    async fn keep_on(&self, claim: ReportClaim) -> Result<(), HandoffError> {
        let lease = self.options.lease;
        let (lease_ms, mut until) = (millis(lease), Instant::now() + lease);
        loop {
            tokio::time::sleep(lease / 3).await;
            let kept: Result<bool, cynode_store::Error> = self
                .store
                .write(move |tx| Box::pin(async move { tx.report_keep(claim, lease_ms).await }))
                .await;
            match kept {
                Ok(true) => until = Instant::now() + lease,
                Ok(false) => return Ok(()),
                // The claim lasts longer than a database that is away for a moment.
                Err(_) if Instant::now() < until => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn put_off(
        &self,
        claim: ReportClaim,
        pause: Duration,
        began: Began,
    ) -> Result<(), HandoffError> {
        let pause_ms = millis(pause);
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    tx.report_put_off(claim, pause_ms, began).await?;
                    Ok(())
                })
            })
            .await
    }

    /// The report is dealt with; what only a person can decide is told to everybody who watches.
    async fn end(
        &self,
        claim: ReportClaim,
        (task, needs_person): (TaskId, Option<String>),
    ) -> Result<(), HandoffError> {
        let now = self.clock.now();
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let task = tx.task_lock(task).await?;
                    let is_ours = tx.report_end(claim, now).await?;
                    if let (true, Some(task), Some(what)) = (is_ours, task, needs_person) {
                        let data = json!({ "message_id": claim.message, "reason": what });
                        tx.event_append(&event(&task, "agent.needs_person", data)).await?;
                    }
                    Ok::<_, HandoffError>(())
                })
            })
            .await?;
        self.signals.send(Topic::Events);
        Ok(())
    }

    /// Leaves a report to people, and tells everybody who watches its task.
    async fn give_up(
        &self,
        claim: ReportClaim,
        task: TaskId,
        why: String,
    ) -> Result<(), HandoffError> {
        let id = claim.message;
        tracing::warn!(message.id = %id, task.id = %task, "a report is left to people: {why}");
        self.store
            .write(move |tx| Box::pin(async move { given_up(tx, claim, task, &why).await }))
            .await?;
        self.signals.send(Topic::Events);
        Ok(())
    }
}

async fn given_up(
    tx: &mut Tx,
    claim: ReportClaim,
    task: TaskId,
    why: &str,
) -> Result<(), HandoffError> {
    let Some(task) = tx.task_lock(task).await? else { return Ok(()) };
    if tx.report_give_up(claim, why).await? {
        let data = json!({ "message_id": claim.message, "reason": why });
        tx.event_append(&event(&task, "agent.report_given_up", data)).await?;
    }
    Ok(())
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// The report in a message. Work that was handed in is reported as done.
fn report_of(message: &Message) -> Option<AgentReportHandoff> {
    let sent = &message.sent;
    let report = if sent.kind == MessageKind::Submission {
        Report::WorkCompleted(WorkDone {
            files_modified: vec![],
            summary: sent.content.clone(),
            artifact_path: sent.payload["artifact_path"].as_str().map(str::to_owned),
            work_unit_id: sent.work_unit.clone(),
        })
    } else {
        let kind: ReportKind = sent.subtype.parse().ok()?;
        serde_json::from_value(json!({ "messageType": kind, "payload": sent.payload })).ok()?
    };
    let report_id: MessageId = sent.id;
    let (from, component) = (sent.sender.clone(), sent.component.clone());
    Some(AgentReportHandoff { report_id, from, component, report })
}

/// For whom the report is dealt with; nobody once its task is closed.
async fn subject(tx: &mut Tx, task: TaskId) -> Result<Option<Subject>, HandoffError> {
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
