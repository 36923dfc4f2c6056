//! A git server on loopback: `git http-backend` behind a password.

use std::fs;
use std::io::{self, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

const UNAUTHORIZED: &str = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"git\"\r\n\
    Content-Length: 0\r\nConnection: close\r\n\r\n";

/// What a [`GitHttpServer`] saw.
#[derive(Debug, Default)]
pub struct GitServerLog {
    /// Method, path and authorization of each request.
    pub requests: Vec<String>,
    pub authorized: usize,
    /// Processes of this machine that had the password in their arguments or environment during a request.
    pub leaks: Vec<String>,
}

/// Serves bare repositories below a directory. `/redirect/` leads to another address.
///
/// Its thread ends with the process of the test.
#[derive(Debug)]
pub struct GitHttpServer {
    port: u16,
    pub log: Arc<Mutex<GitServerLog>>,
    /// `app.git` below the root of the server.
    pub repository: PathBuf,
}

impl GitHttpServer {
    pub const USER: &str = "robot";
    pub const PASSWORD: &str = "p@ss:w/ord-zebra77";
    /// User and password in base64.
    const AUTHORIZATION: &str = "Basic cm9ib3Q6cEBzczp3L29yZC16ZWJyYTc3";

    /// Serves a bare clone of `source` as `app.git` below the new directory `root`. Each answer takes `delay` longer.
    ///
    /// # Panics
    ///
    /// If the repository cannot be cloned or no port can be bound.
    #[expect(clippy::expect_used, reason = "for tests only: what cannot be set up is a panic")]
    pub fn start(root: &Path, source: &Path, delay: Duration) -> Self {
        fs::create_dir(root).expect("a new directory");
        let repository = root.join("app.git");
        let git = |directory: &Path, arguments: &[&str]| {
            let status = git_command().current_dir(directory).args(arguments).status();
            assert!(status.is_ok_and(|status| status.success()), "git {arguments:?}");
        };
        git(root, &["clone", "-q", "--bare", &source.display().to_string(), "app.git"]);
        git(&repository, &["config", "http.receivepack", "true"]);
        git(&repository, &["config", "core.logAllRefUpdates", "always"]);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let log = Arc::default();
        let (root, shared) = (root.to_owned(), Arc::clone(&log));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (root, shared) = (root.clone(), Arc::clone(&shared));
                // A client that was killed leaves a broken connection.
                thread::spawn(move || {
                    drop(answer_request(stream, &root, &shared, delay));
                });
            }
        });
        Self { port, log, repository }
    }

    pub fn url(&self) -> String {
        self.url_of("app.git")
    }

    pub fn url_of(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// The name under which its credential is stored.
    pub fn credential_provider(&self) -> String {
        format!("git:127.0.0.1:{}", self.port)
    }
}

fn git_command() -> Command {
    let mut command = Command::new("git");
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    command
}

/// A request without its body.
struct RequestHead {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
}

impl RequestHead {
    fn read(reader: &mut impl io::BufRead) -> io::Result<Self> {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut words = line.split_whitespace().map(str::to_owned);
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let mut headers = vec![];
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            match header.trim_end().split_once(": ") {
                Some((name, value)) => headers.push((name.to_lowercase(), value.to_owned())),
                None => return Ok(Self { method, target, headers }),
            }
        }
    }

    fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }
}

fn answer_request(
    mut stream: TcpStream,
    root: &Path,
    log: &Mutex<GitServerLog>,
    delay: Duration,
) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let head = RequestHead::read(&mut reader)?;
    let mut body = vec![0; head.header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let authorization = head.header("authorization");
    let is_authorized = authorization == GitHttpServer::AUTHORIZATION;
    {
        let leaks = find_processes_with_the_password();
        let mut seen = log.lock().unwrap_or_else(PoisonError::into_inner);
        seen.requests.push(format!("{} {} {authorization}", head.method, head.target));
        seen.authorized += usize::from(is_authorized);
        seen.leaks.extend(leaks);
    }
    thread::sleep(delay);
    let answer = if let Some(rest) = head.target.strip_prefix("/redirect") {
        format!(
            "HTTP/1.1 302 Found\r\nLocation: {rest}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        .into_bytes()
    } else if is_authorized {
        run_backend(root, &head, &body)?
    } else {
        UNAUTHORIZED.as_bytes().to_vec()
    };
    stream.write_all(&answer)
}

fn run_backend(root: &Path, head: &RequestHead, body: &[u8]) -> io::Result<Vec<u8>> {
    let (path, query) = head.target.split_once('?').unwrap_or((&head.target, ""));
    let mut command = git_command();
    command.arg("http-backend").env("GIT_PROJECT_ROOT", root).env("GIT_HTTP_EXPORT_ALL", "1");
    command.env("HOME", root).env("REMOTE_USER", GitHttpServer::USER);
    command.env("PATH_INFO", path).env("QUERY_STRING", query).env("REQUEST_METHOD", &head.method);
    command.env("CONTENT_TYPE", head.header("content-type"));
    command.env("CONTENT_LENGTH", body.len().to_string());
    command.env("HTTP_CONTENT_ENCODING", head.header("content-encoding"));
    command.env("GIT_PROTOCOL", head.header("git-protocol"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(body)?;
    }
    let output = child.wait_with_output()?.stdout;
    let end = output.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or(output.len());
    let fields = String::from_utf8_lossy(&output[..end]).into_owned();
    let status = fields.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
    let content = output.get(end + 4..).unwrap_or_default();
    let length = content.len();
    let mut answer = format!(
        "HTTP/1.1 {status}\r\n{fields}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )
    .into_bytes();
    answer.extend_from_slice(content);
    Ok(answer)
}

/// Every process of this machine that has the password in its arguments or environment.
fn find_processes_with_the_password() -> Vec<String> {
    let needles = ["zebra77", "cm9ib3Q6cEBzczp3L29yZC16ZWJyYTc3"];
    let mut leaks = vec![];
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        for file in ["cmdline", "environ"] {
            let path = entry.path().join(file);
            let content = fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&content).replace('\0', " ");
            if needles.iter().any(|needle| text.contains(needle)) {
                leaks.push(format!("{}: {text}", path.display()));
            }
        }
    }
    leaks
}
