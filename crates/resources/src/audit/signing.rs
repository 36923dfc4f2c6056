//! The key that signs the audit chains, and the file in which their heads are noted. Both are outside the database:
//! a person or program that can change only the database can neither rebuild a chain nor rewind it unnoticed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::ids::ChainId;
use cynode_runtime::{durable_file, secret_file};
use cynode_store::{AuditKeys, ChainPosition};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;
use tracing::error;

use super::AuditError;

const KEY_FILE: &str = "audit.key";
const HEAD_FILE: &str = "audit-heads.json";

/// Where the audit log keeps what is not in the database.
#[derive(Debug, Clone)]
pub struct AuditOptions {
    pub data_dir: PathBuf,
    /// The file with the signing key; `audit.key` in the data directory when absent. Orchestrators that share a database
    /// share the key.
    pub key_file: Option<PathBuf>,
    /// Public keys whose signatures count too: of earlier keys, and of other orchestrators. See [`parse_public_key`].
    pub trusted_keys: Vec<String>,
}

impl AuditOptions {
    /// The defaults for a data directory.
    pub fn new(data_dir: &Path) -> Self {
        Self { data_dir: data_dir.to_owned(), key_file: None, trusted_keys: vec![] }
    }

    /// Reads the signing key; creates it if its file does not exist and no chain was signed with it.
    pub(super) fn load_keys(&self, has_signed: bool) -> Result<AuditKeys, AuditError> {
        let path = self.key_file.clone().unwrap_or_else(|| self.data_dir.join(KEY_FILE));
        let failed =
            |cause: io::Error| AuditError::File { path: path.display().to_string(), cause };
        let invalid = |reason: String| failed(io::Error::new(ErrorKind::InvalidData, reason));
        let decode =
            |text: &str| STANDARD.decode(text.trim()).map_err(|error| invalid(error.to_string()));
        if !path.exists() && has_signed {
            let reason = "it is missing, and audit-heads.json notes chains that were signed with it: restore it, or \
                          delete audit-heads.json to sign the chains as they are with a new key";
            return Err(failed(io::Error::new(ErrorKind::NotFound, reason)));
        }
        if !path.exists() {
            match secret_file::write_new(&path, &generate_seed().map_err(failed)?) {
                // Another process created it first; use that one.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                written => written.map_err(failed)?,
            }
        }
        let stored = secret_file::read(&path).map_err(|error| failed(io::Error::other(error)))?;
        let seed = decode(stored.expose_secret())?;
        let trusted = self.trusted_keys.iter().filter_map(|key| parse_public_key(key)).collect();
        AuditKeys::new(&seed, trusted).map_err(|error| invalid(error.to_string()))
    }

    pub(super) fn head_file(&self) -> PathBuf {
        self.data_dir.join(HEAD_FILE)
    }
}

/// Parses a public key in base64.
pub fn parse_public_key(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text.trim()).ok().filter(|key| key.len() == 32)
}

fn generate_seed() -> io::Result<SecretString> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(STANDARD.encode(seed).into())
}

/// The newest signed head of each chain that this data directory has seen. A head never goes back.
#[derive(Debug)]
pub(super) struct HeadFile {
    path: PathBuf,
    heads: BTreeMap<ChainId, ChainPosition>,
    /// Chains that were reported as rewound.
    reported: Vec<ChainId>,
    is_changed: bool,
}

impl HeadFile {
    /// Reads the file; `None` if there is none.
    pub(super) fn load(path: &Path) -> Result<Option<Self>, AuditError> {
        let failed = |cause| AuditError::File { path: path.display().to_string(), cause };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let heads = parse_heads(&text).ok_or_else(|| {
            let reason = "it does not contain the heads of audit chains; restore it, or remove it to trust the \
                          database as it is";
            failed(io::Error::new(ErrorKind::InvalidData, reason))
        })?;
        Ok(Some(Self { heads, ..Self::empty(path) }))
    }

    pub(super) fn empty(path: &Path) -> Self {
        let (heads, reported) = (BTreeMap::new(), vec![]);
        Self { path: path.to_owned(), heads, reported, is_changed: true }
    }

    pub(super) fn get(&self, chain: ChainId) -> Option<ChainPosition> {
        self.heads.get(&chain).cloned()
    }

    pub(super) fn heads(&self) -> Vec<ChainPosition> {
        self.heads.values().cloned().collect()
    }

    /// Notes a head that is known to be right, unless a later one is noted.
    pub(super) fn observe(&mut self, head: ChainPosition) {
        if self.heads.get(&head.chain).is_none_or(|known| known.seq < head.seq) {
            self.heads.insert(head.chain, head);
            self.is_changed = true;
        }
    }

    /// Logs once that a chain was rewound to this head.
    pub(super) fn report_rewound(&mut self, head: &ChainPosition) {
        if !self.reported.contains(&head.chain) {
            let (chain, seq) = (head.chain, head.seq);
            error!(chain.id = %chain, seq, "audit chain {chain} was rewound: run `audit verify`");
            self.reported.push(chain);
        }
    }

    /// Writes the file if a head has advanced.
    pub(super) fn save(&mut self) -> io::Result<()> {
        if self.is_changed {
            let heads: Vec<String> = self.heads.values().map(ToString::to_string).collect();
            durable_file::replace(
                &self.path,
                format!("{:#}\n", json!({ "heads": heads })).as_bytes(),
            )?;
            self.is_changed = false;
        }
        Ok(())
    }
}

fn parse_heads(text: &str) -> Option<BTreeMap<ChainId, ChainPosition>> {
    let file: serde_json::Value = serde_json::from_str(text).ok()?;
    let heads = file.get("heads")?.as_array()?.iter();
    let heads = heads.map(|head| head.as_str()?.parse::<ChainPosition>().ok());
    heads.map(|head| head.map(|head| (head.chain, head))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(chain: u8, seq: i64, hash: u8) -> ChainPosition {
        let chain = ChainId::from_uuid(format!("{chain:032x}").parse().unwrap());
        ChainPosition { chain, seq, hash: vec![hash; 32] }
    }

    #[test]
    fn a_head_never_goes_back_and_survives_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(HEAD_FILE);
        assert!(HeadFile::load(&path).unwrap().is_none());
        let mut file = HeadFile::empty(&path);
        for head in [position(1, 5, 5), position(2, 1, 1), position(1, 4, 4), position(1, 5, 9)] {
            file.observe(head);
        }
        file.save().unwrap();

        let read = HeadFile::load(&path).unwrap().unwrap();

        assert_eq!(read.heads(), [position(1, 5, 5), position(2, 1, 1)]);
        for damaged in ["", "{}", "{\"heads\": [\"x\"]}"] {
            fs::write(&path, damaged).unwrap();
            let rejected = HeadFile::load(&path).unwrap_err().to_string();
            assert!(rejected.contains("remove it to trust the database"), "{rejected}");
        }
    }

    #[test]
    fn a_key_is_created_once_and_a_damaged_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let options = AuditOptions::new(folder.path());
        let refused = options.load_keys(true).unwrap_err().to_string();
        assert!(refused.contains("restore it"), "{refused}");
        let first = options.load_keys(false).unwrap();
        assert_eq!(options.load_keys(true).unwrap().public_key(), first.public_key());

        fs::write(folder.path().join(KEY_FILE), "AAAA").unwrap();
        let rejected = options.load_keys(true).unwrap_err().to_string();
        assert!(rejected.contains("audit.key") && rejected.contains("Ed25519"), "{rejected}");
    }
}
