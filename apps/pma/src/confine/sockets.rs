//! Which sockets can be made: connections by TCP, and questions by UDP where names must be looked up.
//!
//! Landlock says which port TCP may reach. It knows nothing of unix sockets with a path, of other
//! protocols over the same type of socket, nor of data sent along with the first packet; those are
//! refused here.

use cynode_runtime::syscalls::Rules;
use nix::libc;
use seccompiler::{
    BackendError, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition as Condition,
    SeccompRule as Rule,
};

/// The types of sockets; what else is in that argument are flags.
const TYPES: u64 = 0xf;
const STREAM: u64 = 1;
const DATAGRAM: u64 = 2;

/// What is refused.
pub(super) fn denied(looks_up_names: bool) -> Result<Rules, BackendError> {
    let internet = [libc::AF_INET, libc::AF_INET6];
    let mut sockets = vec![all(vec![none_of(0, &internet)?])?];
    let types = if looks_up_names { vec![STREAM, DATAGRAM] } else { vec![STREAM] };
    sockets.extend(other_types(&types)?);
    for (kind, protocol) in [(STREAM, libc::IPPROTO_TCP), (DATAGRAM, libc::IPPROTO_UDP)] {
        let protocols = none_of(2, &[libc::IPPROTO_IP, protocol])?;
        sockets.push(all(vec![vec![of_type(kind)?], protocols])?);
    }
    // Waiting for signals takes a pair of streams. A pair of anything else could be sent elsewhere.
    let mut pairs = vec![all(vec![none_of(0, &[libc::AF_UNIX])?])?];
    pairs.extend(other_types(&[STREAM])?);
    let mut rules = Rules::from([(libc::SYS_socket, sockets), (libc::SYS_socketpair, pairs)]);
    // Its own socket listens already.
    rules.insert(libc::SYS_listen, vec![]);
    if !looks_up_names {
        rules.insert(libc::SYS_bind, vec![]);
    }
    // Connects without saying so.
    let early = u64::from(libc::MSG_FASTOPEN.unsigned_abs());
    for (call, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
        let is_early = Condition::new(flags, Len::Dword, Op::MaskedEq(early), early)?;
        rules.insert(call, vec![Rule::new(vec![is_early])?]);
    }
    Ok(rules)
}

/// A rule that fits if all of these do.
fn all(conditions: Vec<Vec<Condition>>) -> Result<Rule, BackendError> {
    Rule::new(conditions.into_iter().flatten().collect())
}

/// That an argument is none of these.
fn none_of(argument: u8, values: &[i32]) -> Result<Vec<Condition>, BackendError> {
    let other =
        |value: &i32| Condition::new(argument, Len::Dword, Op::Ne, u64::from(value.unsigned_abs()));
    values.iter().map(other).collect()
}

fn of_type(kind: u64) -> Result<Condition, BackendError> {
    Condition::new(1, Len::Dword, Op::MaskedEq(TYPES), kind)
}

/// A rule for each type but these.
fn other_types(types: &[u64]) -> Result<Vec<Rule>, BackendError> {
    let others = (0..=TYPES).filter(|kind| !types.contains(kind));
    others.map(|kind| Rule::new(vec![of_type(kind)?])).collect()
}
