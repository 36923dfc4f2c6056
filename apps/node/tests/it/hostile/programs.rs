//! The programs, in Python; numbers of system calls are those of x86-64.

/// Shared by all programs.
pub(super) const PRELUDE: &str = r"
import array, ctypes, errno, fcntl, mmap, os, signal, socket, struct, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)

def call(*arguments):
    'Makes a system call; returns its result.'
    convert = lambda it: ctypes.c_long(it) if isinstance(it, int) else it
    return libc.syscall(*[convert(it) for it in arguments])

def escaped(condition, what=''):
    if condition: print('ESCAPED', what, flush=True)

def must_fail(*arguments):
    'A system call that would be a step out.'
    escaped(call(*arguments) >= 0, arguments)

def attempt(action, *arguments):
    'The result of an action, or None if it fails.'
    try: return action(*arguments)
    except Exception: return None

def read(path): return attempt(lambda: open(path, 'rb').read(4096))
def write(path, text='1'): return attempt(lambda: open(path, 'w').write(text))
def run(line): return subprocess.run(line, shell=True, capture_output=True, text=True)
";

/// Names and bodies.
#[rustfmt::skip]
pub(super) const PROGRAMS: &[(&str, &str)] = &[
    // Files of the host.
    ("read a file of the host", "escaped(read('@SECRET@'))"),
    ("write a file of the host", "escaped(write('@SECRET@'))"),
    ("create a file beside one of the host", "escaped(write('@SECRET@.new'))"),
    ("read password hashes", "escaped(read('/etc/shadow'))"),
    ("list the home of root", "escaped(attempt(os.listdir, '/root'))"),
    ("leave the root by dots", "escaped(read('/../../../../../../@SECRET@'))"),
    ("leave the root through /proc/self/root", "escaped(read('/proc/self/root/../@SECRET@'))"),
    ("leave the root through the root of PID 1", "escaped(read('/proc/1/root/@SECRET@'))"),
    ("use the working directory of PID 1", "escaped(read('/proc/1/cwd/@SECRET@'))"),
    ("use open files of PID 1", "paths = ['/proc/1/fd/' + n for n in attempt(os.listdir, '/proc/1/fd') or map(str, range(16))]\nescaped([p for p in paths if attempt(os.readlink, p) or attempt(os.open, p, os.O_RDONLY | os.O_NONBLOCK)])"),
    ("read the environment of PID 1", "escaped(read('/proc/1/environ'))"),
    ("read the memory of PID 1", "escaped(read('/proc/1/maps') and attempt(open, '/proc/1/mem', 'rb'))"),
    ("write the memory of PID 1", "escaped(attempt(open, '/proc/1/mem', 'r+b'))"),
    ("overwrite the program of PID 1", "escaped(attempt(open, '/proc/1/exe', 'r+b'))"),
    ("overwrite its own interpreter", "escaped(attempt(open, '/proc/self/exe', 'r+b'))"),
    ("follow a symbolic link out", "os.symlink('@SECRET@', 'l'); escaped(read('l'))"),
    ("hard link to a file of the host", "escaped(attempt(os.link, '/etc/passwd', 'p') is None and os.path.exists('p'))"),
    ("leave by chroot", "os.mkdir('d'); escaped(attempt(os.chroot, 'd') is None and os.path.exists('/@SECRET@'))\nmust_fail(161, b'd')"),
    ("leave by pivot_root", "must_fail(155, b'/tmp', b'/tmp')"),
    ("open by handle", "h = struct.pack('IiQQ', 8, 1, 2, 0); must_fail(304, os.open('/', os.O_RDONLY), h, 0)"),
    ("name a handle", "b = ctypes.create_string_buffer(struct.pack('Ii', 128, 0) + bytes(128)); must_fail(303, -100, b'/', b, ctypes.byref(ctypes.c_int()), 0)"),
    ("write a system directory", "escaped(write('/usr/bin/escaped') or write('/etc/escaped') or write('/escaped'))"),
    ("delete a system file", "escaped(attempt(os.unlink, '/usr/bin/env') is None and not os.path.exists('/usr/bin/env'))"),
    ("change a system file's mode", "escaped(attempt(os.chmod, '/usr/bin/env', 0o777) is None and os.stat('/usr/bin/env').st_mode & 0o022)"),
    ("write the host's temporary directory", "write('/tmp/escaped')"),
    // Kernel files.
    ("trigger a system request", "escaped(write('/proc/sysrq-trigger', 'h'))"),
    ("set the core pattern", "escaped(write('/proc/sys/kernel/core_pattern', '|/tmp/x'))"),
    ("set the module loader", "escaped(write('/proc/sys/kernel/modprobe', '/tmp/x'))"),
    ("set the host name through /proc", "escaped(write('/proc/sys/kernel/hostname', 'x'))"),
    ("turn off address randomisation", "escaped(write('/proc/sys/kernel/randomize_va_space', '0'))"),
    ("drop the caches of the kernel", "escaped(write('/proc/sys/vm/drop_caches', '1'))"),
    ("read kernel memory", "escaped(read('/proc/kcore') or read('/dev/mem') or read('/dev/kmem'))"),
    ("read the kernel log", "escaped(read('/dev/kmsg') or call(103, 3, ctypes.create_string_buffer(64), 64) >= 0)"),
    ("read kernel addresses", "escaped(any(int(line.split()[0], 16) for line in (read('/proc/kallsyms') or b'0 x').split(b'\\n')[:9] if line.strip()))"),
    ("see devices and drivers", "escaped(attempt(os.listdir, '/sys'))"),
    ("see block devices", "escaped([name for name in os.listdir('/dev') if name[:2] in ('sd', 'vd', 'nv', 'lo')])"),
    ("write to binfmt_misc", "escaped(write('/proc/sys/fs/binfmt_misc/register', ':x:M::x::/tmp/x:'))"),
    ("read the keys of the kernel", "escaped((read('/proc/keys') or b'').strip() and call(250, 11, -3, 0, 0) >= 0)"),
    ("set the scheduler of the host", "escaped(write('/proc/irq/default_smp_affinity', '1'))"),
    // Privileges.
    ("become root", "before = os.getuid(); attempt(os.setuid, 0); attempt(os.setreuid, 0, 0); attempt(os.setresuid, 0, 0, 0)\nescaped(before and os.getuid() == 0)"),
    ("join group root", "before = os.getgid(); attempt(os.setgid, 0); escaped(before and os.getgid() == 0)"),
    ("set groups", "escaped(attempt(os.setgroups, [0]) is None and 0 in os.getgroups() and os.getuid())"),
    ("use a set-user-id program", "r = run('su -c id </dev/null; passwd -S root; mount -o remount,rw /usr'); escaped('uid=0(root)' in r.stdout and os.getuid())"),
    ("make a set-user-id shell", "run('cp /bin/sh s; chmod 6755 s'); r = run('./s -p -c \"id -u; id -g\"'); escaped(os.getuid() and '0' in r.stdout.split())"),
    ("give a file capabilities", "open('f', 'w'); escaped(attempt(os.setxattr, 'f', 'security.capability', struct.pack('<IIIII', 0x2000001, 0xffffffff, 0, 0xffffffff, 0)) is None and attempt(os.getxattr, 'f', 'security.capability'))"),
    ("take capabilities", "header = ctypes.create_string_buffer(struct.pack('Ii', 0x20080522, 0)); data = ctypes.create_string_buffer(struct.pack('IIIIII', *[0xffffffff] * 6)); must_fail(126, header, data)"),
    ("raise an ambient capability", "must_fail(157, 47, 2, 21, 0, 0)"),
    ("clear no_new_privs", "call(157, 38, 0, 0, 0, 0); escaped(call(157, 39, 0, 0, 0, 0) != 1)"),
    ("turn off the filter of calls", "call(157, 22, 0, 0, 0); escaped(b'Seccomp:\\t2' not in read('/proc/self/status'))"),
    ("set a securebits flag", "must_fail(157, 28, 1, 0, 0)"),
    ("mark a file immutable", "f = open('f', 'w'); escaped(attempt(fcntl.ioctl, f, 0x40086602, array.array('l', [0x10])) is not None)"),
    ("make a device", "escaped(attempt(os.mknod, 'sda', 0o60666, os.makedev(8, 0)) is None and os.path.exists('sda'))"),
    ("make a memory device", "escaped(attempt(os.mknod, 'mem', 0o20666, os.makedev(1, 1)) is None and os.path.exists('mem'))"),
    // Namespaces and mounts.
    ("new user namespace", "must_fail(272, 0x10000000)"),
    ("new mount namespace", "must_fail(272, 0x20000)"),
    ("new network namespace", "must_fail(272, 0x40000000)"),
    ("new process namespace", "must_fail(272, 0x20000000)"),
    ("new IPC namespace", "must_fail(272, 0x08000000)"),
    ("new host name namespace", "must_fail(272, 0x04000000)"),
    ("new cgroup namespace", "must_fail(272, 0x02000000)"),
    ("new time namespace", "must_fail(272, 0x80)"),
    ("clone into a user namespace", "r = call(56, 0x10000000 | 17, 0, 0, 0, 0)\nif r == 0: os._exit(0)\nescaped(r > 0)"),
    ("clone3 into a user namespace", "a = ctypes.create_string_buffer(struct.pack('QQQQQQQQ', 0x10000000, 0, 0, 0, 17, 0, 0, 0)); r = call(435, a, 64)\nif r == 0: os._exit(0)\nescaped(r > 0)"),
    ("enter the namespaces of PID 1", "for name in ('user', 'mnt', 'net', 'pid', 'ipc', 'uts'):\n  f = attempt(os.open, '/proc/1/ns/' + name, os.O_RDONLY)\n  escaped(f is not None and call(308, f, 0) >= 0, name)"),
    ("mount a file system", "must_fail(165, b'none', b'/tmp', b'tmpfs', 0, 0)"),
    ("bind-mount over a directory", "must_fail(165, b'/workspace', b'/usr', 0, 4096, 0)"),
    ("mount /proc again", "must_fail(165, b'proc', b'/tmp', b'proc', 0, 0)"),
    ("make a mount writable again", "must_fail(165, 0, b'/usr', 0, 32 | 4096, 0)"),
    ("unmount /proc", "must_fail(166, b'/proc', 2)"),
    ("mount with the newer calls", "must_fail(430, b'tmpfs', 0); must_fail(428, -100, b'/', 1); must_fail(429, -100, b'/', -100, b'/tmp', 0); must_fail(432, 0, 1, 0, 0, 0)"),
    ("set attributes of a mount", "must_fail(442, -100, b'/usr', 0, ctypes.create_string_buffer(32), 32)"),
    ("add swap", "must_fail(167, b'/workspace/x', 0); must_fail(168, b'/workspace/x')"),
    ("set disk quotas", "must_fail(179, 0x800002 << 8, b'/dev/sda1', 0, 0)"),
    // Interfaces of the kernel.
    ("load a program into the kernel", "must_fail(321, 5, ctypes.create_string_buffer(128), 128)"),
    ("create a map in the kernel", "must_fail(321, 0, ctypes.create_string_buffer(struct.pack('IIIII', 2, 4, 4, 1, 0) + bytes(100)), 120)"),
    ("watch the performance of others", "must_fail(298, ctypes.create_string_buffer(struct.pack('II', 1, 112) + bytes(104)), -1, 0, -1, 0)"),
    ("handle page faults", "must_fail(323, 0)"),
    ("submit requests by ring", "must_fail(425, 8, ctypes.create_string_buffer(120))"),
    ("load a module", "must_fail(175, b'x', 1, b''); must_fail(313, 0, b'', 0); must_fail(176, b'x', 0)"),
    ("load another kernel", "must_fail(246, 0, 0, 0, 0); must_fail(320, -1, -1, 0, b'', 0)"),
    ("reboot", "must_fail(169, 0xfee1dead, 672274793, 0x89abcdef, 0)"),
    ("use ports of the machine", "must_fail(172, 3); must_fail(173, 0x80, 1, 1)"),
    ("start process accounting", "must_fail(163, b'/workspace/x')"),
    ("set the clock", "must_fail(164, struct.pack('qq', 1, 0), 0); must_fail(227, 0, struct.pack('qq', 1, 0))"),
    ("adjust the clock", "must_fail(159, ctypes.create_string_buffer(struct.pack('I', 0x4000) + bytes(204)))"),
    ("set the host name", "must_fail(170, b'x', 1); must_fail(171, b'x', 1)"),
    ("change the local descriptor table", "must_fail(154, 1, ctypes.create_string_buffer(16), 16)"),
    ("compare objects of the kernel", "must_fail(312, os.getpid(), 1, 0, 0, 0)"),
    ("use kernel keys", "must_fail(248, b'user', b'x', b'y', 1, -3); must_fail(249, b'user', b'x', 0, -3); must_fail(250, 0, -3, 1, 0, 0)"),
    ("watch every file", "must_fail(300, 0, 0)"),
    ("hide memory from the kernel", "must_fail(447, 0)"),
    ("use the second numbering of calls", "must_fail(0x40000000 + 272, 0x10000000); must_fail(0x40000000 + 39)"),
    ("use calls of 32 bits", "code = mmap.mmap(-1, 4096, prot=7); code.write(bytes.fromhex('53b814000000cd805bc3'))\naddress = ctypes.addressof(ctypes.c_char.from_buffer(code)); r = ctypes.CFUNCTYPE(ctypes.c_int)(address)()\nescaped(r > 0)"),
    ("use a call of the future", "must_fail(9999); must_fail(600)"),
    ("trace PID 1", "must_fail(101, 16, 1, 0, 0); must_fail(101, 0x4206, 1, 0, 0)"),
    ("trace its parent", "must_fail(101, 16, os.getppid(), 0, 0)"),
    ("read the memory of another process", "b = ctypes.create_string_buffer(16); v = struct.pack('QQ', ctypes.addressof(b), 16); r = struct.pack('QQ', 0x400000, 16); must_fail(310, 1, v, 1, r, 1, 0)"),
    ("take a file of PID 1", "p = call(434, 1, 0)\nif p >= 0: must_fail(438, p, 0, 0)"),
    // Network.
    ("connect to the host", "escaped(attempt(socket.create_connection, ('127.0.0.1', @PORT@), 2))"),
    ("connect to the host by name", "escaped(attempt(socket.create_connection, ('localhost', @PORT@), 2))"),
    ("connect to an abstract socket of the host", "s = socket.socket(socket.AF_UNIX); escaped(attempt(s.connect, '\\0@ABSTRACT@') is None and attempt(s.getpeername) is not None)"),
    ("resolve a name", "escaped(attempt(socket.getaddrinfo, 'example.com', 80))"),
    ("send to the internet", "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); escaped(attempt(s.sendto, b'x', ('192.0.2.1', 53)))"),
    ("reach the metadata service", "escaped(attempt(socket.create_connection, ('169.254.169.254', 80), 2))"),
    ("broadcast", "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1); escaped(attempt(s.sendto, b'x', ('255.255.255.255', 9)))"),
    ("capture packets", "escaped(attempt(socket.socket, socket.AF_PACKET, socket.SOCK_RAW, 3))"),
    ("send raw packets", "escaped(attempt(socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))"),
    ("add an address to the network", "s = attempt(socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, 0)\nif s:\n  body = struct.pack('BBBBi', 2, 24, 0, 0, 1) + struct.pack('HH4s', 8, 2, bytes([10, 0, 0, 1]))\n  s.send(struct.pack('IHHII', 16 + len(body), 20, 5 | 0x600, 1, 0) + body)\n  escaped(struct.unpack('i', s.recv(64)[16:20])[0] == 0)"),
    ("talk to the hypervisor", "escaped(attempt(socket.socket, 40, socket.SOCK_STREAM))"),
    ("use the ciphers of the kernel", "s = attempt(socket.socket, 38, socket.SOCK_SEQPACKET); escaped(s and attempt(s.bind, ('hash', 'sha256')) is None)"),
    ("load drivers of protocols", "escaped([n for n in (3, 4, 5, 9, 21, 29, 30, 31, 36, 44) if attempt(socket.socket, n, socket.SOCK_RAW)])"),
    ("write settings of the network", "escaped(write('/proc/sys/net/ipv4/ip_forward') or write('/proc/sys/net/core/somaxconn', '4096'))"),
    // Descriptors, processes and objects of the host.
    ("find open files of its starter", "escaped([n for n in os.listdir('/proc/self/fd') if int(n) > 3])"),
    ("find a terminal", "escaped(attempt(open, '/dev/tty')); escaped(attempt(fcntl.ioctl, 0, 0x5412, b'x') is not None)"),
    ("signal a process of the host", "escaped(attempt(os.kill, @PID@, 0) is None and os.path.exists('/proc/@PID@/status') and b'sleep' in (read('/proc/@PID@/comm') or b''))\nattempt(os.kill, @PID@, 9)"),
    ("end PID 1", "attempt(os.kill, 1, 9); attempt(os.kill, 1, 11); attempt(os.kill, 1, 15); attempt(os.kill, 1, 19)"),
    ("raise the limits of PID 1", "must_fail(302, 1, 7, struct.pack('QQ', 1, 1), 0)"),
    ("raise its own limits", "import resource; escaped(attempt(resource.setrlimit, resource.RLIMIT_NPROC, (1 << 20, 1 << 20)) is None and resource.getrlimit(resource.RLIMIT_NPROC)[1] == 1 << 20)"),
    ("be spared when memory is short", "escaped(write('/proc/self/oom_score_adj', '-1000'))"),
    ("have PID 1 killed when memory is short", "escaped(write('/proc/1/oom_score_adj', '1000'))"),
    ("take the processor for itself", "escaped(call(144, 0, 1, struct.pack('i', 99)) >= 0); escaped(attempt(os.nice, -20) == -20)"),
    ("take the disk for itself", "must_fail(251, 1, 0, 1 << 13)"),
    ("find shared memory of the host", "escaped(len((read('/proc/sysvipc/shm') or b'').splitlines()) > 1)"),
    ("find message queues of the host", "escaped(len((read('/proc/sysvipc/msg') or b'').splitlines()) > 1)"),
    ("see processes of the host", "escaped([n for n in os.listdir('/proc') if n.isdigit() and int(n) > 60])"),
    ("find control groups to write", "escaped(attempt(os.listdir, '/sys/fs/cgroup')); escaped([line for line in read('/proc/self/mountinfo').split(b'\\n') if b'cgroup' in line])"),
    ("leave a core file with secrets of the host", "import resource; escaped(resource.getrlimit(resource.RLIMIT_CORE)[1])"),
];
