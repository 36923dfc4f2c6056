//! Connections to a PostgreSQL server that accepts only TLS.

use std::fs;
use std::path::Path;

use cynode_store::Store;
use cynode_testkit::{DurableServer, TestCertificate};

/// Opens the store, migrates, and opens the channel for notifications.
async fn connect(url: &str) -> Result<(), String> {
    let describe = |error: cynode_store::Error| {
        let source = std::error::Error::source(&error).map(ToString::to_string);
        format!("{error}: {}", source.unwrap_or_default())
    };
    let store = Store::open(url).await.map_err(describe)?;
    store.open_notifications().await.map_err(describe)?;
    Ok(())
}

fn encode(path: &Path) -> String {
    path.to_str().unwrap().replace('/', "%2F")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_is_as_protected_as_its_url_asks() {
    let directory = tempfile::tempdir().unwrap();
    let (own, foreign) = (directory.path().join("own.pem"), directory.path().join("foreign.pem"));
    let certificate = TestCertificate::for_host("localhost").unwrap();
    fs::write(&own, &certificate.authority).unwrap();
    fs::write(&foreign, TestCertificate::for_host("localhost").unwrap().authority).unwrap();
    let (_server, port) = DurableServer::start_with_tls(&certificate).unwrap();
    let url = |host: &str, options: &str| {
        format!("postgres://cynode@{host}:{port}/postgres?connect_timeout=10&{options}")
    };
    let (own, foreign) = (encode(&own), encode(&foreign));

    for (host, options) in [
        ("127.0.0.1", "sslmode=prefer".to_owned()),
        ("127.0.0.1", String::new()),
        ("127.0.0.1", "sslmode=require".to_owned()),
        ("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={own}")),
        ("localhost", format!("sslmode=verify-full&sslrootcert={own}")),
    ] {
        let url = url(host, &options);
        assert_eq!(connect(&url).await, Ok(()), "{url}");
    }
    for (host, options, reason) in [
        ("127.0.0.1", "sslmode=disable".to_owned(), "no encryption"),
        ("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={foreign}"), "certificate"),
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={own}"), "certificate"),
        ("localhost", format!("sslmode=verify-full&sslrootcert={foreign}"), "certificate"),
        ("localhost", "sslmode=verify-full".to_owned(), "certificate"),
    ] {
        let url = url(host, &options);
        let refusal = connect(&url).await.expect_err(&url);
        assert!(refusal.contains(reason), "{url}: {refusal}");
    }
}
