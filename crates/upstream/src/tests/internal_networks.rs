//! Servers in networks that are not allowed.

use cynode_domain::policy::network::AllowedNetworks;
use serde_json::json;

use super::fake::Fake;
use super::world::{RecordingClient, UpstreamFixture, call, quick, send_request};
use crate::NetworkReach;
use crate::interface::UpstreamError;

fn guarded_fixture(opened: &[&str]) -> UpstreamFixture {
    let mut world = UpstreamFixture::new(quick());
    world.reach = NetworkReach::Public(AllowedNetworks::parse(opened.iter().copied()).unwrap());
    world
}

#[tokio::test]
async fn a_server_of_an_ordinary_user_is_not_reached_in_an_internal_network_by_address_or_name() {
    let fake = Fake::with_sessions(|seen| seen.result(json!({}))).await;
    let world = guarded_fixture(&[]);
    let client = RecordingClient::plain();

    for url in [fake.url.clone(), fake.url.replace("127.0.0.1", "localhost")] {
        let server = world.install_http(&url);
        let refused = world.try_open(server, &client).await.err();
        let Some(UpstreamError::Unavailable(reason)) = refused else { panic!("{refused:?}") };
        assert!(reason.contains("internal network"), "{reason}");
    }

    assert_eq!(fake.seen().len(), 0);
}

#[tokio::test]
async fn what_an_administrator_opened_is_reached() {
    let fake = Fake::with_sessions(|seen| seen.result(json!({}))).await;
    let world = guarded_fixture(&["127.0.0.0/8"]);
    let client = RecordingClient::plain();
    let server = world.install_http(&fake.url);

    let upstream = world.open(server, &client).await;

    assert!(send_request(&upstream, &client, call("1", "x")).await.is_ok());
}
