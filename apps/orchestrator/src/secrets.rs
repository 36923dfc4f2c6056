//! The secrets that runners and joining nodes present, made when first needed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cynode_api::ServiceTokens;
use cynode_ops::{Token, TokenKind};
use cynode_runtime::secret_file;
use secrecy::SecretString;

use crate::OrchestratorOptions;

/// Reads both secrets, making those whose file does not exist.
pub(crate) fn service_tokens(
    options: &OrchestratorOptions,
    data_dir: &Path,
) -> anyhow::Result<ServiceTokens> {
    let place =
        |given: &Option<PathBuf>, name: &str| given.clone().unwrap_or_else(|| data_dir.join(name));
    let runner =
        read_or_make(&place(&options.runner_token_file, "runner.token"), TokenKind::Runner)?;
    let join = read_or_make(&place(&options.join_token_file, "node-join.token"), TokenKind::Join)?;
    Ok(ServiceTokens::new(&runner, &join))
}

/// The secret by which the project manager knows the orchestrator, made when its file does not exist.
pub(crate) fn handoff_secret(
    options: &OrchestratorOptions,
    data_dir: &Path,
) -> anyhow::Result<SecretString> {
    let path = options.pma_secret_file.clone();
    read_or_make(&path.unwrap_or_else(|| data_dir.join("pma.secret")), TokenKind::Handoff)
}

fn read_or_make(path: &Path, kind: TokenKind) -> anyhow::Result<SecretString> {
    if !path.exists() {
        match secret_file::write_new(path, Token::generate(kind)?.reveal()) {
            // Somebody else made it first: theirs is the one.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => made.with_context(|| format!("{} cannot be written", path.display()))?,
        }
    }
    Ok(secret_file::read(path)?)
}
