#!/bin/sh
# First process of the virtual machine. A sandbox pivots to a root of its own, which the kernel does not allow from the
# file system that it booted; from another mount of the same files it does. The mount is moved over the root, because a
# process in a changed root cannot have user namespaces.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
if [ "$0" = /init ]; then
    mount -n --bind / /vm/root
    cd /vm/root || exit
    mount -n --move . /
    exec chroot . /vm/run
fi
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
chmod 1777 /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
# A disk that is scheduled by weight. The flag 4 tells the kernel that the file is compressed.
for name in configfs null_blk bfq; do
    for file in /vm/modules/$name.ko*; do
        perl -e 'open(F, "<", my $file = $ARGV[0]) or die; my $options = $file =~ /null_blk/ ? "gb=1 memory_backed=1" : "";
            syscall(313, fileno(F), $options, $file =~ /ko$/ ? 0 : 4) == 0 or die "$file: $!\n"' "$file"
    done
done
echo bfq > /sys/block/nullb0/queue/scheduler
mkfs.ext4 -q /dev/nullb0
mount /dev/nullb0 /vm/disk
chmod 1777 /vm/disk
export TMPDIR=/vm/disk

top=/sys/fs/cgroup
echo 'vm-mode root'
/vm/tests --test-threads=1 lifecycle
mkdir $top/service
echo 'vm-mode service'
sh -c "echo \$\$ > $top/service/cgroup.procs && exec /vm/tests --test-threads=1"
# What a service manager does for a user.
mkdir $top/person
chown 1000:1000 $top/person $top/person/cgroup.procs $top/person/cgroup.subtree_control
echo 'vm-mode user'
sh -c "echo \$\$ > $top/person/cgroup.procs && exec setpriv --reuid 1000 --regid 1000 --clear-groups /vm/tests --test-threads=1"
echo vm-end
# TCSBRK: waits until the console has sent everything.
perl -e 'ioctl(STDOUT, 0x5409, 1) or die "$!\n"'
echo b > /proc/sysrq-trigger
sleep 60
