//! Tests of agent tokens.

use cynode_domain::ids::{
    JobId, ProfileId, ProjectId, RunId, ScheduleRunId, SessionId, TaskId, ThreadId, TokenId,
    TraceId, UserId,
};
use cynode_domain::policy::AgentType;
use cynode_domain::verification::VerificationKey;
use cynode_store::{AgentToken, JobAgent, Store, TokenBinding, TokenOrigin};

use crate::world::{World, at};

pub(crate) fn token(user: UserId, hash: u8) -> AgentToken {
    AgentToken {
        id: TokenId::generate(),
        hash: vec![hash; 32],
        agent: AgentType::Sandbox,
        user,
        binding: TokenBinding {
            project: Some(ProjectId::generate()),
            task: Some(TaskId::generate()),
            run: Some(RunId::generate()),
            job: Some(JobId::generate()),
            session: Some(SessionId::generate()),
        },
        origin: TokenOrigin {
            schedule_run: Some(ScheduleRunId::generate()),
            thread: Some(ThreadId::generate()),
            trace: Some(TraceId::generate()),
            verification: Some(VerificationKey {
                run: RunId::generate(),
                job: JobId::generate(),
                round: 0,
            }),
        },
        job_agent: JobAgent {
            role: Some("developer".parse().unwrap()),
            work_unit: Some("impl:auth".to_owned()),
            profile: Some(("opencode".to_owned(), 3)),
        },
        profile_id: Some(ProfileId::generate()),
        name: "job".to_owned(),
        created_by: user,
        created_at: at(1),
        expires_at: at(100),
        revoked_at: None,
    }
}

async fn add(store: &Store, token: &AgentToken) {
    let token = token.clone();
    write_tx!(store, tx => tx.agent_token_insert(&token).await);
}

pub(crate) async fn an_agent_token_is_found_by_its_hash_with_all_it_is_bound_to(store: Store) {
    let world = World::new(store).await;
    let made = token(world.user, 1);
    add(&world.store, &made).await;

    let id = made.id;
    assert_eq!(
        read_tx!(world.store, tx => tx.agent_token_by_hash(&[1; 32]).await),
        Some(made.clone())
    );
    assert_eq!(read_tx!(world.store, tx => tx.agent_token_get(id).await), Some(made));
    assert_eq!(read_tx!(world.store, tx => tx.agent_token_by_hash(&[2; 32]).await), None);
}

pub(crate) async fn a_revoked_agent_token_keeps_the_time_it_was_revoked(store: Store) {
    let world = World::new(store).await;
    let made = token(world.user, 1);
    add(&world.store, &made).await;
    let id = made.id;

    assert!(write_tx!(world.store, tx => tx.agent_token_revoke(id, at(5)).await));
    assert!(!write_tx!(world.store, tx => tx.agent_token_revoke(id, at(6)).await));

    let found = read_tx!(world.store, tx => tx.agent_token_get(id).await).unwrap();
    assert_eq!(found.revoked_at, Some(at(5)));
    let unknown = TokenId::generate();
    assert!(!write_tx!(world.store, tx => tx.agent_token_revoke(unknown, at(6)).await));
}

pub(crate) async fn the_end_of_a_job_revokes_its_agent_tokens_only(store: Store) {
    let world = World::new(store).await;
    let (one, mut two, other) = (token(world.user, 1), token(world.user, 2), token(world.user, 3));
    two.binding.job = one.binding.job;
    for token in [&one, &two, &other] {
        add(&world.store, token).await;
    }
    let job = one.binding.job.unwrap();

    assert_eq!(write_tx!(world.store, tx => tx.agent_token_revoke_job(job).await), 2);

    let left = read_tx!(world.store, tx => tx.agent_token_list(None, None, 10).await);
    let live: Vec<_> = left.iter().filter(|token| token.revoked_at.is_none()).collect();
    assert_eq!(live, [&other]);
}

pub(crate) async fn agent_tokens_are_paged_newest_first_for_one_user_or_for_all(store: Store) {
    let world = World::new(store).await;
    let bob = world.other_user("bob").await;
    let tokens = [token(world.user, 1), token(bob, 2), token(world.user, 3)];
    for token in &tokens {
        add(&world.store, token).await;
    }
    let ids = |tokens: Vec<AgentToken>| -> Vec<TokenId> {
        tokens.into_iter().map(|token| token.id).collect()
    };
    let (mine, newest) = (Some(world.user), tokens[2].id);

    let all = read_tx!(world.store, tx => tx.agent_token_list(None, None, 2).await);
    let own = read_tx!(world.store, tx => tx.agent_token_list(mine, None, 10).await);
    let older = read_tx!(world.store, tx => tx.agent_token_list(mine, Some(newest), 10).await);

    assert_eq!(ids(all), [tokens[2].id, tokens[1].id]);
    assert_eq!(ids(own), [tokens[2].id, tokens[0].id]);
    assert_eq!(ids(older), [tokens[0].id]);
}

pub(crate) async fn agent_tokens_that_ended_long_ago_are_forgotten(store: Store) {
    let world = World::new(store).await;
    let (old, mut new) = (token(world.user, 1), token(world.user, 2));
    new.expires_at = at(500);
    add(&world.store, &old).await;
    add(&world.store, &new).await;

    assert_eq!(write_tx!(world.store, tx => tx.agent_token_delete_expired(at(200)).await), 1);

    assert_eq!(read_tx!(world.store, tx => tx.agent_token_list(None, None, 10).await), [new]);
}
