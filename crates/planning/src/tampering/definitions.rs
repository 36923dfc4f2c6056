//! Files that define how a project is checked: manifests, settings of test runners, workflows of CI, scripts.

use super::patch::FileChange;
use super::shorten;

const DEFINITIONS: &[&str] = &[
    "package.json",
    "makefile",
    "gnumakefile",
    "justfile",
    "taskfile.yml",
    "tox.ini",
    "noxfile.py",
    "rakefile",
    "pytest.ini",
    ".pytest.ini",
    "setup.cfg",
    "pyproject.toml",
    "conftest.py",
    "cargo.toml",
    "nextest.toml",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "phpunit.xml",
    "phpunit.xml.dist",
    "composer.json",
    ".rspec",
    ".coveragerc",
    "jenkinsfile",
    ".travis.yml",
    ".drone.yml",
    "azure-pipelines.yml",
    "appveyor.yml",
];
/// The beginnings of names of settings of test runners.
const RUNNER_SETTINGS: &[&str] = &[
    "jest.config.",
    "vitest.config.",
    "vite.config.",
    "karma.conf.",
    ".mocharc",
    "playwright.config.",
    "cypress.config.",
];
/// Endings of commands that hide a failure.
const HIDES: &[&str] = &[
    "|| true",
    "|| :",
    "|| exit 0",
    "; exit 0",
    "; true",
    "continue-on-error: true",
    "--passWithNoTests",
    "passWithNoTests",
    "set +e",
    "allow_failure: true",
    "ignoreFailures",
    "testFailureIgnore",
    "--no-run",
];
/// Settings that keep tests from running. They are matched without white space.
const EXCLUDING: &[&str] = &[
    "--ignore",
    "--deselect",
    "-k'not",
    "-k\"not",
    "-knot",
    "-m'not",
    "-m\"not",
    "-mnot",
    "norecursedirs",
    "collect_ignore",
    "pytest_collection_modifyitems",
    "pytest_ignore_collect",
    "pytest_runtest_makereport",
    "pytest_sessionfinish",
    "testpathignorepatterns",
    "modulepathignorepatterns",
    "testignore",
    "coveragethreshold",
    "default-filter",
    "test=false",
    "doctest=false",
    "harness=false",
    "autotests=false",
    "skiptests",
    "maven.test.skip",
    "enabled=false",
    "if:false",
    "if:${{false}}",
    "when:manual",
    "when:never",
    "--exclude",
    "--skip",
];
/// Settings that select tests; a new file has to make them.
const SELECTING: &[&str] =
    &["testpaths", "python_files", "python_functions", "testmatch", "testregex"];
/// Settings that select tests in the files of test runners only.
const RUNNER_SELECTING: &[&str] =
    &["exclude", "ignore", "include:", "spec:", "grep", "fgrep", "invert"];
/// Words of commands and targets that check.
const CHECK_WORDS: &[&str] = &["test", "check", "lint", "verify", "spec", "ci"];

/// Whether a file defines how a project is checked.
pub(super) fn is_check_definition(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    DEFINITIONS.contains(&name)
        || is_runner_setting(name)
        || lower.starts_with(".github/")
        || lower.starts_with(".gitea/")
        || lower.starts_with(".forgejo/")
        || lower.starts_with(".gitlab-ci")
        || lower.starts_with(".gitlab/")
        || lower.starts_with(".circleci/")
        || lower.starts_with(".buildkite/")
        || lower.starts_with(".woodpecker")
        || lower.starts_with(".ci/")
}

fn is_runner_setting(name: &str) -> bool {
    RUNNER_SETTINGS.iter().any(|start| name.starts_with(start))
}

/// Whether a file is a script that checks.
pub(super) fn is_check_script(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let is_script = matches!(name.rsplit_once('.'), None | Some((_, "sh" | "bash")));
    is_script && lower.split(['/', '-', '_', '.']).any(is_check_word)
}

fn is_check_word(word: &str) -> bool {
    CHECK_WORDS.iter().any(|known| word == *known || word.strip_suffix('s') == Some(known))
}

/// What a change takes from the checks that a file defines.
pub(super) fn weakened_definitions(path: &str, change: &FileChange<'_>) -> Vec<String> {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let mut signs = vec![];
    for line in change.newly_added() {
        if HIDES.iter().any(|hide| line.contains(hide)) {
            signs.push(format!("a failure is hidden: {}", shorten(line)));
        } else if is_empty_command_entry(line) {
            signs.push(format!("a check that cannot fail: {}", shorten(line)));
        } else if is_check_definition(path) && is_excluding(&name, line, change.is_new) {
            signs.push(format!("tests are kept from running: {}", shorten(line)));
        }
    }
    signs.extend(removed_commands(path, change));
    if name.ends_with("makefile") || name == "justfile" {
        signs.extend(emptied_recipes(change));
    }
    if is_check_script(path) {
        signs.extend(emptied_script(change));
    }
    signs
}

fn is_excluding(name: &str, line: &str, is_new: bool) -> bool {
    if line.starts_with(['#', '/']) {
        return false;
    }
    let compact: String =
        line.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_lowercase();
    let has = |marks: &[&str]| marks.iter().any(|mark| compact.contains(mark));
    has(EXCLUDING)
        || (!is_new && has(SELECTING))
        || (!is_new && is_runner_setting(name) && has(RUNNER_SELECTING))
        // A hook that runs before the tests and removes something.
        || (name == "package.json" && compact.starts_with("\"pretest") && compact.contains("rm-"))
}

/// Whether a line gives a command of tests, as in `"test": "true"`, that does nothing.
fn is_empty_command_entry(line: &str) -> bool {
    let Some((key, value)) = line.split_once(':') else { return false };
    let key = key.trim().trim_matches('"');
    let is_check = key.split(['-', '_', ':', '.']).any(is_check_word);
    // Keys such as `"test:unit"` contain the separator.
    let value = value.rsplit("\": ").next().unwrap_or(value);
    let value = value.trim().trim_end_matches(',').trim_matches('"');
    line.trim_start().starts_with('"') && is_check && is_empty_command(value)
}

/// Whether a command succeeds without checking anything.
fn is_empty_command(command: &str) -> bool {
    let command = command.trim().trim_start_matches(['@', '-', '+']).trim();
    let is_quiet = |part: &str| {
        let part = part.trim();
        matches!(
            part,
            "" | "true" | ":" | "exit" | "exit 0" | "return 0" | "/bin/true" | "node -e 0"
        ) || part.starts_with("echo ")
            || part.starts_with("printf ")
            || part == "echo"
    };
    command.split("&&").flat_map(|part| part.split(';')).all(is_quiet)
}

/// Commands that check and that no added line replaces.
fn removed_commands(path: &str, change: &FileChange<'_>) -> Option<String> {
    let is_command = |line: &&&str| {
        let line = line.trim();
        let is_manifest = path.ends_with("package.json") || path.ends_with("composer.json");
        let runs = if is_manifest {
            line.starts_with("\"test") || line.starts_with("\"check") || line.starts_with("\"lint")
        } else {
            !line.starts_with('#')
                && line.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| {
                    is_check_word(word)
                        || matches!(
                            word,
                            "pytest"
                                | "jest"
                                | "vitest"
                                | "mocha"
                                | "nextest"
                                | "tox"
                                | "phpunit"
                                | "rspec"
                        )
                })
                && (line.contains("run:")
                    || line.starts_with("- ")
                    || line.starts_with("script")
                    || line.contains("test:"))
        };
        let is_workflow = !path.to_ascii_lowercase().ends_with("makefile");
        runs && is_workflow
    };
    let count = |lines: &[&str]| lines.iter().filter(is_command).count();
    (count(&change.removed) > count(&change.added))
        .then(|| "the command of the tests is removed".to_owned())
}

/// Recipes of targets that check, which lose their commands or ignore their failure.
fn emptied_recipes(change: &FileChange<'_>) -> Vec<String> {
    let mut signs = vec![];
    let mut target: Option<String> = None;
    let (mut removed, mut kept) = (0, 0);
    let mut close = |target: &Option<String>, removed: u32, kept: u32| {
        if let Some(name) = target
            && removed > 0
            && kept == 0
        {
            signs.push(format!("the recipe of {name} checks nothing any more"));
        }
    };
    for line in &change.lines {
        let text = if line.starts_with("@@") {
            line.rsplit("@@").next().unwrap_or_default().trim_start()
        } else {
            line.get(1..).unwrap_or_default()
        };
        let is_recipe = text.starts_with('\t') || text.starts_with("    ");
        if !is_recipe && let Some((name, _)) = text.split_once(':') {
            close(&target, removed, kept);
            (removed, kept) = (0, 0);
            let is_check = name.split(|c: char| !c.is_ascii_alphanumeric()).any(is_check_word);
            // A target that is removed as a whole checks nothing, but nothing calls it either.
            target = (is_check && !line.starts_with('-')).then(|| name.trim().to_owned());
        } else if is_recipe && target.is_some() {
            let is_ignored = text.trim_start().starts_with('-') && line.starts_with('+');
            match line.as_bytes().first() {
                Some(b'-') => removed += 1,
                _ if is_ignored || is_empty_command(text) => {}
                _ => kept += 1,
            }
        }
    }
    close(&target, removed, kept);
    signs
}

/// A script that checks and that ends early, or whose commands are replaced by one that does nothing.
fn emptied_script(change: &FileChange<'_>) -> Option<String> {
    let is_exit = |line: &str| matches!(line, "exit 0" | "exit" | "exec true");
    let is_command = |line: &&&str| !line.trim().is_empty() && !line.trim().starts_with('#');
    if !change.is_new && change.newly_added().any(is_exit) {
        return Some("a script that checks ends before its checks".to_owned());
    }
    let removed = change.removed.iter().filter(is_command).count();
    let mut added = change.added.iter().filter(is_command).peekable();
    let is_replaced =
        removed > 0 && added.peek().is_some() && added.all(|line| is_empty_command(line));
    is_replaced.then(|| "the commands of a script that checks are replaced by nothing".to_owned())
}
