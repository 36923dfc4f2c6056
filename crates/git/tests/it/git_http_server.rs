//! A git server on loopback: `git http-backend` behind a password.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use cynode_git::{GitCredential, RepositoryUrl};
use secrecy::SecretString;

use crate::fixture::{git, git_program, parse_url};

pub(crate) const USER: &str = "robot";
pub(crate) const PASSWORD: &str = "p@ss:w/ord-zebra77";
/// `robot:p@ss:w/ord-zebra77` in base64.
const AUTHORIZATION: &str = "Basic cm9ib3Q6cEBzczp3L29yZC16ZWJyYTc3";

/// What the server saw.
#[derive(Debug, Default)]
pub(crate) struct Observations {
    /// Method and path of each request.
    pub(crate) requests: Vec<String>,
    pub(crate) authorized: usize,
    /// Processes with the password in their arguments or environment.
    pub(crate) leaks: Vec<String>,
}

pub(crate) struct GitHttpServer {
    port: u16,
    pub(crate) observations: Arc<Mutex<Observations>>,
    /// `app.git` below the root of the server.
    pub(crate) repository: PathBuf,
}

impl GitHttpServer {
    /// Serves a bare clone of `source`. `/redirect/` leads to another address.
    pub(crate) fn start(root: &Path, source: &Path) -> Self {
        fs::create_dir(root).unwrap();
        let repository = root.join("app.git");
        git(root, &["clone", "-q", "--bare", source.to_str().unwrap(), "app.git"]);
        git(&repository, &["config", "http.receivepack", "true"]);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let observations = Arc::new(Mutex::new(Observations::default()));
        let (root, shared) = (root.to_owned(), Arc::clone(&observations));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serve(stream, &root, &shared);
            }
        });
        Self { port, observations, repository }
    }

    pub(crate) fn url(&self) -> RepositoryUrl {
        self.url_of("app.git")
    }

    pub(crate) fn url_of(&self, path: &str) -> RepositoryUrl {
        parse_url(&format!("http://127.0.0.1:{}/{path}", self.port))
    }
}

pub(crate) fn credential(password: &str) -> GitCredential {
    GitCredential::Password { username: USER.to_owned(), password: SecretString::from(password) }
}

fn serve(mut stream: TcpStream, root: &Path, observations: &Mutex<Observations>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return;
    }
    let mut words = line.split_whitespace();
    let (method, target) = (words.next().unwrap().to_owned(), words.next().unwrap().to_owned());
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        match header.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_lowercase(), value.to_owned())),
            None => break,
        }
    }
    let header = |name: &str| {
        headers
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.clone())
            .unwrap_or_default()
    };
    let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    let is_authorized = header("authorization") == AUTHORIZATION;
    {
        let mut seen = observations.lock().unwrap();
        seen.requests.push(format!("{method} {target} {}", header("authorization")));
        seen.authorized += usize::from(is_authorized);
        seen.leaks.extend(processes_with_the_password());
    }
    let answer = if target.starts_with("/redirect/") {
        let location = target.replacen("/redirect", "", 1);
        format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").into_bytes()
    } else if is_authorized {
        run_backend(root, &method, &target, &body, &header)
    } else {
        b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"git\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec()
    };
    let _ = stream.write_all(&answer);
}

fn run_backend(
    root: &Path,
    method: &str,
    target: &str,
    body: &[u8],
    header: &dyn Fn(&str) -> String,
) -> Vec<u8> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut command = Command::new(git_program());
    command.arg("http-backend").env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("GIT_PROJECT_ROOT", root).env("GIT_HTTP_EXPORT_ALL", "1").env("HOME", root);
    command.env("PATH_INFO", path).env("QUERY_STRING", query).env("REQUEST_METHOD", method);
    command
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", body.len().to_string());
    command.env("HTTP_CONTENT_ENCODING", header("content-encoding")).env("REMOTE_USER", USER);
    command.env("GIT_PROTOCOL", header("git-protocol")).env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(body).unwrap();
    let output = child.wait_with_output().unwrap().stdout;
    let end = output.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
    let content = &output[end + 4..];
    let mut answer = format!(
        "HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        content.len()
    )
    .into_bytes();
    answer.extend_from_slice(content);
    answer
}

/// Every process of this machine that has the password in its arguments or environment.
fn processes_with_the_password() -> Vec<String> {
    let needles = ["zebra77", "cm9ib3Q6cEBzczp3L29yZC16ZWJyYTc3"];
    let mut leaks = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        for file in ["cmdline", "environ"] {
            let content = fs::read(entry.path().join(file)).unwrap_or_default();
            let text = String::from_utf8_lossy(&content);
            if needles.iter().any(|needle| text.contains(needle)) {
                leaks.push(format!(
                    "{}: {}",
                    entry.path().join(file).display(),
                    text.replace('\0', " ")
                ));
            }
        }
    }
    leaks
}
