//! Each tool on real files and with a real shell.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::action::Action;

struct ToolBench {
    folder: TempDir,
    toolbox: Toolbox,
}

impl ToolBench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        let workspace = Workspace::open(&folder.path().join("work")).unwrap();
        Self { folder, toolbox: Toolbox::new(workspace, 4_000, None) }
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.folder.path().join("work").join(name), content).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join("work").join(name)).unwrap()
    }

    async fn call(&self, name: &str, arguments: Value) -> Observation {
        let Value::Object(arguments) = arguments else { panic!("an object") };
        let Action::Tool(action) = Action::parse(name, arguments).unwrap() else {
            panic!("a tool")
        };
        self.toolbox.execute(&action).await.unwrap()
    }
}

fn data(observation: &Observation) -> &str {
    observation.data.as_deref().unwrap_or_default()
}

#[tokio::test]
async fn a_file_is_shown_in_windows_with_line_numbers() {
    let bench = ToolBench::new();
    let lines: Vec<String> = (1..=250).map(|number| format!("line {number}")).collect();
    bench.write("a.txt", lines.join("\n"));

    let first = bench.call("read_file", json!({ "path": "a.txt" })).await;
    let middle =
        bench.call("read_file", json!({ "path": "a.txt", "start_line": 120, "end_line": 121 }));
    let middle = middle.await;
    let beyond = bench.call("read_file", json!({ "path": "a.txt", "start_line": 251 })).await;

    assert_eq!(first.headline, "a.txt has 250 lines; lines 1-100");
    assert!(data(&first).starts_with("1| line 1\n") && data(&first).ends_with("100| line 100\n"));
    assert_eq!(data(&middle), "120| line 120\n121| line 121\n");
    assert_eq!(beyond.headline, "a.txt has 250 lines; line 251 does not exist");
    assert!(!beyond.is_success());
}

#[tokio::test]
async fn a_file_of_100_megabytes_is_read_in_bounded_output() {
    let bench = ToolBench::new();
    let large = File::create(bench.folder.path().join("work/large")).unwrap();
    // Lines at the start, then one line without an end.
    std::io::Write::write_all(&mut &large, "x\n".repeat(8_192).as_bytes()).unwrap();
    large.set_len(100 << 20).unwrap();

    let shown = bench.call("read_file", json!({ "path": "large" })).await;
    let edited =
        bench.call("edit_file", json!({ "path": "large", "edits": [{ "old": "x", "new": "y" }] }));
    let edited = edited.await;
    let found = bench.call("search", json!({ "pattern": "x" })).await;

    assert!(shown.headline.starts_with("large has 104857600 bytes, at least 8193 lines"));
    assert!(data(&shown).ends_with("100| x\n"));
    assert!(edited.headline.contains("more than the limit"), "{edited:?}");
    assert!(found.headline.contains("1 binary, large or unreadable"), "{found:?}");
}

#[tokio::test]
async fn long_lines_are_cut_and_full_windows_say_so() {
    let bench = ToolBench::new();
    bench.write("long", format!("{}\nshort\n", "ä".repeat(10_000)));
    bench.write("wide", format!("{}\n", "y".repeat(400)).repeat(100));

    let long = bench.call("read_file", json!({ "path": "long" })).await;
    let wide = bench.call("read_file", json!({ "path": "wide" })).await;

    assert!(data(&long).contains("bytes omitted]\n2| short"), "{long:?}");
    assert!(!long.headline.contains("UTF-8"), "{long:?}");
    assert!(wide.headline.contains("the window is full"), "{wide:?}");
    assert!(data(&wide).len() < OBSERVATION_BYTES);
}

#[tokio::test]
async fn binary_special_and_missing_files_are_explained() {
    let bench = ToolBench::new();
    bench.write("binary", b"\x7fELF\0\0");
    bench.write("latin1", b"caf\xe9\n");
    bench.write("empty", "");
    assert!(bench.call("run_command", json!({ "command": "mkfifo pipe" })).await.is_success());

    let mut seen = Vec::new();
    for path in ["binary", "missing", "pipe", ".", "empty"] {
        seen.push(bench.call("read_file", json!({ "path": path })).await.headline);
    }
    let latin1 = bench.call("read_file", json!({ "path": "latin1" })).await;
    let edit = json!({ "path": "latin1", "edits": [{ "old": "caf", "new": "tea" }] });
    let edited = bench.call("edit_file", edit).await;

    assert_eq!(
        seen,
        [
            "binary is binary (6 bytes); inspect it with run_command",
            "missing does not exist",
            "pipe is not a regular file",
            ". is a directory; use list_files",
            "empty is empty",
        ]
    );
    assert!(latin1.headline.contains("not UTF-8") && data(&latin1).contains("caf\u{fffd}"));
    assert_eq!(edited.headline, "latin1 is not UTF-8; change it with run_command");
}

#[tokio::test]
async fn no_tool_leaves_the_workspace() {
    let bench = ToolBench::new();
    let secret = bench.folder.path().join("secret");
    fs::write(&secret, "top secret\n").unwrap();
    symlink(&secret, bench.folder.path().join("work/link")).unwrap();
    symlink(bench.folder.path(), bench.folder.path().join("work/up")).unwrap();

    let paths = ["../secret", secret.to_str().unwrap(), "link", "up/secret"];
    for path in paths {
        let edits = json!([{ "old": "top", "new": "no" }]);
        for (name, arguments) in [
            ("read_file", json!({ "path": path })),
            ("edit_file", json!({ "path": path, "edits": edits })),
            ("write_file", json!({ "path": path, "content": "x" })),
            ("search", json!({ "pattern": "secret", "path": path })),
            ("list_files", json!({ "path": path })),
        ] {
            let observation = bench.call(name, arguments).await;
            assert!(!observation.is_success(), "{name} {path}: {observation:?}");
            assert!(!data(&observation).contains("top secret"));
        }
    }
    let found = bench.call("search", json!({ "pattern": "top secret" })).await;
    assert_eq!(found.headline, "no line matches");
    assert_eq!(fs::read_to_string(secret).unwrap(), "top secret\n");
}

#[tokio::test]
async fn a_search_shows_paths_and_lines_and_is_bounded() {
    let bench = ToolBench::new();
    for directory in ["src", "target", ".git", "node_modules"] {
        fs::create_dir(bench.folder.path().join("work").join(directory)).unwrap();
        bench.write(&format!("{directory}/a.rs"), "fn one() {}\nlet x;\nfn two() {}\n");
    }
    bench.write("many", "needle\n".repeat(1_000));

    let found = bench.call("search", json!({ "pattern": "fn \\w+" })).await;
    let many = bench.call("search", json!({ "pattern": "needle", "path": "many" })).await;
    let invalid = bench.call("search", json!({ "pattern": "(nowhere" })).await;
    let literal = bench.call("search", json!({ "pattern": "fn one(" })).await;
    let huge = bench.call("search", json!({ "pattern": "(a{1000}){1000}" })).await;

    assert_eq!(data(&found), "src/a.rs:1: fn one() {}\nsrc/a.rs:3: fn two() {}");
    assert!(many.headline.starts_with("100 lines match; there may be more"), "{many:?}");
    assert!(invalid.headline.starts_with("invalid pattern"), "{invalid:?}");
    assert_eq!(literal.headline, "1 lines match as plain text");
    assert_eq!(data(&literal), "src/a.rs:1: fn one() {}");
    assert!(huge.headline.starts_with("invalid pattern"), "{huge:?}");
}

#[tokio::test]
async fn a_listing_is_bounded_and_shows_upper_levels_first() {
    let bench = ToolBench::new();
    fs::create_dir_all(bench.folder.path().join("work/deep/er")).unwrap();
    fs::create_dir(bench.folder.path().join("work/target")).unwrap();
    bench.write("z.txt", "12345");
    for number in 0..500 {
        bench.write(&format!("deep/er/{number}"), "");
    }

    let listed = bench.call("list_files", json!({})).await;
    let empty = bench.call("list_files", json!({ "path": "target" })).await;
    let file = bench.call("list_files", json!({ "path": "z.txt" })).await;

    assert!(listed.headline.contains("200 entries; there are more"), "{listed:?}");
    for line in ["deep/\n", "target/ (not listed)\n", "z.txt (5 bytes)"] {
        assert!(data(&listed).contains(line), "{line} in {listed:?}");
    }
    assert_eq!(empty.headline, "target is empty");
    assert_eq!(file.headline, "z.txt is a file of 5 bytes");
}

#[tokio::test]
async fn several_edits_are_applied_and_the_match_is_described() {
    let bench = ToolBench::new();
    bench.write("a.py", "def f():\n    return 1\n\ndef g():\n    return 2\n");
    let edits = json!([
        { "old": "return 1", "new": "return 10" },
        { "old": "def g():\n  return 2", "new": "def g():\n  return 20" },
    ]);

    let edited = bench.call("edit_file", json!({ "path": "a.py", "edits": edits })).await;

    assert_eq!(
        edited.headline,
        "changed a.py: edit 1 matched exactly at line 2; edit 2 matched except for indentation at line 4"
    );
    assert!(data(&edited).contains("5|   return 20"), "{edited:?}");
    assert!(bench.read("a.py").contains("    return 10\n"));
}

#[tokio::test]
async fn a_failed_edit_changes_nothing() {
    let bench = ToolBench::new();
    let content = "one\ntwo\none\nthree = compute(a, b)\n";
    bench.write("a", content);
    let cases = [
        (json!([{ "old": "two", "new": "2" }, { "old": "one", "new": "1" }]), "at lines 1, 3"),
        (
            json!([{ "old": "two", "new": "2" }, { "old": "three = compute(a, c)", "new": "3" }]),
            "was not found",
        ),
        (json!([{ "old": "two", "new": "2" }, { "old": "", "new": "3" }]), "old is empty"),
        (json!([{ "old": "two", "new": "two" }]), "do not change"),
        (json!([{ "old": "two", "new": "2" }, { "old": "two", "new": "3" }]), "was not found"),
    ];
    for (edits, message) in cases {
        let failed = bench.call("edit_file", json!({ "path": "a", "edits": edits })).await;
        assert!(failed.headline.contains(message), "{message}: {failed:?}");
        assert!(!failed.is_success());
        if edits[1]["old"] == "three = compute(a, c)" {
            assert!(data(&failed).contains("4| three = compute(a, b)"), "{failed:?}");
        }
        assert_eq!(bench.read("a"), content);
    }
}

#[tokio::test]
async fn line_endings_and_the_mode_of_a_file_are_kept() {
    let bench = ToolBench::new();
    bench.write("run.sh", "#!/bin/sh\r\necho a\r\necho b\r\n");
    let path = bench.folder.path().join("work/run.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let edits = json!([{ "old": "echo a\necho b", "new": "echo c\necho d" }]);

    let edited = bench.call("edit_file", json!({ "path": "run.sh", "edits": edits })).await;

    assert!(edited.headline.contains("line endings"), "{edited:?}");
    assert_eq!(bench.read("run.sh"), "#!/bin/sh\r\necho c\r\necho d\r\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
}

#[tokio::test]
async fn a_file_is_written_with_its_directories() {
    let bench = ToolBench::new();
    let new = json!({ "path": "a/b/c.txt", "content": "hello\n" });

    let written = bench.call("write_file", new.clone()).await;
    let again = bench.call("write_file", new).await;
    let directory = bench.call("write_file", json!({ "path": "a/b", "content": "x" })).await;
    let below_file = bench.call("write_file", json!({ "path": "a/b/c.txt/d", "content": "x" }));

    assert_eq!(written.headline, "wrote a/b/c.txt: 1 lines, 6 bytes");
    assert!(again.headline.contains("nothing was changed"));
    assert!(!directory.is_success() && !below_file.await.is_success());
    assert_eq!(bench.read("a/b/c.txt"), "hello\n");
}

#[tokio::test]
async fn a_command_has_an_exit_code_and_both_streams_in_order() {
    let bench = ToolBench::new();

    let ran = bench.call("run_command", json!({ "command": "echo a; echo b >&2; echo c; exit 3" }));
    let ran = ran.await;
    let killed = bench.call("run_command", json!({ "command": "kill -9 $$" })).await;
    let quiet = bench.call("run_command", json!({ "command": "cat" })).await;

    assert_eq!((data(&ran), ran.exit_code, ran.is_success()), ("a\nb\nc\n", Some(3), false));
    assert_eq!(killed.exit_code, Some(137));
    assert_eq!(quiet.headline, "exit code 0, no output");
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_killed_with_its_children() {
    let bench = ToolBench::new();
    let command = "echo begun; sleep 1000 & echo $! > pid; sleep 1000";
    let start = Instant::now();

    let ran = bench.call("run_command", json!({ "command": command, "timeout_s": 1 })).await;

    assert!(start.elapsed().as_secs() < 30);
    assert_eq!(ran.headline, "the command was killed after 1 s");
    assert_eq!(data(&ran), "begun\n");
    assert!(is_gone(bench.read("pid").trim()).await);
}

#[tokio::test]
async fn a_command_leaves_no_process_behind_and_is_not_waited_for() {
    let bench = ToolBench::new();
    let start = Instant::now();

    let ran =
        bench.call("run_command", json!({ "command": "sleep 1000 & echo $! > pid; echo done" }));
    let ran = ran.await;

    assert!(start.elapsed().as_secs() < 30);
    assert_eq!((data(&ran), ran.exit_code), ("done\n", Some(0)));
    assert!(is_gone(bench.read("pid").trim()).await);
}

#[tokio::test]
async fn endless_output_is_bounded_at_both_ends() {
    let bench = ToolBench::new();
    let command = "echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last";

    let ran = bench.call("run_command", json!({ "command": command })).await;

    assert!(data(&ran).starts_with("first\n") && data(&ran).ends_with("\nlast\n"));
    assert!(data(&ran).contains("bytes omitted") && data(&ran).len() < 4_100);
}

/// Waits until a killed process is gone or a zombie of the test's init.
async fn is_gone(pid: &str) -> bool {
    let status = format!("/proc/{pid}/stat");
    for _ in 0..1_000 {
        match fs::read_to_string(&status) {
            Err(_) => return true,
            Ok(stat) if stat.contains(") Z ") => return true,
            Ok(_) => tokio::task::yield_now().await,
        }
    }
    false
}
