//! Documents that are looked up.

use std::path::PathBuf;

use crate::options::LoaderBuilder;
use inrush_load::fetch::MissingRecord;

options! {
    /// Look-ups: the source has ids, and the documents come from a database or a web service when
    /// they are sent.
    pub struct FetchOptions in LoaderBuilder.fetch, "Look-ups" {
        /// Look documents up in a database by their ids: its address and a query with $keys, as in
        /// 'postgres://user@host/db SELECT … WHERE id = ANY($keys)', with MySQL and SQLite 'WHERE
        /// id IN ($keys)'; @FILE in place of the query reads it from a file
        fetch: Option<String> = "ADDRESS QUERY", conflicts(&["fetch_url"]);
        /// Look documents up at a web service: its address with {keys}, as in
        /// 'https://host/items?ids={keys}', which answers with a JSON array of objects or one
        /// object a line
        fetch_url: Option<String> = "URL";
        /// With option `fetch_url`: send the keys in the body of a POST, which is JSON with {keys},
        /// an array of text, or {keys:number}, as in '{"ids": {keys}}'
        fetch_body: Option<String> = "JSON", default("a GET");
        /// The column or field of a record that has its id; `_id` is left out of the documents
        fetch_id: Option<String> = "NAME", default("id");
        /// What becomes of an id without a record
        fetch_missing: Option<MissingRecord> = "WHAT", default("delete");
        /// User at the web service; the password comes from option `fetch_password_file`, the
        /// environment or a prompt. A bearer token comes from INRUSH_FETCH_BEARER
        fetch_user: Option<String> = "NAME";
        /// File that holds the password for the web service or the database
        fetch_password_file: Option<PathBuf> = "FILE";
        /// Environment variable that holds the password for the web service or the database
        fetch_password_env: Option<String> = "VARIABLE", default("INRUSH_FETCH_PASSWORD");
        /// PEM file with certificate authorities to trust for the web service
        fetch_ca: Option<PathBuf> = "FILE";
    }
}
