//! The images of a node: `<state>/images/sha256-<digest>/`, each complete and unchanged until it is evicted.
//!
//! ```text
//! sha256-<digest>/rootfs       the files of the image
//! sha256-<digest>/image.json   its variables and size
//! .unpack-*                    an image that is being unpacked; removed by the next start
//! .evicted-*                   an image that is being removed; likewise
//! .lock-<digest>               locked while the image is unpacked
//! ```
//!
//! A job locks the directory of its image shared while it runs; an image is evicted under an exclusive lock only. The
//! kernel releases the locks of a killed process.

mod evict;

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cynode_runtime::durable_file;
use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::digest::Sha256Digest;
use crate::error::ImageError;
use crate::limits::StoreLimits;
use crate::local_image::LocalImage;
use crate::registry::RegistryClient;
use crate::source::{ImageSource, RegistryReference};
use crate::unpack::unpack_layers;
use crate::verified_reader::CancelFlag;

const STAGING_PREFIX: &str = ".unpack-";
const EVICTED_PREFIX: &str = ".evicted-";
const LOCK_PREFIX: &str = ".lock-";

/// The images of a node. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ImageStore {
    shared: Arc<StoreState>,
}

#[derive(Debug)]
struct StoreState {
    dir: PathBuf,
    limits: StoreLimits,
    flag: CancelFlag,
    /// Which image a reference to a registry stands for, for the life of this process: the steps of a task see one image
    /// even if its tag moves. The lock of an entry is held while it is downloaded.
    resolved: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Option<Sha256Digest>>>>>,
}

/// `image.json` of an unpacked image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ImageRecord {
    env: BTreeMap<String, String>,
    disk_bytes: u64,
}

/// An unpacked image, which is not evicted while this value lives.
#[derive(Debug)]
pub struct UnpackedImage {
    digest: Sha256Digest,
    path: PathBuf,
    env: BTreeMap<String, String>,
    #[expect(dead_code, reason = "held for its lock")]
    in_use: ImageUse,
}

impl UnpackedImage {
    pub fn digest(&self) -> Sha256Digest {
        self.digest
    }

    /// The directory of the image, to be locked by [`ImageUse::lock`].
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Variables that the image declares.
    pub fn env(&self) -> &BTreeMap<String, String> {
        &self.env
    }
}

/// A shared lock on an image: it is not evicted while this value or its process lives.
#[derive(Debug)]
pub struct ImageUse {
    locked: File,
}

impl ImageUse {
    /// Locks the image in the directory `path`. Fails if it is being evicted or was evicted.
    pub fn lock(path: &Path) -> io::Result<Self> {
        let dir = File::open(path)?;
        match dir.try_lock_shared() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::NotFound.into()),
            Err(TryLockError::Error(cause)) => return Err(cause),
        }
        // An eviction renames the directory under its lock.
        let (locked, named) = (dir.metadata()?, fs::metadata(path)?);
        if (locked.dev(), locked.ino()) != (named.dev(), named.ino()) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Self { locked: dir })
    }

    /// The files of the image in the directory `path`.
    pub fn root_dir(path: &Path) -> PathBuf {
        path.join("rootfs")
    }
}

impl ImageStore {
    /// Opens the directory of images and removes what a killed process left. No other process may use it.
    pub fn open(dir: &Path, limits: StoreLimits) -> Result<Self, ImageError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(ImageError::io(dir))?;
        for entry in fs::read_dir(dir).map_err(ImageError::io(dir))? {
            let path = entry.map_err(ImageError::io(dir))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_left = [STAGING_PREFIX, EVICTED_PREFIX, LOCK_PREFIX]
                .iter()
                .any(|prefix| name.starts_with(prefix));
            if is_left {
                let removed =
                    if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                removed.map_err(ImageError::io(&path))?;
            }
        }
        let (flag, resolved) = (CancelFlag::default(), Mutex::default());
        let shared = StoreState { dir: dir.to_owned(), limits, flag, resolved };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Ends every unpacking soon; later ones fail.
    pub fn cancel(&self) {
        self.shared.flag.cancel();
    }

    /// Unpacks the image of a source unless it is unpacked already. Concurrent calls unpack one image once.
    pub async fn acquire(&self, source: &ImageSource) -> Result<UnpackedImage, ImageError> {
        match source {
            ImageSource::Path(path) => {
                let (store, path) = (self.clone(), path.clone());
                run_blocking(move || {
                    let image = LocalImage::open(&path, &store.shared.limits.image)?;
                    store.unpack_once(&image)
                })
                .await
            }
            ImageSource::Registry(reference) => self.acquire_remote(reference).await,
        }
    }

    async fn acquire_remote(
        &self,
        reference: &RegistryReference,
    ) -> Result<UnpackedImage, ImageError> {
        let slot = {
            let resolved = self.shared.resolved.lock();
            let mut resolved = resolved.unwrap_or_else(PoisonError::into_inner);
            Arc::clone(resolved.entry(reference.to_string()).or_default())
        };
        let mut resolved = slot.lock().await;
        let limits = self.shared.limits.image;
        let registry = RegistryClient::new(reference, limits)?;
        let known = match *resolved {
            Some(digest) => Some(digest),
            None => reference.digest(),
        };
        if let Some(digest) = known
            && let Some(image) = self.find(digest)?
        {
            return Ok(image);
        }
        let manifest = registry.fetch_manifest(known).await?;
        let digest = Sha256Digest::compute(&manifest);
        let image = if let Some(image) = self.find(digest)? {
            image
        } else {
            let dir = self.staging_dir()?;
            let files = registry.download(&manifest, dir.path(), &self.shared.flag).await?;
            let store = self.clone();
            run_blocking(move || {
                let image = LocalImage::from_manifest(files, &manifest, &limits)?;
                let unpacked = store.unpack_once(&image);
                drop(dir);
                unpacked
            })
            .await?
        };
        *resolved = Some(digest);
        Ok(image)
    }

    /// Blocks.
    fn unpack_once(&self, image: &LocalImage) -> Result<UnpackedImage, ImageError> {
        if let Some(found) = self.find(image.digest)? {
            return Ok(found);
        }
        let lock_path = self.shared.dir.join(format!("{LOCK_PREFIX}{}", image.digest.hex()));
        let lock = File::create(&lock_path).map_err(ImageError::io(&lock_path))?;
        lock.lock().map_err(ImageError::io(&lock_path))?;
        if let Some(found) = self.find(image.digest)? {
            return Ok(found);
        }
        let staging = self.staging_dir()?;
        let limits = &self.shared.limits.image;
        let root = staging.path().join("rootfs");
        let disk_bytes = unpack_layers(image, &root, limits, &self.shared.flag)?;
        let record = ImageRecord { env: image.env.clone(), disk_bytes };
        write_record(staging.path(), &record).map_err(ImageError::io(staging.path()))?;
        // Held until the new image is there: two images that arrive at once cannot both take the same room.
        let _room = self.make_room(disk_bytes)?;
        self.publish(image.digest, &staging)?;
        tracing::info!(image.digest = %image.digest, bytes = disk_bytes, "image unpacked");
        let gone = || ImageError::io(&self.image_dir(image.digest))(io::ErrorKind::NotFound.into());
        self.find(image.digest)?.ok_or_else(gone)
    }

    /// Makes everything durable, then gives the directory its name.
    fn publish(&self, digest: Sha256Digest, staging: &TempDir) -> Result<(), ImageError> {
        let path = staging.path();
        let synced = File::open(path).and_then(|dir| Ok(rustix::fs::syncfs(dir)?));
        synced.map_err(ImageError::io(path))?;
        let target = self.image_dir(digest);
        fs::rename(path, &target).map_err(ImageError::io(&target))?;
        durable_file::sync_parent(&target).map_err(ImageError::io(&target))
    }

    /// Locks an unpacked image and marks it as used now.
    fn find(&self, digest: Sha256Digest) -> Result<Option<UnpackedImage>, ImageError> {
        let path = self.image_dir(digest);
        let in_use = match ImageUse::lock(&path) {
            Ok(in_use) => in_use,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ImageError::io(&path)(error)),
        };
        let record = read_record(&path).map_err(ImageError::io(&path))?;
        mark_used(&in_use.locked).map_err(ImageError::io(&path))?;
        Ok(Some(UnpackedImage { digest, path, env: record.env, in_use }))
    }

    fn staging_dir(&self) -> Result<TempDir, ImageError> {
        let made = tempfile::Builder::new().prefix(STAGING_PREFIX).tempdir_in(&self.shared.dir);
        made.map_err(ImageError::io(&self.shared.dir))
    }

    fn image_dir(&self, digest: Sha256Digest) -> PathBuf {
        self.shared.dir.join(digest.directory_name())
    }
}

fn write_record(dir: &Path, record: &ImageRecord) -> io::Result<()> {
    fs::write(dir.join("image.json"), serde_json::to_vec(record)?)
}

fn read_record(dir: &Path) -> io::Result<ImageRecord> {
    Ok(serde_json::from_slice(&fs::read(dir.join("image.json"))?)?)
}

/// The modification time of the directory is the time of the last use.
fn mark_used(dir: &File) -> io::Result<()> {
    let last_modification = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    Ok(rustix::fs::futimens(dir, &Timestamps { last_access, last_modification })?)
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ImageError> + Send + 'static,
) -> Result<T, ImageError> {
    let ended = tokio::task::spawn_blocking(work).await;
    ended.unwrap_or_else(|error| {
        Err(ImageError::Io { path: PathBuf::new(), cause: io::Error::other(error) })
    })
}
