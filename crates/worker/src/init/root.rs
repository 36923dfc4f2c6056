//! The filesystem a job sees: the system's programs to read, its own directories to write.
//!
//! Built on a memory filesystem that becomes `/`; nothing of the host is reachable that is not
//! named here.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::stat::{Mode, umask};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{chdir, pivot_root};

use crate::job_dir::JobDir;
use crate::spec::{Interactive, JobSpec, SCRIPT, STDIN, argv};

/// Where the job works.
pub(super) const WORKSPACE: &str = "/workspace";
/// Where it leaves files to hand back.
pub(super) const ARTIFACTS: &str = "/job/artifacts";

/// The system's programs and libraries; links on merged systems, directories on others.
const SYSTEM: [&str; 7] = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"];
/// What programs need from `/etc`; keys and accounts are not among it.
const ETC: [&str; 10] = [
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    "localtime",
    "ssl/certs",
    "ssl/openssl.cnf",
    "ca-certificates",
    "pki/tls/certs",
    "pki/ca-trust/extracted",
];
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// Kernel switches that stay readable; even an owner cannot turn them here.
const PROC_SWITCHES: [&str; 5] = ["sys", "sysrq-trigger", "irq", "bus", "fs"];

/// Replaces this process's root by the job's.
pub(super) fn build(dir: &JobDir, spec: &JobSpec) -> io::Result<()> {
    umask(Mode::from_bits_truncate(0o022));
    mount_none("/", MsFlags::MS_REC | MsFlags::MS_PRIVATE)?;
    let root = Root { path: dir.root() };
    memory_mount(&root.path, "size=64m,mode=0755")?;
    root.add_system()?;
    root.add_etc(spec)?;
    root.add_devices_and_proc()?;
    root.add_writable(dir, spec)?;
    // Last, because an exposed path may lie below a directory made so far.
    spec.expose.iter().try_for_each(|host| root.show(host))?;
    match &spec.interactive {
        Some(program) => root.add_conversation(dir, program)?,
        None => root.add_script(spec)?,
    }
    root.enter()
}

struct Root {
    path: PathBuf,
}

impl Root {
    /// The place of the absolute path `inside`, seen from outside.
    fn at(&self, inside: &str) -> PathBuf {
        self.path.join(inside.trim_start_matches('/'))
    }

    fn add_system(&self) -> io::Result<()> {
        for name in SYSTEM {
            let host = Path::new("/").join(name);
            match fs::read_link(&host) {
                Ok(target) => symlink(target, self.at(name))?,
                Err(_) => self.show(&host)?,
            }
        }
        Ok(())
    }

    fn add_etc(&self, spec: &JobSpec) -> io::Result<()> {
        fs::create_dir(self.at("etc"))?;
        for name in ETC {
            self.show(&Path::new("/etc").join(name))?;
        }
        let uid = spec.isolation.uid(spec.assignment.task_id);
        let own = match uid {
            0 => String::new(),
            uid => format!("sandbox:x:{uid}:{uid}::{WORKSPACE}:/bin/sh\n"),
        };
        let group = if uid == 0 { String::new() } else { format!("sandbox:x:{uid}:\n") };
        let passwd = format!("root:x:0:0::{WORKSPACE}:/bin/sh\n{own}");
        fs::write(self.at("etc/passwd"), passwd)?;
        fs::write(self.at("etc/group"), format!("root:x:0:\n{group}"))?;
        fs::write(self.at("etc/hosts"), "127.0.0.1 localhost sandbox\n::1 localhost\n")?;
        fs::write(self.at("etc/nsswitch.conf"), "passwd: files\ngroup: files\nhosts: files\n")
    }

    fn add_devices_and_proc(&self) -> io::Result<()> {
        fs::create_dir(self.at("dev"))?;
        for name in DEVICES {
            let place = self.at(&format!("dev/{name}"));
            fs::write(&place, "")?;
            bind(&Path::new("/dev").join(name), &place)?;
        }
        symlink("/proc/self/fd", self.at("dev/fd"))?;
        for (number, name) in ["stdin", "stdout", "stderr"].into_iter().enumerate() {
            symlink(format!("/proc/self/fd/{number}"), self.at(&format!("dev/{name}")))?;
        }
        let proc = self.at("proc");
        fs::create_dir(&proc)?;
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        mount(Some("proc"), &proc, Some("proc"), flags, None::<&str>)?;
        for switch in PROC_SWITCHES.map(|name| proc.join(name)).iter().filter(|path| path.exists())
        {
            bind(switch, switch)?;
            make_read_only(switch)?;
        }
        Ok(())
    }

    fn add_writable(&self, dir: &JobDir, spec: &JobSpec) -> io::Result<()> {
        let size_mib = spec.assignment.limits.memory_mib.div_ceil(2);
        for name in ["tmp", "dev/shm"] {
            fs::create_dir(self.at(name))?;
            memory_mount(&self.at(name), &format!("size={size_mib}m,mode=1777"))?;
        }
        for (host, inside) in [(&spec.workspace, WORKSPACE), (&dir.artifacts(), ARTIFACTS)] {
            let place = self.at(inside);
            fs::create_dir_all(&place)?;
            bind(host, &place)?;
            remount(&place, MsFlags::MS_NOSUID | MsFlags::MS_NODEV)?;
        }
        Ok(())
    }

    /// What a program needs that is talked with, and that may use the network.
    fn add_conversation(&self, dir: &JobDir, program: &Interactive) -> io::Result<()> {
        let place = self.at(STDIN);
        fs::write(&place, "")?;
        bind(&dir.stdin(), &place)?;
        if program.network {
            self.show(Path::new("/etc/resolv.conf"))?;
            let names = "passwd: files\ngroup: files\nhosts: files dns\n";
            fs::write(self.at("etc/nsswitch.conf"), names)?;
        }
        Ok(())
    }

    fn add_script(&self, spec: &JobSpec) -> io::Result<()> {
        let (Some(text), _) = argv(&spec.assignment.action) else { return Ok(()) };
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o755);
        options.open(self.at(SCRIPT))?.write_all(text.as_bytes())
    }

    /// Shows a file or directory of the host, if it exists, under its own name, to read.
    fn show(&self, host: &Path) -> io::Result<()> {
        let Ok(metadata) = fs::metadata(host) else { return Ok(()) };
        let place = self.at(&host.to_string_lossy());
        let mut directories = DirBuilder::new();
        directories.recursive(true).mode(0o755);
        if metadata.is_dir() {
            directories.create(&place)?;
        } else {
            directories.create(place.parent().unwrap_or(&self.path))?;
            fs::write(&place, "")?;
        }
        bind(host, &place)?;
        mounts_under(&place)?.iter().try_for_each(|mount| make_read_only(mount))
    }

    /// The old root disappears under the new one and is let go.
    fn enter(&self) -> io::Result<()> {
        chdir(&self.path)?;
        pivot_root(".", ".")?;
        umount2(".", MntFlags::MNT_DETACH)?;
        chdir("/")?;
        make_read_only(Path::new("/"))
    }
}

fn mount_none(place: &str, flags: MsFlags) -> io::Result<()> {
    Ok(mount(None::<&str>, place, None::<&str>, flags, None::<&str>)?)
}

fn memory_mount(place: &Path, options: &str) -> io::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), place, Some("tmpfs"), flags, Some(options)).map_err(at(place))
}

fn bind(host: &Path, place: &Path) -> io::Result<()> {
    let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
    mount(Some(host), place, None::<&str>, flags, None::<&str>).map_err(at(host))
}

fn make_read_only(place: &Path) -> io::Result<()> {
    remount(place, MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV)
}

/// Adds `flags` to a mount. Those it has must be repeated: a user namespace may not drop them.
fn remount(place: &Path, flags: MsFlags) -> io::Result<()> {
    let present = statvfs(place).map_err(at(place))?.flags();
    let kept = [
        (FsFlags::ST_RDONLY, MsFlags::MS_RDONLY),
        (FsFlags::ST_NOSUID, MsFlags::MS_NOSUID),
        (FsFlags::ST_NODEV, MsFlags::MS_NODEV),
        (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
        (FsFlags::ST_NOATIME, MsFlags::MS_NOATIME),
        (FsFlags::ST_NODIRATIME, MsFlags::MS_NODIRATIME),
        (FsFlags::ST_RELATIME, MsFlags::MS_RELATIME),
    ];
    let kept = kept.into_iter().filter(|(has, _)| present.contains(*has));
    let all =
        kept.fold(flags | MsFlags::MS_REMOUNT | MsFlags::MS_BIND, |all, (_, flag)| all | flag);
    mount(None::<&str>, place, None::<&str>, all, None::<&str>).map_err(at(place))
}

/// `place` and every mount point below it, as the kernel lists them.
fn mounts_under(place: &Path) -> io::Result<Vec<PathBuf>> {
    let table = fs::read("/proc/self/mountinfo")?;
    let points = table
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').nth(4).map(unescape));
    Ok(points.filter(|point| point.starts_with(place)).collect())
}

/// The kernel writes spaces and the like in a mount point as `\040`.
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
    PathBuf::from(std::ffi::OsStr::from_bytes(&plain))
}

fn at(path: &Path) -> impl FnOnce(nix::Error) -> io::Error {
    move |cause| io::Error::other(format!("{}: {cause}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_with_spaces_are_read_back() {
        assert_eq!(unescape(b"/mnt/my\\040disk"), Path::new("/mnt/my disk"));
        assert_eq!(unescape(b"/plain\\"), Path::new("/plain\\"));
    }
}
