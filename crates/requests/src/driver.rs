//! Advances requests: claims one, carries out its next actions, and releases it when it waits.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use cynode_domain::backoff::Backoff;
use cynode_domain::ids::TaskId;
use cynode_domain::question::{Question, QuestionKind, ReplyForm};
use cynode_domain::request::{QuestionSubject, RequestQuestion};
use cynode_execution::handoff::HandoffError;
use cynode_execution::tasks::task_event;
use cynode_resources::signals::Topic;
use cynode_runtime::shutdown::Shutdown;
use cynode_store::{ClaimScope, ClaimedRequest, RequestClaim};
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::json;
use tokio::time::Instant;

use crate::next_action::{NextAction, next_action};
use crate::snapshot::RequestSnapshot;
use crate::steps::Step;
use crate::{RequestError, RequestService};

/// How often requests are looked for without a signal.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Signals that arrive within this time are processed together.
const MIN_INTERVAL: Duration = Duration::from_millis(50);
/// The most actions of one claim, so that a defect cannot keep a request busy forever.
const MAX_ACTIONS: usize = 200;
/// The delay between repetitions of a failing action.
const BACKOFF: Backoff = Backoff { first: Duration::from_secs(1), cap: Duration::from_mins(1) };

/// How often a request looks whether a node has ended a job.
const JOB_END_INTERVAL: Duration = Duration::from_secs(1);

/// The longest delay that a forge can ask for.
const MAX_DELAY: Duration = Duration::from_hours(1);

/// Limits of a driver.
#[derive(Debug, Clone, Copy)]
pub struct DriverOptions {
    /// Requests that are advanced at once.
    pub max_concurrent: usize,
    /// How long a claim lasts without a renewal.
    pub lease: Duration,
}

impl DriverOptions {
    /// Which requests are claimed next while `in_review` claimed requests follow their pull requests. These wait for
    /// forges, so they get at most half of the slots.
    fn scope(self, in_review: usize) -> ClaimScope {
        if in_review < (self.max_concurrent / 2).max(1) {
            ClaimScope::All
        } else {
            ClaimScope::ExceptInReview
        }
    }
}

impl Default for DriverOptions {
    fn default() -> Self {
        Self { max_concurrent: 8, lease: Duration::from_secs(20) }
    }
}

/// What a driver waits for.
enum DriverEvent {
    Claimed(Result<Option<ClaimedRequest>, RequestError>),
    Advanced(ClaimedRequest),
}

/// Advances requests until shutdown.
#[derive(Clone)]
pub struct RequestDriver {
    service: RequestService,
    options: DriverOptions,
}

impl RequestDriver {
    pub fn new(service: RequestService) -> Self {
        Self { service, options: DriverOptions::default() }
    }

    /// Replaces the options.
    #[must_use]
    pub fn with_options(self, options: DriverOptions) -> Self {
        Self { options, ..self }
    }

    /// Advances requests until shutdown; requests that it has claimed then are released.
    ///
    /// Polls the claim together with the requests that are being advanced: one of them may be the next in line to write,
    /// and a claim that is awaited alone would wait for it forever.
    pub async fn run(self, shutdown: Shutdown) {
        if let Err(error) = self.service.load_roster().await {
            // The driver starts nevertheless: an administrator corrects the setting over the API. Until then, no request is
            // planned.
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "agents of work units are not valid"
            );
        }
        let mut events = self.service.signals.subscribe(Topic::Events);
        let mut in_flight: FuturesUnordered<BoxFuture<'_, DriverEvent>> = FuturesUnordered::new();
        let (mut may_claim, mut is_claiming, mut in_review) = (true, false, 0);
        while !shutdown.is_triggered() {
            if may_claim && !is_claiming && in_flight.len() < self.options.max_concurrent.max(1) {
                is_claiming = true;
                in_flight.push(Box::pin(self.claim_next(self.options.scope(in_review))));
            }
            tokio::select! {
                () = shutdown.triggered() => {}
                Some(event) = in_flight.next(), if !in_flight.is_empty() => match event {
                    DriverEvent::Advanced(claimed) => {
                        in_review -= usize::from(claimed.is_in_review);
                        may_claim = true;
                    }
                    DriverEvent::Claimed(claimed) => {
                        is_claiming = false;
                        match claimed {
                            Ok(Some(claimed)) => {
                                in_review += usize::from(claimed.is_in_review);
                                in_flight.push(Box::pin(self.advance_claimed(claimed, &shutdown)));
                            }
                            Ok(None) => may_claim = false,
                            Err(error) => {
                                may_claim = false;
                                log_failure(None, &error);
                            }
                        }
                    }
                },
                () = async {
                    tokio::time::sleep(MIN_INTERVAL).await;
                    events.wait(Instant::now() + POLL_INTERVAL).await;
                } => may_claim = true,
            }
        }
        while let Some(event) = in_flight.next().await {
            if let DriverEvent::Claimed(Ok(Some(claimed))) = event {
                let _ = self.release(claimed.claim, Some(0)).await;
            }
        }
    }

    async fn claim_next(&self, scope: ClaimScope) -> DriverEvent {
        DriverEvent::Claimed(self.claim(scope).await)
    }

    async fn advance_claimed(&self, claimed: ClaimedRequest, shutdown: &Shutdown) -> DriverEvent {
        Box::pin(self.advance_catching_panics(claimed, shutdown)).await;
        DriverEvent::Advanced(claimed)
    }

    /// Advances every request until all of them wait. For tests and tools without a background.
    pub async fn run_until_idle(&self) -> Result<(), RequestError> {
        let stop = Shutdown::new();
        while let Some(claimed) = self.claim(ClaimScope::All).await? {
            Box::pin(self.advance_catching_panics(claimed, &stop)).await;
        }
        Ok(())
    }

    async fn claim(&self, scope: ClaimScope) -> Result<Option<ClaimedRequest>, RequestError> {
        let store = &self.service.store;
        let has_work = store.read(move |tx| {
            Box::pin(async move { Ok::<_, RequestError>(tx.request_has_work(scope).await?) })
        });
        if !has_work.await? {
            return Ok(None);
        }
        let lease_ms = millis(self.options.lease);
        store
            .write(move |tx| {
                Box::pin(
                    async move { Ok::<_, RequestError>(tx.request_claim(lease_ms, scope).await?) },
                )
            })
            .await
    }

    async fn advance_catching_panics(&self, claimed: ClaimedRequest, shutdown: &Shutdown) {
        let claim = claimed.claim;
        let advanced =
            AssertUnwindSafe(self.advance_with_lease(claimed, shutdown)).catch_unwind().await;
        let outcome = advanced.unwrap_or_else(|_| {
            tracing::error!(task.id = %claim.task, "advancing a request panicked");
            Err(RequestError::Invalid(vec!["an internal error".to_owned()]))
        });
        let released = match outcome {
            Ok(due) => self.release(claim, due.map(millis)).await,
            Err(RequestError::ClaimLost) => Ok(()),
            // The project manager is busy with other work: waiting for it is no failure.
            Err(RequestError::Handoff(HandoffError::Busy { retry_after })) => {
                tracing::debug!(task.id = %claim.task, "the project manager is busy");
                self.release(claim, Some(millis(retry_after.clamp(POLL_INTERVAL, MAX_DELAY)))).await
            }
            Err(error) => {
                log_failure(Some(claim.task), &error);
                self.handle_failure(claim, &error).await
            }
        };
        if let Err(error) = released {
            log_failure(Some(claim.task), &error);
        }
    }

    async fn advance_with_lease(
        &self,
        claimed: ClaimedRequest,
        shutdown: &Shutdown,
    ) -> Result<Option<Duration>, RequestError> {
        let claim = claimed.claim;
        tokio::select! {
            biased;
            // The next driver repeats the action; what it finds done it does not do again.
            () = shutdown.triggered() => self.release(claim, Some(0)).await.and(Err(RequestError::ClaimLost)),
            advanced = self.advance(claimed) => advanced,
            lost = self.renew_lease(claim) => lost.map(|()| None),
        }
    }

    /// Carries out actions until the request waits. Returns the delay until the next attempt without an event.
    async fn advance(&self, claimed: ClaimedRequest) -> Result<Option<Duration>, RequestError> {
        let claim = claimed.claim;
        for _ in 0..MAX_ACTIONS {
            let snapshot = self.load(claim).await?;
            let task = &snapshot.task;
            let is_held = snapshot.request.question.is_some() || task.paused_at.is_some();
            if is_held || task.status.is_terminal() {
                return Ok(None);
            }
            let action = next_action(&snapshot);
            if action == NextAction::Wait {
                return Ok(None);
            }
            if action == NextAction::AwaitJobEnd {
                return Ok(Some(JOB_END_INTERVAL));
            }
            tracing::debug!(task.id = %claim.task, ?action, "request advances");
            if action == NextAction::FollowPullRequest && !claimed.is_in_review {
                // Released, to be claimed again within the limit of requests that follow their pull request.
                return Ok(Some(Duration::ZERO));
            }
            let step = Step { service: &self.service, claim, snapshot: Box::new(snapshot) };
            if action == NextAction::FollowPullRequest {
                // Nothing to do yet: people review, and checks run.
                if let Some(interval) = Box::pin(step.follow_pull_request()).await? {
                    return Ok(Some(interval));
                }
            } else {
                Box::pin(step.carry_out(action)).await?;
            }
            self.service.signals.send(Topic::Events);
        }
        Err(RequestError::Invalid(vec!["the request makes no progress".to_owned()]))
    }

    async fn load(&self, claim: RequestClaim) -> Result<RequestSnapshot, RequestError> {
        let now = self.service.clock.now();
        self.service
            .store
            .write(move |tx| {
                Box::pin(async move {
                    if !tx.request_check_claim(claim).await? {
                        return Err(RequestError::ClaimLost);
                    }
                    let loaded = RequestSnapshot::load(tx, claim.task, now).await?;
                    loaded.ok_or(RequestError::ClaimLost)
                })
            })
            .await
    }

    async fn release(&self, claim: RequestClaim, due_ms: Option<i64>) -> Result<(), RequestError> {
        self.service
            .store
            .write(move |tx| {
                Box::pin(async move {
                    tx.request_release(claim, due_ms).await?;
                    Ok(())
                })
            })
            .await
    }

    /// Counts a failure; after several a person is asked.
    async fn handle_failure(
        &self,
        claim: RequestClaim,
        error: &RequestError,
    ) -> Result<(), RequestError> {
        let (reason, now) = (error.to_string(), self.service.clock.now());
        let (max_failures, retry_at) = (error.max_failures(), error.retry_at());
        self.service
            .store
            .write(move |tx| {
                Box::pin(async move {
                    if !tx.request_check_claim(claim).await? {
                        return Ok::<_, RequestError>(());
                    }
                    let Some(mut request) = tx.request_get(claim.task).await? else {
                        return Ok(());
                    };
                    request.failures += 1;
                    let named = retry_at.and_then(|time| (time - now).to_std().ok());
                    let delay = BACKOFF.delay(request.failures).max(named.unwrap_or_default());
                    let delay = delay.min(MAX_DELAY);
                    if request.failures >= max_failures {
                        request.question = Some(RequestQuestion {
                            subject: QuestionSubject::Phase {},
                            question: Question {
                                kind: QuestionKind::Approval,
                                text: format!("The request cannot go on: {reason}. Try again?"),
                                about: vec![format!("phase: {}", request.phase)],
                                accepts: vec![ReplyForm::Retry, ReplyForm::No],
                            },
                        });
                        request.asked_at = Some(now);
                        request.updated_at = now;
                        if let Some(task) = tx.task_get(claim.task).await? {
                            let data = json!({ "question": request.question });
                            tx.event_append(&task_event(&task, "request.waiting", data)).await?;
                        }
                    }
                    tx.request_update(&request).await?;
                    tx.request_release(claim, Some(millis(delay))).await?;
                    Ok(())
                })
            })
            .await?;
        self.service.signals.send(Topic::Events);
        Ok(())
    }

    /// Renews the claim until it is lost.
    async fn renew_lease(&self, claim: RequestClaim) -> Result<(), RequestError> {
        let lease = self.options.lease;
        let lease_ms = millis(lease);
        loop {
            tokio::time::sleep(lease / 3).await;
            let kept = self
                .service
                .store
                .write(move |tx| {
                    Box::pin(async move {
                        Ok::<_, RequestError>(tx.request_extend(claim, lease_ms).await?)
                    })
                })
                .await?;
            if !kept {
                return Err(RequestError::ClaimLost);
            }
        }
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

fn log_failure(task: Option<TaskId>, error: &RequestError) {
    tracing::warn!(task.id = ?task, error = error as &dyn std::error::Error, "request not advanced");
}
