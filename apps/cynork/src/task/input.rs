//! Reads and validates files that a command sends: with a task, as a skill, a profile spec or a secret.
//!
//! Invariant: symbolic links and directories are never read, so that only the named file is sent.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_wire::tasks::Attachment;

use cynode_cli::failure::CliFailure;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const MAX_ATTACHMENTS: usize = 16;

/// Kind of input file; determines its size limit.
#[derive(Debug, Clone, Copy)]
pub(crate) enum InputPurpose {
    /// A task in prose.
    TaskFile,
    Script,
    /// One command per line.
    CommandsFile,
    /// A file for the workspace.
    Attachment,
    Skill,
    /// What the agents of a project may use, as JSON.
    ProfileSpec,
    /// The secret of a webhook.
    SecretFile,
}

impl InputPurpose {
    fn name(self) -> &'static str {
        match self {
            Self::TaskFile => "task file",
            Self::Script => "script",
            Self::CommandsFile => "commands file",
            Self::Attachment => "attachment",
            Self::Skill => "skill",
            Self::ProfileSpec => "profile spec",
            Self::SecretFile => "secret file",
        }
    }

    fn max_bytes(self) -> u64 {
        match self {
            Self::TaskFile | Self::ProfileSpec => MIB,
            Self::Script => 256 * KIB,
            Self::CommandsFile | Self::Skill | Self::SecretFile => 64 * KIB,
            Self::Attachment => 10 * MIB,
        }
    }

    /// Rejects input that exceeds the size limit.
    pub(crate) fn check_size(self, bytes: u64, from: &str) -> Result<(), CliFailure> {
        let max = self.max_bytes();
        if bytes <= max {
            return Ok(());
        }
        let allowed =
            if max >= MIB { format!("{} MiB", max / MIB) } else { format!("{} KiB", max / KIB) };
        let name = self.name();
        Err(CliFailure::Invalid(format!("{from} is too large; the limit for {name}s is {allowed}")))
    }
}

/// Reads a text file; `-` is standard input.
pub(crate) fn read_text(path: &Path, purpose: InputPurpose) -> Result<String, CliFailure> {
    let bytes = if path == Path::new("-") {
        read_bounded(io::stdin().lock(), "standard input", purpose)?
    } else {
        read_file(path, purpose)?
    };
    let text = String::from_utf8(bytes)
        .map_err(|_| CliFailure::Invalid(format!("{} is not UTF-8 text", path.display())))?;
    if text.trim().is_empty() {
        return Err(CliFailure::Invalid(format!("{} is empty", path.display())));
    }
    Ok(text)
}

/// Reads a commands file: one command per line, without blank lines and `#` comments.
pub(crate) fn read_commands(path: &Path) -> Result<Vec<String>, CliFailure> {
    let text = read_text(path, InputPurpose::CommandsFile)?;
    let lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let commands: Vec<String> = lines.map(ToOwned::to_owned).collect();
    if commands.is_empty() {
        return Err(CliFailure::Invalid(format!("{} contains no command", path.display())));
    }
    Ok(commands)
}

/// Reads all attachments; their file names must be unique.
pub(crate) fn read_attachments(paths: &[PathBuf]) -> Result<Vec<Attachment>, CliFailure> {
    if paths.len() > MAX_ATTACHMENTS {
        let n = paths.len();
        return Err(CliFailure::Invalid(format!(
            "{n} attachments given; the limit is {MAX_ATTACHMENTS}"
        )));
    }
    let mut names = BTreeSet::new();
    let mut attachments = Vec::with_capacity(paths.len());
    for path in paths {
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(|| {
            CliFailure::Invalid(format!("{} has no usable file name", path.display()))
        })?;
        if !names.insert(name) {
            return Err(CliFailure::Invalid(format!(
                "two attachments are named {name}; rename one"
            )));
        }
        let content_base64 = STANDARD.encode(read_file(path, InputPurpose::Attachment)?);
        attachments.push(Attachment { name: name.to_owned(), content_base64 });
    }
    Ok(attachments)
}

fn read_file(path: &Path, purpose: InputPurpose) -> Result<Vec<u8>, CliFailure> {
    let shown = path.display().to_string();
    let unreadable =
        |error: io::Error| CliFailure::Invalid(format!("cannot read {shown}: {error}"));
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
        return Err(CliFailure::Invalid(format!("{shown} is {wrong}")));
    }
    read_bounded(File::open(path).map_err(unreadable)?, &shown, purpose)
}

fn read_bounded(
    source: impl Read,
    from: &str,
    purpose: InputPurpose,
) -> Result<Vec<u8>, CliFailure> {
    let mut bytes = Vec::new();
    source
        .take(purpose.max_bytes() + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| CliFailure::Invalid(format!("cannot read {from}: {error}")))?;
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
            (InputPurpose::TaskFile, 1 << 20, "the limit for task files is 1 MiB"),
            (InputPurpose::Script, 256 << 10, "the limit for scripts is 256 KiB"),
            (InputPurpose::CommandsFile, 64 << 10, "the limit for commands files is 64 KiB"),
            (InputPurpose::Attachment, 10 << 20, "the limit for attachments is 10 MiB"),
            (InputPurpose::ProfileSpec, 1 << 20, "the limit for profile specs is 1 MiB"),
            (InputPurpose::SecretFile, 64 << 10, "the limit for secret files is 64 KiB"),
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

        let of_link = read_text(&link, InputPurpose::Script).unwrap_err().to_string();
        let of_dir = read_attachments(&[dir.path().to_owned()]).unwrap_err().to_string();

        assert!(of_link.contains("symbolic link"), "{of_link}");
        assert!(of_dir.contains("is a directory"), "{of_dir}");
    }

    #[test]
    fn seventeen_attachments_are_too_many() {
        let paths = vec![PathBuf::from("x"); 17];

        assert!(read_attachments(&paths).unwrap_err().to_string().contains("the limit is 16"));
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

        assert!(
            read_text(&path, InputPurpose::Script).unwrap_err().to_string().contains("not UTF-8")
        );
    }
}
