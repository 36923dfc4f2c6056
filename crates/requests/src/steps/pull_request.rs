//! The pull request of a request: opened once, published when its result is verified, followed until it is merged or closed.
//!
//! Every request to the forge is made before the transaction that records it, and finds what an earlier one did: the pull
//! request by its branch and by a marker in its body, comments by their markers.

use std::time::Duration;

use cynode_domain::git::BranchName;
use cynode_domain::request::Delivery;
use cynode_domain::status::{RequestPhase, TaskStatus};
use cynode_domain::text::truncate_chars;
use cynode_domain::verification::VerificationStatus;
use cynode_execution::tasks::close_with_children;
use cynode_forge::{
    ForgeError, ItemKind, NewPullRequest, PullRequest, PullRequestFilter, PullRequestState,
    PullRequestUpdate, Readiness,
};
use serde_json::json;

use super::Step;
use super::people_review::{PeopleFindings, collect_findings};
use crate::RequestError;
use crate::forges::ForgeConnection;
use crate::snapshot::REVISE;

/// Recorded once for a pull request with too many comments.
const TRUNCATED_NOTE: &str = "the pull request has more comments or authors than are read: what is not answered may not have been seen";
/// The setting with the interval at which a pull request is polled.
const POLL_SETTING: &str = "pm.pull_requests.poll_seconds";
/// The default interval at which a pull request is polled.
const POLL_SECONDS: u64 = 120;
/// The bounds of the setting.
const POLL_RANGE: std::ops::RangeInclusive<u64> = 1..=86_400;

impl Step<'_> {
    /// Opens the pull request as a draft, or finds the one that was opened before.
    pub(super) async fn open_pull_request(mut self) -> Result<(), RequestError> {
        let task = &self.snapshot.task.spec;
        let url = self.repository_url()?;
        let forges = &self.service.forges;
        forges.check_pull_requests((task.created_by, task.project), &url).await?;
        let connection = forges.connect(task.project, &url).await?;
        let (pull, is_new) = self.ensure_pull_request(&connection).await?;
        let data = json!({ "url": pull.url, "number": pull.number, "is_new": is_new });
        let delivery = self.delivery_mut()?;
        delivery.pull_request = Some(pull.url);
        delivery.pull_request_number = Some(pull.number);
        delivery.is_ready = pull.readiness == Readiness::Ready;
        self.save("request.pull_request_opened", data).await
    }

    /// The pull request of this request, in whatever state; else the open one of the branch, or a new draft.
    async fn ensure_pull_request(
        &self,
        connection: &ForgeConnection,
    ) -> Result<(PullRequest, bool), RequestError> {
        let ForgeConnection { forge, repository, row } = connection;
        let head = self.delivery()?.branch.clone();
        let marker = self.marker("pull-request")?;
        let any = match forge.find_pull_request(repository, &head, PullRequestFilter::Any).await {
            // The forge returned the newest ones, and a pull request of this request would be among them.
            Err(ForgeError::TooMany { .. }) => None,
            found => found?,
        };
        if let Some(own) = any.filter(|pull| marker.is_in(&pull.body)) {
            return Ok((own, false));
        }
        let repository_base = self.snapshot.task.spec.options.repository.as_ref();
        let named = repository_base.and_then(|repository| repository.base_branch.clone());
        let base: BranchName = match named.or_else(|| row.settings.base_branch.clone()) {
            Some(base) => base,
            None => forge.read_default_branch(repository).await?,
        };
        let new = NewPullRequest {
            title: self.pull_request_title(),
            body: self.pull_request_body().await?,
            head,
            base,
            readiness: Readiness::Draft,
        };
        let ensured = forge.ensure_pull_request(repository, &new).await?;
        Ok((ensured.pull_request, ensured.is_new))
    }

    /// Asks people for a review: the description is brought up to date, a verified draft is marked as ready, and a further
    /// round is announced.
    pub(super) async fn publish_pull_request(mut self) -> Result<(), RequestError> {
        let connection = self.connect_forge().await?;
        let ForgeConnection { forge, repository, .. } = &connection;
        let number = self.pull_request_number()?;
        let mut pull = forge.read_pull_request(repository, number).await?;
        if pull.state != PullRequestState::Open {
            return self.end_with_pull_request(&pull).await;
        }
        let body = self.pull_request_body().await?;
        // The description of a pull request that a person opened is not changed.
        if self.marker("pull-request")?.is_in(&pull.body) && pull.body.trim() != body.trim() {
            let update = PullRequestUpdate { title: None, body: Some(body) };
            pull = forge.update_pull_request(repository, number, &update).await?;
        }
        let is_verified = self.verification() == VerificationStatus::Verified;
        if is_verified && pull.readiness == Readiness::Draft && !self.delivery()?.is_ready {
            pull = forge.mark_ready(repository, number).await?;
        }
        let rounds = self.snapshot.request.state.people_review.rounds;
        if rounds > 0 {
            let marker = self.marker(&format!("round-{rounds}"))?;
            let text = self.round_comment();
            forge.ensure_comment(repository, ItemKind::PullRequest, number, &marker, &text).await?;
        }
        let is_ready = pull.readiness == Readiness::Ready;
        // A person may turn it into a draft again.
        self.delivery_mut()?.is_ready |= is_verified;
        let request = &mut self.snapshot.request;
        request.phase = request.phase.advance(RequestPhase::InReview)?;
        let data = json!({ "phase": RequestPhase::InReview, "url": pull.url, "ready": is_ready });
        self.save("request.phase_changed", data).await
    }

    /// Reads the pull request. Returns the delay until the next poll, or `None` if the request proceeds.
    pub(crate) async fn follow_pull_request(mut self) -> Result<Option<Duration>, RequestError> {
        let connection = self.connect_forge().await?;
        let ForgeConnection { forge, repository, .. } = &connection;
        let number = self.pull_request_number()?;
        let pull = forge.read_pull_request(repository, number).await?;
        if pull.state != PullRequestState::Open {
            return self.end_with_pull_request(&pull).await.map(|()| None);
        }
        // False if the forge does not know the pushed commit yet, or if a person pushed to the branch.
        let is_ours = self.delivery()?.head.as_ref() == Some(&pull.head_commit);
        let review = &self.snapshot.request.state.people_review;
        let PeopleFindings { findings, is_truncated } = if is_ours {
            collect_findings(&connection, &pull, &review.handled).await?
        } else {
            PeopleFindings { findings: vec![], is_truncated: false }
        };
        let notes = &mut self.snapshot.request.state.notes;
        if is_truncated && !notes.iter().any(|note| note == TRUNCATED_NOTE) {
            notes.push(TRUNCATED_NOTE.to_owned());
            return self.save("request.comments_truncated", json!({})).await.map(|()| None);
        }
        if findings.is_empty() {
            return self.schedule_next_poll().await.map(Some);
        }
        let limit = self.snapshot.request.settings.max_pull_request_rounds;
        let keys = findings.iter().map(|finding| finding.key.clone());
        if self.snapshot.request.state.people_review.rounds >= limit {
            let marker = self.marker("limit")?;
            let text = format!(
                "This request has used its {limit} rounds for comments and checks. What is still open is left to people; merging or closing the pull request ends the request."
            );
            let item = ItemKind::PullRequest;
            forge.ensure_comment(repository, item, number, &marker, &text).await?;
            let state = &mut self.snapshot.request.state;
            state.people_review.handled.extend(keys);
            let note = |finding: &cynode_domain::request::PeopleFinding| {
                let text = truncate_chars(&finding.text, 200);
                format!("after the last round, {}: {text}", finding.author)
            };
            state.notes.extend(findings.iter().map(note));
            let data = json!({ "findings": findings.len(), "limit": limit });
            return self.save("request.rounds_spent", data).await.map(|()| None);
        }
        let state = &mut self.snapshot.request.state;
        state.people_review.rounds += 1;
        state.people_review.handled.extend(keys);
        state.people_review.reply = None;
        state.unit_failures.remove(REVISE);
        let data = json!({ "round": state.people_review.rounds, "findings": findings.len() });
        state.people_review.findings = findings;
        let request = &mut self.snapshot.request;
        request.phase = request.phase.advance(RequestPhase::Working)?;
        self.save("request.round_started", data).await.map(|()| None)
    }

    /// Checks the pull request before another push: `None` if it ended, and the request with it.
    pub(super) async fn unless_pull_request_ended(self) -> Result<Option<Self>, RequestError> {
        let delivery = self.snapshot.request.state.delivery.as_ref();
        if delivery.is_none_or(|delivery| delivery.pull_request_number.is_none()) {
            return Ok(Some(self));
        }
        let connection = self.connect_forge().await?;
        let number = self.pull_request_number()?;
        let pull = connection.forge.read_pull_request(&connection.repository, number).await?;
        if pull.state == PullRequestState::Open {
            return Ok(Some(self));
        }
        self.end_with_pull_request(&pull).await.map(|()| None)
    }

    /// A merged pull request completes the request, a closed one cancels it.
    async fn end_with_pull_request(mut self, pull: &PullRequest) -> Result<(), RequestError> {
        let request = &mut self.snapshot.request;
        request.phase = request.phase.advance(RequestPhase::Ended)?;
        let task = self.snapshot.task.spec.id;
        let verification = self.verification();
        let is_merged = pull.state == PullRequestState::Merged;
        let (status, event, summary) = if is_merged {
            let summary = format!("pull request {} was merged\n{}", pull.url, self.summarize());
            (TaskStatus::Completed, "request.completed", summary)
        } else {
            let reason = format!("pull request {} was closed without merging", pull.url);
            (TaskStatus::Canceled, "request.closed", reason)
        };
        let data = json!({ "summary": summary, "delivery": self.snapshot.request.state.delivery });
        self.save_with(event, data, move |tx| {
            Box::pin(async move {
                close_with_children(tx, task, status, &summary).await?;
                if is_merged {
                    tx.task_set_verification(task, verification).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// The delay until the next poll. Resets the count of failures of the forge.
    async fn schedule_next_poll(self) -> Result<Duration, RequestError> {
        let (claim, mut request) = (self.claim, self.snapshot.request);
        let seconds = self
            .service
            .store
            .write(move |tx| {
                Box::pin(async move {
                    if request.failures > 0 && tx.request_check_claim(claim).await? {
                        request.failures = 0;
                        tx.request_update(&request).await?;
                    }
                    let setting = tx.setting_get(POLL_SETTING).await?;
                    Ok::<_, RequestError>(setting.and_then(|setting| setting.value.as_u64()))
                })
            })
            .await?;
        let seconds = seconds.filter(|seconds| POLL_RANGE.contains(seconds));
        Ok(Duration::from_secs(seconds.unwrap_or(POLL_SECONDS)))
    }

    async fn connect_forge(&self) -> Result<ForgeConnection, RequestError> {
        let url = self.repository_url()?;
        self.service.forges.connect(self.snapshot.task.spec.project, &url).await
    }

    fn repository_url(&self) -> Result<cynode_domain::git::RepositoryUrl, RequestError> {
        let repository = self.snapshot.task.spec.options.repository.as_ref();
        let missing = || RequestError::Invalid(vec!["the request has no repository".to_owned()]);
        Ok(repository.ok_or_else(missing)?.url.clone())
    }

    fn delivery(&self) -> Result<&Delivery, RequestError> {
        let missing = || RequestError::Invalid(vec!["nothing was delivered".to_owned()]);
        self.snapshot.request.state.delivery.as_ref().ok_or_else(missing)
    }

    fn delivery_mut(&mut self) -> Result<&mut Delivery, RequestError> {
        let missing = || RequestError::Invalid(vec!["nothing was delivered".to_owned()]);
        self.snapshot.request.state.delivery.as_mut().ok_or_else(missing)
    }

    fn pull_request_number(&self) -> Result<u64, RequestError> {
        let missing = || RequestError::Invalid(vec!["there is no pull request".to_owned()]);
        self.delivery()?.pull_request_number.ok_or_else(missing)
    }
}
