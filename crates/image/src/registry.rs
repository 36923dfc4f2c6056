//! Reads images from a registry: the distribution API, version 2, without credentials.

mod challenge;

use std::fs;
use std::path::Path;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, WWW_AUTHENTICATE};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt as _;
use url::Url;

use self::challenge::BearerChallenge;
use crate::blobs::{BlobFiles, blob_path, verify_document};
use crate::digest::Sha256Digest;
use crate::error::ImageError;
use crate::limits::UnpackLimits;
use crate::local_image::parse_image_manifest;
use crate::manifest::{
    ContentDescriptor, INDEX_TYPES, MANIFEST_TYPES, ManifestDocument, ParsedManifest,
    choose_platform,
};
use crate::source::{ImageVersion, RegistryReference};
use crate::verified_reader::CancelFlag;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest silence of a registry.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_REDIRECTS: usize = 5;
const MAX_TOKEN_BYTES: u64 = 64 * 1024;
const MAX_INDEX_DEPTH: u32 = 4;

/// A client of one repository.
pub(crate) struct RegistryClient<'a> {
    reference: &'a RegistryReference,
    limits: UnpackLimits,
    client: Client,
    token: tokio::sync::Mutex<Option<String>>,
}

impl<'a> RegistryClient<'a> {
    pub(crate) fn new(
        reference: &'a RegistryReference,
        limits: UnpackLimits,
    ) -> Result<Self, ImageError> {
        let is_secure = reference.scheme == "https";
        let policy = Policy::custom(move |attempt| {
            if attempt.previous().len() > MAX_REDIRECTS {
                return attempt.error("too many redirects");
            }
            if is_secure && attempt.url().scheme() != "https" {
                return attempt.error("redirect from https to plain http");
            }
            attempt.follow()
        });
        let client = Client::builder()
            .no_proxy()
            .redirect(policy)
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .build();
        let failed = |error| registry_error(reference, &error);
        let token = tokio::sync::Mutex::default();
        Ok(Self { reference, limits, client: client.map_err(failed)?, token })
    }

    /// Fetches the manifest of the image for this machine: of `digest`, or of the reference.
    pub(crate) async fn fetch_manifest(
        &self,
        digest: Option<Sha256Digest>,
    ) -> Result<Vec<u8>, ImageError> {
        let version = match (digest, &self.reference.version) {
            (Some(digest), _) => digest.to_string(),
            (None, ImageVersion::Digest(digest)) => digest.to_string(),
            (None, ImageVersion::Tag(tag)) => tag.clone(),
        };
        let mut content = self.get_manifest(&version).await?;
        if let Ok(expected) = version.parse::<Sha256Digest>() {
            let size = content.len() as u64;
            let media_type = String::new();
            let claim = ContentDescriptor { media_type, digest: expected, size, platform: None };
            verify_document(&content, &claim)?;
        }
        for _ in 0..MAX_INDEX_DEPTH {
            let ParsedManifest::Index(manifests) = ManifestDocument::parse(&content)? else {
                return Ok(content);
            };
            let chosen = choose_platform(&manifests)?;
            content = self.get_manifest(&chosen.digest.to_string()).await?;
            verify_document(&content, chosen)?;
        }
        let reason = format!("no manifest within {MAX_INDEX_DEPTH} indexes");
        Err(ImageError::invalid("the index of the image", reason))
    }

    /// Downloads configuration and layers of a manifest to `dir`, and verifies each.
    pub(crate) async fn download(
        &self,
        manifest: &[u8],
        dir: &Path,
        flag: &CancelFlag,
    ) -> Result<BlobFiles, ImageError> {
        let (config, layers) = parse_image_manifest(manifest, &self.limits)?;
        if config.size > self.limits.document_bytes {
            let what = "the size of the configuration of the image".to_owned();
            return Err(ImageError::Limit { what, limit: self.limits.document_bytes });
        }
        fs::create_dir_all(dir.join("blobs/sha256")).map_err(ImageError::io(dir))?;
        for blob in layers.iter().chain([&config]) {
            self.download_blob(blob, dir, flag).await?;
        }
        Ok(BlobFiles::Layout(dir.to_owned()))
    }

    async fn download_blob(
        &self,
        blob: &ContentDescriptor,
        dir: &Path,
        flag: &CancelFlag,
    ) -> Result<(), ImageError> {
        let path = dir.join(blob_path(blob.digest));
        if path.exists() {
            return Ok(());
        }
        let mut response = self.get(&format!("blobs/{}", blob.digest), &[]).await?;
        let mut file = tokio::fs::File::create(&path).await.map_err(ImageError::io(&path))?;
        let (mut hasher, mut size) = (Sha256::new(), 0_u64);
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failed(&error))? {
            flag.check()?;
            size = size.saturating_add(chunk.len() as u64);
            if size > blob.size {
                break;
            }
            hasher.update(&chunk);
            file.write_all(&chunk).await.map_err(ImageError::io(&path))?;
        }
        file.flush().await.map_err(ImageError::io(&path))?;
        let found = Sha256Digest::from_hasher(hasher);
        if size == blob.size && found == blob.digest {
            return Ok(());
        }
        let expected = format!("{} of {} bytes", blob.digest, blob.size);
        let found = if size > blob.size {
            "more bytes".to_owned()
        } else {
            format!("{found} of {size} bytes")
        };
        Err(ImageError::Digest { what: "a blob of the registry".to_owned(), expected, found })
    }

    async fn get_manifest(&self, version: &str) -> Result<Vec<u8>, ImageError> {
        let accepted: Vec<_> = MANIFEST_TYPES.iter().chain(&INDEX_TYPES).copied().collect();
        let response = self.get(&format!("manifests/{version}"), &accepted).await?;
        self.read_bounded(response, self.limits.document_bytes).await
    }

    async fn get(&self, path: &str, accepted: &[&str]) -> Result<Response, ImageError> {
        let RegistryReference { scheme, host, repository, .. } = self.reference;
        let url = format!("{scheme}://{host}/v2/{repository}/{path}");
        let first = self.send(&url, accepted).await?;
        if first.status() != StatusCode::UNAUTHORIZED {
            return self.check_status(first);
        }
        let header = first.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
        let challenge = header.and_then(BearerChallenge::parse).ok_or_else(|| {
            self.refused("needs credentials; this node reads public images only".to_owned())
        })?;
        let token = self.fetch_token(&challenge).await?;
        *self.token.lock().await = Some(token);
        let second = self.send(&url, accepted).await?;
        self.check_status(second)
    }

    async fn send(&self, url: &str, accepted: &[&str]) -> Result<Response, ImageError> {
        let mut request = self.client.get(url);
        if !accepted.is_empty() {
            request = request.header(ACCEPT, accepted.join(", "));
        }
        if let Some(token) = self.token.lock().await.as_deref() {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        request.send().await.map_err(|error| self.failed(&error))
    }

    fn check_status(&self, response: Response) -> Result<Response, ImageError> {
        match response.status() {
            status if status.is_success() => Ok(response),
            StatusCode::NOT_FOUND => Err(self.refused(format!("has no image {}", self.reference))),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                Err(self.refused("denies this image without credentials".to_owned()))
            }
            status => Err(self.refused(format!("answered with status {status}"))),
        }
    }

    async fn fetch_token(&self, challenge: &BearerChallenge) -> Result<String, ImageError> {
        let invalid = |_| self.refused("names an invalid address for tokens".to_owned());
        let mut url = Url::parse(&challenge.realm).map_err(invalid)?;
        if url.scheme() != "https" && self.reference.scheme == "https" {
            return Err(self.refused("names an address for tokens without https".to_owned()));
        }
        {
            let mut query = url.query_pairs_mut();
            if let Some(service) = &challenge.service {
                query.append_pair("service", service);
            }
            let own_scope = format!("repository:{}:pull", self.reference.repository);
            query.append_pair("scope", challenge.scope.as_deref().unwrap_or(&own_scope));
        }
        let response = self.client.get(url.as_str()).send().await;
        let response = self.check_status(response.map_err(|error| self.failed(&error))?)?;
        let body = self.read_bounded(response, MAX_TOKEN_BYTES).await?;
        challenge::parse_token(&body)
            .ok_or_else(|| self.refused("returned no token for anonymous access".to_owned()))
    }

    async fn read_bounded(
        &self,
        mut response: Response,
        limit: u64,
    ) -> Result<Vec<u8>, ImageError> {
        let mut content = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failed(&error))? {
            if (content.len() + chunk.len()) as u64 > limit {
                let what = format!("a response of the registry {}", self.reference.host);
                return Err(ImageError::Limit { what, limit });
            }
            content.extend_from_slice(&chunk);
        }
        Ok(content)
    }

    fn failed(&self, error: &reqwest::Error) -> ImageError {
        registry_error(self.reference, error)
    }

    fn refused(&self, reason: String) -> ImageError {
        ImageError::Registry { host: self.reference.host.clone(), reason }
    }
}

fn registry_error(reference: &RegistryReference, error: &reqwest::Error) -> ImageError {
    let mut reason = format!("cannot be used: {error}");
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        reason = format!("{reason}: {inner}");
        cause = inner.source();
    }
    ImageError::Registry { host: reference.host.clone(), reason }
}
