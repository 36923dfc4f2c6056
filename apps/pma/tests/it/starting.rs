//! Required settings and their precedence.

use std::fs;
use std::io::{BufRead as _, BufReader};

use crate::process::PmaDataDir;

/// Returns the error output of a process that does not start.
fn start_error(dir: &PmaDataDir, arguments: &[&str], env: &[(&str, &str)]) -> String {
    let mut command = dir.command(arguments);
    let ended = command.envs(env.iter().copied()).output().unwrap();
    assert!(!ended.status.success());
    String::from_utf8(ended.stderr).unwrap()
}

#[test]
fn a_process_without_a_role_says_how_to_choose_one() {
    let said = start_error(&PmaDataDir::new(), &[], &[]);

    assert!(said.contains("no role was chosen: pass --role="), "{said}");
}

#[test]
fn the_role_of_a_process_is_taken_from_flag_then_file_then_environment() {
    let dir = PmaDataDir::new();
    let root = dir.dir.path().join("nowhere");
    let root = root.to_str().unwrap();
    // Instructions are loaded from the directory of the role, so the missing path names the role.
    let arguments = ["--instructions-root", root];
    let (manager, analyst) = ("nowhere/project_manager", "nowhere/project_analyst");

    let from_env = start_error(&dir, &arguments, &[("PMA_ROLE", "project_manager")]);
    assert!(from_env.contains(manager), "{from_env}");

    fs::write(dir.dir.path().join("cynode.toml"), "[pma]\nrole = \"project_analyst\"\n").unwrap();
    let from_file = start_error(&dir, &arguments, &[("PMA_ROLE", "project_manager")]);
    assert!(from_file.contains(analyst), "{from_file}");

    let flags = ["--role", "project_manager", "--instructions-root", root];
    let from_flag = start_error(&dir, &flags, &[("PMA_ROLE", "project_analyst")]);
    assert!(from_flag.contains(manager), "{from_flag}");
}

#[test]
fn a_process_without_instructions_or_secret_says_what_to_do() {
    let dir = PmaDataDir::new();
    let empty = dir.dir.path().join("own");
    fs::create_dir(&empty).unwrap();
    let path = empty.to_str().unwrap();
    let role = ["--role", "project_manager"];

    let own = [role.as_slice(), &["--instructions-project-manager", path]].concat();
    let said = start_error(&dir, &own, &[]);
    assert!(said.contains("are empty: add at least 01_baseline.md"), "{said}");

    fs::remove_file(dir.dir.path().join("pma.secret")).unwrap();
    let said = start_error(&dir, &role, &[]);
    assert!(said.contains("pma.secret"), "{said}");
}

#[test]
fn a_process_that_others_could_reach_over_the_network_does_not_start() {
    let said =
        start_error(&PmaDataDir::new(), &["--role=project_manager", "--listen=0.0.0.0:0"], &[]);

    assert!(said.contains("pma.listen is \"0.0.0.0:0\""), "{said}");
}

#[test]
fn a_temperature_out_of_range_is_clamped_and_the_log_warns_of_it() {
    let dir = PmaDataDir::new();
    let mut command = dir.command(&["--role", "project_manager"]);
    command.env("MODEL_TEMPERATURE", "9");
    let mut serving = dir.serve_with(command, "project_manager");
    let log = BufReader::new(serving.child.stderr.take().unwrap());

    // The process logs its warnings before it announces its role.
    let lines = log.lines().map(Result::unwrap);
    let before: Vec<String> = lines.take_while(|line| !line.contains("agent started")).collect();

    let is_warning = |line: &String| {
        line.contains("planner.temperature is") && line.contains("allowed is 0 to 2; using 2")
    };
    assert!(before.iter().any(is_warning), "{before:?}");
}
