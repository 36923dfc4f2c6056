//! `cynode up`: from an empty directory to a working system, and shutdown.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;

use crate::processes::{environment, eventually, find_descendants, find_mentioning, is_alive};
use crate::programs::{ProgramOutput, call};
use crate::system::{FOREIGN_FILE, FOREIGN_VALUE, PATIENCE, System, SystemDatabase};
use crate::work::{commands, create_task_once, wait_until_closed};

/// The files that a process has open; empty if it has ended.
fn open_files(pid: i32) -> Vec<PathBuf> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok()).collect()
}

fn file_mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Waits until no process of the system in `home` is left: a killed process takes a moment to die.
async fn wait_until_all_exited(home: &Path) {
    let are_gone = || find_mentioning(home).is_empty().then_some(());
    eventually("the end of all processes", PATIENCE, are_gone).await;
}

#[tokio::test]
async fn up_on_an_empty_directory_announces_a_system_that_works() {
    let system = System::new().await;

    let line = fs::read_to_string(system.home().join("up.out")).unwrap();
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(system.announced.url.starts_with("http://127.0.0.1:"), "{line}");
    assert_eq!(system.announced.data_dir, system.home().canonicalize().unwrap().join("data"));
    assert_eq!(system.announced.admin_token_file, system.data_dir().join("admin.token"));
    let said = system.cynork(&["task", "create", "--command", "echo hello", "--wait"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "hello\n"), "{}", said.stderr);
}

#[tokio::test]
async fn no_process_of_up_inherits_variables_or_files_of_the_operators_shell() {
    let system = System::new().await;
    let supervisor = system.supervisor();
    let task = create_task_once(&system.client, commands(&["sleep 600"])).await;
    let shim = eventually("a job", PATIENCE, || system.find_shims().pop()).await;
    let has_command = || find_descendants(shim).len() > 1;
    eventually("its command", PATIENCE, || has_command().then_some(())).await;

    let found = find_descendants(supervisor);

    let own = environment(supervisor).unwrap();
    assert!(own.contains(FOREIGN_VALUE), "the supervisor itself has them: {own}");
    let foreign = system.home().join(FOREIGN_FILE);
    let holds_foreign = |pid: i32| open_files(pid).contains(&foreign);
    assert!(holds_foreign(supervisor), "the supervisor itself has it open");
    for role in ["orchestrator", "runner", "node", "pma"] {
        let pid = system.wait_for_role(role).await;
        assert!(found.contains(&pid) && environment(pid).is_some(), "{role}: {found:?}");
    }
    assert!(found.contains(&shim), "{found:?}");
    for pid in found {
        let environment = environment(pid).unwrap_or_default();
        assert!(!environment.contains(FOREIGN_VALUE), "{pid}: {environment}");
        assert!(!holds_foreign(pid), "{pid}: {:?}", open_files(pid));
    }
    system.client.task_cancel(&task.to_string()).await.unwrap();
}

#[tokio::test]
async fn up_works_on_a_postgres_server() {
    let mut system = System::with(SystemDatabase::Postgres, "").await;

    let said = system.cynork(&["task", "create", "--command", "echo hello", "--wait"]);
    let status = system.cynork(&["status", "-o", "json"]).expect_success().json();
    system.stop(Signal::SIGTERM).await;
    system.start().await;
    let listed = system.cynork(&["task", "list", "-o", "json"]).expect_success().json();

    assert_eq!((said.code, said.stdout.as_str()), (0, "hello\n"), "{}", said.stderr);
    assert_eq!(status["database"], "postgres");
    assert_eq!(listed["items"][0]["status"], "completed");
    assert!(!system.data_dir().join("cynode.db").exists());
}

#[tokio::test]
async fn what_up_writes_is_for_its_owner_only() {
    let system = System::new().await;
    let data = system.data_dir();

    assert_eq!(file_mode(data), 0o700);
    let secrets =
        ["admin.token", "admin.password", "runner.token", "node-join.token", "pma.secret"];
    for name in secrets.into_iter().chain(["cynode.db", "logs/orchestrator.log", "up.json"]) {
        assert_eq!(file_mode(&data.join(name)), 0o600, "{name}");
    }
    for name in ["logs", "run", "node"] {
        assert_eq!(file_mode(&data.join(name)), 0o700, "{name}");
    }
}

#[tokio::test]
async fn a_second_up_on_the_same_directory_is_refused_in_words() {
    let system = System::new().await;

    let refused = system.second_up();

    assert_eq!((refused.code, refused.stdout.as_str()), (5, ""), "{refused:?}");
    let words = "is already in use by another `cynode up`";
    assert!(refused.stderr.contains(words), "{refused:?}");
    assert!(refused.stderr.contains(&system.announced.url), "{refused:?}");
    assert!(is_alive(system.supervisor()));
    system.cynork(&["status"]).expect_success();
}

#[tokio::test]
async fn a_stopped_up_is_gone_soon_and_leaves_no_process() {
    let mut system = System::new().await;
    let busy = commands(&["trap '' TERM; while :; do sleep 1; done"]);
    let task = create_task_once(&system.client, busy).await;
    eventually("a job", PATIENCE, || system.find_shims().pop()).await;

    let ended = system.stop(Signal::SIGTERM).await;

    assert!(ended.success(), "{ended}");
    wait_until_all_exited(system.home()).await;
    system.start().await;
    let view = wait_until_closed(&system.client, task, PATIENCE).await;
    assert!(view.summary.unwrap().contains("interrupted: the worker node was stopped"));
}

#[tokio::test]
async fn ctrl_c_stops_up_like_sigterm() {
    let mut system = System::new().await;

    let ended = system.stop(Signal::SIGINT).await;

    assert!(ended.success(), "{ended}");
    wait_until_all_exited(system.home()).await;
}

#[tokio::test]
async fn tasks_and_credentials_are_kept_over_a_restart() {
    let mut system = System::new().await;
    let first = ["task", "create", "--command", "echo kept", "--name", "first", "--wait"];
    system.cynork(&first).expect_success();
    let token = fs::read(&system.announced.admin_token_file).unwrap();

    system.stop(Signal::SIGTERM).await;
    system.start().await;

    assert_eq!(fs::read(&system.announced.admin_token_file).unwrap(), token);
    assert_eq!(system.cynork(&["task", "logs", "first"]).expect_success().stdout, "kept\n");
    let again = system.cynork(&["task", "create", "--command", "echo again", "--wait"]);
    assert_eq!(again.expect_success().stdout, "again\n");
}

#[tokio::test]
async fn an_up_that_cannot_start_says_why_and_leaves_nothing_running() {
    let home = tempfile::Builder::new().prefix("cynode-e2e-").tempdir().unwrap();
    let mut command = call("cynode", home.path());
    command.args(["up", "--listen", "127.0.0.1:0", "--data-dir"]).arg(home.path().join("data"));
    command.args(["--database-url", "postgres://nobody@127.0.0.1:1/none"]);

    let said = ProgramOutput::from(command.output().unwrap());

    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.stderr.contains("the orchestrator failed to start"), "{said:?}");
    assert!(said.stderr.contains("database"), "{said:?}");
    wait_until_all_exited(home.path()).await;
}

#[tokio::test]
async fn a_setting_that_cannot_be_used_is_reported_once() {
    let home = tempfile::Builder::new().prefix("cynode-e2e-").tempdir().unwrap();
    fs::write(home.path().join("bad.toml"), "[node]\nmax_concurency = 3\n").unwrap();
    let mut command = call("cynode", home.path());
    command.args(["up", "--listen", "127.0.0.1:0", "--data-dir"]).arg(home.path().join("data"));
    command.arg("--config").arg(home.path().join("bad.toml"));

    let said = ProgramOutput::from(command.output().unwrap());

    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.stderr.contains("the node failed to start"), "{said:?}");
    assert_eq!(said.stderr.matches("max_concurency").count(), 1, "{said:?}");
    assert!(!said.stderr.contains("restarting it"), "{said:?}");
    wait_until_all_exited(home.path()).await;
}

#[tokio::test]
async fn a_runner_or_node_with_a_wrong_token_ends_and_says_why() {
    let system = System::new().await;
    let wrong = system.home().join("wrong.token");
    fs::write(&wrong, "cyn_wrong\n").unwrap();
    fs::set_permissions(&wrong, fs::Permissions::from_mode(0o600)).unwrap();
    let state = system.home().join("other-node");
    let (state, wrong) = (state.to_str().unwrap(), wrong.to_str().unwrap());
    let node = ["--join-token-file", wrong, "--state-dir", state, "--slug", "other"];

    for (program, flags) in
        [("cynode-runner", &["--token-file", wrong][..]), ("cynode-node", &node)]
    {
        let out = system.home().join(format!("{program}.err"));
        let mut command = call(program, system.home());
        command.args(["--orchestrator-url", &system.announced.url]).args(flags);
        let mut child = command.stderr(fs::File::create(&out).unwrap()).spawn().unwrap();
        let ended = eventually(program, PATIENCE, || child.try_wait().unwrap()).await;

        let said = fs::read_to_string(&out).unwrap();
        assert!(!ended.success(), "{program}: {said}");
        assert_eq!(said.matches("rejected this").count(), 1, "{program}: {said}");
        assert!(said.contains("wrong.token"), "{program}: {said}");
    }
}
