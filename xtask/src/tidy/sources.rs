//! Rules about one source file: its name, size, head, attributes and tagged debt.

use std::path::Path;

use super::TidyFindings;
use crate::fault::Fault;

/// Lines without the `mod tests` block above which a file is reported.
const CODE_LINES: usize = 400;
/// Total lines above which a file is rejected.
const ALL_LINES: usize = 600;

/// Names without meaning.
const EMPTY_NAMES: &[&str] = &["utils", "util", "common", "helpers", "helper", "manager", "core"];
const EMPTY_FILE_NAMES: &[&str] = &["types.rs", "models.rs"];

/// The allowed tags of technical debt.
const TAGS: &[&str] = &["security", "correctness", "cleanup"];
// Written in halves, so that this file is not counted.
const DEBT: &str = concat!("TO", "DO");
const UNTAGGED: &[&str] = &[concat!("FIX", "ME"), concat!("XX", "X:"), concat!("HA", "CK:")];

const FORBIDDEN_ATTRIBUTES: &[(&str, &str)] = &[
    ("allow(", "write #[expect(lint, reason = \"…\")], which ends with its cause"),
    ("ignore", "make the test run everywhere, or delete it"),
    ("should_panic", "return the error and assert on it"),
];

/// Sources that may start processes in another way: test harnesses, and the probe of the project
/// manager's confinement.
const STARTERS: [&str; 3] = ["crates/testkit/", "crates/mcp-fixture/", "apps/pma/src/probe.rs"];

/// Reports meaningless names, and `mod.rs`.
pub fn check_name(path: &str, findings: &mut TidyFindings) {
    let file = Path::new(path);
    if file.extension().is_none_or(|extension| extension != "rs") {
        return;
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    if name == "mod.rs" {
        findings.faults.push(Fault::new(
            path,
            "is a mod.rs",
            "name the file after its module, beside the folder",
        ));
    }
    let without_extension = file.with_extension("");
    let empty = without_extension
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .find(|part| EMPTY_NAMES.contains(&part.as_ref()));
    if empty.is_some() || EMPTY_FILE_NAMES.contains(&name.as_ref()) {
        findings.faults.push(Fault::new(
            path,
            "has a name that says nothing about what is inside",
            "name it after the feature or the verb",
        ));
    }
}

/// Checks the text of one source file.
pub fn check(path: &str, text: &str, findings: &mut TidyFindings) {
    check_head(path, text, findings);
    check_size(path, text, findings);
    check_children(path, text, findings);
    let mut after_test_attribute = false;
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        check_attribute(path, line_number, line.trim_start(), findings);
        check_debt(path, line_number, line, findings);
        check_testkit(path, line_number, line, findings);
        if is_test_attribute(line.trim()) {
            after_test_attribute = true;
        } else if let Some(name) = function_name(line) {
            if after_test_attribute && name.starts_with("test_") {
                findings.faults.push(Fault::in_line(
                    path,
                    line_number,
                    format!("test {name} says that it is a test"),
                    "name it as a sentence about behaviour",
                ));
            }
            after_test_attribute = false;
        }
    }
}

fn check_head(path: &str, text: &str, findings: &mut TidyFindings) {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if !first.starts_with("//!") {
        findings.faults.push(Fault::in_line(
            path,
            1,
            "does not say what it is",
            "open it with a `//!` sentence",
        ));
    }
}

fn check_size(path: &str, text: &str, findings: &mut TidyFindings) {
    let all = text.lines().count();
    let code = lines_without_tests(text);
    if all > ALL_LINES {
        findings.faults.push(Fault::in_line(
            path,
            ALL_LINES,
            format!("has {all} lines; {ALL_LINES} is the limit"),
            "split it by feature or verb",
        ));
    } else if code > CODE_LINES {
        findings.warnings.push(Fault::in_line(
            path,
            CODE_LINES,
            format!("has {code} lines without its tests; aim under 200, at most {CODE_LINES}"),
            "split it by feature or verb",
        ));
    }
}

/// Reports a product process that starts another one with its whole environment.
fn check_children(path: &str, text: &str, findings: &mut TidyFindings) {
    let is_product = (path.starts_with("crates/") || path.starts_with("apps/"))
        && path.contains("/src/")
        && !path.contains("/tests")
        && !STARTERS.iter().any(|starter| path.starts_with(starter));
    let code = || text.lines().take(lines_without_tests(text)).enumerate();
    let cleared = code().filter(|(_, line)| line.contains(".inherit_only(")).count();
    let start = code().filter(|(_, line)| line.contains("Command::new(")).nth(cleared);
    if let Some((index, _)) = start.filter(|_| is_product) {
        findings.faults.push(Fault::in_line(
            path,
            index + 1,
            "starts a process that inherits the whole environment",
            "list what it may inherit with `inherit_only` of `runtime::child_env`",
        ));
    }
}

pub(super) fn lines_without_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    lines
        .windows(2)
        .position(|pair| pair[0].starts_with("#[cfg(test)]") && pair[1].starts_with("mod tests {"))
        .unwrap_or(lines.len())
}

fn check_attribute(path: &str, line_number: usize, line: &str, findings: &mut TidyFindings) {
    let Some(body) = line.strip_prefix("#[").or_else(|| line.strip_prefix("#![")) else {
        return;
    };
    // A conditional attribute is checked like an unconditional one.
    let body = match body.strip_prefix("cfg_attr(") {
        Some(conditional) => conditional.split_once(", ").map_or("", |(_, rest)| rest),
        None => body,
    };
    for (attribute, remedy) in FORBIDDEN_ATTRIBUTES {
        let word_ends =
            |rest: &str| attribute.ends_with('(') || rest.starts_with([']', '(', ' ', '=']);
        if body.strip_prefix(attribute).is_some_and(word_ends) {
            findings.faults.push(Fault::in_line(
                path,
                line_number,
                format!("uses #[{}]", attribute.trim_end_matches('(')),
                *remedy,
            ));
        }
    }
}

fn check_debt(path: &str, line_number: usize, line: &str, findings: &mut TidyFindings) {
    let Some((_, comment)) = line.split_once("//") else {
        return;
    };
    for (at, _) in comment.match_indices(DEBT) {
        let after = comment[at + DEBT.len()..].strip_prefix('(').unwrap_or_default();
        let tag = TAGS
            .iter()
            .find(|tag| after.strip_prefix(**tag).is_some_and(|rest| rest.starts_with(')')));
        match tag {
            Some(tag) => *findings.debts.entry(tag).or_default() += 1,
            None => findings.faults.push(untagged(path, line_number)),
        }
    }
    if UNTAGGED.iter().any(|word| comment.contains(word)) {
        findings.faults.push(untagged(path, line_number));
    }
}

fn untagged(path: &str, line_number: usize) -> Fault {
    Fault::in_line(
        path,
        line_number,
        "debt without a tag",
        format!("write {DEBT}(security), {DEBT}(correctness) or {DEBT}(cleanup)"),
    )
}

fn check_testkit(path: &str, line_number: usize, line: &str, findings: &mut TidyFindings) {
    let is_library_source = path.starts_with("crates/") && path.contains("/src/");
    let is_testkit = path.starts_with("crates/testkit/");
    if is_library_source && !is_testkit && line.trim_start().starts_with("use cynode_testkit") {
        findings.faults.push(Fault::in_line(
            path,
            line_number,
            "uses the testkit in a unit test, so the crate is compiled twice",
            "move the test to tests/it",
        ));
    }
}

fn is_test_attribute(line: &str) -> bool {
    let Some(body) = line.strip_prefix("#[") else {
        return false;
    };
    let path = body.split(['(', ']']).next().unwrap_or_default();
    path == "test" || path.ends_with("::test")
}

fn function_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let line = line.strip_prefix("async ").unwrap_or(line);
    let rest = line.strip_prefix("fn ")?;
    rest.split(['(', '<']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        let mut findings = TidyFindings::default();
        check("crates/x/src/a.rs", text, &mut findings);
        findings.faults.iter().map(ToString::to_string).collect()
    }

    fn name_faults(path: &str) -> usize {
        let mut findings = TidyFindings::default();
        check_name(path, &mut findings);
        findings.faults.len()
    }

    #[test]
    fn a_short_file_with_a_head_is_fine() {
        assert_eq!(faults("//! Leases.\n\nfn take() {}\n"), Vec::<String>::new());
    }

    #[test]
    fn a_file_without_a_head_is_refused() {
        assert!(faults("fn take() {}\n")[0].contains("does not say what it is"));
    }

    #[test]
    fn a_process_that_inherits_the_whole_environment_is_refused() {
        let start = "//! X\nlet child = Command::new(program)";

        let whole = faults(&format!("{start}.spawn();\n"));
        assert!(whole[0].contains("inherits the whole environment"), "{whole:?}");
        let listed = faults(&format!("{start}\n    .inherit_only(&allowed)\n    .spawn();\n"));
        assert_eq!(listed, Vec::<String>::new());
    }

    #[test]
    fn a_file_over_six_hundred_lines_is_refused_and_a_long_one_is_reported() {
        let mut findings = TidyFindings::default();
        check("long.rs", &format!("//! X\n{}", "x\n".repeat(450)), &mut findings);
        check("huge.rs", &format!("//! X\n{}", "x\n".repeat(650)), &mut findings);

        assert_eq!(findings.warnings.len(), 1);
        assert_eq!(findings.faults.len(), 1);
        assert!(findings.faults[0].what.contains("651 lines"));
    }

    #[test]
    fn tests_do_not_count_towards_the_code_of_a_file() {
        let text = format!(
            "//! X\n{}#[cfg(test)]\nmod tests {{\n{}}}\n",
            "x\n".repeat(300),
            "t\n".repeat(200)
        );

        assert_eq!(lines_without_tests(&text), 301);
    }

    #[test]
    fn silenced_lints_and_idle_tests_are_refused() {
        for attribute in [
            "allow(dead_code)",
            "ignore",
            "ignore = \"slow\"",
            "should_panic(expected = \"x\")",
            "cfg_attr(test, allow(dead_code))",
        ] {
            let text = format!("//! X\n    #[{attribute}]\n");

            assert_eq!(faults(&text).len(), 1, "{attribute}");
        }
        assert_eq!(faults("//! X\n#[ignored_by_serde]\n#[expect(dead_code)]\n").len(), 0);
    }

    #[test]
    fn debt_needs_a_tag_and_is_counted() {
        let text = format!("//! X\n// {DEBT}(security): check it\n// {DEBT}: later\n");
        let mut findings = TidyFindings::default();
        check("a.rs", &text, &mut findings);

        assert_eq!(findings.debts.get("security"), Some(&1));
        assert_eq!(findings.faults.len(), 1);
        assert!(findings.faults[0].at.ends_with(":3"));
    }

    #[test]
    fn tests_do_not_say_that_they_are_tests() {
        let text = "//! X\n#[tokio::test]\nasync fn test_leases() {}\nfn test_server() {}\n";

        let found = faults(text);

        assert_eq!(found.len(), 1);
        assert!(found[0].contains("a.rs:3: test test_leases"), "{found:?}");
    }

    #[test]
    fn names_that_say_nothing_are_refused() {
        for path in ["crates/x/src/mod.rs", "crates/core/src/a.rs", "a/utils.rs", "a/types.rs"] {
            assert_eq!(name_faults(path), 1, "{path}");
        }
        for path in ["crates/x/src/score.rs", "a/lease_types.rs", "core/readme.md"] {
            assert_eq!(name_faults(path), 0, "{path}");
        }
    }

    #[test]
    fn unit_tests_do_not_use_the_testkit() {
        assert_eq!(faults("//! X\n    use cynode_testkit::Harness;\n").len(), 1);
    }
}
