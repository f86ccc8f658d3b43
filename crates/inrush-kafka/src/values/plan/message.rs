//! Messages of Protobuf.

use std::collections::HashMap;

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};

use super::{At, Node, PLAIN, Plan, Planning};
use crate::values::logical::Logical;

/// Plans of the messages of a file, by their full names.
#[derive(Debug)]
pub(in crate::values) struct Messages {
    plan: Plan,
    roots: HashMap<String, At>,
}

impl Messages {
    /// The plans of these messages and the ones in them. With `has_nulls` fields that are absent
    /// can be added as nulls.
    pub(in crate::values) fn of(messages: impl IntoIterator<Item = MessageDescriptor>, has_nulls: bool) -> Self {
        let mut planning = Planning { has_nulls, ..Planning::new() };
        let mut left: Vec<MessageDescriptor> = messages.into_iter().collect();
        let mut roots = HashMap::new();
        while let Some(message) = left.pop() {
            left.extend(message.child_messages());
            roots.insert(message.full_name().to_owned(), planning.fields_of(&message));
        }
        Messages { plan: planning.done(PLAIN), roots }
    }

    /// The plan of a message. `None` where its values stay as they are.
    pub(in crate::values) fn find(&self, message: &MessageDescriptor) -> Option<(&Plan, At)> {
        let at = *self.roots.get(message.full_name())?;
        (!self.plan.is_plain(at)).then_some((&self.plan, at))
    }
}

impl Planning {
    fn message(&mut self, message: &MessageDescriptor) -> At {
        let logical = Logical::named(message.full_name(), |_| None)
            .or_else(|| Logical::of_struct(message.name(), |field| message.get_field_by_name(field).is_some()));
        if let Some(logical) = logical {
            return self.add(Node::Logical(logical));
        }
        // These have a JSON of their own.
        match message.full_name().starts_with("google.protobuf.") {
            true => PLAIN,
            false => self.fields_of(message),
        }
    }

    fn fields_of(&mut self, message: &MessageDescriptor) -> At {
        self.begin(message.full_name().to_owned(), |planning| {
            let fields = message.fields().map(|field| (field.name().to_owned(), planning.field(&field))).collect();
            planning.fields(fields)
        })
    }

    fn field(&mut self, field: &FieldDescriptor) -> At {
        let Kind::Message(message) = field.kind() else { return PLAIN };
        if field.is_map() {
            let values = self.field(&message.map_entry_value_field());
            return self.around(values, Node::Map);
        }
        let at = self.message(&message);
        if field.is_list() { self.around(at, Node::Array) } else { at }
    }
}
