//! Knowledge: how fast passages are ingested and found, and how both grow with their number.
//!
//! Passages are made of words whose frequencies follow Zipf's law, as those of a language do. Each size is a profile of its
//! own in one database, so that the larger ones also show what other profiles cost. The figures of the smallest size are
//! the baseline: growth below the growth of the data is sub-linear.

use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use cynode_domain::ids::{ProfileId, ProjectId, UserId};
use cynode_domain::knowledge::DocumentKind;
use cynode_domain::profile::ProfileSpec;
use cynode_domain::project_memory::MemoryAuthorKind;
use cynode_knowledge::Chunk;
use cynode_retrieval::{DatabaseBackend, NewDocument, VectorBackend as _};
use cynode_runtime::clock::{Clock as _, SystemClock};
use cynode_store::{Profile, Project, Store, User};

use crate::sample::DurationSample;
use crate::table::{FigureRow, render_rows};

/// Words of the vocabulary.
const VOCABULARY: f64 = 200_000.0;
/// Words of a passage.
const PASSAGE_WORDS: u64 = 110;
/// Passages of a document.
const DOCUMENT_PASSAGES: u64 = 20;
/// Documents of one upsert.
const BATCH_DOCUMENTS: u64 = 50;
const SEARCHES: usize = 300;

/// Options of the benchmark of knowledge.
#[derive(Debug, Args)]
pub struct KnowledgeBenchArgs {
    /// Numbers of passages
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 100_000, 1_000_000])]
    passages: Vec<u64>,
    /// Empty database to use, as `postgres://…` [default: SQLite in a temporary directory]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
}

/// Runs the benchmark and prints a table to `out`.
pub async fn run(args: &KnowledgeBenchArgs, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let url = match &args.database {
        Some(url) => url.clone(),
        None => format!("sqlite:{}", directory.path().join("cynode.db").display()),
    };
    let store = Store::open(&url).await?;
    let (user, project) = insert_project(&store).await?;
    let backend = DatabaseBackend::new(store.clone()).with_max_bytes(i64::MAX);
    backend.connect().await?;
    let (mut rows, mut baseline) = (vec![], None);
    for passages in &args.passages {
        let profile = insert_profile(&store, user, project).await?;
        let begun = Instant::now();
        ingest(&backend, profile, user, *passages).await?;
        let rate = as_f64(*passages) / begun.elapsed().as_secs_f64();
        let sample = search(&backend, profile).await?;
        let (median, worst) = (sample.median(), sample.percentile(99));
        let first = *baseline.get_or_insert((median, worst));
        rows.push(FigureRow::from_value(
            format!("{passages} passages: ingest"),
            rate,
            "passages/s",
        ));
        rows.push(duration(format!("{passages} passages: search p50"), median, first.0));
        rows.push(duration(format!("{passages} passages: search p99"), worst, first.1));
        let memory = resident_mib()?;
        rows.push(FigureRow::from_value(format!("{passages} passages: memory"), memory, "MiB"));
        writeln!(out, "{passages} passages measured in {:.0} s", begun.elapsed().as_secs_f64())?;
    }
    write!(out, "\nbackend {}\n{}", backend.name(), render_rows(&rows))?;
    Ok(())
}

fn duration(what: String, value: Duration, baseline: Duration) -> FigureRow {
    FigureRow::from_duration(what, value).with_baseline(baseline)
}

async fn insert_project(store: &Store) -> anyhow::Result<(UserId, ProjectId)> {
    let now = SystemClock.now();
    let user = User {
        id: UserId::generate(),
        handle: "bench".to_owned(),
        is_admin: false,
        is_active: true,
        created_at: now,
    };
    let project = Project {
        id: ProjectId::generate(),
        slug: "bench".to_owned(),
        display_name: "Bench".to_owned(),
        description: String::new(),
        owner: user.id,
        group: None,
        is_default: false,
        is_active: true,
        repository: None,
        created_at: now,
        updated_at: now,
    };
    let ids = (user.id, project.id);
    let insert = store.write(move |tx| {
        Box::pin(async move {
            tx.user_insert(&user).await?;
            tx.project_insert(&project).await
        })
    });
    insert.await?;
    Ok(ids)
}

async fn insert_profile(
    store: &Store,
    user: UserId,
    project: ProjectId,
) -> anyhow::Result<ProfileId> {
    let id = ProfileId::generate();
    let profile = Profile {
        id,
        project,
        name: format!("size-{id}"),
        is_default: false,
        spec: ProfileSpec::default(),
        revision: 1,
        created_by: user,
        created_at: SystemClock.now(),
        updated_at: SystemClock.now(),
    };
    store.write(move |tx| Box::pin(async move { tx.profile_insert(&profile).await })).await?;
    Ok(id)
}

async fn ingest(
    backend: &DatabaseBackend,
    profile: ProfileId,
    user: UserId,
    passages: u64,
) -> anyhow::Result<()> {
    let mut words = ZipfWords(passages);
    let documents = passages.div_ceil(DOCUMENT_PASSAGES);
    for first in (0..documents).step_by(usize::try_from(BATCH_DOCUMENTS)?) {
        let numbers = first..documents.min(first + BATCH_DOCUMENTS);
        let batch = numbers.map(|number| document(number, user, &mut words)).collect();
        backend.upsert(profile, batch).await?;
    }
    Ok(())
}

fn document(number: u64, user: UserId, words: &mut ZipfWords) -> NewDocument {
    let chunk = |ordinal: u64| {
        let ordinal = u32::try_from(ordinal).unwrap_or(u32::MAX);
        let text = words.text(PASSAGE_WORDS);
        Chunk { ordinal, heading: String::new(), first_line: 1, last_line: 1, text }
    };
    let chunks: Vec<Chunk> = (0..DOCUMENT_PASSAGES).map(chunk).collect();
    NewDocument {
        source: "bench".to_owned(),
        path: format!("{number:08}.txt"),
        kind: DocumentKind::Text,
        hash: number.to_string(),
        bytes: u32::try_from(chunks.iter().map(|chunk| chunk.text.len()).sum::<usize>())
            .unwrap_or(u32::MAX),
        author: MemoryAuthorKind::Person,
        created_by: user,
        now: SystemClock.now(),
        chunks,
    }
}

async fn search(backend: &DatabaseBackend, profile: ProfileId) -> anyhow::Result<DurationSample> {
    // Questions have words as texts have them: some are frequent, others rare.
    let mut words = ZipfWords(7);
    let mut queries = (0..SEARCHES).map(|_| words.text(6)).collect::<Vec<_>>().into_iter();
    DurationSample::measure(SEARCHES, async || {
        let query = queries.next().context("a query for each search")?;
        backend.search(profile, query, 5).await?;
        anyhow::Ok(())
    })
    .await
}

/// Words with the frequencies of Zipf's law, the same for each seed.
struct ZipfWords(u64);

impl ZipfWords {
    /// From 0 to 1 (`SplitMix64`).
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        as_f64((mixed ^ (mixed >> 31)) >> 32) / f64::from(u32::MAX)
    }

    fn text(&mut self, words: u64) -> String {
        // A rank with density 1/rank is the vocabulary's size to the power of a uniform share.
        let word = |_| format!("w{:.0}x", VOCABULARY.powf(self.share()));
        (0..words).map(word).collect::<Vec<_>>().join(" ")
    }
}

/// Exact below 2^32.
fn as_f64(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Memory of this process, of which the database is a part.
fn resident_mib() -> anyhow::Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: u32 =
        line.context("no VmRSS")?.trim().trim_end_matches(" kB").parse().context("VmRSS")?;
    Ok(f64::from(kib) / 1024.0)
}
