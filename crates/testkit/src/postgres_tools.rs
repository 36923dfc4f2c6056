//! The programs of PostgreSQL, and the user they run as.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const INSTALL_HINT: &str = "PostgreSQL (15 or newer) is needed for the tests and its programs were not \
    found, neither in the PATH nor in /usr/lib/postgresql/*/bin.\n\
    Debian, Ubuntu: apt-get install postgresql\n\
    Fedora: dnf install postgresql-server\n\
    Alpine: apk add postgresql\n\
    No service has to run: the tests start a private server of their own.";

/// Search path for programs other than PostgreSQL's.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The programs of PostgreSQL, and the user they run as.
#[derive(Debug)]
pub(crate) struct PostgresTools {
    programs: PathBuf,
    /// PostgreSQL refuses to run as root; root runs it as this user.
    other_user: Option<PostgresUser>,
}

/// An account of this machine.
#[derive(Debug)]
struct PostgresUser {
    name: &'static str,
    uid: u32,
    gid: u32,
}

impl PostgresTools {
    /// Locates the programs, or panics with instructions.
    pub(crate) fn find() -> Self {
        let Some(programs) =
            find_in_path().or_else(|| find_newest_version(Path::new("/usr/lib/postgresql")))
        else {
            panic!("{INSTALL_HINT}");
        };
        Self::in_directory(programs)
    }

    /// The programs in this directory.
    pub(crate) fn in_directory(programs: PathBuf) -> Self {
        Self { programs, other_user: (own_uid() == 0).then(unprivileged_user) }
    }

    /// A command for one of PostgreSQL's programs.
    pub(crate) fn postgres_command(&self, program: &str) -> Command {
        self.command(&self.program_path(program))
    }

    /// Path of one of PostgreSQL's programs.
    pub(crate) fn program_path(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// A command for any program, as the user who owns the server.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = match &self.other_user {
            None => Command::new(program),
            Some(user) => {
                let mut command = Command::new("runuser");
                command.args(["-u", user.name, "--"]).arg(program);
                command
            }
        };
        // The caller's PostgreSQL settings must not leak into this one, and the other user may not have
        // access to the caller's directory.
        command.env_clear().env("PATH", PATH).env("LC_ALL", "C").current_dir("/");
        command.stdin(Stdio::null());
        command
    }

    /// Creates a directory that only the owner of the server can access.
    pub(crate) fn create_private_dir(&self, directory: &Path) -> std::io::Result<()> {
        use std::os::unix::fs::{DirBuilderExt, chown};
        fs::DirBuilder::new().mode(0o700).create(directory)?;
        self.other_user
            .as_ref()
            .map_or(Ok(()), |user| chown(directory, Some(user.uid), Some(user.gid)))
    }

    /// Writes a file that only the owner of the server can read.
    pub(crate) fn write_private_file(&self, path: &Path, text: &str) -> std::io::Result<()> {
        use std::os::unix::fs::{PermissionsExt, chown};
        fs::write(path, text)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        self.other_user.as_ref().map_or(Ok(()), |user| chown(path, Some(user.uid), Some(user.gid)))
    }
}

/// The uid of this process, taken from a file that it creates.
pub(crate) fn own_uid() -> u32 {
    match tempfile::tempfile().and_then(|file| file.metadata()) {
        Ok(metadata) => metadata.uid(),
        Err(error) => panic!("no temporary file can be made: {error}"),
    }
}

fn find_in_path() -> Option<PathBuf> {
    let found = command_output(Command::new("sh").args(["-c", "command -v initdb"]))?;
    // The other programs are needed too, so links are resolved to the real directory.
    let real = fs::canonicalize(found).ok()?;
    real.parent().filter(|programs| programs.join("pg_ctl").exists()).map(Path::to_path_buf)
}

/// Debian has one directory per version: `15/bin`, `16/bin`.
fn find_newest_version(versions: &Path) -> Option<PathBuf> {
    let versions = fs::read_dir(versions).ok()?.filter_map(Result::ok);
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|version| Some((version.file_name().to_str()?.parse().ok()?, version.path())))
        .map(|(number, path)| (number, path.join("bin")))
        .filter(|(_, programs)| programs.join("initdb").exists())
        .collect();
    found.sort();
    found.pop().map(|(_, programs)| programs)
}

fn unprivileged_user() -> PostgresUser {
    let account = |name: &'static str| {
        let number = |flag| command_output(Command::new("id").args([flag, name]))?.parse().ok();
        Some(PostgresUser { name, uid: number("-u")?, gid: number("-g")? })
    };
    match account("postgres").or_else(|| account("nobody")) {
        Some(user) => user,
        None => panic!("PostgreSQL does not run as root, and there is no user postgres or nobody"),
    }
}

/// Standard output of a command, if it succeeded.
fn command_output(command: &mut Command) -> Option<String> {
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

        assert_eq!(find_newest_version(versions.path()), Some(versions.path().join("10/bin")));
    }

    #[test]
    fn a_version_without_programs_is_not_chosen() {
        let versions = tempfile::tempdir().unwrap();
        fs::create_dir_all(versions.path().join("15/bin")).unwrap();

        assert_eq!(find_newest_version(versions.path()), None);
    }
}
