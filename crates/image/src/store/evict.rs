//! Removes the images that were not used for the longest time.

use std::fs::{self, File, TryLockError};
use std::path::PathBuf;
use std::time::SystemTime;

use super::{EVICTED_PREFIX, ImageStore, read_record};
use crate::digest::Sha256Digest;
use crate::error::ImageError;

struct StoredImage {
    path: PathBuf,
    used_at: SystemTime,
    disk_bytes: u64,
}

impl ImageStore {
    /// Removes unused images until `needed` more bytes fit. The returned lock keeps the room until the image is there.
    pub(super) fn make_room(&self, needed: u64) -> Result<File, ImageError> {
        let dir = &self.shared.dir;
        let lock = File::open(dir).map_err(ImageError::io(dir))?;
        lock.lock().map_err(ImageError::io(dir))?;
        let limit = self.shared.limits.total_bytes;
        let mut images = self.list_images()?;
        images.sort_by_key(|image| image.used_at);
        let mut total: u64 = images.iter().map(|image| image.disk_bytes).sum();
        for image in images {
            if total.saturating_add(needed) <= limit {
                break;
            }
            if evict(&image)? {
                total -= image.disk_bytes;
            }
        }
        if total.saturating_add(needed) > limit {
            let free = limit.saturating_sub(total);
            return Err(ImageError::StorageFull { needed, free, limit });
        }
        Ok(lock)
    }

    fn list_images(&self) -> Result<Vec<StoredImage>, ImageError> {
        let dir = &self.shared.dir;
        let mut images = vec![];
        for entry in fs::read_dir(dir).map_err(ImageError::io(dir))? {
            let entry = entry.map_err(ImageError::io(dir))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if Sha256Digest::from_directory_name(&name).is_none() {
                continue;
            }
            let path = entry.path();
            let metadata = entry.metadata().map_err(ImageError::io(&path))?;
            let used_at = metadata.modified().map_err(ImageError::io(&path))?;
            // An unreadable image is the first to go.
            let (used_at, disk_bytes) = match read_record(&path) {
                Ok(record) => (used_at, record.disk_bytes),
                Err(_) => (SystemTime::UNIX_EPOCH, 0),
            };
            images.push(StoredImage { path, used_at, disk_bytes });
        }
        Ok(images)
    }
}

/// Removes an image that no job uses; returns whether it did.
fn evict(image: &StoredImage) -> Result<bool, ImageError> {
    let failed = || ImageError::io(&image.path);
    let dir = File::open(&image.path).map_err(failed())?;
    match dir.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(false),
        Err(TryLockError::Error(cause)) => return Err(failed()(cause)),
    }
    let name = image.path.file_name().unwrap_or_default().to_string_lossy();
    let moved = image.path.with_file_name(format!("{EVICTED_PREFIX}{name}"));
    fs::rename(&image.path, &moved).map_err(failed())?;
    tracing::info!(image = %name, bytes = image.disk_bytes, "image evicted");
    fs::remove_dir_all(&moved).map_err(ImageError::io(&moved))?;
    Ok(true)
}
