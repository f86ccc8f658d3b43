//! One document: from its text to the values of its fields.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::fields::convert::{Indexable, convert, is_null};
use crate::fields::field::{Field, Kind};
use crate::fields::geo::{self, NoPoint};
use crate::fields::json::{NO_DUPLICATE, Reader, Scalar};
use crate::fields::mapping::{Dynamic, Mapping, Node, Object, Product};
use crate::fields::refused::{NESTED_MAX, Refused};

/// The deepest arrays that OpenSearch takes.
const ARRAYS_MAX: u32 = 20;

/// What only the server sets.
const METADATA: [&str; 9] =
    ["_id", "_source", "_routing", "_seq_no", "_version", "_field_names", "_index", "_ignored", "_nested_path"];

fn metadata(name: &str) -> Refused {
    let expected = "no value, as it is a metadata field and cannot be added inside a document";
    Refused::Value { field: name.to_owned(), type_name: name.to_owned(), expected }
}

/// Values with the numbers of their fields.
pub(crate) type Values<'a> = Vec<(usize, Indexable<'a>)>;

/// What is indexed of a document.
#[derive(Default)]
pub(crate) struct Document<'a> {
    pub(crate) values: Values<'a>,
    /// The nested objects, each before the one that has it.
    pub(crate) children: Vec<Child<'a>>,
    /// The fields of which a value was left out, as it is malformed or too long.
    pub(crate) ignored: Vec<usize>,
}

/// A nested object, which is a document of its own.
pub(crate) struct Child<'a> {
    /// The number of its path.
    pub(crate) path: usize,
    pub(crate) values: Values<'a>,
}

/// Reads a document.
pub(crate) fn read<'a>(source: &'a [u8], mapping: &Mapping) -> Result<Document<'a>, Refused> {
    let text = std::str::from_utf8(source).map_err(|_| Refused::NotUtf8)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let document = Document { values: Vec::with_capacity(mapping.fields.len()), ..Document::default() };
    let mut walk = Walk { reader: Reader::new(text), mapping, document, above: Vec::new(), arrays: 0 };
    walk.object(&mapping.root)?;
    walk.reader.end()?;
    Ok(walk.document)
}

/// Goes through a document along its mapping.
struct Walk<'a, 'm> {
    reader: Reader<'a>,
    mapping: &'m Mapping,
    document: Document<'a>,
    /// The values so far of the documents that have the nested object.
    above: Vec<Values<'a>>,
    /// Arrays that are open.
    arrays: u32,
}

impl<'a> Walk<'a, '_> {
    fn object(&mut self, object: &Object) -> Result<(), Refused> {
        self.reader.open(b'{')?;
        let mut next = 0;
        let mut first = true;
        let mut seen = Seen::default();
        while self.reader.more(first, b'}')? {
            first = false;
            let name = self.reader.name()?;
            let found = object.member(&name, next);
            let new = match found {
                Some((place, _)) => seen.insert(place),
                None => seen.names.insert(name.clone()),
            };
            if !new {
                return Ok(self.reader.malformed(NO_DUPLICATE)?);
            }
            match found {
                Some((place, node)) => {
                    next = place + 1;
                    self.node(node, &name)?;
                }
                None if object.path.is_empty() && METADATA.contains(&&*name) => return Err(metadata(&name)),
                None if name.is_empty() || name.contains('.') => self.path(object, &name)?,
                None => self.unmapped(object, &name)?,
            }
        }
        Ok(())
    }

    #[inline]
    fn node(&mut self, node: &Node, name: &str) -> Result<(), Refused> {
        match node {
            Node::Fields(numbers) => self.values(numbers),
            Node::Object(object) => self.objects(object),
            Node::Points(number) => self.points(*number),
            Node::Ignored => self.ignored(),
            Node::Alias => Err(Refused::Value {
                field: name.to_owned(),
                type_name: "alias".to_owned(),
                expected: "no value, as it is another name of a field",
            }),
        }
    }

    /// A member whose name is a path of objects.
    fn path(&mut self, object: &Object, name: &str) -> Result<(), Refused> {
        let parts: Vec<&str> = name.split('.').collect();
        if parts.iter().any(|part| part.trim().is_empty()) {
            return Err(if name.ends_with('.') && !name.trim_end_matches('.').split('.').any(str::is_empty) {
                Refused::Unsupported(format!("the name {name:?}"))
            } else {
                Refused::Name(name.to_owned())
            });
        }
        let start = object;
        let mut object = object;
        for (at, part) in parts.iter().enumerate() {
            let Some((_, node)) = object.member(part, 0) else {
                // OpenSearch looks at the object that has the name.
                let is_null = self.reader.peek() == b'n' && self.mapping.target.product == Product::OpenSearch;
                return if is_null { self.unmapped(start, name) } else { self.unmapped(object, part) };
            };
            match node {
                node if at + 1 == parts.len() => return self.node(node, name),
                Node::Object(below) if below.nested.is_none() => object = below,
                Node::Object(_) => {
                    return Err(Refused::Unsupported(format!("the name {name:?}, a path into nested objects,")));
                }
                Node::Ignored => return Ok(self.reader.skip()?),
                Node::Fields(_) | Node::Points(_) | Node::Alias => return Err(Refused::NoObject(name.to_owned())),
            }
        }
        Ok(())
    }

    /// A member that the mapping does not have.
    fn unmapped(&mut self, object: &Object, name: &str) -> Result<(), Refused> {
        let is_null = self.reader.peek() == b'n';
        match object.dynamic {
            Dynamic::Ignore => self.ignored(),
            // OpenSearch does not look at the objects above here.
            Dynamic::Refuse if is_null && !object.own_dynamic && self.mapping.target.product == Product::OpenSearch => {
                Ok(self.reader.skip()?)
            }
            Dynamic::Refuse => Err(Refused::Unmapped { object: object.path.clone(), name: name.to_owned() }),
            Dynamic::Add if self.reader.skip_nulls()? => Ok(()),
            Dynamic::Add => {
                let dot = if object.path.is_empty() { "" } else { "." };
                let what =
                    format!("the field {:?}, which is not in the mapping,", format!("{}{dot}{name}", object.path));
                Err(Refused::Unsupported(what))
            }
        }
    }

    /// Goes over a value of which nothing is indexed.
    fn ignored(&mut self) -> Result<(), Refused> {
        if self.reader.peek() == b'[' { self.each(Self::ignored) } else { Ok(self.reader.skip()?) }
    }

    /// Goes through an array.
    #[inline]
    fn each(&mut self, mut element: impl FnMut(&mut Self) -> Result<(), Refused>) -> Result<(), Refused> {
        self.arrays += 1;
        if self.arrays > ARRAYS_MAX && self.mapping.target.product == Product::OpenSearch {
            return Err(Refused::Arrays);
        }
        self.reader.open(b'[')?;
        let mut first = true;
        while self.reader.more(first, b']')? {
            first = false;
            element(self)?;
        }
        self.arrays -= 1;
        Ok(())
    }

    /// An object, an array of objects, or null.
    fn objects(&mut self, object: &Object) -> Result<(), Refused> {
        match self.reader.peek() {
            b'[' => self.each(|walk| walk.objects(object)),
            b'n' => Ok(self.reader.skip()?),
            b'{' => match object.nested {
                None => self.object(object),
                Some(path) => self.nested(object, path),
            },
            _ => Err(Refused::NoObject(object.path.clone())),
        }
    }

    fn nested(&mut self, object: &Object, path: usize) -> Result<(), Refused> {
        if self.document.children.len() + self.above.len() >= NESTED_MAX {
            return Err(Refused::Nested);
        }
        self.above.push(std::mem::take(&mut self.document.values));
        self.object(object)?;
        let above = self.above.pop().unwrap_or_default();
        let values = std::mem::replace(&mut self.document.values, above);
        let nested = &self.mapping.nested[path];
        if nested.in_parent {
            self.document.values.extend(values.iter().cloned());
        }
        if nested.in_root && !(nested.in_parent && self.above.is_empty()) {
            self.above.first_mut().unwrap_or(&mut self.document.values).extend(values.iter().cloned());
        }
        self.document.children.push(Child { path, values });
        Ok(())
    }

    /// A value of fields, or an array of them.
    #[inline]
    fn values(&mut self, numbers: &[usize]) -> Result<(), Refused> {
        match self.reader.peek() {
            b'[' => return self.each(|walk| walk.values(numbers)),
            b'{' => return self.object_of_field(numbers),
            _ => {}
        }
        let scalar = self.reader.scalar()?;
        let product = self.mapping.target.product;
        for &number in numbers {
            let field = &self.mapping.fields[number];
            match convert(&scalar, field, product) {
                Ok(Some(value)) => self.document.values.push((number, value)),
                Ok(None) => {
                    let too_long = matches!(field.kind, Kind::Keyword { .. }) && !is_null(&scalar, field);
                    if too_long && product == Product::Elasticsearch {
                        self.document.ignored.push(number);
                    }
                }
                Err(Refused::Value { .. }) if field.ignore_malformed => {
                    if product == Product::Elasticsearch || !is_nameless(&scalar, field) {
                        self.document.ignored.push(number);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// An object, where a field has a value. OpenSearch leaves it out without a name where
    /// malformed values are ignored.
    fn object_of_field(&mut self, numbers: &[usize]) -> Result<(), Refused> {
        let field = &self.mapping.fields[numbers[0]];
        match (self.mapping.target.product, numbers) {
            (Product::OpenSearch, [_]) if field.ignore_malformed => Ok(self.reader.skip()?),
            (Product::OpenSearch, _) if field.ignore_malformed => {
                Err(Refused::Unsupported(format!("an object in the field {:?}", field.name)))
            }
            _ => Err(self.wrong(numbers[0], "no object")),
        }
    }

    fn wrong(&self, number: usize, expected: &'static str) -> Refused {
        let Field { name, type_name, .. } = &self.mapping.fields[number];
        Refused::Value { field: name.clone(), type_name: type_name.clone(), expected }
    }

    /// A point, or several.
    fn points(&mut self, number: usize) -> Result<(), Refused> {
        let field = &self.mapping.fields[number];
        let Kind::GeoPoint { ignore_height } = field.kind else { return self.values(&[number]) };
        let text = self.reader.raw()?;
        match geo::points(text, ignore_height, self.mapping.target.product) {
            Ok(points) => {
                self.document.values.extend(points.into_iter().map(|point| (number, Indexable::Number(point))));
                Ok(())
            }
            Err(NoPoint::Unsupported(what)) => {
                Err(Refused::Unsupported(format!("{what} in the field {:?}", field.name)))
            }
            Err(NoPoint::Malformed) if !field.ignore_malformed => Err(self.wrong(number, "a point, or several")),
            // What is left of an array then, and degrees beyond the range, depend on the server.
            Err(NoPoint::Malformed) if geo::is_text_of_letters(text) => {
                self.document.ignored.push(number);
                Ok(())
            }
            Err(NoPoint::Malformed) => {
                Err(Refused::Unsupported(format!("a malformed point in the field {:?}", field.name)))
            }
        }
    }
}

/// Whether OpenSearch forgets to name the field of a malformed value.
fn is_nameless(scalar: &Scalar, field: &Field) -> bool {
    match (&field.kind, scalar) {
        (Kind::Scaled(_), _) => true,
        (Kind::Unsigned { .. }, Scalar::Number(text)) => field.coerce || !text.contains(['.', 'e', 'E']),
        _ => false,
    }
}

/// The members of an object that were read: by their places in the mapping, the others by name.
#[derive(Default)]
struct Seen<'a> {
    first: u64,
    more: HashSet<usize>,
    names: HashSet<Cow<'a, str>>,
}

impl Seen<'_> {
    fn insert(&mut self, place: usize) -> bool {
        if place >= 64 {
            return self.more.insert(place);
        }
        let new = self.first >> place & 1 == 0;
        self.first |= 1 << place;
        new
    }
}
