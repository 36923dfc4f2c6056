//! Precedence of the layers, and error reporting.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use tempfile::TempDir;
use toml::Table;

use super::*;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RunnerSection {
    slots: u32,
    ratio: f64,
    verbose: bool,
    name: String,
    labels: Vec<String>,
    ports: Vec<u16>,
    listen: Option<String>,
    limit: Option<u32>,
    token: String,
    retry: RetrySection,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RetrySection {
    times: u8,
    wait_ms: u64,
}

impl Default for RetrySection {
    fn default() -> Self {
        Self { times: 3, wait_ms: 100 }
    }
}

impl Default for RunnerSection {
    fn default() -> Self {
        Self {
            slots: 4,
            ratio: 0.5,
            verbose: false,
            name: "runner".to_owned(),
            labels: Vec::new(),
            ports: Vec::new(),
            listen: None,
            limit: None,
            token: String::new(),
            retry: RetrySection::default(),
        }
    }
}

impl ConfigSection for RunnerSection {
    const NAME: &'static str = "runner";

    fn validate(&self) -> Vec<ConfigFault> {
        let mut faults = Vec::new();
        if !(1..=64).contains(&self.slots) {
            faults.push(ConfigFault::new("runner.slots", self.slots, "1 to 64"));
        }
        if self.retry.times > 9 {
            faults.push(ConfigFault::new("runner.retry.times", self.retry.times, "0 to 9"));
        }
        faults
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct NodeSection {
    memory_mib: u64,
}

impl ConfigSection for NodeSection {
    const NAME: &'static str = "node";

    fn validate(&self) -> Vec<ConfigFault> {
        let is_much = self.memory_mib > 1024;
        let fault =
            is_much.then(|| ConfigFault::new("node.memory_mib", self.memory_mib, "0 to 1024"));
        fault.into_iter().collect()
    }
}

/// The layers of a test, and the directory of its file.
struct ConfigFixture {
    folder: TempDir,
    sources: ConfigSources,
}

impl ConfigFixture {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), sources: ConfigSources::default() }
    }

    fn file(mut self, text: &str) -> Self {
        let path = self.folder.path().join("cynode.toml");
        fs::write(&path, text).unwrap();
        self.sources.file = Some(path);
        self
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.sources.env.insert(name.to_owned(), value.to_owned());
        self
    }

    fn flags(mut self, text: &str) -> Self {
        self.sources.flags = text.parse::<Table>().unwrap();
        self
    }

    fn runner(&self) -> RunnerSection {
        load(&self.sources).unwrap()
    }

    fn complaints(&self) -> Vec<String> {
        let faults = load_all::<(RunnerSection, NodeSection)>(&self.sources).unwrap_err();
        faults.to_string().lines().map(str::to_owned).collect()
    }
}

#[test]
fn a_flag_beats_the_file() {
    let world = ConfigFixture::new().file("[runner]\nslots = 2").flags("slots = 1");
    assert_eq!(world.runner().slots, 1);
}

#[test]
fn a_flag_beats_the_environment() {
    let world = ConfigFixture::new().env("CYNODE_RUNNER__SLOTS", "3").flags("slots = 1");
    assert_eq!(world.runner().slots, 1);
}

#[test]
fn a_flag_beats_the_default() {
    assert_eq!(ConfigFixture::new().flags("slots = 1").runner().slots, 1);
}

#[test]
fn the_file_beats_the_environment() {
    let world = ConfigFixture::new().file("[runner]\nslots = 2").env("CYNODE_RUNNER__SLOTS", "3");
    assert_eq!(world.runner().slots, 2);
}

#[test]
fn the_file_beats_the_default() {
    assert_eq!(ConfigFixture::new().file("[runner]\nslots = 2").runner().slots, 2);
}

#[test]
fn the_environment_beats_the_default() {
    assert_eq!(ConfigFixture::new().env("CYNODE_RUNNER__SLOTS", "3").runner().slots, 3);
}

#[test]
fn without_any_layer_the_defaults_hold() {
    assert_eq!(ConfigFixture::new().runner(), RunnerSection::default());
}

#[test]
fn layers_of_a_nested_table_are_merged_key_by_key() {
    let world = ConfigFixture::new()
        .env("CYNODE_RUNNER__RETRY__TIMES", "5")
        .env("CYNODE_RUNNER__RETRY__WAIT_MS", "7")
        .file("[runner.retry]\nwait_ms = 9");
    assert_eq!(world.runner().retry, RetrySection { times: 5, wait_ms: 9 });
}

#[test]
fn flags_of_a_section_come_flat_or_in_a_table_of_its_name() {
    let world = ConfigFixture::new().flags(
        "data_dir = \"/x\"\nlisten = \"a:1\"\n[runner]\nname = \"n\"\n[node]\nmemory_mib = 5",
    );
    let (runner, node) = load_all::<(RunnerSection, NodeSection)>(&world.sources).unwrap();
    assert_eq!((runner.listen.as_deref(), runner.name.as_str()), (Some("a:1"), "n"));
    assert_eq!(node.memory_mib, 5);
}

#[test]
fn environment_text_is_read_as_the_type_of_the_default() {
    let world = ConfigFixture::new()
        .env("CYNODE_RUNNER__SLOTS", " 8 ")
        .env("CYNODE_RUNNER__RATIO", "2")
        .env("CYNODE_RUNNER__VERBOSE", "yes")
        .env("CYNODE_RUNNER__NAME", "007")
        .env("CYNODE_RUNNER__LABELS", "a, b,,c")
        .env("CYNODE_RUNNER__PORTS", "1,2")
        .env("CYNODE_RUNNER__LISTEN", "12")
        .env("CYNODE_RUNNER__LIMIT", "12");
    let runner = world.runner();
    assert_eq!((runner.slots, runner.ratio, runner.verbose), (8, 2.0, true));
    assert_eq!(runner.name, "007");
    assert_eq!(runner.labels, ["a", "b", "c"]);
    assert_eq!(runner.ports, [1, 2]);
    assert_eq!((runner.listen.as_deref(), runner.limit), (Some("12"), Some(12)));
}

#[test]
fn environment_text_of_the_wrong_type_is_a_fault_with_the_variable() {
    let world = ConfigFixture::new()
        .env("CYNODE_RUNNER__SLOTS", "many")
        .env("CYNODE_RUNNER__VERBOSE", "perhaps")
        .env("CYNODE_RUNNER__RATIO", "NaN")
        .env("CYNODE_RUNNER__RETRY__TIMES", "");
    assert_eq!(
        world.complaints(),
        [
            "runner.ratio is \"NaN\"; allowed is a number (set by CYNODE_RUNNER__RATIO)",
            "runner.retry.times is \"\"; allowed is a whole number (set by CYNODE_RUNNER__RETRY__TIMES)",
            "runner.slots is \"many\"; allowed is a whole number (set by CYNODE_RUNNER__SLOTS)",
            "runner.verbose is \"perhaps\"; allowed is true or false (set by CYNODE_RUNNER__VERBOSE)",
        ]
    );
}

#[test]
fn faults_of_all_sections_and_layers_are_reported_at_once() {
    let world = ConfigFixture::new()
        .file("[runner]\nslots = 0\nslotz = 1\nname = 5\nretry = { times = 300, often = true }\n[node]\nmemory_mib = 4096\n[nodes]\nx = 1")
        .env("CYNODE_RUNNER__SPEED", "9")
        .env("CYNODE_WORKER__SLOTS", "9")
        .env("CYNODE_DATA_DIR", "/somewhere");
    let path = world.sources.file.as_ref().unwrap().display().to_string();
    let complaints = world.complaints();
    let expected = [
        format!(
            "[nodes] is not a known section; known are {} (set by {path})",
            SECTIONS.join(", ")
        ),
        format!(
            "[worker] is not a known section; known are {} (set by CYNODE_WORKER__SLOTS)",
            SECTIONS.join(", ")
        ),
        "runner.speed is not a known key, its value is \"9\"".to_owned(),
        format!("runner.name is 5; allowed is a string (set by {path})"),
        "runner.retry.often is not a known key, its value is true; known are times, wait_ms"
            .to_owned(),
        format!(
            "runner.retry.times is 300; allowed is a whole number from 0 to 255 (set by {path})"
        ),
        "runner.slotz is not a known key, its value is 1; known are slots, ratio".to_owned(),
        format!("runner.slots is 0; allowed is 1 to 64 (set by {path})"),
        format!("node.memory_mib is 4096; allowed is 0 to 1024 (set by {path})"),
    ];
    assert_eq!(complaints.len(), expected.len(), "{complaints:#?}");
    for (complaint, expected) in complaints.iter().zip(&expected) {
        assert!(complaint.starts_with(expected), "{complaint}\nis not\n{expected}");
    }
}

#[test]
fn a_fault_says_key_value_and_allowed_range() {
    let fault =
        ConfigFault { key: "runner.slots".into(), value: "0".into(), allowed: "1 to 64".into() };
    assert_eq!(fault.to_string(), "runner.slots is 0; allowed is 1 to 64");
}

#[test]
fn a_range_fault_names_the_layer_that_won() {
    let world = ConfigFixture::new().file("[runner]\nslots = 5").flags("slots = 99");
    assert_eq!(world.complaints(), ["runner.slots is 99; allowed is 1 to 64 (set by --slots)"]);
}

#[test]
fn a_wrong_secret_is_not_shown_in_the_fault() {
    let world = ConfigFixture::new().file("[runner]\ntoken = 271828");
    let complaint = world.complaints().join("\n");
    assert!(complaint.contains("runner.token is [redacted]"), "{complaint}");
    assert!(!complaint.contains("271828"), "{complaint}");
}

#[test]
fn sections_of_other_processes_in_the_file_are_fine() {
    let world = ConfigFixture::new()
        .file("[orchestrator]\nlisten = \"x\"\n[pma]\nanything = 1\n[runner]\nslots = 2");
    assert_eq!(world.runner().slots, 2);
}

#[test]
fn a_value_where_a_section_belongs_is_a_fault() {
    let complaints = ConfigFixture::new().file("runner = 3").complaints();
    assert!(
        complaints[0].starts_with("runner is 3; allowed is a section, written [runner]"),
        "{complaints:?}"
    );
}

#[test]
fn a_file_that_is_not_toml_is_named_with_the_line_but_not_its_content() {
    let world = ConfigFixture::new().file("[runner]\nslots = 2\ntoken = \"271828\n");
    let complaint = world.complaints().join("\n");
    assert!(complaint.contains("cynode.toml: line 3: "), "{complaint}");
    assert!(!complaint.contains("271828"), "{complaint}");
}

#[test]
fn a_config_file_that_vanished_is_named() {
    let mut world = ConfigFixture::new();
    world.sources.file = Some(world.folder.path().join("gone.toml"));
    let complaint = world.complaints().join("\n");
    assert!(complaint.contains("gone.toml: No such file"), "{complaint}");
}

#[derive(Serialize)]
struct TestFlags<'a> {
    data_dir: &'a Path,
    slots: Option<u32>,
    listen: Option<String>,
}

#[test]
fn a_config_file_named_by_flag_must_exist() {
    let folder = tempfile::tempdir().unwrap();
    let flags = TestFlags { data_dir: folder.path(), slots: None, listen: None };
    for path in [folder.path().join("absent.toml"), folder.path().to_owned()] {
        let refused =
            ConfigSources::from_process(Some(path.clone()), &flags).unwrap_err().to_string();
        assert!(refused.contains(&path.display().to_string()), "{refused}");
    }
}

#[test]
fn the_config_file_of_the_data_directory_is_read_when_it_exists() {
    let folder = tempfile::tempdir().unwrap();
    let flags = TestFlags { data_dir: folder.path(), slots: None, listen: Some("a:1".to_owned()) };
    let without = ConfigSources::from_process(None, &flags).unwrap();
    assert_eq!(without.file, None);

    fs::write(folder.path().join("cynode.toml"), "[runner]\nslots = 7\nlisten = \"b:2\"").unwrap();
    let mut sources = ConfigSources::from_process(None, &flags).unwrap();
    sources.env.clear();
    let runner: RunnerSection = load(&sources).unwrap();

    assert_eq!((runner.slots, runner.listen.as_deref()), (7, Some("a:1")));
}
