//! The index of a dictionary of terms: from prefixes to bytes, as a trie in Lucene's FST format.
//!
//! Source: the documentation of `org.apache.lucene.util.fst` and of `FST` in Lucene 9.12. Nodes are
//! not shared, as in Lucene's own index of terms: what prefixes have in common at their ends is in
//! the blocks of terms.
//!
//! A node is a list of arcs, written backwards, because a reader goes through the bytes from the
//! end. A child is written before its parent, so that its address is known.

use crate::formats::output::Put;

const FINAL: u8 = 1;
const LAST: u8 = 1 << 1;
const TARGET_NEXT: u8 = 1 << 2;
const STOP: u8 = 1 << 3;
const FINAL_OUTPUT: u8 = 1 << 5;
const SORTED: u8 = 1 << 5;
const BITS: u8 = 1 << 6;
const CONTINUOUS: u8 = SORTED | BITS;

const VERSION: u32 = 9;

/// One transition; its target is 0 where no node follows.
struct Arc {
    label: u8,
    target: u64,
    /// Where the output is, if a prefix ends here.
    output: Option<(usize, usize)>,
}

/// A node that can still get arcs.
#[derive(Default)]
struct Node {
    arcs: Vec<Arc>,
    output: Option<(usize, usize)>,
}

/// Builds the trie from prefixes in their order.
pub(crate) struct FstBuilder {
    bytes: Vec<u8>,
    outputs: Vec<u8>,
    /// The nodes along the last prefix, the root first.
    path: Vec<Node>,
    last: Vec<u8>,
    last_node: u64,
    scratch: Vec<u8>,
}

impl FstBuilder {
    pub(crate) fn new() -> Self {
        // No node is at address 0, which stands for none.
        Self {
            bytes: vec![0],
            outputs: Vec::new(),
            path: vec![Node::default()],
            last: Vec::new(),
            last_node: 0,
            scratch: Vec::new(),
        }
    }

    /// Adds a prefix that is greater than the one before.
    pub(crate) fn add(&mut self, prefix: &[u8], output: &[u8]) {
        let shared = self.last.iter().zip(prefix).take_while(|(a, b)| a == b).count();
        self.close(shared);
        for &label in &prefix[shared..] {
            let depth = self.path.len() - 1;
            self.path[depth].arcs.push(Arc { label, target: 0, output: None });
            self.path.push(Node::default());
        }
        let at = (self.outputs.len(), output.len());
        self.outputs.extend_from_slice(output);
        let depth = self.path.len() - 1;
        self.path[depth].output = Some(at);
        self.last.clear();
        self.last.extend_from_slice(prefix);
    }

    /// Writes the nodes of the path below `depth`.
    fn close(&mut self, depth: usize) {
        while self.path.len() > depth + 1 {
            let Some(node) = self.path.pop() else { return };
            let target = self.write(&node, self.path.len());
            if let Some(arc) = self.path.last_mut().and_then(|parent| parent.arcs.last_mut()) {
                arc.target = target;
                arc.output = node.output;
            }
        }
    }

    /// Writes a node and returns its address, or 0 where it has no arcs.
    fn write(&mut self, node: &Node, depth: usize) -> u64 {
        let count = node.arcs.len();
        if count == 0 {
            return 0;
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        if count >= 10 || (count >= 5 && depth <= 3) {
            self.put_fixed(&mut scratch, node);
        } else {
            for (i, arc) in node.arcs.iter().enumerate() {
                let next = arc.target != 0 && arc.target == self.last_node;
                let flags = Self::flags(arc, i + 1 == count) | if next { TARGET_NEXT } else { 0 };
                scratch.push(flags);
                scratch.push(arc.label);
                self.put_rest(&mut scratch, arc, next);
            }
        }
        self.bytes.extend(scratch.iter().rev());
        self.scratch = scratch;
        self.last_node = self.bytes.len() as u64 - 1;
        self.last_node
    }

    fn flags(arc: &Arc, last: bool) -> u8 {
        let ends = if arc.output.is_some() { FINAL | FINAL_OUTPUT } else { 0 };
        ends | if last { LAST } else { 0 } | if arc.target == 0 { STOP } else { 0 }
    }

    fn put_rest(&self, out: &mut Vec<u8>, arc: &Arc, next: bool) {
        if let Some((at, len)) = arc.output {
            out.put_vint(len as u32);
            out.extend_from_slice(&self.outputs[at..at + len]);
        }
        if arc.target != 0 && !next {
            out.put_vlong(arc.target);
        }
    }

    /// Arcs of one length each, so that a reader need not go through them: found by their label
    /// (without gaps, or with a bit for each label), or by a binary search.
    fn put_fixed(&self, out: &mut Vec<u8>, node: &Node) {
        let count = node.arcs.len();
        let first = node.arcs[0].label;
        let range = usize::from(node.arcs[count - 1].label - first) + 1;
        let mut arcs = Vec::new();
        let mut longest = 0;
        let mut ends = Vec::with_capacity(count);
        for (i, arc) in node.arcs.iter().enumerate() {
            let start = arcs.len();
            arcs.push(Self::flags(arc, i + 1 == count));
            self.put_rest(&mut arcs, arc, false);
            longest = longest.max(arcs.len() - start);
            ends.push(arcs.len());
        }
        let by_label = range.div_ceil(8) + 1 + longest * count <= (longest + 1) * count;
        let sorted = range != count && !by_label;
        out.push(if range == count {
            CONTINUOUS
        } else if by_label {
            BITS
        } else {
            SORTED
        });
        out.put_vint(if sorted { count } else { range } as u32);
        out.put_vint((longest + usize::from(sorted)) as u32);
        if !sorted {
            if range != count {
                let bits = out.len();
                out.resize(bits + range.div_ceil(8), 0);
                for arc in &node.arcs {
                    let bit = usize::from(arc.label - first);
                    out[bits + bit / 8] |= 1 << (bit % 8);
                }
            }
            out.push(first);
        }
        let mut start = 0;
        for (arc, end) in node.arcs.iter().zip(ends) {
            out.push(arcs[start]);
            if sorted {
                out.push(arc.label);
            }
            out.extend_from_slice(&arcs[start + 1..end]);
            out.resize(out.len() + longest - (end - start), 0);
            start = end;
        }
    }

    /// Writes how to read the trie to `meta`, and the trie to `out`.
    pub(crate) fn finish(mut self, meta: &mut impl Put, out: &mut impl Put) {
        self.close(0);
        let root = self.path.pop().unwrap_or_default();
        let start = self.write(&root, 0);
        meta.put_header("FST", VERSION);
        match root.output {
            Some((at, len)) => {
                let mut output = Vec::new();
                output.put_vint(len as u32);
                output.extend_from_slice(&self.outputs[at..at + len]);
                output.reverse();
                meta.put_u8(1);
                meta.put_vint(output.len() as u32);
                meta.put(&output);
            }
            None => meta.put_u8(0),
        }
        // Labels of one byte.
        meta.put_u8(0);
        meta.put_vlong(start);
        meta.put_vlong(self.bytes.len() as u64);
        out.put(&self.bytes);
    }
}
