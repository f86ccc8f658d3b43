//! The character filter `html_strip`, which leaves out the tags of web pages.
//!
//! Source: the documentation of the character filter `html_strip` and of Lucene's
//! `HTMLStripCharFilter`, and the rules in its grammar: tags of blocks and `br` become a break of a
//! line, other tags, comments, declarations and instructions nothing, `script` and `style` with
//! their content a break, and references their character. What is no whole tag stays as it is. A
//! text that ends right behind the name of a tag, or within a comment, ends before it.

use super::classes_of_java::digit;
use super::filters::lower;
use super::html_names::{CHARACTERS, FIRST, FURTHER};
use super::parameters::Parameters;
use super::stream::Corrections;

/// Tags within a line.
const INLINE: [&str; 31] = [
    "a", "abbr", "acronym", "b", "basefont", "bdo", "big", "cite", "code", "dfn", "em", "font", "i", "img", "input",
    "kbd", "label", "q", "s", "samp", "select", "small", "span", "strike", "strong", "sub", "sup", "textarea", "tt",
    "u", "var",
];

/// How many characters are looked at again, for tags without an end. A text of 8 KiB has fewer.
const STEPS: usize = 1 << 26;

/// The filter: tags that stay.
#[derive(Debug, Default)]
pub(super) struct HtmlStrip {
    /// In small letters.
    kept: Vec<String>,
    /// Whether anything may follow the name of a tag, and only white space comes before that of an
    /// attribute: since Lucene 10.5.
    is_loose: bool,
}

impl HtmlStrip {
    pub(super) fn new(mut parameters: Parameters, lucene: [u32; 3]) -> Result<Self, String> {
        let tags = parameters.list("escaped_tags")?.unwrap_or_default();
        if !tags.iter().all(|tag| tag.is_ascii()) {
            return Err(parameters.refuse("escaped_tags"));
        }
        let kept = tags.iter().map(|tag| tag.to_ascii_lowercase()).collect();
        parameters.finish()?;
        Ok(Self { kept, is_loose: lucene >= [10, 5, 0] })
    }

    /// The text without tags, where it was before; and whether looking took too long.
    pub(super) fn map(&self, text: &str) -> (String, Corrections, bool) {
        self.map_within(text, STEPS)
    }

    fn map_within(&self, text: &str, steps: usize) -> (String, Corrections, bool) {
        let out = String::with_capacity(text.len());
        let mut page =
            Page { filter: self, text, out, corrections: Corrections::default(), at: 0, written: 0, read: 0, steps: 0 };
        while let Some(next) = page.rest().find(['&', '<']) {
            page.keep(page.at + next);
            if page.rest().starts_with('&') {
                page.reference();
            } else {
                page.tag();
            }
            if page.steps > steps {
                return (page.out, page.corrections, true);
            }
        }
        page.keep(text.len());
        (page.out, page.corrections, false)
    }

    fn keeps(&self, name: &str) -> bool {
        self.kept.iter().any(|kept| kept.chars().eq(name.chars().map(lower)))
    }
}

/// A text on its way through the filter.
struct Page<'a> {
    filter: &'a HtmlStrip,
    text: &'a str,
    out: String,
    corrections: Corrections,
    /// What is before it was read.
    at: usize,
    /// Units of UTF-16.
    written: u32,
    read: u32,
    steps: usize,
}

/// What is in the way of a tag: where it ends, if it does.
enum Tail {
    End(usize),
    /// The text ends where the name of the tag does.
    Cut,
    None,
}

impl<'a> Page<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Leaves the text as it is up to a place.
    fn keep(&mut self, to: usize) {
        let part = &self.text[self.at..to];
        self.out.push_str(part);
        self.written += units(part);
        self.read += units(part);
        self.at = to;
    }

    /// Puts something in the place of the text up to there.
    fn replace(&mut self, to: usize, with: &str) {
        self.read += units(&self.text[self.at..to]);
        self.out.push_str(with);
        self.written += units(with);
        self.corrections.add(self.written, self.read - self.written);
        self.at = to;
    }

    fn reference(&mut self) {
        match reference(&self.rest()[1..]) {
            Some((len, c)) => self.replace(self.at + 1 + len, c.encode_utf8(&mut [0; 4])),
            None => self.keep(self.at + 1),
        }
    }

    /// Reads what begins with `<`. Without an end of its own that is text.
    fn tag(&mut self) {
        let inner = &self.rest()[1..];
        if inner.starts_with('!') {
            self.declaration();
        } else if inner.starts_with('/') {
            self.end_tag();
        } else if let Some(inner) = inner.strip_prefix('?') {
            let end = inner.find('>');
            self.steps += end.unwrap_or(inner.len());
            match end {
                Some(end) if inner[..end].ends_with(['/', '?']) => self.replace(self.at + end + 3, ""),
                _ => self.keep(self.at + 1),
            }
        } else {
            self.start_tag();
        }
    }

    fn declaration(&mut self) {
        let (text, from) = (self.text, self.at + 2);
        let inner = &text[from..];
        if inner.starts_with("--") {
            self.replace(comment_end(text, from + 2).unwrap_or(text.len()), "");
        } else if inner.starts_with("[CDATA[") {
            self.replace(from + 7, "");
            let end = self.rest().find("]]>");
            self.keep(end.map_or(text.len(), |end| self.at + end));
            if end.is_some() {
                self.replace(self.at + 3, "");
            }
        } else if let Some(end) = inner.find('>') {
            self.replace(from + end + 1, "");
        } else {
            self.keep(text.len());
        }
    }

    fn end_tag(&mut self) {
        let from = skip_white(self.text, self.at + 2);
        let name = name(&self.text[from..]);
        let behind = from + name.len();
        let end = skip_white(self.text, behind);
        let tail = if name.is_empty() {
            Tail::None
        } else if self.text[end..].starts_with('>') {
            Tail::End(end + 1)
        } else if behind == self.text.len() {
            Tail::Cut
        } else {
            Tail::None
        };
        self.put(name, &tail);
    }

    fn start_tag(&mut self) {
        let from = skip_white(self.text, self.at + 1);
        let name = name(&self.text[from..]);
        if name.is_empty() {
            return self.keep(self.at + 1);
        }
        // These tags may have other names that begin so.
        for known in ["br", "script", "style"] {
            let is_known = name.get(..known.len()).is_some_and(|first| first.eq_ignore_ascii_case(known));
            let first = if known == "br" { ways::OPEN } else { ways::OPEN_BLOCK };
            if is_known && let Some(end) = self.tail(from + known.len(), first) {
                return if known == "br" { self.put(known, &Tail::End(end)) } else { self.block(known, end) };
            }
        }
        let behind = from + name.len();
        let tail = match self.tail(behind, ways::OPEN) {
            Some(end) => Tail::End(end),
            None if behind == self.text.len() => Tail::Cut,
            None => Tail::None,
        };
        self.put(name, &tail);
    }

    /// Puts what stands for a tag.
    fn put(&mut self, name: &str, tail: &Tail) {
        let is_special = ["br", "script", "style"].iter().any(|special| name.eq_ignore_ascii_case(special));
        let is_kept = self.filter.keeps(name);
        match *tail {
            Tail::End(end) if is_kept && (!is_special || name.eq_ignore_ascii_case("br")) => self.keep(end),
            Tail::End(end) => self.replace(end, if is_inline(name) { "" } else { "\n" }),
            Tail::Cut if is_kept && !is_special => self.keep(self.text.len()),
            Tail::Cut => self.replace(self.text.len(), ""),
            Tail::None => self.keep(self.at + 1),
        }
    }

    /// Leaves out what is between two tags.
    fn block(&mut self, name: &str, open: usize) {
        let is_kept = self.filter.keeps(name);
        if is_kept {
            self.keep(open);
        }
        match block_end(self.text, open, name) {
            None => self.replace(self.text.len(), ""),
            Some((_, end)) if !is_kept => self.replace(end, "\n"),
            Some((start, end)) => {
                self.replace(start, "");
                self.keep(end);
            }
        }
    }

    /// Where a tag ends of which the rest begins there: the last `>` that attributes and commands
    /// allow.
    fn tail(&mut self, from: usize, open: u32) -> Option<usize> {
        let is_loose = self.filter.is_loose;
        let (mut ways, mut found) = (if is_loose { ways::CONTENT } else { open }, None);
        for (at, c) in self.text[from..].char_indices() {
            self.steps += 1;
            if c == '>' && ways & ways::ENDS != 0 {
                found = Some(from + at + 1);
            }
            ways = ways::next(ways, c, is_loose);
            if ways == 0 {
                break;
            }
        }
        found
    }
}

/// The ways to read the rest of a tag, as bits.
mod ways {
    pub(super) const CONTENT: u32 = 1;
    const SPACE: u32 = 1 << 1;
    const NAME: u32 = 1 << 2;
    const BEHIND_NAME: u32 = 1 << 3;
    const VALUE: u32 = 1 << 4;
    /// The first four characters of a command: `<!--`.
    const COMMAND: [u32; 4] = [1 << 5, 1 << 6, 1 << 7, 1 << 8];
    const INCLUDE: u32 = 1 << 9;
    /// The first two characters of the end of a command.
    const DASHES: [u32; 2] = [1 << 10, 1 << 11];
    /// Quoted texts: the quote, where they begin and end, the way within, and behind a backslash.
    const QUOTED: [(char, u32, u32, u32, u32); 4] = [
        ('\'', VALUE, CONTENT, 1 << 12, 1 << 13),
        ('"', VALUE, CONTENT, 1 << 14, 1 << 15),
        ('\'', INCLUDE, INCLUDE, 1 << 16, 1 << 17),
        ('"', INCLUDE, INCLUDE, 1 << 18, 1 << 19),
    ];

    /// Right behind the name of a tag, and behind that of a block.
    pub(super) const OPEN: u32 = 1 << 20;
    pub(super) const OPEN_BLOCK: u32 = 1 << 21;
    const SLASH: u32 = 1 << 22;
    /// The tag may end here.
    pub(super) const ENDS: u32 = CONTENT | OPEN | OPEN_BLOCK | SLASH;

    /// The ways that go on with a character.
    pub(super) fn next(ways: u32, c: char, is_loose: bool) -> u32 {
        let is_white = c.is_whitespace();
        let mut next = 0;
        let mut go = |from: u32, is_so: bool, to: u32| {
            if ways & from != 0 && is_so {
                next |= to;
            }
        };
        go(CONTENT, c != '<' && c != '>', CONTENT);
        go(CONTENT, c == '<', COMMAND[0]);
        go(CONTENT | SPACE, is_white && is_loose, SPACE);
        go(CONTENT, !is_loose && super::is_first(c), NAME);
        if ways == CONTENT {
            // Most characters have no other way.
            return next;
        }
        go(OPEN | OPEN_BLOCK, is_white, CONTENT);
        go(OPEN, c == '=', CONTENT);
        go(OPEN, c == '/', SLASH);
        go(SPACE, super::is_first(c), NAME);
        go(NAME, super::is_further(c), NAME);
        go(NAME | BEHIND_NAME, is_white, BEHIND_NAME);
        go(NAME | BEHIND_NAME, c == '=', VALUE);
        go(VALUE, is_white, VALUE);
        go(COMMAND[0], c == '!', COMMAND[1]);
        go(COMMAND[1], c == '-', COMMAND[2]);
        go(COMMAND[2], c == '-', COMMAND[3]);
        go(COMMAND[3], c == '#', INCLUDE);
        go(INCLUDE, c != '\'' && c != '"', INCLUDE);
        go(INCLUDE, c == '-', DASHES[0]);
        go(DASHES[0], c == '-', DASHES[1]);
        go(DASHES[1], c == '>', CONTENT);
        for (quote, from, to, within, escaped) in QUOTED {
            go(from, c == quote, within);
            go(within, c != quote, within);
            go(within, c == '\\', escaped);
            go(within, c == quote, to);
            go(escaped, c == quote, within);
        }
        next
    }
}

/// Where a comment ends.
fn comment_end(text: &str, mut at: usize) -> Option<usize> {
    loop {
        at += text[at..].find(['-', '<'])?;
        let rest = &text[at..];
        if rest.starts_with("-->") {
            return Some(at + 3);
        }
        at = if rest.starts_with("<!--#") { command_end(text, at + 5)? } else { at + 1 };
    }
}

/// Where a command in a comment ends.
fn command_end(text: &str, mut at: usize) -> Option<usize> {
    loop {
        at += text[at..].find(['-', '\'', '"'])?;
        let rest = &text[at..];
        if rest.starts_with("-->") {
            return Some(at + 3);
        }
        at = if rest.starts_with('-') { at + 1 } else { quoted_end(text, at)? };
    }
}

/// Where a text ends that begins with a quote.
fn quoted_end(text: &str, at: usize) -> Option<usize> {
    let mut rest = text[at..].chars();
    let quote = rest.next()?;
    while let Some(c) = rest.next() {
        match c {
            '\\' => _ = rest.next(),
            c if c == quote => return Some(text.len() - rest.as_str().len()),
            _ => {}
        }
    }
    None
}

/// Where the end tag of a block is.
fn block_end(text: &str, mut at: usize, name: &str) -> Option<(usize, usize)> {
    loop {
        at += text[at..].find('<')?;
        let rest = &text[at..];
        if rest.starts_with("<!--") {
            at = block_comment_end(text, at + 4)?;
            continue;
        }
        if rest.starts_with("</") {
            let from = skip_white(text, at + 2);
            let is_name = text[from..].get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name));
            let end = if is_name { skip_white(text, from + name.len()) } else { at };
            if text[end..].starts_with('>') {
                return Some((at, end + 1));
            }
        }
        at += 1;
    }
}

/// Where a comment in a block ends.
fn block_comment_end(text: &str, mut at: usize) -> Option<usize> {
    loop {
        at += text[at..].find(['-', '<', '\'', '"'])?;
        let rest = &text[at..];
        if rest.starts_with("-->") {
            return Some(at + 3);
        }
        at = if rest.starts_with("<!--#") {
            command_end(text, at + 5)?
        } else if rest.starts_with(['\'', '"']) {
            quoted_end(text, at)?
        } else {
            at + 1
        };
    }
}

/// The length and the character of a reference behind its `&`.
fn reference(rest: &str) -> Option<(usize, char)> {
    let (len, c) = if let Some(number) = rest.strip_prefix('#') {
        if let Some((len, c)) = pair(number) {
            return Some((1 + len, c));
        }
        let (len, c) = number_of(number)?;
        (1 + len, c)
    } else {
        let names = (2..=8).rev().filter_map(|len| rest.get(..len));
        let found = names.filter_map(|name| CHARACTERS.binary_search_by_key(&name, |(known, _)| known).ok()).next()?;
        (CHARACTERS[found].0.len(), CHARACTERS[found].1)
    };
    match rest[len..].chars().next() {
        Some(';') => Some((len + 1, c)),
        // At the end of the text there need be none.
        None => Some((len, c)),
        Some(_) => None,
    }
}

/// The length and the character of a number: of up to five hexadecimal or seven decimal digits.
fn number_of(text: &str) -> Option<(usize, char)> {
    let is_hex = text.starts_with(['x', 'X']);
    let (from, radix, most) = if is_hex { (1, 16, 5) } else { (0, 10, 7) };
    let digits = &text[from..];
    let digits = &digits[..digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len())];
    let number = u32::from_str_radix(digits, radix).ok().filter(|_| digits.len() <= most)?;
    let c = match number {
        0xd800..=0xdfff => char::REPLACEMENT_CHARACTER,
        number => char::from_u32(number)?,
    };
    Some((from + digits.len(), c))
}

/// The length and the character of two numbers that are the halves of a pair.
fn pair(text: &str) -> Option<(usize, char)> {
    let (first, high) = half(text)?;
    let (second, low) = half(text[first..].strip_prefix(";&#")?)?;
    let len = first + 3 + second;
    text[len..].strip_prefix(';')?;
    let in_half = |number: u32, from: u32| number.checked_sub(from).filter(|bits| *bits < 0x400);
    let bits = (in_half(high, 0xd800)? << 10) + in_half(low, 0xdc00)?;
    Some((len + 1, char::from_u32(0x10000 + bits)?))
}

/// The length and the number of a half: four hexadecimal digits, or five digits, of which the last
/// three may be of any script.
fn half(text: &str) -> Option<(usize, u32)> {
    if let Some(digits) = text.strip_prefix(['x', 'X']) {
        let digits = digits.get(..4).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
        return Some((5, u32::from_str_radix(digits, 16).ok()?));
    }
    text.get(..2).filter(|first| first.bytes().all(|digit| digit.is_ascii_digit()))?;
    let (mut number, mut len) = (0, 0);
    for _ in 0..5 {
        let c = text[len..].chars().next().filter(|c| c.len_utf16() == 1)?;
        number = number * 10 + digit(c)?.to_digit(10)?;
        len += c.len_utf8();
    }
    Some((len, number))
}

/// The name at the beginning of a text.
fn name(text: &str) -> &str {
    if !text.starts_with(is_first) {
        return "";
    }
    &text[..text.find(|c| !is_further(c)).unwrap_or(text.len())]
}

fn is_first(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphabetic() || matches!(c, ':' | '_') } else { is_in(&FIRST, c) }
}

fn is_further(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '-' | '.')
    } else {
        is_in(&FIRST, c) || is_in(&FURTHER, c)
    }
}

fn is_in(ranges: &[(u32, u32)], c: char) -> bool {
    let c = u32::from(c);
    let at = ranges.partition_point(|&(first, _)| first <= c);
    at.checked_sub(1).is_some_and(|at| c <= ranges[at].1)
}

fn is_inline(name: &str) -> bool {
    INLINE.iter().any(|inline| inline.eq_ignore_ascii_case(name))
}

fn skip_white(text: &str, from: usize) -> usize {
    text.len() - text[from..].trim_start().len()
}

fn units(text: &str) -> u32 {
    if text.is_ascii() { text.len() as u32 } else { text.encode_utf16().count() as u32 }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::parameters::Parameters;
    use super::{HtmlStrip, STEPS};

    const LOOSE: HtmlStrip = HtmlStrip { kept: Vec::new(), is_loose: true };

    /// By all versions.
    fn stripped(text: &str) -> String {
        let stripped = HtmlStrip::default().map(text).0;
        assert_eq!(LOOSE.map(text).0, stripped);
        stripped
    }

    fn kept(tags: &[&str], text: &str) -> String {
        let definition = json!({"type": "html_strip", "escaped_tags": tags});
        let parameters = Parameters::of("character filter", "own", definition.as_object());
        HtmlStrip::new(parameters, [10, 4, 0]).unwrap().map(text).0
    }

    #[test]
    fn tags_become_breaks_or_nothing() {
        assert_eq!(stripped("<p>I&apos;m <B class=x>so</B> glad</p>!"), "\nI'm so glad\n!");
        assert_eq!(stripped("a<br/>b<BR onclick='>'>c</br >d< / i>f"), "a\nb\nc\nd< / i>f");
        assert_eq!(stripped("a<i title=\"x y\">b</ i >c<x:y-1.é>d"), "abc\nd");
        assert_eq!(stripped("1 < 2 <3 a<b <= </> <"), "1 < 2 <3 a<b <= </> <");
        assert_eq!(stripped("<a <!--#x '>' --> y>z"), "z");
        assert_eq!(stripped("x <b"), "x ");
        assert_eq!(stripped("x </b"), "x ");
        assert_eq!(stripped("x <b "), "x <b ");
    }

    #[test]
    fn versions_differ_in_tags() {
        for (text, before, now) in [
            ("a<i x;y=\"<>\">b", "ab", "a<i x;y=\"<>\">b"),
            ("a<i;>b<brand x>c", "a<i;>b\nc", "ab\nc"),
            ("a<script/>b<scripty>c", "a\nb\nc", "a"),
        ] {
            assert_eq!((HtmlStrip::default().map(text).0, LOOSE.map(text).0), (before.into(), now.into()), "{text}");
        }
    }

    #[test]
    fn comments_and_blocks_are_left_out() {
        assert_eq!(stripped("a<!-- <b> <!--#x '-->' --> -->b<!x>c<?x ?>d<??>e<?>f"), "abcde<?>f");
        assert_eq!(stripped("a<![CDATA[<b>&lt;]]>b<![CDATA[<i>"), "a<b>&lt;b<i>");
        assert_eq!(stripped("a<script x>'</b><!-- '</script>' --></SCRIPT >b<style>c"), "a\nb");
        assert_eq!(stripped("a<!-- b"), "a");
        assert_eq!(stripped("a<! &lt;"), "a<! &lt;");
    }

    #[test]
    fn references_become_characters() {
        assert_eq!(stripped("&lt;b&gt; &AMP; &eacute;&#233;&#xE9; &#x1F600; &notin; &not"), "<b> & ééé 😀 ∉ ¬");
        assert_eq!(stripped("&lt b &ltx; &#; &#x; &#x110000; &#1114112; &#xD800; &; &"), {
            "&lt b &ltx; &#; &#x; &#x110000; &#1114112; \u{fffd} &; &"
        });
        assert_eq!(stripped("&#xD83D;&#xDE00; &#55357;&#56832; &#55357;&#xde00; &#xD83D;x"), "😀 😀 😀 \u{fffd}x");
    }

    #[test]
    fn tags_may_stay() {
        assert_eq!(kept(&["B", "br"], "<p><b x='&lt;'>a</b><br><i>"), "\n<b x='&lt;'>a</b><br>");
        assert_eq!(kept(&["script"], "a<script>b</script>c</script>d"), "a<script></script>c\nd");
        let odd = json!({"escaped_tags": ["é"]});
        assert!(HtmlStrip::new(Parameters::of("character filter", "own", odd.as_object()), [10, 4, 0]).is_err());
    }

    #[test]
    fn offsets_are_those_before() {
        let (mapped, corrections, _) = HtmlStrip::default().map("<p>é</p>&#x1F600;<b>x");
        assert_eq!(mapped, "\né\n😀x");
        let offsets: Vec<u32> = (0..=6).map(|place| corrections.correct(place)).collect();
        assert_eq!(offsets, [0, 3, 4, 8, 9, 20, 21]);
    }

    #[test]
    fn looking_ends() {
        let is_long = |text: String| HtmlStrip::default().map_within(&text, STEPS >> 10).2;
        assert!(is_long("<a <!--#-->".repeat(1 << 10)));
        assert!(is_long("<?".repeat(1 << 10)));
        assert!(!is_long("<a <!--#-->".repeat(1 << 4)));
    }
}
