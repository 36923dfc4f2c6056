//! Jobs that run in images.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use cynode_domain::job::JobEnding;
use cynode_wire::jobs::JobResult;
use cynode_wire::nodes::Assignment;

use crate::image_layout::LayoutBuilder;
use crate::testbed::{NodeProcess, NodeTestbed};
use crate::workbench::{command, rerun_unprivileged};

fn in_image(name: &str, line: &str) -> Assignment {
    Assignment { image: Some(name.to_owned()), ..command(line) }
}

/// Starts a node with one image.
fn start_with(stage: &NodeTestbed, name: &str, image: LayoutBuilder) -> NodeProcess {
    let layout = stage.state.path().join("layout").join(name);
    image.write(&layout);
    stage.spawn_process_with(&["--image", &format!("{name}={}", layout.display())])
}

async fn run(stage: &NodeTestbed, job: &Assignment) -> JobResult {
    stage.fake.assign(job);
    stage.fake.result_of(job.job_id).await
}

fn unpacked(stage: &NodeTestbed) -> PathBuf {
    let images = fs::read_dir(stage.state.path().join("node/images")).unwrap().flatten();
    let names = images.map(|entry| entry.path()).filter(|path| path.join("rootfs").is_dir());
    names.last().unwrap().join("rootfs")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_sees_the_files_of_its_image_and_none_of_the_host() {
    let stage = NodeTestbed::new().await;
    let secret = stage.state.path().join("secret");
    fs::write(&secret, "of the host").unwrap();
    let image = LayoutBuilder::with_programs()
        .file("marker", "of the image\n")
        .file("opt/readme", "below\n")
        .env("PATH=/bin:/usr/bin")
        .env("FLAVOUR=vanilla")
        .env("HOME=/root")
        .env("CYNODE_JOB_ID=forged");
    let _node = start_with(&stage, "tiny", image);

    let line = format!(
        "cat /marker /opt/readme; echo $FLAVOUR $HOME; ls /; [ ! -e /usr/bin/python3 ] && echo no python; \
         [ ! -e {0} ] && echo no secret; id -u > $CYNODE_ARTIFACTS_DIR/uid; echo $CYNODE_JOB_ID; \
         echo kept > file; echo x > /tmp/x && cat file /tmp/x; cat /proc/self/comm; echo > /dev/null",
        secret.display()
    );
    let job = in_image("tiny", &line);
    let result = run(&stage, &job).await;

    assert_eq!(result.ending, JobEnding::Exited { code: 0 }, "{result:?}");
    let root = "bin\ndev\netc\njob\nlib\nlib64\nmarker\nopt\nproc\ntmp\nusr\nworkspace\n";
    let expected = format!(
        "of the image\nbelow\nvanilla /workspace\n{root}no python\nno secret\n{}\nkept\nx\ncat\n",
        job.job_id
    );
    assert_eq!(result.stdout, expected, "{}", result.stderr);
    assert_eq!(stage.fake.state().images, ["tiny"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_can_change_neither_its_image_nor_what_the_next_job_sees() {
    let stage = NodeTestbed::new().await;
    let image = LayoutBuilder::with_programs()
        .file("marker", "unchanged\n")
        .entry("writable", b"unchanged\n", 0o777)
        .entry("etc/open", b"unchanged\n", 0o666);
    let _node = start_with(&stage, "tiny", image);
    let attempts = "for path in /marker /writable /etc/open /etc/passwd /bin/sh /new /etc/new /bin/new \
         /job/new /job/passwd /proc/self/root/marker /usr/../marker; do \
         (echo changed > $path) 2>/dev/null && echo WROTE $path; done; \
         rm -rf /marker /etc /opt /bin/cat 2>/dev/null; touch /etc/open 2>/dev/null && echo TOUCHED; true";

    let first = run(&stage, &in_image("tiny", attempts)).await;
    let second = run(&stage, &in_image("tiny", "cat /marker /writable /etc/open")).await;

    assert_eq!(first.stdout, "", "{first:?}");
    assert_eq!(second.stdout, "unchanged\nunchanged\nunchanged\n", "{second:?}");
    assert_eq!(fs::read_to_string(unpacked(&stage).join("marker")).unwrap(), "unchanged\n");
}

#[test]
fn jobs_of_an_unprivileged_node_see_their_image() {
    rerun_unprivileged("images::a_job_sees_the_files_of_its_image_and_none_of_the_host");
}

#[test]
fn jobs_of_an_unprivileged_node_cannot_change_their_image() {
    rerun_unprivileged("images::a_job_can_change_neither_its_image_nor_what_the_next_job_sees");
}

#[tokio::test(flavor = "multi_thread")]
async fn links_of_an_image_do_not_redirect_the_mounts_of_the_sandbox() {
    let stage = NodeTestbed::new().await;
    let outside = stage.state.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o777)).unwrap();
    let target = outside.to_str().unwrap();
    let image = LayoutBuilder::with_programs();
    let image = ["tmp", "workspace", "job", "proc", "dev"]
        .iter()
        .fold(image, |image, name| image.symlink(name, target));
    let image = image.symlink("escape", target).symlink("sys", "/proc/1/root");
    let _node = start_with(&stage, "links", image);

    let line = "echo a > /tmp/a; echo b > /workspace/b; echo c > $CYNODE_ARTIFACTS_DIR/c; cat /tmp/a b; \
         ls /escape/ 2>/dev/null; [ -e /proc/self/status ] && echo proc";
    let job = in_image("links", line);
    let result = run(&stage, &job).await;

    assert_eq!(result.stdout, "a\nb\nproc\n", "{result:?}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    assert!(stage.workspace(&job).join("b").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_library_of_an_image_is_loaded_before_the_job_is_confined() {
    let stage = NodeTestbed::new().await;
    // The node's own program would not start with this loader, and with a working one would run code of the image.
    let loader = "lib64/ld-linux-x86-64.so.2";
    let image = LayoutBuilder::empty().entry(loader, b"not a loader", 0o755).file("marker", "");
    let _node = start_with(&stage, "bare", image);

    let result = run(&stage, &in_image("bare", "true")).await;

    let JobEnding::NotStarted { reason } = &result.ending else { panic!("{result:?}") };
    assert!(reason.contains("/bin/sh cannot be started"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_image_is_unusable_or_unknown_fails_with_what_to_do() {
    let stage = NodeTestbed::new().await;
    let missing = stage.state.path().join("missing.tar");
    let _node = stage.spawn_process_with(&["--image", &format!("lost={}", missing.display())]);

    let lost = run(&stage, &in_image("lost", "true")).await;
    let unknown = run(&stage, &in_image("unknown", "true")).await;
    let host = run(&stage, &in_image("host", "echo fine")).await;

    let JobEnding::NotStarted { reason } = &lost.ending else { panic!("{lost:?}") };
    assert!(reason.contains("there is no image at") && reason.contains("--image lost"), "{reason}");
    let JobEnding::NotStarted { reason } = &unknown.ending else { panic!("{unknown:?}") };
    assert!(reason.contains("add --image unknown=SOURCE"), "{reason}");
    assert_eq!(host.stdout, "fine\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_job_keeps_its_image_while_its_node_restarts() {
    let stage = NodeTestbed::new().await;
    let mut first =
        start_with(&stage, "tiny", LayoutBuilder::with_programs().file("marker", "kept\n"));
    let line = "touch begun; while [ ! -e go ]; do sleep 0.02; done; cat /marker";
    let job = in_image("tiny", line);
    stage.fake.assign(&job);
    stage.wait_for_file(&job, "begun").await;
    first.kill();

    let _second = start_with(&stage, "other", LayoutBuilder::empty().file("x", ""));
    let lock = cynode_image::ImageUse::lock(unpacked(&stage).parent().unwrap());
    assert!(lock.is_ok());
    fs::write(stage.workspace(&job).join("go"), "").unwrap();

    assert_eq!(stage.fake.result_of(job.job_id).await.stdout, "kept\n");
}
