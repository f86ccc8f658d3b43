"""Random analysers and texts for bench/lucene.py: the tokens of `_analyze` beside those of inrush-lucene."""

import json
import pathlib
import random
import re
import subprocess
import urllib.error

from servers import request

# Texts of many scripts; a random text is made of them, of their letters and of random characters.
TEXTS = [
    "The quick brown foxes aren't jumping over the lazy dogs' bones, said John’s mother in 1984 (and 3.14 others).",
    "Relational organizations generously conflated the hopefulness of communities; running skies, dying, news & early plans!",
    "L'été dernier, j’ai mangé des pommes qu'on m'avait données à l’école jusqu'ici.",
    "Die Größe der Häuser überrascht Goethe, Bauern, quer, Aeussere und Strassenbahnen.",
    "Blåbærsyltetøj, räksmörgås, Aarhus, AAOE oo ao ae på søer; þorn og ðe.",
    "東京は日本の首都です。カタカナ ｶﾞｷﾞﾊﾟｱﾞ ｳﾞﾜﾞ Ａｂ１２ ﾞ ﾟ ヽﾞ",
    "الكِتَابُ الجَدِيد في المكتبة، آأإ ى ة ـــ ٣٤٥",
    "کتاب‌های فارسی یک ۱۲۳ ۀ ہ ے ٔ",
    "کوردی ڕەنگ هەیە ە‌ه ر ڒ ھ ي ى ك",
    "Привет, мир! Ёлки и еще раз ёж. 한국어 텍스트 ภาษาไทย हिन्दी १२३ தமிழ்",
    "अँगरेज़ी भाषाओं की लडकियाँ ऑअाॅ करेंगे বাংলা চাঁদ করেছিলাম বইগুলো ক্ষমা ਪੰਜਾਬੀ ગુજરાતી తెలుగు ಕನ್ನಡ മലയാളം",
    "user@example.com https://www.example.com/a/b/c?d=e&f=1 /usr/share/doc/ C:\\Windows\\System32 a.b.c",
    "foo_bar-baz FooBar XMLHttpRequest i18n $9.99 €5 ^`~ <b>x</b> \t tab\nline",
    "👩‍👩‍👧 🇫🇷 𝒳𝒴𝒵 𝟗𝟎 𠮷野家 ﬁ ß ẞ ŉ İıI Σς",
    "'tis 'S s' '' ’’ a'b'c ies's oxen's",
    "mailto:ann@example.com, HTTP://www.example.co.uk:80/~a?b=c#d! ftp://u:p@host/x;type=a [::1]:9 1.2.3.4/x example.com example.com- example.comé a.bo \"a b\"@x.org file:///a/b",
    "<p class=\"a>b\">Some <b>bold</b> &amp; <I>other</I> text<br/>of &eacute;t&#233; &#x1F600;</p><!-- no --><script>if (a<b) '</script>'</script><style>x</style> 1 < 2 &lt 3 <![CDATA[<x>]]> <?php ?>",
]
# Words of rules of synonyms, and of texts for them.
FEW = "quick brown fox the dog lazy a b wi-fi wifi ipod USA united states été 東京 x y".split()
# Pieces of web pages and of addresses.
HTML = "< > </ /> <! <!-- --> <!--# <![CDATA[ ]]> <? ?> & ; &# &#x &amp &amp; &notin &nbsp; &#65 &#xD83D;&#xDE00; &#55357;&#56832; &#1114112; &#x10FFFF; <b <b> </b> </p > <p> < i> </ i> <br <br> </br> <br/> <script> </script> <SCRIPT src='x'> </ script > <style> </style> <brx> = ' \" \\ a=\"b>c\" onclick='>' on class=x é:x東 \u00a0 \u2028 \n 😀 x".split(" ")
ADDRESSES = "http:// https:// ftp:// file:// mailto: MAILTO: www. example .com .co .co.uk .museum .me .men .menu .bo .boo .notld .xn--p1ai a b1 - -- _ : :80 :99999 / // ? # @ . .. , ; ( ) [ ] [::1] [1:2:3:4:5:6:7:8] [v1] 1.2.3.4 256.1.1.1 %20 % \" \\ \"a b\" user user.name + = & é 東 。 ’ 😀 \u0301 \u200d ! ~ 's ;type=a".split(" ")
STEMS = "run hop fall connect relat commun gener oper nation happi fli agre plaster troubl siz digit vietnam cal sens form hope good reviv allow infer aiport defens irrit replac adjust depend adopt homolog commun act angular effect bowdler prob ceas contr ol arsen sky dy ly ty idl gent ug ear on sing inn out cann herr earr proce exce succe new atl cosm bi and yell say boy enjoy luxuri".split()
ENDINGS = "s es ed ing ly ness ful ation ational tional ization izer ator alism iveness fulness ousness aliti iviti biliti logi icate ative alize iciti ical ement ment ent ance ence er able ible ant ism ate iti ous ive ize ion sion tion eed eedly edly ingly y ies ied ss us e ee ll le li ogi ogist fulli lessli less bli abli entli ousli eli alli ' 's 's' Y".split()
ENDINGS += "ion ition ication ization ies er or ism ity ility ality ivity ency ancy ic ical ial um ier eer ily ably eed ability izer ative".split()
# Words of a dictionary, before endings.
DICTIONARY = (pathlib.Path(__file__).parent.parent / "crates/inrush-lucene/src/analysis/token_filters/kstem/words.txt").read_text().split()
# Endings of German, Spanish, Italian and French, behind random letters.
OTHER_ENDINGS = """ern em en er es e s est st nen se eses ces os as es o a i hi he ie io ia ii aux eaux x issement issements issant ement ivement ficatrice ficateur catrice cateur atrice ateur trice
    ede ande ende ane ene hetene erte heten ar heter edes endes enes hetenes ens hetens ers ets et het ert ast dt vt leg eleg ig eig lig elig els lov elov slov hetslov
    heita heiter leiken leikar dom heit semd leik elser elsen else este aste eren aren ere are te ks rks
    ième teuse teur euse ère ive folle molle nnelle nnel ète ique esse inage isation ualisation isateur ation ition ie ée er ée rr ll""".split()
OTHER_LETTERS = "aeiouabcdfghklmnrstàáâäèéêëìíîïòóôöùúûüñçeenntrßåæøk"
CHARACTERS = [0x20, 0x2F, 0x2D, 0x27, 0x2019, 0x2E, 0x61, 0x65, 0x6F, 0x75, 0x53, 0x73, 0x31, 0x1D4B3, 0x1F469, 0x200D, 0xE4, 0xDF, 0xFF9E, 0xFF76, 0x644, 0x647, 0x200C, 0x301, 0xFFFD]


def text(dice):
    kind = dice.random()
    if kind < 0.3:
        return dice.choice(TEXTS)
    if kind < 0.6:
        words = dice.choice(TEXTS).split() + dice.choice(TEXTS).split()
        return " ".join(dice.choice(words) for _ in range(dice.randrange(0, 9)))
    if kind < 0.68:
        pieces = dice.choice([HTML, ADDRESSES])
        return "".join(dice.choice(pieces) + dice.choice(["", "", "", " "]) for _ in range(dice.choice([3, 8, 20, 200])))
    if kind < 0.74:
        return " ".join(dice.choice(FEW) for _ in range(dice.randrange(1, 20)))
    if kind < 0.82:
        return " ".join(dice.choice(dice.choice([STEMS, DICTIONARY])) + "".join(dice.choice(ENDINGS) for _ in range(dice.choice([0, 1, 1, 2]))) for _ in range(dice.randrange(1, 12)))
    if kind < 0.93:
        return " ".join("".join(dice.choice(OTHER_LETTERS) for _ in range(dice.randrange(0, 8))) + dice.choice(OTHER_ENDINGS) for _ in range(dice.randrange(1, 25)))
    letters = dice.choice(TEXTS) + "".join(map(chr, CHARACTERS)) * 2
    return "".join(dice.choice(letters) for _ in range(dice.choice([0, 1, 2, 5, 12, 30, 300])))


def maybe(dice, definition, **parameters):
    """Some of the parameters, with one of their values each."""
    for name, found in parameters.items():
        if dice.random() < 0.5:
            definition[name] = dice.choice(found)
    return definition


def written(dice, value):
    """A number or a boolean, sometimes as a text."""
    return value if dice.random() < 0.8 else json.dumps(value)


def sizes(dice, least="min_gram", most="max_gram", first=1):
    a = dice.choice([first, first, first + 1, first + 2])
    return {least: written(dice, a), most: written(dice, a + dice.choice([0, 1, 1]) + (a == 1))}


def words(dice):
    all_words = " ".join(TEXTS).split() + STEMS
    return [dice.choice(all_words).replace(",", "") or "x" for _ in range(dice.randrange(1, 30))]


LANGUAGES = "arabic armenian basque bengali brazilian bulgarian catalan czech danish dutch english estonian finnish french german greek hindi hungarian indonesian irish italian lithuanian norwegian persian portuguese russian spanish thai turkish".split()


def token_filter(dice):
    """The definition of a filter, or the name of one that the server has."""
    kind = dice.choice(FILTERS)
    if kind == "keyword_repeat" or dice.random() < (0.15 if kind in MADE else 0.7) and kind not in NEEDS:
        return kind
    return {"type": kind} | (MADE[kind](dice) if kind in MADE else {})


# Regular expressions of Java, and what stands for what they find.
PATTERNS = [
    r"\s+", r"[^a-zA-Z0-9]", r"\W+", r"[^\p{L}\d]+", r"(\d+)[-.](\d+)", r"^(\w)|(\w)$", r"(?i)the|AN?", r"[aeiou]{1,2}", r"x*", r"(?:ab|a)(c|bcd)?", r"(.)\.", r"[\w.-]+@(\w+)", r".*?(e)", r"(.*)", r"\p{Punct}",
    r"\p{InCombiningDiacriticalMarks}+", r"[\p{Lu}&&[^A]]", r"(?<=a)b", r"\b", r"(a+)+", r"[ß-ü東]", r"\P{L}", r"(?<first>[a-z]+)(?<second>[A-Z])", r"[-_/]", r"[\[\]\(\)]", r"\.$", r"^\s|\s$", r"\u00e9|\x65", r"\Q.\E", r"[a-f&&x]", r"([a-z])([A-Z])",
    r"[^&a-z-]", r"(\p{L}+)|(\d+)", r"-|", r"a{2,}", r"\h", r"[\w-.]", r"\S", r"\p{Sc}\d+", r"(s)(?:es)?$", "'", "𝒳", "[𝒳𝒴]", r"((l)(es?))",
]
# Looks behind and ahead, and flags within.
PATTERNS += [
    r"([^\p{L}\d]+)|(?<=\D)(?=\d)|(?<=\d)(?=\D)|(?<=[\p{L}&&[^\p{Lu}]])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}[\p{L}&&[^\p{Lu}]])",
    r"(?<=[a-z])(?=[A-Z])", r"(?=[A-Z])", r"(?<!a)(?!e)", r"[aeiou]+|(?<=t)(?=h)", r"([1|2]\d{3})|((?i)the|fox|mother)|Q", r"(?=e.)|(?<=..o)", r"x*|(?<=é)", r"((?i)T)h|a", r"[\p{L}&&[^a-m]]+", r"[a-z_&&[^aeiou]]",
]
REPLACEMENTS = ["", "$1", "-", "$2$1", "x", "\\$", "$0$0", " ", "𝒳", "$1 $2", "${first}", "$10"]
FLAGS = ["CASE_INSENSITIVE", "DOTALL", "CASE_INSENSITIVE|DOTALL", "LITERAL", "", "MULTILINE"]
TYPES = ["# => ALPHA", "- => ALPHANUM", "\\u002E => DIGIT", "é => SUBWORD_DELIM", "a => UPPER", "1 => LOWER", "@ => DIGIT", "東=>SUBWORD_DELIM"]


def replacing(dice):
    """A pattern, and a replacement with no other groups than it has, which a server refuses."""
    made = maybe(dice, {"pattern": dice.choice(PATTERNS)}, flags=FLAGS)
    groups = 0 if "LITERAL" in made.get("flags", "") else len(re.findall(r"(?<!\\)\((?!\?)|\(\?<[a-z]", made["pattern"]))
    fits = lambda text: all(int(number) <= groups for number in re.findall(r"(?<!\\)\$(\d)", text)) and ("{" not in text or groups and "?<first>" in made["pattern"])
    return maybe(dice, made, replacement=[text for text in REPLACEMENTS if fits(text)])


def delimiters(dice, **more):
    names = "generate_word_parts generate_number_parts catenate_words catenate_numbers catenate_all preserve_original split_on_case_change split_on_numerics stem_english_possessive".split()
    found = {name: dice.choice(BOOLEANS) for name in names if dice.random() < 0.4}
    return maybe(dice, found, type_table=[dice.sample(TYPES, 3)], protected_words=[words(dice)], **more)


def synonyms(dice):
    """Rules; those that the parts before cannot read are left out."""
    phrase = lambda: " ".join(dice.choice(FEW) for _ in range(dice.choice([1, 1, 1, 2, 3])))
    phrases = lambda most: ", ".join(phrase() for _ in range(dice.randrange(1, most)))
    rules = [f"{phrases(4)} => {phrases(4)}" if dice.random() < 0.5 else phrases(5) for _ in range(dice.choice([1, 3, 9]))]
    return maybe(dice, {"type": dice.choice(["synonym", "synonym_graph"]), "synonyms": dice.choice([rules, [*rules, "# no rule", "a\\,b => \\x"]]), "lenient": True}, expand=BOOLEANS)


CHAINED = ["lowercase", "kstem", "uppercase", "asciifolding", "porter_stem", "reverse", "trim", "german_normalization", "apostrophe", "stemmer", "snowball", "cjk_width"]
LIGHT = ("light_german", "minimal_german", "light_spanish", "light_italian", "light_french", "minimal_french", "lightFrench", "arabic", "hindi", "bengali", "norwegian", "light_norwegian", "light_nynorsk", "minimalNorwegian", "minimal_nynorsk")
NEEDS = ("keep", "keyword_marker", "stemmer_override", "pattern_replace", "pattern_capture", "multiplexer")
BOOLEANS = [True, False, "true", "false"]
MADE = {
    "asciifolding": lambda dice: maybe(dice, {}, preserve_original=BOOLEANS),
    "lowercase": lambda dice: maybe(dice, {}, preserve_original=BOOLEANS),
    "ngram": lambda dice: maybe(dice, sizes(dice), preserve_original=BOOLEANS),
    "edge_ngram": lambda dice: maybe(dice, {"min_gram": dice.choice([1, 2, 3]), "max_gram": dice.choice([3, 5, 20])}, preserve_original=BOOLEANS, side=["front", "back"]),
    "shingle": lambda dice: maybe(dice, dice.choice([{}, {"min_shingle_size": 2, "max_shingle_size": 3}, {"min_shingle_size": "3", "max_shingle_size": 3}]), output_unigrams=BOOLEANS, token_separator=["", "_", " + "], filler_token=["", "-", "__"]),
    "stop": lambda dice: maybe(dice, {}, stopwords=["_none_", words(dice), ["_english_", "x"], f"_{dice.choice(LANGUAGES)}_", f"_{dice.choice(LANGUAGES)}_", "The, and,of"], ignore_case=BOOLEANS, remove_trailing=[True]),
    "keep": lambda dice: maybe(dice, {"keep_words": words(dice)}, keep_words_case=BOOLEANS),
    "elision": lambda dice: maybe(dice, {"articles": dice.choice([["l", "m", "qu"], "l,j,ox", ["S", "A"]])}, articles_case=BOOLEANS),
    "keyword_marker": lambda dice: maybe(dice, {"keywords": words(dice)}, ignore_case=BOOLEANS),
    "stemmer_override": lambda dice: {"rules": [f"{dice.choice(STEMS)}{dice.choice(ENDINGS)}, {dice.choice(STEMS)} => {dice.choice(STEMS)}" for _ in range(9)]},
    "stemmer": lambda dice: dice.choice([{}, *({key: value} for key in ("language", "name") for value in ("english", "porter", "porter2", "light_english", "minimal_english", "possessive_english", "English", *LIGHT))]),
    "snowball": lambda dice: dice.choice([{}, {"language": "English"}, {"language": "english"}, {"language": "Norwegian"}, {"name": "norwegian"}]),
    "length": lambda dice: maybe(dice, {}, min=[0, 2, "3"], max=[3, 5, 9]),
    "truncate": lambda dice: {"length": dice.choice([1, 2, 3, "8"])},
    "limit": lambda dice: maybe(dice, {}, max_token_count=[1, 2, "7"], consume_all_tokens=BOOLEANS),
    "pattern_replace": lambda dice: maybe(dice, replacing(dice), all=BOOLEANS),
    "pattern_capture": lambda dice: maybe(dice, {"patterns": dice.sample(PATTERNS, dice.choice([1, 1, 2, 3]))}, preserve_original=BOOLEANS),
    "word_delimiter": delimiters,
    "multiplexer": lambda dice: maybe(dice, {"filters": [", ".join(dice.sample(CHAINED, dice.choice([1, 1, 2, 3]))) for _ in range(dice.choice([1, 2, 3]))]}, preserve_original=BOOLEANS),
    "word_delimiter_graph": lambda dice: delimiters(dice, ignore_keywords=BOOLEANS, adjust_offsets=BOOLEANS),
    "unique": lambda dice: maybe(dice, {}, only_on_same_position=BOOLEANS),
}
FILTERS = [
    *MADE, "lowercase", "lowercase", "uppercase", "trim", "porter_stem", "kstem", "kstem", "remove_duplicates", "reverse", "apostrophe", "keyword_repeat", "decimal_digit", "cjk_width", "german_normalization",
    "scandinavian_folding", "scandinavian_normalization", "arabic_normalization", "persian_normalization", "sorani_normalization",
    "indic_normalization", "hindi_normalization", "bengali_normalization",
]

NORMALIZING = [
    "lowercase", "uppercase", "asciifolding", "trim", "decimal_digit", "cjk_width", "german_normalization", "scandinavian_folding", "scandinavian_normalization",
    "arabic_normalization", "persian_normalization", "sorani_normalization", "indic_normalization", "hindi_normalization", "bengali_normalization", "elision",
]


# The filters that servers have before synonyms.
BEFORE_SYNONYMS = {*NORMALIZING, "stop", "length", "truncate", "keep", "stemmer", "snowball", "porter_stem", "kstem", "apostrophe", "reverse", "keyword_marker", "stemmer_override"}


def tokenizer(dice):
    kind = dice.choice(["standard", "standard", "whitespace", "whitespace", "letter", "lowercase", "keyword", "char_group", "ngram", "edge_ngram", "path_hierarchy", "pattern"])
    named = kind == "lowercase" or kind != "char_group" and dice.random() < 0.3
    if named:
        return kind
    of = {"token_chars": [["letter"], ["letter", "digit"], "digit,symbol", ["whitespace", "punctuation"], [], ["custom", "letter"]], "custom_token_chars": ["+-_x"]}
    made = {
        "char_group": lambda: {"tokenize_on_chars": dice.sample(["whitespace", "letter", "digit", "punctuation", "symbol", "-", "/", "\\n", "é", "\\u0061", "東"], dice.randrange(1, 4))} | maybe(dice, {}, max_token_length=[2, 5, 255, "9"]),
        "ngram": lambda: maybe(dice, sizes(dice) | {"custom_token_chars": "+-_x"}, token_chars=of["token_chars"]),
        "edge_ngram": lambda: maybe(dice, {"min_gram": dice.choice([1, 2, 3]), "max_gram": dice.choice([3, "5", 20]), "custom_token_chars": "+-"}, token_chars=of["token_chars"]),
        "path_hierarchy": lambda: maybe(dice, {}, delimiter=["/", "-", "a", "é"], replacement=["/", "-", "ß"], skip=[0, 1, "2"], reverse=BOOLEANS),
        "pattern": lambda: maybe(dice, {}, pattern=PATTERNS, flags=FLAGS, group=[-1, 0, "-1"]),
        "keyword": lambda: maybe(dice, {}, buffer_size=[10, 256]),
        "standard": lambda: maybe(dice, {}, max_token_length=[255]),
        "whitespace": lambda: maybe(dice, {}, max_token_length=["255"]),
    }
    return {"type": kind} | (made[kind]() if kind in made else {})


def mapping_filter(dice):
    sources = ["a", "aa", "ph", "é", "ß", "東京", "\\u0061b", "s ", "-", "xyz", "𝒳", "the", "'", "\\\\"]
    return {"type": "mapping", "mappings": [f"{source} => {dice.choice(['', 'x', 'yy', '東京', 'ae', '𝒳', ' '])}" for source in dice.sample(sources, dice.randrange(1, 7))]}


ESCAPED_TAGS = ["b", "B,I", ["p", "br"], ["script"], ["style", "BR", "x:y"], ["kbd", "a"], "_none_"]


def html_filter(dice):
    return maybe(dice, {"type": "html_strip"}, escaped_tags=ESCAPED_TAGS)


def pattern_filter(dice):
    return {"type": "pattern_replace"} | replacing(dice)


def analysis(dice, count):
    """Settings with analysers `a0`, `a1` and so on."""
    found = {"analyzer": {}, "tokenizer": {}, "filter": {}, "char_filter": {}}

    def part(kind, definition):
        if isinstance(definition, str):
            return definition
        name = f"{kind[0]}{len(found[kind])}"
        found[kind][name] = definition
        return name

    for number in range(count):
        if dice.random() < 0.1:
            kind = dice.choice(["english", "stop", "standard", "pattern", "french", "german", "italian", "spanish", "norwegian", "norwegian"])
            analyzer = maybe(dice, {"type": kind}, stopwords=["_french_", words(dice), "_none_"])
            if kind == "pattern":
                maybe(dice, analyzer, pattern=PATTERNS, lowercase=BOOLEANS, flags=FLAGS)
            elif kind not in ("stop", "standard"):
                maybe(dice, analyzer, stem_exclusion=[words(dice)])
        else:
            filters = [part("filter", token_filter(dice)) for _ in range(dice.choice([0, 1, 1, 2, 3, 4, 6, 9]))]
            analyzer = {"tokenizer": part("tokenizer", tokenizer(dice)), "filter": filters}
            if dice.random() < 0.25:
                kind = lambda name: found["filter"].get(name, {"type": name})
                before = next((at for at, name in enumerate(filters) if kind(name)["type"] not in BEFORE_SYNONYMS or "preserve_original" in kind(name)), len(filters))
                filters.insert(dice.randrange(before + 1), part("filter", synonyms(dice)))
            if dice.random() < 0.3:
                analyzer["char_filter"] = [part("char_filter", dice.choice([mapping_filter, pattern_filter, html_filter])(dice)) for _ in range(dice.choice([1, 1, 2]))]
        found["analyzer"][f"a{number}"] = analyzer
    return found


def flat(value, name):
    if not isinstance(value, dict):
        return {name: value}
    return {key: inner for part, below in value.items() for key, inner in flat(below, f"{name}.{part}").items()}


def ask(url, method, body=None):
    """As `request`, and shows what a server says of an error."""
    try:
        return request(url, method, body)
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{method} {url}: {error.code} {error.read().decode()[:1000]} {json.dumps(body)[:3000]}") from error


def written_term(term):
    """A term as Lucene writes it: half a pair of UTF-16 is no character."""
    return "".join("\ufffd" if 0xD800 <= ord(c) < 0xE000 else c for c in term)


def placed(texts):
    """Tokens of several texts as `_analyze` shows them: with positions and offsets that go on."""
    tokens, position, offset = [], -1, 0
    for one in texts:
        for term, step, start, end in one[:-1]:
            position += step
            tokens.append((term, position, offset + start, offset + end))
        _, step, _, end = one[-1]
        position, offset = position + step + 100, offset + end + 1
    return tokens


def rounds(url, program, lucene, seed, count, analysers=25, texts=12):
    """Compares random analysers; yields how many were compared, of how many, how many tokens, and what differs."""
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as ours:
        for number in range(seed, seed + count):
            dice = random.Random(number)
            found = analysis(dice, analysers)
            body = {"settings": {"number_of_shards": 1, "number_of_replicas": 0, "max_ngram_diff": 50, "max_shingle_diff": 9, "analyze.max_token_count": 1_000_000, "analysis": found}}
            ask(f"{url}/tokens", "PUT", body)
            compared, tokens, different, refusals = 0, 0, [], []
            try:
                for name, analyzer in found["analyzer"].items():
                    all_texts = [text(dice) for _ in range(texts)]
                    print(json.dumps({"settings": flat(found, "index.analysis"), "analyzer": name, "lucene": lucene, "texts": all_texts}), file=ours.stdin, flush=True)
                    answer = json.loads(ours.stdout.readline())
                    if isinstance(answer, dict):
                        refusals.append(answer["refused"])
                        continue
                    # Of other texts only a server knows the tokens.
                    all_texts = [source for source, known in zip(all_texts, answer, strict=True) if known]
                    mine = placed([known for known in answer if known])
                    theirs = [(written_term(token["token"]), token["position"], token["start_offset"], token["end_offset"]) for token in ask(f"{url}/tokens/_analyze", "POST", {"analyzer": name, "text": all_texts})["tokens"]]
                    compared, tokens = compared + 1, tokens + len(theirs)
                    if mine != theirs:
                        used = {kind: {part: found[kind].get(part) for part in analyzer.get(key, [])} for kind, key in (("filter", "filter"), ("char_filter", "char_filter"))}
                        at = next((i for i, pair in enumerate(zip(mine, theirs)) if pair[0] != pair[1]), min(len(mine), len(theirs)))
                        different.append(f"seed {number} {name} {json.dumps(analyzer, ensure_ascii=False)} {found['tokenizer'].get(analyzer.get('tokenizer'))} {json.dumps(used, ensure_ascii=False)}\n    ours   {mine[max(0, at - 1):at + 3]}\n    theirs {theirs[max(0, at - 1):at + 3]}")
            finally:
                request(f"{url}/tokens", "DELETE")
            yield compared, analysers, tokens, different, refusals


def chain(dice):
    """A tokenizer and filters as settings, and as Lucene's own parts."""
    def pick(*choices):
        return dice.choice(choices)

    def sized(name, kind, least, most, keys):
        return {"type": kind, keys[0]: least, keys[1]: most}, f"{name},minGramSize={least},maxGramSize={most}"

    def tokenizer():
        a, skip, reverse = pick(1, 2), pick(0, 0, 1, 2), pick("true", "false")
        return pick(
            *([({"type": kind}, kind) for kind in ("standard", "whitespace", "letter", "keyword")] * 2),
            sized("nGram", "ngram", a, a + 1, ("min_gram", "max_gram")), sized("edgeNGram", "edge_ngram", a, a + 7, ("min_gram", "max_gram")),
            ({"type": "path_hierarchy", "delimiter": "/", "replacement": "-", "skip": skip, "reverse": reverse}, f"pathHierarchy,delimiter=/,replace=-,skip={skip},reverse={reverse}"),
        )

    def one():
        a, flag, most = pick(1, 2, 3), pick("true", "false"), pick(1, 2, 5)
        same = {
            "lowercase": "lowercase", "uppercase": "uppercase", "trim": "trim", "porter_stem": "porterStem", "kstem": "kStem", "remove_duplicates": "removeDuplicates", "reverse": "reverseString",
            "apostrophe": "apostrophe", "decimal_digit": "decimalDigit", "cjk_width": "cjkWidth", "german_normalization": "germanNormalization", "scandinavian_folding": "scandinavianFolding",
            "scandinavian_normalization": "scandinavianNormalization", "arabic_normalization": "arabicNormalization", "persian_normalization": "persianNormalization",
            "sorani_normalization": "soraniNormalization", "indic_normalization": "indicNormalization", "hindi_normalization": "hindiNormalization", "bengali_normalization": "bengaliNormalization", "snowball": "snowballPorter", "elision": "elision", "stop": "stop", "keyword_repeat": "keywordRepeat",
        }
        gram, lucene = pick(sized("nGram", "ngram", a, a + 1, ("min_gram", "max_gram")), sized("edgeNGram", "edge_ngram", a, a + 9, ("min_gram", "max_gram")))
        return pick(
            *same.items(),
            (gram | {"preserve_original": flag}, f"{lucene},preserveOriginal={flag}"),
            ({"type": "asciifolding", "preserve_original": flag}, f"asciiFolding,preserveOriginal={flag}"),
            ({"type": "length", "min": a, "max": a + 5}, f"length,min={a},max={a + 5}"),
            ({"type": "truncate", "length": most}, f"truncate,prefixLength={most}"),
            ({"type": "limit", "max_token_count": most, "consume_all_tokens": flag}, f"limitTokenCount,maxTokenCount={most},consumeAllTokens={flag}"),
            ({"type": "shingle", "min_shingle_size": 2, "max_shingle_size": most + 1, "output_unigrams": flag, "token_separator": "_"}, f"shingle,minShingleSize=2,maxShingleSize={most + 1},outputUnigrams={flag},tokenSeparator=_"),
            ({"type": "stemmer", "language": "minimal_english"}, "englishMinimalStem"),
            *(({"type": "stemmer", "language": f"{form}_{language}"}, f"{language}{form.capitalize()}Stem") for form, language in (("light", "german"), ("minimal", "german"), ("light", "spanish"), ("light", "italian"), ("light", "french"), ("minimal", "french"))),
            ({"type": "stemmer", "language": "possessive_english"}, "englishPossessive"),
            *(({"type": "stemmer", "language": language}, f"{language}Stem") for language in ("arabic", "hindi", "bengali")),
            *(({"type": "stemmer", "language": f"{form}_{name}"}, f"norwegian{form.capitalize()}Stem,variant={variant}") for form in ("light", "minimal") for name, variant in (("norwegian", "nb"), ("nynorsk", "nn"))),
            *[({"type": "snowball", "language": "Norwegian"}, "snowballPorter,language=Norwegian")] * 2,
        )

    tags = dice.choice([None, None, "", "b p BR", "script style Kbd x:y"])
    characters = [] if tags is None else [({"type": "html_strip", "escaped_tags": tags.split()}, "htmlStrip" + (f",escapedTags={tags.replace(' ', '|')}" if tags else ""))]
    return characters, tokenizer(), [one() for _ in range(dice.choice([0, 1, 1, 2, 3, 4, 5]))]


def asked(texts):
    return ";".join(" ".join(f"{ord(c):x}" for c in text) for text in texts)


def answered(line):
    """The tokens and ends that the Java program writes, as inrush-lucene has them."""
    texts = []
    for one in line.rstrip("\n").split("\t")[:-1]:
        *tokens, end = one.split(";")
        rows = []
        for token in tokens:
            units, *numbers = token.split(",")
            term = b"".join(int(unit, 16).to_bytes(2, "big") for unit in units.split()).decode("utf-16-be", "surrogatepass")
            rows.append([written_term(term), *map(int, numbers)])
        step, last = map(int, end.split(","))
        texts.append([*rows, [None, step, last, last]])
    return texts


def chains(java, program, lucene, seed, count, texts=12):
    """Compares random chains with Lucene's own parts, without a server; yields whether one was compared, its tokens, and what differs."""
    with subprocess.Popen([*java, "Tokens"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as theirs, subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as ours:
        for number in range(seed, seed + count):
            dice = random.Random(number)
            characters, (tokenizer, their_tokenizer), filters = chain(dice)
            all_texts = [text(dice).replace("\t", " ") for _ in range(texts)]
            found = {"analyzer": {"a": {"tokenizer": "t", "filter": []}}, "tokenizer": {"t": tokenizer}, "filter": {}, "char_filter": {f"c{place}": definition for place, (definition, _) in enumerate(characters)}}
            found["analyzer"]["a"]["char_filter"] = [*found["char_filter"]]
            for place, (definition, _) in enumerate(filters):
                if isinstance(definition, dict):
                    found["filter"][f"f{place}"] = definition
                found["analyzer"]["a"]["filter"].append(definition if isinstance(definition, str) else f"f{place}")
            print(json.dumps({"settings": flat(found, "index.analysis"), "analyzer": "a", "lucene": lucene, "texts": all_texts}), file=ours.stdin, flush=True)
            mine = json.loads(ours.stdout.readline())
            if isinstance(mine, dict):
                yield False, 0, []
                continue
            print(";".join([*(name for _, name in characters), their_tokenizer]), ";".join(name for _, name in filters), asked(all_texts), sep="\t", file=theirs.stdin, flush=True)
            other = answered(theirs.stdout.readline())
            different = []
            for source, a, b in zip(all_texts, mine, other, strict=True):
                if a and a != b:
                    at = next((i for i, pair in enumerate(zip(a, b)) if pair[0] != pair[1]), min(len(a), len(b)))
                    different.append(f"seed {number} {characters} {their_tokenizer} {filters}\n    ours   {a[at:at + 2]}\n    theirs {b[at:at + 2]}\n    text   {source!r}")
            yield True, sum(map(len, other)) - len(other), different
