//! The swap of the alias, and the deletion of the old index.

use inrush_cluster::api::aliases::{self, Place};
use inrush_cluster::api::index;
use inrush_cluster::transport::Transport;
use serde_json::{Map, Value};

use super::swapping::{Swapping, carried, difference, standing};
use super::waiting::{Waiting, is_passing};
use crate::progress::Step;

/// Moves the alias in one request, which is sent again within the limits of retries where the
/// cluster gives no answer. It then reads the alias, because the answer may be lost. The alias
/// moves at most once: see [`aliases::actions`]. It sets `in_doubt` after a request without an
/// answer, because the cluster may execute that request even after the alias was read.
///
/// # Errors
/// The alias was not moved, or may or may not have been moved, and why.
pub(super) async fn swap(waiting: &Waiting, swapping: &Swapping, in_doubt: &mut bool) -> Result<String, String> {
    let (alias, new) = (&swapping.options.alias, &swapping.noted.index);
    let transport = &waiting.transport;
    let mut again = transport.again(format!("moving the alias {alias}"));
    let mut is_own = false;
    let problem = loop {
        waiting.show(Step::Swap, format!("{alias} to {new}"));
        let error = match standing(transport, alias).await {
            Ok(Some((name, _))) if name == *new && is_own => return Ok(moved(swapping)),
            Ok(Some((name, _))) if name == *new => {
                return Ok(format!("another load or client has already moved the alias {alias} to {new}"));
            }
            Ok(now) => {
                if let Some(difference) = difference(alias, &swapping.noted, &now) {
                    return Err(format!("{difference} {}", swapping.during));
                }
                // Its filter or routing may have changed since the load began.
                is_own = true;
                match aliases::update(transport, &actions(swapping, &carried(alias, &now))).await {
                    Ok(()) => return Ok(moved(swapping)),
                    Err(error) if is_passing(&error) || error.may_be_done() => {
                        *in_doubt |= error.may_be_done();
                        error
                    }
                    // An attempt without an answer may be carried out between the look and this.
                    Err(error) if *in_doubt => break error.to_string(),
                    Err(error) => return Err(error.to_string()),
                }
            }
            Err(error) if is_passing(&error) => error,
            Err(error) => return Err(error.to_string()),
        };
        tracing::warn!("moving the alias {alias} failed and is tried again: {error}");
        if !again.pause(&error).await {
            break error.to_string();
        }
    };
    match standing(transport, alias).await {
        Ok(Some((name, _))) if name == *new => Ok(moved(swapping)),
        Ok(_) => Err(problem),
        Err(error) => Err(format!("{problem}; the alias may or may not have been moved: {error}")),
    }
}

/// Body of the request that moves the alias.
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
        None => format!("the alias {alias} was created and stands for {new}"),
        Some(old) if old.name == *alias => format!("the index {alias} was deleted, and its name is an alias of {new}"),
        Some(old) => format!("the alias {alias} was moved from {} to {new}", old.name),
    }
}

/// Deletes the index that the alias stood for.
///
/// # Errors
/// The deletion failed, or the index has other uses.
pub(super) async fn delete_old(transport: &Transport, swapping: &Swapping) -> Result<String, String> {
    let Some(old) = &swapping.noted.old else { return Ok("there was no old index".to_owned()) };
    let name = &old.name;
    let found = aliases::behind(transport, name).await.map_err(|e| e.to_string())?;
    match found.get(name) {
        None => return Ok(format!("{name} does not exist any more")),
        Some(carrier) if carrier.uuid != old.uuid => {
            return Err(format!("another client deleted and created {name} again, so it is kept"));
        }
        Some(carrier) if !carrier.aliases.is_empty() => {
            let aliases: Vec<&str> = carrier.aliases.keys().map(String::as_str).collect();
            return Err(format!("{name} has got other aliases ({}), so it is kept", aliases.join(", ")));
        }
        Some(_) => {}
    }
    index::delete_this(transport, name, &old.uuid).await.map_err(|e| format!("{name} could not be deleted: {e}"))?;
    Ok(format!("{name} was deleted"))
}
