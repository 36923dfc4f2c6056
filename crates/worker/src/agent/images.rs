//! The images of a node: which names it knows, and how a job gets the files of one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use cynode_domain::image_name::HOST_IMAGE;
use cynode_image::{ImageError, ImageSource, ImageStore, StoreLimits, UnpackedImage};
use cynode_runtime::shutdown::Shutdown;
use cynode_sandbox::job_dir::JobDir;
use cynode_sandbox::spec::JobImage;
use cynode_wire::nodes::Assignment;

use super::DaemonContext;

/// The images that jobs of a node may run in, besides `host`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageOptions {
    pub sources: BTreeMap<String, ImageSource>,
    /// Bytes of all unpacked images together.
    pub storage_bytes: u64,
}

#[derive(Debug)]
pub(super) struct NodeImages {
    sources: BTreeMap<String, ImageSource>,
    /// `None` if no image is configured: the directory is not created.
    store: Option<ImageStore>,
}

impl NodeImages {
    /// Opens the directory of images and removes what a killed process left. Blocks.
    pub(super) fn open(state_dir: &Path, options: &ImageOptions) -> Result<Self, ImageError> {
        let dir = state_dir.join("images");
        let limits = StoreLimits { total_bytes: options.storage_bytes, ..StoreLimits::default() };
        let is_used = !options.sources.is_empty() || dir.exists();
        let store = is_used.then(|| ImageStore::open(&dir, limits)).transpose()?;
        Ok(Self { sources: options.sources.clone(), store })
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.sources.keys().cloned().collect()
    }

    /// Ends downloads and unpacking, so that the node can exit.
    pub(super) fn cancel(&self) {
        if let Some(store) = &self.store {
            store.cancel();
        }
    }

    async fn acquire(&self, name: &str) -> Result<UnpackedImage, String> {
        let (Some(source), Some(store)) = (self.sources.get(name), &self.store) else {
            return Err(format!(
                "this node has no image \"{name}\"; add --image {name}=SOURCE to it, or choose another image"
            ));
        };
        store.acquire(source).await.map_err(|error| {
            format!(
                "the image \"{name}\" cannot be used: {}; correct or replace {source}, the source of --image {name} \
                 on this node, or choose another image",
                error.describe()
            )
        })
    }
}

/// An image that a job or command holds while it runs.
pub(super) struct AcquiredImage(UnpackedImage);

impl AcquiredImage {
    /// What its directory records of it.
    pub(super) fn recorded(&self) -> JobImage {
        JobImage { path: self.0.path().to_owned(), env: self.0.env().clone() }
    }
}

/// Unpacks an image, if it is not the node's own system.
pub(super) async fn acquire_image(
    context: &DaemonContext,
    name: Option<&str>,
) -> Result<Option<AcquiredImage>, String> {
    match name.filter(|name| *name != HOST_IMAGE) {
        Some(name) => context.images.acquire(name).await.map(AcquiredImage).map(Some),
        None => Ok(None),
    }
}

/// Unpacks the image of a job and records it in the job's directory. The job must hold the returned value while it runs.
pub(super) async fn prepare_image(
    context: &DaemonContext,
    assignment: &Assignment,
    dir: &JobDir,
) -> Result<Option<AcquiredImage>, String> {
    let image = acquire_image(context, assignment.image.as_deref()).await?;
    if let Some(image) = &image {
        dir.set_image(&image.recorded())
            .map_err(|error| format!("its image cannot be recorded: {error}"))?;
    }
    Ok(image)
}

/// Unpacks every image once, so that no job waits for it and a wrong source is reported at once.
pub(super) async fn unpack_all(context: Arc<DaemonContext>, shutdown: Shutdown) {
    for name in context.images.names() {
        let unpacked = tokio::select! {
            () = shutdown.triggered() => return,
            unpacked = context.images.acquire(&name) => unpacked,
        };
        match unpacked {
            Ok(image) => {
                tracing::info!(image.name = name, image.digest = %image.digest(), "image ready");
            }
            Err(reason) => tracing::warn!(image.name = name, reason, "image unusable"),
        }
    }
}
