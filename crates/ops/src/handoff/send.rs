//! Handing over anything but a conversation.

use std::time::Duration;

use cynode_wire::handoff::{
    ActedAnswer, AgentReportHandoff, AgentRole, ContinueAnswer, ContinueRunHandoff, DecideAnswer,
    DecideHandoff, DecisionRecord, Handoff, HandoffKind, PlaceAnswer, PlaceHandoff, PlanAnswer,
    PlanHandoff, ReplanAnswer, ReplanHandoff, ScheduledRunHandoff, VerifyAnswer, VerifyHandoff,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::close::Open;
use super::{HandoffError, Handoffs, Subject};

/// How often work that was not begun is handed over in all.
const TRIES: u32 = 3;
/// How long to wait before the second try; each further wait is twice as long.
const BACKOFF: Duration = Duration::from_millis(100);
/// How long a handoff waits for room, as a part of its own time.
const ROOM_PART: u32 = 4;
/// The longest time that a handoff waits for room.
const ROOM_WITHIN: Duration = Duration::from_secs(30);
/// How long the choice of a node may take, unless the options say otherwise.
pub(crate) const PLACE_WITHIN: Duration = Duration::from_secs(2);
/// When to ask again where all room is taken.
const RETRY_AFTER: Duration = Duration::from_secs(1);

impl Handoffs {
    /// Has a request in prose turned into steps.
    pub async fn plan(
        &self,
        subject: &Subject,
        body: PlanHandoff,
    ) -> Result<PlanAnswer, HandoffError> {
        let decided = |answer: &PlanAnswer| answer.decisions.clone();
        self.hand(HandoffKind::Plan, subject, body, decided).await
    }

    /// Has a step planned anew whose result was not accepted.
    pub async fn replan(
        &self,
        subject: &Subject,
        body: ReplanHandoff,
    ) -> Result<ReplanAnswer, HandoffError> {
        let decided = |answer: &ReplanAnswer| answer.decisions.clone();
        self.hand(HandoffKind::Replan, subject, body, decided).await
    }

    /// Has criteria judged that no rule can check.
    pub async fn verify(
        &self,
        subject: &Subject,
        body: VerifyHandoff,
    ) -> Result<VerifyAnswer, HandoffError> {
        let decided = |answer: &VerifyAnswer| answer.decisions.clone();
        self.hand(HandoffKind::Verify, subject, body, decided).await
    }

    /// Has a schedule interpreted that came due.
    pub async fn scheduled_run(
        &self,
        subject: &Subject,
        body: ScheduledRunHandoff,
    ) -> Result<ActedAnswer, HandoffError> {
        let decided = |answer: &ActedAnswer| answer.decisions.clone();
        self.hand(HandoffKind::ScheduledRun, subject, body, decided).await
    }

    /// Asks how a run goes on.
    pub async fn continue_run(
        &self,
        subject: &Subject,
        body: ContinueRunHandoff,
    ) -> Result<ContinueAnswer, HandoffError> {
        let decided = |answer: &ContinueAnswer| answer.decisions.clone();
        self.hand(HandoffKind::ContinueRun, subject, body, decided).await
    }

    /// Passes on what an agent reported.
    pub async fn agent_report(
        &self,
        subject: &Subject,
        body: AgentReportHandoff,
    ) -> Result<ActedAnswer, HandoffError> {
        let decided = |answer: &ActedAnswer| answer.decisions.clone();
        self.hand(HandoffKind::AgentReport, subject, body, decided).await
    }

    /// Has a choice made that depends on preferences.
    pub async fn decide(
        &self,
        subject: &Subject,
        body: DecideHandoff,
    ) -> Result<DecideAnswer, HandoffError> {
        let decided = |answer: &DecideAnswer| answer.decisions.clone();
        self.hand(HandoffKind::Decide, subject, body, decided).await
    }

    /// Has the node chosen that the work of a task runs on. A job waits for it, so it is given little
    /// time.
    pub async fn place(
        &self,
        subject: &Subject,
        body: PlaceHandoff,
    ) -> Result<PlaceAnswer, HandoffError> {
        let decided = |answer: &PlaceAnswer| answer.decisions.clone();
        self.hand(HandoffKind::Place, subject, body, decided).await
    }

    async fn hand<B, A>(
        &self,
        kind: HandoffKind,
        subject: &Subject,
        body: B,
        decided: fn(&A) -> Vec<DecisionRecord>,
    ) -> Result<A, HandoffError>
    where
        B: Serialize + Send,
        A: DeserializeOwned + Send,
    {
        let is_awaited = kind == HandoffKind::Place;
        let most = if is_awaited { self.options.place_within } else { Duration::MAX };
        let within = self.options.within.min(most);
        let deadline = Instant::now() + within;
        let mut open = self.open(kind, subject, within).await?;
        let handoff = written(&Handoff { context: open.context(), body })?;
        let sent = self
            .patiently((deadline, within), |left| self.manager.hand(kind, handoff.clone(), left));
        let answer = tokio::select! {
            biased;
            () = self.background.ending() => {
                Err(HandoffError::Lost("this orchestrator stops".to_owned()))
            }
            answer = sent => answer.and_then(|answer| read(answer)),
        };
        if let Ok(answer) = &answer {
            open.decided(decided(answer));
        }
        open.close().await;
        answer
    }

    /// Takes room and prepares the context; both are given back when the result is closed or dropped.
    pub(super) async fn open(
        &self,
        kind: HandoffKind,
        subject: &Subject,
        within: Duration,
    ) -> Result<Open, HandoffError> {
        if !self.manager.is_configured() {
            return Err(HandoffError::Away("none is configured".to_owned()));
        }
        let room = self.take_room((within / ROOM_PART).min(ROOM_WITHIN)).await?;
        let prepared = self.prepare(subject, AgentRole::ProjectManager, within).await?;
        Ok(Open::new(self.clone(), (kind, subject.clone()), prepared, Some(room)))
    }

    /// Prepares the context of an analyst, whose token is its own. How many work is not bounded here.
    pub(crate) async fn open_for_analyst(
        &self,
        subject: &Subject,
        within: Duration,
    ) -> Result<Open, HandoffError> {
        let prepared = self.prepare(subject, AgentRole::ProjectAnalyst, within).await?;
        Ok(Open::new(self.clone(), (HandoffKind::Analyse, subject.clone()), prepared, None))
    }

    async fn take_room(&self, within: Duration) -> Result<OwnedSemaphorePermit, HandoffError> {
        let taken = tokio::time::timeout(within, self.room.clone().acquire_owned()).await;
        match taken {
            Ok(Ok(room)) => Ok(room),
            Ok(Err(_)) | Err(_) => Err(HandoffError::Busy { retry_after: RETRY_AFTER }),
        }
    }

    /// Tries again what was certainly not begun, until the deadline, which is `within` after the
    /// beginning.
    pub(super) async fn patiently<T, F>(
        &self,
        (deadline, within): (Instant, Duration),
        mut attempt: impl FnMut(Duration) -> F,
    ) -> Result<T, HandoffError>
    where
        F: Future<Output = Result<T, HandoffError>>,
    {
        let mut wait = BACKOFF;
        let mut tries = 1;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let outcome = tokio::time::timeout_at(deadline, attempt(left)).await;
            let error = match outcome {
                Ok(Err(error)) if error.is_unstarted() && tries < TRIES => error,
                // Who waits is told of all the time that was given, and not of what was left of it.
                Ok(Err(HandoffError::Timeout(_))) | Err(_) => {
                    return Err(HandoffError::Timeout(within));
                }
                Ok(outcome) => return outcome,
            };
            let wanted = if let HandoffError::Busy { retry_after } = error {
                retry_after.max(wait)
            } else {
                wait
            };
            if Instant::now() + wanted >= deadline {
                return Err(error);
            }
            tokio::time::sleep(wanted).await;
            wait *= 2;
            tries += 1;
        }
    }
}

/// A body as it is sent.
pub(super) fn written<T: Serialize>(body: &T) -> Result<Value, HandoffError> {
    serde_json::to_value(body).map_err(|error| HandoffError::Failed(error.to_string()))
}

fn read<A: DeserializeOwned>(answer: Value) -> Result<A, HandoffError> {
    serde_json::from_value(answer)
        .map_err(|error| HandoffError::Failed(format!("its answer cannot be read: {error}")))
}
