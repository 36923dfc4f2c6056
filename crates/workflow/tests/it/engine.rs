//! The engine alone, over a graph that has nothing to do with tasks.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use cynode_workflow::engine::{
    Answers, Backoff, Checkpoints, Edge, EffectLog, Ended, Graph, GraphError, JournalError, Node,
    NodeCx, NodeError, On, Policy, Resume, Stopped, Transition, drive,
};
use serde_json::{Value, json};

#[derive(Debug, Default, Clone, PartialEq)]
struct Sum {
    total: u32,
    failure: Option<String>,
}

/// Asks the world for a number, and adds it.
struct Add {
    errors: Mutex<Vec<NodeError>>,
    asked: &'static AtomicU32,
    after_effect: Option<Duration>,
}

impl Node for Add {
    const NAME: &'static str = "add";
    type Input = u32;
    type Output = u32;

    async fn run(&self, cx: &mut NodeCx<'_>, total: u32) -> Result<u32, NodeError> {
        if let Some(error) = self.errors.lock().unwrap().pop() {
            return Err(error);
        }
        let number = cx
            .effect("number", async { Ok(self.asked.fetch_add(1, Ordering::SeqCst) + 1) })
            .await?;
        if let Some(pause) = self.after_effect {
            tokio::time::sleep(pause).await;
        }
        Ok(total + number)
    }
}

impl On<Sum> for Add {
    fn input(state: &Sum) -> Result<u32, NodeError> {
        Ok(state.total)
    }

    fn apply(state: &mut Sum, output: u32) {
        state.total = output;
    }
}

macro_rules! ends {
    ($($node:ident = $name:literal,)*) => {$(
        struct $node;

        impl Node for $node {
            const NAME: &'static str = $name;
            type Input = ();
            type Output = ();

            async fn run(&self, _cx: &mut NodeCx<'_>, (): ()) -> Result<(), NodeError> {
                Ok(())
            }
        }

        impl On<Sum> for $node {
            fn input(_state: &Sum) -> Result<(), NodeError> {
                Ok(())
            }

            fn apply(_state: &mut Sum, (): ()) {}
        }
    )*};
}

ends! {
    Done = "done",
    Lost = "lost",
}

const POLICY: Policy = Policy {
    attempts: 3,
    backoff: Backoff { first: Duration::from_secs(1), cap: Duration::from_secs(30) },
    timeout: Some(Duration::from_secs(10)),
};

fn counter() -> &'static AtomicU32 {
    Box::leak(Box::default())
}

fn graph(add: Add) -> Graph<Sum> {
    Graph::new(Add::NAME, Lost::NAME, |state: &mut Sum, failure| {
        state.failure = Some(format!("{}: {}", failure.node, failure.reason));
    })
    .node(
        add,
        POLICY,
        vec![
            Edge::when("more", Add::NAME, |state: &Sum| state.total < 3),
            Edge::otherwise("enough", Done::NAME),
        ],
    )
    .node(Done, POLICY, vec![])
    .node(Lost, POLICY, vec![])
    .build()
    .unwrap()
}

fn add(errors: Vec<NodeError>) -> Add {
    Add { errors: Mutex::new(errors), asked: counter(), after_effect: None }
}

/// Writes everything down, and refuses on demand.
#[derive(Default)]
struct Book {
    lines: Mutex<Vec<String>>,
    /// Refuses every record.
    refuses: Option<JournalError>,
    /// Refuses transitions, and takes the answers of effects.
    refuses_saves: Option<JournalError>,
}

impl Book {
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
impl EffectLog for Book {
    async fn record_effect(&self, key: &str, answer: &Value) -> Result<(), JournalError> {
        self.write(format!("{key} = {answer}"))
    }
}

#[async_trait]
impl Checkpoints<Sum> for Book {
    async fn save(&self, moved: &Transition<'_, Sum>) -> Result<(), JournalError> {
        self.refuses_saves.clone().map_or(Ok(()), Err)?;
        self.write(format!(
            "{} {} {} {}",
            moved.sequence, moved.node, moved.edge, moved.state.total
        ))
    }
}

async fn driven(graph: &Graph<Sum>, book: &Book) -> Result<Ended<Sum>, Stopped> {
    drive(graph, book, Resume::fresh(graph, Sum::default()), &|| false).await
}

fn sum(total: u32) -> Ended<Sum> {
    Ended::Finished(Sum { total, failure: None })
}

#[tokio::test(start_paused = true)]
async fn each_answer_is_recorded_before_the_transition_that_uses_it() {
    let (graph, book) = (graph(add(vec![])), Book::default());

    assert_eq!(driven(&graph, &book).await, Ok(sum(3)));

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
    let asked = node.asked;
    let (graph, book) = (graph(node), Book::default());
    let answers: Answers = [("1/add/number".to_owned(), json!(40))].into_iter().collect();
    let from = Resume::fresh(&graph, Sum::default()).with_answers(answers);

    let end = drive(&graph, &book, from, &|| false).await;

    assert_eq!(end, Ok(sum(40)));
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_tried_again_keeps_the_answers_it_has() {
    let node = Add { after_effect: Some(Duration::from_mins(1)), ..add(vec![]) };
    let asked = node.asked;
    let (graph, book) = (graph(node), Book::default());

    let end = driven(&graph, &book).await;

    let failure = Some("add: no result within 10 s".to_owned());
    assert_eq!(end, Ok(Ended::Finished(Sum { total: 0, failure })));
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assert_eq!(book.lines(), ["1/add/number = 1", "1 add failed 0", "2 lost finished 0"]);
}

#[tokio::test(start_paused = true)]
async fn transient_and_bad_answers_are_tried_again_within_bounds() {
    let twice = vec![NodeError::BadOutput("?".into()), NodeError::Transient("away".into())];
    let thrice = vec![NodeError::Transient("away".into()); 3];

    let helped = driven(&graph(add(twice)), &Book::default()).await;
    let given_up = driven(&graph(add(thrice)), &Book::default()).await;

    assert_eq!(helped, Ok(sum(3)));
    let failure = Some("add: away".to_owned());
    assert_eq!(given_up, Ok(Ended::Finished(Sum { total: 0, failure })));
}

#[tokio::test(start_paused = true)]
async fn a_denied_node_fails_the_run_at_its_first_attempt() {
    let denied = vec![NodeError::Transient("never seen".into()), NodeError::Denied("no".into())];

    let end = driven(&graph(add(denied)), &Book::default()).await;

    let failure = Some("add: no".to_owned());
    assert_eq!(end, Ok(Ended::Finished(Sum { total: 0, failure })));
}

#[tokio::test(start_paused = true)]
async fn a_canceled_or_fenced_node_writes_nothing_more() {
    for (error, stopped) in
        [(NodeError::Cancelled, Stopped::Cancelled), (NodeError::LeaseLost, Stopped::LeaseLost)]
    {
        let book = Book::default();

        assert_eq!(driven(&graph(add(vec![error])), &book).await, Err(stopped));

        assert_eq!(book.lines(), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_refuses_stops_the_run() {
    let lost = Book { refuses: Some(JournalError::LeaseLost), ..Book::default() };
    let full =
        Book { refuses: Some(JournalError::Rejected("too large".into())), ..Book::default() };

    assert_eq!(driven(&graph(add(vec![])), &lost).await, Err(Stopped::LeaseLost));
    let refused = Err(Stopped::Rejected("too large".into()));
    assert_eq!(driven(&graph(add(vec![])), &full).await, refused);
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_that_is_refused_stops_the_run_before_the_next_node() {
    let full = "too large".to_owned();
    for (error, stopped) in [
        (JournalError::LeaseLost, Stopped::LeaseLost),
        (JournalError::Rejected(full.clone()), Stopped::Rejected(full)),
    ] {
        let node = add(vec![]);
        let asked = node.asked;
        let book = Book { refuses_saves: Some(error), ..Book::default() };

        assert_eq!(driven(&graph(node), &book).await, Err(stopped));

        // The node ran once, and the edge back to it was not taken.
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        assert_eq!(book.lines(), ["1/add/number = 1"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_leaves_the_run_at_a_checkpoint() {
    let (graph, book) = (graph(add(vec![])), Book::default());
    let from = Resume::fresh(&graph, Sum::default());

    let end = drive(&graph, &book, from, &|| book.lines().len() == 2).await;

    assert_eq!(end, Ok(Ended::Paused));
    assert_eq!(book.lines().last().unwrap(), "1 add more 1");
}

#[test]
fn a_graph_with_loose_ends_is_not_built() {
    let start =
        || Graph::new(Done::NAME, Lost::NAME, |_: &mut Sum, _| ()).node(Done, POLICY, vec![]);

    let loose = start().build().map(drop);
    let twice = start().node(Done, POLICY, vec![]).node(Lost, POLICY, vec![]).build().map(drop);

    assert_eq!(loose, Err(GraphError::Nowhere { from: "a failure", to: "lost" }));
    assert_eq!(twice, Err(GraphError::Twice("done")));
}
