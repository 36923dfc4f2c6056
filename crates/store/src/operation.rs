//! Type-erased operations: run inside a shared transaction, and answered only after its commit.
//!
//! Only the caller knows the result type. Everything in between is compiled once, not once per operation in
//! each crate.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use crate::{Error, Tx};

/// The result of a body; [`restore_types`] restores its type.
pub(crate) type OperationResult = Result<Box<dyn Any + Send>, OperationError>;

/// Why an operation was rolled back.
pub(crate) enum OperationError {
    /// A database error.
    Store(Error),
    /// An error of the body itself.
    Body(Box<dyn Any + Send>),
}

impl From<Error> for OperationError {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// The body of an operation, which runs in one transaction.
pub(crate) type OperationBody =
    Box<dyn for<'a> FnOnce(&'a mut Tx) -> BoxFuture<'a, OperationResult> + Send>;

/// Erases the types of a body.
pub(crate) fn erase_types<T, E, F>(body: F) -> OperationBody
where
    T: Send + 'static,
    E: Send + 'static,
    F: for<'a> FnOnce(&'a mut Tx) -> BoxFuture<'a, Result<T, E>> + Send + 'static,
{
    Box::new(move |tx| Box::pin(body(tx).map(erase_result)))
}

fn erase_result<T: Send + 'static, E: Send + 'static>(result: Result<T, E>) -> OperationResult {
    match result {
        Ok(value) => Ok(Box::new(value)),
        Err(error) => Err(OperationError::Body(Box::new(error))),
    }
}

/// Restores the types of a body that was [`erase_types`].
pub(crate) fn restore_types<T: 'static, E: From<Error> + 'static>(
    outcome: OperationResult,
) -> Result<T, E> {
    let mixed_up = || E::from(Error::invalid_operation("its result has an unexpected type"));
    match outcome {
        Ok(value) => value.downcast().map(|value| *value).map_err(|_| mixed_up()),
        Err(OperationError::Store(error)) => Err(E::from(error)),
        Err(OperationError::Body(error)) => {
            Err(error.downcast().map_or_else(|_| mixed_up(), |error| *error))
        }
    }
}

/// Runs `body` so that its success means that all its changes can be committed. A panic fails this operation
/// only. So does continuing after a failed statement: PostgreSQL would discard all changes.
pub(crate) async fn run_guarded(body: OperationBody, tx: &mut Tx) -> OperationResult {
    tx.clear_failure();
    let outcome = AssertUnwindSafe(async { body(tx).await }).catch_unwind().await;
    let value = outcome.unwrap_or_else(|_| Err(Error::invalid_operation("it panicked").into()))?;
    if tx.has_failed() {
        return Err(Error::invalid_operation("it continued after a failed statement").into());
    }
    Ok(value)
}

/// An operation as queues hold it.
pub(crate) type Queued = Box<dyn Operation>;

/// An operation that is run first and answered after the commit.
pub(crate) trait Operation: Send {
    /// Runs the body; returns whether its changes are to be committed.
    fn run<'a>(&'a mut self, tx: &'a mut Tx) -> BoxFuture<'a, bool>;

    /// Replies to the caller with its result, or with the failure of the commit. Returns the next operation to
    /// run, if there is one.
    fn reply(self: Box<Self>, commit: Result<(), Error>) -> Option<Queued>;
}

struct PendingOperation {
    body: Option<OperationBody>,
    outcome: Option<OperationResult>,
    reply: oneshot::Sender<OperationResult>,
}

/// Wraps `body` for a queue, and returns the receiver of its result.
pub(crate) fn into_queued(body: OperationBody) -> (Queued, oneshot::Receiver<OperationResult>) {
    let (reply, answer) = oneshot::channel();
    (Box::new(PendingOperation { body: Some(body), outcome: None, reply }), answer)
}

impl Operation for PendingOperation {
    fn run<'a>(&'a mut self, tx: &'a mut Tx) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let Some(body) = self.body.take() else {
                return false;
            };
            let outcome = run_guarded(body, tx).await;
            let keep = outcome.is_ok();
            self.outcome = Some(outcome);
            keep
        })
    }

    fn reply(self: Box<Self>, commit: Result<(), Error>) -> Option<Queued> {
        let outcome = match (self.outcome, commit) {
            (Some(Ok(value)), Ok(())) => Ok(value),
            (Some(Err(refusal)), _) => Err(refusal),
            (_, Err(error)) => Err(error.into()),
            (None, Ok(())) => Err(Error::Closed.into()),
        };
        // The caller may have stopped waiting.
        let _ = self.reply.send(outcome);
        None
    }
}
