//! The parts that use regular expressions: the filter of characters and the filter of tokens
//! `pattern_replace`, the filter `pattern_capture`, and the tokenizer `pattern`.
//!
//! Source: the documentation of Lucene's `PatternReplaceCharFilter`, `PatternReplaceFilter`,
//! `PatternCaptureGroupTokenFilter` and `PatternTokenizer`, and of `java.util.regex.Matcher`.

use super::java_pattern::{Found, JavaPattern, place};
use super::parameters::Parameters;
use super::stream::{Corrections, Stream, Token, TokenFilter};

/// The longest replacement in bytes.
const REPLACEMENT_MAX: usize = 1000;

/// Reads the pattern of a part with its flags.
fn pattern(p: &mut Parameters, default: Option<&'static str>) -> Result<JavaPattern, String> {
    let flags = p.text("flags")?;
    let text = p.text("pattern")?.or(default).filter(|text| !text.is_empty()).ok_or_else(|| p.refuse("pattern"))?;
    JavaPattern::new(text, flags).map_err(|construct| format!("{} with {construct}", p.refuse("pattern")))
}

/// A pattern, and what takes the place of what it finds.
#[derive(Debug)]
struct Replace {
    pattern: JavaPattern,
    parts: Vec<Part>,
    grows: usize,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Group(usize),
}

impl Replace {
    fn new(p: &mut Parameters) -> Result<Self, String> {
        let pattern = pattern(p, None)?;
        let text = p.text("replacement")?.unwrap_or_default();
        let parts = parts(text, &pattern).filter(|_| text.len() <= REPLACEMENT_MAX);
        let parts = parts.ok_or_else(|| p.refuse("replacement"))?;
        let groups = parts.iter().filter(|part| matches!(part, Part::Group(_))).count();
        // What is replaced may be empty, before each character and at the end.
        Ok(Self { pattern, grows: 2 * (1 + text.len() + groups), parts })
    }

    fn put(&self, found: &Found, out: &mut String) {
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Group(group) => out.push_str(found.text(*group)),
            }
        }
    }

    /// Whether it puts in characters that patterns behind it may not know.
    fn is_plain(&self) -> bool {
        self.parts
            .iter()
            .all(|part| matches!(part, Part::Group(_)) || matches!(part, Part::Text(text) if is_plain(text)))
    }
}

/// Whether a text has no break of a line, and no characters of two units.
pub(super) fn is_plain(text: &str) -> bool {
    text.chars().all(|c| c.len_utf16() == 1 && !matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}'))
}

/// The parts of a replacement. `None` if Java refuses it, or if a group is not known here.
fn parts(text: &str, pattern: &JavaPattern) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => literal.push(rest.next()?),
            '$' => {
                let group = if rest.next_if_eq(&'{').is_some() {
                    let name: String = rest.by_ref().take_while(|c| *c != '}').collect();
                    pattern.group(&name)?
                } else {
                    let mut group = rest.next()?.to_digit(10)? as usize;
                    // Further digits belong to the number while there is such a group.
                    while let Some(digit) = rest.peek().and_then(|c| c.to_digit(10)) {
                        let longer = group * 10 + digit as usize;
                        if longer > pattern.groups() {
                            break;
                        }
                        group = longer;
                        rest.next();
                    }
                    group
                };
                pattern.tells(group).then_some(())?;
                parts.push(Part::Text(std::mem::take(&mut literal)));
                parts.push(Part::Group(group));
            }
            c => literal.push(c),
        }
    }
    parts.push(Part::Text(literal));
    Some(parts)
}

/// Replaces what a pattern finds in the text.
#[derive(Debug)]
pub(super) struct ReplaceCharacters(Replace);

impl ReplaceCharacters {
    pub(super) fn new(mut parameters: Parameters) -> Result<Self, String> {
        let replace = Replace::new(&mut parameters)?;
        parameters.finish()?;
        Ok(Self(replace))
    }

    pub(super) fn grows(&self) -> usize {
        self.0.grows
    }

    pub(super) fn is_plain(&self) -> bool {
        self.0.is_plain()
    }

    pub(super) fn doubts(&self, text: &str) -> bool {
        self.0.pattern.doubts(text)
    }

    pub(super) fn map(&self, text: &str) -> (String, Corrections) {
        let mut mapped = String::with_capacity(text.len());
        let mut corrections = Corrections::default();
        // The end of the last match, and how much further the text before is than what was written.
        let (mut last, mut further) = (0, 0u32);
        let mut written = 0;
        self.0.pattern.each(text, |found| {
            let (start, end) = place(found, 0);
            mapped.push_str(&text[last..start]);
            written += units(&text[last..start]);
            let before = mapped.len();
            self.0.put(found, &mut mapped);
            let (old, new) = (units(&text[start..end]), units(&mapped[before..]));
            if new < old {
                further = further.wrapping_add(old - new);
                corrections.add(written + new, further);
            }
            for added in old..new {
                further = further.wrapping_sub(1);
                corrections.add(written + added, further);
            }
            written += new;
            last = end;
            true
        });
        mapped.push_str(&text[last..]);
        (mapped, corrections)
    }
}

fn units(text: &str) -> u32 {
    if text.is_ascii() { text.len() as u32 } else { text.encode_utf16().count() as u32 }
}

/// Replaces what a pattern finds in a term.
pub(super) struct ReplaceInTerms {
    replace: Replace,
    all: bool,
}

impl ReplaceInTerms {
    pub(super) fn new(p: &mut Parameters) -> Result<Self, String> {
        Ok(Self { all: p.flag("all", true)?, replace: Replace::new(p)? })
    }
}

impl TokenFilter for ReplaceInTerms {
    fn apply(&self, stream: &mut Stream) {
        let mut doubts = stream.halves;
        stream.map(|_, term, out| {
            doubts |= self.replace.pattern.doubts(term);
            let mut last = 0;
            self.replace.pattern.each(term, |found| {
                let (start, end) = place(found, 0);
                out.push_str(&term[last..start]);
                self.replace.put(found, out);
                last = end;
                self.all
            });
            out.push_str(&term[last..]);
            out != term
        });
        stream.doubts |= doubts;
    }

    fn grows(&self) -> usize {
        self.replace.grows
    }

    fn may_doubt(&self) -> bool {
        true
    }

    fn is_plain(&self) -> bool {
        self.replace.is_plain()
    }
}

/// Adds what groups of patterns find in a term, or puts it in the term's place.
pub(super) struct Capture {
    patterns: Vec<JavaPattern>,
    keeps: bool,
}

impl Capture {
    pub(super) fn new(p: &mut Parameters) -> Result<Self, String> {
        let texts = p.texts("patterns")?.filter(|texts| !texts.is_empty()).ok_or_else(|| p.refuse("patterns"))?;
        let mut patterns = Vec::new();
        for text in texts {
            let pattern = JavaPattern::new(text, None)
                .map_err(|construct| format!("{} with {construct} in {text:?}", p.refuse("patterns")))?;
            if !(1..=pattern.groups()).all(|group| pattern.tells(group)) {
                return Err(format!("{} with a group that is repeated", p.refuse("patterns")));
            }
            patterns.push(pattern);
        }
        Ok(Self { patterns, keeps: p.flag("preserve_original", true)? })
    }

    /// What the groups of each pattern find, match by match, without what is empty.
    fn found(&self, term: &str) -> Vec<std::collections::VecDeque<(usize, usize)>> {
        let all = self.patterns.iter().map(|pattern| {
            let mut places = std::collections::VecDeque::new();
            pattern.each(term, |found| {
                let groups = (1..=pattern.groups()).map(|group| place(found, group));
                places.extend(
                    groups.filter(|&(start, end)| start != end && !(self.keeps && start == 0 && end == term.len())),
                );
                true
            });
            places
        });
        all.collect()
    }
}

impl TokenFilter for Capture {
    fn apply(&self, stream: &mut Stream) {
        let mut doubts = stream.halves;
        stream.replace(|token, term, made| {
            doubts |= self.patterns.iter().any(|pattern| pattern.doubts(term));
            let mut found = self.found(term);
            let mut is_first = true;
            if self.keeps {
                made.push(token);
                is_first = false;
            }
            // The next one of each pattern; the first of those in the text is taken.
            while let Some(next) = (0..found.len())
                .filter(|at| !found[*at].is_empty())
                .min_by_key(|at| found[*at].front().map(|(start, _)| *start))
            {
                let Some((start, end)) = found[next].pop_front() else { break };
                let increment = if is_first { token.increment } else { 0 };
                is_first = false;
                made.push_part(Token { increment, ..token }, start..end);
            }
            if is_first {
                made.push(token);
            }
        });
        stream.doubts |= doubts;
    }

    fn multiplies(&self) -> bool {
        true
    }

    fn overlaps(&self) -> bool {
        true
    }

    fn may_doubt(&self) -> bool {
        true
    }
}

/// Cuts where a pattern is found, or takes what a group finds.
#[derive(Debug)]
pub(super) struct Cut {
    pattern: JavaPattern,
    group: Option<usize>,
}

impl Cut {
    /// The parameters of the tokenizer.
    pub(super) fn new(p: &mut Parameters) -> Result<Self, String> {
        let group = match p.text_or_number("group")? {
            None => None,
            Some(text) if text == "-1" => None,
            Some(text) => Some(text.parse().map_err(|_| p.refuse("group"))?),
        };
        let cut = Self { group, ..Self::of_analyzer(p)? };
        if group.is_some_and(|group| !cut.pattern.tells(group)) { Err(p.refuse("group")) } else { Ok(cut) }
    }

    /// The parameters of the analyser.
    pub(super) fn of_analyzer(p: &mut Parameters) -> Result<Self, String> {
        Ok(Self { pattern: pattern(p, Some(r"\W+"))?, group: None })
    }

    pub(super) fn cut(&self, stream: &mut Stream) {
        let mut doubts = false;
        stream.cut(|text, push| {
            doubts = self.pattern.doubts(text);
            let mut last = 0;
            self.pattern.each(text, |found| {
                let (start, end) = place(found, self.group.unwrap_or(0));
                match self.group {
                    Some(_) if start < end => push(start..end),
                    None if last < start => push(last..start),
                    _ => {}
                }
                last = end;
                true
            });
            if self.group.is_none() && last < text.len() {
                push(last..text.len());
            }
        });
        stream.doubts |= doubts;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::parameters::Parameters;
    use super::super::stream::Stream;
    use super::super::stream::TokenFilter;
    use super::{Capture, Cut, ReplaceCharacters, ReplaceInTerms};

    fn parameters(definition: &Value) -> Parameters<'_> {
        Parameters::of("part", "own", definition.as_object())
    }

    fn terms(filter: &dyn TokenFilter, term: &str) -> Vec<String> {
        let mut stream = Stream::default();
        stream.start(term);
        stream.cut(|text, push| push(0..text.len()));
        filter.apply(&mut stream);
        stream.terms().map(|(token, term)| format!("{term}+{}", token.increment)).collect()
    }

    #[test]
    fn texts_are_replaced_and_offsets_are_those_before() {
        let replaced = |pattern: &str, replacement: &str, text: &str| {
            let definition = json!({"pattern": pattern, "replacement": replacement});
            let (mapped, corrections) = ReplaceCharacters::new(parameters(&definition)).unwrap().map(text);
            let places: Vec<u32> =
                (0..=mapped.encode_utf16().count() as u32).map(|place| corrections.correct(place)).collect();
            (mapped, places)
        };
        assert_eq!(replaced("(a+)b", "$1", "aabc"), ("aac".into(), vec![0, 1, 3, 4]));
        assert_eq!(replaced("b", "xyz", "abc"), ("axyzc".into(), vec![0, 1, 1, 1, 2, 3]));
        assert_eq!(replaced("x*", "-", "ab"), ("-a-b-".into(), vec![0, 0, 0, 1, 1, 2]));
        assert_eq!(replaced("é", "", "éa"), ("a".into(), vec![1, 2]));
        let definition = json!({"pattern": "(a)", "replacement": "$2"});
        let expected = "part \"own\": the parameter \"replacement\" with \"$2\"";
        assert_eq!(ReplaceCharacters::new(parameters(&definition)).unwrap_err(), expected);
    }

    #[test]
    fn terms_are_replaced() {
        let replaced =
            |definition: Value, term: &str| terms(&ReplaceInTerms::new(&mut parameters(&definition)).unwrap(), term);
        assert_eq!(replaced(json!({"pattern": "(?<x>b)|a", "replacement": "[${x}\\$]"}), "abc"), ["[$][b$]c+1"]);
        assert_eq!(replaced(json!({"pattern": "a", "all": false}), "aa"), ["a+1"]);
        assert_eq!(replaced(json!({"pattern": "(a)(b)", "replacement": "$20$1"}), "ab"), ["b0a+1"]);
        let definition = json!({"pattern": "b(?=a)"});
        assert_eq!(
            ReplaceInTerms::new(&mut parameters(&definition)).err().unwrap(),
            "part \"own\": the parameter \"pattern\" with \"b(?=a)\" with a look ahead, \"(?=\""
        );
    }

    #[test]
    fn groups_are_captured_in_the_order_of_the_text() {
        let captured =
            |definition: Value, term: &str| terms(&Capture::new(&mut parameters(&definition)).unwrap(), term);
        let mail = json!({"patterns": ["([^@]+)", "(\\p{L}+)", "(\\d+)", "@(.+)"]});
        let expected = ["ab-12@c.d+1", "ab-12+0", "ab+0", "12+0", "c.d+0", "c+0", "c.d+0", "d+0"];
        assert_eq!(captured(mail, "ab-12@c.d"), expected);
        let only = json!({"patterns": ["a(b)(c)?"], "preserve_original": "false"});
        assert_eq!(captured(only.clone(), "xabc"), ["b+1", "c+0"]);
        assert_eq!(captured(only, "x"), ["x+1"]);
    }

    #[test]
    fn texts_are_cut() {
        let cut = |definition: Value, text: &str| {
            let mut stream = Stream::default();
            stream.start(text);
            Cut::new(&mut parameters(&definition)).unwrap().cut(&mut stream);
            stream.terms().map(|(token, term)| format!("{term} {}-{}", token.start, token.end)).collect::<Vec<_>>()
        };
        assert_eq!(cut(json!({}), "a b,c"), ["a 0-1", "b 2-3", "c 4-5"]);
        assert_eq!(cut(json!({"pattern": ","}), ",a,,b"), ["a 1-2", "b 4-5"]);
        assert_eq!(cut(json!({"pattern": "'([^']+)'", "group": 1}), "'a' 'bc'"), ["a 1-2", "bc 5-7"]);
        assert_eq!(cut(json!({"pattern": "x*"}), "ab"), ["a 0-1", "b 1-2"]);
        assert!(Cut::new(&mut parameters(&json!({"group": 1}))).is_err());
    }
}
