//! The engine alone, over a graph unrelated to tasks.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::backoff::Backoff;
use cynode_workflow::engine::{
    DriveError, DriveOutcome, EffectAnswers, EffectJournal, Graph, GraphEdge, GraphError,
    JournalError, NodeContext, NodeRetryPolicy, NodeTransition, ResumePoint, StateBinding,
    TransitionJournal, WorkflowNode, WorkflowNodeError, drive,
};
use serde_json::{Value, json};

#[derive(Debug, Default, Clone, PartialEq)]
struct SumState {
    total: u32,
    failure: Option<String>,
}

/// Obtains a number by an effect and adds it.
struct AddNode {
    errors: Mutex<Vec<WorkflowNodeError>>,
    calls: &'static AtomicU32,
    after_effect: Option<Duration>,
}

impl WorkflowNode for AddNode {
    const NAME: &'static str = "add";
    type Input = u32;
    type Output = u32;

    async fn run(&self, cx: &mut NodeContext<'_>, total: u32) -> Result<u32, WorkflowNodeError> {
        if let Some(error) = self.errors.lock().unwrap().pop() {
            return Err(error);
        }
        let number = cx
            .effect("number", async { Ok(self.calls.fetch_add(1, Ordering::SeqCst) + 1) })
            .await?;
        if let Some(pause) = self.after_effect {
            tokio::time::sleep(pause).await;
        }
        Ok(total + number)
    }
}

impl StateBinding<SumState> for AddNode {
    fn input(state: &SumState) -> Result<u32, WorkflowNodeError> {
        Ok(state.total)
    }

    fn apply(state: &mut SumState, output: u32) {
        state.total = output;
    }
}

macro_rules! ends {
    ($($node:ident = $name:literal,)*) => {$(
        struct $node;

        impl WorkflowNode for $node {
            const NAME: &'static str = $name;
            type Input = ();
            type Output = ();

            async fn run(&self, _cx: &mut NodeContext<'_>, (): ()) -> Result<(), WorkflowNodeError> {
                Ok(())
            }
        }

        impl StateBinding<SumState> for $node {
            fn input(_state: &SumState) -> Result<(), WorkflowNodeError> {
                Ok(())
            }

            fn apply(_state: &mut SumState, (): ()) {}
        }
    )*};
}

ends! {
    Done = "done",
    Lost = "lost",
}

const POLICY: NodeRetryPolicy = NodeRetryPolicy {
    attempts: 3,
    backoff: Backoff { first: Duration::from_secs(1), cap: Duration::from_secs(30) },
    timeout: Some(Duration::from_secs(10)),
};

fn counter() -> &'static AtomicU32 {
    Box::leak(Box::default())
}

fn graph(add: AddNode) -> Graph<SumState> {
    Graph::new(AddNode::NAME, Lost::NAME, |state: &mut SumState, failure| {
        state.failure = Some(format!("{}: {}", failure.node, failure.reason));
    })
    .add_node(
        add,
        POLICY,
        vec![
            GraphEdge::when("more", AddNode::NAME, |state: &SumState| state.total < 3),
            GraphEdge::otherwise("enough", Done::NAME),
        ],
    )
    .add_node(Done, POLICY, vec![])
    .add_node(Lost, POLICY, vec![])
    .build()
    .unwrap()
}

fn add(errors: Vec<WorkflowNodeError>) -> AddNode {
    AddNode { errors: Mutex::new(errors), calls: counter(), after_effect: None }
}

/// Records everything, and rejects on demand.
#[derive(Default)]
struct RecordingJournal {
    lines: Mutex<Vec<String>>,
    /// Rejects every record.
    refuses: Option<JournalError>,
    /// Rejects transitions, accepts the answers of effects.
    refuses_saves: Option<JournalError>,
}

impl RecordingJournal {
    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    fn write(&self, line: String) -> Result<(), JournalError> {
        self.refuses.clone().map_or(Ok(()), Err)?;
        self.lines.lock().unwrap().push(line);
        Ok(())
    }
}

#[async_trait]
impl EffectJournal for RecordingJournal {
    async fn record_effect(&self, key: &str, answer: &Value) -> Result<(), JournalError> {
        self.write(format!("{key} = {answer}"))
    }
}

#[async_trait]
impl TransitionJournal<SumState> for RecordingJournal {
    async fn save_transition(
        &self,
        moved: &NodeTransition<'_, SumState>,
    ) -> Result<(), JournalError> {
        self.refuses_saves.clone().map_or(Ok(()), Err)?;
        self.write(format!(
            "{} {} {} {}",
            moved.sequence, moved.node, moved.edge, moved.state.total
        ))
    }
}

async fn drive_graph(
    graph: &Graph<SumState>,
    book: &RecordingJournal,
) -> Result<DriveOutcome<SumState>, DriveError> {
    drive(graph, book, ResumePoint::from_start(graph, SumState::default()), &|| false).await
}

fn sum(total: u32) -> DriveOutcome<SumState> {
    DriveOutcome::Finished(SumState { total, failure: None })
}

#[tokio::test(start_paused = true)]
async fn each_answer_is_recorded_before_the_transition_that_uses_it() {
    let (graph, book) = (graph(add(vec![])), RecordingJournal::default());

    assert_eq!(drive_graph(&graph, &book).await, Ok(sum(3)));

    assert_eq!(
        book.lines(),
        [
            "1/add/number = 1",
            "1 add more 1",
            "2/add/number = 2",
            "2 add enough 3",
            "3 done finished 3"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_replayed_effect_is_never_polled() {
    let node = add(vec![]);
    let request = node.calls;
    let (graph, book) = (graph(node), RecordingJournal::default());
    let answers: EffectAnswers = [("1/add/number".to_owned(), json!(40))].into_iter().collect();
    let from = ResumePoint::from_start(&graph, SumState::default()).with_answers(answers);

    let end = drive(&graph, &book, from, &|| false).await;

    assert_eq!(end, Ok(sum(40)));
    assert_eq!(request.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_tried_again_keeps_the_answers_it_has() {
    let node = AddNode { after_effect: Some(Duration::from_mins(1)), ..add(vec![]) };
    let request = node.calls;
    let (graph, book) = (graph(node), RecordingJournal::default());

    let end = drive_graph(&graph, &book).await;

    let failure = Some("add: no result within 10 s".to_owned());
    assert_eq!(end, Ok(DriveOutcome::Finished(SumState { total: 0, failure })));
    assert_eq!(request.load(Ordering::SeqCst), 1);
    assert_eq!(book.lines(), ["1/add/number = 1", "1 add failed 0", "2 lost finished 0"]);
}

#[tokio::test(start_paused = true)]
async fn transient_and_bad_answers_are_tried_again_within_bounds() {
    let twice =
        vec![WorkflowNodeError::BadOutput("?".into()), WorkflowNodeError::Transient("away".into())];
    let thrice = vec![WorkflowNodeError::Transient("away".into()); 3];

    let helped = drive_graph(&graph(add(twice)), &RecordingJournal::default()).await;
    let given_up = drive_graph(&graph(add(thrice)), &RecordingJournal::default()).await;

    assert_eq!(helped, Ok(sum(3)));
    let failure = Some("add: away".to_owned());
    assert_eq!(given_up, Ok(DriveOutcome::Finished(SumState { total: 0, failure })));
}

#[tokio::test(start_paused = true)]
async fn a_denied_node_fails_the_run_at_its_first_attempt() {
    let denied = vec![
        WorkflowNodeError::Transient("never seen".into()),
        WorkflowNodeError::Denied("no".into()),
    ];

    let end = drive_graph(&graph(add(denied)), &RecordingJournal::default()).await;

    let failure = Some("add: no".to_owned());
    assert_eq!(end, Ok(DriveOutcome::Finished(SumState { total: 0, failure })));
}

#[tokio::test(start_paused = true)]
async fn a_canceled_or_fenced_node_writes_nothing_more() {
    for (error, stopped) in [
        (WorkflowNodeError::Cancelled, DriveError::Cancelled),
        (WorkflowNodeError::LeaseLost, DriveError::LeaseLost),
    ] {
        let book = RecordingJournal::default();

        assert_eq!(drive_graph(&graph(add(vec![error])), &book).await, Err(stopped));

        assert_eq!(book.lines(), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_refuses_stops_the_run() {
    let lost =
        RecordingJournal { refuses: Some(JournalError::LeaseLost), ..RecordingJournal::default() };
    let full = RecordingJournal {
        refuses: Some(JournalError::Rejected("too large".into())),
        ..RecordingJournal::default()
    };

    assert_eq!(drive_graph(&graph(add(vec![])), &lost).await, Err(DriveError::LeaseLost));
    let refused = Err(DriveError::Rejected("too large".into()));
    assert_eq!(drive_graph(&graph(add(vec![])), &full).await, refused);
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_that_is_refused_stops_the_run_before_the_next_node() {
    let full = "too large".to_owned();
    for (error, stopped) in [
        (JournalError::LeaseLost, DriveError::LeaseLost),
        (JournalError::Rejected(full.clone()), DriveError::Rejected(full)),
    ] {
        let node = add(vec![]);
        let request = node.calls;
        let book = RecordingJournal { refuses_saves: Some(error), ..RecordingJournal::default() };

        assert_eq!(drive_graph(&graph(node), &book).await, Err(stopped));

        // The node ran once, and the edge back to it was not taken.
        assert_eq!(request.load(Ordering::SeqCst), 1);
        assert_eq!(book.lines(), ["1/add/number = 1"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_leaves_the_run_at_a_checkpoint() {
    let (graph, book) = (graph(add(vec![])), RecordingJournal::default());
    let from = ResumePoint::from_start(&graph, SumState::default());

    let end = drive(&graph, &book, from, &|| book.lines().len() == 2).await;

    assert_eq!(end, Ok(DriveOutcome::Paused));
    assert_eq!(book.lines().last().unwrap(), "1 add more 1");
}

#[test]
fn a_graph_with_loose_ends_is_not_built() {
    let start = || {
        Graph::new(Done::NAME, Lost::NAME, |_: &mut SumState, _| ()).add_node(Done, POLICY, vec![])
    };

    let loose = start().build().map(drop);
    let twice =
        start().add_node(Done, POLICY, vec![]).add_node(Lost, POLICY, vec![]).build().map(drop);

    assert_eq!(loose, Err(GraphError::UnknownTarget { from: "a failure", to: "lost" }));
    assert_eq!(twice, Err(GraphError::DuplicateNode("done")));
}
