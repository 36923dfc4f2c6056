//! Images from a registry.

use crate::fixture::{ImageBench, ImageBuilder, MANIFEST, StoredLayer, digest, layer, read};
use crate::registry_server::RegistryServer;

fn image(name: &str) -> ImageBuilder {
    let base = layer().file("base", "base").build();
    let own = layer().file("name", name).build();
    ImageBuilder::new(vec![StoredLayer::gzip(base), StoredLayer::zstd(own)])
}

#[tokio::test]
async fn an_image_is_read_from_a_registry_that_issues_tokens_and_redirects() {
    let (registry, bench) = (RegistryServer::start().await, ImageBench::new());
    let image = image("remote");
    registry.put_image("1.0", &image);
    {
        let mut content = registry.content.lock().unwrap();
        (content.needs_token, content.redirects) = (true, true);
    }

    let unpacked = bench.store.acquire(&registry.source(":1.0")).await.unwrap();

    assert_eq!(read(&unpacked, "name"), "remote");
    assert_eq!(unpacked.digest().to_string(), image.digest());
    assert_eq!(bench.stored(), [image.digest().replace(':', "-")]);
}

#[tokio::test]
async fn two_jobs_at_once_download_an_image_once_and_a_moved_tag_changes_nothing_for_later_ones() {
    let (registry, bench) = (RegistryServer::start().await, ImageBench::new());
    registry.put_image("1.0", &image("old"));
    let source = registry.source(":1.0");

    let (one, two) = tokio::join!(bench.store.acquire(&source), bench.store.acquire(&source));
    assert_eq!(one.unwrap().path(), two.unwrap().path());
    let asked = registry.request_count();
    assert_eq!(asked, 5, "index, manifest, configuration and two layers");
    registry.put_image("1.0", &image("new"));
    let later = bench.store.acquire(&source).await.unwrap();

    assert_eq!(read(&later, "name"), "old");
    assert_eq!(registry.request_count(), asked);
}

#[tokio::test]
async fn an_image_named_by_digest_is_that_image_or_none() {
    let (registry, bench) = (RegistryServer::start().await, ImageBench::new());
    let (wanted, other) = (image("wanted"), image("other"));
    registry.put_image("1.0", &wanted);
    let source = registry.source(&format!("@{}", wanted.digest()));
    registry.put(&format!("manifests/{}", wanted.digest()), MANIFEST, other.manifest());

    let refused = bench.store.acquire(&source).await.unwrap_err().to_string();
    assert!(refused.contains(&wanted.digest()) && refused.contains(&other.digest()), "{refused}");
    registry.put_image("1.0", &wanted);
    drop(bench.store.acquire(&source).await.unwrap());
    drop(registry);

    // Unpacked already: the registry is not needed any more.
    assert_eq!(read(&bench.store.acquire(&source).await.unwrap(), "name"), "wanted");
}

#[tokio::test]
async fn a_blob_that_differs_from_its_descriptor_is_rejected() {
    let image = image("remote");
    let layer = &image.layers[1].stored;
    let mut longer = layer.clone();
    longer.push(0);
    let mut flipped = layer.clone();
    flipped[10] ^= 1;
    for content in [longer, flipped, layer[..layer.len() - 1].to_vec(), vec![]] {
        let (registry, bench) = (RegistryServer::start().await, ImageBench::new());
        registry.put_image("1.0", &image);
        registry.put(&format!("blobs/{}", digest(layer)), "x", content);

        let refused = bench.store.acquire(&registry.source(":1.0")).await.unwrap_err().to_string();

        assert!(refused.contains("not what its digest promises"), "{refused}");
        assert_eq!(bench.stored(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_registry_without_the_image_or_without_answers_is_named_in_the_error() {
    let (registry, bench) = (RegistryServer::start().await, ImageBench::new());
    let source = registry.source(":9.9");
    let missing = bench.store.acquire(&source).await.unwrap_err().to_string();
    assert!(missing.contains("has no image http://127.0.0.1:"), "{missing}");
    registry.put("manifests/huge", MANIFEST, vec![b' '; 5 << 20]);
    let huge = bench.store.acquire(&registry.source(":huge")).await.unwrap_err().to_string();
    assert!(huge.contains("exceeds the limit"), "{huge}");
    drop(registry);

    let gone = bench.store.acquire(&source).await.unwrap_err().to_string();

    assert!(gone.contains("the registry 127.0.0.1:") && gone.contains("cannot be used"), "{gone}");
}
