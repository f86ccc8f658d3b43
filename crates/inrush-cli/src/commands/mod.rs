//! One file a command.

pub(crate) mod doctor;
pub(crate) mod load;
pub(crate) mod node;
pub(crate) mod recover;
pub(crate) mod verify;
