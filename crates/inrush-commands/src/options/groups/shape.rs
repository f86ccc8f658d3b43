//! Options that change the documents of any source.

use inrush_core::zone::Zone;
use inrush_core::{Dots, FieldPath, Rename, Shaping};

use crate::options::LoaderBuilder;
use crate::options::{Count, Outputs};

options! {
    /// Changes of the documents of any source.
    pub struct ShapeOptions in LoaderBuilder.shape, "Documents" {
        /// The field with the time: it becomes @timestamp, which documents of a data stream need,
        /// in ISO 8601. Times of access logs, mails and tables such as 31.12.2025 13:55 are read,
        /// and seconds, milliseconds, microseconds or nanoseconds since 1970
        timestamp: Option<FieldPath> = "FIELD";
        /// The zone of times that name none, as in Europe/Paris or +02:00: of option `timestamp`,
        /// and of columns that option `schema` calls a timestamp. They are sent with their offset.
        /// Of an hour that comes twice when clocks are put back it is the first one
        time_zone: Option<Zone> = "ZONE", default("none: servers read them as UTC");
        /// Another name for a field, as in 'Order No.=order_no' or user.name=name; repeated or
        /// separated by commas. Other options find the field by both names
        rename: Vec<Rename> = "FIELD=NAME", delimited();
        /// The only fields that stay, repeated or separated by commas; fields that are renamed or
        /// have the time stay, too
        only: Vec<FieldPath> = "FIELD", delimited();
        /// Fields to leave out of the documents, repeated or separated by commas
        drop: Vec<FieldPath> = "FIELD", delimited();
        /// Names with dots, such as a.b, of columns and of fields
        dots: Option<Dots> = "HOW", default("keep; with option `action=update` or `upsert` such a document is a dead letter");
        /// Read only the first N records
        limit: Option<Count> = "N", outputs(Outputs::All);
    }
}

impl ShapeOptions {
    /// The changes of each document.
    pub fn shaping(&self) -> Shaping {
        let ShapeOptions { timestamp, time_zone, rename, only, drop, dots, limit: _ } = self.clone();
        let time_zone = time_zone.filter(|_| timestamp.is_some());
        Shaping { timestamp, time_zone, rename, only, drop, dots }
    }
}
