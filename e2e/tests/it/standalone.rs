//! The roles as separate programs: one orchestrator, two runners, two nodes on one PostgreSQL.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use cynode_client::Client;
use cynode_testkit::postgres_database;
use nix::sys::signal::Signal;
use secrecy::SecretString;

use crate::processes::{eventually, send_signal, wait_until_none_left};
use crate::programs::call;
use crate::system::PATIENCE;
use crate::work::{commands, create_task_once, retry_while_unavailable, wait_until_closed};

const TASKS: usize = 20;

/// Programs, stopped on drop.
struct ProgramGroup {
    running: Vec<Child>,
    home: tempfile::TempDir,
}

impl ProgramGroup {
    fn new() -> Self {
        let home = tempfile::Builder::new().prefix("cynode-e2e-").tempdir().unwrap();
        Self { running: vec![], home }
    }

    fn data(&self) -> std::path::PathBuf {
        self.home.path().join("data")
    }

    fn start(&mut self, name: &str, arguments: impl FnOnce(&mut Command, &Path)) {
        let mut command = call(name, self.home.path());
        command.arg("--data-dir").arg(self.data());
        arguments(&mut command, &self.data());
        let log = self.home.path().join(format!("{}.log", self.running.len()));
        let started = command.stderr(File::create(log).unwrap()).spawn();
        self.running.push(started.unwrap());
    }

    /// Stops all programs, the newest first; returns whether all exited cleanly.
    fn stop(&mut self) -> bool {
        let mut are_well = true;
        for mut program in self.running.drain(..).rev() {
            send_signal(i32::try_from(program.id()).unwrap(), Signal::SIGTERM);
            are_well &= program.wait().unwrap().success();
        }
        are_well
    }
}

impl Drop for ProgramGroup {
    fn drop(&mut self) {
        for program in &mut self.running {
            let _ = program.kill();
            let _ = program.wait();
        }
        let left = wait_until_none_left(self.home.path(), PATIENCE);
        for pid in &left {
            send_signal(*pid, Signal::SIGKILL);
        }
        assert!(left.is_empty() || std::thread::panicking(), "left behind: {left:?}");
    }
}

#[tokio::test]
async fn two_nodes_that_were_given_one_name_run_no_command_twice() {
    let mut programs = ProgramGroup::new();
    programs.start("cynode-orchestrator", |command, _| {
        command.args(["--listen", "127.0.0.1:0"]);
    });
    let data = programs.data();
    let address = eventually("an address", PATIENCE, || {
        fs::read_to_string(data.join("orchestrator.addr")).ok()
    });
    let url = format!("http://{}", address.await);
    programs.start("cynode-runner", |command, data| {
        command.args(["--orchestrator-url", &url, "--token-file"]);
        command.arg(data.join("runner.token"));
    });
    // Without --slug: both use the name of the machine.
    for state in ["one", "other"] {
        programs.start("cynode-node", |command, data| {
            command.args(["--orchestrator-url", &url, "--join-token-file"]);
            command.arg(data.join("node-join.token"));
            command.arg("--state-dir").arg(data.join(state));
        });
    }
    let logs = [2, 3].map(|number| programs.home.path().join(format!("{number}.log")));
    eventually("one of them is rejected", PATIENCE, || {
        let text = logs.iter().map(|log| fs::read_to_string(log).unwrap_or_default());
        let text: String = text.collect();
        (text.contains("another key") && text.contains("--slug")).then_some(())
    })
    .await;
    let token = fs::read_to_string(data.join("admin.token")).unwrap();
    let client = Client::new(&url, SecretString::from(token.trim().to_owned())).unwrap();

    let mut tasks = vec![];
    for _ in 0..TASKS {
        tasks.push(
            create_task_once(&client, commands(&["echo ran >> step-1", "echo ran >> step-2"]))
                .await,
        );
    }

    for task in tasks {
        let view = wait_until_closed(&client, task, PATIENCE).await;
        assert_eq!(view.status.as_str(), "completed", "{view:#?}");
        for step in [1, 2] {
            let runs = ["one", "other"]
                .map(|state| crate::work::count_step_runs(&data.join(state), task, step));
            assert_eq!(runs.iter().sum::<usize>(), 1, "step {step} of {task}: {runs:?}");
        }
    }
    assert!(programs.stop(), "a program did not end well");
}

#[tokio::test]
async fn two_runners_and_two_nodes_share_the_work_of_one_orchestrator() {
    let database = postgres_database().await;
    let mut programs = ProgramGroup::new();
    programs.start("cynode-orchestrator", |command, _| {
        command.args(["--listen", "127.0.0.1:0", "--database-url", &database.url]);
    });
    let data = programs.data();
    let address = eventually("an address", PATIENCE, || {
        fs::read_to_string(data.join("orchestrator.addr")).ok()
    });
    let url = format!("http://{}", address.await);
    for _ in 0..2 {
        programs.start("cynode-runner", |command, data| {
            command.args(["--orchestrator-url", &url, "--token-file"]);
            command.arg(data.join("runner.token"));
        });
    }
    for slug in ["east", "west"] {
        programs.start("cynode-node", |command, data| {
            command.args(["--orchestrator-url", &url, "--slug", slug, "--join-token-file"]);
            command.arg(data.join("node-join.token"));
            command.arg("--state-dir").arg(data.join(slug));
        });
    }
    let token = fs::read_to_string(data.join("admin.token")).unwrap();
    let client = Client::new(&url, SecretString::from(token.trim().to_owned())).unwrap();
    while retry_while_unavailable(async || client.node_list().await).await.len() < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    let mut tasks = vec![];
    for number in 0..TASKS {
        let line = format!("echo ran >> step-1; sleep 0.1; echo {number}");
        tasks.push(create_task_once(&client, commands(&[&line])).await);
    }

    let mut nodes = BTreeSet::new();
    for (number, task) in tasks.into_iter().enumerate() {
        let view = wait_until_closed(&client, task, PATIENCE).await;
        assert_eq!(view.status.as_str(), "completed", "{view:#?}");
        let result = client.task_result(&task.to_string()).await.unwrap();
        let [job] = &result.jobs[..] else { panic!("{result:#?}") };
        assert_eq!(job.result.as_ref().unwrap().stdout, format!("{number}\n"));
        nodes.extend(job.node_id.map(|node| node.to_string()));
        let runs: usize = ["east", "west"]
            .iter()
            .map(|slug| crate::work::count_step_runs(&data.join(slug), task, 1))
            .sum();
        assert_eq!(runs, 1);
    }
    assert_eq!(nodes.len(), 2, "one node did nothing");
    assert!(programs.stop(), "a program did not end well");
}
