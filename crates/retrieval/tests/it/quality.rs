//! How well questions find the passages that answer them, next to plain BM25 over the same passages in the same run.
//!
//! Two corpora: the documents of this repository, and those of an invented harbour. `cargo xtask bench retrieval` adds the
//! extension pgvector, with the same vectors. The ranking was finished before the
//! questions were written. Who changes it looks at those of the set `tune` only.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use cynode_domain::ids::ProfileId;
use cynode_domain::project_memory::split_words;
use cynode_knowledge::embed::{cosine, embed};
use cynode_knowledge::{chunk_document, content_hash, is_skipped_folder, kind_of_path};
use cynode_retrieval::{NewDocument, VectorBackend as _};
use serde::Deserialize;

use crate::pgvector::PgvectorIndex;
use crate::world::KnowledgeWorld;

const WANTED: usize = 5;

#[derive(Debug, Deserialize)]
struct Questions {
    question: Vec<Question>,
}

#[derive(Debug, Deserialize)]
struct Question {
    ask: String,
    path: String,
    contains: String,
    set: String,
}

struct Corpus {
    name: &'static str,
    documents: Vec<(String, String)>,
    questions: Vec<Question>,
}

/// Ranks of the right passages, from 1; `None` for those that were not among the first [`WANTED`].
#[derive(Debug, Clone, Copy)]
struct Figures {
    recall: f64,
    mean_reciprocal_rank: f64,
}

impl Figures {
    fn from_ranks(ranks: &[Option<usize>]) -> Self {
        let share = |sum: f64| sum / f64::from(u32::try_from(ranks.len()).unwrap());
        let found = ranks.iter().flatten().map(|_| 1.0).sum();
        let reciprocal = |rank: &usize| 1.0 / f64::from(u32::try_from(*rank).unwrap());
        Self {
            recall: share(found),
            mean_reciprocal_rank: share(ranks.iter().flatten().map(reciprocal).sum()),
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "recall@5 {:.3}, MRR {:.3}", self.recall, self.mean_reciprocal_rank)
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read_folder(root: &Path, folder: &Path, documents: &mut Vec<(String, String)>) {
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    entries.sort();
    for entry in entries {
        let name = entry.file_name().unwrap().to_str().unwrap().to_owned();
        if entry.is_dir() && !is_skipped_folder(&name) {
            read_folder(root, &entry, documents);
        } else if entry.is_file()
            && kind_of_path(&name).is_some()
            && entry.extension().is_none_or(|extension| extension != "json")
        {
            let path = entry.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            documents.push((path, std::fs::read_to_string(&entry).unwrap()));
        }
    }
}

fn corpora() -> [Corpus; 2] {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let questions = |name: &str| {
        let text = std::fs::read_to_string(data.join(name)).unwrap();
        toml::from_str::<Questions>(&text).unwrap().question
    };
    let (mut own, mut harbour) = (vec![], vec![]);
    read_folder(&repository(), &repository().join("docs"), &mut own);
    for name in ["README.md", "ARCHITECTURE.md"] {
        own.push((name.to_owned(), std::fs::read_to_string(repository().join(name)).unwrap()));
    }
    read_folder(&data.join("harbour"), &data.join("harbour"), &mut harbour);
    [
        Corpus {
            name: "own documents",
            documents: own,
            questions: questions("own_documents.toml"),
        },
        Corpus { name: "harbour", documents: harbour, questions: questions("harbour.toml") },
    ]
}

async fn ingest(
    world: &KnowledgeWorld,
    corpus: &Corpus,
) -> (ProfileId, Vec<(String, String, String)>) {
    let profile = world.profile().await;
    let (mut passages, mut documents) = (vec![], vec![]);
    for (path, content) in &corpus.documents {
        let kind = kind_of_path(path).unwrap();
        let chunks = chunk_document(kind, content).unwrap();
        let passage = |chunk: &cynode_knowledge::Chunk| {
            (path.clone(), chunk.heading.clone(), chunk.text.clone())
        };
        passages.extend(chunks.iter().map(passage));
        documents.push(NewDocument {
            chunks,
            hash: content_hash(content),
            kind,
            path: path.clone(),
            ..world.document("any.md", "any")
        });
    }
    world.backend.upsert(profile, documents).await.unwrap();
    (profile, passages)
}

fn rank_of<'a>(
    question: &Question,
    mut found: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<usize> {
    let is_right =
        |(path, text): (&str, &str)| path == question.path && text.contains(&question.contains);
    found.position(is_right).map(|index| index + 1).filter(|rank| *rank <= WANTED)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_find_their_passages_no_worse_than_with_plain_bm25() {
    let world = KnowledgeWorld::open(cynode_testkit::sqlite_database()).await;
    let pgvector = PgvectorIndex::start_if_installed().await;
    let (mut asked, mut all_own, mut all_plain) = (0, vec![], vec![]);
    let mut all_pgvector = vec![];
    for corpus in corpora() {
        let (profile, passages) = ingest(&world, &corpus).await;
        for question in &corpus.questions {
            let holds = |(path, _, text): &&(String, String, String)| {
                *path == question.path && text.contains(&question.contains)
            };
            assert!(
                passages.iter().any(|passage| holds(&passage)),
                "no passage of {} contains \"{}\": correct the question",
                question.path,
                question.contains
            );
        }
        let (bm25, embedded) = (PlainBm25::count(&passages), embed_all(&passages));
        if let Some(index) = &pgvector {
            index.fill(&embedded).await;
        }
        for set in ["tune", "measure"] {
            let questions: Vec<&Question> =
                corpus.questions.iter().filter(|question| question.set == set).collect();
            asked += questions.len();
            let (mut own, mut plain, mut vectors) = (vec![], vec![], vec![]);
            let mut peer = vec![];
            for question in questions {
                let hits = world.backend.search(profile, question.ask.clone(), 5).await.unwrap();
                own.push(rank_of(question, hits.iter().map(|hit| (&*hit.path, &*hit.text))));
                plain.push(rank_by(question, &passages, bm25.scores(&question.ask)));
                let query = embed(&question.ask);
                let scores = embedded.iter().map(|vector| cosine(&query, vector)).collect();
                vectors.push(rank_by(question, &passages, scores));
                if let Some(index) = &pgvector {
                    let found = index.search(&query, WANTED).await.into_iter();
                    let found = found.map(|number| &passages[number]);
                    peer.push(rank_of(question, found.map(|(path, _, text)| (&**path, &**text))));
                }
            }
            let mut rows = vec![("own", &own), ("plain BM25", &plain), ("vectors alone", &vectors)];
            rows.extend(pgvector.is_some().then_some(("pgvector, HNSW", &peer)));
            for (what, ranks) in rows {
                println!("{}, {set}: {what}: {}", corpus.name, Figures::from_ranks(ranks));
            }
            all_own.extend(own);
            all_pgvector.extend(peer);
            all_plain.extend(plain);
        }
    }
    assert!(asked >= 100, "{asked} questions");
    let (own, plain) = (Figures::from_ranks(&all_own), Figures::from_ranks(&all_plain));
    println!("all {asked}: own: {own}; plain BM25: {plain}");
    assert!(own.recall >= plain.recall, "{own} {plain}");
    assert!(own.mean_reciprocal_rank >= plain.mean_reciprocal_rank, "{own} {plain}");
    if pgvector.is_some() {
        let peer = Figures::from_ranks(&all_pgvector);
        println!("all {asked}: pgvector, HNSW: {peer}");
        assert!(own.recall >= peer.recall, "{own} {peer}");
        assert!(own.mean_reciprocal_rank >= peer.mean_reciprocal_rank, "{own} {peer}");
    }
}

/// The rank of the right passage by these scores, over all passages.
fn rank_by(
    question: &Question,
    passages: &[(String, String, String)],
    scores: Vec<f64>,
) -> Option<usize> {
    let mut ranked: Vec<(f64, usize)> = scores.into_iter().zip(0..).collect();
    ranked.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    let found = ranked.iter().map(|(_, index)| &passages[*index]);
    rank_of(question, found.map(|(path, _, text)| (&**path, &**text)))
}

fn embed_all(passages: &[(String, String, String)]) -> Vec<Vec<f32>> {
    passages.iter().map(|(_, heading, text)| embed(&format!("{heading}\n{text}"))).collect()
}

/// BM25 with its usual constants over the lower-case words of heading and text.
struct PlainBm25 {
    passages: Vec<(BTreeMap<String, f64>, f64)>,
    with: BTreeMap<String, f64>,
    average: f64,
}

impl PlainBm25 {
    fn count(all: &[(String, String, String)]) -> Self {
        let (mut passages, mut with) = (vec![], BTreeMap::new());
        for (_, heading, text) in all {
            let mut counts = BTreeMap::new();
            for word in split_words(&format!("{heading} {text}")) {
                *counts.entry(word).or_insert(0.0) += 1.0;
            }
            for word in counts.keys() {
                *with.entry(word.clone()).or_insert(0.0) += 1.0;
            }
            let length = counts.values().sum();
            passages.push((counts, length));
        }
        let total: f64 = passages.iter().map(|(_, length)| length).sum();
        let average = total / f64::from(u32::try_from(passages.len()).unwrap());
        Self { passages, with, average }
    }

    fn scores(&self, query: &str) -> Vec<f64> {
        let all = f64::from(u32::try_from(self.passages.len()).unwrap());
        let words: BTreeSet<String> = split_words(query).collect();
        let score = |(counts, length): &(BTreeMap<String, f64>, f64)| {
            let of_word = |word: &String| {
                let count = counts.get(word).copied().unwrap_or(0.0);
                let with = self.with.get(word).copied().unwrap_or(0.0);
                let rarity = (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
                rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / self.average))
            };
            words.iter().map(of_word).sum()
        };
        self.passages.iter().map(score).collect()
    }
}
