//! Drives notifications: events become deliveries, and due deliveries are sent.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use cynode_domain::backoff::Backoff;
use cynode_resources::signals::Topic;
use cynode_runtime::shutdown::Shutdown;
use cynode_store::{NoticeChannel, NoticeClaim, NoticeDelivery, RetryDelays};
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::time::Instant;

use crate::send::{SEND_TIMEOUT, SendContext, SendFailure};
use crate::{NotificationError, Notifications};

/// Events that arrive within this time are processed together.
const MIN_INTERVAL: Duration = Duration::from_millis(200);
/// How often the notifier polls for due deliveries without a signal.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
const SWEEP_INTERVAL: Duration = Duration::from_hours(1);
/// Deliveries of one claim. The bound lets other channels have the slot.
const MAX_BATCH: usize = 20;

/// Limits of a notifier.
#[derive(Debug, Clone, Copy)]
pub struct NotifierOptions {
    /// Channels that are served at once.
    pub max_concurrent: usize,
    /// How long a claim lasts without a renewal; more than an attempt takes.
    pub lease: Duration,
    pub send_timeout: Duration,
    /// Between two attempts of one delivery.
    pub delivery_backoff: Backoff,
    /// Delay between two attempts of a channel that fails.
    pub channel_backoff: Backoff,
    /// Attempts before a delivery is dead.
    pub max_attempts: u32,
    /// How long a delivery stays pending.
    pub max_age: Duration,
    /// How long delivered and dead deliveries are kept.
    pub retention: Duration,
}

impl Default for NotifierOptions {
    fn default() -> Self {
        Self {
            max_concurrent: 64,
            lease: Duration::from_mins(1),
            send_timeout: SEND_TIMEOUT,
            delivery_backoff: Backoff {
                first: Duration::from_secs(10),
                cap: Duration::from_hours(1),
            },
            channel_backoff: Backoff { first: Duration::from_secs(5), cap: Duration::from_mins(5) },
            max_attempts: 15,
            max_age: Duration::from_hours(7 * 24),
            retention: Duration::from_hours(30 * 24),
        }
    }
}

/// What a notifier waits for.
enum NotifierEvent {
    Claimed(Result<Option<NoticeClaim>, NotificationError>),
    Served,
}

/// Sends notifications until shutdown. Any number of them may share a database.
#[derive(Clone)]
pub struct Notifier {
    service: Notifications,
    options: NotifierOptions,
}

impl Notifier {
    pub fn new(service: Notifications) -> Self {
        Self { service, options: NotifierOptions::default() }
    }

    /// Replaces the options.
    #[must_use]
    pub fn with_options(self, options: NotifierOptions) -> Self {
        Self { options, ..self }
    }

    pub async fn run(self, shutdown: Shutdown) {
        tokio::join!(self.run_fan_out(&shutdown), self.run_deliveries(&shutdown));
    }

    async fn run_fan_out(&self, shutdown: &Shutdown) {
        let mut events = self.service.signals.subscribe(Topic::Events);
        let mut next_sweep = Instant::now();
        while !shutdown.is_triggered() {
            match self.service.fan_out().await {
                Ok(true) => self.service.wake.notify_waiters(),
                Ok(false) => {}
                Err(error) => log_failure(&error),
            }
            if Instant::now() >= next_sweep {
                next_sweep = Instant::now() + SWEEP_INTERVAL;
                self.sweep().await.unwrap_or_else(|error| log_failure(&error));
            }
            tokio::select! {
                () = shutdown.triggered() => {}
                () = async {
                    tokio::time::sleep(MIN_INTERVAL).await;
                    events.wait(Instant::now() + POLL_INTERVAL).await;
                } => {}
            }
        }
    }

    async fn sweep(&self) -> Result<(), NotificationError> {
        let (pending, ended) = (millis(self.options.max_age), millis(self.options.retention));
        self.service
            .store
            .write(move |tx| {
                Box::pin(async move {
                    Ok::<_, NotificationError>(tx.notice_sweep(pending, ended).await?)
                })
            })
            .await
    }

    /// Polls the claim together with the channels that are being served: one of them may be the next in line to write,
    /// and a claim that is awaited alone would wait for it forever.
    async fn run_deliveries(&self, shutdown: &Shutdown) {
        let mut in_flight: FuturesUnordered<BoxFuture<'_, NotifierEvent>> = FuturesUnordered::new();
        let (mut may_claim, mut is_claiming) = (true, false);
        while !shutdown.is_triggered() {
            if may_claim && !is_claiming && in_flight.len() < self.options.max_concurrent.max(1) {
                is_claiming = true;
                in_flight.push(Box::pin(async { NotifierEvent::Claimed(self.claim().await) }));
            }
            let woken = self.service.wake.notified();
            tokio::select! {
                () = shutdown.triggered() => {}
                Some(event) = in_flight.next(), if !in_flight.is_empty() => match event {
                    NotifierEvent::Served => may_claim = true,
                    NotifierEvent::Claimed(claimed) => {
                        is_claiming = false;
                        match claimed {
                            Ok(Some(claim)) => in_flight.push(Box::pin(self.serve_claimed(claim, shutdown))),
                            Ok(None) => may_claim = false,
                            Err(error) => {
                                may_claim = false;
                                log_failure(&error);
                            }
                        }
                    }
                },
                () = woken => may_claim = true,
                () = tokio::time::sleep(POLL_INTERVAL) => may_claim = true,
            }
        }
        while let Some(event) = in_flight.next().await {
            if let NotifierEvent::Claimed(Ok(Some(claim))) = event {
                let _ = self.release(claim).await;
            }
        }
    }

    /// Creates and sends everything that is due. For tests and tools without background tasks.
    pub async fn run_until_idle(&self) -> Result<(), NotificationError> {
        let stop = Shutdown::new();
        self.service.fan_out().await?;
        while let Some(claim) = self.claim().await? {
            self.serve_claimed(claim, &stop).await;
        }
        Ok(())
    }

    async fn claim(&self) -> Result<Option<NoticeClaim>, NotificationError> {
        let store = &self.service.store;
        let has_work = store.read(|tx| {
            Box::pin(async move { Ok::<_, NotificationError>(tx.notice_has_work().await?) })
        });
        if !has_work.await? {
            return Ok(None);
        }
        let lease_ms = millis(self.options.lease);
        store
            .write(move |tx| {
                Box::pin(
                    async move { Ok::<_, NotificationError>(tx.notice_claim(lease_ms).await?) },
                )
            })
            .await
    }

    /// A panic ends neither the other channels nor the process; the channel is claimed again when its lease expires.
    async fn serve_claimed(&self, claim: NoticeClaim, shutdown: &Shutdown) -> NotifierEvent {
        let served = tokio::select! {
            biased;
            // A delivery that was sent and not recorded is sent again, with the same id.
            () = shutdown.triggered() => Ok(Ok(())),
            served = AssertUnwindSafe(self.serve(claim)).catch_unwind() => served,
        };
        let released = match served {
            Ok(Ok(())) => self.release(claim).await,
            Ok(Err(error)) => {
                log_failure(&error);
                self.release(claim).await
            }
            Err(_) => {
                tracing::error!(channel.id = %claim.channel, "sending a notification panicked");
                Ok(())
            }
        };
        released.unwrap_or_else(|error| log_failure(&error));
        NotifierEvent::Served
    }

    /// Sends what is due through a channel, until one fails.
    async fn serve(&self, claim: NoticeClaim) -> Result<(), NotificationError> {
        let service = &self.service;
        let id = claim.channel;
        let channel = service.store.read(move |tx| {
            Box::pin(async move { Ok::<_, NotificationError>(tx.notice_channel_get(id).await?) })
        });
        let Some(channel) = channel.await? else { return Ok(()) };
        let context = SendContext::load(&service.store, service.sealer.as_ref(), &channel).await?;
        let context = context.with_timeout(self.options.send_timeout);
        for _ in 0..MAX_BATCH {
            let Some(delivery) = self.next_delivery(claim).await? else { return Ok(()) };
            let sent = context.send(delivery.id, &delivery.message, service.clock.now()).await;
            match sent {
                Ok(()) => {
                    let is_kept = self.record_delivered(claim, &delivery).await?;
                    if !is_kept {
                        return Ok(());
                    }
                }
                Err(failure) => {
                    return self.record_failed(claim, &channel, &delivery, failure).await;
                }
            }
        }
        Ok(())
    }

    /// The next delivery of a channel, if the claim is kept.
    async fn next_delivery(
        &self,
        claim: NoticeClaim,
    ) -> Result<Option<NoticeDelivery>, NotificationError> {
        let lease_ms = millis(self.options.lease);
        self.service
            .store
            .write(move |tx| {
                Box::pin(async move {
                    if !tx.notice_extend(claim, lease_ms).await? {
                        return Ok(None);
                    }
                    Ok::<_, NotificationError>(tx.notice_due(claim.channel).await?)
                })
            })
            .await
    }

    async fn record_delivered(
        &self,
        claim: NoticeClaim,
        delivery: &NoticeDelivery,
    ) -> Result<bool, NotificationError> {
        let id = delivery.id;
        self.service
            .store
            .write(move |tx| {
                Box::pin(async move {
                    Ok::<_, NotificationError>(tx.notice_delivered(claim, id).await?)
                })
            })
            .await
    }

    async fn record_failed(
        &self,
        claim: NoticeClaim,
        channel: &NoticeChannel,
        delivery: &NoticeDelivery,
        failure: SendFailure,
    ) -> Result<(), NotificationError> {
        let (options, id) = (&self.options, delivery.id);
        let attempts = delivery.attempts + 1;
        let wanted = failure.retry_after.unwrap_or_default();
        let wait = options.delivery_backoff.jittered_delay(attempts).max(wanted);
        let pause = options.channel_backoff.jittered_delay(channel.health.failures + 1).max(wanted);
        let delays = RetryDelays {
            delivery_ms: (attempts < options.max_attempts).then(|| millis(wait)),
            channel_ms: millis(pause),
        };
        tracing::warn!(
            channel.id = %channel.id, delivery.id = %id, attempts, reason = failure.reason,
            "notification not delivered"
        );
        self.service
            .store
            .write(move |tx| {
                Box::pin(async move {
                    tx.notice_failed(claim, id, &failure.reason, delays).await?;
                    Ok::<_, NotificationError>(())
                })
            })
            .await
    }

    async fn release(&self, claim: NoticeClaim) -> Result<(), NotificationError> {
        self.service
            .store
            .write(move |tx| {
                Box::pin(async move { Ok::<_, NotificationError>(tx.notice_release(claim).await?) })
            })
            .await
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

fn log_failure(error: &NotificationError) {
    tracing::warn!(error = error as &dyn std::error::Error, "notifications suspended");
}
