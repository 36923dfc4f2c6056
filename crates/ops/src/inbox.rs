//! The project manager's inbox: every message that agents send it leads to an action, or waits for a person.
//!
//! What follows from a message is [`Disposition::of`] its kind: it stays on record, another agent gets it (`forward`),
//! the project manager decides, or a person answers ([`crate::Messages::answer`]). A reconciler: what was not
//! processed is in the database, so a restart in the middle goes on where it was. Every orchestrator has an inbox; a
//! message is claimed by one of them for as long as its handoff takes, and processed once the project manager has
//! answered. An inbox claims no message of a task that it has in hand, even if that claim ran out. If that orchestrator dies, the claim runs out and another takes the message up.
//!
//! Messages of different tasks are processed concurrently, up to [`InboxOptions::at_once`]; those of one task one
//! after the other, oldest first. A message that waits for a person holds up no other.
//!
//! Invariant: that a report is begun is counted before it is. One that fails, or ends whoever deals with
//! it, is given up after a few times, with the reason on record, and waits for a person. One
//! that is in hand when its orchestrator is told to stop is given back, and was not begun.

mod content;
mod forward;

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use cynode_domain::disposition::Disposition;
use cynode_domain::ids::TaskId;
use cynode_runtime::clock::SharedClock;
use cynode_runtime::shutdown::Shutdown;
use cynode_store::{
    Began, ClaimedReport, EventStore, ReportClaim, ReportClaimStore, Store, TaskStore, Tx,
    WorkflowStore,
};
use futures_util::FutureExt as _;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use serde_json::json;
use tokio::time::Instant;

use self::content::report_of;
use self::forward::{Forwarded, forward};
use crate::Signals;
use crate::handoff::{HandoffError, Handoffs, Subject};
use crate::messages::reason_for_person;
use crate::signals::Topic;
use crate::tasks::event;
use crate::workflow::owner;

/// How long it waits for a signal before it looks anyway.
const INTERVAL: Duration = Duration::from_secs(5);
/// How often a report is begun that the project manager cannot deal with, or that nobody survives.
const TRIES: u32 = 5;

/// How long claims and pauses of an inbox are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InboxOptions {
    /// How long a claim lasts that nobody renews; it is renewed at a third of that.
    pub lease: Duration,
    /// The pause after the first failure; each further one is twice as long.
    pub pause: Duration,
    /// How many messages, each of another task, are processed at once.
    pub at_once: usize,
}

impl Default for InboxOptions {
    fn default() -> Self {
        Self { lease: Duration::from_secs(10), pause: Duration::from_secs(1), at_once: 8 }
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

    /// Processes what comes in until the process stops.
    pub async fn run(self, shutdown: Shutdown) {
        let mut listener = self.signals.listen(Topic::Events);
        let mut in_hand = FuturesUnordered::new();
        let mut tasks = Vec::new();
        let mut may_claim = true;
        while !shutdown.is_triggered() {
            while may_claim && in_hand.len() < self.options.at_once.max(1) {
                match self.claim(&tasks).await {
                    Ok(Some(report)) => {
                        tasks.push(report.message.sent.task);
                        in_hand.push(self.survive(report, &shutdown));
                    }
                    Ok(None) => may_claim = false,
                    Err(error) => {
                        may_claim = false;
                        warn_of(&error.into());
                    }
                }
            }
            tokio::select! {
                () = shutdown.triggered() => {}
                Some((task, dealt)) = in_hand.next(), if !in_hand.is_empty() => {
                    tasks.retain(|other| *other != task);
                    may_claim = dealt.is_ok();
                    dealt.unwrap_or_else(|error| warn_of(&error));
                }
                _ = listener.wait(Instant::now() + INTERVAL) => may_claim = true,
            }
        }
        // Each of them sees the shutdown and gives its claim back.
        while let Some((_, dealt)) = in_hand.next().await {
            dealt.unwrap_or_else(|error| warn_of(&error));
        }
    }

    /// Processes every message that waits, and returns once none is left to claim.
    pub async fn activate(&self) -> Result<(), HandoffError> {
        let stop = Shutdown::new();
        let mut in_hand = FuturesUnordered::new();
        let mut tasks = Vec::new();
        loop {
            while in_hand.len() < self.options.at_once.max(1)
                && let Some(report) = self.claim(&tasks).await?
            {
                tasks.push(report.message.sent.task);
                in_hand.push(self.survive(report, &stop));
            }
            match in_hand.next().await {
                Some((task, Ok(()))) => tasks.retain(|other| *other != task),
                Some((_, Err(error))) => {
                    // The others in hand come to their end; what was given back is not claimed again at once.
                    while in_hand.next().await.is_some() {}
                    return Err(error);
                }
                None => return Ok(()),
            }
        }
    }

    /// Deals with a report. A fault of ours in one of them ends neither the others nor the process; the
    /// report is taken up again when its claim has run out, a few times. Returns the task, whose messages may be
    /// claimed from then on.
    async fn survive(
        &self,
        report: ClaimedReport,
        stop: &Shutdown,
    ) -> (TaskId, Result<(), HandoffError>) {
        let (id, task) = (report.claim.message, report.message.sent.task);
        let dealt = AssertUnwindSafe(self.deal(report, stop)).catch_unwind().await;
        let dealt = dealt.unwrap_or_else(|_| {
            tracing::error!(message.id = %id, "processing the message {id} panicked");
            Ok(())
        });
        (task, dealt)
    }

    /// The next message of a task that is not in hand, if there is one. Where nothing waits, nothing is written.
    async fn claim(
        &self,
        in_hand: &[TaskId],
    ) -> Result<Option<ClaimedReport>, cynode_store::Error> {
        let waits = self.store.read(|tx| Box::pin(async move { tx.report_waits().await }));
        if !waits.await? {
            return Ok(None);
        }
        let (lease_ms, now) = (millis(self.options.lease), self.clock.now());
        let in_hand = in_hand.to_vec();
        self.store
            .write(move |tx| {
                let in_hand = in_hand.clone();
                Box::pin(async move {
                    tx.report_close(now).await?;
                    tx.report_claim(lease_ms, &in_hand).await
                })
            })
            .await
    }

    async fn deal(&self, report: ClaimedReport, stop: &Shutdown) -> Result<(), HandoffError> {
        let (claim, task) = (report.claim, report.message.sent.task);
        if report.begun > TRIES {
            let why = format!("it was begun {TRIES} times, and nobody came to the end of it");
            return self.give_up(claim, task, why).await;
        }
        let sent = &report.message.sent;
        match Disposition::of(sent.kind, &sent.subtype) {
            Disposition::Record => self.end(claim).await,
            Disposition::AskPerson => self.ask_person(claim, task, reason_for_person(sent)).await,
            Disposition::Forward => {
                let (message, now) = (report.message.clone(), self.clock.now());
                let forwarded =
                    self.store.write(move |tx| Box::pin(forward(tx, claim, message, now))).await?;
                self.signals.send(Topic::Events);
                match forwarded {
                    Forwarded::Done => Ok(()),
                    Forwarded::NobodyThere => self.decide(report, stop).await,
                }
            }
            Disposition::Decide => self.decide(report, stop).await,
        }
    }

    /// Has the project manager decide and act.
    async fn decide(&self, report: ClaimedReport, stop: &Shutdown) -> Result<(), HandoffError> {
        let ClaimedReport { message, claim, begun } = report;
        let task = message.sent.task;
        if !self.handoffs.is_configured() {
            let why = "no project manager is configured that could answer".to_owned();
            return self.ask_person(claim, task, why).await;
        }
        let Some(body) = report_of(&message) else {
            let why = "this version cannot read it".to_owned();
            return self.give_up(claim, task, why).await;
        };
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
                tracing::info!(message.id = %id, task.id = %task, "message processed: {summary}");
                match answer.needs_person {
                    Some(why) => self.ask_person(claim, task, why).await,
                    None => self.end(claim).await,
                }
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

    /// The message is processed.
    async fn end(&self, claim: ReportClaim) -> Result<(), HandoffError> {
        let now = self.clock.now();
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    tx.report_end(claim, now).await?;
                    Ok::<_, HandoffError>(())
                })
            })
            .await?;
        self.signals.send(Topic::Events);
        Ok(())
    }

    /// Leaves a message to a person, and tells everybody who watches its task.
    async fn ask_person(
        &self,
        claim: ReportClaim,
        task: TaskId,
        why: String,
    ) -> Result<(), HandoffError> {
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let task = tx.task_lock(task).await?;
                    if let (true, Some(task)) = (tx.report_ask_person(claim, &why).await?, task) {
                        let data = json!({ "message_id": claim.message, "reason": why });
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

fn warn_of(error: &HandoffError) {
    tracing::warn!(
        error = error as &dyn std::error::Error,
        "messages of agents wait for the project manager"
    );
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
