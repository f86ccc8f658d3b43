// Writes the classes of characters for the analyser `standard`. Beside it, `uVERSION/package` are the
// unpacked npm packages `@unicode/unicode-VERSION`. usage: node classes.mjs WORDS_VERSION EMOJI_VERSION
const [words, emoji] = [process.argv[2] ?? '12.1.0', process.argv[3] ?? '12.1.0'];
const set = async (version, path) => new Set((await import(`./u${version}/package/${path}/code-points.mjs`)).default);
const wb = (name) => set(words, `Word_Break/${name}`);
const union = (...sets) => new Set(sets.flatMap((s) => [...s]));
const minus = (a, ...others) => new Set([...a].filter((c) => !others.some((o) => o.has(c))));
const and = (a, b) => new Set([...a].filter((c) => b.has(c)));
const range = (a, b) => new Set(Array.from({ length: b - a + 1 }, (_, i) => a + i));
const [letter, hebrew, numeric, katakana, midLetter, midNum, midNumLet, single, double, joiner, extend, format, zwj, flag] = await Promise.all(
  ['ALetter', 'Hebrew_Letter', 'Numeric', 'Katakana', 'MidLetter', 'MidNum', 'MidNumLet', 'Single_Quote', 'Double_Quote', 'ExtendNumLet', 'Extend', 'Format', 'ZWJ', 'Regional_Indicator'].map(wb));
const complex = await set(words, 'Line_Break/Complex_Context');
const han = await set(words, 'Script/Han'), hiragana = await set(words, 'Script/Hiragana');
const digits = await set(words, 'General_Category/Decimal_Number');
const e = (name) => set(emoji, `Binary_Property/${name}`);
const [isEmoji, modifier, base, pictographic] = await Promise.all(['Emoji', 'Emoji_Modifier', 'Emoji_Modifier_Base', 'Extended_Pictographic'].map(e));
const keyBase = union(range(0x30, 0x39), [0x23, 0x2a]);
const accidental = new Set([0xa9, 0xae, 0x2122, 0x3030, 0x303d]);
const ignored = union(extend, format, zwj);
const sets = {
  IGNORED: ignored,
  PLAIN_IGNORED: minus(ignored, new Set([0xfe0e, 0xfe0f])),
  ZWJ: zwj,
  KEY_BASE: keyBase,
  KEY_CAP: new Set([0x20e3]),
  EMOJI: union(pictographic, minus(isEmoji, flag, keyBase, accidental, modifier)),
  MODIFIER_BASE: base,
  MODIFIER: modifier,
  AS_EMOJI: new Set([0xfe0f]),
  TAG: range(0xe0020, 0xe007e),
  TAG_END: new Set([0xe007f]),
  FLAG: flag,
  LETTER: union(letter, hebrew),
  HEBREW: hebrew,
  DIGIT: union(numeric, and(range(0xff00, 0xffef), digits)),
  KATAKANA: katakana,
  MID_LETTER: union(midLetter, midNumLet, single),
  MID_DIGIT: union(midNum, midNumLet, single),
  JOINER: joiner,
  HAN: han,
  HIRAGANA: hiragana,
  SINGLE_QUOTE: single,
  DOUBLE_QUOTE: double,
  COMPLEX: complex,
};
const names = Object.keys(sets);
const mask = new Map();
names.forEach((name, bit) => sets[name].forEach((c) => mask.set(c, (mask.get(c) ?? 0) | (1 << bit))));
const rows = [];
for (const c of [...mask.keys()].sort((a, b) => a - b)) {
  const last = rows[rows.length - 1];
  if (last && last[1] === c - 1 && last[2] === mask.get(c)) last[1] = c; else rows.push([c, c, mask.get(c)]);
}
const hex = (n) => n.toString(16);
console.log('//! What characters are for the analyser `standard`; made by `scripts/classes.mjs` from the Unicode');
console.log(`//! Character Database: version ${words} for words, scripts and lines, and ${emoji === words ? '' : emoji + ' '}for emoji. Do not edit.`);
console.log();
console.log('/// The bits of a class.');
console.log('pub(super) mod bit {');
names.forEach((name, bit) => console.log(`    pub(in super::super) const ${name}: u32 = 1 << ${bit};`));
console.log('}');
console.log();
console.log('/// First character, last character, and bits; characters between have none.');
console.log('#[rustfmt::skip]');
console.log(`pub(super) const RANGES: [(u32, u32, u32); ${rows.length}] = [`);
let line = '   ';
for (const [a, b, m] of rows) {
  const item = ` (0x${hex(a)}, 0x${hex(b)}, 0x${hex(m)}),`;
  if (line.length + item.length > 100) { console.log(line); line = '   '; }
  line += item;
}
console.log(line);
console.log('];');
