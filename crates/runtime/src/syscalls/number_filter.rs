//! Seccomp filters that decide by the number of a call alone, by binary search.
//!
//! The kernel runs a new filter once for every call that exists. A list of comparisons, one for each call, would make that the
//! longest part of starting a sandbox.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{BpfProgram, TargetArch, sock_filter};

/// Start of the x32 system call numbers on `x86_64`. Some calls have other numbers there, and
/// CyNode does not use them.
const X32_SYSCALL_BIT: u32 = 0x4000_0000;

/// Offsets in `struct seccomp_data`.
const NUMBER_OFFSET: u32 = 0;
const ARCH_OFFSET: u32 = 4;
/// Instructions of classic BPF.
const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

/// An action for every number of a call.
#[derive(Debug)]
pub(super) struct NumberActions {
    default: u32,
    by_number: BTreeMap<u32, u32>,
    denies_x32: bool,
}

impl NumberActions {
    pub(super) fn with_default(action: u32) -> Self {
        Self { default: action, by_number: BTreeMap::new(), denies_x32: false }
    }

    pub(super) fn set(&mut self, call: i64, action: u32) {
        // The kernel knows no other number.
        if let Ok(call) = u32::try_from(call) {
            self.by_number.insert(call, action);
        }
    }

    /// Denies every call of the x32 interface with `EPERM`.
    pub(super) fn deny_x32(&mut self) {
        self.denies_x32 = true;
    }

    /// Compiles the filter. A process of another architecture is killed: its numbers mean other calls.
    pub(super) fn compile(&self, arch: TargetArch) -> BpfProgram {
        let mut program = vec![
            statement(LOAD, ARCH_OFFSET),
            sock_filter { jt: 1, ..statement(JUMP_IF_EQUAL, audit_arch(arch)) },
            statement(RETURN, libc::SECCOMP_RET_KILL_PROCESS),
            statement(LOAD, NUMBER_OFFSET),
        ];
        program.extend(search(&self.ranges()));
        program
    }

    /// The first number of each range with one action, ascending; the first range starts at zero.
    fn ranges(&self) -> Vec<(u32, u32)> {
        let mut starts = vec![(0, self.default)];
        let mut next = 0;
        for (&number, &action) in &self.by_number {
            if number > next {
                starts.push((next, self.default));
            }
            starts.push((number, action));
            next = number.saturating_add(1);
        }
        starts.push((next, self.default));
        if self.denies_x32 {
            starts.retain(|(start, _)| *start < X32_SYSCALL_BIT);
            let denied = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
            starts.push((X32_SYSCALL_BIT, denied));
        }
        // Of two that start at one number, the later one holds.
        let mut ranges: Vec<(u32, u32)> = vec![];
        for (start, action) in starts {
            ranges.pop_if(|(last, _)| *last == start);
            if ranges.last().is_none_or(|(_, last)| *last != action) {
                ranges.push((start, action));
            }
        }
        ranges
    }
}

fn search(ranges: &[(u32, u32)]) -> Vec<sock_filter> {
    let (lower, upper) = ranges.split_at(ranges.len() / 2);
    match (lower, upper) {
        (_, []) => vec![],
        ([], [(_, action), ..]) => vec![statement(RETURN, *action)],
        (_, [(start, _), ..]) => {
            let below = search(lower);
            // An absolute jump, because those of comparisons reach 255 instructions only.
            let distance = u32::try_from(below.len()).unwrap_or(u32::MAX);
            let compare = sock_filter { jf: 1, ..statement(JUMP_IF_AT_LEAST, *start) };
            [vec![compare, statement(JUMP, distance)], below, search(upper)].concat()
        }
    }
}

fn statement(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

/// The kernel's number of an architecture: its ELF machine, 64 bits, little-endian.
fn audit_arch(arch: TargetArch) -> u32 {
    const LITTLE_ENDIAN_64: u32 = 0x8000_0000 | 0x4000_0000;
    let machine = match arch {
        TargetArch::x86_64 => 62,
        TargetArch::aarch64 => 183,
        TargetArch::riscv64 => 243,
    };
    machine | LITTLE_ENDIAN_64
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENOSYS: u32 = 0x0005_0026;
    const EPERM: u32 = 0x0005_0001;
    const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;

    /// Executes a program as the kernel does.
    fn decide(program: &[sock_filter], arch: u32, number: u32) -> u32 {
        let (mut position, mut loaded) = (0, 0);
        loop {
            let line = &program[position];
            position += 1;
            let branch = |is_true| usize::from(if is_true { line.jt } else { line.jf });
            match line.code {
                LOAD => loaded = if line.k == ARCH_OFFSET { arch } else { number },
                JUMP => position += usize::try_from(line.k).unwrap(),
                JUMP_IF_EQUAL => position += branch(loaded == line.k),
                JUMP_IF_AT_LEAST => position += branch(loaded >= line.k),
                _ => return line.k,
            }
        }
    }

    #[test]
    fn every_number_has_the_action_that_was_set_for_it() {
        let mut actions = NumberActions::with_default(ENOSYS);
        // Gaps, runs, both ends, and enough of them that a jump passes 255 instructions.
        let allowed: Vec<u32> = (0..2000).filter(|number| number % 7 < 3).collect();
        for number in &allowed {
            actions.set(i64::from(*number), ALLOW);
        }
        actions.set(5, EPERM);
        actions.set(-1, ALLOW);
        let program = actions.compile(TargetArch::x86_64);

        let arch = audit_arch(TargetArch::x86_64);
        for number in 0..2100 {
            let expected = match number {
                5 => EPERM,
                number if allowed.contains(&number) => ALLOW,
                _ => ENOSYS,
            };
            assert_eq!(decide(&program, arch, number), expected, "{number}");
        }
        assert_eq!(decide(&program, arch, u32::MAX), ENOSYS);
        assert!(program.len() < 4096, "the kernel's limit");
    }

    #[test]
    fn calls_of_another_architecture_are_killed_and_those_of_x32_denied() {
        let mut actions = NumberActions::with_default(ALLOW);
        actions.deny_x32();
        let program = actions.compile(TargetArch::x86_64);
        let arch = audit_arch(TargetArch::x86_64);

        let first = X32_SYSCALL_BIT;
        for (number, action) in
            [(0, ALLOW), (first - 1, ALLOW), (first, EPERM), (first + 59, EPERM), (u32::MAX, EPERM)]
        {
            assert_eq!(decide(&program, arch, number), action, "{number}");
        }
        let other = audit_arch(TargetArch::aarch64);
        assert_eq!(decide(&program, other, 0), libc::SECCOMP_RET_KILL_PROCESS);
    }

    #[test]
    fn a_filter_without_exceptions_is_its_default() {
        let program = NumberActions::with_default(ENOSYS).compile(TargetArch::aarch64);

        assert_eq!(decide(&program, audit_arch(TargetArch::aarch64), 12), ENOSYS);
    }
}
