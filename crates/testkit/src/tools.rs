//! The programs of PostgreSQL, and the user they run as.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const INSTALL: &str = "PostgreSQL (15 or newer) is needed for the tests and its programs were not \
    found, neither in the PATH nor in /usr/lib/postgresql/*/bin.\n\
    Debian, Ubuntu: apt-get install postgresql\n\
    Fedora: dnf install postgresql-server\n\
    Alpine: apk add postgresql\n\
    No service has to run: the tests start a private server of their own.";

/// Where programs other than PostgreSQL's are looked for.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The programs of PostgreSQL, and the user they run as.
#[derive(Debug)]
pub(crate) struct Tools {
    programs: PathBuf,
    /// PostgreSQL refuses to run as root; root runs it as this user.
    other_user: Option<User>,
}

/// An account of this machine.
#[derive(Debug)]
struct User {
    name: &'static str,
    uid: u32,
    gid: u32,
}

impl Tools {
    /// Finds them, or panics with instructions.
    pub(crate) fn find() -> Self {
        let Some(programs) = in_path().or_else(|| newest_in(Path::new("/usr/lib/postgresql")))
        else {
            panic!("{INSTALL}");
        };
        Self { programs, other_user: (own_uid() == 0).then(unprivileged_user) }
    }

    /// A call of one of PostgreSQL's programs.
    pub(crate) fn postgres(&self, program: &str) -> Command {
        self.command(&self.program(program))
    }

    /// Where one of PostgreSQL's programs is.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// A call of any program, as the user who owns the server.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = match &self.other_user {
            None => Command::new(program),
            Some(user) => {
                let mut command = Command::new("runuser");
                command.args(["-u", user.name, "--"]).arg(program);
                command
            }
        };
        // Settings of the caller's own PostgreSQL must not reach this one, and the other user
        // may not enter the caller's directory.
        command.env_clear().env("PATH", PATH).env("LC_ALL", "C").current_dir("/");
        command.stdin(Stdio::null());
        command
    }

    /// Makes a directory that only the owner of the server can enter.
    pub(crate) fn make_private(&self, directory: &Path) -> std::io::Result<()> {
        use std::os::unix::fs::{DirBuilderExt, chown};
        fs::DirBuilder::new().mode(0o700).create(directory)?;
        self.other_user
            .as_ref()
            .map_or(Ok(()), |user| chown(directory, Some(user.uid), Some(user.gid)))
    }
}

/// The user who runs this process: whoever owns the files that it makes.
pub(crate) fn own_uid() -> u32 {
    match tempfile::tempfile().and_then(|file| file.metadata()) {
        Ok(metadata) => metadata.uid(),
        Err(error) => panic!("no temporary file can be made: {error}"),
    }
}

fn in_path() -> Option<PathBuf> {
    let found = answer_of(Command::new("sh").args(["-c", "command -v initdb"]))?;
    // The commands beside it are needed too, so links are followed to the real directory.
    let real = fs::canonicalize(found).ok()?;
    real.parent().filter(|programs| programs.join("pg_ctl").exists()).map(Path::to_path_buf)
}

/// Debian keeps the programs of each version apart: `15/bin`, `16/bin`.
fn newest_in(versions: &Path) -> Option<PathBuf> {
    let versions = fs::read_dir(versions).ok()?.filter_map(Result::ok);
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|version| Some((version.file_name().to_str()?.parse().ok()?, version.path())))
        .map(|(number, path)| (number, path.join("bin")))
        .filter(|(_, programs)| programs.join("initdb").exists())
        .collect();
    found.sort();
    found.pop().map(|(_, programs)| programs)
}

fn unprivileged_user() -> User {
    let account = |name: &'static str| {
        let number = |flag| answer_of(Command::new("id").args([flag, name]))?.parse().ok();
        Some(User { name, uid: number("-u")?, gid: number("-g")? })
    };
    match account("postgres").or_else(|| account("nobody")) {
        Some(user) => user,
        None => panic!("PostgreSQL does not run as root, and there is no user postgres or nobody"),
    }
}

/// What a command printed, if it succeeded.
fn answer_of(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_chosen_by_number_not_by_letter() {
        let versions = tempfile::tempdir().unwrap();
        for version in ["9", "10", "doc"] {
            let programs = versions.path().join(version).join("bin");
            fs::create_dir_all(&programs).unwrap();
            fs::write(programs.join("initdb"), "").unwrap();
        }

        assert_eq!(newest_in(versions.path()), Some(versions.path().join("10/bin")));
    }

    #[test]
    fn a_version_without_programs_is_not_chosen() {
        let versions = tempfile::tempdir().unwrap();
        fs::create_dir_all(versions.path().join("15/bin")).unwrap();

        assert_eq!(newest_in(versions.path()), None);
    }
}
