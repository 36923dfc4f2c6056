//! Handoffs other than chat.

use std::time::Duration;

use backon::Retryable as _;
use cynode_domain::backoff::Backoff;
use cynode_wire::handoff::{
    ActedAnswer, AgentReportHandoff, AgentRole, ClassifyAnswer, ClassifyHandoff, ContinueAnswer,
    ContinueRunHandoff, DecisionRecord, Handoff, HandoffKind, PlaceAnswer, PlaceHandoff,
    PlanAnswer, PlanHandoff, PlanWorkAnswer, PlanWorkHandoff, ReplanAnswer, ReplanHandoff,
    ScheduledRunHandoff, TracedAnswer, VerifyAnswer, VerifyHandoff,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::close::OpenHandoff;
use super::{HandoffError, HandoffService, HandoffSubject};

/// Total attempts of a handoff that was not started.
const MAX_ATTEMPTS: usize = 3;
/// Delay between two attempts; the number of attempts and the deadline bound it.
const BACKOFF: Backoff = Backoff { first: Duration::from_millis(100), cap: Duration::MAX };
/// A handoff waits for a permit at most this fraction of its timeout.
const PERMIT_WAIT_FRACTION: u32 = 4;
/// Upper bound of the wait for a permit.
const MAX_PERMIT_WAIT: Duration = Duration::from_secs(30);
/// Default timeout of a placement.
pub(crate) const PLACEMENT_TIMEOUT: Duration = Duration::from_secs(2);
/// Retry hint if all permits are taken.
const RETRY_AFTER: Duration = Duration::from_secs(1);

impl HandoffService {
    /// Has a prompt planned as steps, with the excerpts of its project that fit it.
    pub async fn plan(
        &self,
        subject: &HandoffSubject,
        body: PlanHandoff,
    ) -> Result<PlanAnswer, HandoffError> {
        let decided = |answer: &PlanAnswer| answer.decisions.clone();
        let about = Some(body.prompt.clone());
        let subject = HandoffSubject { excerpts_about: about, ..subject.clone() };
        self.send_and_record(HandoffKind::Plan, &subject, body, decided).await
    }

    /// Has a rejected step replanned.
    pub async fn replan(
        &self,
        subject: &HandoffSubject,
        body: ReplanHandoff,
    ) -> Result<ReplanAnswer, HandoffError> {
        let decided = |answer: &ReplanAnswer| answer.decisions.clone();
        self.send_and_record(HandoffKind::Replan, subject, body, decided).await
    }

    /// Has the kind of submitted work decided.
    pub async fn classify(
        &self,
        subject: &HandoffSubject,
        body: ClassifyHandoff,
    ) -> Result<ClassifyAnswer, HandoffError> {
        let decided = |answer: &ClassifyAnswer| answer.decisions.clone();
        self.send_and_record(HandoffKind::Classify, subject, body, decided).await
    }

    /// Has the scope and the components of submitted work decided.
    pub async fn plan_work(
        &self,
        subject: &HandoffSubject,
        body: PlanWorkHandoff,
    ) -> Result<PlanWorkAnswer, HandoffError> {
        let decided = |answer: &PlanWorkAnswer| answer.decisions.clone();
        self.send_and_record(HandoffKind::PlanWork, subject, body, decided).await
    }

    /// Has prose criteria judged.
    pub async fn verify(
        &self,
        subject: &HandoffSubject,
        body: VerifyHandoff,
    ) -> Result<VerifyAnswer, HandoffError> {
        let decided = |answer: &VerifyAnswer| answer.decisions.clone();
        self.send_and_record(HandoffKind::Verify, subject, body, decided).await
    }

    /// Has a due schedule run processed.
    pub async fn scheduled_run(
        &self,
        subject: &HandoffSubject,
        body: ScheduledRunHandoff,
    ) -> Result<ActedAnswer, HandoffError> {
        let decided = |answer: &ActedAnswer| answer.decisions.clone();
        self.send_and_record(HandoffKind::ScheduledRun, subject, body, decided).await
    }

    /// Asks how a stalled run continues.
    pub async fn continue_run(
        &self,
        subject: &HandoffSubject,
        body: ContinueRunHandoff,
    ) -> Result<ContinueAnswer, HandoffError> {
        let decided = |answer: &ContinueAnswer| answer.decisions.clone();
        self.send_and_record(HandoffKind::ContinueRun, subject, body, decided).await
    }

    /// Forwards the report of an agent.
    pub async fn agent_report(
        &self,
        subject: &HandoffSubject,
        body: AgentReportHandoff,
    ) -> Result<ActedAnswer, HandoffError> {
        let decided = |answer: &ActedAnswer| answer.decisions.clone();
        self.send_and_record(HandoffKind::AgentReport, subject, body, decided).await
    }

    /// Has the node of a task chosen. The timeout is short, because a job waits for the choice.
    pub async fn place(
        &self,
        subject: &HandoffSubject,
        body: PlaceHandoff,
    ) -> Result<PlaceAnswer, HandoffError> {
        let decided = |answer: &PlaceAnswer| answer.decisions.clone();
        self.send_and_record(HandoffKind::Place, subject, body, decided).await
    }

    async fn send_and_record<B, A>(
        &self,
        kind: HandoffKind,
        subject: &HandoffSubject,
        body: B,
        decided: fn(&A) -> Vec<DecisionRecord>,
    ) -> Result<A, HandoffError>
    where
        B: Serialize + Send,
        A: DeserializeOwned + Send,
    {
        let is_awaited = kind == HandoffKind::Place;
        let most = if is_awaited { self.options.place_within } else { Duration::MAX };
        let timeout = self.options.timeout.min(most);
        let deadline = Instant::now() + timeout;
        let mut open = self.open_handoff(kind, subject, timeout).await?;
        let handoff = serialize_body(&Handoff { context: open.context(), body })?;
        let sent = self.retry_unstarted((deadline, timeout), |left| {
            self.manager.send_handoff(kind, handoff.clone(), left)
        });
        let answer = tokio::select! {
            biased;
            () = self.background.finishing() => {
                Err(HandoffError::ConnectionLost("the orchestrator is shutting down".to_owned()))
            }
            answer = sent => answer.and_then(|answer| parse_answer::<A>(answer)),
        };
        let answer = answer.map(|TracedAnswer { answer, trace }| {
            open.decided(decided(&answer));
            open.recorded(trace);
            answer
        });
        open.close().await;
        answer
    }

    /// Acquires a permit and prepares the context; closing or dropping the result releases both.
    pub(super) async fn open_handoff(
        &self,
        kind: HandoffKind,
        subject: &HandoffSubject,
        timeout: Duration,
    ) -> Result<OpenHandoff, HandoffError> {
        if !self.manager.is_configured() {
            return Err(HandoffError::Unreachable("none is configured".to_owned()));
        }
        let room =
            self.acquire_permit((timeout / PERMIT_WAIT_FRACTION).min(MAX_PERMIT_WAIT)).await?;
        let prepared = self.prepare(subject, AgentRole::ProjectManager, timeout).await?;
        let mut open = OpenHandoff::new(self.clone(), kind, subject.clone(), prepared, Some(room));
        open.add_excerpts().await;
        Ok(open)
    }

    /// Prepares the context of an analyst, with its own token. The number of analysts is limited elsewhere.
    pub async fn open_for_analyst(
        &self,
        subject: &HandoffSubject,
        timeout: Duration,
    ) -> Result<OpenHandoff, HandoffError> {
        let prepared = self.prepare(subject, AgentRole::ProjectAnalyst, timeout).await?;
        Ok(OpenHandoff::new(self.clone(), HandoffKind::Analyse, subject.clone(), prepared, None))
    }

    async fn acquire_permit(
        &self,
        timeout: Duration,
    ) -> Result<OwnedSemaphorePermit, HandoffError> {
        let taken = tokio::time::timeout(timeout, self.permits.clone().acquire_owned()).await;
        match taken {
            Ok(Ok(room)) => Ok(room),
            Ok(Err(_)) | Err(_) => Err(HandoffError::Busy { retry_after: RETRY_AFTER }),
        }
    }

    /// Retries a handoff that was certainly not started, until the deadline, which is `within` after the start.
    pub(super) async fn retry_unstarted<T, F>(
        &self,
        (deadline, timeout): (Instant, Duration),
        mut attempt: impl FnMut(Duration) -> F,
    ) -> Result<T, HandoffError>
    where
        F: Future<Output = Result<T, HandoffError>>,
    {
        let send = || {
            let left = deadline.saturating_duration_since(Instant::now());
            let sent = tokio::time::timeout_at(deadline, attempt(left));
            async move {
                match sent.await {
                    // The error reports the whole timeout, not the time that was left for this attempt.
                    Ok(Err(HandoffError::Timeout(_))) | Err(_) => {
                        Err(HandoffError::Timeout(timeout))
                    }
                    Ok(outcome) => outcome,
                }
            }
        };
        send.retry(BACKOFF.delays().with_max_times(MAX_ATTEMPTS - 1))
            .sleep(tokio::time::sleep)
            .when(HandoffError::is_unstarted)
            .adjust(|error, delay| {
                let mut wanted = delay?;
                if let HandoffError::Busy { retry_after } = error {
                    wanted = wanted.max(*retry_after);
                }
                (Instant::now() + wanted < deadline).then_some(wanted)
            })
            .await
    }
}

/// Serialises a body.
pub(super) fn serialize_body<T: Serialize>(body: &T) -> Result<Value, HandoffError> {
    serde_json::to_value(body).map_err(|error| HandoffError::Failed(error.to_string()))
}

fn parse_answer<A: DeserializeOwned>(answer: Value) -> Result<TracedAnswer<A>, HandoffError> {
    serde_json::from_value(answer)
        .map_err(|error| HandoffError::Failed(format!("its answer cannot be read: {error}")))
}
