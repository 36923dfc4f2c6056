//! Reads and writes of pipes that may be closed.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Writes a part of `bytes`; waits forever if there is nothing to write or nothing to write to.
pub(crate) async fn write_some<W: AsyncWrite + Unpin>(
    pipe: &mut Option<W>,
    bytes: &[u8],
) -> io::Result<usize> {
    match pipe {
        Some(pipe) if !bytes.is_empty() => pipe.write(bytes).await,
        Some(_) | None => std::future::pending().await,
    }
}

/// Reads a part of the output, 0 at its end; waits forever if it has ended.
pub(crate) async fn read_some<R: AsyncRead + Unpin>(
    pipe: &mut Option<R>,
    buffer: &mut [u8],
) -> usize {
    match pipe {
        Some(pipe) => pipe.read(buffer).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}
