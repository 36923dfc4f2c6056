//! The project manager's inbox: every message of an agent is processed, or waits for a person.
//!
//! The kind of a message decides its [`Disposition`]: it is only recorded, forwarded to another
//! agent (`forward`), decided by the project manager, or answered by a person
//! ([`crate::AgentMessages::answer`]). The inbox is a reconciler over the database, so a restart resumes
//! where it stopped. Every orchestrator runs one. A message is claimed by one of them under a lease
//! for the duration of its handoff, and processed once the project manager has answered. An inbox
//! claims no message of a task that it already processes, even if that lease has expired. If an
//! orchestrator dies, its lease expires and another one claims the message.
//!
//! Messages of different tasks are processed concurrently, up to [`InboxOptions::at_once`]; those
//! of one task one after another, oldest first. A message that waits for a person blocks no other.
//!
//! Invariant: an attempt is counted before it starts. A message whose processing fails, or kills
//! its process, is abandoned after a few attempts, with the reason recorded, and waits for a
//! person. A message in progress at shutdown is released, and that attempt is not counted.

mod claims;
mod forward;
mod reports;

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use cynode_domain::backoff::Backoff;
use cynode_domain::disposition::Disposition;
use cynode_domain::ids::TaskId;
use cynode_execution::workflow::task_owner;
use cynode_execution::{handoff::HandoffError, handoff::HandoffService, handoff::HandoffSubject};
use cynode_resources::Signals;
use cynode_resources::signals::Topic;
use cynode_runtime::clock::SharedClock;
use cynode_runtime::shutdown::Shutdown;
use cynode_store::{AttemptStarted, ClaimedReport, ReportClaim, Store, Tx};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::time::Instant;

use self::forward::{ForwardOutcome, forward_message};
use self::reports::to_report;
use crate::messages::reason_for_person;

/// Poll interval without a signal.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Maximum attempts per message.
const TRIES: u32 = 5;

/// Lease and retry settings of an inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InboxOptions {
    /// Lease duration; renewed every third of it.
    pub lease: Duration,
    /// Backoff after the first failure; doubles each time.
    pub pause: Duration,
    /// Maximum messages processed concurrently, each of a different task.
    pub at_once: usize,
}

impl Default for InboxOptions {
    fn default() -> Self {
        Self { lease: Duration::from_secs(10), pause: Duration::from_secs(1), at_once: 8 }
    }
}

/// Processes messages for the project manager. Any number of them may share a database.
pub struct Inbox {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    handoffs: HandoffService,
    options: InboxOptions,
}

/// What the inbox waits for.
enum InboxEvent {
    Claimed(Box<Result<Option<ClaimedReport>, cynode_store::Error>>),
    Processed(TaskId, Result<(), HandoffError>),
}

impl Inbox {
    /// Creates the inbox of the project manager behind `handoffs`.
    pub fn new(
        store: Store,
        clock: SharedClock,
        signals: Signals,
        handoffs: HandoffService,
    ) -> Self {
        Self { store, clock, signals, handoffs, options: InboxOptions::default() }
    }

    /// Replaces the options.
    #[must_use]
    pub fn with(self, options: InboxOptions) -> Self {
        Self { options, ..self }
    }

    /// Processes messages until shutdown.
    ///
    /// Polls the claim together with the messages that are being processed: one of them may be the next in line to write,
    /// and a claim that is awaited alone would wait for it forever.
    pub async fn run(self, shutdown: Shutdown) {
        let mut listener = self.signals.subscribe(Topic::Messages);
        let mut in_flight: FuturesUnordered<BoxFuture<'_, InboxEvent>> = FuturesUnordered::new();
        let mut tasks = Vec::new();
        let (mut may_claim, mut is_claiming) = (true, false);
        while !shutdown.is_triggered() {
            if may_claim && !is_claiming && tasks.len() < self.options.at_once.max(1) {
                is_claiming = true;
                let (inbox, busy) = (&self, tasks.clone());
                in_flight.push(Box::pin(async move {
                    InboxEvent::Claimed(Box::new(inbox.claim_next(&busy).await))
                }));
            }
            tokio::select! {
                () = shutdown.triggered() => {}
                Some(event) = in_flight.next(), if !in_flight.is_empty() => match event {
                    InboxEvent::Processed(task, dealt) => {
                        tasks.retain(|other| *other != task);
                        may_claim = dealt.is_ok();
                        dealt.unwrap_or_else(|error| log_suspended(&error));
                    }
                    InboxEvent::Claimed(claimed) => {
                        is_claiming = false;
                        match *claimed {
                            Ok(Some(report)) => {
                                tasks.push(report.message.sent.task);
                                in_flight.push(Box::pin(self.process_claimed(report, &shutdown)));
                            }
                            Ok(None) => may_claim = false,
                            Err(error) => {
                                may_claim = false;
                                log_suspended(&error.into());
                            }
                        }
                    }
                },
                _ = listener.wait(Instant::now() + POLL_INTERVAL) => may_claim = true,
            }
        }
        // Each sees the shutdown and releases its claim.
        while let Some(event) = in_flight.next().await {
            let released = match event {
                InboxEvent::Processed(_, dealt) => dealt,
                InboxEvent::Claimed(claimed) => match *claimed {
                    Ok(Some(report)) => {
                        self.release_claim(report.claim, Duration::ZERO, AttemptStarted::No).await
                    }
                    Ok(None) | Err(_) => Ok(()),
                },
            };
            released.unwrap_or_else(|error| log_suspended(&error));
        }
    }

    async fn process_claimed(&self, report: ClaimedReport, stop: &Shutdown) -> InboxEvent {
        let (task, dealt) = self.process_catching_panics(report, stop).await;
        InboxEvent::Processed(task, dealt)
    }

    /// Processes all waiting messages; returns once none can be claimed.
    pub async fn process_waiting(&self) -> Result<(), HandoffError> {
        let stop = Shutdown::new();
        let mut in_flight = FuturesUnordered::new();
        let mut tasks = Vec::new();
        loop {
            while in_flight.len() < self.options.at_once.max(1)
                && let Some(report) = self.claim_next(&tasks).await?
            {
                tasks.push(report.message.sent.task);
                in_flight.push(self.process_catching_panics(report, &stop));
            }
            match in_flight.next().await {
                Some((task, Ok(()))) => tasks.retain(|other| *other != task),
                Some((_, Err(error))) => {
                    // Let the others finish; released messages are not claimed again at once.
                    while in_flight.next().await.is_some() {}
                    return Err(error);
                }
                None => return Ok(()),
            }
        }
    }

    /// Processes a message. A panic ends neither the others nor the process; the message is claimed
    /// again when its lease expires, a few times. Returns the task, whose messages may be claimed
    /// again.
    async fn process_catching_panics(
        &self,
        report: ClaimedReport,
        stop: &Shutdown,
    ) -> (TaskId, Result<(), HandoffError>) {
        let (id, task) = (report.claim.message, report.message.sent.task);
        let dealt = AssertUnwindSafe(self.process_message(report, stop)).catch_unwind().await;
        let dealt = dealt.unwrap_or_else(|_| {
            tracing::error!(message.id = %id, "message processing panicked");
            Ok(())
        });
        (task, dealt)
    }

    async fn process_message(
        &self,
        report: ClaimedReport,
        stop: &Shutdown,
    ) -> Result<(), HandoffError> {
        let (claim, task) = (report.claim, report.message.sent.task);
        if report.attempts > TRIES {
            let why = format!("abandoned after {TRIES} unfinished attempts");
            return self.abandon(claim, task, why).await;
        }
        let sent = &report.message.sent;
        match Disposition::for_message(sent.kind, &sent.subtype) {
            Disposition::Record => self.mark_processed(claim).await,
            Disposition::AskPerson => {
                self.mark_needs_person(claim, task, reason_for_person(sent)).await
            }
            Disposition::Forward => {
                let (message, now) = (report.message.clone(), self.clock.now());
                let forwarded = self
                    .store
                    .write(move |tx| Box::pin(forward_message(tx, claim, message, now)))
                    .await?;
                self.signals.send(Topic::Events);
                match forwarded {
                    ForwardOutcome::Done => Ok(()),
                    ForwardOutcome::NoRecipient => self.hand_off(report, stop).await,
                }
            }
            Disposition::Decide => self.hand_off(report, stop).await,
        }
    }

    /// Hands the message to the project manager.
    async fn hand_off(&self, report: ClaimedReport, stop: &Shutdown) -> Result<(), HandoffError> {
        let ClaimedReport { message, claim, attempts: begun } = report;
        let task = message.sent.task;
        if !self.handoffs.is_configured() {
            let why = "no project manager is configured to answer it".to_owned();
            return self.mark_needs_person(claim, task, why).await;
        }
        let Some(body) = to_report(&message) else {
            let why = "this version cannot parse the message".to_owned();
            return self.abandon(claim, task, why).await;
        };
        let subject = self.store.read(move |tx| Box::pin(load_subject(tx, task))).await?;
        // The task was closed meanwhile; its messages are no longer claimed.
        let Some(subject) = subject else { return Ok(()) };
        let answer = tokio::select! {
            biased;
            () = stop.triggered() => return self.release_claim(claim, Duration::ZERO, AttemptStarted::No).await,
            answer = self.handoffs.agent_report(&subject, body) => answer,
            // The new holder of the lease hands it off; dropping the future here ends the first
            // handoff.
            lost = self.renew_lease(claim) => return lost,
        };
        match answer {
            Ok(answer) => {
                let (id, summary) = (claim.message, answer.summary);
                tracing::info!(message.id = %id, task.id = %task, summary, "message processed");
                match answer.needs_person {
                    Some(why) => self.mark_needs_person(claim, task, why).await,
                    None => self.mark_processed(claim).await,
                }
            }
            Err(error) => self.handle_failed_handoff(claim, task, begun, error).await,
        }
    }

    /// Handles a failed handoff.
    async fn handle_failed_handoff(
        &self,
        claim: ReportClaim,
        task: TaskId,
        begun: u32,
        error: HandoffError,
    ) -> Result<(), HandoffError> {
        let id = claim.message;
        if error.is_unstarted() {
            self.release_claim(claim, Duration::ZERO, AttemptStarted::No).await?;
            // The project manager is unreachable: the other messages wait too.
            return Err(error);
        }
        tracing::warn!(
            message.id = %id, error = &error as &dyn std::error::Error,
            "message processing failed"
        );
        if begun >= TRIES {
            return self
                .abandon(claim, task, format!("given up after {begun} attempts: {error}"))
                .await;
        }
        // The next message may succeed.
        // The number of attempts bounds it.
        let backoff = Backoff { first: self.options.pause, cap: Duration::MAX };
        let pause = backoff.delay(begun);
        self.release_claim(claim, pause, AttemptStarted::Yes).await
    }
}

fn log_suspended(error: &HandoffError) {
    tracing::warn!(error = error as &dyn std::error::Error, "inbox suspended, agent messages wait");
}

/// Returns the subject of the handoff; `None` once the task is closed.
async fn load_subject(tx: &mut Tx, task: TaskId) -> Result<Option<HandoffSubject>, HandoffError> {
    let Some(task) = tx.task_get(task).await?.filter(|task| !task.status.is_terminal()) else {
        return Ok(None);
    };
    let run = tx.run_of_task(task.spec.id).await?;
    let trace = run.as_ref().map(|run| run.trace.to_string()).unwrap_or_default();
    Ok(Some(HandoffSubject {
        task: Some(task.spec.id),
        run: run.map(|run| run.id),
        ..HandoffSubject::for_caller(task_owner(tx, task.spec.created_by).await?, trace)
    }))
}
