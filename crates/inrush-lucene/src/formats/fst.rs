//! Tries in Lucene's FST format: the index of a dictionary of terms, from prefixes to bytes, and
//! the dictionary of suggestions, from terms to weights and texts.
//!
//! Source: the documentation of `org.apache.lucene.util.fst` and of `FST` in Lucene 9.12. Nodes are
//! not shared, as in Lucene's own index of terms: what prefixes have in common at their ends is in
//! the blocks of terms. Terms of suggestions have little in common behind their weights and texts.
//!
//! A node is a list of arcs, written backwards, because a reader goes through the bytes from the
//! end. A child is written before its parent, so that its address is known.

use crate::formats::output::Put;

const FINAL: u8 = 1;
const LAST: u8 = 1 << 1;
const TARGET_NEXT: u8 = 1 << 2;
const STOP: u8 = 1 << 3;
const OUTPUT: u8 = 1 << 4;
const FINAL_OUTPUT: u8 = 1 << 5;
const SORTED: u8 = 1 << 5;
const BITS: u8 = 1 << 6;
const CONTINUOUS: u8 = SORTED | BITS;

const VERSION: u32 = 9;

/// One transition; its target is 0 where no node follows.
struct Arc {
    label: u8,
    target: u64,
    /// Where the output is, if there is one.
    output: Option<(usize, usize)>,
    /// Whether something ends here, and what the output is of.
    flags: u8,
}

/// A node that can still get arcs.
#[derive(Default)]
struct Node {
    arcs: Vec<Arc>,
    output: Option<(usize, usize)>,
}

/// The nodes of a trie that were written.
struct Nodes {
    bytes: Vec<u8>,
    outputs: Vec<u8>,
    last_node: u64,
    scratch: Vec<u8>,
}

/// Builds the trie from prefixes in their order.
pub(crate) struct FstBuilder {
    nodes: Nodes,
    /// The nodes along the last prefix, the root first.
    path: Vec<Node>,
    last: Vec<u8>,
}

impl FstBuilder {
    pub(crate) fn new() -> Self {
        Self { nodes: Nodes::new(), path: vec![Node::default()], last: Vec::new() }
    }

    /// Adds a prefix that is greater than the one before.
    pub(crate) fn add(&mut self, prefix: &[u8], output: &[u8]) {
        let shared = self.last.iter().zip(prefix).take_while(|(a, b)| a == b).count();
        self.close(shared);
        for &label in &prefix[shared..] {
            let depth = self.path.len() - 1;
            self.path[depth].arcs.push(Arc { label, target: 0, output: None, flags: 0 });
            self.path.push(Node::default());
        }
        let at = self.nodes.outputs.len();
        self.nodes.outputs.put_vint(output.len() as u32);
        self.nodes.outputs.extend_from_slice(output);
        let at = (at, self.nodes.outputs.len());
        let depth = self.path.len() - 1;
        self.path[depth].output = Some(at);
        self.last.clear();
        self.last.extend_from_slice(prefix);
    }

    /// Writes the nodes of the path below `depth`.
    fn close(&mut self, depth: usize) {
        while self.path.len() > depth + 1 {
            let Some(node) = self.path.pop() else { return };
            let target = self.nodes.write(&node.arcs, self.path.len());
            if let Some(arc) = self.path.last_mut().and_then(|parent| parent.arcs.last_mut()) {
                arc.target = target;
                arc.output = node.output;
                arc.flags = if node.output.is_some() { FINAL | FINAL_OUTPUT } else { 0 };
            }
        }
    }

    /// Writes how to read the trie to `meta`, and the trie to `out`.
    pub(crate) fn finish(mut self, meta: &mut impl Put, out: &mut impl Put) {
        self.close(0);
        let root = self.path.pop().unwrap_or_default();
        let start = self.nodes.write(&root.arcs, 0);
        let output =
            root.output.map(|(from, to)| self.nodes.outputs[from..to].iter().rev().copied().collect::<Vec<u8>>());
        self.nodes.put_meta(start, output.as_deref(), meta);
        out.put(&self.nodes.bytes);
    }
}

/// A suggestion in its dictionary.
pub(crate) struct WeightedTerm<'a> {
    /// No term is the beginning of another one.
    pub(crate) term: &'a [u8],
    pub(crate) cost: u64,
    pub(crate) text: &'a [u8],
}

/// The trie of terms in their order, each with a number and some bytes, behind how to read it. Of
/// both, arcs have as soon as possible what all behind them have in common: the least number, and
/// the first bytes.
pub(crate) fn weighted(terms: &[WeightedTerm]) -> (Vec<u8>, Vec<u8>) {
    let mut nodes = Nodes::new();
    let start = nodes.write_weighted(terms, (0, 0, 0));
    let mut meta = Vec::new();
    nodes.put_meta(start, None, &mut meta);
    (meta, nodes.bytes)
}

impl Nodes {
    fn new() -> Self {
        // No node is at address 0, which stands for none.
        Self { bytes: vec![0], outputs: Vec::new(), last_node: 0, scratch: Vec::new() }
    }

    /// Writes the node at a depth of terms that share what is above, with what of their numbers and
    /// bytes is there.
    fn write_weighted(&mut self, terms: &[WeightedTerm], (depth, cost, text): (usize, u64, usize)) -> u64 {
        let mut arcs = Vec::new();
        let outputs = self.outputs.len();
        for own in terms.chunk_by(|a, b| a.term[depth] == b.term[depth]) {
            let own_cost = own.iter().map(|term| term.cost).min().unwrap_or(cost);
            let first = own[0].text;
            let shared = |term: &WeightedTerm| first.iter().zip(term.text).take_while(|(a, b)| a == b).count();
            let own_text = own.iter().map(shared).min().unwrap_or(text);
            let is_end = own[0].term.len() == depth + 1;
            let target = if is_end { 0 } else { self.write_weighted(own, (depth + 1, own_cost, own_text)) };
            let (mut output, mut flags) = (None, if is_end { FINAL } else { 0 });
            if own_cost > cost || own_text > text {
                let at = self.outputs.len();
                self.outputs.put_vlong(own_cost - cost);
                self.outputs.put_vint((own_text - text) as u32);
                self.outputs.extend_from_slice(&first[text..own_text]);
                output = Some((at, self.outputs.len()));
                flags |= OUTPUT;
            }
            arcs.push(Arc { label: own[0].term[depth], target, output, flags });
        }
        let node = self.write(&arcs, depth);
        self.outputs.truncate(outputs);
        node
    }

    /// Writes a node and returns its address, or 0 where it has no arcs.
    fn write(&mut self, arcs: &[Arc], depth: usize) -> u64 {
        let count = arcs.len();
        if count == 0 {
            return 0;
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        if count >= 10 || (count >= 5 && depth <= 3) {
            self.put_fixed(&mut scratch, arcs);
        } else {
            for (i, arc) in arcs.iter().enumerate() {
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
        arc.flags | if last { LAST } else { 0 } | if arc.target == 0 { STOP } else { 0 }
    }

    fn put_rest(&self, out: &mut Vec<u8>, arc: &Arc, next: bool) {
        if let Some((from, to)) = arc.output {
            out.extend_from_slice(&self.outputs[from..to]);
        }
        if arc.target != 0 && !next {
            out.put_vlong(arc.target);
        }
    }

    /// Arcs of one length each, so that a reader need not go through them: found by their label
    /// (without gaps, or with a bit for each label), or by a binary search.
    fn put_fixed(&self, out: &mut Vec<u8>, node: &[Arc]) {
        let count = node.len();
        let first = node[0].label;
        let range = usize::from(node[count - 1].label - first) + 1;
        let mut arcs = Vec::new();
        let mut longest = 0;
        let mut ends = Vec::with_capacity(count);
        for (i, arc) in node.iter().enumerate() {
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
                for arc in node {
                    let bit = usize::from(arc.label - first);
                    out[bits + bit / 8] |= 1 << (bit % 8);
                }
            }
            out.push(first);
        }
        let mut start = 0;
        for (arc, end) in node.iter().zip(ends) {
            out.push(arcs[start]);
            if sorted {
                out.push(arc.label);
            }
            out.extend_from_slice(&arcs[start + 1..end]);
            out.resize(out.len() + longest - (end - start), 0);
            start = end;
        }
    }

    /// Writes how to read the trie. `output` is that of the empty prefix, backwards.
    fn put_meta(&self, start: u64, output: Option<&[u8]>, meta: &mut impl Put) {
        meta.put_header("FST", VERSION);
        match output {
            Some(output) => {
                meta.put_u8(1);
                meta.put_vint(output.len() as u32);
                meta.put(output);
            }
            None => meta.put_u8(0),
        }
        // Labels of one byte.
        meta.put_u8(0);
        meta.put_vlong(start);
        meta.put_vlong(self.bytes.len() as u64);
    }
}
