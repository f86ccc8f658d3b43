//! Documents as they are sent: without some fields, with other names, and with the time of a data
//! stream.

pub(super) mod nested;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::address::{Refusal, shallow};
use super::fields::write_string;
use crate::codes::Code;
use crate::date_forms::{DayOrder, Moment};
use crate::operation::FieldPath;
use crate::shaping::{Dots, Rename, Shaping, TIMESTAMP};
use crate::zone::Zone;

/// The changes of documents, and which of the named fields occurred. Clones share this state.
#[derive(Clone, Debug, Default)]
pub struct Shape(Arc<Rules>);

#[derive(Debug, Default)]
struct Rules {
    all: Vec<Rule>,
    /// Whether fields that no rule names are left out.
    only_some: bool,
    /// Whether names with dots become objects.
    nests: bool,
}

/// What becomes of a field.
#[derive(Debug)]
struct Rule {
    path: FieldPath,
    what: What,
    /// The option that says so, as in `drop=a.b`. `None`: it follows from another one.
    option: Option<String>,
    met: AtomicBool,
}

#[derive(Debug)]
enum What {
    Drop,
    Keep,
    /// It gets this name.
    Name(FieldPath),
    /// It gets this name, and its value is a time, of this zone if it names none.
    Time(FieldPath, Option<Zone>),
}

impl Rule {
    fn new(path: &FieldPath, what: What, option: Option<String>) -> Self {
        Rule { path: path.clone(), what, option, met: AtomicBool::new(false) }
    }

    /// The new name.
    fn to(&self) -> Option<&FieldPath> {
        match &self.what {
            What::Name(to) | What::Time(to, _) => Some(to),
            What::Drop | What::Keep => None,
        }
    }

    fn is_met(&self) {
        // Most documents have the same fields, so this is written once.
        if !self.met.load(Ordering::Relaxed) {
            self.met.store(true, Ordering::Relaxed);
        }
    }
}

impl Shape {
    /// The changes that a load wants.
    pub fn new(shaping: &Shaping) -> Self {
        let Shaping { timestamp, time_zone, rename, only, drop, dots } = shaping;
        let option = |name: &str, value: &dyn std::fmt::Display| Some(format!("{name}={value}"));
        let mut all: Vec<Rule> = drop.iter().map(|path| Rule::new(path, What::Drop, option("drop", path))).collect();
        if let Some(path) = timestamp {
            let time = What::Time(FieldPath::member(TIMESTAMP), *time_zone);
            all.push(Rule::new(path, time, option("timestamp", path)));
        }
        let named = |rename: &Rename| Rule::new(&rename.from, What::Name(rename.to.clone()), option("rename", rename));
        all.extend(rename.iter().map(named));
        // Dead letters have the new names already.
        let new_names: Vec<FieldPath> = all.iter().filter_map(Rule::to).cloned().collect();
        all.extend(only.iter().map(|path| Rule::new(&shaping.in_source(path), What::Keep, option("only", path))));
        if !only.is_empty() {
            all.extend(new_names.iter().map(|path| Rule::new(path, What::Keep, None)));
        }
        Shape(Arc::new(Rules { all, only_some: !only.is_empty(), nests: *dots == Some(Dots::Nest) }))
    }

    /// Whether documents stay as they are.
    pub fn is_none(&self) -> bool {
        self.0.all.is_empty() && !self.0.nests
    }

    /// The document as it is sent. `buffer` holds it if it differs.
    ///
    /// # Errors
    /// The code and the reason of a dead letter.
    pub fn of<'a>(&self, document: &'a [u8], buffer: &'a mut Vec<u8>) -> Result<&'a [u8], Refusal> {
        if self.is_none() {
            return Ok(document);
        }
        buffer.clear();
        self.write(document, buffer)?;
        Ok(buffer)
    }

    /// Appends the document as it is sent.
    pub(super) fn write(&self, document: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
        match (self.0.all.is_empty(), self.0.nests) {
            (_, false) => self.change(document, out),
            (true, true) => nested::nest(document, out),
            (false, true) => {
                let mut changed = Vec::new();
                self.change(document, &mut changed)?;
                nested::nest(&changed, out)
            }
        }
    }

    /// Appends the document with the fields and names that it is sent with.
    fn change(&self, document: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
        let left: Vec<Left<'_>> = self.0.all.iter().map(|rule| Left { rule, names: rule.path.names() }).collect();
        shallow(document)?;
        let at = Place { only_some: self.0.only_some, in_array: false };
        Walk::default().object(document, &left, at, out)
    }

    /// The options that named a field which no document had so far.
    pub fn never_met(&self) -> Vec<&str> {
        let unmet = self.0.all.iter().filter(|rule| !rule.met.load(Ordering::Relaxed));
        unmet.filter_map(|rule| rule.option.as_deref()).collect()
    }

    /// A warning for each option that named a field which no document had.
    pub fn warnings(&self) -> Vec<String> {
        let warning = |option| format!("option `{option}`: no document had such a field; check its name");
        self.never_met().into_iter().map(warning).collect()
    }
}

/// A rule, and the names of its path below the current object.
#[derive(Clone, Copy)]
struct Left<'r> {
    rule: &'r Rule,
    names: &'r [String],
}

impl<'r> Left<'r> {
    /// The rest of the path below the member `key`, which may stand for several names. The rest is
    /// empty if the member is the field.
    fn below(self, key: &str) -> Option<Self> {
        let mut rest = key;
        for (at, name) in self.names.iter().enumerate() {
            rest = rest.strip_prefix(name.as_str())?;
            if rest.is_empty() {
                return Some(Left { names: &self.names[at + 1..], ..self });
            }
            rest = rest.strip_prefix('.')?;
        }
        None
    }

    /// The new name in the current object. `None`: there is none, or it is in another object.
    fn name_here(self) -> Option<&'r str> {
        let to = self.rule.to()?;
        let above = &self.rule.path.names()[..self.rule.path.names().len() - self.names.len()];
        let is_here = to.names().len() > above.len() && to.names().starts_with(above);
        let begin: usize = above.iter().map(|name| name.len() + 1).sum();
        (is_here && !self.names.is_empty()).then(|| &to.as_str()[begin..])
    }

    fn is_field(&self) -> bool {
        self.names.is_empty()
    }
}

/// Where an object or a value is.
#[derive(Clone, Copy)]
struct Place {
    /// Whether members that no rule names are left out.
    only_some: bool,
    in_array: bool,
}

/// What becomes of a member.
enum Member<'r> {
    Gone,
    /// It stays, under another name if one is given.
    Here {
        named: Option<(&'r str, &'r Rule)>,
        only_some: bool,
    },
    /// It becomes a member of the document itself.
    Moved(&'r Rule),
    /// It cannot become a member of the document, because it may be there several times.
    Several(&'r Rule),
}

/// A walk through one document.
#[derive(Default)]
struct Walk<'r> {
    /// Fields for the end of the document, with their values.
    moved: Vec<(&'r str, Vec<u8>)>,
    /// The rules that gave a name with dots.
    dotted: Vec<&'r Rule>,
    depth: usize,
}

impl<'r> Walk<'r> {
    /// Writes an object. Members that no rule is about are copied as they are. As in a mapping,
    /// `a.b` is a field of each object in `a` if `a` is an array.
    fn object(&mut self, object: &[u8], left: &[Left<'r>], at: Place, out: &mut Vec<u8>) -> Result<(), Refusal> {
        out.push(b'{');
        let start = out.len();
        let mut taken: Vec<&'r str> = Vec::new();
        let mut last = None;
        self.depth += 1;
        for entry in sonic_rs::to_object_iter(object) {
            let (key, value) = entry.map_err(|e| no_object(first_line(&e.to_string())))?;
            let raw = value.as_raw_str();
            // The value is a slice of the object.
            last = Some(raw.as_ptr() as usize + raw.len() - object.as_ptr() as usize);
            let below: Vec<Left<'r>> = left.iter().filter_map(|left| left.below(&key)).collect();
            match member(left, &below, &key, at) {
                Member::Gone => {}
                Member::Several(rule) => return Err(several(rule)),
                Member::Moved(rule) => {
                    self.note_name(rule);
                    let mut text = Vec::new();
                    self.field(raw, &below, Place { only_some: false, in_array: false }, rule, &mut text)?;
                    self.moved.push((rule.to().map(FieldPath::as_str).unwrap_or_default(), text));
                }
                Member::Here { only_some: true, .. } if !raw.starts_with(['{', '[']) => {}
                Member::Here { named, only_some } => {
                    let before = out.len();
                    let name: &str = named.map_or(&*key, |(name, _)| name);
                    take(&mut taken, left, name)?;
                    write_key(out, start, name);
                    let at = Place { only_some, ..at };
                    match named {
                        Some((_, rule)) => {
                            self.note_name(rule);
                            self.field(raw, &below, at, rule, out)?;
                        }
                        None => self.value(raw, &below, at, out)?,
                    }
                    if only_some && (out.ends_with(b"{}") || out.ends_with(b"[]")) {
                        out.truncate(before);
                    }
                }
            }
        }
        self.depth -= 1;
        if self.depth == 0 {
            for (name, text) in std::mem::take(&mut self.moved) {
                take(&mut taken, left, name)?;
                write_key(out, start, name);
                out.extend_from_slice(&text);
            }
        }
        out.push(b'}');
        if self.depth == 0 {
            self.check_names(&out[start - 1..])?;
        }
        // The iterator stops at the end of the object and ignores the text behind it.
        let end = last.unwrap_or_else(|| memchr::memchr(b'{', object).map_or(0, |at| at + 1));
        match object[end..].trim_ascii_start() {
            [b'}', rest @ ..] if rest.trim_ascii().is_empty() => Ok(()),
            _ => Err(no_object(format!("unexpected text after the object, at byte {end} or later"))),
        }
    }

    fn note_name(&mut self, rule: &'r Rule) {
        let is_dotted = rule.to().is_some_and(|to| to.names().len() > 1);
        if is_dotted && !self.dotted.iter().any(|noted| std::ptr::eq(*noted, rule)) {
            self.dotted.push(rule);
        }
    }

    /// Refuses a document with a new name that is also that of a field in an object: servers read
    /// both as one field.
    fn check_names(&self, document: &[u8]) -> Result<(), Refusal> {
        for &rule in &self.dotted {
            let Some(to) = rule.to() else { continue };
            if ways(document, Left { rule, names: to.names() }) > 1 {
                return Err(taken_already(rule));
            }
        }
        Ok(())
    }

    /// Writes the value of a field that a rule is about.
    fn field(
        &mut self,
        raw: &str,
        left: &[Left<'r>],
        at: Place,
        rule: &Rule,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        match &rule.what {
            What::Time(_, zone) => write_time(raw, &rule.path, zone.as_ref(), out),
            What::Name(_) | What::Drop | What::Keep => self.value(raw, left, at, out),
        }
    }

    fn value(&mut self, raw: &str, left: &[Left<'r>], at: Place, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let is_whole = !at.only_some && left.iter().all(Left::is_field);
        match raw.as_bytes() {
            [b'{', ..] if !is_whole => self.object(raw.as_bytes(), left, at, out),
            [b'[', ..] if !is_whole => {
                out.push(b'[');
                let start = out.len();
                for element in sonic_rs::to_array_iter(raw) {
                    let element = element.map_err(|e| no_object(first_line(&e.to_string())))?;
                    let raw = element.as_raw_str();
                    if at.only_some && !raw.starts_with(['{', '[']) {
                        continue;
                    }
                    if out.len() > start {
                        out.push(b',');
                    }
                    self.value(raw, left, Place { in_array: true, ..at }, out)?;
                }
                out.push(b']');
                Ok(())
            }
            _ => {
                out.extend_from_slice(raw.as_bytes());
                Ok(())
            }
        }
    }
}

/// What becomes of the member `key`. `below`: the rules that lead to it or into it.
fn member<'r>(left: &[Left<'r>], below: &[Left<'r>], key: &str, at: Place) -> Member<'r> {
    let mut fields = below.iter().filter(|left| left.is_field()).peekable();
    let is_named = fields.peek().is_some();
    fields.clone().for_each(|left| left.rule.is_met());
    if fields.clone().any(|left| matches!(left.rule.what, What::Drop)) {
        return Member::Gone;
    }
    if let Some(found) = fields.find(|field| field.rule.to().is_some()) {
        let here = left.iter().find(|left| std::ptr::eq(left.rule, found.rule)).and_then(|left| left.name_here());
        return match here {
            Some(name) => Member::Here { named: Some((name, found.rule)), only_some: false },
            None if at.in_array => Member::Several(found.rule),
            None => Member::Moved(found.rule),
        };
    }
    let leads_on = below.iter().any(|left| !left.is_field() && !matches!(left.rule.what, What::Drop));
    // Documents that were changed already, such as dead letters, have the new names.
    left.iter().filter(|left| left.name_here() == Some(key)).for_each(|left| left.rule.is_met());
    match (at.only_some, is_named, leads_on) {
        (false, ..) | (_, true, _) => Member::Here { named: None, only_some: false },
        (true, false, true) => Member::Here { named: None, only_some: true },
        (true, false, false) => Member::Gone,
    }
}

/// Notes that an object has a member of this name, if a field may get the name.
fn take<'r>(taken: &mut Vec<&'r str>, left: &[Left<'r>], name: &str) -> Result<(), Refusal> {
    let Some((rule, name)) = left.iter().find_map(|left| Some((left.rule, left.name_here().filter(|to| *to == name)?)))
    else {
        return Ok(());
    };
    if !taken.contains(&name) {
        taken.push(name);
        return Ok(());
    }
    Err(taken_already(rule))
}

/// How many members of one object lead to the field, as its name with dots or as objects in it.
fn ways(value: &[u8], left: Left<'_>) -> usize {
    match value {
        [b'{', ..] => {
            let members = sonic_rs::to_object_iter(value).map_while(Result::ok);
            let below = members.filter_map(|(key, value)| Some((left.below(&key)?, value)));
            below.map(|(left, value)| if left.is_field() { 1 } else { ways(value.as_raw_str().as_bytes(), left) }).sum()
        }
        [b'[', ..] => {
            let elements = sonic_rs::to_array_iter(value).map_while(Result::ok);
            elements.map(|element| ways(element.as_raw_str().as_bytes(), left)).max().unwrap_or(0)
        }
        _ => 0,
    }
}

#[cold]
fn taken_already(rule: &Rule) -> Refusal {
    let (option, to) =
        (rule.option.as_deref().unwrap_or_default(), rule.to().map(FieldPath::as_str).unwrap_or_default());
    let reason = format!(
        "option `{option}`: the document has a field `{to}` already; leave that one out with option `drop={to}`, or \
         choose another name"
    );
    (Code::BadField, reason)
}

#[cold]
fn several(rule: &Rule) -> Refusal {
    let (option, path) = (rule.option.as_deref().unwrap_or_default(), &rule.path);
    let reason = format!("option `{option}`: field `{path}` is in objects of an array; expected one value");
    (Code::BadField, reason)
}

/// Writes a key with its colon, and the comma before it.
fn write_key(out: &mut Vec<u8>, start: usize, key: &str) {
    if out.len() > start {
        out.push(b',');
    }
    write_string(out, key);
    out.push(b':');
}

/// Writes a time in ISO 8601. Values other than texts and numbers are the servers' matter.
fn write_time(raw: &str, path: &FieldPath, zone: Option<&Zone>, out: &mut Vec<u8>) -> Result<(), Refusal> {
    let text = match raw.as_bytes() {
        [b'"', ..] => serde_json::from_str(raw).map_or(Cow::Borrowed(raw), Cow::<str>::Owned),
        [b'-' | b'0'..=b'9', ..] => Cow::Borrowed(raw),
        _ => {
            out.extend_from_slice(raw.as_bytes());
            return Ok(());
        }
    };
    let moment = Moment::read(&text, DayOrder::Unknown).ok_or_else(|| no_time(path, &text))?;
    let moment = match zone {
        Some(zone) => moment.in_zone(zone).ok_or_else(|| not_in_zone(path, &text, zone))?,
        None => moment,
    };
    write_string(out, &moment.iso());
    Ok(())
}

#[cold]
fn not_in_zone(path: &FieldPath, text: &str, zone: &Zone) -> Refusal {
    let reason = format!(
        "field `{path}` (the time) is {text:?}, which {zone} does not have: its clocks are put forward then; expected \
         a time with its offset, or another option `time_zone`"
    );
    (Code::BadDate, reason)
}

#[cold]
fn no_time(path: &FieldPath, text: &str) -> Refusal {
    let shown: String = text.chars().take(64).collect();
    let reason = format!(
        "field `{path}` (the time) is {shown:?}; expected a time by ISO 8601, as in 28/Nov/2025:13:55:36 +0100, as in \
         28.11.2025 13:55, or in seconds, milliseconds, microseconds or nanoseconds since 1970; correct it in the \
         source, or with option `sql`"
    );
    (Code::BadDate, reason)
}

#[cold]
fn no_object(why: String) -> Refusal {
    (Code::InvalidJson, format!("the document is not a JSON object: {why}"))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
