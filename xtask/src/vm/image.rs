//! The files of the virtual machine: the test programs, and programs of this machine with their libraries.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use super::TestPrograms;
use super::archive::Archive;
use super::kernel::Kernel;
use crate::tool;

/// Programs that the first process and the jobs of the tests start.
const PROGRAMS: &[&str] = &[
    "bash",
    "cat",
    "chmod",
    "chown",
    "chroot",
    "cut",
    "echo",
    "env",
    "find",
    "grep",
    "head",
    "ls",
    "mkdir",
    "mkfs.ext4",
    "mount",
    "perl",
    "seq",
    "setpriv",
    "sh",
    "sleep",
    "touch",
    "tr",
    "true",
    "uname",
];
/// Modules of perl that the tests load.
const PERL_MODULES: &[&str] = &["-MSocket", "-MFcntl"];
/// Directories that are links on systems with one tree of programs.
const LINKED_DIRS: &[&str] = &["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
const EMPTY_DIRS: &[&str] =
    &["dev", "etc", "proc", "sys", "tmp", "vm", "vm/disk", "vm/modules", "vm/root"];
const INIT: &str = include_str!("init.sh");

/// Writes the image that the machine boots.
pub(super) fn write(path: &Path, programs: &TestPrograms, kernel: &Kernel) -> Result<()> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut image = Image { archive: Archive::new(BufWriter::new(file)), names: BTreeSet::new() };
    for link in LINKED_DIRS.iter().map(Path::new) {
        if let Ok(target) = fs::read_link(link) {
            image.add_symlink(link, &target)?;
        }
    }
    EMPTY_DIRS.iter().try_for_each(|name| image.add_directory(&Path::new("/").join(name)))?;
    for name in PROGRAMS {
        // The programs of administrators are not in the PATH of every user.
        let in_sbin = || Some(Path::new("/usr/sbin").join(name)).filter(|path| path.is_file());
        let program = tool::find_in_path(name).or_else(in_sbin);
        let program = program.with_context(|| format!("{name} is missing"))?;
        image.add_program(&program)?;
    }
    perl_files()?.iter().try_for_each(|file| image.add_program(file))?;
    image.add_program(&programs.node)?;
    image.add_libraries(&programs.tests)?;
    image.add_content(Path::new("/vm/tests"), &stripped(&programs.tests)?)?;
    for module in &kernel.modules {
        let name = module.file_name().unwrap_or_default();
        image.add_content(&Path::new("/vm/modules").join(name), &fs::read(module)?)?;
    }
    image.add_content(Path::new("/init"), INIT.as_bytes())?;
    image.add_content(Path::new("/vm/run"), INIT.as_bytes())?;
    image.archive.finish().with_context(|| format!("cannot write {}", path.display()))
}

/// The modules of perl and the shared objects that they load.
fn perl_files() -> Result<Vec<PathBuf>> {
    let list = r#"print "$_\n" for values %INC, @DynaLoader::dl_shared_objects"#;
    let listed = tool::stdout_of(Command::new("perl").args(PERL_MODULES).args(["-e", list]))?;
    Ok(listed.lines().map(PathBuf::from).collect())
}

/// The program without its debug information, if `strip` exists; most of its size is that.
fn stripped(program: &Path) -> Result<Vec<u8>> {
    let copy = tool::target_dir().join("vm/stripped");
    let mut strip = Command::new("strip");
    let is_stripped = strip.arg("-o").arg(&copy).arg(program).stderr(Stdio::null()).status();
    let source = if is_stripped.is_ok_and(|status| status.success()) { &copy } else { program };
    fs::read(source).with_context(|| format!("cannot read {}", source.display()))
}

struct Image<W: Write> {
    archive: Archive<W>,
    /// Every name that was added.
    names: BTreeSet<PathBuf>,
}

impl<W: Write> Image<W> {
    /// Adds a file with the libraries that it needs, and every link on the way to it.
    fn add_program(&mut self, path: &Path) -> Result<()> {
        self.add_libraries(path)?;
        self.add_resolved(path)
    }

    fn add_libraries(&mut self, program: &Path) -> Result<()> {
        // Fails for what is not a dynamic executable, such as a script.
        let listed = Command::new("ldd").arg(program).output().context("cannot run ldd")?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        parse_libraries(&listed).iter().try_for_each(|library| self.add_resolved(library))
    }

    fn add_resolved(&mut self, path: &Path) -> Result<()> {
        let directory = path.parent().unwrap_or(path).canonicalize()?;
        let path = directory.join(path.file_name().unwrap_or_default());
        match fs::read_link(&path) {
            Ok(target) => {
                self.add_symlink(&path, &target)?;
                self.add_resolved(&directory.join(target))
            }
            Err(_) if self.names.contains(&path) => Ok(()),
            Err(_) => self.add_content(&path, &stripped(&path)?),
        }
    }

    fn add_content(&mut self, path: &Path, content: &[u8]) -> Result<()> {
        if self.add_name(path)? {
            self.archive.add_file(&archive_name(path), content)?;
        }
        Ok(())
    }

    fn add_symlink(&mut self, path: &Path, target: &Path) -> Result<()> {
        if self.add_name(path)? {
            self.archive.add_symlink(&archive_name(path), &target.to_string_lossy())?;
        }
        Ok(())
    }

    fn add_directory(&mut self, path: &Path) -> Result<()> {
        if self.add_name(path)? {
            self.archive.add_directory(&archive_name(path))?;
        }
        Ok(())
    }

    /// Returns whether the name is new; adds the directories above it.
    fn add_name(&mut self, path: &Path) -> Result<bool> {
        let is_new = self.names.insert(path.to_owned());
        if let Some(parent) = path.parent().filter(|parent| is_new && *parent != Path::new("/")) {
            self.add_directory(parent)?;
        }
        Ok(is_new)
    }
}

fn archive_name(path: &Path) -> String {
    path.to_string_lossy().trim_start_matches('/').to_owned()
}

/// The paths in the output of `ldd`.
fn parse_libraries(listed: &str) -> Vec<PathBuf> {
    let path = |line: &str| {
        let words = line.split_ascii_whitespace().find(|word| word.starts_with('/'));
        words.map(PathBuf::from)
    };
    listed.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_listed_with_the_loader() {
        let listed = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x7f)\n\
            \t/lib64/ld-linux-x86-64.so.2 (0x7f)\n\tstatically linked\n";

        assert_eq!(
            parse_libraries(listed),
            [
                Path::new("/lib/x86_64-linux-gnu/libc.so.6"),
                Path::new("/lib64/ld-linux-x86-64.so.2")
            ]
        );
    }
}
