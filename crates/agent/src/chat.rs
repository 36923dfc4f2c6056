//! The project manager in a conversation.

use cynode_wire::handoff::{ChatEvent, Turn};
use futures_util::StreamExt as _;
use futures_util::stream;

use crate::ChatEvents;
use crate::brain::BrainOptions;
use crate::work::Work;

/// Answers the last turn.
pub(crate) fn answer(work: Work, _options: BrainOptions, _turns: Vec<Turn>) -> ChatEvents {
    let Work { model, system, decisions, .. } = work;
    drop((model, system));
    let message = "chat is not built yet".to_owned();
    stream::iter([ChatEvent::Failed { message, may_retry: false, decisions }]).boxed()
}
