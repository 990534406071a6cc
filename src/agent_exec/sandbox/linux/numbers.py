"""The numbers of system calls, by architecture."""

import os
import struct
from errno import ENOSYS

_ARCHITECTURES = ("x86_64", "aarch64")
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""What the kernel calls an architecture when it shows a call to a filter."""

NEWEST = 469
"""The last number this table was made for; from 424 on, all architectures share them."""

_TABLE = """
acct 163 89
add_key 248 217
adjtimex 159 171
bpf 321 280
capset 126 91
chmod 90 -
chroot 161 51
clock_adjtime 305 266
clock_settime 227 112
clone 56 220
clone3 435 435
creat 85 -
delete_module 176 106
fanotify_init 300 262
fchmod 91 52
fchmodat 268 53
fchmodat2 452 452
fcntl 72 25
finit_module 313 273
fsconfig 431 431
fsmount 432 432
fsopen 430 430
fspick 433 433
init_module 175 105
io_setup 206 0
io_uring_enter 426 426
io_uring_register 427 427
io_uring_setup 425 425
ioctl 16 29
ioperm 173 -
iopl 172 -
ioprio_set 251 30
kcmp 312 272
kexec_file_load 320 294
kexec_load 246 104
keyctl 250 219
landlock_add_rule 445 445
landlock_create_ruleset 444 444
landlock_restrict_self 446 446
memfd_create 319 279
memfd_secret 447 447
migrate_pages 256 238
mkdir 83 -
mkdirat 258 34
mknod 133 -
mknodat 259 33
mmap 9 222
modify_ldt 154 -
mount 165 40
mount_setattr 442 442
move_mount 429 429
move_pages 279 239
open 2 -
open_by_handle_at 304 265
open_tree 428 428
open_tree_attr 467 467
openat 257 56
openat2 437 437
perf_event_open 298 241
personality 135 92
pidfd_getfd 438 438
pivot_root 155 41
prctl 157 167
prlimit64 302 261
process_madvise 440 440
process_vm_readv 310 270
process_vm_writev 311 271
ptrace 101 117
quotactl 179 60
quotactl_fd 443 443
reboot 169 142
renameat2 316 276
request_key 249 218
sched_setattr 314 274
seccomp 317 277
setdomainname 171 162
sethostname 170 161
setns 308 268
settimeofday 164 170
shmget 29 194
socket 41 198
socketpair 53 199
swapoff 168 225
swapon 167 224
syslog 103 116
umount2 166 39
unshare 272 97
userfaultfd 323 282
"""


class UnknownArchitecture(OSError):
    """Nobody has written down this machine's system calls, so nothing can be confined on it."""


def machine() -> str:
    """Return this process's architecture; raise if its calls are not known."""
    name = os.uname().machine
    if name not in _ARCHITECTURES or struct.calcsize("P") != 8:  # a 32-bit program has other numbers
        raise UnknownArchitecture(ENOSYS, f"the system calls of {name} are not known: use x86_64 or aarch64")
    return name


def table(architecture: str) -> dict[str, int]:
    """Return the numbers of the calls that an architecture has."""
    if architecture not in _ARCHITECTURES:
        raise UnknownArchitecture(ENOSYS, f"the system calls of {architecture} are not known")
    column = 1 + _ARCHITECTURES.index(architecture)
    rows = [line.split() for line in _TABLE.split("\n") if line]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}
