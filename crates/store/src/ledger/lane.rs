//! The one writer of entries on PostgreSQL: those that wait while a commit is on its way to the disk
//! share the next one, in one round trip.
//!
//! Whatever one of them is refused for, the others are written: what no database could keep is refused
//! before it waits, and a batch that fails is taken apart.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Pool;
use tokio::sync::{mpsc, oneshot};

use super::{Entry, Rows};
use crate::{Error, Tx};

/// Waiting callers; more than this and further ones wait for room.
const QUEUE: usize = 1024;
/// Entries that share one commit, about.
const BATCH: usize = 128;
/// Text that shares one commit, about: a few long answers are enough for one.
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// How long a commit may take. A server that has gone silent would hold up everybody behind it.
const PATIENCE: Duration = Duration::from_secs(30);

/// The queue of entries. The writer ends when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct LedgerLane {
    queue: mpsc::Sender<Waiting>,
}

struct Waiting {
    rows: Rows,
    entries: usize,
    reply: oneshot::Sender<Result<(), Error>>,
}

impl Waiting {
    fn tell(self, outcome: Result<(), Error>) {
        let _ = self.reply.send(outcome);
    }
}

impl LedgerLane {
    /// Writes through a connection of `pool`, which plans each statement once.
    #[expect(clippy::disallowed_methods, reason = "ends by itself when the store is dropped")]
    pub(crate) fn open(pool: Pool) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        tokio::spawn(Writer { pool, connection: None, patience: PATIENCE }.run(waiting));
        Self { queue }
    }

    pub(crate) async fn submit(&self, entries: Vec<Entry>) -> Result<(), Error> {
        let (rows, entries) = (Rows::of(&entries)?, entries.len());
        let (reply, answer) = oneshot::channel();
        self.queue.send(Waiting { rows, entries, reply }).await.map_err(|_| Error::Closed)?;
        answer.await.map_err(|_| Error::Closed)?
    }
}

struct Writer {
    pool: Pool,
    /// Kept, because it has the statements prepared.
    connection: Option<Tx>,
    /// How long a commit may take.
    patience: Duration,
}

impl Writer {
    async fn run(mut self, mut queue: mpsc::Receiver<Waiting>) {
        while let Some(first) = queue.recv().await {
            let batch = gathered(first, &mut queue);
            self.write(batch).await;
        }
    }

    /// Writes a batch and answers everybody in it. Whoever went away has no use for the answer.
    async fn write(&mut self, batch: Vec<Waiting>) {
        let written = match &*batch {
            [alone] => self.commit(&alone.rows).await,
            several => {
                let mut all = Rows::default();
                for waiting in several {
                    all.add(&waiting.rows);
                }
                self.commit(&all).await
            }
        };
        match written {
            Ok(()) => batch.into_iter().for_each(|waiting| waiting.tell(Ok(()))),
            Err(Error::Unavailable(cause)) => {
                let cause: Arc<dyn std::error::Error + Send + Sync> = cause.into();
                for waiting in batch {
                    waiting.tell(Err(Error::unavailable(Arc::clone(&cause))));
                }
            }
            // One of them cannot be written: alone, it is the only one to fail.
            Err(_) => {
                for waiting in batch {
                    let written = self.commit(&waiting.rows).await;
                    waiting.tell(written);
                }
            }
        }
    }

    async fn commit(&mut self, rows: &Rows) -> Result<(), Error> {
        let statements = rows.statements(false);
        if statements.is_empty() {
            return Ok(());
        }
        let mut connection = match self.connection.take().filter(|known| !known.is_lost()) {
            Some(known) => known,
            None => Tx::postgres(self.pool.get().await?),
        };
        // If the writer is stopped in the middle, nobody else shall have the connection.
        connection.set_open(true);
        let commit = tokio::time::timeout(self.patience, connection.commit_all(&statements));
        let written = match commit.await {
            Ok(written) => written.map(drop),
            Err(late) => Err(Error::unavailable(late)),
        };
        if !matches!(written, Err(Error::Unavailable(_))) {
            connection.set_open(false);
            self.connection = Some(connection);
        }
        written
    }
}

/// The first, and whoever waits behind it.
fn gathered(first: Waiting, queue: &mut mpsc::Receiver<Waiting>) -> Vec<Waiting> {
    let (mut entries, mut bytes) = (first.entries, first.rows.bytes());
    let mut batch = vec![first];
    while entries < BATCH
        && bytes < BATCH_BYTES
        && let Ok(next) = queue.try_recv()
    {
        entries += next.entries;
        bytes += next.rows.bytes();
        batch.push(next);
    }
    batch
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use chrono::DateTime;
    use cynode_domain::ids::{ChatMessageId, ThreadId};
    use serde_json::json;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{UnixListener, UnixStream};
    use tokio::sync::watch;
    use tokio::task::JoinSet;
    use tokio_postgres::config::Host;

    use super::*;
    use crate::ThreadMessage;

    fn message(content: &str, arguments: &str) -> Entry {
        Entry::Message(ThreadMessage {
            id: ChatMessageId::generate(),
            thread: ThreadId::generate(),
            role: "assistant".to_owned(),
            content: content.to_owned(),
            is_partial: false,
            metadata: json!({"tool_calls": [{"arguments": arguments}]}),
            turn: None,
            created_at: DateTime::UNIX_EPOCH,
        })
    }

    #[tokio::test]
    async fn what_cannot_be_kept_is_refused_before_it_waits_for_others() {
        let (queue, nobody) = mpsc::channel(1);
        drop(nobody);
        let lane = LedgerLane { queue };

        let unfit = lane.submit(vec![message("a\0b", "")]).await;
        let fit = lane.submit(vec![message("ab", "")]).await;

        assert!(matches!(unfit, Err(Error::NulCharacter)), "{unfit:?}");
        assert!(matches!(fit, Err(Error::Closed)), "{fit:?}");
    }

    /// Passes bytes on in both directions while `speaks` says so, and keeps them otherwise.
    async fn stand_between(listener: UnixListener, server: PathBuf, speaks: watch::Receiver<bool>) {
        let mut ways = JoinSet::new();
        while let Ok((client, _)) = listener.accept().await {
            let server = UnixStream::connect(&server).await.unwrap();
            let ((mut from, mut back), (mut answers, mut to)) =
                (client.into_split(), server.into_split());
            let mut speaks = speaks.clone();
            ways.spawn(async move {
                let _ = tokio::io::copy(&mut from, &mut to).await;
            });
            ways.spawn(async move {
                let mut piece = [0; 4096];
                while let Ok(length @ 1..) = answers.read(&mut piece).await {
                    if speaks.wait_for(|speaks| *speaks).await.is_err()
                        || back.write_all(&piece[..length]).await.is_err()
                    {
                        break;
                    }
                }
            });
        }
    }

    #[tokio::test]
    async fn a_commit_that_no_server_answers_is_given_up_and_the_next_goes_another_way() {
        let database = cynode_testkit::postgres_database().await;
        let known: tokio_postgres::Config = database.url.parse().unwrap();
        let [Host::Unix(sockets)] = known.get_hosts() else { panic!("{known:?}") };
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join(".s.PGSQL.5432")).unwrap();
        let (say, speaks) = watch::channel(true);
        let between = stand_between(listener, sockets.join(".s.PGSQL.5432"), speaks);
        let mut config = deadpool_postgres::Config::new();
        config.host = Some(directory.path().display().to_string());
        (config.user, config.dbname) =
            (known.get_user().map(str::to_owned), known.get_dbname().map(str::to_owned));
        let pool = config.create_pool(None, tokio_postgres::NoTls).unwrap();
        let mut writer = Writer { pool, connection: None, patience: Duration::from_mins(1) };
        let rows = Rows::of(&[message("said", "")]).unwrap();

        let test = async {
            // No table is there, which a server that answers says.
            let answered = writer.commit(&rows).await;
            say.send_replace(false);
            writer.patience = Duration::from_millis(20);
            let silent = writer.commit(&rows).await;
            let is_let_go = writer.connection.is_none();
            say.send_replace(true);
            writer.patience = Duration::from_mins(1);
            let again = writer.commit(&rows).await;
            (answered, silent, is_let_go, again)
        };
        let (answered, silent, is_let_go, again) = tokio::select! {
            seen = test => seen,
            () = between => panic!("nobody stands between"),
        };

        for spoken in [answered, again] {
            assert!(matches!(spoken, Err(Error::Statement(_))), "{spoken:?}");
        }
        assert!(matches!(silent, Err(Error::Unavailable(_))) && is_let_go, "{silent:?}");
    }

    #[test]
    fn long_calls_of_functions_fill_a_batch_as_long_words_do() {
        let long = "x".repeat(BATCH_BYTES / 2);
        for (content, arguments) in [("", &*long), (&*long, "")] {
            let (sender, mut queue) = mpsc::channel(3);
            let waiting = || {
                let rows = Rows::of(&[message(content, arguments)]).unwrap();
                Waiting { rows, entries: 1, reply: oneshot::channel().0 }
            };
            for _ in 0..3 {
                sender.try_send(waiting()).unwrap();
            }

            assert_eq!(gathered(waiting(), &mut queue).len(), 2);
        }
    }
}
