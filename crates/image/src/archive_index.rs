//! The table of contents of an archive of an image. Nothing is extracted: blobs are read in place.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::error::ImageError;
use crate::limits::{MAX_PATH_BYTES, UnpackLimits};
use crate::tar_entries::{EntryKind, TarEntries};

/// Entries of one archive: documents, and a few for each layer.
const MAX_ARCHIVE_ENTRIES: u64 = 10_000;

/// An archive and the positions of its regular files.
#[derive(Debug)]
pub(crate) struct ArchiveIndex {
    path: PathBuf,
    files: HashMap<String, ArchivedFile>,
}

#[derive(Debug, Clone, Copy)]
struct ArchivedFile {
    offset: u64,
    size: u64,
}

impl ArchiveIndex {
    pub(crate) fn read(path: &Path, limits: &UnpackLimits) -> Result<Self, ImageError> {
        let file = File::open(path).map_err(ImageError::io(path))?;
        let mut files = HashMap::new();
        let mut archive = tar::Archive::new(file);
        let unreadable = |cause: io::Error| {
            let what = format!("the archive {}", path.display());
            ImageError::invalid(what, format!("{cause}; it must be an uncompressed tar archive"))
        };
        let raw = archive.entries_with_seek().map_err(unreadable)?.raw(true);
        let mut entries = TarEntries::new(raw);
        let mut count = 0;
        while let Some(entry) = entries.next_entry()? {
            count += 1;
            if count > MAX_ARCHIVE_ENTRIES {
                let what = "the number of entries of the archive".to_owned();
                return Err(ImageError::Limit { what, limit: MAX_ARCHIVE_ENTRIES });
            }
            if entry.kind != EntryKind::Regular || entry.path.len() > MAX_PATH_BYTES {
                continue;
            }
            let Ok(name) = std::str::from_utf8(&entry.path) else { continue };
            let place = ArchivedFile { offset: entry.content_offset(), size: entry.size };
            if place.size > limits.stored_bytes {
                let what = format!("the size of {name} in the archive");
                return Err(ImageError::Limit { what, limit: limits.stored_bytes });
            }
            files.insert(name.trim_start_matches("./").to_owned(), place);
        }
        Ok(Self { path: path.to_owned(), files })
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Opens a file of the archive; returns its size too.
    pub(crate) fn open(&self, name: &str) -> Result<(Box<dyn Read>, u64), ImageError> {
        let place = self.files.get(name).ok_or_else(|| {
            let what = format!("the archive {}", self.path.display());
            ImageError::invalid(what, format!("it lacks the file {name}"))
        })?;
        let mut file = File::open(&self.path).map_err(ImageError::io(&self.path))?;
        file.seek(SeekFrom::Start(place.offset)).map_err(ImageError::io(&self.path))?;
        Ok((Box::new(file.take(place.size)), place.size))
    }
}
