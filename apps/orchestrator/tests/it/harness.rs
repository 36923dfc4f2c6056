//! A running orchestrator of one test, and who talks to it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cynode_client::{Client, ClientError};
use cynode_orchestrator::{OrchestratorOptions, OrchestratorServer};
use cynode_runtime::clock::{Clock, ManualClock, SystemClock};
use cynode_runtime::secret_file;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_testkit::{TestDatabase, migrated_postgres_database, sqlite_database};
use cynode_wire::auth::{CreateUser, Login, SessionView};
use cynode_wire::problem::Problem;
use cynode_wire::tasks::{CreateTask, TaskView};
use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use secrecy::SecretString;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::actors::{HarnessNode, HarnessRunner};

pub(crate) const PASSWORD: &str = "correct horse battery";
/// Timeout for hanging tests only.
const PATIENCE: Duration = Duration::from_mins(1);

/// An orchestrator that serves one test. It stops when the value is dropped.
pub(crate) struct OrchestratorHarness {
    /// Moves token lifetimes; leases follow the database's own clock.
    pub(crate) clock: ManualClock,
    pub(crate) options: OrchestratorOptions,
    pub(crate) http: reqwest::Client,
    address: SocketAddr,
    data_dir: Arc<TempDir>,
    shutdown: Shutdown,
    tasks: BackgroundTasks,
    must_end_idle: AtomicBool,
    /// Dropped last: the database is removed after its last user.
    database: Option<TestDatabase>,
}

impl OrchestratorHarness {
    pub(crate) async fn sqlite() -> Self {
        Self::start(Arc::new(tempfile::tempdir().unwrap()), sqlite_database(), |_| {}).await
    }

    pub(crate) async fn postgres() -> Self {
        let database = migrated_postgres_database().await;
        Self::start(Arc::new(tempfile::tempdir().unwrap()), database, |_| {}).await
    }

    pub(crate) async fn start(
        data_dir: Arc<TempDir>,
        database: TestDatabase,
        change: impl FnOnce(&mut OrchestratorOptions),
    ) -> Self {
        match Self::try_start(data_dir, database, change).await {
            Ok(harness) => harness,
            Err((error, _)) => panic!("{error}"),
        }
    }

    /// Starts one; or gives the reason why not, and the database.
    pub(crate) async fn try_start(
        data_dir: Arc<TempDir>,
        database: TestDatabase,
        change: impl FnOnce(&mut OrchestratorOptions),
    ) -> Result<Self, (String, TestDatabase)> {
        let mut options = OrchestratorOptions {
            listen: "127.0.0.1:0".to_owned(),
            database_url: Some(database.url.clone()),
            ..OrchestratorOptions::default()
        };
        change(&mut options);
        let clock = ManualClock::new(SystemClock.now());
        let started = OrchestratorServer::start(&options, data_dir.path(), Arc::new(clock.clone()));
        let orchestrator = match Box::pin(started).await {
            Ok(orchestrator) => orchestrator,
            Err(error) => return Err((format!("{error:#}"), database)),
        };
        let address = orchestrator.address();
        let (shutdown, tasks) = (Shutdown::new(), BackgroundTasks::new());
        let stop = shutdown.clone();
        tasks.spawn("orchestrator", async move { orchestrator.serve(stop).await });
        Ok(Self {
            clock,
            options,
            http: reqwest::Client::builder().no_proxy().build().unwrap(),
            address,
            data_dir,
            shutdown,
            tasks,
            must_end_idle: AtomicBool::new(false),
            database: Some(database),
        })
    }

    /// Stops it; only its files remain.
    pub(crate) async fn files(self) -> Arc<TempDir> {
        self.stop().await;
        Arc::clone(&self.data_dir)
    }

    /// Stops and starts it again with changed options, on the same database.
    pub(crate) async fn restart_with(
        mut self,
        change: impl FnOnce(&mut OrchestratorOptions),
    ) -> Self {
        self.stop().await;
        let database = self.database.take().unwrap();
        Self::start(Arc::clone(&self.data_dir), database, change).await
    }

    /// Stops and starts it again with the same files and an empty database of the same engine.
    pub(crate) async fn restart_without_database(mut self) -> Self {
        self.stop().await;
        let old = self.database.take().unwrap();
        let fresh = if old.url.starts_with("sqlite:") {
            sqlite_database()
        } else {
            migrated_postgres_database().await
        };
        Self::start(Arc::clone(&self.data_dir), fresh, |_| {}).await
    }

    async fn stop(&self) {
        self.shutdown.trigger();
        assert!(self.tasks.finish(PATIENCE).await, "the orchestrator did not stop");
    }

    /// From now on the test fails if it leaves running tasks or open jobs behind.
    pub(crate) fn must_end_idle(&self) {
        self.must_end_idle.store(true, Ordering::Relaxed);
    }

    pub(crate) fn database(&self) -> &TestDatabase {
        self.database.as_ref().unwrap()
    }

    pub(crate) fn data_dir(&self) -> &Path {
        self.data_dir.path()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn secret(&self, file: &str) -> SecretString {
        secret_file::read(self.data_dir().join(file)).unwrap()
    }

    pub(crate) fn client(&self, token: impl Into<SecretString>) -> Client {
        Client::new(&self.url(), token.into()).unwrap()
    }

    pub(crate) fn anonymous(&self) -> Client {
        Client::anonymous(&self.url()).unwrap()
    }

    pub(crate) fn admin(&self) -> Client {
        self.client(self.secret("admin.token"))
    }

    /// A new user without any power, signed in.
    pub(crate) async fn user(&self, handle: &str) -> Client {
        self.add_user(handle).await;
        self.client(self.sign_in(handle, PASSWORD).await.unwrap().access_token)
    }

    pub(crate) async fn add_user(&self, handle: &str) {
        let (handle, password) = (handle.to_owned(), PASSWORD.to_owned());
        let body = CreateUser { handle, password, is_admin: false };
        self.admin().user_create(&body).await.unwrap();
    }

    pub(crate) async fn sign_in(
        &self,
        handle: &str,
        password: &str,
    ) -> Result<SessionView, ClientError> {
        let (handle, password) = (handle.to_owned(), password.to_owned());
        self.anonymous().login(&Login { handle, password }).await
    }

    pub(crate) fn runner(&self) -> HarnessRunner {
        HarnessRunner::new(self.client(self.secret("runner.token")))
    }

    /// A new worker node that has polled once, so that it gets work.
    pub(crate) async fn node(&self, slug: &str) -> HarnessNode {
        let node = HarnessNode::register(self, slug, true).await;
        node.poll(&[]).await;
        node
    }

    /// A task of the administrator that runs `true`.
    pub(crate) async fn task(&self) -> TaskView {
        self.admin().task_create(&create_commands_task(&["true"])).await.unwrap()
    }

    /// A request as no client of ours would send it.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url()))
    }

    /// The same, as the administrator.
    pub(crate) fn as_admin(&self, method: Method, path: &str) -> RequestBuilder {
        use secrecy::ExposeSecret;
        self.request(method, path).bearer_auth(self.secret("admin.token").expose_secret())
    }
}

impl Drop for OrchestratorHarness {
    fn drop(&mut self) {
        if self.must_end_idle.load(Ordering::Relaxed) && !std::thread::panicking() {
            let status = blocking_get(self, "/v1/status");
            assert_eq!(status["running_tasks"], 0, "a task is still running: {status}");
            let nodes = blocking_get(self, "/v1/nodes");
            let is_idle = |node: &Value| node["running_jobs"] == 0;
            assert!(nodes.as_array().unwrap().iter().all(is_idle), "a job is still open: {nodes}");
        }
        self.shutdown.trigger();
    }
}

/// A request from where nothing can be awaited; the orchestrator answers on its other thread.
fn blocking_get(harness: &OrchestratorHarness, path: &str) -> Value {
    use secrecy::ExposeSecret;
    let token = harness.secret("admin.token");
    let mut stream = TcpStream::connect(harness.address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.0\r\nhost: test\r\nauthorization: Bearer {}\r\n\r\n",
        token.expose_secret()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// A complete response.
pub(crate) struct HarnessResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl HarnessResponse {
    pub(crate) async fn send(request: RequestBuilder) -> Self {
        Self::read(request.send().await.unwrap()).await
    }

    pub(crate) async fn read(response: Response) -> Self {
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.unwrap();
        let body = serde_json::from_slice(&body)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&body).into_owned()));
        Self { status, headers, body }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Asserts that this is a problem document and returns its detail.
    pub(crate) fn assert_problem(&self, status: u16) -> &str {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        assert_eq!(self.header("content-type"), "application/problem+json", "{}", self.body);
        assert_eq!(self.body["status"], status);
        assert!(self.body["type"].as_str().unwrap().starts_with("urn:cynode:error:"));
        assert_eq!(self.body["instance"], self.header("x-trace-id"));
        self.body["detail"].as_str().unwrap()
    }
}

/// Why a call was refused; it must have been.
#[track_caller]
pub(crate) fn refused<T>(outcome: Result<T, ClientError>, status: u16) -> Problem {
    match outcome {
        Err(ClientError::Refused(problem)) => {
            assert_eq!(problem.status, status, "{problem:?}");
            *problem
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was not refused"),
    }
}

/// A task that runs these commands.
pub(crate) fn create_commands_task(lines: &[&str]) -> CreateTask {
    task_request(json!({ "commands": lines }))
}

/// A task in `commands` mode; the fields given replace the usual ones.
pub(crate) fn task_request(fields: Value) -> CreateTask {
    let mut body = json!({ "input_mode": "commands", "commands": ["true"] });
    let Value::Object(mut fields) = fields else { panic!("fields are an object") };
    body.as_object_mut().unwrap().append(&mut fields);
    serde_json::from_value(body).unwrap()
}

/// Polls until there is a value, for a bounded time.
pub(crate) async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(Instant::now() < deadline, "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
