//! Other gateways, each installed once, at one version. The benchmark reads `<slug>.installed` for
//! the version, and `<slug>.failed` for the reason of a failed installation. A peer that cannot be
//! installed does not prevent the measurement of the others.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::tool;

/// A gateway to compare with.
struct PeerPackage {
    slug: &'static str,
    package: &'static str,
    version: &'static str,
    source: PackageRegistry,
}

/// The registry of a package.
enum PackageRegistry {
    CratesIo,
    PyPi,
}

const PEERS: [PeerPackage; 3] = [
    PeerPackage {
        slug: "mcp-proxy",
        package: "mcp-proxy",
        version: "0.4.3",
        source: PackageRegistry::CratesIo,
    },
    PeerPackage {
        slug: "contextforge",
        package: "mcp-contextforge-gateway",
        version: "1.0.7.post20260921",
        source: PackageRegistry::PyPi,
    },
    PeerPackage {
        slug: LITELLM,
        package: "litellm[proxy]",
        version: "1.106.2",
        source: PackageRegistry::PyPi,
    },
];

/// The names of all peers.
pub(super) const ALL: &[&str] = &["mcp-proxy", "contextforge", LITELLM];
/// The peer that serves models too.
pub(in crate::bench) const LITELLM: &str = "litellm";

/// Installs every peer of `wanted` that `place` does not contain yet, and records failures.
pub(in crate::bench) fn install(out: &mut dyn Write, dir: &Path, wanted: &[&str]) -> Result<()> {
    fs::create_dir_all(dir)?;
    for peer in PEERS.into_iter().filter(|peer| wanted.contains(&peer.slug)) {
        let mark = dir.join(format!("{}.installed", peer.slug));
        let failed = dir.join(format!("{}.failed", peer.slug));
        if fs::read_to_string(&mark).is_ok_and(|version| version == peer.version) {
            continue;
        }
        remove_if_exists(&mark)?;
        writeln!(out, "installing {} {}", peer.package, peer.version)?;
        out.flush()?;
        match peer.install(dir) {
            Ok(()) => {
                remove_if_exists(&failed)?;
                fs::write(&mark, peer.version)?;
            }
            Err(error) => {
                writeln!(out, "{} cannot be installed: {error:#}", peer.package)?;
                fs::write(&failed, format!("{error:#}"))?;
            }
        }
    }
    Ok(())
}

impl PeerPackage {
    fn install(&self, dir: &Path) -> Result<()> {
        match self.source {
            PackageRegistry::CratesIo => {
                let mut install = tool::cargo_command(&["install", self.package, "--locked"]);
                install.args(["--version", &format!("={}", self.version), "--root"]).arg(dir);
                self.must_succeed(&mut install, dir)
            }
            PackageRegistry::PyPi => {
                let venv = dir.join(self.slug);
                let mut make = Command::new("python3");
                self.must_succeed(make.args(["-m", "venv"]).arg(&venv), dir)?;
                let wanted = format!("{}=={}", self.package, self.version);
                let mut install = Command::new(venv.join("bin/pip"));
                install.args(["install", "--no-input", "--disable-pip-version-check", &wanted]);
                self.must_succeed(&mut install, dir)
            }
        }
    }

    /// Runs a step with its output in a log; the error is the last line of the log.
    fn must_succeed(&self, command: &mut Command, dir: &Path) -> Result<()> {
        let path = dir.join(format!("{}.log", self.slug));
        let log = File::create(&path)?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let program = command.get_program().to_string_lossy().into_owned();
        let status = command.status().with_context(|| format!("cannot run {program}"))?;
        if status.success() {
            return Ok(());
        }
        let output = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
        bail!("{program} failed with {status}: {}", last_line(&output))
    }
}

fn last_line(text: &str) -> &str {
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").trim()
}

fn remove_if_exists(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_failed_installation_is_the_last_line_of_its_log() {
        let dir = tempfile::tempdir().unwrap();
        let peer = &PEERS[0];
        let mut step = Command::new("sh");
        step.args(["-c", "echo begun; echo 'no such version' >&2; echo; exit 3"]);

        let error = peer.must_succeed(&mut step, dir.path()).unwrap_err();

        assert_eq!(error.to_string(), "sh failed with exit status: 3: no such version");
    }
}
