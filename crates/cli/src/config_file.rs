//! The configuration file, including the session of `auth login`.
//!
//! Invariant: the file is replaced atomically and readable by its owner only; a session is sent only to the
//! gateway that issued it.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::failure::CliFailure;
use crate::global_args::Format;

/// Contents of the configuration file.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConfigContents {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Format>,
    /// An API token, added by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<StoredSession>,
}

#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StoredSession {
    /// The gateway that issued it.
    pub gateway_url: String,
    pub handle: String,
    pub access_token: String,
    /// Valid for one refresh.
    pub refresh_token: String,
    /// Whether this is the default gateway while the session is stored, because the sign-in named it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_default_gateway: bool,
}

#[derive(Debug, Clone)]
pub struct ConfigFile {
    path: PathBuf,
}

impl ConfigFile {
    /// The file at `path`, which need not exist.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Reads the file; defaults if it does not exist.
    pub fn load(&self) -> Result<ConfigContents, CliFailure> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(ConfigContents::default());
            }
            Err(error) => return Err(self.config_error(&error)),
        };
        let stored: ConfigContents =
            toml::from_str(&text).map_err(|error| self.config_error(&error.message()))?;
        if stored.token.is_some() || stored.session.is_some() {
            self.reject_shared_file()?;
        }
        Ok(stored)
    }

    /// Changes the file under a lock, so that concurrent commands do not overwrite each other's tokens.
    pub fn update(
        &self,
        change: impl FnOnce(&mut ConfigContents),
    ) -> Result<ConfigContents, CliFailure> {
        let _lock = self.lock()?;
        let mut stored = self.load()?;
        change(&mut stored);
        self.save(&stored)?;
        Ok(stored)
    }

    /// Locks the file against other commands until the returned handle is dropped.
    pub fn lock(&self) -> Result<File, CliFailure> {
        let lock = self.make_directory().and_then(|()| {
            let lock = File::create(self.path.with_extension("lock"))?;
            lock.lock()?;
            Ok(lock)
        });
        lock.map_err(|error| self.config_error(&error))
    }

    /// Replaces the file atomically. The caller holds the lock.
    pub fn save(&self, stored: &ConfigContents) -> Result<(), CliFailure> {
        let text = toml::to_string(stored).map_err(|error| self.config_error(&error))?;
        self.replace(&text).map_err(|error| self.config_error(&error))
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

    fn reject_shared_file(&self) -> Result<(), CliFailure> {
        let mode = fs::metadata(&self.path)
            .map_err(|error| self.config_error(&error))?
            .permissions()
            .mode();
        let others = mode & 0o077;
        if others == 0 {
            return Ok(());
        }
        let path = self.path.display();
        Err(CliFailure::Usage(format!(
            "{path} holds a token and is readable by others; run `chmod 600 {path}`"
        )))
    }

    fn config_error(&self, reason: &dyn std::fmt::Display) -> CliFailure {
        CliFailure::Usage(format!("configuration file {}: {reason}", self.path.display()))
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
        let file = ConfigFile::new(dir.path().join("cynork/config.toml"));

        file.update(|stored| stored.session = Some(session())).unwrap();

        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&file.path), 0o600);
        assert_eq!(mode(file.directory()), 0o700);
        assert_eq!(file.load().unwrap().session.unwrap().handle, "ada");
    }

    #[test]
    fn a_token_that_others_can_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = ConfigFile::new(dir.path().join("config.toml"));
        fs::write(&file.path, "token = \"cyn_x\"\n").unwrap();
        fs::set_permissions(&file.path, fs::Permissions::from_mode(0o644)).unwrap();

        let refusal = file.load().err().unwrap().to_string();

        assert!(refusal.contains("chmod 600"), "{refusal}");
    }

    #[test]
    fn an_unknown_key_in_the_configuration_file_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = ConfigFile::new(dir.path().join("config.toml"));
        fs::write(&file.path, "gateway = \"http://localhost\"\n").unwrap();

        let refusal = file.load().err().unwrap();

        assert!(refusal.to_string().contains("`gateway`"), "{refusal}");
        assert_eq!(refusal.code(), 2);
    }
}
