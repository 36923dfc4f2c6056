//! Closes upstream sessions: those of a client session that ended, idle ones, or all.

use super::{ServerConnections, ServerRoute, SessionCell, SessionSlot};
use crate::interface::SessionKey;
use crate::message_router::lock;

impl ServerConnections {
    /// Closes the upstream sessions of a session that ended.
    pub(crate) fn close_session(&self, session: &SessionKey) {
        let cell = lock(&self.sessions).remove(&SessionSlot::Own(session.clone()));
        if let Some(cell) = cell {
            self.close_cell(&cell);
        }
        for cell in lock(&self.sessions).values() {
            if let Some(conversation) = cell.get() {
                conversation.router.remove_listener(&session.id);
            }
        }
    }

    /// Closes idle upstream sessions and connections.
    pub(crate) fn close_idle(&self) {
        if let ServerRoute::Http(endpoint) = &self.route {
            endpoint.sweep();
        }
        let is_unused = |cell: &SessionCell| {
            let conversation = cell.get();
            conversation.is_some_and(|open| !open.is_open() || open.idle_for() > self.options.idle)
        };
        let unused: Vec<SessionCell> = lock(&self.sessions)
            .extract_if(|_, cell| is_unused(cell))
            .map(|(_, cell)| cell)
            .collect();
        for cell in unused {
            self.close_cell(&cell);
        }
    }

    /// Closes everything: the server was removed or changed.
    pub(crate) fn close_all(&self) {
        self.closed.cancel();
        let cells: Vec<SessionCell> = lock(&self.sessions).drain().map(|(_, cell)| cell).collect();
        for cell in cells {
            self.close_cell(&cell);
        }
    }

    pub(crate) fn close_cell(&self, cell: &SessionCell) {
        if let Some(conversation) = cell.get().cloned() {
            self.tasks.spawn("upstream-close", async move { conversation.close().await });
        }
    }
}
