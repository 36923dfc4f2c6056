//! Tests of job notes.

use cynode_domain::ids::JobId;
use cynode_domain::status::JobStatus;
use cynode_store::{JobNote, JobNoteTotals, Store};

use crate::world::{World, at};

fn note(job: JobId, key: &str, content: &str) -> JobNote {
    JobNote {
        job,
        key: key.to_owned(),
        summary: Some(format!("about {key}")),
        content: content.to_owned(),
        size_bytes: i64::try_from(content.len()).unwrap(),
        updated_at: at(1),
    }
}

pub(crate) async fn the_newest_note_under_a_key_stays(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    let job = world.job(&run, 0).await;
    let (old, new) = (note(job, "k", "old"), note(job, "k", "newer"));
    let kept = new.clone();

    write_tx!(world.store, tx => {
        tx.note_put(&old).await?;
        tx.note_put(&new).await
    });

    assert_eq!(read_tx!(world.store, tx => tx.note_get(job, "k").await), Some(kept));
    assert_eq!(
        read_tx!(world.store, tx => tx.note_totals(job, "other").await),
        JobNoteTotals { notes: 1, bytes: 5 }
    );
    assert_eq!(
        read_tx!(world.store, tx => tx.note_totals(job, "k").await),
        JobNoteTotals::default()
    );
    assert!(write_tx!(world.store, tx => tx.note_delete(job, "k").await));
    assert!(!write_tx!(world.store, tx => tx.note_delete(job, "k").await));
}

pub(crate) async fn notes_are_listed_by_key_without_content(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    let (job, other) = (world.job(&run, 0).await, world.job(&run, 1).await);
    for key in ["b", "a", "B"] {
        let (row, strange) = (note(job, key, "text"), note(other, key, "text"));
        write_tx!(world.store, tx => {
            tx.note_put(&row).await?;
            tx.note_put(&strange).await
        });
    }

    let all = read_tx!(world.store, tx => tx.note_list(job, None, 10).await);
    let second = read_tx!(world.store, tx => tx.note_list(job, Some("B"), 1).await);

    let shown: Vec<_> = all.iter().map(|note| (&*note.key, &*note.content)).collect();
    assert_eq!(shown, [("B", ""), ("a", ""), ("b", "")]);
    assert_eq!((second[0].key.as_str(), second[0].size_bytes), ("a", 4));
}

pub(crate) async fn notes_go_with_their_job(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    let (ended, open) = (world.job(&run, 0).await, world.job(&run, 1).await);
    let (first, second) = (note(ended, "k", "x"), note(open, "k", "y"));
    write_tx!(world.store, tx => {
        tx.note_put(&first).await?;
        tx.note_put(&second).await?;
        tx.job_close(ended, JobStatus::Canceled, None).await
    });

    assert_eq!(write_tx!(world.store, tx => tx.note_delete_ended().await), 1);

    assert_eq!(read_tx!(world.store, tx => tx.note_get(ended, "k").await), None);
    assert!(read_tx!(world.store, tx => tx.note_get(open, "k").await).is_some());
}
