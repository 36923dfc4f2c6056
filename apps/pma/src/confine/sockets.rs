//! The socket rules of the system call filter: TCP, and UDP if host names must be resolved.
//!
//! Landlock restricts the TCP ports. It does not cover Unix sockets with a path, other protocols over the same
//! socket type, or TCP Fast Open; those are denied here.

use cynode_runtime::syscalls::SyscallRules;
use nix::libc;
use seccompiler::{
    BackendError, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition as Condition,
    SeccompRule as Rule,
};

/// The bits of the socket type; the other bits of that argument are flags.
const TYPES: u64 = 0xf;
const STREAM: u64 = 1;
const DATAGRAM: u64 = 2;

/// The denied calls.
pub(super) fn denied_socket_calls(looks_up_names: bool) -> Result<SyscallRules, BackendError> {
    let internet = [libc::AF_INET, libc::AF_INET6];
    let mut sockets = vec![all_of(vec![none_of(0, &internet)?])?];
    let types = if looks_up_names { vec![STREAM, DATAGRAM] } else { vec![STREAM] };
    sockets.extend(rules_for_other_types(&types)?);
    for (kind, protocol) in [(STREAM, libc::IPPROTO_TCP), (DATAGRAM, libc::IPPROTO_UDP)] {
        let protocols = none_of(2, &[libc::IPPROTO_IP, protocol])?;
        sockets.push(all_of(vec![vec![type_condition(kind)?], protocols])?);
    }
    // Signal handling needs a pair of stream sockets. Other pairs could send elsewhere.
    let mut pairs = vec![all_of(vec![none_of(0, &[libc::AF_UNIX])?])?];
    pairs.extend(rules_for_other_types(&[STREAM])?);
    let mut rules =
        SyscallRules::from([(libc::SYS_socket, sockets), (libc::SYS_socketpair, pairs)]);
    // The own socket is listening already.
    rules.insert(libc::SYS_listen, vec![]);
    if !looks_up_names {
        rules.insert(libc::SYS_bind, vec![]);
    }
    // TCP Fast Open connects without `connect`.
    let early = u64::from(libc::MSG_FASTOPEN.unsigned_abs());
    for (call, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
        let is_early = Condition::new(flags, Len::Dword, Op::MaskedEq(early), early)?;
        rules.insert(call, vec![Rule::new(vec![is_early])?]);
    }
    Ok(rules)
}

/// A rule that matches if all conditions match.
fn all_of(conditions: Vec<Vec<Condition>>) -> Result<Rule, BackendError> {
    Rule::new(conditions.into_iter().flatten().collect())
}

/// Conditions that an argument is none of the values.
fn none_of(argument: u8, values: &[i32]) -> Result<Vec<Condition>, BackendError> {
    let other =
        |value: &i32| Condition::new(argument, Len::Dword, Op::Ne, u64::from(value.unsigned_abs()));
    values.iter().map(other).collect()
}

fn type_condition(kind: u64) -> Result<Condition, BackendError> {
    Condition::new(1, Len::Dword, Op::MaskedEq(TYPES), kind)
}

/// A rule for each socket type except these.
fn rules_for_other_types(types: &[u64]) -> Result<Vec<Rule>, BackendError> {
    let others = (0..=TYPES).filter(|kind| !types.contains(kind));
    others.map(|kind| Rule::new(vec![type_condition(kind)?])).collect()
}
