//! Whether a cluster accepts bulk bodies that are not plain JSON. The probe is a request that can
//! change nothing: two deletes of a document that does not exist, under a sequence number that no
//! document has. The server answers each with a conflict (or another reason not to carry it out),
//! and does not even write a tombstone.

use std::fmt::Write as _;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderValue, Method};
use inrush_core::reply::{BulkReply, FILTER_PATH, ItemError};
use inrush_core::{Encoding, GzipLevel};
use inrush_smile::{SEPARATOR, SmileEncoder, SmileOptions};

use crate::transport::gzip::Gzip;
use crate::transport::{Request, Transport, path_segment};

/// The id that the items of a probe name.
const ID: &str = "inrush-probe";
/// An index that does not exist, for a load without a fixed index.
const INDEX: &str = "inrush-probe";
const ITEMS: u64 = 2;

/// The body formats that a cluster accepts besides plain JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedFormats {
    /// Whether it accepts SMILE, or why not.
    pub smile: Result<(), String>,
    /// Whether it accepts gzip, or why not.
    pub gzip: Result<(), String>,
}

/// Sends one request for each wanted format. A format that is not wanted counts as accepted.
/// `index`: the index of the documents, if they all go to one.
pub async fn probe(transport: &Transport, index: Option<&str>, smile: bool, gzip: bool) -> AcceptedFormats {
    let ask = async |wanted: bool, form: BodyForm| match wanted {
        true => form.ask(transport, index).await,
        false => Answer::Accepts,
    };
    let (smile, gzip) = tokio::join!(ask(smile, BodyForm::Smile), ask(gzip, BodyForm::Gzip));
    let refused = [&smile, &gzip].into_iter().any(|answer| matches!(answer, Answer::Rejects(_)));
    // If the cluster refuses plain JSON as well, the refusal says nothing about the format. The
    // load finds out.
    let control = if refused { BodyForm::Plain.ask(transport, index).await } else { Answer::Accepts };
    let verdict = |answer: Answer| match (answer, &control) {
        (Answer::Rejects(why), Answer::Accepts) => Err(why),
        (Answer::Accepts | Answer::Unknown, _) | (Answer::Rejects(_), _) => Ok(()),
    };
    AcceptedFormats { smile: verdict(smile), gzip: verdict(gzip) }
}

#[derive(Clone, Copy, Debug)]
enum BodyForm {
    Plain,
    Smile,
    Gzip,
}

enum Answer {
    /// The server read the request.
    Accepts,
    /// The server did not read the request, or did not answer each of its items.
    Rejects(String),
    /// No reply came, or a refusal for another reason.
    Unknown,
}

impl BodyForm {
    async fn ask(self, transport: &Transport, index: Option<&str>) -> Answer {
        let of = index.map_or_else(String::new, |index| format!("/{}", path_segment(index)));
        let mut request = Request::new(Method::POST, format!("{of}/_bulk?filter_path={FILTER_PATH}"));
        let encoding = if matches!(self, BodyForm::Smile) { Encoding::Smile } else { Encoding::Json };
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static(encoding.content_type()));
        let body = body(index.is_none(), encoding);
        request.body = match self {
            BodyForm::Plain | BodyForm::Smile => vec![body],
            BodyForm::Gzip => {
                request.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                request.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
                vec![Gzip::new(GzipLevel::default()).compress(&[body])]
            }
        };
        let Ok(response) = transport.request(&request).await.result else { return Answer::Unknown };
        match response.status {
            200 => match BulkReply::parse(&response.body) {
                Ok(reply) if reply.items() == ITEMS => Answer::Accepts,
                Ok(reply) => Answer::Rejects(format!("it answers {ITEMS} items with {} entries", reply.items())),
                Err(error) => Answer::Rejects(error.to_string()),
            },
            status @ (400 | 406 | 415) => {
                let ItemError { kind, reason, .. } = ItemError::from_body(&response.body);
                Answer::Rejects(format!("{status} {kind}: {reason}"))
            }
            _ => Answer::Unknown,
        }
    }
}

/// Two deletes that cannot succeed. The sequence number is the highest that every JSON parser reads
/// exactly, higher than that of any document.
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
