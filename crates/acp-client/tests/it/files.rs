//! Files that an agent accesses through the client.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::harness::{AgentScript, TestProgram};

fn params(path: &str) -> Value {
    json!({ "sessionId": "s", "path": path, "content": "stolen" })
}

/// Runs an agent that makes these requests; returns the responses.
async fn request(job_files: impl Fn(&TestProgram), requests: &[(&str, String)]) -> Vec<Value> {
    let mut script = AgentScript::with_session();
    for (number, (method, path)) in requests.iter().enumerate() {
        script = script.ask(&number.to_string(), method, &params(path));
    }
    let mut job = TestProgram::with_agent("", &json!({}));
    let root = job.workspace().to_str().unwrap().to_owned();
    let script = script.end_turn().replace("ROOT", &root);
    std::fs::write(job.folder.path().join("agent.sh"), script).unwrap();
    job.spec["constraints"]["max_steps"] = json!(1);
    job_files(&job);
    let result = job.run().await;
    assert_eq!(result.failure_message, None);
    assert!(!job.folder.path().join("escaped").exists());
    assert_eq!(std::fs::read_to_string(job.folder.path().join("secret")).unwrap(), "secret");
    job.received()[3..].to_vec()
}

#[tokio::test]
async fn no_path_leaves_the_workspace() {
    let paths = [
        "/etc/passwd",
        "ROOT/../secret",
        "../secret",
        "ROOT/link",
        "ROOT/folder/secret",
        "ROOT/folder/escaped",
        "ROOT/broken",
        "",
        "ROOT",
    ];
    let requests: Vec<(&str, String)> = ["fs/read_text_file", "fs/write_text_file"]
        .into_iter()
        .flat_map(|method| paths.map(|path| (method, path.to_owned())))
        .collect();

    let answers = request(
        |job| {
            std::fs::write(job.folder.path().join("secret"), "secret").unwrap();
            symlink(job.folder.path().join("secret"), job.workspace().join("link")).unwrap();
            symlink(job.folder.path(), job.workspace().join("folder")).unwrap();
            symlink(job.folder.path().join("escaped"), job.workspace().join("broken")).unwrap();
        },
        &requests,
    )
    .await;

    assert_eq!(answers.len(), requests.len());
    for ((method, path), answer) in requests.iter().zip(&answers) {
        assert_eq!(answer["error"]["code"], -32602, "{method} {path}: {answer}");
        assert!(!answer.to_string().contains("\"secret\""), "{answer}");
    }
}

#[tokio::test]
async fn files_are_written_with_their_directories_and_read_back() {
    let requests = [
        ("fs/write_text_file", "ROOT/new/deep/file.txt".to_owned()),
        ("fs/read_text_file", "ROOT/new/deep/file.txt".to_owned()),
        ("fs/read_text_file", "ROOT/missing".to_owned()),
        ("fs/read_text_file", "ROOT/binary".to_owned()),
        ("fs/read_text_file", "ROOT/large".to_owned()),
        ("terminal/create", "ROOT".to_owned()),
    ];

    let answers = request(
        |job| {
            std::fs::write(job.folder.path().join("secret"), "secret").unwrap();
            job.write("binary", "a\0b");
            job.write("large", &"x".repeat(5 << 20));
        },
        &requests,
    )
    .await;

    assert_eq!(answers[0]["result"], json!({}));
    assert_eq!(answers[1]["result"]["content"], "stolen");
    let error = |index: usize| answers[index]["error"].clone();
    assert_eq!(error(2)["code"], -32002);
    assert!(error(3)["message"].as_str().unwrap().contains("not a text file"));
    assert!(error(4)["message"].as_str().unwrap().contains("more than the limit"));
    // Terminals are not offered, and the turn goes on.
    assert_eq!(error(5)["code"], -32601);
}
