//! Provider credentials with real processes: only egress uses them.

use std::fs;
use std::path::{Path, PathBuf};

use cynode_testkit::provider::ScriptedProvider;
use cynode_wire::credentials::SetCredential;
use serde_json::json;

use crate::processes::{environment, find_mentioning};
use crate::project_manager::{PLANNING, done, plan_answer, prompt_task, system};

const SECRET: &str = "plugh-4711-open-sesame";
const REQUEST: &str = "Greet the world from a village";

/// The regular files below a directory that contain a text.
pub(crate) fn files_with(directory: &Path, text: &str) -> Vec<PathBuf> {
    let contains = |bytes: &[u8]| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    let mut found = vec![];
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            found.extend(files_with(&path, text));
        } else if kind.is_file() && contains(&fs::read(&path).unwrap_or_default()) {
            found.push(path);
        }
    }
    found
}

#[tokio::test]
async fn a_provider_receives_its_credential_and_no_agent_process_or_file_has_it() {
    let provider = ScriptedProvider::start();
    provider.when(PLANNING, plan_answer(&["echo hello"]));
    let system = system(&provider).await;
    let credential = json!({ "provider": "scripted", "secret": SECRET });
    let credential: SetCredential = serde_json::from_value(credential).unwrap();
    system.client.credential_set(&credential).await.unwrap();
    let manager = system.wait_for_role("pma").await;

    let view = done(&system, prompt_task(REQUEST)).await;

    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    assert!(
        provider.has_received(PLANNING) && provider.has_received(SECRET),
        "the provider did not receive it"
    );
    assert_eq!(system.wait_for_role("pma").await, manager, "another process planned the task");
    assert!(environment(manager).is_some_and(|variables| !variables.contains(SECRET)));
    assert_eq!(find_mentioning(Path::new(SECRET)), Vec::<i32>::new());
    assert!(system.data_dir().join("logs/pma.log").is_file());
    // The search itself works.
    assert!(!files_with(system.data_dir(), REQUEST).is_empty());
    assert_eq!(files_with(system.data_dir(), SECRET), Vec::<PathBuf>::new());
}
