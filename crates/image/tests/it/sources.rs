//! Where images come from on disk.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::fixture::{ImageBench, ImageBuilder, LayerBuilder, StoredLayer, digest, layer, read};

fn image() -> ImageBuilder {
    let content = layer().file("etc/name", "from an archive").build();
    ImageBuilder::new(vec![StoredLayer::gzip(content)])
}

fn write_archive(path: &Path, files: &[(&str, &[u8])]) {
    let add = |archive: LayerBuilder, (name, content): &(&str, &[u8])| {
        archive.entry(b'0', name, "", 0o644, content)
    };
    fs::write(path, files.iter().fold(layer(), add).build()).unwrap();
}

fn saved(image: &ImageBuilder, config_name: &str, content: &[u8]) -> Vec<(String, Vec<u8>)> {
    let manifest =
        json!([{ "Config": config_name, "RepoTags": ["a:1"], "Layers": ["one/layer.tar"] }]);
    vec![
        ("one/layer.tar".to_owned(), content.to_vec()),
        (config_name.to_owned(), image.config()),
        ("manifest.json".to_owned(), manifest.to_string().into_bytes()),
    ]
}

fn borrowed(files: &[(String, Vec<u8>)]) -> Vec<(&str, &[u8])> {
    files.iter().map(|(name, content)| (name.as_str(), content.as_slice())).collect()
}

#[tokio::test]
async fn an_archive_of_a_layout_is_the_same_image_as_the_layout() {
    let (bench, image) = (ImageBench::new(), image());
    let archive = bench.home.path().join("image.tar");
    let index = image.index().to_string();
    let mut files = vec![("index.json".to_owned(), index.into_bytes())];
    let blobs = image.blobs().into_iter();
    files.extend(blobs.map(|blob| (digest(&blob).replace("sha256:", "./blobs/sha256/"), blob)));
    write_archive(&archive, &borrowed(&files));

    let from_archive = bench.acquire(&archive).await.unwrap();
    let from_layout = bench.unpack(&image).await.unwrap();

    assert_eq!(read(&from_archive, "etc/name"), "from an archive");
    assert_eq!(from_archive.path(), from_layout.path());
    assert_eq!(bench.stored().len(), 1);
}

#[tokio::test]
async fn an_archive_of_docker_save_is_verified_by_its_configuration() {
    let (bench, image) = (ImageBench::new(), image());
    let archive = bench.home.path().join("saved.tar");
    let config = format!("{}.json", digest(&image.config()).trim_start_matches("sha256:"));
    write_archive(&archive, &borrowed(&saved(&image, &config, &image.layers[0].plain)));

    let unpacked = bench.acquire(&archive).await.unwrap();

    assert_eq!(read(&unpacked, "etc/name"), "from an archive");
    assert_eq!(unpacked.digest().to_string(), digest(&image.config()));

    let other = layer().file("etc/name", "forged").build();
    for files in [
        saved(&image, &config, &other),
        saved(&image, &format!("{}.json", "0".repeat(64)), &image.layers[0].plain),
    ] {
        let forged = ImageBench::new();
        write_archive(&archive, &borrowed(&files));
        let reason = forged.acquire(&archive).await.unwrap_err().describe();
        assert!(reason.contains("not what its digest promises"), "{reason}");
    }
}

#[tokio::test]
async fn a_source_that_is_no_image_says_what_it_should_be() {
    let bench = ImageBench::new();
    let home = bench.home.path();
    fs::write(home.join("text"), "hello, this is not an archive").unwrap();
    fs::create_dir(home.join("empty")).unwrap();
    fs::write(home.join("compressed"), crate::fixture::gzip(&layer().build())).unwrap();

    for (name, expected) in [
        ("absent", "neither an OCI layout directory nor an archive"),
        ("empty", "neither an OCI layout directory nor an archive"),
        ("text", "uncompressed tar archive"),
        ("compressed", "uncompressed tar archive"),
    ] {
        let reason = bench.acquire(&home.join(name)).await.unwrap_err().describe();
        assert!(reason.contains(expected) || reason.contains("invalid"), "{name}: {reason}");
    }
}

#[tokio::test]
async fn an_image_of_another_machine_or_of_unknown_layers_is_refused() {
    let bench = ImageBench::new();
    let mut other = image();
    other.layers[0].media_type = "application/vnd.oci.image.layer.nondistributable.v1.tar";
    let reason = bench.unpack(&other).await.unwrap_err().to_string();
    assert!(reason.contains("supported are tar, tar+gzip and tar+zstd"), "{reason}");

    let layout = bench.home.path().join("foreign");
    let image = image();
    image.write_layout(&layout);
    let index = image.index().to_string().replace(crate::fixture::architecture(), "pdp11");
    fs::write(layout.join("index.json"), index).unwrap();
    let reason = bench.acquire(&layout).await.unwrap_err().to_string();
    assert!(reason.contains("no variant for linux/"), "{reason}");
}
