//! An operation on its way through a queue: type-erased, run inside a shared transaction, and
//! answered only after that transaction was committed.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use crate::{Error, Tx};

/// A body of work that runs in one transaction.
pub(crate) type Body<T, E> =
    Box<dyn for<'a> FnOnce(&'a mut Tx) -> BoxFuture<'a, Result<T, E>> + Send>;

/// Runs `body` so that its success means that all it did can be kept. A panic is a failure of this
/// operation alone, and so is going on after a statement failed: PostgreSQL would forget everything.
pub(crate) async fn run_guarded<T, E: From<Error>>(body: Body<T, E>, tx: &mut Tx) -> Result<T, E> {
    tx.forget_failure();
    let outcome = AssertUnwindSafe(async { body(tx).await }).catch_unwind().await;
    let value = outcome.unwrap_or_else(|_| Err(E::from(Error::misused("it panicked"))))?;
    if tx.has_failed() {
        return Err(E::from(Error::misused("it went on after a statement had failed")));
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

struct Pending<T, E> {
    body: Option<Body<T, E>>,
    result: Option<Result<T, E>>,
    reply: oneshot::Sender<Result<T, E>>,
}

/// Wraps `body` for a queue, and gives the place where its answer arrives.
pub(crate) fn queue<T, E>(body: Body<T, E>) -> (Queued, oneshot::Receiver<Result<T, E>>)
where
    T: Send + 'static,
    E: From<Error> + Send + 'static,
{
    let (reply, answer) = oneshot::channel();
    (Box::new(Pending { body: Some(body), result: None, reply }), answer)
}

impl<T, E> Operation for Pending<T, E>
where
    T: Send + 'static,
    E: From<Error> + Send + 'static,
{
    fn run<'a>(&'a mut self, tx: &'a mut Tx) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let Some(body) = self.body.take() else {
                return false;
            };
            let result = run_guarded(body, tx).await;
            let keep = result.is_ok();
            self.result = Some(result);
            keep
        })
    }

    fn answer(self: Box<Self>, commit: Result<(), Error>) -> Option<Queued> {
        let result = match (self.result, commit) {
            (Some(Ok(value)), Ok(())) => Ok(value),
            (Some(Err(refusal)), _) => Err(refusal),
            (_, Err(error)) => Err(E::from(error)),
            (None, Ok(())) => Err(E::from(Error::Closed)),
        };
        // A caller that stopped waiting has no use for the answer.
        let _ = self.reply.send(result);
        None
    }
}
