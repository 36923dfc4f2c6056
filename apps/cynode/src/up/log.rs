//! Log files of children: rotated at start, read when a child fails to start.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde_json::Value;

/// A larger log is rotated when `up` starts.
const MAX_BYTES: u64 = 10 << 20;
/// Bytes that are read from the end of a log.
const TAIL_BYTES: u64 = 8 << 10;

/// Renames a large log, replacing the previously rotated one.
pub(crate) fn rotate_log(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(meta) if meta.len() > MAX_BYTES => fs::rename(path, path.with_extension("log.1")),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Opens a log for appending.
pub(crate) fn open_log(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

/// The last output of a child: the plain lines at the end, or the message of the last JSON line.
pub(crate) fn last_output(path: &Path) -> Option<String> {
    let tail = read_tail(path).ok()?;
    let lines: Vec<&str> = tail.lines().filter(|line| !line.trim().is_empty()).collect();
    let plain: Vec<&str> =
        lines.iter().rev().take_while(|line| !line.starts_with('{')).copied().collect();
    if plain.is_empty() {
        return lines.last().map(|line| parse_message(line));
    }
    let text = plain.into_iter().rev().collect::<Vec<_>>().join("\n");
    // A restarted child repeats its error.
    let newest = text.rsplit("error: ").next().unwrap_or(&text);
    Some(newest.trim().to_owned())
}

fn read_tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn parse_message(line: &str) -> String {
    let Ok(entry) = serde_json::from_str::<Value>(line) else {
        return line.to_owned();
    };
    let text = entry["message"].as_str().unwrap_or(line);
    match entry["fields"]["error"].as_str() {
        Some(error) => format!("{text}: {error}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_output_of(log: &str) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("role.log");
        fs::write(&path, log).unwrap();
        last_output(&path)
    }

    #[test]
    fn the_last_words_of_a_child_are_its_final_error() {
        let log = "{\"message\":\"starting\"}\nerror: port taken\n{\"message\":\"starting\"}\n\
                   error: cannot listen on 127.0.0.1:80\nPermission denied\n";

        assert_eq!(
            last_output_of(log).unwrap(),
            "cannot listen on 127.0.0.1:80\nPermission denied"
        );
    }

    #[test]
    fn without_an_error_the_last_message_of_the_log_is_taken() {
        let log =
            "{\"message\":\"one\"}\n{\"message\":\"two\",\"fields\":{\"error\":\"broken\"}}\n";

        assert_eq!(last_output_of(log).unwrap(), "two: broken");
        assert_eq!(last_output_of(""), None);
    }

    #[test]
    fn a_log_that_has_grown_large_is_moved_aside_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("node.log");
        File::create(&path).unwrap().set_len(MAX_BYTES + 1).unwrap();

        rotate_log(&path).unwrap();
        rotate_log(&path).unwrap();

        assert!(!path.exists());
        assert!(dir.path().join("node.log.1").exists());
    }
}
