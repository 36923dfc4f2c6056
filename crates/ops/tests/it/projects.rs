//! Projects.

use cynode_domain::name_or_id::NameOrId;
use cynode_resources::Projects;
use cynode_wire::projects::{CreateProject, UpdateProject};

use crate::engines::on_each_engine;
use crate::world::World;

on_each_engine! {
    changes_of_a_project_at_the_same_time_all_hold,
}

async fn changes_of_a_project_at_the_same_time_all_hold() {
    let world = World::new().await;
    let projects = Projects::new(world.store.clone(), world.clock.clone());
    let display_name = "Project".to_owned();
    let request = CreateProject { display_name, description: String::new(), ..<_>::default() };
    let project = projects.create(&world.bob, request).await.unwrap().id;
    let named = NameOrId::Id(project);

    for round in 0..40 {
        let is_active = Some(round % 2 == 1);
        let described = Some(format!("described {round}"));
        let (switched, described) = tokio::join!(
            projects.update(&world.bob, &named, UpdateProject { is_active, ..<_>::default() }),
            projects.update(
                &world.bob,
                &named,
                UpdateProject { description: described, ..<_>::default() }
            ),
        );
        switched.unwrap();
        described.unwrap();

        let known = projects.get(&world.bob, &named).await.unwrap();
        let expected = (is_active, format!("described {round}"));
        assert_eq!((Some(known.is_active), known.description), expected);
    }
}
