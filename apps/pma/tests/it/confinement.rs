//! What the confinement denies.

use std::fs;
use std::os::unix::net::UnixListener;

use crate::process::PmaDataDir;

#[test]
fn the_process_cannot_start_programs_write_files_or_open_the_database() {
    let dir = PmaDataDir::new();
    let database = dir.dir.path().join("cynode.db");
    fs::write(&database, "rows").unwrap();
    let _listens = UnixListener::bind(database.with_extension("sock")).unwrap();
    for role in ["project_manager", "project_analyst"] {
        let path = database.to_str().unwrap();
        let ended = dir
            .command(&["--role", role, "--require-confinement", "--probe", path])
            .output()
            .unwrap();
        let said = String::from_utf8(ended.stdout).unwrap();
        let words = String::from_utf8(ended.stderr).unwrap();
        assert!(ended.status.success(), "{words}");
        let tried: serde_json::Value = serde_json::from_str(&said).unwrap();
        for (what, said) in tried.as_object().unwrap() {
            // Threads and the socket pair for signal handling are permitted.
            let expected = match what.as_str() {
                "thread" | "pair" => "done",
                "unlisted_call" => "unsupported",
                _ => "permission denied",
            };
            assert_eq!(said, expected, "{role} {what}: {tried}");
        }
        assert_eq!(tried.as_object().unwrap().len(), 22, "{tried}");
    }

    assert_eq!(fs::read(&database).unwrap(), b"rows");
    assert!(!dir.dir.path().join("cynode.probe").exists());
}
