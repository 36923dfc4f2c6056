//! An image on disk: its identity, variables and layers.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::archive_index::ArchiveIndex;
use crate::blobs::{BlobFiles, blob_path};
use crate::digest::Sha256Digest;
use crate::error::ImageError;
use crate::layer_stream::LayerClaim;
use crate::limits::UnpackLimits;
use crate::manifest::{
    ContentDescriptor, ImageConfigDocument, ManifestDocument, ParsedManifest, check_layer_type,
    choose_platform,
};

/// Indexes that lead to the manifest of an image.
const MAX_INDEX_DEPTH: u32 = 4;

/// An image whose manifest and configuration are verified; its layers are not yet.
#[derive(Debug)]
pub(crate) struct LocalImage {
    pub(crate) files: BlobFiles,
    /// Digest of the manifest. An archive of `docker save` without one is identified by its configuration, which names
    /// the digest of every layer.
    pub(crate) digest: Sha256Digest,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) layers: Vec<LayerFile>,
}

/// A layer and its name among the files of the image.
#[derive(Debug)]
pub(crate) struct LayerFile {
    pub(crate) file: String,
    pub(crate) claim: LayerClaim,
}

/// An entry of `manifest.json` in an archive of `docker save`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SavedImage {
    config: String,
    layers: Vec<String>,
}

impl LocalImage {
    /// Reads the image at `path`.
    pub(crate) fn open(path: &Path, limits: &UnpackLimits) -> Result<Self, ImageError> {
        let missing = |_| ImageError::NotFound(path.to_owned());
        let metadata = std::fs::metadata(path).map_err(missing)?;
        let files = if metadata.is_dir() {
            BlobFiles::Layout(path.to_owned())
        } else if metadata.is_file() {
            BlobFiles::Archive(ArchiveIndex::read(path, limits)?)
        } else {
            return Err(ImageError::NotFound(path.to_owned()));
        };
        if files.contains("index.json") {
            let index = files.read_document("index.json", limits)?;
            return Self::from_index(files, &index, limits);
        }
        if files.contains("manifest.json") {
            return Self::from_saved(files, limits);
        }
        Err(ImageError::NotFound(path.to_owned()))
    }

    fn from_index(
        files: BlobFiles,
        index: &[u8],
        limits: &UnpackLimits,
    ) -> Result<Self, ImageError> {
        let mut content = index.to_vec();
        for _ in 0..MAX_INDEX_DEPTH {
            let ParsedManifest::Index(manifests) = ManifestDocument::parse(&content)? else {
                break;
            };
            let chosen = choose_platform(&manifests)?.clone();
            content = files.read_verified(&chosen, limits)?;
            if let ParsedManifest::Image { .. } = ManifestDocument::parse(&content)? {
                return Self::from_manifest(files, &content, limits);
            }
        }
        let reason = format!("no manifest within {MAX_INDEX_DEPTH} indexes");
        Err(ImageError::invalid("the index of the image", reason))
    }

    /// Reads the image of the verified manifest `content`.
    pub(crate) fn from_manifest(
        files: BlobFiles,
        content: &[u8],
        limits: &UnpackLimits,
    ) -> Result<Self, ImageError> {
        let digest = Sha256Digest::compute(content);
        let (config, layers) = parse_image_manifest(content, limits)?;
        let config = ImageConfigDocument::parse(&files.read_verified(&config, limits)?)?;
        let diff_ids = config.diff_ids();
        check_layer_count(layers.len(), diff_ids.len(), limits)?;
        let claims = layers.iter().zip(diff_ids).enumerate();
        let layers = claims.map(|(index, (layer, unpacked))| LayerFile {
            file: blob_path(layer.digest),
            claim: LayerClaim {
                name: layer_name(index),
                stored: Some(layer.digest),
                stored_size: layer.size,
                unpacked: *unpacked,
            },
        });
        Ok(Self { digest, env: config.env()?, layers: layers.collect(), files })
    }

    fn from_saved(files: BlobFiles, limits: &UnpackLimits) -> Result<Self, ImageError> {
        let content = files.read_document("manifest.json", limits)?;
        let invalid = |reason: String| ImageError::invalid("manifest.json of the archive", reason);
        let images: Vec<SavedImage> =
            serde_json::from_slice(&content).map_err(|error| invalid(error.to_string()))?;
        let [image] = images.as_slice() else {
            let count = images.len();
            return Err(invalid(format!("it has {count} images; keep one image in each archive")));
        };
        let content = files.read_document(&image.config, limits)?;
        let digest = Sha256Digest::compute(&content);
        let named = image.config.trim_end_matches(".json").rsplit('/').next().unwrap_or_default();
        if named != digest.hex() {
            let (expected, found) = (named.to_owned(), digest.hex());
            let what = "the configuration of the image".to_owned();
            return Err(ImageError::Digest { what, expected, found });
        }
        let config = ImageConfigDocument::parse(&content)?;
        let diff_ids = config.diff_ids();
        check_layer_count(image.layers.len(), diff_ids.len(), limits)?;
        let mut layers = Vec::new();
        for (index, (file, unpacked)) in image.layers.iter().zip(diff_ids).enumerate() {
            let (_, stored_size) = files.open(file)?;
            let claim = LayerClaim {
                name: layer_name(index),
                stored: None,
                stored_size,
                unpacked: *unpacked,
            };
            layers.push(LayerFile { file: file.clone(), claim });
        }
        Ok(Self { digest, env: config.env()?, layers, files })
    }
}

/// The descriptors of the configuration and the layers, within the limits.
pub(crate) fn parse_image_manifest(
    content: &[u8],
    limits: &UnpackLimits,
) -> Result<(ContentDescriptor, Vec<ContentDescriptor>), ImageError> {
    let ParsedManifest::Image { config, layers } = ManifestDocument::parse(content)? else {
        return Err(ImageError::invalid("the manifest of the image", "it is an index"));
    };
    check_layer_count(layers.len(), layers.len(), limits)?;
    layers.iter().try_for_each(check_layer_type)?;
    let stored = layers.iter().fold(0, |sum: u64, layer| sum.saturating_add(layer.size));
    if stored > limits.stored_bytes {
        let what = "the size of all layers of the image".to_owned();
        return Err(ImageError::Limit { what, limit: limits.stored_bytes });
    }
    Ok((config, layers))
}

fn layer_name(index: usize) -> String {
    format!("layer {} of the image", index + 1)
}

fn check_layer_count(
    layers: usize,
    diff_ids: usize,
    limits: &UnpackLimits,
) -> Result<(), ImageError> {
    if layers > limits.layers {
        let what = "the number of layers of the image".to_owned();
        return Err(ImageError::Limit { what, limit: limits.layers as u64 });
    }
    if layers != diff_ids {
        let reason = format!("it names {diff_ids} layers, the manifest {layers}");
        return Err(ImageError::invalid("the configuration of the image", reason));
    }
    Ok(())
}
