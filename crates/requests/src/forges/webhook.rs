//! Deliveries of webhooks. A delivery is a hint to read the forge again, and decides nothing by itself.
//!
//! Every rejection looks the same to its sender: an unknown forge, a missing secret, a wrong signature.

use chrono::TimeDelta;
use cynode_domain::error_class::{Classified as _, ErrorClass};
use cynode_domain::ids::{ForgeId, TaskId};
use cynode_domain::request::{DeliveryMode, RequestSettings};
use cynode_forge::webhook::{ForgeEvent, IssueChange, WebhookDelivery, receive};
use cynode_forge::{Issue, IssueState, ItemKind};
use cynode_resources::Caller;
use cynode_resources::signals::Topic;
use cynode_store::{ProjectForge, WorkRequest};
use cynode_wire::forges::SubmitIssue;
use http::HeaderMap;
use tokio::sync::oneshot;

use super::{ForgeConnection, ForgeSecret, forge_kind};
use crate::{RequestError, RequestService};

/// How long deliveries are remembered.
const REMEMBERED: TimeDelta = TimeDelta::days(30);

/// The effect of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookOutcome {
    /// Requests read their pull requests now, or an issue was submitted.
    Accepted,
    /// The event is of no interest.
    Ignored,
    /// The same delivery was received before.
    Repeated,
}

/// Selects the requests that an event wakes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum WakeSelector {
    Number(u64),
    Commit(String),
}

impl RequestService {
    /// Receives a delivery of the webhook of a forge.
    pub async fn receive_webhook(
        &self,
        forge: ForgeId,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<WebhookOutcome, RequestError> {
        let row = self.store.read(move |tx| {
            Box::pin(async move { Ok::<_, RequestError>(tx.forge_get(forge).await?) })
        });
        let row = row.await?.filter(|row| row.has_webhook);
        let row = row.ok_or(RequestError::RejectedDelivery)?;
        let secret = self.forges.open_secret(&row, ForgeSecret::Webhook).await;
        // The reason names paths and repositories, and the sender is not known yet.
        let secret = secret.map_err(|error| {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, forge.id = %row.id, "webhook secret not readable");
            RequestError::RejectedDelivery
        })?;
        let received = receive(forge_kind(row.settings.kind), headers, body, &secret);
        let delivery = received.map_err(|reason| {
            tracing::info!(forge.id = %row.id, %reason, "webhook rejected");
            RequestError::RejectedDelivery
        })?;
        let is_of_repository = delivery
            .repository
            .as_ref()
            .is_some_and(|path| path.to_string().eq_ignore_ascii_case(&row.settings.path));
        if !is_of_repository {
            return Ok(WebhookOutcome::Ignored);
        }
        match &delivery.event {
            ForgeEvent::IssueChanged {
                number,
                change: IssueChange::Opened | IssueChange::Labeled,
            } if row.settings.issue_label.is_some() => {
                self.receive_issue(&row, &delivery, *number).await
            }
            ForgeEvent::PullRequestChanged { number, .. }
            | ForgeEvent::Commented { number, is_pull_request: true, .. }
            | ForgeEvent::Reviewed { number, .. }
            | ForgeEvent::ReviewCommented { number, .. } => {
                self.wake(&row, &delivery, WakeSelector::Number(*number)).await
            }
            ForgeEvent::CiUpdated { commit, .. } => {
                self.wake(&row, &delivery, WakeSelector::Commit(commit.clone())).await
            }
            ForgeEvent::Ping
            | ForgeEvent::IssueChanged { .. }
            | ForgeEvent::Commented { .. }
            | ForgeEvent::Ignored { .. } => Ok(WebhookOutcome::Ignored),
        }
    }

    /// Wakes the requests whose pull requests the event is about.
    async fn wake(
        &self,
        row: &ProjectForge,
        delivery: &WebhookDelivery,
        by: WakeSelector,
    ) -> Result<WebhookOutcome, RequestError> {
        let (row, digest, now) = (row.clone(), delivery.body_digest.clone(), self.clock.now());
        let outcome = self.store.write(move |tx| {
            Box::pin(async move {
                if tx.forge_delivery_is_known(row.id, &digest).await? {
                    return Ok::<_, RequestError>(WebhookOutcome::Repeated);
                }
                let mut outcome = WebhookOutcome::Ignored;
                let requests = tx.requests_in_review(row.project).await?;
                let woken: Vec<TaskId> =
                    requests.iter().filter(|it| is_about(it, &by)).map(|it| it.task).collect();
                for id in woken {
                    let task = tx.task_get(id).await?;
                    let repository = task.and_then(|task| task.spec.options.repository);
                    if repository.is_some_and(|repository| repository.url == row.repository) {
                        tx.request_notify(id).await?;
                        outcome = WebhookOutcome::Accepted;
                    }
                }
                if outcome == WebhookOutcome::Accepted {
                    let times = (now, now - REMEMBERED);
                    tx.forge_delivery_insert(row.id, &digest, times).await?;
                }
                Ok(outcome)
            })
        });
        let outcome = outcome.await?;
        if outcome == WebhookOutcome::Accepted {
            self.signals.send(Topic::Events);
        }
        Ok(outcome)
    }

    /// Submits an issue once, if a person with write access opened or labelled it.
    ///
    /// The work continues in the background if the sender closes the connection. The delivery is recorded after the
    /// request is stored, so that it can be repeated until then; the idempotency key of the request keeps a repetition
    /// from submitting it twice.
    async fn receive_issue(
        &self,
        row: &ProjectForge,
        delivery: &WebhookDelivery,
        number: u64,
    ) -> Result<WebhookOutcome, RequestError> {
        let (id, digest) = (row.id, delivery.body_digest.clone());
        let is_known = self.store.read(move |tx| {
            Box::pin(async move {
                Ok::<_, RequestError>(tx.forge_delivery_is_known(id, &digest).await?)
            })
        });
        if is_known.await? {
            return Ok(WebhookOutcome::Repeated);
        }
        let (service, row, delivery) = (self.clone(), row.clone(), delivery.clone());
        let (done, outcome) = oneshot::channel();
        self.background.spawn("issue intake", async move {
            let received = Box::pin(service.submit_and_record(&row, &delivery, number)).await;
            if let Err(Err(error)) = done.send(received) {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, forge.id = %row.id, issue = number, "issue not submitted");
            }
        });
        // The task panicked: the delivery can be repeated.
        outcome.await.unwrap_or(Err(RequestError::Interrupted))
    }

    async fn submit_and_record(
        &self,
        row: &ProjectForge,
        delivery: &WebhookDelivery,
        number: u64,
    ) -> Result<WebhookOutcome, RequestError> {
        let outcome = self.submit_labelled_issue(row, &delivery.sender, number).await?;
        if outcome == WebhookOutcome::Accepted {
            let (id, digest) = (row.id, delivery.body_digest.clone());
            let now = self.clock.now();
            let recorded = self.store.write(move |tx| {
                Box::pin(async move {
                    let times = (now, now - REMEMBERED);
                    Ok::<_, RequestError>(tx.forge_delivery_insert(id, &digest, times).await?)
                })
            });
            recorded.await?;
        }
        Ok(outcome)
    }

    async fn submit_labelled_issue(
        &self,
        row: &ProjectForge,
        sender: &str,
        number: u64,
    ) -> Result<WebhookOutcome, RequestError> {
        let connection = self.forges.connect_to(row.clone()).await?;
        let ForgeConnection { forge, repository, .. } = &connection;
        let access = forge.read_write_access(repository, sender).await?;
        if !access.is_granted() {
            tracing::info!(forge.id = %row.id, issue = number, ?access, "issue not submitted");
            return Ok(WebhookOutcome::Ignored);
        }
        let issue = forge.read_issue_text(repository, number).await?;
        let label = row.settings.issue_label.as_deref().unwrap_or_default();
        if !is_submittable(&issue, label) {
            return Ok(WebhookOutcome::Ignored);
        }
        let caller = self.webhook_caller(row).await?;
        let may_open =
            self.forges.check_pull_requests((caller.user, row.project), &row.repository).await;
        let deliver =
            if may_open.is_ok() { DeliveryMode::PullRequest } else { DeliveryMode::Branch };
        let body = SubmitIssue {
            issue: issue.url.clone(),
            project: None,
            name: None,
            settings: RequestSettings { deliver, ..RequestSettings::default() },
            force: false,
            // An issue is submitted once, however often it is labelled.
            idempotency_key: Some(format!("forge-issue:{}:{number}", row.id)),
        };
        match self.submit_read_issue(&caller, &connection, issue, body).await {
            Ok(_) => Ok(WebhookOutcome::Accepted),
            Err(error) if is_final(&error) => {
                let error = &error as &dyn std::error::Error;
                tracing::info!(error, forge.id = %row.id, issue = number, "issue not submitted");
                Ok(WebhookOutcome::Ignored)
            }
            Err(error) => Err(error),
        }
    }

    /// The user who set the forge.
    async fn webhook_caller(&self, row: &ProjectForge) -> Result<Caller, RequestError> {
        let user = row.updated_by;
        let found = self.store.read(move |tx| {
            Box::pin(async move { Ok::<_, RequestError>(tx.user_get(user).await?) })
        });
        let found = found.await?.filter(|user| user.is_active);
        let found = found.ok_or(RequestError::RejectedDelivery)?;
        Ok(Caller::on_behalf_of(user, found.handle, found.is_admin))
    }
}

/// Whether another delivery of the same issue would be rejected too.
fn is_final(error: &RequestError) -> bool {
    matches!(error.classify().class, ErrorClass::Invalid | ErrorClass::Conflict)
}

fn is_submittable(issue: &Issue, label: &str) -> bool {
    issue.kind == ItemKind::Issue
        && issue.state == IssueState::Open
        && issue.labels.iter().any(|found| found.eq_ignore_ascii_case(label))
}

fn is_about(request: &WorkRequest, by: &WakeSelector) -> bool {
    let Some(delivery) = &request.state.delivery else { return false };
    match by {
        WakeSelector::Number(number) => delivery.pull_request_number == Some(*number),
        WakeSelector::Commit(commit) => {
            delivery.head.as_ref().is_some_and(|head| head.as_str() == commit)
        }
    }
}
