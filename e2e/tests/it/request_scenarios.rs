//! Whole requests, each twice: once undisturbed, with its events as a snapshot, and once while processes are killed at
//! random points. Both must deliver the same tree, in as many commits, and complete each unit equally often.
//!
//! The scripts of the models depend on what a prompt contains and on no order, so that an agent that begins again gets
//! the same answers.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use cynode_domain::question::Reply;
use cynode_domain::status::ShownTaskStatus;
use cynode_testkit::provider::{Answer, ScriptedProvider};
use cynode_wire::projects::CreateProject;
use cynode_wire::requests::{
    AnswerRequest, AttemptView, RequestUnitView, RequestView, SubmitRequest,
};
use nix::sys::signal::Signal;
use serde_json::json;

use crate::processes::send_signal;
use crate::repositories::git;
use crate::requests::{
    COMPONENTS, DARK_MODE, KIND, SCOPE, approved, decide, finish, rejected, run, script_decisions,
    submission, system_on, trace,
};
use crate::seed::TestSeed;
use crate::system::{PATIENCE, System, SystemDatabase};

/// The processes that are killed.
const ROLES: [&str; 4] = ["orchestrator", "runner", "node", "pma"];
/// Kills of one request.
const KILLS: usize = 6;
/// Longest time between two kills.
const PAUSE: Duration = Duration::from_millis(1600);

/// A request that is played twice.
struct Scenario {
    database: SystemDatabase,
    /// Scripts the models.
    script: fn(&ScriptedProvider),
    submission: fn(&Path) -> SubmitRequest,
    /// The replies to its questions, in order.
    replies: fn() -> Vec<Reply>,
    /// What becomes of it.
    end: ShownTaskStatus,
}

/// What a request left.
#[derive(Debug, PartialEq, Eq)]
struct ScenarioOutcome {
    /// The tree of the delivered branch.
    tree: Option<String>,
    commits: Option<String>,
    /// How many attempts completed at each unit that changes something.
    completed: BTreeMap<String, usize>,
    questions: usize,
}

impl Scenario {
    /// Plays the request twice; returns the events of the undisturbed one.
    async fn play(&self, name: &str) -> Vec<String> {
        let provider = ScriptedProvider::start();
        (self.script)(&provider);
        let (system, _home, remote) = system_on(self.database, &provider).await;

        let mut body = (self.submission)(&remote);
        body.name = Some("calm".to_owned());
        system.client.request_submit(&body).await.unwrap();
        let calm = self.wait_and_answer(&system, "calm").await;
        let events = trace(&system, &calm).await;
        let expected = outcome(&remote, &calm);

        // In a project of its own, which remembers no answer and has read no tree.
        let project = CreateProject {
            display_name: "Stormy".to_owned(),
            description: String::new(),
            ..<_>::default()
        };
        let project = system.client.project_create(&project).await.unwrap();
        body.project = Some(project.slug);
        body.name = Some("stormy".to_owned());
        system.client.request_submit(&body).await.unwrap();
        let mut seed = TestSeed::for_run(name);
        let kills = async {
            for _ in 0..KILLS {
                tokio::time::sleep(seed.below(PAUSE)).await;
                let role = ROLES[seed.pick(ROLES.len())];
                send_signal(system.wait_for_role(role).await, Signal::SIGKILL);
            }
        };
        let (stormy, ()) = tokio::join!(self.wait_and_answer(&system, "stormy"), kills);
        assert_eq!(outcome(&remote, &stormy), expected, "{stormy:#?}");
        events
    }

    /// Follows a request to its end and answers its questions. An unreachable orchestrator was killed.
    async fn wait_and_answer(&self, system: &System, name: &str) -> RequestView {
        let mut replies = (self.replies)().into_iter();
        let mut answered = 0;
        let (begun, mut last) = (Instant::now(), None);
        loop {
            assert!(begun.elapsed() < PATIENCE * 3, "{name} takes too long: {last:#?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
            let Ok(view) = system.client.request_get(name).await else { continue };
            last = Some(view.clone());
            if view.ended_at.is_some() {
                assert_eq!(view.status, self.end, "{view:#?}");
                assert_eq!(replies.next(), None, "a reply was not asked for: {view:#?}");
                return view;
            }
            if view.question.is_none() || view.answers.len() < answered {
                continue;
            }
            let reply = replies.next().unwrap_or_else(|| panic!("not expected: {view:#?}"));
            let body = AnswerRequest { reply, comment: None };
            while system.client.request_answer(name, &body).await.is_err() {
                assert!(begun.elapsed() < PATIENCE * 3, "{name} cannot be answered");
                tokio::time::sleep(Duration::from_millis(100)).await;
                // The answer may have arrived although its response was lost.
                let view = system.client.request_get(name).await;
                if view.is_ok_and(|view| view.answers.len() > answered) {
                    break;
                }
            }
            answered += 1;
        }
    }
}

fn outcome(remote: &Path, view: &RequestView) -> ScenarioOutcome {
    let delivered = view.delivery.as_ref().filter(|delivery| delivery.is_pushed);
    let show = |form: &dyn Fn(&str) -> Vec<String>| {
        delivered.map(|delivery| {
            let args = form(delivery.branch.as_str());
            git(remote, &args.iter().map(String::as_str).collect::<Vec<_>>())
        })
    };
    let completed = |unit: &RequestUnitView| {
        let is_it = |attempt: &&AttemptView| attempt.status == ShownTaskStatus::Completed;
        unit.attempts.iter().filter(is_it).count()
    };
    ScenarioOutcome {
        tree: show(&|branch| vec!["rev-parse".to_owned(), format!("{branch}^{{tree}}")]),
        commits: show(&|branch| {
            vec!["rev-list".to_owned(), "--count".to_owned(), format!("main..{branch}")]
        }),
        completed: view
            .units
            .iter()
            .filter(|unit| ["spec", "implementation"].contains(&unit.kind.as_str()))
            .map(|unit| (unit.id.clone(), completed(unit)))
            .collect(),
        questions: view.answers.len(),
    }
}

/// The events of each unit, and those of the request. Units that run in parallel have an order only within each, and
/// which of review and test is approved first is left open: both units are completed when the later one ends.
fn group_by_unit(events: &[String]) -> BTreeMap<&str, Vec<&str>> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let is_kept =
        |event: &&String| !(event.starts_with("work_unit.changed") && event.ends_with(" approved"));
    for event in events.iter().filter(is_kept) {
        let unit = event.split(' ').find(|word| word.contains(':'));
        groups.entry(unit.unwrap_or("request")).or_default().push(event);
    }
    let is_completed =
        |event: &str| event.starts_with("work_unit.changed") && event.ends_with(" completed");
    for group in groups.values_mut() {
        for index in 1..group.len() {
            if is_completed(group[index - 1]) && group[index].starts_with("request.attempt_ended") {
                group.swap(index - 1, index);
            }
        }
    }
    groups
}

/// An agent that carries out one command whenever its prompt contains the texts. `step` marks that it did.
fn script_agent(provider: &ScriptedProvider, texts: &[&str], step: &str, command: &str) {
    let done: Vec<&str> = texts.iter().copied().chain([step]).collect();
    provider.when_each(&done, finish("done"));
    provider.when_each(texts, run(&format!("sleep 0.4; : {step}; {command}")));
}

/// The command of a reviewer that approves once a file contains a text.
fn review_command(file: &str, text: &str) -> String {
    let write = |report: &serde_json::Value| {
        format!("cat > \"$CYNODE_ARTIFACTS_DIR/review.json\" <<'EOF'\n{report}\nEOF\n")
    };
    let (yes, no) = (write(&approved()), write(&rejected()));
    format!("if grep -q '{text}' {file}; then\n{yes}else\n{no}fi")
}

fn no_replies() -> Vec<Reply> {
    vec![]
}

fn dark_mode(remote: &Path) -> SubmitRequest {
    SubmitRequest { force: true, ..submission(DARK_MODE, remote) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dark_mode_toggle_goes_from_a_sentence_to_a_branch() {
    let scenario = Scenario {
        database: SystemDatabase::Embedded,
        script: |provider| {
            script_decisions(provider);
            let add = "echo '<input type=checkbox id=dark>' >> settings.html";
            script_agent(provider, &["# Implement main"], "step-add", add);
            let review = review_command("settings.html", "id=dark");
            script_agent(provider, &["# Review main"], "step-review", &review);
        },
        submission: dark_mode,
        replies: no_replies,
        end: ShownTaskStatus::Completed,
    };

    let events = scenario.play("dark mode").await;
    insta::assert_snapshot!(events.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_medium_feature_is_specified_rejected_once_and_tested() {
    let scenario = Scenario {
        database: SystemDatabase::Postgres,
        script: |provider| {
            let kind = json!({ "kind": "feature_request", "reason": "a specific addition" });
            provider.when(KIND, decide(kind));
            let scope = json!({
                "scope": "medium", "estimated_files": 5, "components_affected": ["settings"], "reasoning": "several pages",
            });
            provider.when(SCOPE, decide(scope));
            let specify = "mkdir -p docs/specs/components && echo '# Dark mode' > docs/specs/components/main.md";
            script_agent(provider, &["# Specify main"], "step-specify", specify);
            let store = "grep -q localStorage settings.html || echo '<script>localStorage</script>' >> settings.html";
            let issue = "the choice is lost on reload";
            script_agent(provider, &["# Implement main", issue], "step-store", store);
            // The test of the project fails at first, which the agent is told when it wants to end.
            let implement = "# Implement main";
            provider.when_each(&[implement, "step-repair"], finish("kept the heading"));
            let page =
                "printf '<h1>Settings</h1>\\n<input type=checkbox id=dark>\\n' > settings.html";
            let repair = run(&format!(": step-repair; {page}"));
            provider.when_each(&[implement, "step-break", "step-finished"], repair);
            provider.when_each(&[implement, "step-break"], finish("step-finished"));
            let damage =
                "sleep 0.4; : step-break; echo '<input type=checkbox id=dark>' > settings.html";
            provider.when(implement, run(damage));
            // The test ends before the review.
            let review = format!("sleep 1.5; {}", review_command("settings.html", "localStorage"));
            script_agent(provider, &["# Review main"], "step-review", &review);
        },
        submission: dark_mode,
        replies: no_replies,
        end: ShownTaskStatus::Completed,
    };

    let events = scenario.play("medium feature").await;
    insta::assert_debug_snapshot!(group_by_unit(&events));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_project_is_built_from_a_brief_in_three_components() {
    let scenario = Scenario {
        database: SystemDatabase::Embedded,
        script: |provider| {
            provider.when(KIND, decide(json!({ "kind": "new_project", "reason": "a brief" })));
            let component = |name: &str, dependencies: &[&str]| {
                json!({
                    "name": name, "description": format!("The {name}"), "priority": 0,
                    "dependencies": dependencies, "skipDesign": true, "skipReview": false,
                })
            };
            let components =
                [component("store", &[]), component("api", &["store"]), component("pages", &[])];
            provider.when(COMPONENTS, decide(json!({ "components": components })));
            for name in ["store", "api", "pages"] {
                let path = format!("docs/specs/components/{name}.md");
                let specify = format!("mkdir -p docs/specs/components; echo spec > {path}");
                script_agent(
                    provider,
                    &[&format!("# Specify {name}\\n")],
                    "step-specify",
                    &specify,
                );
                let work = format!("test -s {path} && echo {name} > {name}.txt");
                script_agent(provider, &[&format!("# Implement {name}\\n")], "step-work", &work);
                let review = review_command(&format!("{name}.txt"), name);
                script_agent(provider, &[&format!("# Review {name}\\n")], "step-review", &review);
            }
        },
        submission: |remote| {
            let brief = "# Shop\n\nA shop with a store, an api and pages.";
            SubmitRequest { is_brief: true, force: true, ..submission(brief, remote) }
        },
        replies: no_replies,
        end: ShownTaskStatus::Completed,
    };

    let events = scenario.play("new project").await;
    insta::assert_debug_snapshot!(group_by_unit(&events));
    let begin = |unit: &str| {
        let line = format!("request.attempt_started {unit}");
        events.iter().position(|event| *event == line).unwrap()
    };
    assert!(begin("spec:api") > begin("review:store"), "{events:#?}");
    assert!(begin("spec:pages") < begin("review:store"), "{events:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_keeps_failing_is_escalated_and_a_hint_helps_it() {
    let scenario = Scenario {
        database: SystemDatabase::Embedded,
        script: |provider| {
            script_decisions(provider);
            let hint = "Keep the heading line";
            let add = "echo '<input type=checkbox id=dark>' >> settings.html";
            script_agent(provider, &["# Implement main", hint], "step-add", add);
            // Three answers in a row without an action end the job of an agent.
            provider.when("# Implement main", Answer::text("I do not know what to do."));
            let review = review_command("settings.html", "id=dark");
            script_agent(provider, &["# Review main"], "step-review", &review);
        },
        submission: dark_mode,
        replies: || vec![Reply::Text { text: "Keep the heading line".to_owned() }],
        end: ShownTaskStatus::Completed,
    };

    let events = scenario.play("failing agent").await;
    insta::assert_snapshot!(events.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manipulated_test_is_left_to_a_person_and_not_delivered() {
    let scenario = Scenario {
        database: SystemDatabase::Embedded,
        script: |provider| {
            script_decisions(provider);
            let cheat = "rm -r tests; echo '<input id=dark>' >> settings.html";
            script_agent(provider, &["# Implement main"], "step-cheat", cheat);
        },
        submission: |remote| {
            let mut body = dark_mode(remote);
            // The check of the project cannot catch it.
            body.settings.require_tests_pass = false;
            body
        },
        replies: || vec![Reply::No {}],
        end: ShownTaskStatus::Failed,
    };

    let events = scenario.play("manipulated test").await;
    insta::assert_snapshot!(events.join("\n"));
}
