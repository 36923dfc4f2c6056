//! Fields of the kernel's mount table, `/proc/self/mountinfo`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// One line of the table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MountEntry {
    /// The directory of the filesystem that is mounted.
    pub(crate) root: PathBuf,
    pub(crate) mount_point: PathBuf,
    pub(crate) filesystem: String,
}

/// Parses the table; skips lines that it cannot parse.
pub(crate) fn parse_mounts(table: &[u8]) -> Vec<MountEntry> {
    table.split(|byte| *byte == b'\n').filter_map(parse_mount).collect()
}

/// Optional fields end with a dash; the type of the filesystem follows it.
fn parse_mount(line: &[u8]) -> Option<MountEntry> {
    let mut fields = line.split(|byte| *byte == b' ');
    let (root, mount_point) = (unescape(fields.nth(3)?), unescape(fields.next()?));
    let filesystem = fields.skip_while(|field| *field != b"-").nth(1)?;
    let filesystem = String::from_utf8_lossy(filesystem).into_owned();
    Some(MountEntry { root, mount_point, filesystem })
}

/// Decodes octal escapes: the kernel writes a space in a mount point as `\040`.
fn unescape(field: &[u8]) -> PathBuf {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, tail)) = rest.split_first() {
        let code = (byte == b'\\').then(|| std::str::from_utf8(tail.get(..3)?).ok()).flatten();
        if let Some(escaped) = code.and_then(|code| u8::from_str_radix(code, 8).ok()) {
            plain.push(escaped);
            rest = &tail[3..];
        } else {
            plain.push(byte);
            rest = tail;
        }
    }
    PathBuf::from(OsStr::from_bytes(&plain))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn mount_points_with_spaces_are_read_back() {
        assert_eq!(unescape(b"/mnt/my\\040disk"), Path::new("/mnt/my disk"));
        assert_eq!(unescape(b"/plain\\"), Path::new("/plain\\"));
    }

    #[test]
    fn optional_fields_do_not_hide_the_type_of_a_filesystem() {
        let table = b"35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 master:2 - cgroup2 cgroup2 rw,nsdelegate\n\
            36 24 0:31 /docker/- /mnt rw - ext4 /dev/vda rw\nnot a mount\n";

        let [cgroup, disk] = &parse_mounts(table)[..] else { panic!("not two mounts") };

        assert_eq!((cgroup.filesystem.as_str(), disk.filesystem.as_str()), ("cgroup2", "ext4"));
        assert_eq!(disk.root, Path::new("/docker/-"));
    }
}
