//! Writes a cpio archive in the format from which a kernel boots.

use std::io::{self, Write};

const REGULAR: u32 = 0o100_000;
const DIRECTORY: u32 = 0o040_000;
const SYMLINK: u32 = 0o120_000;

/// An archive under construction. Every name is relative to the root.
pub(super) struct Archive<W: Write> {
    out: W,
    inode: u32,
}

impl<W: Write> Archive<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, inode: 0 }
    }

    pub(super) fn add_directory(&mut self, name: &str) -> io::Result<()> {
        self.add(name, DIRECTORY | 0o755, &[])
    }

    pub(super) fn add_file(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.add(name, REGULAR | 0o755, content)
    }

    pub(super) fn add_symlink(&mut self, name: &str, target: &str) -> io::Result<()> {
        self.add(name, SYMLINK | 0o777, target.as_bytes())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.add("TRAILER!!!", 0, &[])?;
        self.out.flush()
    }

    /// A header of 13 numbers, the name with a zero byte, and the content; each part is padded to four bytes.
    fn add(&mut self, name: &str, mode: u32, content: &[u8]) -> io::Result<()> {
        self.inode += 1;
        let too_large = |_| io::Error::other(format!("{name} is too large"));
        let size = u32::try_from(content.len()).map_err(too_large)?;
        let name_size = u32::try_from(name.len() + 1).map_err(too_large)?;
        let numbers = [self.inode, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name_size, 0];
        let mut header = b"070701".to_vec();
        for number in numbers {
            write!(header, "{number:08x}")?;
        }
        header.extend_from_slice(name.as_bytes());
        header.push(0);
        header.resize(header.len().next_multiple_of(4), 0);
        self.out.write_all(&header)?;
        self.out.write_all(content)?;
        self.out.write_all(&[0; 3][..content.len().next_multiple_of(4) - content.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_padded_to_four_bytes() {
        let mut bytes = Vec::new();
        let mut archive = Archive::new(&mut bytes);
        archive.add_file("ab", b"hello").unwrap();
        archive.finish().unwrap();

        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with("07070100000001000081ed0000000000000000"), "{text}");
        // 110 bytes of header and 3 of the name fill 116; the content fills 8.
        assert_eq!((&text[110..113], &text[116..124]), ("ab\0", "hello\0\0\0"));
        assert_eq!(&text[124..130], "070701");
        assert_eq!(text.len() % 4, 0);
    }
}
