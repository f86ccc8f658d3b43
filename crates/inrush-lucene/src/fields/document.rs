//! One document: from its text to the values of its fields.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::analysis::Analyzer;
use crate::fields::convert::{self, Indexable, convert, is_null};
use crate::fields::definition::path_of;
use crate::fields::field::{Field, Kind};
use crate::fields::geo::{self, NoPoint, Rules};
use crate::fields::json::{FEW_LEVELS, NO_DUPLICATE, Reader, SHORT_NAME, Scalar, WHOLE_NAME};
use crate::fields::mapping::Mapping;
use crate::fields::new_fields::NewFields;
use crate::fields::object::{Dynamic, Node, Object, is_blank};
use crate::fields::refused::{NESTED_MAX, NO_OBJECT, Refused};
use crate::fields::shapes::shape;
use crate::fields::target::KnownProduct;
use crate::fields::values;

/// The deepest arrays that OpenSearch takes.
const ARRAYS_MAX: u32 = 20;

/// What only the server sets.
const METADATA: [&str; 9] =
    ["_id", "_source", "_routing", "_seq_no", "_version", "_field_names", "_index", "_ignored", "_nested_path"];

/// What only the server sets, or documents may have without a mapping, with some products, versions
/// and plugins.
const OF_SOME_SERVERS: [&str; 14] = [
    "_data_stream_timestamp",
    "_doc_count",
    "_feature",
    "_ignored_source",
    "_index_mode",
    "_inference_fields",
    "_primary_term",
    "_size",
    "_slice",
    "_tier",
    "_ts_routing_hash",
    "_tsid",
    "_type",
    "_uid",
];

/// Checks that a member of an object, which the mapping does not have, is none of the server's own.
pub(super) fn check_name(object: &Object, name: &str) -> Result<(), Refused> {
    if !object.path.is_empty() {
        Ok(())
    } else if METADATA.contains(&name) {
        let expected = "no value, as it is a metadata field and cannot be added inside a document";
        Err(Refused::Value { field: name.to_owned(), type_name: name.to_owned(), expected })
    } else if OF_SOME_SERVERS.contains(&name) {
        Err(Refused::Unsupported(format!("the field {name:?}, which may be one of the server's,")))
    } else {
        Ok(())
    }
}

/// Values with the numbers of their fields.
pub(crate) type Values<'a> = Vec<(usize, Indexable<'a>)>;

/// What is indexed of a document.
#[derive(Debug, Default)]
pub(crate) struct Document<'a> {
    pub(crate) values: Values<'a>,
    /// The nested objects, each before the one that has it.
    pub(crate) children: Vec<Child<'a>>,
    /// The fields of which a value was left out, as it is malformed or too long.
    pub(crate) ignored: Vec<usize>,
    /// The fields that the document adds to the mapping. Their values are not among the others.
    pub(crate) new: Option<Box<NewFields>>,
    /// The number of a field that makes the document a child, for which it needs a routing value.
    pub(crate) child_by: Option<usize>,
    /// Why Lucene refuses the document, which the servers see after they have added its new fields.
    pub(crate) refused: Option<Refused>,
}

/// A nested object, which is a document of its own.
#[derive(Debug)]
pub(crate) struct Child<'a> {
    /// The number of its path.
    pub(crate) path: usize,
    pub(crate) values: Values<'a>,
}

/// What is kept from document to document, so that the next one is read faster.
#[derive(Default)]
pub(crate) struct Habits {
    /// For each object, the place of its first member in a document, and of the one behind each
    /// member.
    order: Vec<Vec<u16>>,
    values: Values<'static>,
}

impl Habits {
    /// The place of the member that is expected behind `behind` (0 is the beginning, then places
    /// plus 1).
    #[inline]
    fn expected(&self, object: &Object, behind: usize) -> Option<usize> {
        self.order.get(object.number)?.get(behind).map(|place| usize::from(*place))
    }

    fn learn(&mut self, object: &Object, behind: usize, place: usize) {
        if self.order.len() <= object.number {
            self.order.resize(object.number + 1, Vec::new());
        }
        let order = &mut self.order[object.number];
        if order.is_empty() {
            // Members often come in the order of the mapping, which has 65,535 at most.
            order.extend(0..=object.len() as u16);
        }
        order[behind] = place as u16;
    }

    /// Takes the memory of values that are not needed any more.
    pub(crate) fn take_back(&mut self, values: Values) {
        self.values = emptied(values);
    }
}

/// The memory of values, for others.
fn emptied<'a>(mut values: Values) -> Values<'a> {
    values.clear();
    // Collecting from a vector of the same type keeps its memory.
    values.into_iter().map(|(number, _)| (number, Indexable::Number(0))).collect()
}

/// Reads a document.
pub(crate) fn read<'a>(source: &'a [u8], mapping: &Mapping, habits: &mut Habits) -> Result<Document<'a>, Refused> {
    let text = std::str::from_utf8(source).map_err(|_| Refused::NotUtf8)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let values = emptied(std::mem::take(&mut habits.values));
    let document = Document { values, ..Document::default() };
    let mut walk = Walk { reader: Reader::new(text), mapping, habits, document, above: Vec::new(), arrays: 0 };
    match walk.object(&mapping.root).and_then(|()| Ok(walk.reader.end()?)) {
        Err(Refused::Malformed { expected: WHOLE_NAME, .. }) if !mapping.target.has_whole_names() => {
            Err(Refused::Unsupported("half a pair of UTF-16 in a name".to_owned()))
        }
        Err(Refused::Malformed { expected: FEW_LEVELS, .. }) if mapping.target.takes_any_json() => {
            Err(Refused::Unsupported("a document of more than 1,000 levels".to_owned()))
        }
        Err(Refused::Malformed { expected: SHORT_NAME, .. })
            if mapping.target.product == KnownProduct::Elasticsearch || mapping.target.takes_any_json() =>
        {
            Err(Refused::Unsupported("a name of more than 50,000 characters".to_owned()))
        }
        Err(Refused::Value { field, .. } | Refused::NoObject(field) | Refused::Several(field))
            if mapping.leaves_out_wrong_values() =>
        {
            Err(Refused::Unsupported(format!("a wrong value of the field {field:?}, which the index ignores,")))
        }
        // Elasticsearch makes `?` of it in some fields.
        Ok(()) if walk.reader.half_pair && mapping.target.product == KnownProduct::Elasticsearch => {
            Err(Refused::Unsupported("half a pair of UTF-16".to_owned()))
        }
        result => result.map(|()| walk.document),
    }
}

/// Reads the value of a member of an object, which is `node`. `None` if more comes of it than
/// values of the document, or if it is refused.
pub(super) fn read_value<'a>(
    text: &'a str,
    (object, node, name): (&Object, &Node, &str),
    mapping: &Mapping,
    habits: &mut Habits,
) -> Option<Values<'a>> {
    let (reader, document) = (Reader::of_value(text), Document::default());
    let mut walk = Walk { reader, mapping, habits, document, above: Vec::new(), arrays: 0 };
    walk.node(object, node, name).ok()?;
    walk.reader.end().ok()?;
    let Document { values, children, ignored, new, child_by, refused } = walk.document;
    let is_all = children.is_empty() && ignored.is_empty() && new.is_none() && child_by.is_none() && refused.is_none();
    (is_all && !walk.reader.half_pair).then_some(values)
}

/// Goes through a document along its mapping.
pub(super) struct Walk<'a, 'm> {
    pub(super) reader: Reader<'a>,
    pub(super) mapping: &'m Mapping,
    habits: &'m mut Habits,
    pub(super) document: Document<'a>,
    /// The values so far of the documents that have the nested object.
    above: Vec<Values<'a>>,
    /// Arrays that are open.
    arrays: u32,
}

impl<'a> Walk<'a, '_> {
    fn object(&mut self, object: &Object) -> Result<(), Refused> {
        self.reader.open(b'{')?;
        let mut behind = 0;
        let mut first = true;
        let mut seen = Seen::default();
        while self.reader.more(first, b'}')? {
            first = false;
            if let Some((place, node)) = self.expected(object, behind) {
                if !seen.insert(place) {
                    return Ok(self.reader.malformed(NO_DUPLICATE)?);
                }
                behind = place + 1;
                self.node(object, node, object.name(place))?;
                continue;
            }
            let name = self.reader.name()?;
            let found = object.member(&name);
            let new = match found {
                Some((place, _)) => seen.insert(place),
                None => seen.names.insert(name.clone()),
            };
            if !new {
                return Ok(self.reader.malformed(NO_DUPLICATE)?);
            }
            match found {
                Some((place, node)) => {
                    self.habits.learn(object, behind, place);
                    behind = place + 1;
                    self.node(object, node, &name)?;
                }
                None if name.is_empty() || name.contains('.') => self.path(object, &name)?,
                None if is_blank(&name) && self.mapping.target.product == KnownProduct::Elasticsearch => {
                    return Err(Refused::Name(name.into_owned()));
                }
                None => {
                    check_name(object, &name)?;
                    self.unmapped(object, &[&*name])?;
                }
            }
        }
        Ok(())
    }

    /// Goes over the name of the member that mostly comes here, or of the one behind it, as a
    /// member may be absent.
    #[inline]
    fn expected<'o>(&mut self, object: &'o Object, mut behind: usize) -> Option<(usize, &'o Node)> {
        self.reader.peek();
        for _ in 0..2 {
            let place = self.habits.expected(object, behind)?;
            let (quoted, node) = object.quoted(place)?;
            if self.reader.take_name(quoted) {
                return Some((place, node));
            }
            behind = place + 1;
        }
        None
    }

    #[inline]
    fn node(&mut self, object: &Object, node: &Node, name: &str) -> Result<(), Refused> {
        match node {
            Node::Fields(numbers) => self.values(numbers),
            Node::Object(below) => self.objects(below),
            Node::Points(number) => self.points(*number),
            Node::Shape(number) => self.shapes(*number),
            Node::Range(number) => self.range(*number),
            Node::Suggest(number) => self.suggestions(*number),
            Node::Flat(flat) => self.flat(flat),
            Node::Join(join) => self.join(join),
            Node::Feature(feature) => self.feature(feature),
            Node::OfJoin => Err(Refused::Unsupported(format!("the field {name:?}, which is one of a `join`,"))),
            Node::Constant(value) => self.constant(value, name),
            Node::Ignored | Node::IgnoredNested => self.ignored(),
            Node::Unread => self.unread(name),
            Node::Runtime => self.runtime(object, name.rsplit('.').next().unwrap_or(name)),
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
        if parts.iter().any(|part| is_blank(part)) {
            return Err(if name.ends_with('.') && !name.trim_end_matches('.').split('.').any(str::is_empty) {
                Refused::Unsupported(format!("the name {name:?}"))
            } else {
                Refused::Name(name.to_owned())
            });
        }
        let start = object;
        let mut object = object;
        // OpenSearch looks at the object that has the name.
        let is_null = self.reader.peek() == b'n' && self.mapping.target.product == KnownProduct::OpenSearch;
        for (at, part) in parts.iter().enumerate() {
            let Some((_, node)) = object.member(part) else {
                if is_null {
                    return self.unmapped(start, &parts);
                }
                check_name(object, part)?;
                return self.unmapped(object, &parts[at..]);
            };
            match node {
                node if at + 1 == parts.len() => return self.node(object, node, name),
                Node::Object(below) if below.nested.is_none() => object = below,
                Node::Object(_) | Node::IgnoredNested => {
                    return Err(Refused::Unsupported(format!("the name {name:?}, a path into nested objects,")));
                }
                Node::Ignored => return Ok(self.reader.skip()?),
                Node::Flat(_) if self.mapping.target.product == KnownProduct::Elasticsearch => {
                    return Err(Refused::Unsupported(format!("the name {name:?}, a path into an object,")));
                }
                // Elasticsearch reads an object there: one of a geohash is a point, and behind
                // others it reads on in the object.
                node if self.mapping.target.product == KnownProduct::Elasticsearch && self.reads_objects(node) => {
                    return Err(Refused::Unsupported(format!("the name {name:?}, a path into a field,")));
                }
                Node::Fields(numbers)
                    if self.mapping.target.reads_as_9_4() && self.mapping.fields[numbers[0]].kind.is_date() =>
                {
                    return self.malformed_date(numbers);
                }
                Node::Runtime => return self.unmapped(object, &parts[at..]),
                _ if is_null => return self.unmapped(start, &parts),
                Node::Fields(_) | Node::Points(_) | Node::Range(_) | Node::Flat(_) => {
                    return Err(Refused::NoObject(name.to_owned()));
                }
                Node::Join(_) | Node::Feature(_) | Node::Suggest(_) | Node::Shape(_) => {
                    return Err(Refused::NoObject(name.to_owned()));
                }
                Node::OfJoin | Node::Constant(_) | Node::Unread | Node::Alias => {
                    return Err(Refused::NoObject(name.to_owned()));
                }
            }
        }
        Ok(())
    }

    /// Whether a node that is no object takes objects.
    fn reads_objects(&self, node: &Node) -> bool {
        match node {
            Node::Points(_) | Node::Range(_) | Node::Join(_) => true,
            Node::Feature(_) | Node::Suggest(_) | Node::Unread | Node::Shape(_) => true,
            Node::Fields(numbers) => self.mapping.fields[numbers[0]].is_unread(),
            Node::Object(_) | Node::Flat(_) | Node::Constant(_) => false,
            Node::OfJoin | Node::Ignored | Node::IgnoredNested | Node::Runtime | Node::Alias => false,
        }
    }

    /// A member that the mapping does not have, of this name or of names with dots between them.
    fn unmapped(&mut self, object: &Object, names: &[&str]) -> Result<(), Refused> {
        let is_null = self.reader.peek() == b'n';
        match object.dynamic {
            Dynamic::Ignore => self.ignored(),
            // OpenSearch does not look at the objects above here.
            Dynamic::Refuse
                if is_null && !object.own_dynamic && self.mapping.target.product == KnownProduct::OpenSearch =>
            {
                Ok(self.reader.skip()?)
            }
            Dynamic::Refuse => {
                let name = if is_null { names.join(".") } else { names[0].to_owned() };
                Err(Refused::Unmapped { object: object.path.clone(), name })
            }
            Dynamic::Add | Dynamic::Runtime => self.new_members(object, names),
        }
    }

    /// A member that the document adds, with the objects on the way to it.
    fn new_members(&mut self, object: &Object, names: &[&str]) -> Result<(), Refused> {
        // OpenSearch makes no objects on the way to null.
        if names.len() > 1 && self.reader.peek() == b'n' && self.mapping.target.product == KnownProduct::OpenSearch {
            return Ok(self.reader.skip()?);
        }
        let mut path = object.path.clone();
        for (at, name) in names.iter().enumerate() {
            path = path_of(&path, name);
            if at + 1 < names.len() {
                self.add_object(&path, object.dynamic)?;
            }
        }
        self.new_value(&path, object.dynamic, false)
    }

    fn new_fields(&mut self) -> &mut NewFields {
        self.document.new.get_or_insert_default()
    }

    fn add_object(&mut self, path: &str, dynamic: Dynamic) -> Result<(), Refused> {
        if dynamic == Dynamic::Runtime {
            return Ok(());
        }
        let mapping = self.mapping;
        self.new_fields().add_object(path, &mapping.detection)
    }

    /// A value of a member that the document adds. What of it is wrong shows when it is read again.
    fn new_value(&mut self, path: &str, dynamic: Dynamic, in_array: bool) -> Result<(), Refused> {
        match self.reader.peek() {
            b'[' => {
                self.mapping.detection.check_array(path)?;
                self.each(|walk| walk.new_value(path, dynamic, true))
            }
            b'{' => {
                self.add_object(path, dynamic)?;
                self.object(&Object { path: path.to_owned(), dynamic, ..Object::default() })
            }
            b'n' => Ok(self.reader.skip()?),
            _ if self.mapping.is_runtime(path) => Ok(self.reader.skip()?),
            _ => {
                let scalar = self.reader.scalar()?;
                let mapping = self.mapping;
                self.new_fields().add_value(path, &scalar, (dynamic, in_array), &mapping.detection)
            }
        }
    }

    /// A value that is copied into a field that the mapping does not have.
    #[cold]
    fn new_copy(&mut self, from: usize, to: &str, scalar: &Scalar) -> Result<(), Refused> {
        let (root, mapping) = (&self.mapping.root, self.mapping);
        check_name(root, to)?;
        match root.dynamic {
            Dynamic::Ignore => Ok(()),
            Dynamic::Refuse => Err(Refused::Unmapped { object: String::new(), name: to.to_owned() }),
            // The servers make no field of null, and say so.
            Dynamic::Add | Dynamic::Runtime if *scalar == Scalar::Null => {
                Err(self.wrong(from, "no null, which would be copied into a new field"))
            }
            Dynamic::Add | Dynamic::Runtime => {
                self.new_fields().add_value(to, scalar, (root.dynamic, false), &mapping.detection)
            }
        }
    }

    /// Goes over a value of a runtime field.
    fn runtime(&mut self, object: &Object, name: &str) -> Result<(), Refused> {
        match self.reader.peek() {
            b'[' => self.each(|walk| walk.runtime(object, name)),
            b'{' => self.unmapped(object, &[name]),
            _ => Ok(self.reader.skip()?),
        }
    }

    /// Goes over a value of which nothing is indexed.
    fn ignored(&mut self) -> Result<(), Refused> {
        if self.reader.peek() == b'[' { self.each(Self::ignored) } else { Ok(self.reader.skip()?) }
    }

    /// Goes through an array.
    #[inline]
    pub(super) fn each(&mut self, mut element: impl FnMut(&mut Self) -> Result<(), Refused>) -> Result<(), Refused> {
        self.arrays += 1;
        if self.arrays > ARRAYS_MAX && self.mapping.target.product == KnownProduct::OpenSearch {
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
    pub(super) fn values(&mut self, numbers: &[usize]) -> Result<(), Refused> {
        match self.reader.peek() {
            b'[' => return self.each(|walk| walk.values(numbers)),
            b'{' => return self.object_of_field(numbers),
            b'-' | b'0'..=b'9' => {
                if let [number] = numbers
                    && self.mapping.fields[*number].copied_to.is_empty()
                    && let Kind::Whole { least, most, .. } = self.mapping.fields[*number].kind
                    && let Some(value) = self.reader.short_whole(least, most)
                {
                    self.push(*number, Indexable::Number(value));
                    return Ok(());
                }
            }
            _ => {}
        }
        let scalar = self.reader.scalar()?;
        let product = self.mapping.target.product;
        let mapping = self.mapping;
        for to in &mapping.fields[numbers[0]].copied_to {
            self.new_copy(numbers[0], to, &scalar)?;
        }
        for &number in numbers {
            let field = &self.mapping.fields[number];
            if let Kind::Suggest(_) = field.kind {
                self.suggestion_of_value(number, &scalar)?;
                continue;
            }
            match convert(&scalar, field, self.mapping.target) {
                Ok(Some(_)) if self.reader.half_pair && loses_half(field, self.reader.is_cut()) => {
                    return Err(unsupported_half(field));
                }
                Ok(Some(value)) => self.push(number, value),
                Ok(None) => {
                    // The value that stands for null may be too long, too.
                    let is_there = field.null_value.is_some() || !is_null(&scalar, field);
                    let is_kept = field.indexed || field.doc_values || field.stored;
                    let too_long = matches!(field.kind, Kind::Keyword { .. }) && is_there && is_kept;
                    if too_long && product == KnownProduct::Elasticsearch {
                        self.document.ignored.push(number);
                    }
                }
                Err(Refused::Value { .. }) if field.ignore_malformed => {
                    if product == KnownProduct::Elasticsearch || !is_nameless(&scalar, field) {
                        self.document.ignored.push(number);
                    }
                }
                Err(error @ Refused::ImmenseTerm(_)) if field.kind.is_text() || product == KnownProduct::OpenSearch => {
                    self.document.refused.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Adds a value to the document that its field is of: this one, or one that has it.
    #[inline]
    pub(super) fn push(&mut self, number: usize, value: Indexable<'a>) {
        let values = if self.above.is_empty() { &mut self.document.values } else { self.values_above(number) };
        values.push((number, value));
    }

    #[cold]
    fn values_above(&mut self, number: usize) -> &mut Values<'a> {
        let depth = self.mapping.depth(number);
        self.above.get_mut(depth).unwrap_or(&mut self.document.values)
    }

    /// The one value that a field may have.
    fn constant(&mut self, value: &str, name: &str) -> Result<(), Refused> {
        if self.reader.peek() == b'[' {
            return self.each(|walk| walk.constant(value, name));
        }
        let is_it = match self.reader.peek() {
            b'{' => false,
            _ => {
                let scalar = self.reader.scalar()?;
                scalar != Scalar::Null && convert::text(&scalar) == value
            }
        };
        if is_it {
            return Ok(());
        }
        let expected = "the value of the mapping";
        Err(Refused::Value { field: name.to_owned(), type_name: "constant_keyword".to_owned(), expected })
    }

    /// Goes over a value that the servers do not look at.
    fn unread(&mut self, name: &str) -> Result<(), Refused> {
        match self.reader.peek() {
            b'[' => self.each(|walk| walk.unread(name)),
            b'{' => Err(Refused::Unsupported(format!("an object in the field {name:?}"))),
            _ => Ok(self.reader.skip()?),
        }
    }

    /// An object, where a field has a value. OpenSearch leaves it out without a name where
    /// malformed values are ignored.
    fn object_of_field(&mut self, numbers: &[usize]) -> Result<(), Refused> {
        let field = &self.mapping.fields[numbers[0]];
        // Of these the servers read on in the object, too.
        if field.is_unread() {
            return Err(unsupported_object(field));
        }
        if field.ignore_malformed && self.mapping.target.refuses_malformed() {
            return Err(unsupported_object(field));
        }
        if field.kind.is_date() && self.mapping.target.reads_as_9_4() {
            return self.malformed_date(numbers);
        }
        match (self.mapping.target.product, numbers) {
            // OpenSearch then reads on in the object as if it was the document.
            (KnownProduct::OpenSearch, [_]) if field.ignore_malformed && matches!(field.kind, Kind::Scaled(_)) => {
                Err(if self.arrays == 0 { self.wrong(numbers[0], NO_OBJECT) } else { unsupported_object(field) })
            }
            (KnownProduct::OpenSearch, [_]) if field.ignore_malformed => Ok(self.reader.skip()?),
            (KnownProduct::OpenSearch, _) if field.ignore_malformed => Err(unsupported_object(field)),
            _ => Err(self.wrong(numbers[0], NO_OBJECT)),
        }
    }

    /// An object or a value below the name of a date.
    fn malformed_date(&mut self, numbers: &[usize]) -> Result<(), Refused> {
        let field = &self.mapping.fields[numbers[0]];
        match numbers {
            _ if !field.ignore_malformed => Err(self.wrong(numbers[0], NO_OBJECT)),
            [number] => {
                self.document.ignored.push(*number);
                Ok(self.reader.skip()?)
            }
            // The fields below it read the same object.
            _ => Err(unsupported_object(field)),
        }
    }

    pub(super) fn wrong(&self, number: usize, expected: &'static str) -> Refused {
        let Field { name, type_name, .. } = &self.mapping.fields[number];
        Refused::Value { field: name.clone(), type_name: type_name.clone(), expected }
    }

    /// OpenSearch finds documents by a field of which it has nothing but its name.
    fn point_exists(&mut self, number: usize) {
        let by_name = !self.mapping.fields[number].doc_values;
        if by_name && self.mapping.target.product == KnownProduct::OpenSearch {
            self.push(number, Indexable::Exists);
        }
    }

    /// A shape, or an array of some. Lucene refuses a document with two that have doc values.
    fn shapes(&mut self, number: usize) -> Result<(), Refused> {
        if self.reader.peek() == b'[' {
            return self.each(|walk| walk.shapes(number));
        }
        let mapping = self.mapping;
        let field = &mapping.fields[number];
        let Kind::GeoShape(options) = field.kind else { return self.values(&[number]) };
        match shape(self.reader.raw()?, options, field.doc_values) {
            Ok(None) => {}
            Ok(Some(shape)) if shape.triangles.is_empty() => self.push(number, Indexable::Exists),
            Ok(Some(shape)) => {
                let values = if self.above.is_empty() { &self.document.values } else { self.values_above(number) };
                if field.doc_values && values.iter().any(|(other, _)| *other == number) {
                    self.document.refused.get_or_insert(Refused::Several(field.name.clone()));
                }
                self.push(number, Indexable::Shape(Box::new(shape)));
            }
            Err(NoPoint::Malformed) if field.ignore_malformed => self.document.ignored.push(number),
            Err(NoPoint::Malformed) => return Err(self.wrong(number, "a shape")),
            Err(NoPoint::Unsupported(what)) => {
                return Err(Refused::Unsupported(format!("{what} in the field {:?}", field.name)));
            }
        }
        Ok(())
    }

    /// A point, or several.
    fn points(&mut self, number: usize) -> Result<(), Refused> {
        let field = &self.mapping.fields[number];
        let Kind::GeoPoint { ignore_height } = field.kind else { return self.values(&[number]) };
        let given = self.reader.raw()?;
        let null_value = field.null_value.as_ref().filter(|_| given.contains("null")).map(ToString::to_string);
        let rules = Rules {
            ignore_height,
            ignore_malformed: field.ignore_malformed,
            null_value: null_value.as_deref(),
            product: self.mapping.target.product,
        };
        match geo::points(given, rules) {
            Ok(found) => {
                if found.has_empty {
                    self.point_exists(number);
                }
                if found.ignored {
                    self.document.ignored.push(number);
                }
                for point in found.points {
                    let is_stored = self.mapping.fields[number].stored;
                    self.push(
                        number,
                        match is_stored {
                            true => Indexable::Written(point.bits, point.text().into()),
                            false => Indexable::Number(point.bits),
                        },
                    );
                }
                Ok(())
            }
            Err(NoPoint::Unsupported(what)) => {
                Err(Refused::Unsupported(format!("{what} in the field {:?}", field.name)))
            }
            Err(NoPoint::Malformed) => Err(self.wrong(number, "a point, or several")),
        }
    }
}

fn unsupported_object(field: &Field) -> Refused {
    Refused::Unsupported(format!("an object in the field {:?}", field.name))
}

/// Whether words may be lost, or be others, of a text with half a pair of UTF-16. `is_cut`: the
/// text ends with it. The half may also be one of a text before it in the document.
fn loses_half(field: &Field, is_cut: bool) -> bool {
    let loses = |analyzer: &Analyzer| is_cut && analyzer.loses_cut_text() || analyzer.tells_halves();
    match &field.kind {
        Kind::Text { analyzer, .. } => field.indexed && loses(analyzer),
        Kind::TokenCount { analyzer, .. } => loses(analyzer),
        _ => false,
    }
}

fn unsupported_half(field: &Field) -> Refused {
    Refused::Unsupported(format!("half a pair of UTF-16 in a text of the field {:?}", field.name))
}

/// Whether OpenSearch forgets to name the field of a malformed value.
fn is_nameless(scalar: &Scalar, field: &Field) -> bool {
    match (&field.kind, scalar) {
        (Kind::Scaled(_), _) => true,
        (Kind::Unsigned { .. }, Scalar::Number(text)) => field.coerce || values::is_whole(text),
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Document, Habits, Values, read};
    use crate::fields::convert::Indexable;
    use crate::fields::mapping::Mapping;
    use crate::fields::refused::Refused;
    use crate::fields::target::{KnownProduct, ServerVersion};

    const TARGET: ServerVersion =
        ServerVersion { product: KnownProduct::OpenSearch, version: [3, 6, 0], lucene: [10, 4, 0] };

    fn mapping(fields: &Value) -> Mapping {
        Mapping::parse(&json!({"dynamic": "strict", "properties": fields}), TARGET).unwrap()
    }

    fn terms(values: &Values, mapping: &Mapping, field: &str) -> Vec<String> {
        let of_field = values.iter().filter(|(number, _)| mapping.fields[*number].name == field);
        of_field
            .map(|(_, value)| match value {
                Indexable::Term(term) => term.to_string(),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn values_that_would_reach_a_document_twice_are_refused() {
        let both = json!({"type": "nested", "include_in_parent": true, "include_in_root": true});
        assert!(Mapping::parse(&json!({"properties": {"a": both}}), TARGET).is_ok());
        let below = json!({"properties": {"a": {"type": "nested", "properties": {"b": both}}}});
        assert_eq!(Mapping::parse(&below, TARGET).err().map(|e| e.field), Some("a.b".to_owned()));
    }

    #[test]
    fn a_wildcard_whose_documents_opensearch_refuses_is_named() {
        let wildcard = json!({"type": "wildcard", "ignore_above": 3});
        for field in [wildcard.clone(), json!({"type": "text", "fields": {"w": wildcard}})] {
            let error = |parameter: &str| {
                let nested =
                    json!({"type": "nested", parameter: true, "properties": {"o": {"properties": {"f": field}}}});
                Mapping::parse(&json!({"properties": {"n": nested}}), TARGET).err().map(|error| error.what)
            };
            let below = Some("this type below `include_in_parent` or `include_in_root`".to_owned());
            assert_eq!(error("include_in_parent"), below);
            assert_eq!(error("include_in_root"), below);
            assert_eq!(error("dynamic"), None);
        }
    }

    #[test]
    fn copies_go_to_the_documents_that_have_the_nested_object() {
        let mapping = mapping(&json!({
            "all": {"type": "keyword"},
            "n": {"type": "nested", "properties": {
                "all": {"type": "keyword"}, "k": {"type": "keyword", "copy_to": ["all", "n.all"]},
                "m": {"type": "nested", "properties": {"k": {"type": "keyword", "copy_to": ["all", "n.all"]}}}
            }}
        }));
        let Document { values, children, .. } =
            read(br#"{"all":"x","n":{"k":"a","m":[{"k":"b"},{"k":"c"}]}}"#, &mapping, &mut Habits::default()).unwrap();
        assert_eq!(terms(&values, &mapping, "all"), ["x", "a", "b", "c"]);
        let own: Vec<_> = children.iter().map(|child| terms(&child.values, &mapping, "n.all")).collect();
        assert_eq!(own, [vec![], vec![], vec!["a", "b", "c"]]);
    }

    #[test]
    fn fields_of_the_server_are_not_left_out() {
        let fields = json!({"dynamic": false, "properties": {"_own": {"type": "keyword"}}});
        let mapping = Mapping::parse(&fields, TARGET).unwrap();
        let read = |source: &str| read(source.as_bytes(), &mapping, &mut Habits::default()).map(drop);
        assert!(matches!(read(r#"{"_doc_count":5}"#), Err(Refused::Unsupported(_))));
        for metadata in [r#"{"_id":"x"}"#, r#"{"_id.x":1}"#, r#"{"_source.a.b":[]}"#] {
            assert!(matches!(read(metadata), Err(Refused::Value { .. })), "{metadata}");
        }
        assert!(matches!(read(r#"{"_size.x":1}"#), Err(Refused::Unsupported(_))));
        assert_eq!(read(r#"{"_id.x":null,"o._id.x":1}"#), Ok(()));
        assert_eq!(read(r#"{"_own":"x","o":{"_doc_count":5}}"#), Ok(()));
    }

    #[test]
    fn null_below_a_field_is_none_of_an_object_in_opensearch() {
        for (product, dynamic, expected) in [
            (KnownProduct::OpenSearch, "true", [true, true, true, false]),
            (KnownProduct::OpenSearch, "strict", [false, true, true, false]),
            (KnownProduct::Elasticsearch, "true", [false, false, true, false]),
        ] {
            let fields = json!({"dynamic": dynamic, "properties": {"f": {"type": "long"},
                "off": {"type": "object", "enabled": false}, "o": {"properties": {"f": {"type": "keyword"}}}}});
            let mapping = Mapping::parse(&fields, ServerVersion { product, ..TARGET }).unwrap();
            let taken = |source: &str| read(source.as_bytes(), &mapping, &mut Habits::default()).is_ok();
            let sources = [r#"{"f.x":null}"#, r#"{"o":{"f.x":null}}"#, r#"{"off.x":null}"#, r#"{"f.x":[null]}"#];
            assert_eq!(sources.map(taken), expected, "{product:?} {dynamic}");
        }
    }

    #[test]
    fn a_text_that_is_no_date_stands_for_no_null_in_opensearch() {
        for product in [KnownProduct::OpenSearch, KnownProduct::Elasticsearch] {
            let fields = json!({"properties": {"d": {"type": "date", "null_value": "null"}}});
            let mapping = Mapping::parse(&fields, ServerVersion { product, ..TARGET });
            assert_eq!(mapping.is_ok(), product == KnownProduct::OpenSearch);
            if let Ok(mapping) = mapping {
                let document = read(br#"{"d":null}"#, &mapping, &mut Habits::default()).unwrap();
                assert!(document.values.is_empty());
            }
        }
    }

    #[test]
    fn nested_objects_may_be_left_out() {
        let mapping = mapping(&json!({
            "n": {"type": "nested", "enabled": false, "properties": {"k": {"type": "keyword"}}}
        }));
        let read =
            |source: &str| read(source.as_bytes(), &mapping, &mut Habits::default()).map(|found| found.children.len());
        for source in [r#"{"n":{"k":"x"}}"#, r#"{"n":[{"k":["x",{}]},5]}"#, r#"{"n":"x"}"#] {
            assert_eq!(read(source), Ok(0), "{source}");
        }
        assert!(matches!(read(r#"{"n.k":"x"}"#), Err(Refused::Unsupported(_))));
    }

    #[test]
    fn malformed_booleans_are_left_out_in_elasticsearch() {
        let target = ServerVersion { product: KnownProduct::Elasticsearch, version: [8, 19, 21], lucene: [9, 12, 2] };
        let setting = json!({"index.mapping.ignore_malformed": "true"});
        let fields =
            json!({"properties": {"b": {"type": "boolean"}, "strict": {"type": "boolean", "ignore_malformed": false}}});
        let mapping = Mapping::with_settings(&fields, setting.as_object().unwrap(), target).unwrap();
        let read = |source: &str| {
            let document = read(source.as_bytes(), &mapping, &mut Habits::default())?;
            Ok((document.values.len(), document.ignored))
        };
        assert_eq!(read(r#"{"b":[true,"x",5,"false"]}"#), Ok((2, vec![0, 0])));
        for source in [r#"{"b":{}}"#, r#"{"strict":"x"}"#] {
            assert!(matches!(read(source), Err(Refused::Value { .. })), "{source}");
        }
    }

    #[test]
    fn wrong_values_that_opensearch_ignores_in_all_fields_are_left_to_it() {
        let setting = json!({"index.mapping.ignore_malformed": true});
        let fields = json!({"properties": {"n": {"type": "long"}, "k": {"type": "keyword"}, "b": {"type": "boolean"}}});
        let mapping = Mapping::with_settings(&fields, setting.as_object().unwrap(), TARGET).unwrap();
        let read = |source: &str| read(source.as_bytes(), &mapping, &mut Habits::default()).map(|found| found.ignored);
        assert_eq!(read(r#"{"n":"x","k":"x"}"#), Ok(vec![0]));
        for source in [r#"{"k":{"x":1}}"#, r#"{"b":"x"}"#] {
            assert!(matches!(read(source), Err(Refused::Unsupported(_))), "{source}");
        }
    }

    #[test]
    fn malformed_numbers_that_older_servers_refuse() {
        for (kind, version, is_built) in
            [("unsigned_long", [2, 19, 6], false), ("float", [2, 19, 6], true), ("unsigned_long", [3, 6, 0], true)]
        {
            let fields = json!({"properties": {"n": {"type": kind, "ignore_malformed": true}}});
            assert_eq!(
                Mapping::parse(&fields, ServerVersion { version, ..TARGET }).is_ok(),
                is_built,
                "{kind} {version:?}"
            );
        }
    }

    #[test]
    fn levels_and_names_that_older_servers_take() {
        for version in [[3, 6, 0], [2, 19, 6]] {
            let mapping = Mapping::parse(&json!({"dynamic": false}), ServerVersion { version, ..TARGET }).unwrap();
            let read = |source: String| read(source.as_bytes(), &mapping, &mut Habits::default()).map(drop);
            let levels = |count| read(r#"{"o":"#.repeat(count) + "1" + &"}".repeat(count));
            let name = |length| read(format!(r#"{{"{}":1}}"#, "x".repeat(length)));
            assert_eq!([levels(1000), name(50_000)], [Ok(()), Ok(())]);
            for beyond in [levels(1001), name(50_001)] {
                let is_taken = matches!(beyond, Err(Refused::Unsupported(_)));
                assert_eq!(is_taken, version == [2, 19, 6], "{beyond:?}");
                assert!(beyond.is_err());
            }
        }
    }

    #[test]
    fn a_path_into_a_field_that_reads_objects_is_left_to_elasticsearch() {
        for product in [KnownProduct::OpenSearch, KnownProduct::Elasticsearch] {
            let fields = json!({"properties": {"p": {"type": "geo_point", "ignore_malformed": true}, "b": {"type": "binary"},
                "none": {"type": "boolean", "index": false, "doc_values": false}, "n": {"type": "long"}}});
            let mapping = Mapping::parse(&fields, ServerVersion { product, ..TARGET }).unwrap();
            let is_unsupported = |source: &str| {
                let error = read(source.as_bytes(), &mapping, &mut Habits::default()).unwrap_err();
                matches!(error, Refused::Unsupported(_))
            };
            let found =
                [r#"{"p.geohash":"ezs42"}"#, r#"{"b.x":1}"#, r#"{"none.x":1}"#, r#"{"n.x":1}"#].map(is_unsupported);
            let some = product == KnownProduct::Elasticsearch;
            assert_eq!(found, [some, some, some, false], "{product:?}");
        }
    }

    #[test]
    fn documents_are_read_as_elasticsearch_9_5_reads_them() {
        let fields = json!({"properties": {
            "d": {"type": "date", "ignore_malformed": true}, "n": {"type": "date_nanos"}, "i": {"type": "ip"},
            "f": {"type": "flattened", "index": false}, "s": {"type": "date", "format": "epoch_millis"},
            "two": {"type": "date", "ignore_malformed": true, "fields": {"k": {"type": "keyword"}}}
        }});
        let of = |version| {
            let target = ServerVersion { product: KnownProduct::Elasticsearch, version, lucene: [10, 4, 0] };
            Mapping::parse(&fields, target).unwrap()
        };
        let (newest, before) = (of([9, 5, 3]), of([9, 1, 5]));
        let found = |mapping: &Mapping, source: &str| {
            read(source.as_bytes(), mapping, &mut Habits::default()).map(|document| {
                let values: Vec<String> = document.values.iter().map(|(_, value)| format!("{value:?}")).collect();
                (values.join(" "), document.ignored.len())
            })
        };
        for (source, values, ignored) in [
            (r#"{"d":{"x":1}}"#, "", 1),
            (r#"{"d.x":null}"#, "", 1),
            (r#"{"d.x":{"y":1}}"#, "", 1),
            (r#"{"d":[{"x":1},5]}"#, "Number(5)", 1),
            (r#"{"d":-9223372036854775808}"#, "Number(-9223372036854775808)", 0),
            (r#"{"n":30570752216000}"#, "Number(9223372036854775807)", 0),
            (r#"{"n":-1000000000000}"#, "Number(-1000000000000000000)", 0),
            (r#"{"i":"1.2.3.4%eth0"}"#, "Address(281470698652420)", 0),
            (r#"{"f":{"a":"b"}}"#, "Term(\"a\\0b\")", 0),
        ] {
            assert_eq!(found(&newest, source), Ok((values.to_owned(), ignored)), "{source}");
            assert_ne!(found(&before, source), found(&newest, source), "{source}");
        }
        for alike in [
            r#"{"d":2020}"#,
            r#"{"d":30570752216000}"#,
            r#"{"n":-5}"#,
            r#"{"n":1e13}"#,
            r#"{"n":"30570752216000"}"#,
            r#"{"s":-9223372036854775808}"#,
            r#"{"i":"1.2.3.4%"}"#,
            r#"{"n":{"x":1}}"#,
        ] {
            assert_eq!(found(&newest, alike), found(&before, alike), "{alike}");
        }
        assert!(matches!(found(&newest, r#"{"two":{"x":1}}"#), Err(Refused::Unsupported(_))));
        assert!(matches!(found(&newest, r#"{"i":"1.2.3."}"#), Err(Refused::Value { .. })));
        assert!(matches!(found(&before, r#"{"i":"1.2.3."}"#), Err(Refused::Unsupported(_))));
    }

    #[test]
    fn values_that_are_too_long_are_named_in_elasticsearch() {
        let fields = json!({"properties": {
            "k": {"type": "keyword", "ignore_above": 3, "null_value": "none"}, "n": {"type": "keyword", "ignore_above": 3},
            "off": {"type": "keyword", "ignore_above": 3, "index": false, "doc_values": false}
        }});
        for (product, source, ignored) in [
            (KnownProduct::Elasticsearch, r#"{"k":null,"n":null}"#, 1),
            (KnownProduct::Elasticsearch, r#"{"k":"long","n":"long","off":"long"}"#, 2),
            (KnownProduct::OpenSearch, r#"{"k":null,"n":"long"}"#, 0),
        ] {
            let mapping = Mapping::parse(&fields, ServerVersion { product, ..TARGET }).unwrap();
            let document = read(source.as_bytes(), &mapping, &mut Habits::default()).unwrap();
            assert_eq!(document.ignored.len(), ignored, "{source}");
        }
    }

    #[test]
    fn the_length_of_a_keyword_counts_only_where_something_is_kept() {
        let source = format!(r#"{{"k":"{}"}}"#, "x".repeat(32_767));
        for kept in [None, Some("index"), Some("doc_values")] {
            let mut keyword = json!({"type": "keyword", "index": false, "doc_values": false});
            if let Some(parameter) = kept {
                keyword[parameter] = true.into();
            }
            let mapping = mapping(&json!({"k": keyword}));
            let refused = read(source.as_bytes(), &mapping, &mut Habits::default()).unwrap().refused;
            assert_eq!(refused, kept.map(|_| Refused::ImmenseTerm("k".to_owned())), "{kept:?}");
        }
    }

    #[test]
    fn lucene_refuses_two_shapes_with_doc_values() {
        for (doc_values, refused) in [(true, Some(Refused::Several("s".to_owned()))), (false, None)] {
            let shape = json!({"type": "geo_shape", "doc_values": doc_values, "ignore_malformed": true});
            let mapping = mapping(&json!({ "s": shape }));
            let read = |source: &str| {
                let document = read(source.as_bytes(), &mapping, &mut Habits::default()).unwrap();
                (document.values.len(), document.ignored.len(), document.refused)
            };
            assert_eq!(read(r#"{"s":["POINT (1 2)",["POINT (3 4)"]]}"#), (2, 0, refused));
            assert_eq!(read(r#"{"s":["POINT (1 2)",null,[],"x"]}"#), (1, 1, None));
            // Without doc values it is found by its name.
            let is_kept = usize::from(!doc_values);
            assert_eq!(read(r#"{"s":"MULTIPOINT EMPTY"}"#), (is_kept, 1 - is_kept, None));
        }
    }

    #[test]
    fn shapes_are_built_for_the_servers_that_were_tried() {
        for (product, version, lucene, is_built) in [
            (KnownProduct::OpenSearch, [2, 19, 6], [9, 12, 3], true),
            (KnownProduct::OpenSearch, [3, 0, 0], [10, 1, 0], false),
            (KnownProduct::OpenSearch, [3, 6, 0], [10, 4, 0], true),
            (KnownProduct::OpenSearch, [3, 8, 0], [10, 5, 0], true),
            (KnownProduct::Elasticsearch, [8, 19, 21], [9, 12, 2], false),
        ] {
            let of = |shape: Value| {
                Mapping::parse(&json!({"properties": {"s": shape}}), ServerVersion { product, version, lucene }).is_ok()
            };
            assert_eq!(of(json!({"type": "geo_shape", "orientation": "CW", "store": true})), is_built, "{version:?}");
            assert!(!of(json!({"type": "geo_shape", "tree": "geohash"})));
            assert!(!of(json!({"type": "geo_shape", "orientation": "up"})));
        }
    }

    #[test]
    fn a_malformed_point_is_named_as_ignored_only() {
        let mapping = mapping(&json!({"p": {"type": "geo_point", "doc_values": false, "ignore_malformed": true}}));
        for (source, values, ignored) in [(r#"{"p":"NaN"}"#, 0, 1), (r#"{"p":[]}"#, 1, 0), (r#"{"p":null}"#, 0, 0)] {
            let document = read(source.as_bytes(), &mapping, &mut Habits::default()).unwrap();
            assert_eq!((document.values.len(), document.ignored.len()), (values, ignored), "{source}");
        }
        for (source, values, ignored) in [
            (r#"{"p":["x!",[1,2]]}"#, 1, 1),
            (r#"{"p":["x!"]}"#, 0, 1),
            (r#"{"p":["x!",[]]}"#, 1, 1),
            (r#"{"p":"91,0"}"#, 1, 0),
        ] {
            let document = read(source.as_bytes(), &mapping, &mut Habits::default()).unwrap();
            assert_eq!((document.values.len(), document.ignored.len()), (values, ignored), "{source}");
        }
        let refused = read(br#"{"p":"x POINT (1 2)"}"#, &mapping, &mut Habits::default()).unwrap_err();
        assert!(matches!(refused, Refused::Unsupported(_)));
    }

    #[test]
    fn objects_in_fields_that_ignore_what_is_malformed() {
        let mapping = mapping(&json!({
            "l": {"type": "long", "ignore_malformed": true},
            "s": {"type": "scaled_float", "scaling_factor": 10, "ignore_malformed": true}
        }));
        let read = |source: &str| read(source.as_bytes(), &mapping, &mut Habits::default()).map(drop);
        assert_eq!(read(r#"{"l":{"no":1}}"#), Ok(()));
        assert!(matches!(read(r#"{"s":{}}"#), Err(Refused::Value { .. })));
        assert!(matches!(read(r#"{"s":[{}]}"#), Err(Refused::Unsupported(_))));
    }

    #[test]
    fn names_of_white_space() {
        for (product, is_taken) in [(KnownProduct::OpenSearch, true), (KnownProduct::Elasticsearch, false)] {
            let mapping = Mapping::parse(&json!({"dynamic": false}), ServerVersion { product, ..TARGET }).unwrap();
            let read = |source: &str| read(source.as_bytes(), &mapping, &mut Habits::default()).map(drop);
            assert_eq!(read(r#"{" ":1}"#).is_ok(), is_taken);
            assert_eq!(read("{\"\u{a0}\":1}"), Ok(()));
            assert_eq!(read(r#"{"a. ":1}"#), Err(Refused::Name("a. ".to_owned())));
        }
    }

    #[test]
    fn texts_that_end_with_half_a_pair() {
        let mapping = mapping(&json!({"t": {"type": "text"}, "k": {"type": "keyword"},
            "white": {"type": "text", "analyzer": "whitespace"}, "off": {"type": "text", "index": false}}));
        for (source, is_built) in [
            (r#"{"t":"words \ud83d"}"#, false),
            (r#"{"t":["\ud83d",5]}"#, false),
            (r#"{"t":["\ud83d\ude00","\ud83d words","\ude00","\ud83d\ud83d\ude00","\ufffd"]}"#, true),
            (r#"{"k":"\ud83d","white":"\ud83d","off":"\ud83d","t":"words"}"#, true),
        ] {
            let read = read(source.as_bytes(), &mapping, &mut Habits::default());
            assert_eq!(
                read.map(drop).map_err(|error| matches!(error, Refused::Unsupported(_))),
                if is_built { Ok(()) } else { Err(true) },
                "{source}"
            );
        }
    }

    #[test]
    fn half_a_pair_where_words_are_parted() {
        let settings = json!({"index.analysis.analyzer.own.tokenizer": "whitespace",
            "index.analysis.analyzer.own.filter": ["word_delimiter", "keyword_repeat"]});
        let fields = json!({"properties": {"t": {"type": "text", "analyzer": "own"}, "k": {"type": "keyword"}}});
        let mapping = Mapping::with_settings(&fields, settings.as_object().unwrap(), TARGET).unwrap();
        for (source, is_built) in [
            (r#"{"t":"a\ud83d b"}"#, false),
            (r#"{"t":"a\ude00b"}"#, false),
            (r#"{"t":"a\ud83d\ude00 \ufffd b"}"#, true),
            (r#"{"t":"a b","k":"a\ud83d"}"#, true),
        ] {
            let read = read(source.as_bytes(), &mapping, &mut Habits::default()).map(drop);
            assert_eq!(matches!(read, Err(Refused::Unsupported(_))), !is_built, "{source}");
            assert_eq!(read.is_ok(), is_built, "{source}");
        }
    }

    #[test]
    fn half_a_pair_where_kinds_of_characters_matter() {
        let cases = [
            ("tokenizer", json!({"type": "char_group", "tokenize_on_chars": ["whitespace", "symbol"]}), false),
            ("tokenizer", json!({"type": "char_group", "tokenize_on_chars": ["whitespace", "letter"]}), true),
            ("tokenizer", json!({"type": "ngram", "token_chars": ["letter", "symbol"]}), false),
            ("tokenizer", json!({"type": "pattern", "pattern": r"\p{So}+"}), false),
            ("char_filter", json!({"type": "pattern_replace", "pattern": "[^a]", "replacement": ""}), false),
        ];
        for (part, own, is_built) in cases {
            let analyzer = format!("index.analysis.analyzer.own.{part}");
            let mut settings = json!({"index.analysis.analyzer.own.tokenizer": "whitespace", analyzer: "own"});
            for (name, value) in own.as_object().unwrap() {
                settings[format!("index.analysis.{part}.own.{name}")] = value.clone();
            }
            let fields = json!({"properties": {"t": {"type": "text", "analyzer": "own"}}});
            let mapping = Mapping::with_settings(&fields, settings.as_object().unwrap(), TARGET).unwrap();
            let read = read(br#"{"t":"a\ud83d b"}"#, &mapping, &mut Habits::default()).map(drop);
            assert_eq!(read.is_ok(), is_built, "{own}");
        }
    }

    #[test]
    fn one_value_for_all_documents() {
        let mapping = mapping(&json!({"c": {"type": "constant_keyword", "value": "5"}, "b": {"type": "binary"}}));
        for (source, is_taken) in [
            (r#"{"c":5,"b":"AA=="}"#, true),
            (r#"{"c":["5","5"]}"#, true),
            (r#"{"c":"6"}"#, false),
            (r#"{"c":null}"#, false),
            (r#"{"b":{}}"#, false),
        ] {
            assert_eq!(read(source.as_bytes(), &mapping, &mut Habits::default()).is_ok(), is_taken, "{source}");
        }
    }

    #[test]
    fn bytes_are_read_from_base_64() {
        let mapping =
            mapping(&json!({"b": {"type": "binary", "doc_values": true}, "s": {"type": "binary", "store": true}}));
        let found = |source: &str| {
            let document = read(source.as_bytes(), &mapping, &mut Habits::default())?;
            Ok::<_, Refused>(document.values.iter().map(|(_, value)| format!("{value:?}")).collect::<Vec<_>>())
        };
        for (source, expected) in [
            (r#"{"b":"aGVsbG8="}"#, vec!["Bytes([104, 101, 108, 108, 111])"]),
            (r#"{"b":[" \nAA==/+/+","",null]}"#, vec!["Bytes([0, 255, 239, 254])", "Bytes([])"]),
            (r#"{"s":null,"b":[]}"#, vec![]),
        ] {
            assert_eq!(found(source).unwrap(), expected, "{source}");
        }
        for wrong in [r#""a""#, r#""aGVsbG8""#, r#""a===""#, r#""aG=s""#, r#""aG s""#, r#""aG_s""#, "5", "true", "{}"] {
            for field in ["b", "s"] {
                let found = found(&format!(r#"{{"{field}":{wrong}}}"#));
                assert!(matches!(found, Err(Refused::Value { .. })), "{wrong}");
            }
        }
        for definition in [
            json!({"type": "binary", "store": true, "index": true}),
            json!({"type": "binary", "doc_values": true, "copy_to": "k"}),
            json!({"type": "keyword", "fields": {"b": {"type": "binary"}}}),
        ] {
            let fields = json!({"properties": {"b": definition, "k": {"type": "keyword"}}});
            assert!(Mapping::parse(&fields, TARGET).is_err(), "{fields}");
        }
    }

    /// Numbers below a bound that look random.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, below: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % below
        }

        /// An object with some of the members, in any order, some twice or written strangely.
        fn object(&mut self, depth: u32) -> String {
            let names = ["n", "text", "list", "odd \\\"name", "a.b", "a", "new", "\\u006e", "none"];
            let ordered = self.roll(3) > 0;
            let mut at = 0;
            let mut members = Vec::new();
            for _ in 0..self.roll(8) {
                at = if ordered { at + 1 + self.roll(6) / 4 } else { self.roll(names.len()) };
                let name = names[at % names.len()];
                let value = match (name, self.roll(12)) {
                    (_, 0) => "null".to_owned(),
                    (_, 1) => "\"7\"".to_owned(),
                    (_, 2) => "[1, -2,03]".to_owned(),
                    ("list" | "a" | "new", _) if depth < 3 => self.object(depth + 1),
                    ("text", _) => "\"Some words\\n\"".to_owned(),
                    (_, 3) => "99999999999999999999".to_owned(),
                    (_, 4) => "-0.5".to_owned(),
                    _ => self.roll(70_000).to_string(),
                };
                let [before, behind] = [(); 2].map(|()| if self.roll(20) == 0 { " " } else { "" });
                members.push(format!("{before}\"{name}\"{behind}:{before}{value}{behind}"));
            }
            format!("{{{}}}", members.join(","))
        }
    }

    #[test]
    fn a_document_is_read_as_if_it_was_the_first() {
        let mapping = json!({ "dynamic": false, "properties": {
            "text": { "type": "text", "fields": { "raw": { "type": "keyword" } } },
            "a": { "properties": { "b": { "type": "short" }, "n": { "type": "double" } } },
            "n": { "type": "integer" }, "none": { "type": "boolean" }, "odd \"name": { "type": "long" },
            "list": { "type": "nested", "properties": {
                "n": { "type": "integer", "ignore_malformed": true }, "list": { "type": "keyword" }, "a": { "type": "text" }
            } }
        } });
        let mapping = Mapping::parse(&mapping, TARGET).unwrap();
        let (mut dice, mut habits) = (Dice(1), Habits::default());
        let mut taken = 0;
        for _ in 0..20_000 {
            let text = dice.object(0);
            let expected = read(text.as_bytes(), &mapping, &mut Habits::default());
            let found = read(text.as_bytes(), &mapping, &mut habits);
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{text}");
            if let Ok(document) = found {
                habits.take_back(document.values);
                taken += 1;
            }
        }
        assert!((5_000..19_000).contains(&taken), "{taken} of them were taken");
    }
}
