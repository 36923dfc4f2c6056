//! The client against a scripted forge of each kind, over real HTTP: one table of behaviours that runs on each.

#[cfg(test)]
mod access;
#[cfg(test)]
mod comments;
#[cfg(test)]
mod continuous_integration;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod issues;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod pull_requests;
#[cfg(test)]
mod reviews;
#[cfg(test)]
mod setting;
#[cfg(test)]
mod webhooks;

/// Turns each behaviour into a test for each kind of forge.
#[cfg(test)]
macro_rules! on_each_forge {
    ($($behaviour:ident),+ $(,)?) => {
        mod github {
            $(#[tokio::test]
            async fn $behaviour() {
                super::$behaviour(crate::setting::Setting::new(cynode_forge::ForgeKind::Github)).await;
            })+
        }
        mod gitlab {
            $(#[tokio::test]
            async fn $behaviour() {
                super::$behaviour(crate::setting::Setting::new(cynode_forge::ForgeKind::Gitlab)).await;
            })+
        }
        mod gitea {
            $(#[tokio::test]
            async fn $behaviour() {
                super::$behaviour(crate::setting::Setting::new(cynode_forge::ForgeKind::Gitea)).await;
            })+
        }
    };
}
#[cfg(test)]
pub(crate) use on_each_forge;
