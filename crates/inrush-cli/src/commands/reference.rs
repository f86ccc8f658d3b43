//! `inrush reference`.

use anyhow::Result;
use inrush_core::Code;

use crate::args::{Page, ReferenceArgs};
use crate::failure::UsageError;
use crate::from::table;
use crate::reference;

/// Prints the page, and returns the exit status.
pub(crate) fn run(args: &ReferenceArgs) -> Result<u8> {
    let text = match args.page {
        Page::Options => reference::options_page(),
        Page::Python => reference::python_types(),
        Page::Errors => reference::errors_page(),
        Page::From => table::page(),
        Page::ManNames => reference::manual_names(),
        Page::Man => {
            let page = reference::manual(args.command.as_deref());
            let page = page.ok_or_else(|| {
                UsageError::new(Code::UnknownCommand, "there is no such command").hint("see `inrush --help`")
            })?;
            String::from_utf8_lossy(&page).into_owned()
        }
    };
    super::print(&text).map(|()| 0)
}
