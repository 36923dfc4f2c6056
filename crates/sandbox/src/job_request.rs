//! Writes down what a job needs from its sandbox, from its assignment and its image.

use std::collections::BTreeMap;
use std::io;

use crate::agent_job::agent_job_document;
use crate::cache::{SANDBOX_CACHE, cache_variables};
use crate::job_dir::JobDir;
use crate::request::{
    BackendOptions, NamespaceOptions, RootFilesystem, SANDBOX_ARTIFACTS, SANDBOX_WORKSPACE,
    SandboxFile, SandboxInput, SandboxNetwork, SandboxProgram, SandboxRequest,
};
use crate::spec::{
    EGRESS_PORT, Isolation, JobImage, JobSpec, SANDBOX_AGENT, SANDBOX_AGENT_JOB, SANDBOX_SCRIPT,
    build_argv,
};

/// What decides which programs git runs.
const PROTECTED_GIT_FILES: [&str; 2] = ["config", "hooks"];

/// Builds the request of the job in `dir`. Fails with the reason why it cannot be started.
pub(crate) fn build_request(dir: &JobDir) -> Result<SandboxRequest, String> {
    let spec = dir.spec().map_err(|error| error.to_string())?;
    let image = dir.image().map_err(|error| format!("the job's image is unknown: {error}"))?;
    if spec.has_image() != image.is_some() {
        return Err("the job's image was not prepared".to_owned());
    }
    let (files, programs) =
        build_files(&spec).map_err(|error| format!("the filesystem cannot be built: {error}"))?;
    let job = &spec.assignment;
    let program = spec.interactive.as_ref();
    let env = base_variables(&spec, image.as_ref())
        .into_iter()
        .chain(own_variables(&spec).into_iter().map(|(name, value)| (name.to_owned(), value)));
    Ok(SandboxRequest {
        argv: program.map_or_else(
            || build_argv(&job.action, spec.agent_program.as_ref()).1,
            |program| program.argv.clone(),
        ),
        env: env.collect(),
        input: match program {
            Some(_) => SandboxInput::Pipe { path: dir.stdin_path() },
            None => SandboxInput::Empty,
        },
        root: match image {
            Some(image) => RootFilesystem::Image { path: image.path },
            None => RootFilesystem::Host { expose: spec.expose.clone() },
        },
        workspace: spec.workspace.clone(),
        artifacts: dir.artifacts_dir(),
        files,
        programs,
        protected: protected_paths(&spec),
        cache: spec.cache.clone(),
        network: if spec.has_egress() {
            SandboxNetwork::Egress { port: EGRESS_PORT }
        } else {
            SandboxNetwork::Isolated
        },
        limits: job.limits,
        backend: BackendOptions::Namespaces(NamespaceOptions {
            uid: match spec.isolation {
                Isolation::OwnUser => Some(spec.isolation.uid(job.task_id)),
                Isolation::UserNamespace => None,
            },
            cgroup: spec.cgroup.clone(),
        }),
    })
}

/// The script of a job, or the document and the program of an agent.
fn build_files(spec: &JobSpec) -> io::Result<(Vec<SandboxFile>, Vec<SandboxProgram>)> {
    if spec.interactive.is_some() {
        return Ok((vec![], vec![]));
    }
    if spec.is_agent() {
        let program = spec.agent_program.as_ref().filter(|program| program.path.is_file());
        let program = program.ok_or_else(|| io::Error::other("this node has no agent"))?;
        let job = agent_job_document(spec).ok_or(io::ErrorKind::InvalidInput)?;
        let document = SandboxFile {
            path: SANDBOX_AGENT_JOB.to_owned(),
            content: serde_json::to_string_pretty(&job)?,
            is_executable: false,
        };
        let program = SandboxProgram { host: program.path.clone(), path: SANDBOX_AGENT.to_owned() };
        return Ok((vec![document], vec![program]));
    }
    let script = build_argv(&spec.assignment.action, None).0.map(|text| SandboxFile {
        path: SANDBOX_SCRIPT.to_owned(),
        content: text.to_owned(),
        is_executable: true,
    });
    Ok((script.into_iter().collect(), vec![]))
}

/// Hooks and configuration of the workspace's repository.
fn protected_paths(spec: &JobSpec) -> Vec<String> {
    if !spec.has_repository() {
        return vec![];
    }
    PROTECTED_GIT_FILES.map(|name| format!("{SANDBOX_WORKSPACE}/.git/{name}")).to_vec()
}

/// The home directory. It is writable in every sandbox.
///
/// That of an agent, and of every job on a repository, is `/tmp`: in memory, of the job alone, and empty when the job starts. Programs
/// keep configuration, caches and databases there, which are no changes of the workspace. Other jobs have the workspace.
fn home_dir(spec: &JobSpec) -> &'static str {
    if spec.is_agent() || spec.has_repository() { "/tmp" } else { SANDBOX_WORKSPACE }
}

fn own_variables(spec: &JobSpec) -> Vec<(&'static str, String)> {
    let job = &spec.assignment;
    let mut env = vec![("HOME", home_dir(spec).to_owned())];
    if spec.interactive.is_none() {
        env.extend([
            ("CYNODE_TASK_ID", job.task_id.to_string()),
            ("CYNODE_JOB_ID", job.job_id.to_string()),
            ("CYNODE_WORKSPACE_DIR", SANDBOX_WORKSPACE.to_owned()),
            ("CYNODE_ARTIFACTS_DIR", SANDBOX_ARTIFACTS.to_owned()),
        ]);
    }
    if spec.cache.is_some() {
        env.push(("CYNODE_CACHE_DIR", SANDBOX_CACHE.to_owned()));
    }
    let program = spec.interactive.as_ref();
    // The listener of an agent without hosts is no proxy: it refuses every connection.
    if spec.has_hosts() || program.is_some_and(|program| program.has_proxy) {
        env.extend(proxy_variables());
    }
    if spec.is_agent() {
        env.extend(agent_variables());
    }
    env
}

/// The variables that a job may rely on, unless its image declares others.
///
/// The sandbox's own variables come after them: of two values, the later one is used.
fn base_variables(spec: &JobSpec, image: Option<&JobImage>) -> BTreeMap<String, String> {
    let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    let defaults = [("PATH", path), ("LANG", "C.UTF-8")];
    let defaults = defaults.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let caches = spec.cache.iter().flat_map(|_| cache_variables());
    let caches = caches.map(|(name, value)| (name.to_owned(), value));
    let declared = image.map(|image| image.env.clone()).unwrap_or_default();
    defaults.into_iter().chain(caches).chain(declared).collect()
}

/// Tells programs to use the proxy. Some read only the lower-case names, some only the others.
fn proxy_variables() -> impl Iterator<Item = (&'static str, String)> {
    let proxy = format!("http://127.0.0.1:{EGRESS_PORT}");
    let proxied = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"];
    let direct = ["no_proxy", "NO_PROXY"].map(|name| (name, "localhost,127.0.0.1,::1".to_owned()));
    // Node.js ignores the others without it.
    let node = ("NODE_USE_ENV_PROXY", "1".to_owned());
    proxied.map(|name| (name, proxy.clone())).into_iter().chain(direct).chain([node])
}

/// Tells agents where models and tools are. The node adds the token; programs that insist on a key get a word.
fn agent_variables() -> [(&'static str, String); 6] {
    let base = format!("http://127.0.0.1:{EGRESS_PORT}");
    let no_key = || "none".to_owned();
    [
        ("OPENAI_BASE_URL", format!("{base}/v1")),
        ("OPENAI_API_BASE", format!("{base}/v1")),
        ("OPENAI_API_KEY", no_key()),
        ("ANTHROPIC_BASE_URL", base.clone()),
        ("ANTHROPIC_API_KEY", no_key()),
        ("CYNODE_MCP_URL", format!("{base}/mcp")),
    ]
}
