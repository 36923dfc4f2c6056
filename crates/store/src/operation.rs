//! An operation on its way to a transaction: without its types, run inside a shared transaction, and
//! answered only after that transaction was committed.
//!
//! Only the caller knows what an operation answers. Everything between is the same for all of them and
//! is compiled once, not once for each operation in each crate.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use crate::{Error, Tx};

/// What came of a body. [`typed`] makes of it what its caller waits for.
pub(crate) type Outcome = Result<Box<dyn Any + Send>, Refusal>;

/// Why nothing was kept.
pub(crate) enum Refusal {
    /// The database says so.
    Store(Error),
    /// The body says so, with an error of its own.
    Body(Box<dyn Any + Send>),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// A body of work that runs in one transaction.
pub(crate) type Body = Box<dyn for<'a> FnOnce(&'a mut Tx) -> BoxFuture<'a, Outcome> + Send>;

/// Takes the types off a body.
pub(crate) fn erased<T, E, F>(body: F) -> Body
where
    T: Send + 'static,
    E: Send + 'static,
    F: for<'a> FnOnce(&'a mut Tx) -> BoxFuture<'a, Result<T, E>> + Send + 'static,
{
    Box::new(move |tx| Box::pin(body(tx).map(outcome)))
}

fn outcome<T: Send + 'static, E: Send + 'static>(result: Result<T, E>) -> Outcome {
    match result {
        Ok(value) => Ok(Box::new(value)),
        Err(error) => Err(Refusal::Body(Box::new(error))),
    }
}

/// Puts the types of a body that was [`erased`] back on.
pub(crate) fn typed<T: 'static, E: From<Error> + 'static>(outcome: Outcome) -> Result<T, E> {
    let mixed_up = || E::from(Error::misused("its answer is another's"));
    match outcome {
        Ok(value) => value.downcast().map(|value| *value).map_err(|_| mixed_up()),
        Err(Refusal::Store(error)) => Err(E::from(error)),
        Err(Refusal::Body(error)) => {
            Err(error.downcast().map_or_else(|_| mixed_up(), |error| *error))
        }
    }
}

/// Runs `body` so that its success means that all it did can be kept. A panic is a failure of this
/// operation alone, and so is going on after a statement failed: PostgreSQL would forget everything.
pub(crate) async fn run_guarded(body: Body, tx: &mut Tx) -> Outcome {
    tx.forget_failure();
    let outcome = AssertUnwindSafe(async { body(tx).await }).catch_unwind().await;
    let value = outcome.unwrap_or_else(|_| Err(Error::misused("it panicked").into()))?;
    if tx.has_failed() {
        return Err(Error::misused("it went on after a statement had failed").into());
    }
    Ok(value)
}

/// An operation of any type, as queues hold it.
pub(crate) type Queued = Box<dyn Operation>;

/// An operation that is run first and answered later.
pub(crate) trait Operation: Send {
    /// Runs the body; true if its changes are to be kept.
    fn run<'a>(&'a mut self, tx: &'a mut Tx) -> BoxFuture<'a, bool>;

    /// Tells the caller: its own result, or why the transaction was not committed. Gives what is to
    /// be run next, if the operation has more to do.
    fn answer(self: Box<Self>, commit: Result<(), Error>) -> Option<Queued>;
}

struct Pending {
    body: Option<Body>,
    outcome: Option<Outcome>,
    reply: oneshot::Sender<Outcome>,
}

/// Wraps `body` for a queue, and gives the place where its answer arrives.
pub(crate) fn queue(body: Body) -> (Queued, oneshot::Receiver<Outcome>) {
    let (reply, answer) = oneshot::channel();
    (Box::new(Pending { body: Some(body), outcome: None, reply }), answer)
}

impl Operation for Pending {
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

    fn answer(self: Box<Self>, commit: Result<(), Error>) -> Option<Queued> {
        let outcome = match (self.outcome, commit) {
            (Some(Ok(value)), Ok(())) => Ok(value),
            (Some(Err(refusal)), _) => Err(refusal),
            (_, Err(error)) => Err(error.into()),
            (None, Ok(())) => Err(Error::Closed.into()),
        };
        // A caller that stopped waiting has no use for the answer.
        let _ = self.reply.send(outcome);
        None
    }
}
