//! Moving the alias, and deleting the index that it stood for.

use std::time::Duration;

use inrush_cluster::api::aliases::{self, Place};
use inrush_cluster::api::index;
use inrush_cluster::transport::Transport;
use serde_json::{Map, Value};

use super::swapping::{Swapping, carried, difference, standing};
use super::waiting::{Waiting, is_passing};
use crate::progress::Step;

/// How often the alias is moved where the cluster gives no answer. It can only be moved once: see [`aliases::actions`].
const TRIES_MAX: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// Moves the alias in one request. Whether it was moved is then asked, because an answer can be lost. `in_doubt`: a request without an answer may be
/// carried out even later than that was asked.
///
/// # Errors
/// It was not moved, or that is in doubt, and why.
pub(super) async fn swap(waiting: &Waiting, swapping: &Swapping, in_doubt: &mut bool) -> Result<String, String> {
    let (alias, new) = (&swapping.options.alias, &swapping.noted.index);
    let transport = &waiting.transport;
    let mut problem = String::new();
    for _ in 0..TRIES_MAX {
        waiting.show(Step::Swap, format!("{alias} to {new}"));
        match standing(transport, alias).await {
            Ok(Some((name, _))) if name == *new => return Ok(moved(swapping)),
            Ok(now) => {
                if let Some(difference) = difference(alias, &swapping.noted, &now) {
                    return Err(format!("{difference} during the load"));
                }
                // What it carries may have been changed since the load began.
                match aliases::update(transport, &actions(swapping, &carried(alias, &now))).await {
                    Ok(()) => return Ok(moved(swapping)),
                    Err(error) if is_passing(&error) => {
                        *in_doubt = true;
                        problem = error.to_string();
                    }
                    Err(error) => return Err(error.to_string()),
                }
            }
            Err(error) if is_passing(&error) => problem = error.to_string(),
            Err(error) => return Err(error.to_string()),
        }
        tracing::warn!("moving the alias {alias}: {problem}");
        tokio::time::sleep(PAUSE).await;
    }
    match standing(transport, alias).await {
        Ok(Some((name, _))) if name == *new => Ok(moved(swapping)),
        Ok(_) => Err(problem),
        Err(error) => Err(format!("{problem}; whether the alias was moved after all is not known: {error}")),
    }
}

/// The request that moves the alias.
pub(super) fn actions(swapping: &Swapping, carried: &Map<String, Value>) -> Value {
    let alias = &swapping.options.alias;
    let place = match &swapping.noted.old {
        None => Place::Free,
        Some(old) if old.name == *alias => Place::Index,
        Some(old) => Place::Alias(&old.name),
    };
    aliases::actions(alias, &swapping.noted.index, carried, place)
}

fn moved(swapping: &Swapping) -> String {
    let (alias, new) = (&swapping.options.alias, &swapping.noted.index);
    match &swapping.noted.old {
        None => format!("the alias {alias} was made and stands for {new}"),
        Some(old) if old.name == *alias => format!("the index {alias} was deleted, and its name is an alias of {new}"),
        Some(old) => format!("the alias {alias} was moved from {} to {new}", old.name),
    }
}

/// Deletes the index that the alias stood for.
///
/// # Errors
/// It could not be deleted, or is in use otherwise.
pub(super) async fn delete_old(transport: &Transport, swapping: &Swapping) -> Result<String, String> {
    let Some(old) = &swapping.noted.old else { return Ok("there was none".to_owned()) };
    let name = &old.name;
    let found = aliases::behind(transport, name).await.map_err(|e| e.to_string())?;
    match found.get(name) {
        None => return Ok(format!("{name} is gone")),
        Some(carrier) if carrier.uuid != old.uuid => {
            return Err(format!("{name} was made anew by somebody else, and is kept"));
        }
        Some(carrier) if !carrier.aliases.is_empty() => {
            let aliases: Vec<&str> = carrier.aliases.keys().map(String::as_str).collect();
            return Err(format!("{name} was given other aliases ({}), and is kept", aliases.join(", ")));
        }
        Some(_) => {}
    }
    index::delete(transport, name).await.map_err(|e| format!("{name} could not be deleted: {e}"))?;
    Ok(format!("{name} was deleted"))
}
