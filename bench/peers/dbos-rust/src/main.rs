//! Seven no-op steps with the DBOS crate on PostgreSQL, one at a time and many at once.
//!
//! Arguments: directory of the server's socket, runs one after the other, how many at once, runs in all.

use std::error::Error;
use std::time::Instant;

use dbos::{Config, DBOS};
use futures_util::{StreamExt, TryStreamExt, stream};

const STEPS: u32 = 7;

async fn seven(text: String) -> dbos::Result<u32> {
    let mut done = 0;
    for _ in 0..STEPS {
        let text = text.clone();
        let length = dbos::step("step", || {
            let text = text.clone();
            async move { Ok::<_, dbos::Error>(text) }
        })
        .await?;
        done += u32::from(!length.is_empty());
    }
    Ok(done)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [sockets, runs, slots, in_all] = args.as_slice() else {
        return Err("give the socket's directory and three numbers".into());
    };
    let (runs, slots, in_all): (u32, usize, u32) = (runs.parse()?, slots.parse()?, in_all.parse()?);
    let host = sockets.replace('/', "%2F");
    let url = format!("postgres://cynode@localhost/dbos_rust?host={host}");
    let config = Config { app_version: Some("1".to_owned()), ..Config::new("steps", url) };
    let dbos = DBOS::new(config);
    let seven = dbos.register_workflow("seven", seven)?;
    dbos.launch().await?;
    let text = "x".repeat(1200);
    seven.run(text.clone()).await?;
    let begun = Instant::now();
    for _ in 0..runs {
        seven.run(text.clone()).await?;
    }
    let one = f64::from(runs * STEPS) / begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let many = stream::iter(0..in_all).map(|_| async { seven.run(text.clone()).await });
    many.buffer_unordered(slots).try_collect::<Vec<_>>().await?;
    let many = f64::from(in_all * STEPS) / begun.elapsed().as_secs_f64();
    println!("{one:.0} steps/s one at a time, {many:.0} steps/s {slots} at once");
    dbos.shutdown().await;
    Ok(())
}
