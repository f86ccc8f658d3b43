//! Objects of a mapping, and what their members are.

use crate::analysis::is_white;
use crate::fields::composed::Feature;
use crate::fields::relations::Join;
use crate::hash::hash;

/// An object, or a field with what is made of its values.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    Object(Object),
    /// The numbers of the field, of its multi-fields, and of what they are copied to.
    Fields(Vec<usize>),
    /// The number of a field of points, which are objects or arrays.
    Points(usize),
    /// The number of a field of shapes, which are objects or texts.
    Shape(usize),
    /// The number of a field of ranges, which are objects.
    Range(usize),
    /// The number of a field of suggestions, which are objects.
    Suggest(usize),
    /// An object of which each value is a term, with its name and without.
    Flat(Flat),
    /// A relation of the document, and its parent.
    Join(Join),
    /// A feature, or an object of some.
    Feature(Feature),
    /// A field that a `join` adds, which documents must not have.
    OfJoin,
    /// The one value that documents may have, which is not indexed.
    Constant(String),
    /// A value of any kind of which nothing is indexed.
    Ignored,
    /// The same of nested objects, of which no name may be a path.
    IgnoredNested,
    /// The same of a field: an object there is not supported.
    Unread,
    /// A runtime field, which searches compute: values are not looked at. An object there is one
    /// that the mapping does not have.
    Runtime,
    /// Another name of a field, which documents must not have.
    Alias,
}

/// A field of the type `flattened` or `flat_object`.
#[derive(Debug, Clone)]
pub(crate) struct Flat {
    /// The number of the field itself, and of the one with names and values.
    pub(crate) root: usize,
    pub(crate) keyed: usize,
    /// Of `flat_object`, the number of the one with the values: the field itself has the parts of
    /// their names.
    pub(crate) values: Option<usize>,
    /// The most levels of objects.
    pub(crate) depth_max: usize,
}

/// What happens to members that the mapping does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Dynamic {
    /// A field is added.
    #[default]
    Add,
    /// A runtime field is added, and no objects on the way to it.
    Runtime,
    /// They are left out.
    Ignore,
    /// The document is refused.
    Refuse,
}

/// Objects that are documents of their own, before the one that has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Nested {
    pub(crate) path: String,
    /// Whether the fields belong to the document above, too, and to the whole document.
    pub(crate) in_parent: bool,
    pub(crate) in_root: bool,
    /// How many objects there are on the way that are nested, with this one.
    pub(crate) depth: usize,
}

/// The members of an object, in the order of the mapping.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object {
    pub(crate) path: String,
    /// Its number among all objects.
    pub(crate) number: usize,
    pub(super) members: Vec<(String, Node)>,
    /// The names with their quotes and a colon; empty where a document may write one differently.
    pub(super) quoted: Vec<Vec<u8>>,
    /// A power of two of places; a member's number plus 1, or 0.
    pub(super) table: Vec<u16>,
    pub(crate) dynamic: Dynamic,
    /// Whether `dynamic` is its own, and not that of the object above.
    pub(crate) own_dynamic: bool,
    /// The number of its path among those of nested objects.
    pub(crate) nested: Option<usize>,
}

impl Object {
    /// The name of a member as documents write it, with its quotes and a colon, and what it is.
    #[inline]
    pub(crate) fn quoted(&self, place: usize) -> Option<(&[u8], &Node)> {
        let quoted = self.quoted.get(place).filter(|quoted| !quoted.is_empty())?;
        Some((quoted, &self.members.get(place)?.1))
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn name(&self, place: usize) -> &str {
        &self.members[place].0
    }

    /// The place of a member and what it is.
    pub(crate) fn member(&self, name: &str) -> Option<(usize, &Node)> {
        let mask = self.table.len().checked_sub(1)?;
        let mut place = hash(name.as_bytes()) as usize & mask;
        loop {
            let at = usize::from(self.table[place]).checked_sub(1)?;
            let (other, node) = &self.members[at];
            if other == name {
                return Some((at, node));
            }
            place = (place + 1) & mask;
        }
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Node> {
        self.members.iter_mut().find(|(other, _)| other == name).map(|(_, node)| node)
    }

    /// Makes the table, here and in the objects below, of which there are `objects` before. `None`
    /// if there are too many members.
    pub(super) fn finish(&mut self, objects: &mut usize) -> Option<()> {
        self.number = *objects;
        *objects += 1;
        self.quoted = self.members.iter().map(|(name, _)| quoted(name)).collect();
        self.table = vec![0; (2 * self.members.len() + 1).next_power_of_two()];
        let mask = self.table.len() - 1;
        for (number, (name, node)) in self.members.iter_mut().enumerate() {
            let mut place = hash(name.as_bytes()) as usize & mask;
            while self.table[place] != 0 {
                place = (place + 1) & mask;
            }
            self.table[place] = u16::try_from(number + 1).ok()?;
            if let Node::Object(object) = node {
                object.finish(objects)?;
            }
        }
        Some(())
    }
}

fn quoted(name: &str) -> Vec<u8> {
    let is_plain = !name.bytes().any(|byte| matches!(byte, 0..0x20 | b'"' | b'\\'));
    if is_plain && name.len() < 256 { format!("\"{name}\":").into_bytes() } else { Vec::new() }
}

/// Whether a name is of white space only, as Java's `Character.isWhitespace` has it.
pub(super) fn is_blank(name: &str) -> bool {
    name.chars().all(is_white)
}
