//! Processes killed at random points while agents work on a repository and their commits are pushed.
//!
//! Victims: the orchestrator (and its proxy to servers), the runner, the node (its broker and the listener that is the
//! proxy of agents), the supervisor of a job, a process of its sandbox (the agent among them), and a git process of the
//! broker. The repository is served over HTTP behind a password, and records every update of a branch.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cynode_domain::status::ShownTaskStatus;
use cynode_testkit::provider::{Answer, ScriptedProvider};
use cynode_testkit::{GitHttpServer, query};
use cynode_wire::git::PushTask;
use cynode_wire::page::PageQuery;
use cynode_wire::tasks::{CreateTask, TaskView};
use nix::sys::signal::Signal;
use serde_json::json;

use crate::credentials::files_with;
use crate::processes::{
    find_by_arguments, find_descendants, find_mentioning, find_with_mounts_of, send_signal,
};
use crate::repositories::{create_repository, git};
use crate::requests::{finish, run};
use crate::seed::TestSeed;
use crate::system::{PATIENCE, System, SystemDatabase};
use crate::work::{create_task_once, retry_while_unavailable, wait_until_closed};

/// No round begins later than this after the start.
const LAST_ROUND: Duration = Duration::from_secs(45);
const ROUNDS: usize = 8;
/// Agents at work in one round.
const TASKS: usize = 3;
const KILLS: usize = 3;
/// Longest time between two kills.
const PAUSE: Duration = Duration::from_millis(1200);
/// How long a victim that exists only for moments is waited for.
const AMBUSH: Duration = Duration::from_secs(2);
/// Each answer of the git server takes this much longer, so that kills hit fetches and pushes.
const SERVER_DELAY: Duration = Duration::from_millis(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    Orchestrator,
    Runner,
    Node,
    Supervisor,
    SandboxProcess,
    GitProcess,
}

const VICTIMS: [Victim; 6] = [
    Victim::Orchestrator,
    Victim::Runner,
    Victim::Node,
    Victim::Supervisor,
    Victim::SandboxProcess,
    Victim::GitProcess,
];

impl Victim {
    /// Whether its death may end a job or a push without a result.
    fn may_end_jobs(self) -> bool {
        !matches!(self, Self::Orchestrator | Self::Runner)
    }

    /// A process of this kind, if one runs.
    fn find(self, system: &System, seed: &mut TestSeed) -> Option<i32> {
        let candidates = match self {
            Self::Orchestrator => system.find_roles("orchestrator"),
            Self::Runner => system.find_roles("runner"),
            Self::Node => system.find_roles("node"),
            Self::Supervisor => system.find_shims(),
            Self::SandboxProcess => {
                system.find_shims().into_iter().flat_map(find_descendants).collect()
            }
            Self::GitProcess => find_git_processes(system),
        };
        (!candidates.is_empty()).then(|| candidates[seed.pick(candidates.len())])
    }
}

/// The processes of git that the broker of the node started.
fn find_git_processes(system: &System) -> Vec<i32> {
    let is_git = |line: &[&str]| {
        let program = line.first().and_then(|program| Path::new(program).file_name());
        program.is_some_and(|name| name.as_encoded_bytes().starts_with(b"git"))
    };
    let git = find_by_arguments(is_git);
    let state = system.data_dir().join("node/git");
    find_mentioning(&state).into_iter().filter(|pid| git.contains(pid)).collect()
}

/// A task whose agent commits one line to a file of its own.
fn line_task(name: &str, url: &str) -> CreateTask {
    serde_json::from_value(json!({
        "input_mode": "agent", "task_name": name, "prompt": format!("Write the line of {name}."),
        "repository": { "url": url }, "max_attempts": 1,
    }))
    .unwrap()
}

fn file_of(name: &str) -> String {
    format!("{name}.txt")
}

/// The answers depend on no order: an agent that lost one gets it again.
fn script_agent(provider: &ScriptedProvider, number: usize, name: &str) {
    let file = file_of(name);
    let prompt = format!("Write the line of {name}.");
    // The output is in no command, so that it shows that the command ran.
    let (added, printed) = (number + 7000, format!("done {}", number + 7001));
    provider.when_each(&[&prompt, &printed], finish("wrote the line"));
    let command = format!(
        "sleep 0.3; echo line >> {file} && git add {file} && git commit -qm 'Add {file}'; \
         sleep 0.3; echo done $(({added} + 1))"
    );
    provider.when(&prompt, run(&command));
}

/// Waits for the end of a task and, if its agent succeeded, pushes its commit. Returns both tasks.
async fn finish_and_push(system: &System, name: &str, url: &str) -> (TaskView, Option<TaskView>) {
    let task = create_task_once(&system.client, line_task(name, url)).await;
    let task = wait_until_closed(&system.client, task, PATIENCE * 2).await;
    if task.status != ShownTaskStatus::Completed {
        return (task, None);
    }
    let body = PushTask { idempotency_key: Some(format!("push of {name}")), ..Default::default() };
    let id = task.id.to_string();
    let push = retry_while_unavailable(async || system.client.task_push(&id, &body).await).await;
    let push = wait_until_closed(&system.client, push.id, PATIENCE * 2).await;
    (task, Some(push))
}

/// Kills processes at random points; returns the kinds that were killed.
async fn kill_processes(system: &System, seed: &mut TestSeed) -> Vec<Victim> {
    let mut killed = vec![];
    for _ in 0..KILLS {
        tokio::time::sleep(seed.below(PAUSE)).await;
        let victim = VICTIMS[seed.pick(VICTIMS.len())];
        let begun = Instant::now();
        while begun.elapsed() < AMBUSH {
            if let Some(pid) = victim.find(system, seed) {
                send_signal(pid, Signal::SIGKILL);
                killed.push(victim);
                break;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    killed
}

/// What must hold of a task and its push, whatever was killed. Returns whether its commit was pushed.
fn assert_done_at_most_once(
    workspaces: &Path,
    server: &GitHttpServer,
    (task, push): (&TaskView, Option<&TaskView>),
) -> bool {
    let file = file_of(&task.task_name);
    let written = fs::read_to_string(workspaces.join(task.id.to_string()).join(&file));
    let written = written.unwrap_or_default();
    assert!(["", "line\n"].contains(&written.as_str()), "the agent ran twice: {task:#?}");
    let branch = format!("cynode/{}", task.task_name);
    let updates = fs::read_to_string(server.repository.join("logs/refs/heads").join(&branch));
    let updates = updates.unwrap_or_default().lines().count();
    let is_complete = push.is_some_and(|push| push.status == ShownTaskStatus::Completed);
    if is_complete {
        assert_eq!(updates, 1, "{branch} was not updated once: {push:#?}");
    }
    assert!(updates <= 1, "{branch} was updated {updates} times: {push:#?}");
    if updates == 1 {
        let commits = git(&server.repository, &["rev-list", "--count", &format!("main..{branch}")]);
        let content = git(&server.repository, &["show", &format!("{branch}:{file}")]);
        assert_eq!((commits.as_str(), content.as_str()), ("1", "line"), "{branch}");
    }
    updates == 1
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_commit_and_push_once_whatever_is_killed_and_nothing_is_left_on_the_node() {
    let mut seed = TestSeed::for_run("agent kills");
    let (home, source) = create_repository();
    let server = GitHttpServer::start(&home.path().join("server"), &source, SERVER_DELAY);
    let provider = ScriptedProvider::start();
    let system = start_system(&provider, &server).await;
    let workspaces = system.data_dir().join("node/workspaces");
    let (begun, url) = (Instant::now(), server.url());
    let mut kills: BTreeMap<Victim, usize> = BTreeMap::new();
    let (mut pushed, mut ended) = (0, 0);
    for round in 0..ROUNDS {
        if begun.elapsed() > LAST_ROUND {
            break;
        }
        system.wait_until_ready().await;
        let names = [0, 1, 2].map(|task| format!("line-{round}-{task}"));
        for (task, name) in names.iter().enumerate() {
            script_agent(&provider, round * TASKS + task, name);
        }
        let [first, second, third] = &names;
        let (killed, first, second, third) = tokio::join!(
            kill_processes(&system, &mut seed),
            finish_and_push(&system, first, &url),
            finish_and_push(&system, second, &url),
            finish_and_push(&system, third, &url),
        );
        for (task, push) in [&first, &second, &third] {
            let is_pushed = assert_done_at_most_once(&workspaces, &server, (task, push.as_ref()));
            let must_be_pushed = !killed.iter().any(|victim| victim.may_end_jobs());
            assert!(is_pushed || !must_be_pushed, "{killed:?}: {task:#?}\n{push:#?}");
            pushed += usize::from(is_pushed);
            ended += 1;
        }
        println!("round {round} after {:?}: {killed:?}", begun.elapsed());
        for victim in killed {
            *kills.entry(victim).or_default() += 1;
        }
    }
    println!("{pushed} of {ended} commits pushed; kills: {kills:?}");
    assert!(pushed > 0, "rounds in which every task is interrupted prove nothing");
    assert_nothing_is_left(&system, &server).await;
}

async fn start_system(provider: &ScriptedProvider, server: &GitHttpServer) -> System {
    provider.otherwise(Answer::status(400, "not today"));
    let config = "[runner]\nlease_ms = 2000\n[node]\nrepository_networks = [\"127.0.0.0/8\"]\nworkspace_retention_h = 1\n";
    let system = System::with(SystemDatabase::Embedded, config).await;
    let body = json!({
        "kind": "openai", "base_url": provider.openai_url(), "allow": "everyone", "models": ["scripted-model"],
    });
    system.client.provider_put("scripted", &serde_json::from_value(body).unwrap()).await.unwrap();
    let credential = json!({
        "provider": server.credential_provider(), "credential_type": "password",
        "secret": format!("{}:{}", GitHttpServer::USER, GitHttpServer::PASSWORD),
    });
    let credential = serde_json::from_value(credential).unwrap();
    system.client.credential_set(&credential).await.unwrap();
    system
}

/// Entries of a directory, as paths.
fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Waits until the node has neither processes nor mounts nor files of the tasks, which are all closed; then makes
/// their retention pass, and waits until their workspaces are gone too.
async fn assert_nothing_is_left(system: &System, server: &GitHttpServer) {
    let state = system.data_dir().join("node");
    let git_state = state.join("git");
    let marker = system.home().file_name().unwrap().to_str().unwrap().to_owned();
    let what_is_left = || {
        let mut left: Vec<String> = vec![];
        let processes = [system.find_shims(), find_git_processes(system)].concat();
        left.extend(processes.iter().map(|pid| format!("process {pid}")));
        left.extend(find_with_mounts_of(&marker).iter().map(|line| format!("mount {line}")));
        for directory in ["jobs", "trash", "git/staging", "git/credentials", "git/imports"] {
            let found = entries(&state.join(directory));
            left.extend(found.iter().map(|path| path.display().to_string()));
        }
        left
    };
    wait_until_empty("processes, mounts, jobs", what_is_left).await;
    // The password was in no process and is in no file.
    {
        let log = server.log.lock().unwrap();
        assert!(log.authorized > 0, "{:?}", log.requests);
        assert_eq!(log.leaks, Vec::<String>::new());
    }
    assert_eq!(files_with(&state, "zebra77"), Vec::<PathBuf>::new());
    // Every token of a job is revoked.
    let tokens = system.client.agent_token_list(&PageQuery::default()).await.unwrap().items;
    let of_tasks = tokens.iter().filter(|token| token.binding.task_id.is_some());
    let open: Vec<_> = of_tasks.filter(|token| token.revoked_at.is_none()).collect();
    assert!(open.is_empty(), "{open:#?}");

    let database = format!("sqlite:{}", system.data_dir().join("cynode.db").display());
    let two_days = 2_i64 * 24 * 3600 * 1_000_000;
    query(&database, &format!("UPDATE tasks SET ended_at = ended_at - {two_days};")).await;
    assert!(!entries(&state.join("workspaces")).is_empty());
    // The node looks for them when it starts.
    send_signal(system.wait_for_role("node").await, Signal::SIGKILL);
    let is_record = |path: &PathBuf| path.extension().is_some_and(|end| end == "json");
    let workspaces_left = || {
        let mut left = entries(&state.join("workspaces"));
        left.extend(entries(&git_state.join("checkouts")).into_iter().filter(is_record));
        left.iter().map(|path| path.display().to_string()).collect()
    };
    wait_until_empty("workspaces and checkouts", workspaces_left).await;
    let mirrors = entries(&git_state.join("mirrors"));
    let mirrors: Vec<_> = mirrors.iter().filter(|path| path.is_dir()).collect();
    assert_eq!(mirrors.len(), 1, "{mirrors:?}");
    let refs = || {
        let listed = git(mirrors[0], &["for-each-ref", "--format=%(refname)", "refs/cynode"]);
        listed.lines().map(str::to_owned).collect()
    };
    wait_until_empty("refs of tasks in the mirror", refs).await;
}

async fn wait_until_empty(what: &str, list: impl Fn() -> Vec<String>) {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if list().is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{what} are left: {:#?}", list());
}
