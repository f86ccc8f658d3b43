//! Documents in memory as a source.

use std::sync::Arc;

use inrush_core::DocBlock;
use inrush_sources::{Chunk, Source, SourceError, SourceInfo, Step};

/// Blocks that are returned one after another.
pub(super) struct Held {
    blocks: Arc<[DocBlock]>,
    next: usize,
}

impl Held {
    pub(super) fn new(blocks: &Arc<[DocBlock]>) -> Self {
        Held { blocks: Arc::clone(blocks), next: 0 }
    }
}

impl Source for Held {
    fn describe(&self) -> SourceInfo {
        SourceInfo::new(["memory"])
    }

    fn next(&mut self, _: usize) -> Result<Step, SourceError> {
        let block = self.blocks.get(self.next).cloned();
        self.next += 1;
        Ok(Step::or_end(block.map(Chunk::Docs)))
    }
}
