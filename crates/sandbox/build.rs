//! Digests the sources that decide how the stages of a sandbox talk to each other and to the node.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Crates whose types are in the documents of a job, and those of the stages.
const SOURCES: [&str; 5] =
    ["../domain/src", "../wire/src", "../runtime/src", "../image/src", "src"];

fn main() -> io::Result<()> {
    let mut digest = DefaultHasher::new();
    for directory in SOURCES {
        println!("cargo::rerun-if-changed={directory}");
        digest_directory(Path::new(directory), &mut digest)?;
    }
    println!("cargo::rustc-env=CYNODE_SANDBOX_BUILD_DIGEST={:016x}", digest.finish());
    Ok(())
}

fn digest_directory(path: &Path, digest: &mut DefaultHasher) -> io::Result<()> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    entries.sort();
    for entry in entries {
        entry.hash(digest);
        if entry.is_dir() {
            digest_directory(&entry, digest)?;
        } else {
            fs::read(&entry)?.hash(digest);
        }
    }
    Ok(())
}
