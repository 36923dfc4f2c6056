//! Announces readiness to people and programs.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use cynode_runtime::{config, env};
use serde::Serialize;

use super::data_dir::LockedDataDir;
use super::link;

/// Contents of `up.json` and of the banner.
#[derive(Debug, Serialize)]
pub(crate) struct ReadyAnnouncement {
    pid: u32,
    url: String,
    data_dir: PathBuf,
    admin_token_file: PathBuf,
    cynork: PathBuf,
    #[serde(skip)]
    admin_password_file: PathBuf,
}

impl ReadyAnnouncement {
    /// Collects the fields and installs a `cynork` link.
    pub(crate) fn collect(data_dir: &LockedDataDir, url: &str, executable: &Path) -> Self {
        // Without a link, the executable itself is named.
        let cynork = link::ensure_cynork_link(executable, data_dir.root());
        Self {
            pid: std::process::id(),
            url: url.to_owned(),
            data_dir: data_dir.root().to_owned(),
            admin_token_file: data_dir.admin_token(),
            cynork: cynork.unwrap_or_else(|_| executable.to_owned()),
            admin_password_file: data_dir.admin_password(),
        }
    }

    /// Writes `up.json` atomically, for `cynork`.
    pub(crate) fn publish(&self, data_dir: &LockedDataDir) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(data_dir.root())?;
        serde_json::to_writer_pretty(&mut file, self)?;
        file.persist(data_dir.announcement())?;
        Ok(())
    }

    /// Prints one line of JSON, or a banner for people.
    pub(crate) fn print(&self, json: bool) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        let text = if json {
            serde_json::to_string(self)? + "\n"
        } else {
            self.banner(&self.next_command(), stdout.is_terminal() && !is_colour_disabled())
        };
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    }

    fn banner(&self, next: &str, colour: bool) -> String {
        let (bold, green, end) =
            if colour { ("\x1b[1m", "\x1b[32m", "\x1b[0m") } else { ("", "", "") };
        format!(
            "\n  {green}●{end} {bold}CyNode is ready{end} at {bold}{url}{end}\n\n    \
             console   {url}/console\n    chat      {url}/v1 (model cynodeai.pm)\n    data      {data}\n    token     {token}\n    \
             password  {password} (user admin)\n\n  \
             Next, in another terminal:\n\n    {bold}{next}{end}\n\n  Press Ctrl-C to stop everything.\n\n",
            url = self.url,
            data = self.data_dir.display(),
            token = self.admin_token_file.display(),
            password = self.admin_password_file.display(),
        )
    }

    /// A command that can be pasted into a shell.
    fn next_command(&self) -> String {
        let cwd = std::env::current_dir().unwrap_or_default();
        let found_by_default = env::var("CYNODE_DATA_DIR").is_none()
            && config::data_dir(None).canonicalize().is_ok_and(|dir| dir == self.data_dir);
        let data_dir = if found_by_default {
            String::new()
        } else {
            format!(" --data-dir {}", link::shell_quote(&self.data_dir.display().to_string()))
        };
        let cynork = link::shell_path(&self.cynork, &cwd);
        format!("{cynork}{data_dir} task create --command 'echo hello' --wait")
    }
}

fn is_colour_disabled() -> bool {
    env::var("NO_COLOR").is_some_and(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announcement() -> ReadyAnnouncement {
        ReadyAnnouncement {
            pid: 7,
            url: "http://127.0.0.1:12080".to_owned(),
            data_dir: PathBuf::from("/data"),
            admin_token_file: PathBuf::from("/data/admin.token"),
            cynork: PathBuf::from("/bin/cynork"),
            admin_password_file: PathBuf::from("/data/admin.password"),
        }
    }

    #[test]
    fn the_json_line_names_url_data_and_token_file() {
        insta::assert_snapshot!(serde_json::to_string(&announcement()).unwrap());
    }

    #[test]
    fn the_banner_says_where_the_credentials_are_and_what_to_type() {
        insta::assert_snapshot!(announcement().banner("./cynork task list", false));
    }

    #[test]
    fn the_next_command_names_a_data_directory_that_is_not_the_default() {
        assert_eq!(
            announcement().next_command(),
            "/bin/cynork --data-dir /data task create --command 'echo hello' --wait"
        );
    }
}
