//! The client as servers behind the gateway see it.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::seams::{ClientAbout, ClientSide, Gone};
use crate::sessions::Session;

/// The client while one of its requests is under way.
pub(super) struct Requester {
    pub(super) about: Arc<ClientAbout>,
    /// The stream that answers the request; none if the client takes no streams.
    pub(super) stream: Option<mpsc::Sender<Box<RawValue>>>,
    /// Its session; without one it cannot be asked.
    pub(super) session: Option<Arc<Session>>,
}

#[async_trait]
impl ClientSide for Requester {
    fn about(&self) -> &ClientAbout {
        &self.about
    }

    async fn notify(&self, message: Box<RawValue>) {
        if let Some(stream) = &self.stream {
            // A client that is gone misses nothing it could still use.
            let _ = stream.send(message).await;
        }
    }

    async fn ask(&self, request: Box<RawValue>) -> Result<Box<RawValue>, Gone> {
        match (&self.session, &self.stream) {
            (Some(session), Some(stream)) => session.ask(&request, stream).await,
            _ => Err(Gone),
        }
    }
}

/// The client apart from any request: what it is told goes to its session's stream.
pub(super) struct Listener {
    pub(super) about: Arc<ClientAbout>,
    pub(super) session: Option<Arc<Session>>,
}

#[async_trait]
impl ClientSide for Listener {
    fn about(&self) -> &ClientAbout {
        &self.about
    }

    async fn notify(&self, message: Box<RawValue>) {
        if let Some(session) = &self.session {
            session.tell(message);
        }
    }

    async fn ask(&self, request: Box<RawValue>) -> Result<Box<RawValue>, Gone> {
        match &self.session {
            Some(session) => session.ask_aside(&request).await,
            None => Err(Gone),
        }
    }
}
