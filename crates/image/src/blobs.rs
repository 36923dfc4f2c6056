//! Access to the files of an image by digest: in a directory or in an archive.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use crate::archive_index::ArchiveIndex;
use crate::digest::Sha256Digest;
use crate::error::ImageError;
use crate::limits::UnpackLimits;
use crate::manifest::ContentDescriptor;

#[derive(Debug)]
pub(crate) enum BlobFiles {
    /// An OCI layout directory.
    Layout(PathBuf),
    Archive(ArchiveIndex),
}

impl BlobFiles {
    pub(crate) fn contains(&self, name: &str) -> bool {
        match self {
            Self::Layout(path) => path.join(name).is_file(),
            Self::Archive(archive) => archive.contains(name),
        }
    }

    /// Opens a file by its name in the layout; returns its size too.
    pub(crate) fn open(&self, name: &str) -> Result<(Box<dyn Read>, u64), ImageError> {
        match self {
            Self::Layout(path) => {
                let path = path.join(name);
                let file = File::open(&path).map_err(ImageError::io(&path))?;
                let metadata = file.metadata().map_err(ImageError::io(&path))?;
                if !metadata.is_file() {
                    let what = path.display().to_string();
                    return Err(ImageError::invalid(what, "it is not a regular file"));
                }
                Ok((Box::new(file), metadata.len()))
            }
            Self::Archive(archive) => archive.open(name),
        }
    }

    /// Reads a small file.
    pub(crate) fn read_document(
        &self,
        name: &str,
        limits: &UnpackLimits,
    ) -> Result<Vec<u8>, ImageError> {
        let (reader, _) = self.open(name)?;
        let limit = limits.document_bytes;
        let mut content = Vec::new();
        let failed = |cause| ImageError::invalid(name, cause);
        reader.take(limit + 1).read_to_end(&mut content).map_err(failed)?;
        if content.len() as u64 > limit {
            return Err(ImageError::Limit { what: format!("the size of {name}"), limit });
        }
        Ok(content)
    }

    /// Reads a manifest or a configuration and verifies it.
    pub(crate) fn read_verified(
        &self,
        descriptor: &ContentDescriptor,
        limits: &UnpackLimits,
    ) -> Result<Vec<u8>, ImageError> {
        let content = self.read_document(&blob_path(descriptor.digest), limits)?;
        verify_document(&content, descriptor)?;
        Ok(content)
    }
}

pub(crate) fn blob_path(digest: Sha256Digest) -> String {
    format!("blobs/sha256/{}", digest.hex())
}

pub(crate) fn verify_document(
    content: &[u8],
    descriptor: &ContentDescriptor,
) -> Result<(), ImageError> {
    let what = || format!("the document {}", descriptor.digest);
    let found = Sha256Digest::compute(content);
    if found != descriptor.digest {
        let (expected, found) = (descriptor.digest.to_string(), found.to_string());
        return Err(ImageError::Digest { what: what(), expected, found });
    }
    if content.len() as u64 != descriptor.size {
        let expected = format!("{} bytes", descriptor.size);
        let found = format!("{} bytes", content.len());
        return Err(ImageError::Digest { what: what(), expected, found });
    }
    Ok(())
}
