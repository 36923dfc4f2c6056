//! The documents of an image: index, manifest and configuration.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::digest::Sha256Digest;
use crate::error::ImageError;

pub(crate) const INDEX_TYPES: [&str; 2] = [
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
];
pub(crate) const MANIFEST_TYPES: [&str; 2] = [
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
];
const LAYER_TYPES: [&str; 5] = [
    "application/vnd.oci.image.layer.v1.tar",
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.oci.image.layer.v1.tar+zstd",
    "application/vnd.docker.image.rootfs.diff.tar",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
];
/// Bytes of all variables together.
const MAX_ENV_BYTES: usize = 64 * 1024;

/// A reference to content by digest and size.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContentDescriptor {
    #[serde(default)]
    pub(crate) media_type: String,
    pub(crate) digest: Sha256Digest,
    pub(crate) size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) platform: Option<ImagePlatform>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct ImagePlatform {
    pub(crate) architecture: String,
    pub(crate) os: String,
}

/// An index or a manifest; which of them is decided by what it contains.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ManifestDocument {
    #[serde(default)]
    manifests: Option<Vec<ContentDescriptor>>,
    #[serde(default)]
    config: Option<ContentDescriptor>,
    #[serde(default)]
    layers: Option<Vec<ContentDescriptor>>,
}

pub(crate) enum ParsedManifest {
    Index(Vec<ContentDescriptor>),
    Image { config: ContentDescriptor, layers: Vec<ContentDescriptor> },
}

impl ManifestDocument {
    pub(crate) fn parse(content: &[u8]) -> Result<ParsedManifest, ImageError> {
        let invalid = |reason: String| ImageError::invalid("the manifest of the image", reason);
        let parsed: Self =
            serde_json::from_slice(content).map_err(|error| invalid(error.to_string()))?;
        match parsed {
            Self { manifests: Some(manifests), config: None, layers: None } => {
                Ok(ParsedManifest::Index(manifests))
            }
            Self { manifests: None, config: Some(config), layers: Some(layers) } => {
                Ok(ParsedManifest::Image { config, layers })
            }
            _ => Err(invalid("it is neither an index nor the manifest of an image".to_owned())),
        }
    }
}

/// Chooses the descriptor for this machine.
pub(crate) fn choose_platform(
    manifests: &[ContentDescriptor],
) -> Result<&ContentDescriptor, ImageError> {
    let wanted = oci_architecture();
    let is_manifest = |entry: &&ContentDescriptor| {
        let types = || INDEX_TYPES.iter().chain(&MANIFEST_TYPES);
        entry.media_type.is_empty() || types().any(|known| *known == entry.media_type)
    };
    let fits = |entry: &&ContentDescriptor| {
        let platform = entry.platform.as_ref();
        platform.is_none_or(|found| found.os == "linux" && found.architecture == wanted)
    };
    let usable: Vec<_> = manifests.iter().filter(is_manifest).filter(fits).collect();
    match usable.as_slice() {
        [one] => Ok(one),
        [] => {
            let platforms = manifests.iter().filter_map(|entry| entry.platform.as_ref());
            let mut found: Vec<_> = platforms
                .map(|platform| format!("{}/{}", platform.os, platform.architecture))
                .take(20)
                .collect();
            found.dedup();
            let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
            Err(ImageError::Platform { wanted: format!("linux/{wanted}"), found })
        }
        // Variants of one architecture, such as arm v7 and v6: the first is preferred.
        [first, ..] if usable.iter().all(|entry| entry.platform.is_some()) => Ok(first),
        several => Err(ImageError::Unsupported(format!(
            "the source has {} images; keep one image in each layout or archive",
            several.len()
        ))),
    }
}

pub(crate) fn check_layer_type(layer: &ContentDescriptor) -> Result<(), ImageError> {
    let found = &layer.media_type;
    if LAYER_TYPES.contains(&found.as_str()) {
        return Ok(());
    }
    Err(ImageError::Unsupported(format!(
        "the image has a layer of the type \"{found}\"; supported are tar, tar+gzip and tar+zstd"
    )))
}

/// The configuration of an image; entry point, user and working directory are not used.
#[derive(Debug, Deserialize)]
pub(crate) struct ImageConfigDocument {
    #[serde(default)]
    architecture: String,
    #[serde(default)]
    os: String,
    #[serde(default)]
    config: Option<ImageRuntimeConfig>,
    rootfs: RootFilesystem,
}

#[derive(Debug, Default, Deserialize)]
struct ImageRuntimeConfig {
    #[serde(default, rename = "Env")]
    env: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct RootFilesystem {
    #[serde(default)]
    diff_ids: Option<Vec<Sha256Digest>>,
}

impl ImageConfigDocument {
    pub(crate) fn parse(content: &[u8]) -> Result<Self, ImageError> {
        let invalid = |reason| ImageError::invalid("the configuration of the image", reason);
        let parsed: Self = serde_json::from_slice(content).map_err(invalid)?;
        let wanted = oci_architecture();
        let is_other = |found: &str, wanted: &str| !found.is_empty() && found != wanted;
        if is_other(&parsed.os, "linux") || is_other(&parsed.architecture, wanted) {
            let found = format!("{}/{}", parsed.os, parsed.architecture);
            return Err(ImageError::Platform { wanted: format!("linux/{wanted}"), found });
        }
        Ok(parsed)
    }

    /// The digests of the layers after decompression.
    pub(crate) fn diff_ids(&self) -> &[Sha256Digest] {
        self.rootfs.diff_ids.as_deref().unwrap_or_default()
    }

    /// The variables with plain names; of two with the same name, the later one.
    pub(crate) fn env(&self) -> Result<BTreeMap<String, String>, ImageError> {
        let entries = self.config.as_ref().and_then(|config| config.env.as_deref());
        let entries = entries.unwrap_or_default();
        if entries.iter().map(String::len).sum::<usize>() > MAX_ENV_BYTES {
            let what = "the environment of the image, in bytes,".to_owned();
            return Err(ImageError::Limit { what, limit: MAX_ENV_BYTES as u64 });
        }
        let variables = entries.iter().filter_map(|entry| entry.split_once('='));
        let plain = variables.filter(|(name, value)| is_plain_name(name) && !value.contains('\0'));
        Ok(plain.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }
}

fn is_plain_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
}

/// The name that images use for the architecture of this machine.
pub(crate) fn oci_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        "powerpc64" => "ppc64le",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn descriptor(architecture: Option<&str>) -> ContentDescriptor {
        ContentDescriptor {
            media_type: MANIFEST_TYPES[0].to_owned(),
            digest: Sha256Digest::compute(architecture.unwrap_or_default().as_bytes()),
            size: 1,
            platform: architecture.map(|architecture| ImagePlatform {
                architecture: architecture.to_owned(),
                os: "linux".to_owned(),
            }),
        }
    }

    #[test]
    fn an_index_offers_the_image_of_this_architecture_only() {
        let own = descriptor(Some(oci_architecture()));
        let other = descriptor(Some("pdp11"));

        assert_eq!(choose_platform(&[other.clone(), own.clone()]).unwrap(), &own);
        let refused = choose_platform(&[other]).unwrap_err().to_string();
        assert!(refused.contains("it has: linux/pdp11"), "{refused}");
        assert!(choose_platform(&[descriptor(None), descriptor(None)]).is_err());
    }

    #[test]
    fn only_plain_variables_of_an_image_are_used() {
        let config = json!({
            "config": { "Env": ["PATH=/a", "PATH=/b", "1X=a", "NO", "A B=c", "N=a\0b", "K=v=w", "=x"],
                "Entrypoint": ["/bin/evil"], "User": "0", "WorkingDir": "/root" },
            "rootfs": { "type": "layers", "diff_ids": [] },
        });
        let config = ImageConfigDocument::parse(config.to_string().as_bytes()).unwrap();

        let env: Vec<_> = config.env().unwrap().into_iter().collect();

        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(env, [pair("K", "v=w"), pair("PATH", "/b")]);
    }

    #[test]
    fn a_document_that_is_index_and_manifest_at_once_is_rejected() {
        let one = json!(descriptor(None));
        let both = json!({ "manifests": [one], "config": one, "layers": [] });

        assert!(ManifestDocument::parse(both.to_string().as_bytes()).is_err());
        assert!(ManifestDocument::parse(b"[]").is_err());
    }
}
