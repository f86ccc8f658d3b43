//! Protobuf becomes JSON: the canonical mapping (<https://protobuf.dev/programming-guides/json/>),
//! with the names of the `.proto` file, and with 64-bit integers as numbers. A field without
//! presence that is not in the bytes has its default value; one with presence is `null` where
//! documents are merged into those of the index. Dates, times and decimals of `google.type` and
//! `confluent.type` are as [`super::logical`] says.

mod built_in;

use inrush_core::Code;
use std::collections::HashMap;
use std::path::Path;

use prost_reflect::{DescriptorPool, DynamicMessage, FileDescriptor, MessageDescriptor, SerializeOptions};
use protox::Compiler;
use protox::file::{ChainFileResolver, FileResolver, GoogleFileResolver, IncludeFileResolver};

use super::Problem;
use super::logical::Purpose;
use super::plan::Messages;

/// The name of a schema of a registry among its imports.
const ROOT: &str = "schema.proto";

/// The most numbers that name a message inside others.
const INDEXES_MAX: u64 = 100;

/// Names that an error shows.
const SHOWN: usize = 10;

/// A message that values are.
#[derive(Debug)]
pub(crate) struct Message(MessageDescriptor, Messages);

/// A schema of a registry. Each value says which of its messages it is.
#[derive(Debug)]
pub(crate) struct File(FileDescriptor, Messages);

impl Message {
    /// Reads a schema file: `.proto`, or a descriptor set.
    pub(crate) fn read(path: &Path, message: Option<&str>, has_nulls: bool) -> Result<Message, String> {
        let wrong = |problem: String| format!("the schema file {}: {problem}", path.display());
        let (pool, messages) = open(path).map_err(wrong)?;
        let names = || {
            let shown: Vec<&str> = messages.iter().take(SHOWN).map(MessageDescriptor::full_name).collect();
            format!("{}{}", shown.join(", "), if messages.len() > SHOWN { ", …" } else { "" })
        };
        let found = match (message, &messages[..]) {
            (Some(name), _) => match pool.get_message_by_name(name.trim_start_matches('.')) {
                Some(found) => found,
                None => return Err(wrong(format!("it has no message {name}; it has {}", names()))),
            },
            (None, [only]) => only.clone(),
            (None, []) => return Err(wrong("it has no message".to_owned())),
            (None, _) => return Err(wrong(format!("name the message of the values; it has {}", names()))),
        };
        let plans = Messages::of([found.clone()], has_nulls);
        Ok(Message(found, plans))
    }

    /// Appends the JSON of a value.
    pub(crate) fn decode(&self, bytes: &[u8], purpose: Purpose, out: &mut Vec<u8>) -> Result<(), Problem> {
        decode(&self.0, &self.1, bytes, purpose, out)
    }
}

impl File {
    /// Parses a schema with the files that it imports: their names and texts.
    pub(crate) fn parse(text: &str, imports: &[(String, String)], has_nulls: bool) -> Result<File, String> {
        let mut files: HashMap<String, String> = imports.iter().cloned().collect();
        files.insert(ROOT.to_owned(), text.to_owned());
        let mut compiler = compiler(Texts(files));
        compiler.open_file(ROOT).map_err(|error| format!("it is no schema of Protobuf: {error}"))?;
        let file = compiler.descriptor_pool().get_file_by_name(ROOT);
        let file = file.ok_or_else(|| "it was not compiled".to_owned())?;
        let plans = Messages::of(file.messages(), has_nulls);
        Ok(File(file, plans))
    }

    /// Appends the JSON of a value. `bytes` begins with message indexes, which the content follows
    /// unless it is elsewhere.
    pub(crate) fn decode(
        &self,
        mut bytes: &[u8],
        content: Option<&[u8]>,
        purpose: Purpose,
        out: &mut Vec<u8>,
    ) -> Result<(), Problem> {
        let message = self.message(&mut bytes).map_err(|problem| (Code::BadProtobuf, problem))?;
        decode(&message, &self.1, content.unwrap_or(bytes), purpose, out)
    }

    /// The message that indexes name: the first is that of a message of the file, each further one
    /// that of a message in it. No index stands for the first message.
    fn message(&self, bytes: &mut &[u8]) -> Result<MessageDescriptor, String> {
        let cut_off = || "the message indexes in front of the value are cut off".to_owned();
        let count = zigzag(bytes).ok_or_else(cut_off)?;
        if count > INDEXES_MAX {
            return Err(format!("the value names its message by {count} indexes, expected at most {INDEXES_MAX}"));
        }
        let mut found: Option<MessageDescriptor> = None;
        for at in 0..count.max(1) {
            let index = if count == 0 { 0 } else { zigzag(bytes).ok_or_else(cut_off)? };
            let index = usize::try_from(index).unwrap_or(usize::MAX);
            let next = match &found {
                None => self.0.messages().nth(index),
                Some(outer) => outer.child_messages().nth(index),
            };
            let missing = || format!("the schema has no message with the index {index} (number {} of them)", at + 1);
            found = Some(next.ok_or_else(missing)?);
        }
        found.ok_or_else(cut_off)
    }
}

/// Finds the files that are built in behind those of `files`.
fn compiler(files: impl FileResolver + 'static) -> Compiler {
    let mut resolver = ChainFileResolver::new();
    resolver.add(files);
    resolver.add(built_in::BuiltIn);
    resolver.add(GoogleFileResolver::new());
    Compiler::with_file_resolver(resolver)
}

fn decode(
    message: &MessageDescriptor,
    plans: &Messages,
    bytes: &[u8],
    purpose: Purpose,
    out: &mut Vec<u8>,
) -> Result<(), Problem> {
    let wrong = |problem: &dyn std::fmt::Display| {
        let name = message.full_name();
        (Code::BadProtobuf, format!("the bytes are no message {name}: {problem}; was it written with this schema?"))
    };
    let decoded = DynamicMessage::decode(message.clone(), bytes).map_err(|error| wrong(&error))?;
    let options =
        SerializeOptions::new().stringify_64_bit_integers(false).use_proto_field_name(true).skip_default_fields(false);
    let plan = plans.find(message);
    let mut plain = Vec::new();
    let json = if plan.is_some() { &mut plain } else { &mut *out };
    decoded.serialize_with_options(&mut serde_json::Serializer::new(json), &options).map_err(|error| wrong(&error))?;
    if let Some((plan, at)) = plan {
        plan.push(at, &plain, purpose, out);
    }
    Ok(())
}

/// A number in zigzag encoding. A negative one becomes the largest, which no caller accepts.
fn zigzag(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for (at, byte) in bytes.iter().take(9).enumerate() {
        value |= u64::from(byte & 0x7F) << (7 * at);
        if byte & 0x80 == 0 {
            *bytes = &bytes[at + 1..];
            return Some(if value & 1 == 0 { value >> 1 } else { u64::MAX });
        }
    }
    None
}

/// Files and their messages at the top.
fn open(path: &Path) -> Result<(DescriptorPool, Vec<MessageDescriptor>), String> {
    if path.extension().is_some_and(|extension| extension == "proto") {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut compiler = compiler(IncludeFileResolver::new(folder.to_owned()));
        compiler.open_file(path).map_err(|error| error.to_string())?;
        let pool = compiler.descriptor_pool();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let messages = pool.get_file_by_name(&name).map(|file| file.messages().collect()).unwrap_or_default();
        return Ok((pool, messages));
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let no_set = |error| format!("it is neither a file .proto nor a descriptor set with its imports: {error}");
    let pool = DescriptorPool::decode(&bytes[..]).map_err(no_set)?;
    let is_own = |message: &MessageDescriptor| {
        let is_built_in = |package: &&str| message.full_name().starts_with(*package);
        message.parent_message().is_none() && !built_in::PACKAGES.iter().any(is_built_in)
    };
    let messages = pool.all_messages().filter(is_own).collect();
    Ok((pool, messages))
}

/// Files that are in memory.
struct Texts(HashMap<String, String>);

impl FileResolver for Texts {
    fn open_file(&self, name: &str) -> Result<protox::file::File, protox::Error> {
        match self.0.get(name) {
            Some(text) => protox::file::File::from_source(name, text),
            None => Err(protox::Error::file_not_found(name)),
        }
    }
}

#[cfg(test)]
mod tests;
