//! The configuration file, and the session that `auth login` keeps in it.
//!
//! Invariant: the file is replaced as a whole and readable by its owner only, and a session is
//! presented to no gateway but the one that issued it.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cli::Format;
use crate::failure::Failure;

/// What the configuration file says.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Stored {
    /// Where the gateway listens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gateway_url: Option<String>,
    /// How to print.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<Format>,
    /// An API token, put there by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
    /// The session of the last `auth login`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<StoredSession>,
}

/// A signed-in session.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredSession {
    /// The gateway that issued it.
    pub(crate) gateway_url: String,
    /// Who signed in.
    pub(crate) handle: String,
    /// Presented with every request.
    pub(crate) access_token: String,
    /// Good for one refresh.
    pub(crate) refresh_token: String,
    /// Whether commands go to this gateway while the session is kept: the sign-in named it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_default_gateway: bool,
}

/// The configuration file.
#[derive(Debug, Clone)]
pub(crate) struct ConfigFile {
    path: PathBuf,
}

impl ConfigFile {
    /// The file at `path`, which need not exist.
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Reads it; a file that does not exist says nothing.
    pub(crate) fn load(&self) -> Result<Stored, Failure> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Stored::default()),
            Err(error) => return Err(self.fault(&error)),
        };
        let stored: Stored = toml::from_str(&text).map_err(|error| self.fault(&error.message()))?;
        if stored.token.is_some() || stored.session.is_some() {
            self.refuse_if_shared()?;
        }
        Ok(stored)
    }

    /// Changes it under a lock, so that two commands never overwrite each other's tokens.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Stored)) -> Result<Stored, Failure> {
        let _lock = self.lock()?;
        let mut stored = self.load()?;
        change(&mut stored);
        self.save(&stored)?;
        Ok(stored)
    }

    /// Holds other commands off until the answer is dropped.
    pub(crate) fn lock(&self) -> Result<File, Failure> {
        let lock = self.make_directory().and_then(|()| {
            let lock = File::create(self.path.with_extension("lock"))?;
            lock.lock()?;
            Ok(lock)
        });
        lock.map_err(|error| self.fault(&error))
    }

    /// Replaces it as a whole. The caller holds the lock.
    pub(crate) fn save(&self, stored: &Stored) -> Result<(), Failure> {
        let text = toml::to_string(stored).map_err(|error| self.fault(&error))?;
        self.replace(&text).map_err(|error| self.fault(&error))
    }

    fn replace(&self, text: &str) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(self.directory())?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(())
    }

    fn make_directory(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(self.directory())
    }

    fn directory(&self) -> &Path {
        self.path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    fn refuse_if_shared(&self) -> Result<(), Failure> {
        let mode =
            fs::metadata(&self.path).map_err(|error| self.fault(&error))?.permissions().mode();
        let others = mode & 0o077;
        if others == 0 {
            return Ok(());
        }
        let path = self.path.display();
        Err(Failure::Usage(format!(
            "{path} holds a token and others can read it; run `chmod 600 {path}`"
        )))
    }

    fn fault(&self, reason: &dyn std::fmt::Display) -> Failure {
        Failure::Usage(format!("configuration file {}: {reason}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> StoredSession {
        StoredSession {
            gateway_url: "http://localhost:12080".to_owned(),
            handle: "ada".to_owned(),
            access_token: "access".to_owned(),
            refresh_token: "refresh".to_owned(),
            is_default_gateway: false,
        }
    }

    #[test]
    fn a_stored_session_is_readable_by_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let file = ConfigFile::at(dir.path().join("cynork/config.toml"));

        file.change(|stored| stored.session = Some(session())).unwrap();

        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&file.path), 0o600);
        assert_eq!(mode(file.directory()), 0o700);
        assert_eq!(file.load().unwrap().session.unwrap().handle, "ada");
    }

    #[test]
    fn a_token_that_others_can_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = ConfigFile::at(dir.path().join("config.toml"));
        fs::write(&file.path, "token = \"cyn_x\"\n").unwrap();
        fs::set_permissions(&file.path, fs::Permissions::from_mode(0o644)).unwrap();

        let refusal = file.load().err().unwrap().to_string();

        assert!(refusal.contains("chmod 600"), "{refusal}");
    }

    #[test]
    fn an_unknown_key_in_the_configuration_file_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = ConfigFile::at(dir.path().join("config.toml"));
        fs::write(&file.path, "gateway = \"http://localhost\"\n").unwrap();

        let refusal = file.load().err().unwrap();

        assert!(refusal.to_string().contains("`gateway`"), "{refusal}");
        assert_eq!(refusal.code(), 2);
    }
}
