//! Gateways of others, each installed once, at one version.
//!
//! What the benchmark reads: `<slug>.installed` holds the version, `<slug>.failed` the reason why
//! there is none. A peer that cannot be installed keeps nobody from measuring the others.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::tool;

/// A gateway to compare with.
struct Peer {
    slug: &'static str,
    package: &'static str,
    version: &'static str,
    source: Source,
}

/// Where a package comes from.
enum Source {
    CratesIo,
    PyPi,
}

const PEERS: [Peer; 3] = [
    Peer { slug: "mcp-proxy", package: "mcp-proxy", version: "0.4.3", source: Source::CratesIo },
    Peer {
        slug: "contextforge",
        package: "mcp-contextforge-gateway",
        version: "1.0.7.post20260921",
        source: Source::PyPi,
    },
    Peer { slug: LITELLM, package: "litellm[proxy]", version: "1.106.2", source: Source::PyPi },
];

/// The names of all of them.
pub(super) const ALL: &[&str] = &["mcp-proxy", "contextforge", LITELLM];
/// The one that serves models too.
pub(in crate::bench) const LITELLM: &str = "litellm";

/// Installs every peer of `wanted` that `place` does not hold yet, and writes down what failed.
pub(in crate::bench) fn install(out: &mut dyn Write, place: &Path, wanted: &[&str]) -> Result<()> {
    fs::create_dir_all(place)?;
    for peer in PEERS.into_iter().filter(|peer| wanted.contains(&peer.slug)) {
        let mark = place.join(format!("{}.installed", peer.slug));
        let failed = place.join(format!("{}.failed", peer.slug));
        if fs::read_to_string(&mark).is_ok_and(|version| version == peer.version) {
            continue;
        }
        forget(&mark)?;
        writeln!(out, "installing {} {}", peer.package, peer.version)?;
        out.flush()?;
        match peer.install(place) {
            Ok(()) => {
                forget(&failed)?;
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

impl Peer {
    fn install(&self, place: &Path) -> Result<()> {
        match self.source {
            Source::CratesIo => {
                let mut install = tool::cargo(&["install", self.package, "--locked"]);
                install.args(["--version", &format!("={}", self.version), "--root"]).arg(place);
                self.must_succeed(&mut install, place)
            }
            Source::PyPi => {
                let venv = place.join(self.slug);
                let mut make = Command::new("python3");
                self.must_succeed(make.args(["-m", "venv"]).arg(&venv), place)?;
                let wanted = format!("{}=={}", self.package, self.version);
                let mut install = Command::new(venv.join("bin/pip"));
                install.args(["install", "--no-input", "--disable-pip-version-check", &wanted]);
                self.must_succeed(&mut install, place)
            }
        }
    }

    /// Runs a step with its output in a log; the error is the last line of it.
    fn must_succeed(&self, command: &mut Command, place: &Path) -> Result<()> {
        let path = place.join(format!("{}.log", self.slug));
        let log = File::create(&path)?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let program = command.get_program().to_string_lossy().into_owned();
        let status = command.status().with_context(|| format!("cannot run {program}"))?;
        if status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
        bail!("{program} failed with {status}: {}", last_line(&said))
    }
}

fn last_line(text: &str) -> &str {
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").trim()
}

fn forget(file: &Path) -> io::Result<()> {
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
        let place = tempfile::tempdir().unwrap();
        let peer = &PEERS[0];
        let mut step = Command::new("sh");
        step.args(["-c", "echo begun; echo 'no such version' >&2; echo; exit 3"]);

        let error = peer.must_succeed(&mut step, place.path()).unwrap_err();

        assert_eq!(error.to_string(), "sh failed with exit status: 3: no such version");
    }
}
