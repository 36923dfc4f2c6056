//! Leases: forged, changed, expired, widened, moved, cut.

use std::collections::BTreeSet;

use cynode_domain::ids::{CapabilityLeaseId, JobId, ProjectId, TaskId, UserId};
use cynode_domain::job::Limits;
use cynode_domain::policy::Principal;
use proptest::prelude::*;

use super::*;

fn noon() -> DateTime<Utc> {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

fn minutes(count: i64) -> TimeDelta {
    TimeDelta::minutes(count)
}

fn names(tools: &[&str]) -> BTreeSet<String> {
    tools.iter().map(|tool| (*tool).to_owned()).collect()
}

fn claims(holder: Option<&LeaseKey>) -> LeaseClaims {
    LeaseClaims {
        id: CapabilityLeaseId::generate(),
        node_key: "node".to_owned(),
        caller: Principal::PM,
        user: UserId::generate(),
        groups: vec![],
        roles: vec!["user".to_owned()],
        project: ProjectId::generate(),
        task: TaskId::generate(),
        sandbox: JobId::generate(),
        tools: names(&["sandbox.exec", "sandbox.get_file"]),
        limits: Limits::default(),
        image: None,
        has_repository: false,
        issued_at: noon(),
        expires_at: noon() + minutes(5),
        holder: holder.map(|key| key.public_key().clone()),
    }
}

fn key(seed: u8) -> LeaseKey {
    LeaseKey::from_seed(&[seed; 32]).unwrap()
}

fn restriction(tools: &[&str], until: i64, holder: Option<&LeaseKey>) -> LeaseRestriction {
    LeaseRestriction {
        tools: names(tools),
        expires_at: noon() + minutes(until),
        holder: holder.map(|key| key.public_key().clone()),
    }
}

#[test]
fn a_lease_is_verified_with_its_key_alone() {
    let (ours, theirs) = (key(1), key(2));
    let claims = claims(None);
    let lease = ours.sign(&claims).unwrap();

    let trusted = [theirs.public_key().clone(), ours.public_key().clone()];
    let verified = verify(&lease, &trusted, noon()).unwrap();

    assert_eq!((verified.claims(), verified.key()), (&claims, &ours.public_key().id()));
    assert!(lease.starts_with("cyn_lease_v4.public."), "{lease}");
    assert_eq!(verify(&lease, &trusted[..1], noon()), Err(LeaseError::UnknownKey));
    assert_eq!(verify(&lease, &[], noon()), Err(LeaseError::UnknownKey));
}

#[test]
fn a_lease_with_any_byte_changed_is_refused() {
    let ours = key(1);
    let lease = ours.sign(&claims(None)).unwrap();
    let trusted = [ours.public_key().clone()];

    for index in 0..lease.len() {
        let mut bytes = lease.clone().into_bytes();
        bytes[index] = if bytes[index] == b'A' { b'B' } else { b'A' };
        let forged = String::from_utf8(bytes).unwrap();
        assert!(verify(&forged, &trusted, noon()).is_err(), "byte {index}");
    }
    for cut in 0..lease.len() {
        assert!(verify(&lease[..cut], &trusted, noon()).is_err(), "{cut} bytes");
    }
    let long = format!("{lease}{}", "A".repeat(MAX_TOKEN_BYTES));
    assert_eq!(verify(&long, &trusted, noon()), Err(LeaseError::Malformed));
}

#[test]
fn a_lease_of_another_key_that_names_ours_is_refused() {
    let (ours, theirs) = (key(1), key(2));
    let message = serde_json::to_vec(&claims(None)).unwrap();
    let footer = ours.public_key().id().0;
    let forged = PublicToken::sign(theirs.secret(), &message, Some(footer.as_bytes()), None);

    let found =
        verify(&format!("{TOKEN_PREFIX}{}", forged.unwrap()), &[ours.public_key().clone()], noon());

    assert_eq!(found, Err(LeaseError::BadSignature));
}

#[test]
fn a_lease_has_a_beginning_and_an_end() {
    let ours = key(1);
    let trusted = [ours.public_key().clone()];
    let lease = ours.sign(&claims(None)).unwrap();

    assert!(verify(&lease, &trusted, noon() + minutes(5) - TimeDelta::seconds(1)).is_ok());
    assert_eq!(verify(&lease, &trusted, noon() + minutes(5)), Err(LeaseError::Expired));
    assert!(verify(&lease, &trusted, noon() - minutes(1)).is_ok());
    assert_eq!(verify(&lease, &trusted, noon() - minutes(2)), Err(LeaseError::NotYetValid));
    let long = LeaseClaims { expires_at: noon() + minutes(16), ..claims(None) };
    let long = ours.sign(&long).unwrap();
    assert_eq!(verify(&long, &trusted, noon()), Err(LeaseError::TooLong));
}

#[test]
fn a_holder_narrows_a_lease_at_most_twice() {
    let (ours, first, second) = (key(1), key(2), key(3));
    let trusted = [ours.public_key().clone()];
    let lease = ours.sign(&claims(Some(&first))).unwrap();

    let one = restriction(&["sandbox.exec"], 3, None);
    let verified = verify(&narrow(&lease, &first, &one).unwrap(), &trusted, noon()).unwrap();
    assert_eq!(verified.claims().tools, names(&["sandbox.exec"]));
    assert_eq!(verified.claims().expires_at, noon() + minutes(3));
    let one = restriction(&["sandbox.exec"], 3, Some(&second));
    let narrowed = narrow(&lease, &first, &one).unwrap();

    let last = narrow(&narrowed, &second, &restriction(&[], 1, None)).unwrap();
    assert_eq!(verify(&last, &trusted, noon()).unwrap().claims().tools, names(&[]));
    assert_eq!(verify(&last, &trusted, noon() + minutes(2)), Err(LeaseError::Expired));
    let twice = narrow(&narrowed, &second, &restriction(&[], 1, Some(&first))).unwrap();
    let thrice = narrow(&twice, &first, &restriction(&[], 1, None)).unwrap();
    assert_eq!(verify(&thrice, &trusted, noon()), Err(LeaseError::TooManyLinks));
}

#[test]
fn a_narrowed_lease_cannot_be_cut_back_to_the_wider_one() {
    let (ours, first, second) = (key(1), key(2), key(3));
    let trusted = [ours.public_key().clone()];
    let lease = ours.sign(&claims(Some(&first))).unwrap();
    let less = restriction(&["sandbox.exec"], 3, Some(&second));
    let narrowed = narrow(&lease, &first, &less).unwrap();
    let last = narrow(&narrowed, &second, &restriction(&["sandbox.exec"], 1, None)).unwrap();

    assert!(verify(&last, &trusted, noon()).is_ok());
    for wider in [&narrowed, &lease] {
        assert_eq!(verify(wider, &trusted, noon()), Err(LeaseError::NotFinal));
    }
}

#[test]
fn a_restriction_of_another_holder_or_another_lease_is_refused() {
    let (ours, first, second) = (key(1), key(2), key(3));
    let trusted = [ours.public_key().clone()];
    let (held, free) = (claims(Some(&first)), claims(None));
    let (held, free) = (ours.sign(&held).unwrap(), ours.sign(&free).unwrap());
    let less = restriction(&["sandbox.exec"], 3, None);

    let foreign = narrow(&held, &second, &less).unwrap();
    assert_eq!(verify(&foreign, &trusted, noon()), Err(LeaseError::BadSignature));
    let unheld = narrow(&free, &first, &less).unwrap();
    assert_eq!(verify(&unheld, &trusted, noon()), Err(LeaseError::NoHolder));
    // The link of one lease behind another of the same holder.
    let other = ours.sign(&claims(Some(&first))).unwrap();
    let narrowed = narrow(&held, &first, &less).unwrap();
    let link = narrowed.split_once(SEPARATOR).unwrap().1;
    let moved = format!("{other}{SEPARATOR}{link}");
    assert_eq!(verify(&moved, &trusted, noon()), Err(LeaseError::BadSignature));
}

#[test]
fn a_seed_without_entropy_and_damaged_keys_are_refused() {
    assert!(LeaseKey::from_seed(&[0; 32]).is_err());
    assert!(LeaseKey::from_seed(&[1; 31]).is_err());
    assert!(LeasePublicKey::parse("zz").is_err());
    let public = key(1).public_key().clone();
    assert_eq!(LeasePublicKey::parse(&public.to_string()).unwrap(), public);
    assert!(!format!("{:?}", key(1)).contains(&hex::encode([1; 32])));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a chain of holders signs, a lease that is accepted permits a part of every link before.
    #[test]
    fn a_narrowed_lease_never_permits_more(
        links in proptest::collection::vec((proptest::collection::vec(0..4_usize, 0..4), -2..8_i64), 1..3)
    ) {
        const TOOLS: [&str; 4] = ["sandbox.exec", "sandbox.get_file", "sandbox.put_file", "db.task.get"];
        let ours = key(1);
        let holder = key(2);
        let root = claims(Some(&holder));
        let mut lease = ours.sign(&root).unwrap();
        let (mut tools, mut end) = (root.tools.clone(), root.expires_at);
        let mut is_narrower = true;
        let count = links.len();
        for (index, (chosen, until)) in links.into_iter().enumerate() {
            let chosen: Vec<_> = chosen.iter().map(|index| TOOLS[*index]).collect();
            let next = restriction(&chosen, until, (index + 1 < count).then_some(&holder));
            is_narrower &= next.tools.is_subset(&tools) && next.expires_at <= end;
            (tools, end) = (next.tools.clone(), next.expires_at);
            lease = narrow(&lease, &holder, &next).unwrap();
        }

        match verify(&lease, &[ours.public_key().clone()], noon()) {
            Ok(verified) => {
                prop_assert!(is_narrower);
                prop_assert!(verified.claims().tools.is_subset(&root.tools));
                prop_assert!(verified.claims().expires_at <= root.expires_at);
                prop_assert_eq!(verified.claims().task, root.task);
            }
            Err(error) => prop_assert!(!is_narrower || error == LeaseError::Expired),
        }
    }
}
