//! Nodes that are started where they cannot use cgroups, with the real command line.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

use rustix::fs::{XattrFlags, setxattr};

use crate::cgroup_files::{base_of, cgroup_of};
use crate::workbench::{SandboxWorkbench, command};

/// A cgroup beside those of jobs, which offers the controllers of its parent.
fn create_site(bench: &SandboxWorkbench, name: &str) -> PathBuf {
    let dir = bench.sandbox.accept(command("true")).unwrap();
    let job = cgroup_of(&dir);
    let site = base_of(&job).join(name);
    fs::create_dir(&site).unwrap();
    site
}

/// Starts a node in `site` that requires `features`, one of which does not exist; returns its output.
fn start_node(site: &Path, state: &Path, features: &[&str]) -> Output {
    let node = env!("CARGO_BIN_EXE_cynode-node");
    let required = features.iter().map(|feature| format!("--require {feature}"));
    let line = format!(
        "echo $$ > {}/cgroup.procs && exec {node} --slug x --state-dir {}/n --data-dir {}/d {}",
        site.display(),
        state.display(),
        state.display(),
        required.collect::<Vec<_>>().join(" ")
    );
    Command::new("sh").args(["-c", &line]).arg0("sh").output().unwrap()
}

fn sleeper_in(site: &Path) -> Child {
    let sleeper = Command::new("sleep").arg("7171").spawn().unwrap();
    fs::write(site.join("cgroup.procs"), sleeper.id().to_string()).unwrap();
    sleeper
}

#[test]
fn a_node_alone_in_its_cgroup_divides_it() {
    let bench = SandboxWorkbench::new();
    let site = create_site(&bench, "alone");

    let output = start_node(&site, bench.state.path(), &["cgroup_memory", "warp_drive"]);

    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("does not enforce warp_drive, which --require demands; "), "{text}");
    assert!(text.contains("cgroup_memory, cgroup_pids, cgroup_cpu"), "{text}");
    assert!(site.join("main").exists());
}

#[test]
fn a_node_that_shares_its_cgroup_moves_no_other_process_and_says_so() {
    let bench = SandboxWorkbench::new();
    let site = create_site(&bench, "shared");
    let mut sleeper = sleeper_in(&site);

    let output = start_node(&site, bench.state.path(), &["cgroup_memory"]);

    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    let reason = format!("also holds process {} (sleep); start the node in", sleeper.id());
    assert!(text.contains("does not enforce cgroup_memory") && text.contains(&reason), "{text}");
    let processes = fs::read_to_string(site.join("cgroup.procs")).unwrap();
    assert_eq!(processes, format!("{}\n", sleeper.id()));
    assert!(!site.join("main").exists());
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
}

#[test]
fn a_node_that_is_started_in_a_leaf_divides_its_parent_and_may_share_the_leaf() {
    let bench = SandboxWorkbench::new();
    let site = create_site(&bench, "delegated");
    let main = site.join("main");
    fs::create_dir(&main).unwrap();
    let mut sleeper = sleeper_in(&main);

    let output = start_node(&main, bench.state.path(), &["cgroup_memory", "warp_drive"]);

    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("does not enforce warp_drive, which --require demands; "), "{text}");
    assert!(!main.join("main").exists());
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
}

#[test]
fn a_unit_of_systemd_that_is_not_delegated_is_not_divided_by_root() {
    let bench = SandboxWorkbench::new();
    let site = create_site(&bench, "cynode-node.service");

    let features = ["cgroup_memory", "warp_drive"];
    let output = start_node(&site, bench.state.path(), &features);

    let text = String::from_utf8_lossy(&output.stderr);
    // To an ordinary user, the kernel itself denies what is not delegated.
    let is_refused = text.contains("does not enforce cgroup_memory, warp_drive");
    assert_eq!(is_refused, nix::unistd::geteuid().is_root(), "{text}");
    assert_eq!(text.contains("is not delegated; set Delegate=yes"), is_refused, "{text}");
    assert_ne!(site.join("main").exists(), is_refused);
    if is_refused {
        // What systemd does for Delegate=yes.
        setxattr(&site, "trusted.delegate", b"1", XattrFlags::empty()).unwrap();
        let output = start_node(&site, bench.state.path(), &features);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("does not enforce warp_drive, which --require demands; "), "{text}");
    }
}
