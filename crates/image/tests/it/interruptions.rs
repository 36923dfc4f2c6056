//! A killed unpacking leaves nothing that counts as an image.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cynode_image::{ImageSource, ImageStore, StoreLimits};

use crate::fixture::{ImageBench, ImageBuilder, StoredLayer, layer, read};

/// Names the directory of images that the child unpacks to, and the layout beside it.
const CHILD_HOME: &str = "CYNODE_IMAGE_TEST_HOME";

/// Runs in the child process only: unpacks an image, and does not return before it is killed or done.
#[tokio::test]
async fn child_unpacks_an_image() {
    let Some(home) = std::env::var_os(CHILD_HOME) else { return };
    let home = Path::new(&home);
    let store = ImageStore::open(&home.join("images"), StoreLimits::default()).unwrap();
    let _ = store.acquire(&ImageSource::Path(home.join("layout"))).await;
}

#[tokio::test]
async fn a_killed_unpacking_leaves_a_directory_that_the_next_start_removes() {
    let bench = ImageBench::new();
    let many = (0..20_000).fold(layer(), |layer, number| layer.file(&format!("f{number}"), "x"));
    let image = ImageBuilder::new(vec![StoredLayer::gzip(many.file("last", "done").build())]);
    image.write_layout(&bench.home.path().join("layout"));
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "interruptions::child_unpacks_an_image"])
        .env(CHILD_HOME, bench.home.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_mins(1);
    while !has_partial_files(&bench.images_dir()) {
        assert!(Instant::now() < deadline, "the child unpacks nothing");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    assert!(bench.stored().iter().all(|name| name.starts_with(".unpack-")), "{:?}", bench.stored());

    let store = ImageStore::open(&bench.images_dir(), StoreLimits::default()).unwrap();
    assert_eq!(bench.stored(), Vec::<String>::new());
    let source = ImageSource::Path(bench.home.path().join("layout"));
    let unpacked = store.acquire(&source).await.unwrap();

    assert_eq!(read(&unpacked, "last"), "done");
}

fn has_partial_files(images: &Path) -> bool {
    let staged = fs::read_dir(images).into_iter().flatten().flatten();
    let mut staged =
        staged.filter(|entry| entry.file_name().to_string_lossy().starts_with(".unpack-"));
    staged.any(|entry| entry.path().join("rootfs/f100").exists())
}

#[tokio::test]
async fn a_stopping_node_ends_unpacking() {
    let bench = ImageBench::new();
    bench.store.cancel();

    let refused = bench.unpack_layers(vec![layer().file("a", "").build()]).await.unwrap_err();

    assert!(refused.to_string().contains("the node stops"), "{refused}");
    assert_eq!(bench.stored(), Vec::<String>::new());
}
