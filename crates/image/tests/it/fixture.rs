//! Builds images: layers entry by entry, with every field under control.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use cynode_image::{ImageError, ImageSource, ImageStore, StoreLimits, UnpackedImage};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

pub(crate) const TAR: &str = "application/vnd.oci.image.layer.v1.tar";
pub(crate) const GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
pub(crate) const ZSTD: &str = "application/vnd.oci.image.layer.v1.tar+zstd";
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";

pub(crate) fn digest(content: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(content)))
}

/// A tar archive that is written entry by entry, without any check.
#[derive(Default)]
pub(crate) struct LayerBuilder {
    bytes: Vec<u8>,
}

impl LayerBuilder {
    pub(crate) fn file(self, path: &str, content: &str) -> Self {
        self.file_with_mode(path, content, 0o644)
    }

    pub(crate) fn file_with_mode(self, path: &str, content: &str, mode: u32) -> Self {
        self.entry(b'0', path, "", mode, content.as_bytes())
    }

    pub(crate) fn dir(self, path: &str) -> Self {
        self.entry(b'5', path, "", 0o755, b"")
    }

    pub(crate) fn symlink(self, path: &str, target: &str) -> Self {
        self.entry(b'2', path, target, 0o777, b"")
    }

    pub(crate) fn hard_link(self, path: &str, target: &str) -> Self {
        self.entry(b'1', path, target, 0o644, b"")
    }

    pub(crate) fn entry(
        mut self,
        kind: u8,
        path: &str,
        link: &str,
        mode: u32,
        content: &[u8],
    ) -> Self {
        let mut header = [0_u8; 512];
        let put = |header: &mut [u8; 512], at: usize, text: &[u8]| {
            header[at..at + text.len()].copy_from_slice(text);
        };
        put(&mut header, 0, path.as_bytes());
        put(&mut header, 100, format!("{mode:07o}\0").as_bytes());
        put(&mut header, 108, b"0000000\x000000000\0");
        put(&mut header, 124, format!("{:011o}\0", content.len()).as_bytes());
        put(&mut header, 136, b"14371573000\0");
        header[156] = kind;
        put(&mut header, 157, link.as_bytes());
        put(&mut header, 257, b"ustar\x0000");
        put(&mut header, 148, b"        ");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        put(&mut header, 148, format!("{sum:06o}\0 ").as_bytes());
        self.bytes.extend_from_slice(&header);
        self.bytes.extend_from_slice(content);
        self.bytes.resize(self.bytes.len().next_multiple_of(512), 0);
        self
    }

    pub(crate) fn build(mut self) -> Vec<u8> {
        self.bytes.resize(self.bytes.len() + 1024, 0);
        self.bytes
    }
}

pub(crate) fn layer() -> LayerBuilder {
    LayerBuilder::default()
}

pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zstd(content: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(content, ruzstd::encoding::CompressionLevel::Fastest)
}

/// A layer as it is stored, and before compression.
#[derive(Clone)]
pub(crate) struct StoredLayer {
    pub(crate) media_type: &'static str,
    pub(crate) stored: Vec<u8>,
    pub(crate) plain: Vec<u8>,
}

impl StoredLayer {
    pub(crate) fn plain(content: Vec<u8>) -> Self {
        Self { media_type: TAR, stored: content.clone(), plain: content }
    }

    pub(crate) fn gzip(content: Vec<u8>) -> Self {
        Self { media_type: GZIP, stored: gzip(&content), plain: content }
    }

    pub(crate) fn zstd(content: Vec<u8>) -> Self {
        Self { media_type: ZSTD, stored: zstd(&content), plain: content }
    }
}

/// An image as blobs.
pub(crate) struct ImageBuilder {
    pub(crate) layers: Vec<StoredLayer>,
    pub(crate) env: Vec<String>,
}

pub(crate) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

impl ImageBuilder {
    pub(crate) fn new(layers: Vec<StoredLayer>) -> Self {
        Self { layers, env: vec!["PATH=/bin".to_owned()] }
    }

    pub(crate) fn config(&self) -> Vec<u8> {
        let diff_ids: Vec<_> = self.layers.iter().map(|layer| digest(&layer.plain)).collect();
        let config = json!({
            "architecture": architecture(), "os": "linux",
            "config": { "Env": self.env },
            "rootfs": { "type": "layers", "diff_ids": diff_ids },
        });
        config.to_string().into_bytes()
    }

    pub(crate) fn manifest(&self) -> Vec<u8> {
        let describe = |media_type: &str, content: &[u8]| descriptor(media_type, content);
        let layers: Vec<_> =
            self.layers.iter().map(|layer| describe(layer.media_type, &layer.stored)).collect();
        let config = describe("application/vnd.oci.image.config.v1+json", &self.config());
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers,
        });
        manifest.to_string().into_bytes()
    }

    pub(crate) fn blobs(&self) -> Vec<Vec<u8>> {
        let layers = self.layers.iter().map(|layer| layer.stored.clone());
        layers.chain([self.config(), self.manifest()]).collect()
    }

    pub(crate) fn index(&self) -> Value {
        let mut own = descriptor(MANIFEST, &self.manifest());
        own["platform"] = json!({ "architecture": architecture(), "os": "linux" });
        let mut other = descriptor(MANIFEST, b"another machine");
        other["platform"] = json!({ "architecture": "pdp11", "os": "linux" });
        json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [other, own] })
    }

    /// Writes an OCI layout directory.
    pub(crate) fn write_layout(&self, dir: &Path) {
        fs::create_dir_all(dir.join("blobs/sha256")).unwrap();
        fs::write(dir.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
        fs::write(dir.join("index.json"), self.index().to_string()).unwrap();
        for blob in self.blobs() {
            fs::write(blob_file(dir, &digest(&blob)), &blob).unwrap();
        }
    }

    pub(crate) fn digest(&self) -> String {
        digest(&self.manifest())
    }
}

pub(crate) fn blob_file(layout: &Path, digest: &str) -> PathBuf {
    layout.join("blobs/sha256").join(digest.trim_start_matches("sha256:"))
}

pub(crate) fn descriptor(media_type: &str, content: &[u8]) -> Value {
    json!({ "mediaType": media_type, "digest": digest(content), "size": content.len() })
}

/// A store, and a directory for sources.
pub(crate) struct ImageBench {
    pub(crate) home: TempDir,
    pub(crate) store: ImageStore,
}

impl ImageBench {
    pub(crate) fn new() -> Self {
        Self::with_limits(StoreLimits::default())
    }

    pub(crate) fn with_limits(limits: StoreLimits) -> Self {
        let home = tempfile::tempdir().unwrap();
        let store = ImageStore::open(&home.path().join("images"), limits).unwrap();
        Self { home, store }
    }

    pub(crate) fn images_dir(&self) -> PathBuf {
        self.home.path().join("images")
    }

    pub(crate) async fn unpack_layers(
        &self,
        layers: Vec<Vec<u8>>,
    ) -> Result<UnpackedImage, ImageError> {
        self.unpack(&ImageBuilder::new(layers.into_iter().map(StoredLayer::plain).collect())).await
    }

    pub(crate) async fn unpack(&self, image: &ImageBuilder) -> Result<UnpackedImage, ImageError> {
        let name = image.digest();
        let layout = self.home.path().join("layouts").join(name.trim_start_matches("sha256:"));
        image.write_layout(&layout);
        self.acquire(&layout).await
    }

    pub(crate) async fn acquire(&self, path: &Path) -> Result<UnpackedImage, ImageError> {
        self.store.acquire(&ImageSource::Path(path.to_owned())).await
    }

    /// Names in the directory of images.
    pub(crate) fn stored(&self) -> Vec<String> {
        let entries = fs::read_dir(self.images_dir()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| !name.starts_with(".lock-")).collect();
        names.sort();
        names
    }
}

pub(crate) fn root(image: &UnpackedImage) -> PathBuf {
    image.path().join("rootfs")
}

pub(crate) fn read(image: &UnpackedImage, path: &str) -> String {
    fs::read_to_string(root(image).join(path)).unwrap()
}
