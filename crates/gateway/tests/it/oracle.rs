//! An oracle: a second, naive implementation of the whole decision over plain data, compared with
//! the gateway on random inputs.

mod generators;
mod inputs;
mod naive;
mod registry;

use std::collections::BTreeMap;
use std::sync::Arc;

use cynode_domain::ids::{GroupId, JobId, ProjectId, RunId, TaskId, UserId};
use cynode_gateway::GatewayOptions;
use cynode_gateway::GatewayParts;
use cynode_gateway::McpGateway;
use cynode_resources::request_limits::RequestLimitOptions;
use cynode_runtime::clock::SystemClock;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::backend::identity;
use crate::harness::{request_limits, services};
use crate::upstream::FakeUpstreams;
use generators::decision_inputs;
use inputs::SmallId;
use naive::naive_decision;
use registry::backend;

fn uuid(small: SmallId) -> Uuid {
    Uuid::from_u128(small)
}

#[test]
fn the_gateway_decides_as_a_naive_second_implementation_does() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let data = tempfile::tempdir().unwrap();
    let (services, _) = runtime.block_on(services(&data));
    let seen = std::cell::RefCell::new(BTreeMap::<&str, u32>::new());
    let config = Config { cases: 20_000, failure_persistence: None, ..Config::default() };

    TestRunner::new(config)
        .run(&decision_inputs(), |w| {
            let gateway = McpGateway::new(GatewayParts {
                options: GatewayOptions::default(),
                backend: Arc::new(backend(&w)),
                upstreams: Arc::new(FakeUpstreams::default()),
                services: services.clone(),
                request_limits: request_limits(RequestLimitOptions::default()),
                clock: Arc::new(SystemClock),
            });
            let mut identity = identity(w.caller.parse().unwrap());
            identity.user = UserId::from(uuid(w.user));
            identity.groups = w.group.iter().map(|id| GroupId::from(uuid(*id))).collect();
            identity.task = w.bound_task.map(|id| TaskId::from(uuid(id)));
            identity.job = w.bound_job.map(|id| JobId::from(uuid(id)));
            identity.run = w.bound_run.map(|id| RunId::from(uuid(id)));
            identity.project = w.bound_project.map(|id| ProjectId::from(uuid(id)));
            let object: serde_json::Map<_, _> = w
                .arguments
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect();
            let raw = RawValue::from_string(Value::Object(object).to_string()).unwrap();
            let decided = runtime.block_on(async {
                gateway.refresh().await.unwrap();
                gateway.decide(&identity, w.request, Some(&raw)).await
            });
            let decided = decided.map(|_| ()).map_err(|denial| denial.stage.as_str());
            *seen.borrow_mut().entry(decided.err().unwrap_or("allowed")).or_default() += 1;
            prop_assert_eq!(decided, naive_decision(&w));
            Ok(())
        })
        .unwrap();

    let seen = seen.into_inner();
    println!("{seen:?}");
    for stage in [
        "known",
        "enabled",
        "review",
        "allowlist",
        "scope",
        "setting",
        "arguments",
        "context",
        "rules",
        "allowed",
    ] {
        assert!(
            seen.get(stage).is_some_and(|count| *count >= 50),
            "too few worlds end at {stage}: {seen:?}"
        );
    }
}
