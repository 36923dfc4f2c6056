//! Caches that survive jobs: who shares them, what limits them, and what a crash leaves.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use cynode_domain::ids::ProjectId;
use cynode_domain::job::JobEnding;
use cynode_wire::nodes::{Assignment, CacheAssignment};

use crate::testbed::NodeTestbed;
use crate::workbench::{FinishedJob, SandboxWorkbench, command, eventually, rerun_unprivileged};

/// The cache of a project, for jobs with one key.
#[derive(Clone)]
struct ProjectCache(CacheAssignment);

impl ProjectCache {
    fn new(quota_mib: u32) -> Self {
        let (project, key) = (ProjectId::generate(), "0a".repeat(32));
        Self(CacheAssignment { project, key, quota_mib })
    }

    fn with_key(&self, byte: &str) -> Self {
        Self(CacheAssignment { key: byte.repeat(32), ..self.0.clone() })
    }

    /// A job of a task of its own.
    fn job(&self, line: &str) -> Assignment {
        Assignment { cache: Some(self.0.clone()), ..command(line) }
    }

    fn run(&self, bench: &SandboxWorkbench, line: &str) -> FinishedJob {
        bench.run_assignment(self.job(line))
    }

    fn pool(&self, bench: &SandboxWorkbench) -> PathBuf {
        let project = bench.sandbox.caches_dir().join(self.0.project.to_string());
        project.join(&self.0.key)
    }

    fn slots(&self, bench: &SandboxWorkbench) -> Vec<String> {
        let entries = fs::read_dir(self.pool(bench)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

fn exited(job: &FinishedJob) -> (&JobEnding, &str) {
    (job.ending(), &job.stdout)
}

const SUCCESS: JobEnding = JobEnding::Exited { code: 0 };

#[test]
fn a_later_job_of_another_task_finds_and_changes_what_an_earlier_one_stored() {
    let (bench, cache) = (SandboxWorkbench::new(), ProjectCache::new(64));
    let store = "mkdir -m 700 $CYNODE_CACHE_DIR/d && echo one > $CYNODE_CACHE_DIR/d/f && chmod 400 $CYNODE_CACHE_DIR/d/f";
    let stored = cache.run(&bench, store);
    assert_eq!(exited(&stored), (&SUCCESS, ""), "{}", stored.stderr);

    let change = "cat $CYNODE_CACHE_DIR/d/f; rm -f $CYNODE_CACHE_DIR/d/f && echo two > $CYNODE_CACHE_DIR/d/f";
    let changed = cache.run(&bench, change);
    let read = cache.run(&bench, "cat $CYNODE_CACHE_DIR/d/f");

    assert_eq!(exited(&changed), (&SUCCESS, "one\n"), "{}", changed.stderr);
    assert_eq!(exited(&read), (&SUCCESS, "two\n"), "{}", read.stderr);
    rerun_unprivileged(
        "caches::a_later_job_of_another_task_finds_and_changes_what_an_earlier_one_stored",
    );
}

#[test]
fn programs_keep_their_downloads_in_the_cache_and_jobs_without_one_have_none() {
    let (bench, cache) = (SandboxWorkbench::new(), ProjectCache::new(64));
    let line = "env | grep -cE '^(CARGO_HOME|GOCACHE|GOMODCACHE|PIP_CACHE_DIR|XDG_CACHE_HOME|npm_config_cache)=/job/cache/'; ls -d /job/cache";

    let with = cache.run(&bench, line);
    let without = bench.run(line);

    assert_eq!(exited(&with), (&SUCCESS, "6\n/job/cache\n"));
    assert_eq!(without.stdout, "0\n");
}

#[test]
fn neither_two_projects_nor_two_keys_share_a_cache() {
    let (bench, cache) = (SandboxWorkbench::new(), ProjectCache::new(64));
    let other_project = ProjectCache::new(64);
    let other_level = cache.with_key("0b");
    cache.run(&bench, "echo secret > $CYNODE_CACHE_DIR/f");

    for other in [&other_project, &other_level] {
        // Nor is the cache of the other one in reach by another path.
        let seen =
            other.run(&bench, "ls -A $CYNODE_CACHE_DIR; ls -A $CYNODE_CACHE_DIR/.. | tr '\\n' ' '");
        assert_eq!(exited(&seen), (&SUCCESS, "artifacts cache "), "{}", seen.stderr);
    }
    rerun_unprivileged("caches::neither_two_projects_nor_two_keys_share_a_cache");
}

#[test]
fn two_jobs_at_once_do_not_write_into_one_cache() {
    let (bench, cache) = (SandboxWorkbench::new(), ProjectCache::new(64));
    let first = cache.job(
        "echo first > $CYNODE_CACHE_DIR/f; touch begun; while [ ! -e go ]; do sleep 0.02; done; cat $CYNODE_CACHE_DIR/f",
    );
    let workspace = bench.sandbox.workspace(first.task_id);
    let dir = bench.sandbox.accept(first).unwrap();
    let watch = bench.sandbox.start(&dir);
    eventually("the start", || workspace.join("begun").exists().then_some(()));

    let second = cache.run(&bench, "ls $CYNODE_CACHE_DIR; echo second > $CYNODE_CACHE_DIR/f");
    // Neither is the one in use evicted, whatever the quota is.
    fs::write(cache.pool(&bench).parent().unwrap().join("quota_mib"), "0").unwrap();
    bench.sandbox.evict_caches().unwrap();
    assert_eq!(cache.slots(&bench), ["0"]);
    fs::write(workspace.join("go"), "").unwrap();

    assert_eq!(exited(&second), (&SUCCESS, ""), "{}", second.stderr);
    assert_eq!(watch.wait().ending, SUCCESS);
    let stdout = dir.stream(cynode_wire::jobs::Stream::Stdout);
    assert_eq!(fs::read_to_string(stdout).unwrap(), "first\n");
}

#[test]
fn a_link_in_the_cache_leads_the_node_nowhere() {
    let (bench, cache) = (SandboxWorkbench::new(), ProjectCache::new(64));
    let outside = tempfile::tempdir().unwrap();
    let kept = outside.path().join("kept");
    fs::write(&kept, "kept").unwrap();
    let owner = |path: &Path| fs::metadata(path).unwrap().uid();
    let before = (owner(&kept), owner(outside.path()));
    let target = outside.path().display();
    let plant = format!(
        "cd $CYNODE_CACHE_DIR && ln -s {target} dir && ln -s {target}/kept file && ln -s ../../../../.. up"
    );
    assert_eq!(cache.run(&bench, &plant).ending(), &SUCCESS);

    // Another task: on a node of root, all files change their owner.
    let next = cache.run(&bench, "ls -A $CYNODE_CACHE_DIR | sort | tr '\\n' ' '");
    assert_eq!(exited(&next), (&SUCCESS, "dir file up "));
    assert_eq!((owner(&kept), owner(outside.path())), before);

    fs::write(cache.pool(&bench).parent().unwrap().join("quota_mib"), "0").unwrap();
    bench.sandbox.evict_caches().unwrap();

    assert_eq!(cache.slots(&bench), Vec::<String>::new());
    assert_eq!(fs::read_to_string(&kept).unwrap(), "kept");
    rerun_unprivileged("caches::a_link_in_the_cache_leads_the_node_nowhere");
}

#[test]
fn a_link_in_place_of_the_pool_or_of_its_key_is_not_used() {
    let (bench, cache) = (SandboxWorkbench::new(), ProjectCache::new(64));
    let outside = tempfile::tempdir().unwrap();
    let caches = bench.sandbox.caches_dir();
    fs::create_dir_all(caches.join(cache.0.project.to_string())).unwrap();
    symlink(outside.path(), cache.pool(&bench)).unwrap();
    fs::create_dir_all(outside.path().join("0/data")).unwrap();

    bench.sandbox.evict_caches().unwrap();

    assert!(outside.path().join("0/data").exists());
    let foreign = ProjectCache(CacheAssignment { key: "../../..".to_owned(), ..cache.0 });
    let seen = foreign.run(&bench, "echo ${CYNODE_CACHE_DIR-none}; ls -d /job/cache");
    assert_eq!(seen.stdout, "none\n");
}

#[test]
fn a_job_that_fills_its_cache_beyond_the_quota_ends_and_the_cache_is_evicted() {
    let (bench, cache) = (SandboxWorkbench::new(), ProjectCache::new(2));

    let done = cache.run(&bench, "head -c 4000000 /dev/zero > $CYNODE_CACHE_DIR/f; sleep 30");

    let limit = "its cache filled 2 MiB of disk".to_owned();
    assert_eq!(done.ending(), &JobEnding::LimitReached { limit });
    bench.sandbox.evict_caches().unwrap();
    assert_eq!(cache.slots(&bench), Vec::<String>::new());
    let next = cache.run(&bench, "ls $CYNODE_CACHE_DIR");
    assert_eq!(exited(&next), (&SUCCESS, ""));
    rerun_unprivileged(
        "caches::a_job_that_fills_its_cache_beyond_the_quota_ends_and_the_cache_is_evicted",
    );
}

#[test]
fn a_lower_quota_evicts_before_the_next_job_instead_of_ending_it() {
    let (bench, cache) = (SandboxWorkbench::new(), ProjectCache::new(64));
    cache.run(&bench, "head -c 4000000 /dev/zero > $CYNODE_CACHE_DIR/f");
    let lower = ProjectCache(CacheAssignment { quota_mib: 2, ..cache.0.clone() });

    let next = lower.run(&bench, "ls $CYNODE_CACHE_DIR; sleep 0.4");

    assert_eq!(exited(&next), (&SUCCESS, ""));
}

#[test]
fn the_least_recently_used_cache_of_the_project_goes_first() {
    let (bench, first) = (SandboxWorkbench::new(), ProjectCache::new(4));
    let (second, third) = (first.with_key("0b"), first.with_key("0c"));
    let neighbour = ProjectCache::new(4);
    let fill = "head -c 1500000 /dev/zero > $CYNODE_CACHE_DIR/f";
    for cache in [&first, &second, &third, &neighbour] {
        assert_eq!(cache.run(&bench, fill).ending(), &SUCCESS);
    }
    // The first one is used again, so the second one is the oldest.
    first.run(&bench, "true");

    bench.sandbox.evict_caches().unwrap();

    let left = [&first, &second, &third, &neighbour].map(|cache| cache.slots(&bench).len());
    assert_eq!(left, [1, 0, 1, 1]);
}

#[test]
fn a_half_removed_cache_is_not_used_and_the_next_eviction_removes_it() {
    let (bench, cache) = (SandboxWorkbench::new(), ProjectCache::new(64));
    cache.run(&bench, "echo old > $CYNODE_CACHE_DIR/f");
    let pool = cache.pool(&bench);
    // As a process leaves it that was killed while it removed the files.
    fs::rename(pool.join("0"), pool.join(".evicted-1")).unwrap();
    fs::remove_file(pool.join(".evicted-1/owner")).unwrap();

    let next = cache.run(&bench, "ls $CYNODE_CACHE_DIR");

    assert_eq!(exited(&next), (&SUCCESS, ""));
    bench.sandbox.evict_caches().unwrap();
    assert_eq!(cache.slots(&bench), ["0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_killed_during_an_eviction_uses_nothing_of_it_afterwards() {
    let stage = NodeTestbed::new().await;
    let armed = stage.state.path().join("failpoints/cache_set_aside@node");
    fs::create_dir(armed.parent().unwrap()).unwrap();
    fs::write(&armed, "").unwrap();
    let mut node = stage.spawn_process();
    let cache = ProjectCache::new(4);
    // More than a cache may keep of its quota alone.
    let job = cache.job("head -c 3500000 /dev/zero > $CYNODE_CACHE_DIR/f");
    stage.fake.assign(&job);
    assert_eq!(stage.fake.result_of(job.job_id).await.ending, SUCCESS);
    eventually("the failpoint", || armed.with_added_extension("hit").exists().then_some(()));
    node.kill();
    let pool = stage.state.path().join("node/caches").join(cache.0.project.to_string());
    let pool = pool.join(&cache.0.key);
    let names = || -> Vec<String> {
        let entries = fs::read_dir(&pool).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    assert!(names().iter().all(|name| name.starts_with(".evicted-")), "{:?}", names());

    let _second = stage.spawn_process();
    let next = cache.job("ls $CYNODE_CACHE_DIR");
    stage.fake.assign(&next);

    let result = stage.fake.result_of(next.job_id).await;
    assert_eq!((result.ending, &*result.stdout), (SUCCESS, ""));
    eventually("the removal of the rest", || {
        names().iter().all(|name| !name.starts_with('.')).then_some(())
    });
}
