//! Notifications between processes that share a PostgreSQL. Delivery is not guaranteed: nothing may depend on
//! it.

use std::future::poll_fn;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Client, Connection, Socket};

use crate::{Error, PostgresAddress};

/// A notification need not be durable.
const SESSION: &str = "SET synchronous_commit = off; LISTEN cynode";

/// A connection that sends notifications to other processes and receives theirs.
pub struct NotificationChannel {
    client: Client,
    /// Distinguishes this connection's notifications from those of others.
    own_process: i32,
    received: mpsc::UnboundedReceiver<(i32, String)>,
}

impl NotificationChannel {
    pub async fn open(address: &PostgresAddress) -> Result<Self, Error> {
        let (client, connection) = address.config.connect(address.tls.clone()).await?;
        let (sender, heard) = mpsc::unbounded_channel();
        spawn(connection, sender);
        client.batch_execute(SESSION).await?;
        let own_process = client.query_one("SELECT pg_backend_pid()", &[]).await?.try_get(0)?;
        Ok(Self { client, own_process, received: heard })
    }

    /// Notifies all other processes.
    pub async fn notify(&self, word: &str) -> Result<(), Error> {
        self.client.execute("SELECT pg_notify('cynode', $1)", &[&word]).await?;
        Ok(())
    }

    /// Receives the next notification of another process; `None` once the connection is lost.
    pub async fn receive(&mut self) -> Option<String> {
        loop {
            let (process, word) = self.received.recv().await?;
            if process != self.own_process {
                return Some(word);
            }
        }
    }
}

impl std::fmt::Debug for NotificationChannel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notices").field("own_process", &self.own_process).finish_non_exhaustive()
    }
}

#[expect(clippy::disallowed_methods, reason = "ends by itself when the connection does")]
fn spawn(
    mut connection: Connection<Socket, impl AsyncRead + AsyncWrite + Unpin + Send + 'static>,
    heard: mpsc::UnboundedSender<(i32, String)>,
) {
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
            if let AsyncMessage::Notification(notice) = message {
                // The receiver is gone: the client was dropped too, and the connection ends.
                let _ = heard.send((notice.process_id(), notice.payload().to_owned()));
            }
        }
    });
}
