//! The official SDK's client, with and without sessions.

use rmcp::model::{CallToolRequestParams, ClientConfig, ProtocolVersion};
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientLifecycleMode, ClientServiceExt as _};
use serde_json::json;

use crate::harness::Harness;

async fn connect(
    harness: &Harness,
    path: &str,
    lifecycle: ClientLifecycleMode,
) -> RunningService<RoleClient, ClientConfig> {
    let config = StreamableHttpClientTransportConfig::with_uri(format!("{}{path}", harness.url))
        .auth_header("pm");
    let transport = StreamableHttpClientTransport::from_config(config);
    ClientConfig::default().serve_with_lifecycle(transport, lifecycle).await.unwrap()
}

async fn lists_and_calls(
    harness: &Harness,
    path: &str,
    tool: &'static str,
    lifecycle: ClientLifecycleMode,
) {
    let client = connect(harness, path, lifecycle).await;

    let tools = client.list_all_tools().await.unwrap();
    let arguments = json!({ "text": "hello" }).as_object().cloned().unwrap();
    let result =
        client.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await.unwrap();

    assert!(tools.iter().any(|known| known.name == tool));
    assert!(serde_json::to_string(&result).unwrap().contains("hello"));
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn the_sdk_client_lists_and_calls_with_a_session() {
    let harness = Harness::new().await;
    lists_and_calls(&harness, "/mcp", "files.echo", ClientLifecycleMode::Initialize).await;
    lists_and_calls(&harness, "/mcp/files", "echo", ClientLifecycleMode::Initialize).await;
}

#[tokio::test]
async fn the_sdk_client_lists_and_calls_without_a_session() {
    let harness = Harness::new().await;
    let lifecycle = || ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    };
    lists_and_calls(&harness, "/mcp", "files.echo", lifecycle()).await;
    lists_and_calls(&harness, "/mcp/files", "echo", lifecycle()).await;
}
