//! Which images tasks and sandboxes may use.
//!
//! The setting `sandbox.allowed_images` lists them. Without it, those are `host` and every image that a worker node has:
//! an administrator of that node put it there.

use std::collections::BTreeSet;

use cynode_domain::image_name::{ALLOWED_IMAGES_KEY, HOST_IMAGE, check_image_name};
use cynode_domain::policy::allowlist::guarding_setting;
use cynode_store::{Node, Setting, SettingChange, Tx};
use serde_json::{Value, json};

use crate::Caller;
use crate::settings::{InstallationSettings, SettingError};
use crate::signals::Topic;

/// The tool that adds an image.
pub const ADD_IMAGE_TOOL: &str = "sandbox.allowed_images.add";
/// The most images that the setting can list.
const MAX_ALLOWED: usize = 200;

/// An image that is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImageNotAllowed {
    #[error(
        "the image \"{image}\" is not allowed; allowed are: {}. An administrator allows it in the setting \
         {ALLOWED_IMAGES_KEY}", .allowed.join(", ")
    )]
    NotListed { image: String, allowed: Vec<String> },
    #[error(
        "no worker node has the image \"{image}\"; there are: {}. Start a node with `--image {image}=SOURCE`",
        .known.join(", ")
    )]
    Unknown { image: String, known: Vec<String> },
}

/// An image that may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedImage {
    pub name: String,
    /// Worker nodes that have it.
    pub nodes: Vec<String>,
}

/// The allowed images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedImages {
    /// `None` if the setting does not exist.
    listed: Option<Vec<String>>,
}

impl AllowedImages {
    /// Fails if the setting cannot be read: an unreadable list allows nothing.
    pub async fn load(tx: &mut Tx) -> Result<Self, cynode_store::Error> {
        let setting = tx.setting_get(ALLOWED_IMAGES_KEY).await?;
        Ok(Self { listed: setting.map(|setting| list_names(&setting.value)) })
    }

    /// Checks the image of a task or sandbox; `host` if absent.
    pub async fn check(
        &self,
        tx: &mut Tx,
        image: Option<&str>,
    ) -> Result<Result<(), ImageNotAllowed>, cynode_store::Error> {
        let name = image.unwrap_or(HOST_IMAGE);
        let image = name.to_owned();
        Ok(match &self.listed {
            Some(listed) if listed.iter().any(|listed| listed == name) => Ok(()),
            Some(listed) => Err(ImageNotAllowed::NotListed { image, allowed: listed.clone() }),
            None if name == HOST_IMAGE => Ok(()),
            None => {
                let known = list_known(&tx.node_list().await?);
                let is_known = known.iter().any(|known| known == name);
                if is_known { Ok(()) } else { Err(ImageNotAllowed::Unknown { image, known }) }
            }
        })
    }

    /// Lists the allowed images with the nodes that have them, by name.
    pub async fn list(&self, tx: &mut Tx) -> Result<Vec<AllowedImage>, cynode_store::Error> {
        let nodes = tx.node_list().await?;
        let names = self.listed.clone().unwrap_or_else(|| list_known(&nodes));
        let names: BTreeSet<_> = names.into_iter().collect();
        let find = |name: String| {
            let has = |node: &&Node| name == HOST_IMAGE || node_images(node).any(|own| own == name);
            let nodes = nodes.iter().filter(has).map(|node| node.slug.clone()).collect();
            AllowedImage { name, nodes }
        };
        Ok(names.into_iter().map(find).collect())
    }
}

impl InstallationSettings {
    pub async fn allowed_images(&self) -> Result<Vec<AllowedImage>, SettingError> {
        let read = self
            .store
            .read(|tx| Box::pin(async move { AllowedImages::load(tx).await?.list(tx).await }));
        Ok(read.await?)
    }

    /// Adds an image to the setting, which then lists all that are allowed. Returns false if the image was allowed
    /// already. For administrators, and for others while a setting allows it.
    pub async fn allow_image(&self, caller: &Caller, image: &str) -> Result<bool, SettingError> {
        check_image_name(image).map_err(|error| SettingError::Invalid(error.to_string()))?;
        let (image, by, is_admin) = (image.to_owned(), caller.user, caller.is_admin);
        let now = self.clock.now();
        let is_added = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    if !is_admin && !is_gate_open(tx).await? {
                        return Err(SettingError::NotAdmin);
                    }
                    let old = tx.setting_lock(ALLOWED_IMAGES_KEY).await?;
                    let allowed = AllowedImages::load(tx).await?.list(tx).await?;
                    let mut names: Vec<_> =
                        allowed.into_iter().map(|allowed| allowed.name).collect();
                    if names.contains(&image) {
                        return Ok(false);
                    }
                    if names.len() >= MAX_ALLOWED {
                        let fault =
                            format!("{MAX_ALLOWED} images are allowed already: remove one first");
                        return Err(SettingError::Invalid(fault));
                    }
                    names.push(image);
                    let (found, value) = (old.as_ref().map_or(0, |old| old.version), json!(names));
                    let key = ALLOWED_IMAGES_KEY.to_owned();
                    let (version, updated_by) = (found + 1, Some(by));
                    let setting = Setting {
                        key: key.clone(),
                        value: value.clone(),
                        version,
                        updated_at: now,
                        updated_by,
                    };
                    if !tx.setting_put(&setting).await? {
                        return Err(SettingError::Conflict { found });
                    }
                    let (old, reason) = (old.map(|old| old.value), Some(ADD_IMAGE_TOOL.to_owned()));
                    let change = SettingChange {
                        key,
                        old,
                        new: Some(value),
                        by: updated_by,
                        at: now,
                        reason,
                    };
                    tx.setting_change_append(&change).await?;
                    tx.policy_bump_revision().await?;
                    Ok(true)
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(is_added)
    }
}

/// Whether the setting that guards the tool is on.
async fn is_gate_open(tx: &mut Tx) -> Result<bool, cynode_store::Error> {
    let Some(key) = guarding_setting(ADD_IMAGE_TOOL) else { return Ok(false) };
    Ok(tx.setting_get(key).await?.is_some_and(|setting| setting.value == Value::Bool(true)))
}

fn list_names(value: &Value) -> Vec<String> {
    let names = value.as_array().into_iter().flatten();
    names.filter_map(|name| Some(name.as_str()?.to_owned())).collect()
}

/// `host` and every image of a node, by name.
fn list_known(nodes: &[Node]) -> Vec<String> {
    let of_nodes = nodes.iter().flat_map(node_images).map(str::to_owned);
    let known: BTreeSet<_> = of_nodes.chain([HOST_IMAGE.to_owned()]).collect();
    known.into_iter().collect()
}

fn node_images(node: &Node) -> impl Iterator<Item = &str> {
    let names = node.capabilities["images"].as_array().into_iter().flatten();
    names.filter_map(Value::as_str)
}
