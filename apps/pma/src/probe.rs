//! Trying what a confined process must not be able to do.
//!
//! For tests, and for people who want to see it: `cynode-pma --role=… --probe FILE` confines itself as
//! always, tries each thing, and prints what the kernel said.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::thread;

use serde_json::json;

/// Nothing of ours listens there.
const FOREIGN_PORT: u16 = 5432;

/// Tries everything; `file` is one that belongs to others, such as the database.
pub(crate) fn run(file: &Path) -> anyhow::Result<()> {
    let beside = file.with_extension("probe");
    let tried = json!({
        "exec": word(Command::new("/bin/true").spawn()),
        "write": word(File::create(&beside)),
        "write_in_place": word(File::options().append(true).open(file)),
        "remove": word(fs::remove_file(file)),
        "read": word(fs::read(file)),
        "list": word(file.parent().map_or(Ok(()), |dir| fs::read_dir(dir).map(drop))),
        "connect": word(TcpStream::connect(("127.0.0.1", FOREIGN_PORT))),
        "thread": word(thread::Builder::new().spawn(|| ()).map(drop)),
    });
    Ok(writeln!(io::stdout(), "{tried}")?)
}

fn word<T>(outcome: io::Result<T>) -> String {
    match outcome {
        Ok(_) => "done".to_owned(),
        Err(error) => error.kind().to_string(),
    }
}
