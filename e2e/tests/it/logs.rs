//! What the processes of a system log: named events, and nothing about people.

use std::collections::{BTreeMap, BTreeSet};

use cynode_client::Client;
use cynode_domain::ids::TaskId;
use cynode_domain::question::Reply;
use cynode_testkit::provider::{Answer, ScriptedProvider};
use cynode_wire::runs::AnswerRun;
use cynode_wire::tasks::CreateTask;
use serde_json::{Value, json};

use crate::console::create_user;
use crate::processes::eventually;
use crate::programs::{ProgramOutput, call};
use crate::project_manager::{JUDGING, PLANNING, judgement_answer, plan_answer, system};
use crate::secrets::read_logs_below;
use crate::system::{PATIENCE, System};
use crate::work::{create_task_once, wait_until_closed};

const HANDLE: &str = "zaphod-beeblebrox";
/// What people and models write, by where it is written.
const PROMPT: &str = "Write to marvin@example.org about the purple elephant";
const CRITERION: &str = "the greeting pleases Trillian";
const PRINTED: &str = "printed-by-ford-prefect";
const CHAT: &str = "Tell arthur.dent@example.com about the pink giraffe";
const ANSWER: &str = "Slartibartfast will be glad to know";
/// A plan that a person declines, why, and a turn that no model answers.
const DECLINED: &str = "echo heart-of-gold";
const COMMENT: &str = "prostetnic vogon jeltz forbids it";
const UNANSWERED: &str = "What does agrajag think of it?";
/// Parts of them that must be in no log.
const PRIVATE: [&str; 13] = [
    "heart-of-gold",
    "prostetnic",
    "agrajag",
    HANDLE,
    "marvin",
    "example.org",
    "purple elephant",
    "Trillian",
    "ford-prefect",
    "arthur.dent",
    "pink giraffe",
    "Slartibartfast",
    "deep-thought.sh",
];

/// The log lines of each service.
fn read_lines(system: &System) -> BTreeMap<String, Vec<Value>> {
    let mut lines: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in read_logs_below(system.data_dir()).lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        let service = line["service"].as_str().unwrap_or_default().to_owned();
        lines.entry(service).or_default().push(line);
    }
    lines
}

/// The events of a service, by their stable names.
fn events(lines: &BTreeMap<String, Vec<Value>>, service: &str) -> BTreeSet<String> {
    let of_service = lines.iter().filter(|(name, _)| name.contains(service));
    let kinds = of_service.flat_map(|(_, lines)| lines.iter());
    let kinds = kinds.filter_map(|line| line["fields"]["trace.kind"].as_str());
    kinds.map(str::to_owned).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Declines the plan of a task.
async fn decline(client: &Client, task: TaskId) {
    let begun = std::time::Instant::now();
    let task = task.to_string();
    while client.run_get(&task).await.unwrap().question.is_none() {
        assert!(begun.elapsed() < PATIENCE, "nobody is asked");
        tokio::task::yield_now().await;
    }
    let answer = AnswerRun { reply: Reply::No {}, comment: Some(COMMENT.to_owned()) };
    client.run_answer(&task, &answer).await.unwrap();
}

#[tokio::test]
async fn every_process_logs_its_events_and_nothing_about_people_or_what_they_wrote() {
    let provider = ScriptedProvider::start();
    let print = format!("echo {PRINTED} > deep-thought.sh; cat deep-thought.sh");
    provider.when(PLANNING, plan_answer(&[&print]));
    provider.when(JUDGING, judgement_answer("pass"));
    provider.when("pink giraffe", Answer::text(ANSWER));
    let system = system(&provider).await;
    let (client, token) = create_user(&system, HANDLE).await;
    let prompt = json!({
        "input_mode": "prompt", "prompt": PROMPT,
        "acceptance_criteria": [{ "kind": "text", "description": CRITERION }],
    });
    let prompt: CreateTask = serde_json::from_value(prompt).unwrap();
    let broken = format!("echo {PRINTED}; cat deep-thought.sh; exit 3");
    let broken = json!({ "input_mode": "commands", "commands": [broken], "prompt": PROMPT });
    let broken: CreateTask = serde_json::from_value(broken).unwrap();

    let planned = create_task_once(&client, prompt).await;
    let planned = wait_until_closed(&client, planned, PATIENCE).await;
    let failed = create_task_once(&client, broken).await;
    let failed = wait_until_closed(&client, failed, PATIENCE).await;
    let declined =
        json!({ "input_mode": "commands", "commands": [DECLINED], "approve_plan": true });
    let declined = serde_json::from_value(declined).unwrap();
    let declined = create_task_once(&client, declined).await;
    decline(&client, declined).await;
    let declined = wait_until_closed(&client, declined, PATIENCE).await;
    let chat = |text: &str| {
        let mut chat = call("cynork", system.home());
        chat.env("CYNORK_TOKEN", &token).env("CYNORK_GATEWAY_URL", &system.announced.url);
        ProgramOutput::from(chat.args(["chat", "--new", "-m", text]).output().unwrap())
    };
    let (said, unanswered) = (chat(CHAT), chat(UNANSWERED));

    assert_eq!(planned.status.as_str(), "completed", "{planned:#?}");
    assert_eq!(failed.status.as_str(), "failed", "{failed:#?}");
    assert_eq!(declined.status.as_str(), "failed", "{declined:#?}");
    assert!(said.stdout.contains(ANSWER), "{said:?}");
    assert!(unanswered.stdout.contains("I answer by rule"), "{unanswered:?}");
    let execution = ["backend_connected", "execution_started", "execution_stopped"];
    let manager = [
        "execution_started",
        "execution_stopped",
        "plan_started",
        "plan_finished",
        "backend_connected",
    ];
    let wanted = [
        ("orchestrator", set(&["backend_connected"])),
        ("runner", &set(&execution) | &set(&["plan_started", "plan_finished", "error"])),
        ("node", set(&execution)),
        (
            "pma",
            &set(&manager) | &set(&["tools_selected", "step_started", "step_finished", "error"]),
        ),
    ];
    let lines = eventually("the events of every process", PATIENCE, || {
        let lines = read_lines(&system);
        let is_complete =
            wanted.iter().all(|(service, kinds)| kinds.is_subset(&events(&lines, service)));
        is_complete.then_some(lines)
    })
    .await;
    // The events of runner and node have the trace of the run.
    let trace = client.run_get(&planned.task_name).await.unwrap().run.trace_id.to_string();
    for service in ["runner", "node"] {
        let of_service = lines.iter().filter(|(name, _)| name.contains(service));
        let mut of_trace = of_service.flat_map(|(_, lines)| lines).filter(|line| {
            line["trace_id"] == trace && line["fields"]["trace.kind"] == "execution_stopped"
        });
        assert!(of_trace.next().is_some(), "{service} has no event of the trace");
    }
    let text = read_logs_below(system.data_dir());
    for private in PRIVATE {
        let line = text.lines().find(|line| line.contains(private));
        assert_eq!(line, None, "{private} is in a log");
    }
}
