//! One turn, from the request to the record of how it went.

use std::time::Instant;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ChatTurnId, ProjectId, ThreadId};
use cynode_store::ThreadMessage;
use cynode_wire::openai::{ChatChunk, ChatCompletion, ChatRequest};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::again::{Answer, Asked};
use super::check::{check, check_for_manager};
use super::gather::Said;
use super::{Chat, ChatCall, ChatError, MANAGER_MODEL, Reader};
use crate::egress::{Routing, Tab};
use crate::outlet::{NotRead, Outlet};
use crate::secrets::{CleanRequest, Kinds};

/// Pieces of an answer, as they come.
pub(super) type Pieces = BoxStream<'static, Result<ChatChunk, ChatError>>;

/// A turn that is going on.
pub(super) struct Turn {
    pub(super) id: ChatTurnId,
    pub(super) call: ChatCall,
    /// The effective model.
    pub(super) model: String,
    pub(super) began_at: DateTime<Utc>,
    pub(super) started: Instant,
    /// Known once the project is.
    pub(super) project: Option<ProjectId>,
    /// Known once what the user said is kept.
    pub(super) thread: Option<ThreadId>,
    /// The turn that said the same before and was not answered, if this one repeats it.
    pub(super) repeats: Option<ChatTurnId>,
    /// The sorts of secrets that were taken out.
    pub(super) kinds: Kinds,
    /// What was asked of the project manager; nothing if a model is asked.
    pub(super) asked: Option<Asked>,
    /// Whether the project manager may have begun with it.
    pub(super) is_handed_over: bool,
    /// Whether the answer is kept already.
    pub(super) is_kept: bool,
    /// What models were asked, to be kept with the answer.
    pub(super) tab: Tab,
}

/// Where a turn takes place, and what is known there.
pub(super) struct Place {
    pub(super) project: ProjectId,
    pub(super) thread: ThreadId,
    pub(super) routing: Routing,
    /// The newest messages before this turn.
    pub(super) before: Vec<ThreadMessage>,
    /// The answer that an earlier attempt of the same request got and its reader missed.
    pub(super) answered: Option<Answer>,
    /// What calls were decided by when the turn began, if it was looked at.
    pub(super) revision: Option<i64>,
}

impl Turn {
    pub(super) fn new(call: ChatCall, request: &ChatRequest, began_at: DateTime<Utc>) -> Self {
        Self {
            id: call.link.map_or_else(ChatTurnId::generate, |link| link.id),
            model: effective_model(request),
            call,
            began_at,
            started: Instant::now(),
            project: None,
            thread: None,
            repeats: None,
            kinds: Kinds::new(),
            asked: None,
            is_handed_over: false,
            is_kept: false,
            tab: Tab::default(),
        }
    }

    /// Whether the project manager is asked.
    pub(super) fn is_for_manager(&self) -> bool {
        self.model == MANAGER_MODEL
    }

    /// A failure as whoever asked is told of it.
    fn told(&self, error: ChatError) -> ChatError {
        if self.is_handed_over { ChatError::Begun(Box::new(error)) } else { error }
    }

    /// What answers of our own are called.
    pub(super) fn completion_id(&self) -> String {
        format!("chatcmpl-{}", self.id)
    }
}

/// The model that a request names; the project manager if it names none.
fn effective_model(request: &ChatRequest) -> String {
    let named = request.model.as_deref().filter(|model| !model.is_empty());
    named.unwrap_or(MANAGER_MODEL).to_owned()
}

impl Chat {
    /// Runs a turn to its end, whatever that is, and puts it on record.
    pub(super) async fn run(
        &self,
        mut turn: Turn,
        request: ChatRequest,
        reader: Reader,
        room: OwnedSemaphorePermit,
    ) {
        let mut said = Said::default();
        match reader {
            Reader::Whole(mut reader) => {
                let outcome = tokio::select! {
                    outcome = self.whole(&mut turn, request, &mut said) => outcome,
                    () = reader.closed() => Err(ChatError::Canceled),
                    () = self.background.ending() => Err(ChatError::Stopping),
                };
                let kept = self.close(&turn, &said, outcome.as_ref().err()).await;
                let answer = outcome.and_then(|answer| kept.map(|()| answer));
                drop(room);
                // Whoever went away has no use for the answer.
                let _ = reader.send(answer.map_err(|error| turn.told(error)));
            }
            Reader::Pieces(mut reader) => {
                let gone = reader.gone();
                let outcome = tokio::select! {
                    outcome = self.pieces(&mut turn, request, &mut said, &mut reader) => outcome,
                    () = gone => Err(ChatError::Canceled),
                    () = self.background.ending() => Err(ChatError::Stopping),
                };
                let kept = self.close(&turn, &said, outcome.as_ref().err()).await;
                drop(room);
                reader.end(outcome.and(kept).map_err(|error| turn.told(error)));
            }
        }
    }

    async fn whole(
        &self,
        turn: &mut Turn,
        request: ChatRequest,
        said: &mut Said,
    ) -> Result<ChatCompletion, ChatError> {
        let wait = self.options.whole;
        let (place, request) = self.begin(turn, request).await?;
        let answer = async {
            if turn.is_for_manager() {
                let mut pieces = self.ask_manager(turn, &place, &request).await?;
                while let Some(piece) = pieces.next().await {
                    said.hear(&piece?);
                }
                Ok(said.completion(turn))
            } else {
                let answer = self.ask_model(turn, &place, request).await?;
                said.hear_whole(&answer);
                Ok(answer)
            }
        };
        timeout(wait, answer).await.unwrap_or(Err(ChatError::Timeout(wait)))
    }

    async fn pieces(
        &self,
        turn: &mut Turn,
        request: ChatRequest,
        said: &mut Said,
        reader: &mut Outlet<ChatChunk, ChatError>,
    ) -> Result<(), ChatError> {
        let wait = self.options.wait;
        let late = |_| ChatError::Timeout(wait);
        let wants_usage = request.stream_options.as_ref().is_some_and(|s| s.include_usage);
        let (place, request) = self.begin(turn, request).await?;
        let mut pieces = if turn.is_for_manager() {
            timeout(wait, self.ask_manager(turn, &place, &request)).await.map_err(late)??
        } else {
            timeout(wait, self.stream_model(turn, &place, request)).await.map_err(late)??
        };
        while let Some(piece) = timeout(wait, pieces.next()).await.map_err(late)? {
            let piece = piece?;
            said.hear(&piece);
            // Clients that did not ask for the usage expect something new in every piece.
            if wants_usage || !piece.choices.is_empty() {
                reader.give(piece).await.map_err(|NotRead| ChatError::Canceled)?;
            }
        }
        Ok(())
    }

    /// Everything before anybody is asked.
    async fn begin(
        &self,
        turn: &mut Turn,
        request: ChatRequest,
    ) -> Result<(Place, CleanRequest), ChatError> {
        check(&request)?;
        if turn.is_for_manager() {
            check_for_manager(&request)?;
        }
        let surroundings = self.look_around(turn).await?;
        turn.project = Some(surroundings.project);
        let request = CleanRequest::from(request);
        turn.kinds.clone_from(request.kinds());
        turn.asked = turn.is_for_manager().then(|| Asked::new(turn.id, &request));
        let place = self.hear_user(turn, surroundings, &request).await?;
        turn.thread = Some(place.thread);
        Ok((place, request))
    }
}
