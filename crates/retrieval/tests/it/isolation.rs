//! No operation on the knowledge of one profile shows, counts, ranks by or deletes data of another.

use std::collections::BTreeSet;

use cynode_domain::ids::ProfileId;
use cynode_retrieval::{DocumentSelection, VectorBackend as _};
use cynode_testkit::{ProfileData, check_isolation};

use crate::world::KnowledgeWorld;

on_each_engine! {
    random_operations_do_not_cross_profiles,
}

struct Documents(KnowledgeWorld);

impl ProfileData for Documents {
    type Profile = ProfileId;

    async fn create_profile(&self) -> ProfileId {
        self.0.profile().await
    }

    async fn add(&self, profile: &ProfileId, text: &str) -> String {
        let path = format!("{:06}.txt", self.0.number());
        let document = self.0.document(&path, text);
        self.0.backend.upsert(*profile, vec![document]).await.unwrap();
        path
    }

    async fn search(&self, profile: &ProfileId, query: &str) -> Vec<(String, f64)> {
        let hits = self.0.backend.search(*profile, query.to_owned(), 200).await.unwrap();
        hits.into_iter().map(|hit| (hit.path, hit.score)).collect()
    }

    async fn list(&self, profile: &ProfileId) -> BTreeSet<String> {
        let all = DocumentSelection::default();
        let listed = self.0.backend.list(*profile, all, None, 1000).await.unwrap();
        let totals = self.0.backend.totals(*profile).await.unwrap();
        assert_eq!(totals.documents, i64::try_from(listed.len()).unwrap());
        listed.into_iter().map(|document| document.path).collect()
    }

    async fn can_read(&self, profile: &ProfileId, id: &str) -> bool {
        let selection =
            DocumentSelection { source: None, path: Some(id.to_owned()), is_exact: false };
        !self.0.backend.list(*profile, selection, None, 1).await.unwrap().is_empty()
    }

    async fn delete(&self, profile: &ProfileId, id: &str) -> bool {
        let selection =
            DocumentSelection { source: None, path: Some(id.to_owned()), is_exact: false };
        self.0.backend.delete(*profile, selection).await.unwrap() == 1
    }
}

async fn random_operations_do_not_cross_profiles(world: KnowledgeWorld) {
    let documents = Documents(world);
    for seed in 0..4 {
        check_isolation(&documents, seed).await;
    }
}
