//! Files that are sent with a task: read, bounded and checked before anything leaves the machine.
//!
//! Invariant: neither a symbolic link nor a directory is ever read, so that what is sent is what
//! was named.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_wire::tasks::Attachment;

use crate::failure::Failure;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
/// The most attachments of one task.
const MAX_ATTACHMENTS: usize = 16;

/// What a file is for; decides how large it may be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    /// A request in prose.
    TaskFile,
    /// A script.
    Script,
    /// Command lines.
    CommandsFile,
    /// A file for the workspace.
    Attachment,
    /// A text that tells agents how to work.
    Skill,
}

impl Purpose {
    fn name(self) -> &'static str {
        match self {
            Self::TaskFile => "task file",
            Self::Script => "script",
            Self::CommandsFile => "commands file",
            Self::Attachment => "attachment",
            Self::Skill => "skill",
        }
    }

    fn max_bytes(self) -> u64 {
        match self {
            Self::TaskFile => MIB,
            Self::Script => 256 * KIB,
            Self::CommandsFile | Self::Skill => 64 * KIB,
            Self::Attachment => 10 * MIB,
        }
    }

    /// Refuses what is larger than this purpose allows.
    pub(crate) fn check_size(self, bytes: u64, from: &str) -> Result<(), Failure> {
        let max = self.max_bytes();
        if bytes <= max {
            return Ok(());
        }
        let allowed =
            if max >= MIB { format!("{} MiB", max / MIB) } else { format!("{} KiB", max / KIB) };
        let name = self.name();
        Err(Failure::Invalid(format!("{from} is too large; {name}s may have {allowed}")))
    }
}

/// Reads a text; `-` is standard input.
pub(crate) fn read_text(path: &Path, purpose: Purpose) -> Result<String, Failure> {
    let bytes = if path == Path::new("-") {
        read_bounded(io::stdin().lock(), "standard input", purpose)?
    } else {
        read_file(path, purpose)?
    };
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::Invalid(format!("{} is not UTF-8 text", path.display())))?;
    if text.trim().is_empty() {
        return Err(Failure::Invalid(format!("{} is empty", path.display())));
    }
    Ok(text)
}

/// The command lines of a commands file: one a line, without blank lines and `#` comments.
pub(crate) fn read_commands(path: &Path) -> Result<Vec<String>, Failure> {
    let text = read_text(path, Purpose::CommandsFile)?;
    let lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let commands: Vec<String> = lines.map(ToOwned::to_owned).collect();
    if commands.is_empty() {
        return Err(Failure::Invalid(format!("{} holds no command", path.display())));
    }
    Ok(commands)
}

/// Reads all attachments; their names are the last parts of their paths and must differ.
pub(crate) fn read_attachments(paths: &[PathBuf]) -> Result<Vec<Attachment>, Failure> {
    if paths.len() > MAX_ATTACHMENTS {
        let n = paths.len();
        return Err(Failure::Invalid(format!(
            "{n} attachments are too many; {MAX_ATTACHMENTS} are allowed"
        )));
    }
    let mut names = BTreeSet::new();
    let mut attachments = Vec::with_capacity(paths.len());
    for path in paths {
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(|| {
            Failure::Invalid(format!("{} has no usable file name", path.display()))
        })?;
        if !names.insert(name) {
            return Err(Failure::Invalid(format!("two attachments are named {name}; rename one")));
        }
        let content_base64 = STANDARD.encode(read_file(path, Purpose::Attachment)?);
        attachments.push(Attachment { name: name.to_owned(), content_base64 });
    }
    Ok(attachments)
}

fn read_file(path: &Path, purpose: Purpose) -> Result<Vec<u8>, Failure> {
    let shown = path.display().to_string();
    let unreadable = |error: io::Error| Failure::Invalid(format!("cannot read {shown}: {error}"));
    let kind = fs::symlink_metadata(path).map_err(unreadable)?.file_type();
    let wrong = if kind.is_symlink() {
        Some("a symbolic link; name the file itself")
    } else if kind.is_dir() {
        Some("a directory; name a file in it, or an archive of it")
    } else if !kind.is_file() {
        Some("not a regular file")
    } else {
        None
    };
    if let Some(wrong) = wrong {
        return Err(Failure::Invalid(format!("{shown} is {wrong}")));
    }
    read_bounded(File::open(path).map_err(unreadable)?, &shown, purpose)
}

fn read_bounded(source: impl Read, from: &str, purpose: Purpose) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    source
        .take(purpose.max_bytes() + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::Invalid(format!("cannot read {from}: {error}")))?;
    purpose.check_size(bytes.len() as u64, from)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(dir: &tempfile::TempDir, name: &str, bytes: usize) -> PathBuf {
        let path = dir.path().join(name);
        fs::write(&path, vec![b'x'; bytes]).unwrap();
        path
    }

    #[test]
    fn each_kind_of_file_has_its_size_limit() {
        let dir = tempfile::tempdir().unwrap();
        let limits = [
            (Purpose::TaskFile, 1 << 20, "task files may have 1 MiB"),
            (Purpose::Script, 256 << 10, "scripts may have 256 KiB"),
            (Purpose::CommandsFile, 64 << 10, "commands files may have 64 KiB"),
            (Purpose::Attachment, 10 << 20, "attachments may have 10 MiB"),
        ];
        for (purpose, max, words) in limits {
            assert_eq!(read_file(&file(&dir, "fits", max), purpose).unwrap().len(), max);
            let refusal = read_file(&file(&dir, "large", max + 1), purpose).unwrap_err();
            assert_eq!(refusal.code(), 6);
            assert!(refusal.to_string().contains(words), "{refusal}");
        }
    }

    #[test]
    fn links_and_directories_are_never_sent() {
        let dir = tempfile::tempdir().unwrap();
        let target = file(&dir, "secret", 10);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&target, &link).unwrap();

        let of_link = read_text(&link, Purpose::Script).unwrap_err().to_string();
        let of_dir = read_attachments(&[dir.path().to_owned()]).unwrap_err().to_string();

        assert!(of_link.contains("symbolic link"), "{of_link}");
        assert!(of_dir.contains("is a directory"), "{of_dir}");
    }

    #[test]
    fn seventeen_attachments_are_too_many() {
        let paths = vec![PathBuf::from("x"); 17];

        assert!(read_attachments(&paths).unwrap_err().to_string().contains("16 are allowed"));
    }

    #[test]
    fn two_attachments_of_one_name_are_refused() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());

        let refusal = read_attachments(&[file(&one, "a", 1), file(&two, "a", 1)]).unwrap_err();

        assert!(refusal.to_string().contains("two attachments are named a"), "{refusal}");
    }

    #[test]
    fn comments_and_blank_lines_are_no_commands() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("commands");
        fs::write(&path, "# build\nmake\n\n  make test  \n").unwrap();

        assert_eq!(read_commands(&path).unwrap(), ["make", "make test"]);
    }

    #[test]
    fn a_script_that_is_no_text_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("script");
        fs::write(&path, [0xff, 0xfe]).unwrap();

        assert!(read_text(&path, Purpose::Script).unwrap_err().to_string().contains("not UTF-8"));
    }
}
