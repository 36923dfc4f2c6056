//! The directory of images: atomic, shared and bounded.

use std::fs;
use std::time::Duration;

use cynode_image::{ImageStore, ImageUse, StoreLimits};

use crate::fixture::{ImageBench, ImageBuilder, StoredLayer, layer, root};

/// An image of about `kib` kibibytes.
fn image(name: &str, kib: usize) -> ImageBuilder {
    let content = layer().file("name", name).file("content", &"x".repeat(kib * 1024));
    ImageBuilder::new(vec![StoredLayer::gzip(content.build())])
}

/// More than the tick of the kernel, which is the resolution of file times.
const FILE_TIME_RESOLUTION: Duration = Duration::from_millis(20);

fn directory(image: &ImageBuilder) -> String {
    image.digest().replace(':', "-")
}

#[tokio::test]
async fn two_unpackings_of_one_image_do_the_work_once() {
    let bench = ImageBench::new();
    let image = image("shared", 512);
    let layout = bench.home.path().join("layout");
    image.write_layout(&layout);

    let (first, second) = tokio::join!(bench.acquire(&layout), bench.acquire(&layout));
    let (first, second) = (first.unwrap(), second.unwrap());

    assert_eq!(first.path(), second.path());
    assert_eq!(bench.stored(), [directory(&image)]);
    // The second did not replace what the first returned.
    assert!(ImageUse::lock(first.path()).is_ok());
}

#[tokio::test]
async fn the_least_recently_used_image_without_a_job_is_evicted() {
    let total_bytes = 250 * 1024;
    let bench = ImageBench::with_limits(StoreLimits { total_bytes, ..StoreLimits::default() });
    let [first, second, third] = ["first", "second", "third"].map(|name| image(name, 100));
    drop(bench.unpack(&first).await.unwrap());
    drop(bench.unpack(&second).await.unwrap());
    tokio::time::sleep(FILE_TIME_RESOLUTION).await;
    // Used again: the second is the oldest now.
    drop(bench.unpack(&first).await.unwrap());

    drop(bench.unpack(&third).await.unwrap());

    let mut expected = [directory(&first), directory(&third)];
    expected.sort();
    assert_eq!(bench.stored(), expected);
}

#[tokio::test]
async fn an_image_in_use_is_not_evicted_even_by_a_later_process() {
    let total_bytes = 150 * 1024;
    let limits = StoreLimits { total_bytes, ..StoreLimits::default() };
    let bench = ImageBench::with_limits(limits);
    let used = bench.unpack(&image("used", 100)).await.unwrap();
    // As the supervisor of a job does; the node that started it may be gone.
    let lock = ImageUse::lock(used.path()).unwrap();
    drop(used);
    let later = ImageStore::open(&bench.images_dir(), limits).unwrap();
    let layout = bench.home.path().join("other");
    let other = image("other", 100);
    other.write_layout(&layout);
    let source = cynode_image::ImageSource::Path(layout);

    let refused = later.acquire(&source).await.unwrap_err().to_string();
    assert!(refused.contains("raise node.image_storage_gib"), "{refused}");
    drop(lock);
    drop(later.acquire(&source).await.unwrap());

    assert_eq!(bench.stored(), [directory(&other)]);
}

#[tokio::test]
async fn an_image_larger_than_all_storage_is_refused_and_leaves_nothing() {
    let limits = StoreLimits { total_bytes: 50 * 1024, ..StoreLimits::default() };
    let bench = ImageBench::with_limits(limits);

    assert!(bench.unpack(&image("large", 100)).await.is_err());

    assert_eq!(bench.stored(), Vec::<String>::new());
}

#[tokio::test]
async fn an_evicted_image_cannot_be_locked() {
    let limits = StoreLimits { total_bytes: 150 * 1024, ..StoreLimits::default() };
    let bench = ImageBench::with_limits(limits);
    let path = bench.unpack(&image("first", 100)).await.unwrap().path().to_owned();
    drop(bench.unpack(&image("second", 100)).await.unwrap());

    assert!(ImageUse::lock(&path).is_err());
}

#[tokio::test]
async fn an_unpacked_image_needs_its_source_only_for_its_identity() {
    let bench = ImageBench::new();
    let image = image("kept", 1);
    let layout = bench.home.path().join("layout");
    image.write_layout(&layout);
    let first = bench.acquire(&layout).await.unwrap();
    let inode =
        |path: &std::path::Path| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
    let before = inode(&root(&first));
    fs::remove_file(crate::fixture::blob_file(
        &layout,
        &crate::fixture::digest(&image.layers[0].stored),
    ))
    .unwrap();

    let again = bench.acquire(&layout).await.unwrap();

    assert_eq!(inode(&root(&again)), before);
}
