use serde_json::{Value, json};

use crate::analysis::{Analysis, Analyzer};

/// The terms of a text, with a sign for each position further than the one before.
fn terms(definition: Value, text: &str) -> String {
    let mut settings = serde_json::Map::new();
    let Value::Object(definition) = definition else { panic!("{definition}") };
    for (path, value) in definition {
        settings.insert(format!("index.analysis.{path}"), value);
    }
    let analyzer = Analysis::of_settings(&settings, [10, 4, 0]).analyzer("a").unwrap_or_else(|part| panic!("{part}"));
    let Analyzer::Pipeline(pipeline) = analyzer else { panic!("{analyzer:?}") };
    let mut all = String::new();
    let end = pipeline.each(text, true, |term| {
        all.push_str(&"+".repeat(term.increment as usize));
        all.push_str(std::str::from_utf8(term.term).unwrap());
        all.push(' ');
    });
    all.push_str(&"+".repeat(end.increment as usize));
    all.trim_end().to_owned()
}

/// The terms that a filter makes of words.
fn filtered(mut filter: Value, text: &str) -> String {
    let mut settings = json!({ "analyzer.a.tokenizer": "whitespace", "analyzer.a.filter": ["f"] });
    for (name, value) in filter.as_object_mut().unwrap() {
        settings[format!("filter.f.{name}")] = value.take();
    }
    terms(settings, text)
}

/// The terms that the filters of names make of words.
fn named(filters: &str, text: &str) -> String {
    terms(json!({ "analyzer.a.tokenizer": "whitespace", "analyzer.a.filter": filters }), text)
}

/// What is refused of a filter.
fn refused(mut filter: Value) -> String {
    let mut settings = serde_json::Map::new();
    settings.insert("index.analysis.analyzer.a.tokenizer".to_owned(), json!("standard"));
    settings.insert("index.analysis.analyzer.a.filter".to_owned(), json!(["lowercase", "f"]));
    for (name, value) in filter.as_object_mut().unwrap() {
        settings.insert(format!("index.analysis.filter.f.{name}"), value.take());
    }
    Analysis::of_settings(&settings, [10, 4, 0]).analyzer("a").unwrap_err()
}

#[test]
fn parts_of_terms() {
    let edge = json!({"type": "edge_ngram", "min_gram": "2", "max_gram": 3});
    assert_eq!(filtered(edge, "abcd x 𝒳𝒴z ab"), "+ab abc ++𝒳𝒴 𝒳𝒴z +ab");
    let kept = json!({"type": "edge_ngram", "min_gram": 2, "max_gram": 3, "preserve_original": "true"});
    assert_eq!(filtered(kept, "abcd x ab"), "+ab abc abcd +x +ab");
    let back = json!({"type": "edge_ngram", "side": "back"});
    assert_eq!(filtered(back, "abc x"), "+c bc +x");
    assert_eq!(filtered(json!({"type": "ngram"}), "abc x"), "+a ab b bc c +x");
    let kept = json!({"type": "ngram", "min_gram": 2, "max_gram": 2, "preserve_original": true});
    assert_eq!(filtered(kept, "abc x aa a"), "+ab bc abc +x +aa +a");
    assert_eq!(named("edge_ngram", "abc"), "+a");
    assert_eq!(filtered(json!({"type": "ngram", "min_gram": 3, "max_gram": 3}), "abc x"), "+abc +");
}

#[test]
fn words_that_are_left_out_leave_their_positions() {
    assert_eq!(named("lowercase,stop", "The quick and the red of"), "++quick +++red +");
    let own = json!({"type": "stop", "stopwords": ["_french_", "x"], "ignore_case": true});
    assert_eq!(filtered(own, "LE x z"), "+++z");
    assert_eq!(filtered(json!({"type": "stop", "stopwords": "_none_"}), "the"), "+the");
    assert_eq!(filtered(json!({"type": "keep", "keep_words": ["a"]}), "a b a"), "+a ++a");
    assert_eq!(filtered(json!({"type": "length", "min": 2, "max": 3}), "a ab abcd 𝒳"), "++ab ++𝒳");
    assert_eq!(filtered(json!({"type": "unique"}), "a b a c"), "+a +b +c");
    let same = json!({"type": "unique", "only_on_same_position": true});
    assert_eq!(filtered(same, "a b a"), "+a +b +a");
    assert_eq!(named("keyword_repeat,porter_stem,remove_duplicates", "cats cat"), "+cats cat +cat");
    assert_eq!(named("stop,limit", "a b c"), "++b +");
    assert_eq!(named("word_delimiter,limit", "a-b"), "+a");
    let all = json!({"_name": "remark", "type": "limit", "max_token_count": 2, "consume_all_tokens": true});
    assert_eq!(filtered(all, "a b c"), "+a +b");
}

#[test]
fn terms_are_cut_and_turned() {
    assert_eq!(named("truncate", "abcdefghijklm abc"), "+abcdefghij +abc");
    assert_eq!(filtered(json!({"type": "truncate", "length": 2}), "a𝒳 abc"), "+a\u{fffd} +ab");
    let cut = json!({
        "analyzer.a.tokenizer": "whitespace", "analyzer.a.filter": ["f", "unique"], "filter.f.type": "truncate", "filter.f.length": 1,
    });
    assert_eq!(terms(cut, "𝒳 👩 𝒴"), "+\u{fffd} +\u{fffd}");
    assert_eq!(named("reverse", "ab𝒳c"), "+c𝒳ba");
    assert_eq!(named("apostrophe", "Ali'nin x’y z"), "+Ali +x +z");
    assert_eq!(named("elision", "l'été J’ai aujourd'hui"), "+été +ai +aujourd'hui");
    let own = json!({"type": "elision", "articles": ["l"], "articles_case": false});
    assert_eq!(filtered(own, "l'a L'a m'a"), "+a +L'a +m'a");
    let fold = json!({"type": "asciifolding", "preserve_original": true});
    assert_eq!(filtered(fold, "été a"), "+ete été +a");
}

#[test]
fn characters_that_are_written_alike() {
    assert_eq!(named("decimal_digit", "٣7७ x²"), "+377 +x²");
    assert_eq!(named("cjk_width", "Ａ１ ｶﾞﾊﾟﾋﾞｱﾞｳﾞ"), "+A1 +ガパビア\u{3099}ヴ");
    assert_eq!(
        named("german_normalization", "größe goethe quelle bauer müssen aeuß"),
        "+grosse +gothe +quelle +bauer +mussen +auss"
    );
    assert_eq!(named("scandinavian_folding", "blåbær räksmörgås AArhus oo"), "+blabar +raksmorgas +Arhus +o");
    assert_eq!(named("scandinavian_normalization", "räksmörgås AArhus oe ao"), "+ræksmørgås +Århus +ø +å");
    assert_eq!(named("arabic_normalization", "\u{622}\u{64b}\u{649}\u{629}"), "+\u{627}\u{64a}\u{647}");
    assert_eq!(named("persian_normalization", "\u{6cc}\u{6a9}\u{6c0}\u{654}"), "+\u{64a}\u{643}\u{647}");
    assert_eq!(named("sorani_normalization", "\u{631}\u{647}\u{200c}\u{643}\u{647}"), "+\u{695}\u{6d5}\u{6a9}\u{6d5}");
}

#[test]
fn words_become_stems() {
    let words = "caresses ponies ties cats feed agreed plastered motoring conflated sized hopping falling failing happy sky \
        relational digitizer radically vietnamization predication sensitiviti sensibiliti triplicate formalize hopeful goodness \
        revival adjustment adoption homologou probate cease controll roll as yyy geology";
    let stems = "+caress +poni +ti +cat +feed +agre +plaster +motor +conflat +size +hop +fall +fail +happi +sky +relat +digit \
        +radic +vietnam +predic +sensit +sensibl +triplic +formal +hope +good +reviv +adjust +adopt +homolog +probat +ceas \
        +control +roll +as +yyi +geologi";
    assert_eq!(named("porter_stem", words), stems);
    let words = "consigned knightly kneeling generously generations skies dying inning's 'tis ponies gas this kiwis luxuriated \
        hoping employing sayings cry by rational vietnamization replacement adoption sing bee communism";
    let stems = "+consign +knight +kneel +generous +generat +sky +die +inning +tis +poni +gas +this +kiwi +luxuri +hope +employ \
        +say +cri +by +ration +vietnam +replac +adopt +sing +bee +communism";
    assert_eq!(filtered(json!({"type": "snowball"}), words), stems);
    let of = |language: &str, text: &str| filtered(json!({"type": "stemmer", "language": language}), text);
    assert_eq!(of("possessive_english", "John's JOHN’S s' x"), "+John +JOHN +s' +x");
    assert_eq!(
        of("minimal_english", "ponies dress bus goes days eyries trees as"),
        "+pony +dress +bus +goes +day +eyry +trees +as"
    );
    assert_eq!(named("stemmer", "cats"), "+cat");
    let marked = json!({
        "analyzer.a.tokenizer": "whitespace", "analyzer.a.filter": ["own", "keep", "stemmer"],
        "filter.own.type": "stemmer_override", "filter.own.rules": ["mice, mouses => mouse", "running => RUNS"],
        "filter.keep.type": "keyword_marker", "filter.keep.keywords": ["dogs"],
    });
    assert_eq!(terms(marked, "mice mouses running dogs cats"), "+mouse +mouse +RUNS +dogs +cat");
}

#[test]
fn words_of_other_languages_become_stems() {
    let of = |language: &str, text: &str| filtered(json!({"type": "stemmer", "language": language}), text);
    assert_eq!(of("light_german", "häusern kinder schönsten katzen hast"), "+haus +kind +schon +katz +hast");
    assert_eq!(of("minimal_german", "freundinnen häuser bilder bauten auto"), "+freundin +haus +bild +baut +auto");
    assert_eq!(of("light_spanish", "canciones luces niños casas meses"), "+cancion +luz +niñ +cas +mes");
    assert_eq!(of("light_italian", "ragazzi amiche occhio bellissima città"), "+ragazz +amic +occh +bellissim +città");
    let french =
        "chevaux finissement investissant nationales créatrice bateaux éducatrice actrices danseuse gelée folles";
    assert_eq!(
        of("light_french", french),
        "+cheval +fini +investi +national +crer +bateau +eduqu +acteu +danseu +gele +fou"
    );
    assert_eq!(of("minimal_french", "chevaux baronnes étrangers années"), "+cheval +baron +étrang +an");
    assert_eq!(terms(json!({"analyzer.a.type": "german"}), "Die Häuser der Kinder"), "++haus ++kind");
    assert_eq!(terms(json!({"analyzer.a.type": "french"}), "L'année des chevaux"), "+ane ++cheval");
    assert_eq!(terms(json!({"analyzer.a.type": "italian"}), "Dell'acqua e ragazzi"), "+acqua ++ragazz");
}

#[test]
fn terms_that_follow_each_other_are_joined() {
    let three = json!({"type": "shingle", "max_shingle_size": 3});
    assert_eq!(filtered(three, "a b c"), "+a a b a b c +b b c +c");
    let only = json!({"type": "shingle", "output_unigrams": "false", "token_separator": ""});
    assert_eq!(filtered(only, "a b c"), "+ab +bc");
}

#[test]
fn analysers_by_name() {
    let english = json!({"analyzer.a.type": "english", "analyzer.a.stem_exclusion": ["cats"]});
    assert_eq!(terms(english, "The cats dogs and John's Cat"), "++cats +dog ++john +cat");
    assert_eq!(terms(json!({"analyzer.a.type": "stop"}), "The cats2and"), "++cats +");
    assert_eq!(terms(json!({"analyzer.a.type": "standard", "analyzer.a.stopwords": ["x"]}), "A x"), "+a +");
}

#[test]
fn the_part_that_is_not_known_is_named() {
    for (filter, expected) in [
        (json!({"type": "stop", "x": 1}), "token filter \"f\": the parameter \"x\""),
        (
            json!({"type": "stop", "stopwords": "_klingon_"}),
            "token filter \"f\": the parameter \"stopwords\" with \"_klingon_\"",
        ),
        (json!({"type": "hunspell"}), "token filter \"f\": the type \"hunspell\""),
        (json!({"type": "synonym"}), "token filter \"f\": the parameter \"synonyms\" with null"),
        (json!({"type": "synonym", "synonyms": ["a => b => c"]}), "token filter \"f\": the rule \"a => b => c\""),
        (json!({"type": "synonym", "synonyms": ["a, -"]}), "token filter \"f\": the rule \"a, -\""),
        (
            json!({"type": "stemmer", "language": "finnish"}),
            "token filter \"f\": the parameter \"language\" with \"finnish\"",
        ),
        (json!({"type": "edge_ngram", "min_gram": 3}), "token filter \"f\": the parameter \"min_gram\" with 3"),
        (json!({"type": "ngram", "min_gram": "x"}), "token filter \"f\": the parameter \"min_gram\" with \"x\""),
        (json!({"stopwords": []}), "token filter \"f\": the parameter \"type\" with null"),
    ] {
        assert_eq!(refused(filter), expected);
    }
}

#[test]
fn words_are_parted_at_delimiters_and_changes() {
    let graph = |more: Value| {
        let mut definition = json!({"type": "word_delimiter_graph"});
        definition.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        filtered(definition, "Wi-Fi PowerShot's -- 500-42")
    };
    assert_eq!(graph(json!({})), "+Wi +Fi +Power +Shot ++500 +42");
    assert_eq!(
        graph(json!({"preserve_original": true, "catenate_all": "true", "split_on_case_change": false})),
        "+Wi-Fi WiFi Wi +Fi +PowerShot's PowerShot +-- +500-42 50042 500 +42"
    );
    let plain = json!({"type": "word_delimiter", "catenate_words": true, "generate_number_parts": false});
    assert_eq!(filtered(plain, "Wi-Fi -- j2se x"), "+Wi WiFi +Fi +j +se +x");
    let typed = json!({"type": "word_delimiter", "type_table": ["- => ALPHA"], "protected_words": ["a_b"]});
    assert_eq!(filtered(typed, "Wi-fi a_b b_a"), "+Wi-fi +a_b +b +a");
}

#[test]
fn stems_are_words_of_the_dictionary() {
    let stem = json!({"type": "kstem"});
    let words = "walking walked ponies flies dying communities Cats optimization aging british";
    assert_eq!(filtered(stem, words), "+walking +walk +pony +flies +die +community +Cats +optimize +age +britain");
}

#[test]
fn chains_make_tokens_of_one_position() {
    let chains = json!({"type": "multiplexer", "filters": ["lowercase", "lowercase, porter_stem"]});
    assert_eq!(filtered(chains, "Running x"), "+Running running run +x");
    let without = json!({"type": "multiplexer", "filters": "uppercase,reverse", "preserve_original": false});
    assert_eq!(filtered(without, "ab X"), "+AB ba +X");
}

#[test]
fn fillers_stand_at_positions_without_a_token() {
    let settings = json!({"analyzer.a.tokenizer": "whitespace", "analyzer.a.filter": ["stop", "f"],
        "filter.f.type": "shingle", "filter.f.max_shingle_size": 3, "filter.f.filler_token": "?"});
    assert_eq!(terms(settings, "a b c the"), "+? b ? b c +b b c b c ? +c c ? +");
}

#[test]
fn rules_put_words_beside_others() {
    let with = |kind: &str, expand: bool, rules: Value, text: &str| {
        filtered(json!({"type": kind, "synonyms": rules, "expand": expand}), text)
    };
    let rules = json!(["dns, domain name system", "# no rule", "i pod, i-pod => ipod", "a => b, c d e", "u\\,s => us"]);
    let flat = |text: &str| with("synonym", true, rules.clone(), text);
    assert_eq!(flat("x dns is"), "+x +dns domain +is name +system");
    assert_eq!(flat("domain name system dns"), "+domain dns +name +system +dns domain +name +system");
    assert_eq!(flat("i pod i-pod i pad u,s"), "+ipod +ipod +i +pad +us");
    assert_eq!(flat("a a x"), "+b c +d b c +x e d +e");
    let graph = |text: &str| with("synonym_graph", true, rules.clone(), text);
    assert_eq!(graph("x dns is"), "+x +domain dns +name +system +is");
    assert_eq!(graph("domain name system i pod"), "+dns domain +name +system +ipod");
    assert_eq!(graph("a x"), "+b c +d +e +x");
    assert_eq!(with("synonym", false, json!("x, y"), "y x"), "+y +x");
    assert_eq!(with("synonym", false, json!(["x, y"]), "y x"), "+x +x");
}

#[test]
fn words_of_rules_are_those_of_the_parts_before() {
    let settings = json!({
        "analyzer.a.tokenizer": "standard", "analyzer.a.filter": ["lowercase", "porter_stem", "f"],
        "filter.f.type": "synonym", "filter.f.synonyms": ["Running-Shoes => SNEAKERS"],
    });
    assert_eq!(terms(settings, "the running shoe"), "+the +sneaker");
    let behind = json!({
        "index.analysis.analyzer.a.tokenizer": "standard", "index.analysis.analyzer.a.filter": ["edge_ngram", "f"],
        "index.analysis.filter.f.type": "synonym", "index.analysis.filter.f.synonyms": ["a => b"],
    });
    let refused = Analysis::of_settings(behind.as_object().unwrap(), [10, 4, 0]).analyzer("a").unwrap_err();
    assert_eq!(refused, "token filter \"f\" behind a part that makes several tokens of one place");
}

#[test]
fn letters_of_india_are_composed_and_words_lose_their_endings() {
    assert_eq!(
        named("hindi_normalization", "\u{905}\u{901}\u{917}\u{930}\u{947}\u{91c}\u{93c}\u{940}"),
        "+\u{905}\u{902}\u{917}\u{930}\u{947}\u{91c}\u{93f}"
    );
    assert_eq!(named("indic_normalization", "\u{905}\u{93e}\u{945}\u{905}\u{93e}"), "+\u{911}\u{906}");
    assert_eq!(named("bengali_normalization", "\u{99a}\u{9be}\u{981}\u{9a6}\u{9c0}"), "+\u{99a}\u{9be}\u{9a6}\u{9bf}");
    let of = |language: &str, text: &str| filtered(json!({"type": "stemmer", "language": language}), text);
    assert_eq!(of("hindi", "\u{932}\u{921}\u{915}\u{93e}"), "+\u{932}\u{921}\u{915}");
    let bengali = "\u{995}\u{9b0}\u{9c7}\u{99b}\u{9bf}\u{9b2}\u{9be}\u{9ae}";
    assert_eq!(of("bengali", bengali), "+\u{995}\u{9b0}");
    let arabic = "\u{648}\u{627}\u{644}\u{632}\u{648}\u{62c}\u{647}\u{627}";
    assert_eq!(of("arabic", arabic), "+\u{632}\u{648}\u{62c}");
}
