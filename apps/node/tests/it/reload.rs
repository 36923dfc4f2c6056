//! A node that reloads its configuration while its jobs go on.

use std::fs;

use cynode_domain::job::JobEnding;
use cynode_wire::nodes::{NodeSettings, Poll};
use nix::sys::signal::Signal;

use crate::testbed::NodeTestbed;
use crate::workbench::command;

fn configure(stage: &NodeTestbed, max_concurrency: u32, zone: &str) {
    let text =
        format!("[node]\nmax_concurrency = {max_concurrency}\n[node.labels]\nzone = \"{zone}\"\n");
    fs::write(stage.state.path().join("cynode.toml"), text).unwrap();
}

fn settings(max_concurrency: u32, zone: &str) -> NodeSettings {
    let labels = [("zone".to_owned(), zone.to_owned())].into_iter().collect();
    NodeSettings { max_concurrency, labels }
}

async fn wait_for_poll(stage: &NodeTestbed, is_it: impl Fn(&Poll) -> bool) {
    let found = |polls: &[Poll]| polls.iter().any(&is_it).then_some(());
    stage.fake.wait_for("a poll", |known| found(&known.polls)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hangup_reloads_the_configuration_and_ends_no_job() {
    let stage = NodeTestbed::new().await;
    configure(&stage, 2, "eu");
    let mut process = stage.spawn_process();
    let long = command("touch begun; while [ ! -e go ]; do sleep 0.02; done");
    stage.fake.assign(&long);
    stage.wait_for_file(&long, "begun").await;
    wait_for_poll(&stage, |poll| poll.holding == [long.job_id] && poll.free_slots == 1).await;

    configure(&stage, 0, "nowhere");
    process.send(Signal::SIGHUP);
    let short = command("true");
    stage.fake.assign(&short);
    assert_eq!(stage.fake.result_of(short.job_id).await.ending, JobEnding::Exited { code: 0 });
    configure(&stage, 4, "us");
    process.send(Signal::SIGHUP);

    wait_for_poll(&stage, |poll| poll.settings == Some(settings(4, "us"))).await;
    wait_for_poll(&stage, |poll| poll.holding == [long.job_id] && poll.free_slots == 3).await;
    let polls = stage.fake.state().polls.clone();
    let reported: Vec<_> = polls.iter().filter_map(|poll| poll.settings.clone()).collect();
    assert!(reported.iter().all(|it| *it == settings(4, "us")), "{reported:?}");
    assert!(polls.iter().all(|poll| poll.load.is_some_and(|load| load.free_disk_mib.is_some())));
    fs::write(stage.workspace(&long).join("go"), "").unwrap();
    assert_eq!(stage.fake.result_of(long.job_id).await.ending, JobEnding::Exited { code: 0 });
    assert!(process.stop());
}
