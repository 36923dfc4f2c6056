//! Tests of providers, credentials and the records of model calls.

use cynode_domain::ids::{CredentialId, InferenceId, RunId, TaskId, ThreadId, UserId};
use cynode_domain::model::{
    CredentialKind, CredentialOwner, InferenceOutcome, ProviderKind, ProviderUse,
};
use cynode_domain::policy::{Effect, Principal};
use cynode_store::{
    AppendRows, Credential, EgressDecision, Entry, InferenceCall, InferenceFilter, InferenceSums,
    ModelProvider, SpendingLimits, Store,
};
use serde_json::json;

use crate::world::at;

fn provider(name: &str) -> ModelProvider {
    ModelProvider {
        name: name.to_owned(),
        kind: ProviderKind::OpenAi,
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        is_local: true,
        is_enabled: true,
        allow: ProviderUse::Rules,
        models: vec!["a".to_owned(), "b".to_owned()],
        concurrency: 4,
        prices: json!({ "a": { "input": 1.5, "output": 2.0 } }),
        version: 1,
        updated_at: at(1),
        updated_by: Some(UserId::generate()),
    }
}

pub(crate) async fn a_provider_is_replaced_by_its_next_version_only(store: Store) {
    let first = provider("here");
    for (row, is_kept) in [(first.clone(), true), (first.clone(), false)] {
        assert_eq!(write_tx!(store, tx => tx.provider_put(&row).await), is_kept);
    }
    let second = ModelProvider {
        kind: ProviderKind::Ollama,
        base_url: "http://127.0.0.1:2".to_owned(),
        is_local: false,
        is_enabled: false,
        allow: ProviderUse::Everyone,
        models: vec![],
        concurrency: 1,
        prices: json!({}),
        version: 2,
        updated_at: at(2),
        updated_by: None,
        ..first
    };
    let row = second.clone();

    assert!(write_tx!(store, tx => tx.provider_put(&row).await));

    assert_eq!(read_tx!(store, tx => tx.provider_get("here").await), Some(second));
    assert!(write_tx!(store, tx => tx.provider_delete("here").await));
    assert!(!write_tx!(store, tx => tx.provider_delete("here").await));
    assert_eq!(read_tx!(store, tx => tx.provider_get("here").await), None);
}

pub(crate) async fn providers_are_listed_by_name(store: Store) {
    for name in ["b", "B", "a-1", "a"] {
        let row = provider(name);
        write_tx!(store, tx => tx.provider_put(&row).await);
    }

    let names: Vec<_> = read_tx!(store, tx => tx.provider_list().await)
        .into_iter()
        .map(|found| found.name)
        .collect();

    assert_eq!(names, ["B", "a", "a-1", "b"]);
}

fn credential(owner: CredentialOwner, owner_id: Option<UserId>, name: &str) -> Credential {
    Credential {
        id: CredentialId::generate(),
        owner,
        owner_id: owner_id.map(UserId::as_uuid),
        provider: "here".to_owned(),
        kind: CredentialKind::ApiKey,
        name: name.to_owned(),
        sealed: vec![0, 1, 255],
        key: "k1".to_owned(),
        is_active: true,
        expires_at: Some(at(100)),
        version: 1,
        created_at: at(0),
        updated_at: at(1),
        updated_by: Some(UserId::generate()),
    }
}

pub(crate) async fn an_owner_has_one_credential_of_a_name_for_a_provider(store: Store) {
    let (ada, bob) = (UserId::generate(), UserId::generate());
    let owners = [
        (CredentialOwner::System, None),
        (CredentialOwner::User, Some(ada)),
        (CredentialOwner::User, Some(bob)),
    ];
    for (owner, id) in owners {
        for (name, is_kept) in [("default", true), ("spare", true), ("default", false)] {
            let row = credential(owner, id, name);
            assert_eq!(write_tx!(store, tx => tx.credential_insert(&row).await), is_kept, "{name}");
        }
    }

    assert_eq!(read_tx!(store, tx => tx.credential_list().await).len(), 6);
}

pub(crate) async fn a_credential_is_replaced_by_its_next_version_only(store: Store) {
    let first = credential(CredentialOwner::System, None, "default");
    let row = first.clone();
    write_tx!(store, tx => tx.credential_insert(&row).await);
    for version in [1, 3] {
        let stale = Credential { version, ..first.clone() };
        assert!(!write_tx!(store, tx => tx.credential_update(&stale).await), "{version}");
    }
    let second = Credential {
        kind: CredentialKind::BearerToken,
        sealed: vec![9],
        key: "k2".to_owned(),
        is_active: false,
        expires_at: None,
        version: 2,
        updated_at: at(2),
        updated_by: None,
        ..first.clone()
    };
    let row = second.clone();

    assert!(write_tx!(store, tx => tx.credential_update(&row).await));

    assert_eq!(read_tx!(store, tx => tx.credential_get(first.id).await), Some(second));
    assert!(write_tx!(store, tx => tx.credential_delete(first.id).await));
    assert!(!write_tx!(store, tx => tx.credential_delete(first.id).await));
}

pub(crate) fn call(user: UserId, run: Option<RunId>, cost: Option<i64>) -> InferenceCall {
    InferenceCall {
        id: InferenceId::generate(),
        created_at: at(10),
        purpose: "chat".to_owned(),
        agent: Some(Principal::PM),
        user,
        project: None,
        task: Some(TaskId::generate()),
        run,
        thread: Some(ThreadId::generate()),
        trace_id: "t".to_owned(),
        provider: "here".to_owned(),
        model: "a".to_owned(),
        prompt_hash: Some("00".to_owned()),
        input_tokens: Some(10),
        output_tokens: Some(5),
        cost_micro_usd: cost,
        is_estimate: false,
        latency_ms: 7,
        first_chunk_ms: Some(3),
        outcome: InferenceOutcome::Success,
        error: None,
    }
}

pub(crate) async fn calls_to_models_are_summed_and_listed_under_every_filter(store: Store) {
    let (ada, bob, run) = (UserId::generate(), UserId::generate(), RunId::generate());
    let (first, second) = (call(ada, Some(run), Some(30)), call(bob, Some(run), Some(4)));
    let plan = InferenceCall {
        purpose: "plan".to_owned(),
        created_at: at(20),
        agent: None,
        outcome: InferenceOutcome::Canceled,
        ..call(ada, None, None)
    };
    let refused = InferenceCall {
        input_tokens: None,
        output_tokens: None,
        outcome: InferenceOutcome::Denied,
        error: Some("no".to_owned()),
        ..call(bob, None, None)
    };
    let all = [first, second, plan, refused];
    for row in all.clone() {
        write_tx!(store, tx => tx.inference_append(&row).await);
    }
    let filters = [
        (InferenceFilter::default(), vec![3, 2, 1, 0], 34, 1),
        (InferenceFilter { user: Some(ada), ..Default::default() }, vec![2, 0], 30, 1),
        (InferenceFilter { run: Some(run), ..Default::default() }, vec![1, 0], 34, 0),
        (InferenceFilter { task: all[1].task, ..Default::default() }, vec![1], 4, 0),
        (InferenceFilter { purpose: Some("plan".to_owned()), ..Default::default() }, vec![2], 0, 1),
        (InferenceFilter { since: Some(at(20)), ..Default::default() }, vec![2], 0, 1),
    ];
    for (filter, expected, cost_micro_usd, unpriced) in filters {
        let query = filter.clone();
        let found = read_tx!(store, tx => tx.inference_list(&query, None, 10).await);
        assert_eq!(found, expected.iter().map(|i| all[*i].clone()).collect::<Vec<_>>());
        let query = filter.clone();
        let sums = read_tx!(store, tx => tx.inference_sums(&query).await);
        let with_tokens = expected.iter().filter(|i| **i != 3).count();
        let tokens = i64::try_from(with_tokens).unwrap();
        let calls = i64::try_from(expected.len()).unwrap();
        let (input_tokens, output_tokens) = (10 * tokens, 5 * tokens);
        let right = InferenceSums { calls, input_tokens, output_tokens, cost_micro_usd, unpriced };
        assert_eq!(sums, right, "{filter:?}");
    }
    let (filter, before) = (InferenceFilter::default(), Some(all[2].id));
    let page = read_tx!(store, tx => tx.inference_list(&filter, before, 1).await);
    assert_eq!(page, [all[1].clone()]);
    let (expected, unknown) = (all[1].id, InferenceId::generate());
    assert_eq!(read_tx!(store, tx => tx.inference_get(expected).await).as_ref(), Some(&all[1]));
    assert_eq!(read_tx!(store, tx => tx.inference_get(unknown).await), None);
}

pub(crate) async fn decisions_about_a_call_are_kept_in_order(store: Store) {
    let call = InferenceId::generate();
    let decision = |resource: &str, decision, credential| EgressDecision {
        call,
        at: at(1),
        agent: Some(Principal::PA),
        user: UserId::generate(),
        task: None,
        resource: resource.to_owned(),
        decision,
        reason: "rule 1".to_owned(),
        credential,
        trace_id: "t".to_owned(),
    };
    let made = [
        decision("a/chat", Effect::Deny, None),
        decision("b/chat", Effect::Allow, Some(CredentialId::generate())),
    ];
    for row in made.clone() {
        write_tx!(store, tx => tx.egress_decision_append(&row).await);
    }

    assert_eq!(read_tx!(store, tx => tx.egress_decision_list(call).await), made);
    let other = InferenceId::generate();
    assert_eq!(read_tx!(store, tx => tx.egress_decision_list(other).await), []);
}

/// An open call with this maximum cost.
fn open(run: Option<RunId>, cost: i64) -> InferenceCall {
    InferenceCall {
        outcome: InferenceOutcome::Open,
        is_estimate: true,
        input_tokens: None,
        output_tokens: None,
        first_chunk_ms: None,
        latency_ms: 0,
        ..call(UserId::generate(), run, Some(cost))
    }
}

pub(crate) async fn money_is_set_aside_only_if_it_fits_into_every_limit(store: Store) {
    let (run, other) = (Some(RunId::generate()), Some(RunId::generate()));
    let day = |most| SpendingLimits { since: Some((at(10), most)), run: None, request: None };
    let of_run = |most| SpendingLimits { since: None, run: Some(most), request: None };
    let earlier = InferenceCall { created_at: at(9), ..open(other, 1000) };
    assert!(store.inference_reserve(&earlier, SpendingLimits::default()).await.unwrap());
    for (row, limits, fits) in [
        (open(run, 60), day(59), false),
        (open(run, 60), day(60), true),
        (open(run, 41), day(100), false),
        (open(None, 40), day(100), true),
        (open(run, 1), of_run(60), false),
        (open(run, 1), of_run(61), true),
        (open(other, 1), SpendingLimits { run: Some(1000), ..day(102) }, false),
        (open(other, 1), SpendingLimits { run: Some(1001), ..day(101) }, false),
        (open(other, 1), SpendingLimits { run: Some(1001), ..day(102) }, true),
        (open(None, 5000), SpendingLimits::default(), true),
    ] {
        let (run, cost) = (row.run, row.cost_micro_usd);
        let is_set = store.inference_reserve(&row, limits).await.unwrap();
        assert_eq!(is_set, fits, "{run:?} {cost:?} {limits:?}");
        let kept =
            read_tx!(store, tx => tx.inference_list(&InferenceFilter::default(), None, 1).await);
        assert_eq!(kept == [row], fits);
    }
}

pub(crate) async fn an_open_call_becomes_what_it_was_once_and_never_again(store: Store) {
    let set_aside = open(None, 900);
    assert!(store.inference_reserve(&set_aside, SpendingLimits::default()).await.unwrap());
    let ended = InferenceCall {
        outcome: InferenceOutcome::Success,
        is_estimate: false,
        cost_micro_usd: Some(7),
        input_tokens: Some(3),
        output_tokens: Some(4),
        latency_ms: 12,
        first_chunk_ms: Some(6),
        error: Some("said".to_owned()),
        ..set_aside.clone()
    };
    store.batch(AppendRows(vec![Entry::InferenceCall(ended.clone())])).await.unwrap();

    let late = InferenceCall { cost_micro_usd: Some(8), ..ended.clone() };
    store.batch(AppendRows(vec![Entry::InferenceCall(late)])).await.unwrap();
    let again = store.inference_reserve(&set_aside, SpendingLimits::default()).await.unwrap();

    assert!(!again, "what ended cannot begin");
    let kept = read_tx!(store, tx => tx.inference_list(&InferenceFilter::default(), None, 9).await);
    assert_eq!(kept, [ended]);
}

pub(crate) async fn those_who_set_money_aside_at_once_do_not_pass_the_limit_together(store: Store) {
    let limits = SpendingLimits { since: Some((at(0), 250)), run: None, request: None };
    let all = (0..32).map(|_| {
        let (store, row) = (store.clone(), open(None, 100));
        async move { store.inference_reserve(&row, limits).await.unwrap() }
    });

    let set = futures_util::future::join_all(all).await;

    assert_eq!(set.into_iter().filter(|is_set| *is_set).count(), 2);
}
