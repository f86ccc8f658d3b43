//! The beginning of an entry of an access log: the server's name, the client and its user.

use std::net::IpAddr;

/// The values in front of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Client<'a> {
    /// Name of the server, with its port where the log has it.
    pub(super) vhost: Option<&'a str>,
    /// Addresses of `X-Forwarded-For`, where the log begins with them.
    pub(super) forwarded: Option<&'a str>,
    pub(super) address: &'a str,
    pub(super) ident: &'a str,
    pub(super) auth: &'a str,
}

/// What was expected, and the part of the line that is something else.
pub(super) type Wrong<'a> = (&'static str, &'a str);

/// `client ident user`. The user may contain spaces.
///
/// # Errors
/// There are other values in front of the user.
pub(super) fn plain(line: &str) -> Result<(Client<'_>, &str), Wrong<'_>> {
    let (address, after) = word(line, "clientip")?;
    let (ident, auth_on) = word(after, "ident")?;
    let end = auth_on.find(" [").filter(|end| *end > 0).ok_or(("auth", auth_on))?;
    let auth = &auth_on[..end];
    if is_list(address) {
        return Err(("one address, not a list", line));
    }
    if is_address(ident) || (ident != "-" && has_port(address)) || is_list(ident) {
        return Err(("ident or -, not an address", after));
    }
    // No server writes a user that begins with the sign for no value.
    if auth.starts_with("- ") {
        return Err(("one user before the time", auth_on));
    }
    let client = Client { address, ident, auth, ..Client::default() };
    Ok((client, &auth_on[end + 1..]))
}

/// `server[:port] client ident user`.
///
/// # Errors
/// There are other values in front of the user.
pub(super) fn with_vhost(line: &str) -> Result<(Client<'_>, &str), Wrong<'_>> {
    let (vhost, after) = word(line, "the server's name")?;
    let (client, rest) = plain(after)?;
    Ok((Client { vhost: Some(vhost), ..client }, rest))
}

/// `client ident user`, also behind a server's name, or with a list of addresses for the client.
///
/// # Errors
/// There are other values in front of the user.
pub(super) fn any(line: &str) -> Result<(Client<'_>, &str), Wrong<'_>> {
    let (first, after) = word(line, "clientip")?;
    if is_list(first) {
        return listed(line);
    }
    match plain(line) {
        Ok(found) => Ok(found),
        // Two addresses do not say which of them is the client.
        Err(wrong) if is_address(first) => Err(wrong),
        Err(wrong) => {
            let (second, _) = word(after, "ident").map_err(|_| wrong)?;
            let found = if is_list(second) { listed(after) } else { plain(after) };
            let (client, rest) = found.map_err(|_| wrong)?;
            Ok((Client { vhost: Some(first), ..client }, rest))
        }
    }
}

/// `client, proxy, proxy ident user`.
fn listed(line: &str) -> Result<(Client<'_>, &str), Wrong<'_>> {
    let mut rest = line;
    let end = loop {
        let (word, after) = word(rest, "an address")?;
        rest = after;
        if !word.ends_with(',') {
            break line.len() - after.len() - 1;
        }
    };
    let list = &line[..end];
    let mut addresses = list.split(',').map(str::trim_ascii);
    let address = addresses.next().unwrap_or_default();
    if !is_address(address) || addresses.any(|one| !is_address(one) && one != "unknown" && one != "-") {
        return Err(("a list of addresses", line));
    }
    // The last address has the place of the client.
    let from = list.rfind([' ', ',']).map_or(0, |at| at + 1);
    let (client, rest) = plain(&line[from..])?;
    Ok((Client { forwarded: Some(list), address, ..client }, rest))
}

fn word<'a>(text: &'a str, expected: &'static str) -> Result<(&'a str, &'a str), Wrong<'a>> {
    let end = text.find(' ').filter(|end| *end > 0).ok_or((expected, text))?;
    Ok((&text[..end], &text[end + 1..]))
}

/// Whether the text is an address of IPv4 or IPv6, also in brackets or with a zone.
pub(super) fn is_address(text: &str) -> bool {
    let text = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let text = text.split('%').next().unwrap_or_default();
    text.parse::<IpAddr>().is_ok()
}

/// Whether the text is several addresses, or their beginning.
fn is_list(text: &str) -> bool {
    text.split_once(',').is_some_and(|(first, _)| is_address(first))
}

/// Whether the text is a name or an address of a server with its port.
fn has_port(text: &str) -> bool {
    let digits = |port: &str| !port.is_empty() && port.len() <= 5 && port.bytes().all(|b| b.is_ascii_digit());
    !is_address(text) && text.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && digits(port))
}

/// The server's name and its port, where it has one.
pub(super) fn name_and_port(vhost: &str) -> (&str, Option<&str>) {
    match vhost.rsplit_once(':') {
        Some((name, port)) if has_port(vhost) => (name, Some(port)),
        _ => (vhost, None),
    }
}
