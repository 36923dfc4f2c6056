//! Tokens of agents.

use std::time::Duration;

use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::policy::{AgentType, Principal};
use cynode_resources::agents::AgentTokenError;
use cynode_wire::agents::{BindingView, IssueAgentToken};
use cynode_wire::auth::CreateToken;
use cynode_wire::page::PageQuery;

use crate::engines::on_each_engine;
use crate::world::World;

on_each_engine! {
    an_agent_token_says_who_calls_and_for_whom,
    an_agent_of_an_administrator_has_no_administrators_powers,
    an_agent_token_ends_with_its_time_or_when_it_is_revoked,
    a_token_under_another_prefix_is_no_token,
    a_persons_api_token_acts_in_the_role_of_a_user_until_it_is_revoked,
    a_sandbox_token_is_bound_to_a_job_that_exists,
    only_administrators_issue_see_and_revoke_tokens_of_others,
}

fn pm() -> IssueAgentToken {
    IssueAgentToken {
        agent_type: AgentType::Pm,
        name: "planner".to_owned(),
        user_id: None,
        expires_in_seconds: Some(60),
        binding: BindingView::default(),
    }
}

async fn an_agent_token_says_who_calls_and_for_whom() {
    let world = World::new().await;

    let made = world.agents.issue(&world.bob, pm()).await.unwrap();
    let who = world.agents.authenticate(&made.secret).await.unwrap();

    assert!(made.secret.starts_with("cyn_pm_"));
    assert_eq!((who.agent, who.user), (Principal::PM, world.bob.user));
    assert_eq!((who.token_id, who.expires_at), (made.token.id, Some(made.token.expires_at)));
}

async fn an_agent_of_an_administrator_has_no_administrators_powers() {
    let world = World::new().await;

    let made = world.agents.issue(&world.admin, pm()).await.unwrap();

    assert!(!world.agents.authenticate(&made.secret).await.unwrap().caller.is_admin);
}

async fn an_agent_token_ends_with_its_time_or_when_it_is_revoked() {
    let world = World::new().await;
    let (timed, revoked) = (
        world.agents.issue(&world.bob, pm()).await.unwrap(),
        world.agents.issue(&world.bob, pm()).await.unwrap(),
    );
    let before = world.registry.revision().await.unwrap();

    world.agents.revoke(&world.bob, revoked.token.id).await.unwrap();
    let refused = world.agents.authenticate(&revoked.secret).await;
    assert!(matches!(refused, Err(AgentTokenError::BadToken)));
    assert!(world.registry.revision().await.unwrap() > before, "caches must be invalidated");
    world.agents.authenticate(&timed.secret).await.unwrap();
    world.clock.advance(Duration::from_mins(1));
    let refused = world.agents.authenticate(&timed.secret).await;
    assert!(matches!(refused, Err(AgentTokenError::BadToken)));
}

async fn a_token_under_another_prefix_is_no_token() {
    let world = World::new().await;
    let made = world.agents.issue(&world.bob, pm()).await.unwrap();

    for token in [
        made.secret.replace("cyn_pm_", "cyn_sb_"),
        made.secret.replace("cyn_pm_", "cyn_api_"),
        made.secret.replace("cyn_pm_", ""),
        String::new(),
        "cyn_pm_".to_owned(),
    ] {
        assert!(matches!(world.agents.authenticate(&token).await, Err(AgentTokenError::BadToken)));
    }
}

async fn a_persons_api_token_acts_in_the_role_of_a_user_until_it_is_revoked() {
    let world = World::new().await;
    let body = CreateToken { name: "ide".to_owned(), ..CreateToken::default() };
    let made = world.accounts.token_create(&world.bob, body).await.unwrap();

    let who = world.agents.authenticate(&made.secret).await.unwrap();
    let before = world.registry.revision().await.unwrap();
    world.accounts.token_revoke(&world.bob, made.token.id).await.unwrap();

    assert_eq!((who.agent, who.user), (Principal::User, world.bob.user));
    assert!(world.agents.authenticate(&made.secret).await.is_err());
    assert!(world.registry.revision().await.unwrap() > before, "caches must be invalidated");
}

async fn a_sandbox_token_is_bound_to_a_job_that_exists() {
    let world = World::new().await;
    let sandbox = |binding| IssueAgentToken { agent_type: AgentType::Sandbox, binding, ..pm() };

    let unbound = world.agents.issue(&world.bob, sandbox(BindingView::default())).await;
    let unknown = BindingView {
        task_id: Some(TaskId::generate()),
        job_id: Some(JobId::generate()),
        ..BindingView::default()
    };
    let unknown = world.agents.issue(&world.bob, sandbox(unknown)).await;

    assert!(unbound.err().unwrap().to_string().contains("needs task_id and job_id"));
    assert!(unknown.err().unwrap().to_string().contains("is not a task of that user"));
}

async fn only_administrators_issue_see_and_revoke_tokens_of_others() {
    let world = World::new().await;
    let for_admin = IssueAgentToken { user_id: Some(world.admin.user), ..pm() };
    let refused = world.agents.issue(&world.bob, for_admin).await;
    assert!(matches!(refused, Err(AgentTokenError::NotAdmin)));

    let for_bob = IssueAgentToken { user_id: Some(world.bob.user), ..pm() };
    world.agents.issue(&world.admin, for_bob).await.unwrap();
    let own = world.agents.issue(&world.admin, pm()).await.unwrap();
    let page = PageQuery::default();

    assert_eq!(world.agents.list(&world.bob, &page).await.unwrap().items.len(), 1);
    assert_eq!(world.agents.list(&world.admin, &page).await.unwrap().items.len(), 2);
    let refused = world.agents.revoke(&world.bob, own.token.id).await;
    assert!(matches!(refused, Err(AgentTokenError::NotFound)));
}
