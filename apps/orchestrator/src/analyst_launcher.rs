//! Runs analysts as processes: one per verification, with the handoff on standard input.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

use async_trait::async_trait;
use cynode_analysts::{AnalystLaunchError, AnalystLauncher};
use cynode_runtime::child_env::{Allowlist, ChildEnv as _};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

/// Maximum length of an analyst's answer.
const MAX_ANSWER_BYTES: u64 = 1024 * 1024;
/// Environment variables passed on to analysts: the location of their instructions.
const INSTRUCTIONS: [&str; 2] = ["PMA_INSTRUCTIONS_ROOT", "PMA_INSTRUCTIONS_PROJECT_ANALYST"];

/// Starts analyst processes.
pub(crate) struct AnalystProcessLauncher {
    /// The program and its first arguments.
    command: Vec<OsString>,
    data_dir: PathBuf,
    config: Option<PathBuf>,
    /// URL of this process; set once it listens.
    url: OnceLock<String>,
}

impl AnalystProcessLauncher {
    /// Analysts are started with `command`, or with this program if it is empty.
    pub(crate) fn new(command: &[String], data_dir: &Path, config: Option<PathBuf>) -> Self {
        let command = if command.is_empty() {
            default_command(std::env::current_exe().unwrap_or_default())
        } else {
            command.iter().map(OsString::from).collect()
        };
        Self { command, data_dir: data_dir.to_owned(), config, url: OnceLock::new() }
    }

    /// Sets the address of this process; later calls are ignored.
    pub(crate) fn set_address(&self, mut address: SocketAddr) {
        if address.ip().is_unspecified() {
            address.set_ip(match address.ip() {
                IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
            });
        }
        let _ = self.url.set(format!("http://{address}"));
    }

    fn build_command(&self) -> Result<Command, String> {
        let url = self.url.get().ok_or("the orchestrator is not listening yet")?;
        let [program, first @ ..] = self.command.as_slice() else {
            return Err("no command for analysts is configured".to_owned());
        };
        let mut command = Command::new(program);
        command
            .args(first)
            .args(["--role=project_analyst", "--once", "--orchestrator-url", url])
            .arg("--data-dir")
            .arg(&self.data_dir)
            .inherit_only(&Allowlist::none().names(&INSTRUCTIONS))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        if let Some(config) = &self.config {
            command.arg("--config").arg(config);
        }
        Ok(command)
    }
}

/// `cynode` contains every role; next to the orchestrator's own binary there is `cynode-pma`.
fn default_command(executable: PathBuf) -> Vec<OsString> {
    if executable.file_name().is_some_and(|name| name == "cynode-orchestrator") {
        return vec![executable.with_file_name("cynode-pma").into_os_string()];
    }
    vec![executable.into_os_string(), "role".into(), "pma".into()]
}

#[async_trait]
impl AnalystLauncher for AnalystProcessLauncher {
    async fn launch(&self, handoff: Value, timeout: Duration) -> Result<Value, AnalystLaunchError> {
        let mut command = self.build_command().map_err(AnalystLaunchError::Died)?;
        command.arg("--within-ms").arg(timeout.as_millis().to_string());
        let talked = exchange_handoff(&mut command, handoff.to_string());
        let Ok(answer) = tokio::time::timeout(timeout, talked).await else {
            let reason = format!("it took longer than {} s", timeout.as_secs());
            return Err(AnalystLaunchError::TimedOut(reason));
        };
        answer.map_err(AnalystLaunchError::Died)
    }
}

async fn exchange_handoff(command: &mut Command, handoff: String) -> Result<Value, String> {
    let words = |error: std::io::Error| error.to_string();
    let mut child = command.spawn().map_err(|error| format!("it cannot be started: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(handoff.as_bytes()).await.map_err(words)?;
    }
    let mut answer = vec![];
    if let Some(stdout) = child.stdout.take() {
        stdout.take(MAX_ANSWER_BYTES).read_to_end(&mut answer).await.map_err(words)?;
    }
    let ended = child.wait().await.map_err(words)?;
    if !ended.success() {
        return Err(format!("it ended with {ended}; see the orchestrator's log"));
    }
    serde_json::from_slice(&answer).map_err(|error| format!("its answer cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn script_launcher(script: &str) -> AnalystProcessLauncher {
        let command = ["/bin/sh", "-c", script, "analyst"].map(str::to_owned);
        let processes = AnalystProcessLauncher::new(&command, Path::new("/data"), None);
        processes.set_address("0.0.0.0:7".parse().unwrap());
        processes
    }

    async fn launch_script(script: &str) -> Result<Value, AnalystLaunchError> {
        script_launcher(script).launch(json!({"a": 1}), Duration::from_secs(20)).await
    }

    #[tokio::test]
    async fn an_analyst_gets_the_handoff_and_nothing_of_the_environment_and_its_answer_is_read() {
        let script = r#"printf '{"in":%s,"args":"%s","env":"%s"}' "$(cat)" "$*" "$(env | grep -o '^[A-Z_]*=' | grep -v '^PWD=\|^SHLVL=\|^OLDPWD=\|^_=')""#;

        let answer = launch_script(script).await.unwrap();

        let args = "--role=project_analyst --once --orchestrator-url http://127.0.0.1:7 --data-dir /data --within-ms 20000";
        assert_eq!(answer, json!({"in": {"a": 1}, "args": args, "env": ""}));
    }

    #[tokio::test]
    async fn an_analyst_that_fails_or_babbles_gives_no_answer() {
        let failed = launch_script("cat > /dev/null; exit 3").await.unwrap_err();
        let killed = launch_script("cat > /dev/null; kill -9 $$").await.unwrap_err();
        let babbled = launch_script("cat > /dev/null; echo hello").await.unwrap_err();

        assert!(matches!(&failed, AnalystLaunchError::Died(why) if why.contains("exit status: 3")));
        assert!(matches!(&killed, AnalystLaunchError::Died(why) if why.contains("signal: 9")));
        assert!(
            matches!(&babbled, AnalystLaunchError::Died(why) if why.contains("cannot be read"))
        );
    }

    #[tokio::test]
    async fn an_analyst_that_takes_too_long_is_ended() {
        let processes = script_launcher("cat > /dev/null; exec sleep 600");

        let late = processes.launch(json!({}), Duration::from_millis(20)).await.unwrap_err();

        assert!(matches!(&late, AnalystLaunchError::TimedOut(why) if why.contains("took longer")));
    }

    #[test]
    fn the_program_of_analysts_is_found_beside_the_orchestrator_or_inside_the_whole() {
        let beside = default_command(PathBuf::from("/opt/bin/cynode-orchestrator"));
        assert_eq!(beside, ["/opt/bin/cynode-pma"]);
        let whole = default_command(PathBuf::from("/opt/bin/cynode"));
        assert_eq!(whole, ["/opt/bin/cynode", "role", "pma"]);
    }
}
