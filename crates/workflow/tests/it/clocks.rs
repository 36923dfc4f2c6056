//! Only the database's clock counts: no request of a runner carries a time.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

/// The API document, which a test of the orchestrator compares with the served API.
fn document() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/openapi.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Collects every part of a schema, following references.
fn parts<'a>(
    document: &'a Value,
    schema: &'a Value,
    seen: &mut BTreeSet<&'a str>,
) -> Vec<&'a Value> {
    let mut found = vec![schema];
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref")
                && seen.insert(reference)
            {
                let target = document.pointer(reference.trim_start_matches('#')).unwrap();
                found.extend(parts(document, target, seen));
            }
            found.extend(fields.values().flat_map(|field| parts(document, field, seen)));
        }
        Value::Array(items) => {
            found.extend(items.iter().flat_map(|item| parts(document, item, seen)));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    found
}

#[test]
fn no_request_of_a_runner_carries_a_time_of_its_clock() {
    let document = document();
    let paths = document["paths"].as_object().unwrap();
    let mut requests = 0;
    for (path, item) in paths.iter().filter(|(path, _)| path.starts_with("/v1/workflow/")) {
        for operation in item.as_object().unwrap().values() {
            requests += 1;
            let request = [&operation["requestBody"], &operation["parameters"]];
            for part in request.map(|part| parts(&document, part, &mut BTreeSet::new())).concat() {
                let format = part["format"].as_str().unwrap_or_default();
                assert!(!format.contains("date") && !format.contains("time"), "{path}: {part}");
                let names = part["properties"].as_object().into_iter().flat_map(|all| all.keys());
                let times: Vec<_> = names.filter(|name| name.ends_with("_at")).collect();
                assert!(times.is_empty(), "{path} takes {times:?}");
            }
        }
    }
    assert!(requests >= 11, "only {requests} requests were looked at");
}
