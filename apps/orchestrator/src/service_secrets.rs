//! The secrets of runners, joining worker nodes and the project manager, created on first use.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cynode_api::ServiceTokens;
use cynode_resources::{OpaqueToken, TokenKind};
use cynode_runtime::secret_file;
use secrecy::SecretString;

use crate::OrchestratorOptions;

/// Reads both secrets; creates those whose file does not exist.
pub(crate) fn load_service_tokens(
    options: &OrchestratorOptions,
    data_dir: &Path,
) -> anyhow::Result<ServiceTokens> {
    let place =
        |given: &Option<PathBuf>, name: &str| given.clone().unwrap_or_else(|| data_dir.join(name));
    let runner =
        read_or_create(&place(&options.runner_token_file, "runner.token"), TokenKind::Runner)?;
    let join =
        read_or_create(&place(&options.join_token_file, "node-join.token"), TokenKind::Join)?;
    Ok(ServiceTokens::new(&runner, &join))
}

/// Reads the secret shared with the project manager; creates it if its file does not exist.
pub(crate) fn load_handoff_secret(
    options: &OrchestratorOptions,
    data_dir: &Path,
) -> anyhow::Result<SecretString> {
    let path = options.pma_secret_file.clone();
    read_or_create(&path.unwrap_or_else(|| data_dir.join("pma.secret")), TokenKind::Handoff)
}

fn read_or_create(path: &Path, kind: TokenKind) -> anyhow::Result<SecretString> {
    if !path.exists() {
        match secret_file::write_new(path, OpaqueToken::generate(kind)?.reveal()) {
            // Another process created it first; use that one.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => made.with_context(|| format!("{} cannot be written", path.display()))?,
        }
    }
    Ok(secret_file::read(path)?)
}
