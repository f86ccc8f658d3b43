//! Building with a real server of the target's product, which no other program uses: the builder.
//! It takes the documents of a load, and writes a snapshot of the index.

mod build;
mod builder;
mod engine;
mod load;
mod pipelines;
mod versions;

pub(crate) use engine::Server;
