//! Standard input that does not hold up the end of the process.

use std::io::{self, Read as _};

use futures_util::stream;
use tokio::io::AsyncRead;
use tokio::sync::mpsc;
use tokio_util::io::StreamReader;

/// Bytes of one read.
const CHUNK_BYTES: usize = 64 << 10;
/// Reads that wait for their reader.
const MAX_CHUNKS: usize = 4;

/// Opens standard input. A thread of its own reads it, because a read cannot be cancelled: the runtime would wait for it.
pub fn open_standard_input() -> io::Result<impl AsyncRead + Unpin + Send> {
    let (sender, mut chunks) = mpsc::channel::<io::Result<io::Cursor<Vec<u8>>>>(MAX_CHUNKS);
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let mut input = io::stdin();
        loop {
            let mut chunk = vec![0; CHUNK_BYTES];
            let read = input.read(&mut chunk).map(|count| chunk.truncate(count));
            let is_last = read.is_err() || chunk.is_empty();
            if chunk.is_empty() && read.is_ok() {
                return;
            }
            let sent = sender.blocking_send(read.map(|()| io::Cursor::new(chunk)));
            if sent.is_err() || is_last {
                return;
            }
        }
    })?;
    Ok(StreamReader::new(stream::poll_fn(move |context| chunks.poll_recv(context))))
}
