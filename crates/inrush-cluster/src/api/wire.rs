//! Whether a cluster takes bulk bodies that are not plain JSON. Tried with a request that can change nothing: two deletes of a document that is not
//! there, under a sequence number that no document has. Each is answered with a conflict (or with what else keeps it from being done), and writes
//! not even a tombstone.

use std::fmt::Write as _;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderValue, Method};
use inrush_core::reply::{BulkReply, FILTER_PATH, ItemError};
use inrush_core::{Encoding, GzipLevel};
use inrush_smile::{SEPARATOR, SmileEncoder, SmileOptions};

use crate::transport::gzip::Gzip;
use crate::transport::{Request, Transport, path_segment};

/// What the items of a probe are about.
const ID: &str = "inrush-probe";
/// An index that is not there, for a load that has no fixed one.
const INDEX: &str = "inrush-probe";
const ITEMS: u64 = 2;

/// What a cluster takes besides plain JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forms {
    /// SMILE, or why not.
    pub smile: Result<(), String>,
    /// gzip, or why not.
    pub gzip: Result<(), String>,
}

/// Asks with one request for each form that is wanted; what is not wanted counts as taken. `index`: where the documents will go, if that is one place.
pub async fn probe(transport: &Transport, index: Option<&str>, smile: bool, gzip: bool) -> Forms {
    let ask = async |wanted: bool, form: Form| match wanted {
        true => form.ask(transport, index).await,
        false => Answer::Takes,
    };
    let (smile, gzip) = tokio::join!(ask(smile, Form::Smile), ask(gzip, Form::Gzip));
    let refused = [&smile, &gzip].into_iter().any(|answer| matches!(answer, Answer::Not(_)));
    // Whoever refuses plain JSON, too, says nothing of the form. The load finds out.
    let control = if refused { Form::Plain.ask(transport, index).await } else { Answer::Takes };
    let says = |answer: Answer| match (answer, &control) {
        (Answer::Not(why), Answer::Takes) => Err(why),
        (Answer::Takes | Answer::Unknown, _) | (Answer::Not(_), _) => Ok(()),
    };
    Forms { smile: says(smile), gzip: says(gzip) }
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Plain,
    Smile,
    Gzip,
}

enum Answer {
    /// It read the request.
    Takes,
    /// It did not, or did not answer to it.
    Not(String),
    /// Nobody answered, or for another reason.
    Unknown,
}

impl Form {
    async fn ask(self, transport: &Transport, index: Option<&str>) -> Answer {
        let of = index.map_or_else(String::new, |index| format!("/{}", path_segment(index)));
        let mut request = Request::new(Method::POST, format!("{of}/_bulk?filter_path={FILTER_PATH}"));
        let encoding = if matches!(self, Form::Smile) { Encoding::Smile } else { Encoding::Json };
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static(encoding.content_type()));
        let body = body(index.is_none(), encoding);
        request.body = match self {
            Form::Plain | Form::Smile => vec![body],
            Form::Gzip => {
                request.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                request.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
                vec![Gzip::new(GzipLevel::default()).compress(&[body])]
            }
        };
        let Ok(response) = transport.request(&request).await.result else { return Answer::Unknown };
        match response.status {
            200 => match BulkReply::parse(&response.body) {
                Ok(reply) if reply.items() == ITEMS => Answer::Takes,
                Ok(reply) => Answer::Not(format!("it answers {ITEMS} items with {} entries", reply.items())),
                Err(error) => Answer::Not(error.to_string()),
            },
            status @ (400 | 406 | 415) => {
                let ItemError { kind, reason, .. } = ItemError::from_body(&response.body);
                Answer::Not(format!("{status} {kind}: {reason}"))
            }
            _ => Answer::Unknown,
        }
    }
}

/// Two deletes that cannot succeed. The highest number that every JSON parser reads exactly is higher than any sequence number.
fn body(names_index: bool, encoding: Encoding) -> Bytes {
    let mut line = String::from("{\"delete\":{");
    if names_index {
        // Writing to a string does not fail.
        let _ = write!(line, "\"_index\":\"{INDEX}\",");
    }
    let _ = write!(line, "\"_id\":\"{ID}\",\"if_seq_no\":9007199254740991,\"if_primary_term\":9007199254740991}}}}");
    let mut body = Vec::new();
    for _ in 0..ITEMS {
        match encoding {
            Encoding::Json => {
                body.extend_from_slice(line.as_bytes());
                body.push(b'\n');
            }
            Encoding::Smile => {
                SmileEncoder::new(SmileOptions::default())
                    .encode(line.as_bytes(), &mut body)
                    .expect("the line is JSON without decimals");
                body.push(SEPARATOR);
            }
        }
    }
    body.into()
}
