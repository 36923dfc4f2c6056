//! Malformed requests against the whole edge of the gateway.
//!
//! Seeds are the requests in `fuzz/corpus`; [`mutate`] mutates them, deterministically by seed
//! number, and [`fixture`] is a gateway whose control plane and upstream server only count. After
//! each request the invariants in [`fixture::FuzzGateway::judge`] must hold.
//!
//! As a test it runs a fixed number of requests; `cargo xtask fuzz` runs it for a time. This is a
//! binary of its own because that command runs it alone.
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod fixture;
mod mutate;
mod request;
mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use self::fixture::FuzzGateway;
use self::mutate::Mutator;
use self::request::FuzzRequest;

/// Requests per ordinary test run.
const REQUESTS: u64 = 4_000;
/// Requests per gateway: its sessions and caches are under test, too.
const PER_WORLD: u64 = 1_000;

fn corpus() -> Vec<(PathBuf, FuzzRequest)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut paths: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "there are no seeds");
    paths
        .into_iter()
        .map(|path| {
            let request = FuzzRequest::parse(&fs::read(&path).unwrap());
            (path, request)
        })
        .collect()
}

#[tokio::test]
async fn every_request_of_the_corpus_keeps_the_gateways_invariants() {
    let world = FuzzGateway::open().await;
    for (path, request) in corpus() {
        let fault = world.send_checked(&request).await.err();

        assert_eq!(fault, None, "{}", path.display());
    }
}

#[tokio::test]
async fn the_seeds_reach_the_upstream_server_and_every_kind_of_refusal() {
    let world = FuzzGateway::open().await;
    let mut statuses = std::collections::BTreeSet::new();
    for (_, request) in corpus() {
        statuses.insert(world.send_checked(&request).await.unwrap());
    }

    assert!(world.reached() > 0, "no seed reached the server: nothing would be tested");
    assert!(world.denied() > 0, "no seed was denied");
    for status in [200, 202, 400, 401, 403, 404] {
        assert!(statuses.contains(&status), "no seed is answered with {status}: {statuses:?}");
    }
}

#[tokio::test]
async fn no_mutated_request_panics_the_edge_or_gets_past_it_unrecorded() {
    let seeds: Vec<FuzzRequest> = corpus().into_iter().map(|(_, request)| request).collect();
    let plan = FuzzPlan::from_environment();
    let mut mutator = Mutator::new(plan.seed);
    let begun = Instant::now();
    let (mut tried, mut reached, mut denied) = (0, 0, 0);
    let mut world = FuzzGateway::open().await;
    while plan.should_continue(tried, begun) {
        let request = mutator.mutate(&seeds);
        if let Err(fault) = world.send_checked(&request).await {
            let saved = save_failure(&request);
            panic!("{fault}\nseed {}, request {tried}, kept in {}", plan.seed, saved.display());
        }
        tried += 1;
        if tried % PER_WORLD == 0 {
            reached += world.reached();
            denied += world.denied();
            world = FuzzGateway::open().await;
        }
    }
    let (took, seed) = (begun.elapsed().as_secs_f64(), plan.seed);
    println!(
        "fuzz: {tried} requests in {took:.1} s, seed {seed}; {reached} calls, {denied} denials"
    );
    assert!(reached > 0 && denied > 0, "the mutations are so wild that nothing gets in");
}

/// Duration and start of a fuzz run.
struct FuzzPlan {
    seed: u64,
    time: Option<Duration>,
}

impl FuzzPlan {
    #[expect(clippy::disallowed_methods, reason = "a test has no other configuration than this")]
    fn from_environment() -> Self {
        let number = |name| std::env::var(name).ok().map(|text| text.parse().unwrap());
        Self {
            seed: number("CYNODE_FUZZ__SEED").unwrap_or(1),
            time: number("CYNODE_FUZZ__SECONDS").map(Duration::from_secs),
        }
    }

    fn should_continue(&self, tried: u64, begun: Instant) -> bool {
        self.time.map_or(tried < REQUESTS, |time| begun.elapsed() < time)
    }
}

/// Saves a request that broke an invariant; moved to `fuzz/corpus` it becomes a regression test.
fn save_failure(request: &FuzzRequest) -> PathBuf {
    let path = std::env::temp_dir().join("cynode-fuzz-found.http");
    fs::write(&path, request.to_bytes()).unwrap();
    path
}
