//! The actions of a request, each one transaction under its claim; effects before it can be repeated.

mod budget;
mod child;
mod classify;
mod conclude;
mod context;
mod delivery;
mod estimate;
mod people_review;
mod plan;
mod pull_request;
mod pull_request_body;
mod recovery;
pub(crate) mod review;
mod revision;
mod scope;
mod signs;
pub(crate) mod sources;
mod summary;
mod unit;

use cynode_domain::question::{Question, QuestionKind, ReplyForm};
use cynode_domain::request::{QuestionSubject, RequestQuestion};
use cynode_domain::status::RequestPhase;
use cynode_execution::handoff::HandoffSubject;
use cynode_execution::tasks::task_event;
use cynode_ops::work::persist_board;
use cynode_resources::Caller;
use cynode_store::{RequestClaim, Tx};
use serde_json::{Value, json};

pub(crate) use pull_request_body::fenced;

use crate::next_action::NextAction;
use crate::snapshot::RequestSnapshot;
use crate::{RequestError, RequestService};

/// The event that a request waits for a person; notifications are made from it.
const WAITING: &str = "request.waiting";

/// One action of a request, with the snapshot that it was decided on.
pub(crate) struct Step<'a> {
    pub(crate) service: &'a RequestService,
    pub(crate) claim: RequestClaim,
    /// Boxed, because the future of every step holds it.
    pub(crate) snapshot: Box<RequestSnapshot>,
}

impl Step<'_> {
    /// Carries out an action.
    pub(crate) async fn carry_out(self, action: NextAction) -> Result<(), RequestError> {
        match action {
            NextAction::Classify => self.classify().await,
            NextAction::StartStep(step) => Box::pin(self.start_step(step)).await,
            NextAction::ReadContext { child } => self.read_context(child).await,
            NextAction::Plan => self.plan().await,
            NextAction::StartUnit { unit } => Box::pin(self.start_unit(&unit)).await,
            NextAction::Conclude { child } => Box::pin(self.conclude(child)).await,
            NextAction::Enter(phase) => self.enter(phase).await,
            NextAction::OpenPullRequest => Box::pin(self.open_pull_request()).await,
            NextAction::PublishPullRequest => Box::pin(self.publish_pull_request()).await,
            NextAction::Complete => self.complete().await,
            NextAction::AskStuck { reason } => self.ask_stuck(reason).await,
            // The driver does these itself: reading the forge may change nothing.
            NextAction::FollowPullRequest | NextAction::Wait | NextAction::AwaitJobEnd => Ok(()),
        }
    }

    /// The owner of the request, for what is done on their behalf.
    async fn owner(&self) -> Result<Caller, RequestError> {
        let user = self.snapshot.task.spec.created_by;
        let caller = self.service.store.read(move |tx| {
            Box::pin(async move {
                let owner = tx.user_get(user).await?.filter(|owner| owner.is_active);
                let fault = || RequestError::Invalid(vec!["its owner is disabled".to_owned()]);
                Ok::<_, RequestError>(Caller::on_behalf_of(
                    user,
                    owner.ok_or_else(fault)?.handle,
                    false,
                ))
            })
        });
        caller.await
    }

    /// What a handoff about the request is about.
    async fn handoff_subject(&self) -> Result<HandoffSubject, RequestError> {
        let (task, caller) = (&self.snapshot.task.spec, self.owner().await?);
        Ok(HandoffSubject {
            project: Some(task.project),
            task: Some(task.id),
            ..HandoffSubject::for_caller(caller, task.id.to_string())
        })
    }

    async fn enter(mut self, phase: RequestPhase) -> Result<(), RequestError> {
        self.snapshot.request.phase = self.snapshot.request.phase.advance(phase)?;
        self.save("request.phase_changed", json!({ "phase": phase })).await
    }

    async fn ask_stuck(mut self, reason: String) -> Result<(), RequestError> {
        let question = Question {
            kind: QuestionKind::Approval,
            text: "No work unit can go on. Try again?".to_owned(),
            about: vec![reason],
            accepts: vec![ReplyForm::Retry, ReplyForm::No],
        };
        self.set_question(QuestionSubject::Phase {}, question);
        self.save_question().await
    }

    /// Sets what the request waits for.
    fn set_question(&mut self, subject: QuestionSubject, question: Question) {
        self.snapshot.request.question = Some(RequestQuestion { subject, question });
        self.snapshot.request.asked_at = Some(self.service.clock.now());
    }

    async fn save_question(self) -> Result<(), RequestError> {
        let asked = self.snapshot.request.question.clone();
        let data = json!({ "question": asked });
        self.save(WAITING, data).await
    }

    /// Writes the request, its units and an event, unless the claim is lost.
    async fn save(self, event: &'static str, data: Value) -> Result<(), RequestError> {
        self.save_with(event, data, |_| Box::pin(async { Ok(()) })).await
    }

    /// As [`Self::save`], with more to write in the same transaction.
    async fn save_with<F>(
        self,
        event: &'static str,
        data: Value,
        more: F,
    ) -> Result<(), RequestError>
    where
        F: for<'t> FnOnce(
                &'t mut Tx,
            )
                -> futures_util::future::BoxFuture<'t, Result<(), RequestError>>
            + Send
            + 'static,
    {
        let (claim, now) = (self.claim, self.service.clock.now());
        let RequestSnapshot { mut request, task, board, .. } = *self.snapshot;
        request.updated_at = now;
        request.failures = 0;
        self.service
            .store
            .write(move |tx| {
                Box::pin(async move {
                    // The task before the request, as everywhere.
                    tx.task_lock(claim.task).await?;
                    if !tx.request_check_claim(claim).await? {
                        return Err(RequestError::ClaimLost);
                    }
                    tx.request_update(&request).await?;
                    if let Some(board) = &board {
                        persist_board(tx, &task, board).await?;
                    }
                    more(tx).await?;
                    tx.event_append(&task_event(&task, event, data)).await?;
                    // A step runs only while no question is open, so this question is new.
                    if let Some(asked) = request.question.as_ref().filter(|_| event != WAITING) {
                        let data = json!({ "question": asked });
                        tx.event_append(&task_event(&task, WAITING, data)).await?;
                    }
                    Ok(())
                })
            })
            .await
    }
}
