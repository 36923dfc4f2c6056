//! Bundle files of jobs: opened without following links, copied, and their header checked.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use cynode_domain::git::{BranchName, CommitId};
use nix::fcntl::OFlag;

const SIGNATURE_V2: &str = "# v2 git bundle";
const SIGNATURE_V3: &str = "# v3 git bundle";
const MAX_LINE_BYTES: u64 = 4096;
const MAX_HEADER_LINES: usize = 10_000;

/// A bundle that was rejected before git read it.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    #[error("cannot read the bundle {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("the bundle has more than {limit} bytes: the job changed too much, or large files")]
    TooLarge { limit: u64 },
    #[error("the bundle is malformed: {0}")]
    Malformed(&'static str),
    #[error("the bundle has refs other than refs/heads/{branch}")]
    OtherRefs { branch: BranchName },
}

/// A private copy of a bundle, with a checked header.
#[derive(Debug)]
pub(crate) struct OpenBundle {
    pub(crate) head: CommitId,
    /// Commits that the receiver must have.
    pub(crate) prerequisites: Vec<CommitId>,
    /// Positioned at the start of the pack.
    pub(crate) pack: File,
}

impl OpenBundle {
    /// Copies the bundle to `copy`, so that the job cannot change it any more, and reads its header.
    pub(crate) fn open(
        path: &Path,
        copy: &Path,
        limit: u64,
        branch: &BranchName,
    ) -> Result<Self, BundleError> {
        let unreadable = |cause| BundleError::Unreadable { path: path.to_owned(), cause };
        // Neither follows a link nor waits for a pipe.
        let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
        let source = fs::OpenOptions::new().read(true).custom_flags(flags.bits()).open(path);
        let source = source.map_err(unreadable)?;
        let metadata = source.metadata().map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(BundleError::Malformed("it is not a regular file"));
        }
        if metadata.len() > limit {
            return Err(BundleError::TooLarge { limit });
        }
        let mut options = fs::OpenOptions::new();
        let target = options.read(true).write(true).create_new(true).mode(0o600).open(copy);
        let mut target = target.map_err(unreadable)?;
        // The file may have grown meanwhile.
        let copied = io::copy(&mut source.take(limit + 1), &mut target).map_err(unreadable)?;
        if copied > limit {
            return Err(BundleError::TooLarge { limit });
        }
        target.seek(SeekFrom::Start(0)).map_err(unreadable)?;
        let mut reader = BufReader::new(target);
        let (head, prerequisites) = read_header(&mut reader, branch)?;
        let start = reader.stream_position().map_err(unreadable)?;
        let mut pack = reader.into_inner();
        pack.seek(SeekFrom::Start(start)).map_err(unreadable)?;
        Ok(Self { head, prerequisites, pack })
    }
}

/// Signature, capabilities, prerequisites, refs, and an empty line.
fn read_header(
    reader: &mut BufReader<File>,
    branch: &BranchName,
) -> Result<(CommitId, Vec<CommitId>), BundleError> {
    let is_v3 = match read_line(reader)?.as_str() {
        SIGNATURE_V2 => false,
        SIGNATURE_V3 => true,
        _ => return Err(BundleError::Malformed("it does not start as a bundle")),
    };
    let parse_id = |text: &str| {
        text.parse::<CommitId>().map_err(|_| BundleError::Malformed("it has a wrong object id"))
    };
    let (mut head, mut prerequisites) = (None, Vec::new());
    for _ in 0..MAX_HEADER_LINES {
        let line = read_line(reader)?;
        if line.is_empty() {
            let head = head.ok_or(BundleError::Malformed("it names no commit"))?;
            return Ok((head, prerequisites));
        } else if let Some(capability) = line.strip_prefix('@') {
            if !is_v3 || capability != "object-format=sha1" {
                return Err(BundleError::Malformed("it needs an unsupported capability"));
            }
        } else if let Some(prerequisite) = line.strip_prefix('-') {
            prerequisites.push(parse_id(prerequisite.split(' ').next().unwrap_or_default())?);
        } else {
            let (id, name) =
                line.split_once(' ').ok_or(BundleError::Malformed("its header is damaged"))?;
            if name != branch.ref_name() || head.is_some() {
                return Err(BundleError::OtherRefs { branch: branch.clone() });
            }
            head = Some(parse_id(id)?);
        }
    }
    Err(BundleError::Malformed("its header is too long"))
}

fn read_line(reader: &mut BufReader<File>) -> Result<String, BundleError> {
    let mut line = Vec::new();
    let read = reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
    read.map_err(|_| BundleError::Malformed("its header cannot be read"))?;
    if line.pop() != Some(b'\n') {
        return Err(BundleError::Malformed("its header is damaged"));
    }
    // The comment of a prerequisite is the subject of a commit, in any encoding.
    Ok(String::from_utf8_lossy(&line).into_owned())
}
