//! Tests of reaching the project manager's processes.

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use futures_util::StreamExt as _;
use serde_json::json;

use super::*;

/// Deadline of handoffs; never reached.
const WITHIN: Duration = Duration::from_mins(1);

/// A process that serves `routes`.
async fn serve_process(tasks: &BackgroundTasks, routes: Router) -> PmaAddress {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tasks.spawn("process", async move { axum::serve(listener, routes).await.unwrap() });
    PmaAddress::Tcp(address)
}

fn named_routes(name: &'static str) -> Router {
    Router::new().route("/v1/handoff/classify", post(move || async move { format!("\"{name}\"") }))
}

fn instances_at(addresses: Vec<PmaAddress>) -> PmaInstances {
    PmaInstances::new(addresses, SecretString::from("s3cret"))
}

async fn send_decide(instances: &PmaInstances) -> Result<Value, HandoffError> {
    instances.send_handoff(HandoffKind::Classify, json!({}), WITHIN).await
}

#[test]
fn the_address_of_a_process_is_a_socket_or_a_port() {
    assert_eq!(PmaAddress::parse("unix:/run/p"), Some(PmaAddress::Unix(PathBuf::from("/run/p"))));
    assert_eq!(PmaAddress::parse("127.0.0.1:7"), Some(PmaAddress::Tcp("127.0.0.1:7".to_owned())));
    for odd in ["unix:", "unix:run/p", "127.0.0.1", ":7", "h:seven"] {
        assert_eq!(PmaAddress::parse(odd), None, "{odd}");
    }
}

#[tokio::test]
async fn processes_take_turns_and_one_that_is_away_is_passed_over() {
    let tasks = BackgroundTasks::new();
    let (a, b) = (
        serve_process(&tasks, named_routes("a")).await,
        serve_process(&tasks, named_routes("b")).await,
    );
    let gone = PmaAddress::Unix(PathBuf::from("/nonexistent/pma.sock"));
    let instances = instances_at(vec![a, gone, b]);

    let mut answers = vec![];
    for _ in 0..6 {
        answers.push(send_decide(&instances).await.unwrap());
    }

    let count = |name: &str| answers.iter().filter(|answer| *answer == name).count();
    assert_eq!(count("a") + count("b"), 6);
    assert_eq!((count("a"), count("b")), (3, 3), "{answers:?}");
}

#[tokio::test]
async fn handoffs_that_arrive_at_once_are_spread_evenly() {
    let tasks = BackgroundTasks::new();
    let mut addresses = vec![];
    for name in ["a", "b", "c"] {
        addresses.push(serve_process(&tasks, named_routes(name)).await);
    }
    let instances = instances_at(addresses);

    let sent = (0..30).map(|_| send_decide(&instances));
    let answers: Vec<Value> =
        futures_util::future::join_all(sent).await.into_iter().map(Result::unwrap).collect();

    let count = |name: &str| answers.iter().filter(|answer| *answer == name).count();
    assert_eq!([count("a"), count("b"), count("c")], [10, 10, 10]);
}

#[tokio::test]
async fn without_a_process_the_project_manager_is_away() {
    let nobody = instances_at(vec![PmaAddress::Unix(PathBuf::from("/nonexistent/pma.sock"))]);

    assert!(matches!(send_decide(&nobody).await, Err(HandoffError::Unreachable(_))));
    assert!(!instances_at(vec![]).is_configured());
}

#[tokio::test]
async fn the_secret_and_the_deadline_go_with_every_handoff() {
    let tasks = BackgroundTasks::new();
    let echo = post(|headers: HeaderMap| async move {
        let shown = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
        json!([shown("authorization"), shown("x-cynode-deadline-ms")]).to_string()
    });
    let address = serve_process(&tasks, Router::new().route("/v1/handoff/classify", echo)).await;

    let answer = send_decide(&instances_at(vec![address])).await.unwrap();

    assert_eq!(answer, json!(["Bearer s3cret", "60000"]));
}

#[tokio::test]
async fn a_process_without_room_says_when_to_ask_again() {
    let tasks = BackgroundTasks::new();
    let full = post(|| async { (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "7")]) });
    let address = serve_process(&tasks, Router::new().route("/v1/handoff/classify", full)).await;

    let refused = send_decide(&instances_at(vec![address])).await;

    let seven = Duration::from_secs(7);
    assert!(matches!(refused, Err(HandoffError::Busy { retry_after }) if retry_after == seven));
}

#[tokio::test]
async fn events_of_a_chat_come_line_by_line_however_they_are_cut() {
    let tasks = BackgroundTasks::new();
    let cut = post(|| async {
        let chunks = ["{\"event\":\"del", "ta\",\"text\":\"a\"}\n{\"event\":\"done\"", "}\n"];
        let chunks = chunks.map(Ok::<_, std::convert::Infallible>);
        axum::body::Body::from_stream(stream::iter(chunks))
    });
    let address = serve_process(&tasks, Router::new().route("/v1/handoff/chat", cut)).await;

    let instances = instances_at(vec![address]);
    let events = instances.chat(json!({}), WITHIN).await.unwrap();
    let events: Vec<_> = events.map(Result::unwrap).collect().await;

    assert_eq!(events.len(), 2);
    assert_eq!(events[0], ChatEvent::Delta { text: "a".to_owned() });
    assert!(matches!(events[1], ChatEvent::Done { .. }));
}

#[tokio::test]
async fn the_project_manager_is_there_while_one_of_its_processes_opens_its_door() {
    let tasks = BackgroundTasks::new();
    let gone = || PmaAddress::Unix(PathBuf::from("/nonexistent/pma.sock"));

    assert!(
        instances_at(vec![gone(), serve_process(&tasks, named_routes("a")).await])
            .is_reachable()
            .await
    );
    assert!(!instances_at(vec![gone()]).is_reachable().await);
    assert!(!instances_at(vec![]).is_reachable().await);
}
