//! A server that does not reply, and the limits of a batch.

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
use crate::batch::BatchWrite as _;
use crate::{AppendRows, Entry, ThreadMessage};

fn message(content: &str, arguments: &str) -> AppendRows {
    AppendRows(vec![Entry::ThreadMessage(ThreadMessage {
        id: ChatMessageId::generate(),
        thread: ThreadId::generate(),
        role: "assistant".to_owned(),
        content: content.to_owned(),
        is_partial: false,
        metadata: json!({"tool_calls": [{"arguments": arguments}]}),
        turn: None,
        created_at: DateTime::UNIX_EPOCH,
    })])
}

#[tokio::test]
async fn what_cannot_be_kept_is_refused_before_it_waits_for_others() {
    let (queue, submissions) = mpsc::channel(1);
    drop(submissions);
    let committer = BatchCommitter { queue };

    let unfit = message("a\0b", "").statements();
    let fit = committer.submit(message("ab", "").statements().unwrap()).await;

    assert!(matches!(unfit, Err(Error::NulCharacter)));
    assert!(matches!(fit, Err(Error::Closed)));
}

/// Forwards bytes between client and server; holds the server's replies back while `is_forwarding` is false.
async fn proxy(listener: UnixListener, server: PathBuf, is_forwarding: watch::Receiver<bool>) {
    let mut directions = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let server = UnixStream::connect(&server).await.unwrap();
        let ((mut requests, mut to_client), (mut replies, mut to_server)) =
            (client.into_split(), server.into_split());
        let mut is_forwarding = is_forwarding.clone();
        directions.spawn(async move {
            let _ = tokio::io::copy(&mut requests, &mut to_server).await;
        });
        directions.spawn(async move {
            let mut chunk = [0; 4096];
            while let Ok(length @ 1..) = replies.read(&mut chunk).await {
                if is_forwarding.wait_for(|is_forwarding| *is_forwarding).await.is_err()
                    || to_client.write_all(&chunk[..length]).await.is_err()
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
    let (forward, is_forwarding) = watch::channel(true);
    let proxy = proxy(listener, sockets.join(".s.PGSQL.5432"), is_forwarding);
    let mut config = deadpool_postgres::Config::new();
    config.host = Some(directory.path().display().to_string());
    (config.user, config.dbname) =
        (known.get_user().map(str::to_owned), known.get_dbname().map(str::to_owned));
    let pool = config.create_pool(None, tokio_postgres::NoTls).unwrap();
    let mut writer = CommitWorker { pool, connection: None, timeout: Duration::from_mins(1) };
    let rows = message("said", "").statements().unwrap();

    let test = async {
        // The table does not exist, so a server that replies reports an error.
        let first = writer.commit_one(&rows).await;
        forward.send_replace(false);
        writer.timeout = Duration::from_millis(20);
        let silent = writer.commit_one(&rows).await;
        let is_dropped = writer.connection.is_none();
        forward.send_replace(true);
        writer.timeout = Duration::from_mins(1);
        let again = writer.commit_one(&rows).await;
        (first, silent, is_dropped, again)
    };
    let (first, silent, is_dropped, again) = tokio::select! {
        seen = test => seen,
        () = proxy => panic!("the proxy ended"),
    };

    for replied in [first, again] {
        assert!(matches!(replied, Err(Error::Statement(_))));
    }
    assert!(matches!(silent, Err(Error::Unavailable(_))) && is_dropped);
}

#[test]
fn long_calls_of_functions_fill_a_batch_as_long_words_do() {
    let long = "x".repeat(MAX_BYTES / 2);
    for (content, arguments) in [("", &*long), (&*long, "")] {
        let (sender, mut queue) = mpsc::channel(3);
        let submission = || {
            let statements = message(content, arguments).statements().unwrap();
            BatchSubmission { statements, reply: oneshot::channel().0 }
        };
        for _ in 0..3 {
            assert!(sender.try_send(submission()).is_ok());
        }

        assert_eq!(take_batch(submission(), &mut queue).len(), 2);
    }
}
