//! Entries of a tar archive, with their extended headers applied and bounded.
//!
//! Reads raw headers, because the parser of extended headers must not allocate what an archive demands.

use std::io::{self, Read};

use crate::error::ImageError;
use crate::limits::{MAX_EXTENSION_BYTES, MAX_PATH_BYTES};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Regular,
    Directory,
    Symlink,
    HardLink,
    /// Devices, pipes and sockets.
    Special,
}

/// An entry whose content can be read.
pub(crate) struct LayerEntry<'a, R: Read> {
    pub(crate) kind: EntryKind,
    pub(crate) path: Vec<u8>,
    /// Target of a link; empty for others.
    pub(crate) link: Vec<u8>,
    pub(crate) mode: u32,
    pub(crate) mtime: i64,
    pub(crate) size: u64,
    content: tar::Entry<'a, R>,
}

impl<R: Read> LayerEntry<'_, R> {
    /// Where the content starts in the archive.
    pub(crate) fn content_offset(&self) -> u64 {
        self.content.raw_file_position()
    }
}

impl<R: Read> Read for LayerEntry<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.content.read(buffer)
    }
}

pub(crate) struct TarEntries<'a, R: Read> {
    raw: tar::Entries<'a, R>,
}

/// What extended headers say about the next entry.
#[derive(Default)]
struct HeaderExtension {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
    mtime: Option<i64>,
}

impl<'a, R: Read> TarEntries<'a, R> {
    /// `raw` must be in raw mode.
    pub(crate) fn new(raw: tar::Entries<'a, R>) -> Self {
        Self { raw }
    }

    pub(crate) fn next_entry(&mut self) -> Result<Option<LayerEntry<'a, R>>, ImageError> {
        let mut extension = HeaderExtension::default();
        for entry in self.raw.by_ref() {
            let mut entry = entry.map_err(read_error)?;
            let kind = entry.header().entry_type();
            if kind.is_gnu_longname() {
                extension.path = Some(read_long_name(&mut entry)?);
            } else if kind.is_gnu_longlink() {
                extension.link = Some(read_long_name(&mut entry)?);
            } else if kind.is_pax_local_extensions() {
                extension.apply(&read_extension(&mut entry)?)?;
            } else if kind.is_pax_global_extensions() {
                let mut global = HeaderExtension::default();
                global.apply(&read_extension(&mut entry)?)?;
                if global.path.is_some() || global.link.is_some() || global.size.is_some() {
                    return Err(ImageError::entry("", "a global header names a file"));
                }
            } else {
                return build_entry(entry, extension).map(Some);
            }
        }
        Ok(None)
    }
}

fn build_entry<R: Read>(
    entry: tar::Entry<'_, R>,
    extension: HeaderExtension,
) -> Result<LayerEntry<'_, R>, ImageError> {
    let header = entry.header();
    let path = extension.path.unwrap_or_else(|| header.path_bytes().into_owned());
    let shown = String::from_utf8_lossy(&path).into_owned();
    let kind = header.entry_type();
    let kind = if kind.is_file() || kind.is_contiguous() {
        EntryKind::Regular
    } else if kind.is_dir() {
        EntryKind::Directory
    } else if kind.is_symlink() {
        EntryKind::Symlink
    } else if kind.is_hard_link() {
        EntryKind::HardLink
    } else if kind.is_character_special() || kind.is_block_special() || kind.is_fifo() {
        EntryKind::Special
    } else {
        let reason = format!("entries of the type {:?} are not supported", kind.as_byte() as char);
        return Err(ImageError::entry(shown, reason));
    };
    let link =
        extension.link.or_else(|| header.link_name_bytes().map(std::borrow::Cow::into_owned));
    let link = link.unwrap_or_default();
    if path.len() > MAX_PATH_BYTES || link.len() > MAX_PATH_BYTES {
        return Err(ImageError::entry(shown, format!("its name exceeds {MAX_PATH_BYTES} bytes")));
    }
    let number = |value: io::Result<u64>, what: &str| {
        value.map_err(|_| ImageError::entry(&shown, format!("its {what} is invalid")))
    };
    let size = number(header.entry_size(), "size")?;
    if extension.size.is_some_and(|extended| extended != size) {
        return Err(ImageError::entry(shown, "its headers disagree about its size"));
    }
    let mode = header.mode().unwrap_or(0o644);
    let header_mtime = || i64::try_from(header.mtime().unwrap_or_default()).unwrap_or_default();
    let mtime = extension.mtime.unwrap_or_else(header_mtime);
    Ok(LayerEntry { kind, path, link, mode, mtime, size, content: entry })
}

fn read_error(cause: io::Error) -> ImageError {
    if let Some(canceled) = cause.get_ref().and_then(|inner| inner.downcast_ref::<ImageError>())
        && matches!(canceled, ImageError::Canceled)
    {
        return ImageError::Canceled;
    }
    ImageError::invalid("a tar archive of the image", cause)
}

fn read_extension<R: Read>(entry: &mut tar::Entry<'_, R>) -> Result<Vec<u8>, ImageError> {
    read_bounded(entry, MAX_EXTENSION_BYTES)
}

/// A name that ends with a NUL byte.
fn read_long_name<R: Read>(entry: &mut tar::Entry<'_, R>) -> Result<Vec<u8>, ImageError> {
    let mut name = read_bounded(entry, MAX_PATH_BYTES as u64 + 1)?;
    if name.last() == Some(&0) {
        name.pop();
    }
    Ok(name)
}

fn read_bounded<R: Read>(entry: &mut tar::Entry<'_, R>, limit: u64) -> Result<Vec<u8>, ImageError> {
    let mut content = Vec::new();
    entry.by_ref().take(limit + 1).read_to_end(&mut content).map_err(read_error)?;
    if content.len() as u64 > limit {
        let what = "an extended header of an entry".to_owned();
        return Err(ImageError::Limit { what, limit });
    }
    Ok(content)
}

impl HeaderExtension {
    /// Reads records of the form `LENGTH KEY=VALUE\n`. Values may contain any byte.
    fn apply(&mut self, records: &[u8]) -> Result<(), ImageError> {
        let invalid =
            || ImageError::invalid("an extended header of an entry", "a record is malformed");
        let mut rest = records;
        while !rest.is_empty() && rest != [0] {
            let space = rest.iter().position(|byte| *byte == b' ').ok_or_else(invalid)?;
            let length =
                std::str::from_utf8(&rest[..space]).ok().and_then(|text| text.parse().ok());
            let length: usize = length.ok_or_else(invalid)?;
            let record = rest.get(space + 1..length).ok_or_else(invalid)?;
            let record = record.strip_suffix(b"\n").ok_or_else(invalid)?;
            let equals = record.iter().position(|byte| *byte == b'=').ok_or_else(invalid)?;
            self.set(&record[..equals], &record[equals + 1..])?;
            rest = &rest[length..];
        }
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), ImageError> {
        let text = || std::str::from_utf8(value).unwrap_or_default();
        match key {
            b"path" => self.path = Some(value.to_vec()),
            b"linkpath" => self.link = Some(value.to_vec()),
            b"size" => {
                let size = text().parse();
                let invalid = |reason| ImageError::invalid("the size of an entry", reason);
                self.size = Some(size.map_err(invalid)?);
            }
            b"mtime" => self.mtime = text().split('.').next().and_then(|whole| whole.parse().ok()),
            sparse if sparse.starts_with(b"GNU.sparse.") => {
                return Err(ImageError::entry("", "sparse files are not supported"));
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_extended_headers_may_contain_any_byte_in_their_values() {
        let mut extension = HeaderExtension::default();
        let xattr = b"38 SCHILY.xattr.security.capability=\n\n";

        extension
            .apply(&[xattr.as_slice(), b"12 path=a/b\n", b"20 mtime=1700000.25\n"].concat())
            .unwrap();

        assert_eq!(extension.path.as_deref(), Some(b"a/b".as_slice()));
        assert_eq!(extension.mtime, Some(1_700_000));
    }

    #[test]
    fn malformed_records_are_rejected() {
        for records in [
            "5 a=b",
            "99 path=a\n",
            "x path=a\n",
            "0 path=a\n",
            "7 patha\n",
            "18446744073709551616 a=b\n",
        ] {
            assert!(HeaderExtension::default().apply(records.as_bytes()).is_err(), "{records}");
        }
        assert!(HeaderExtension::default().apply(b"22 GNU.sparse.major=1\n").is_err());
    }
}
