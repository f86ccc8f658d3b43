//! Encoder and decoder together: documents, streams, limits and properties.

use proptest::prelude::*;

use crate::output::Output;
use crate::*;

const BY_VALUE: SmileOptions = SmileOptions { shared_values: false, decimals: Decimals::ByValue };
const SHARED: SmileOptions = SmileOptions { shared_values: true, decimals: Decimals::ByValue };

fn encode(options: SmileOptions, json: &str) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    SmileEncoder::new(options).encode(json.as_bytes(), &mut out).map(|()| out)
}

fn decode(smile: &[u8]) -> Result<String, DecodeError> {
    let mut out = Vec::new();
    let read = SmileDecoder::default().decode(smile, &mut out)?;
    assert_eq!(read, smile.len());
    Ok(String::from_utf8(out).unwrap())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `expected`: the output of Jackson's generator after the header, in hexadecimal.
fn check(options: SmileOptions, json: &str, expected: &str) {
    let smile = encode(options, json).unwrap();
    let header = if options.shared_values { "3a290a03" } else { "3a290a01" };
    assert_eq!(hex(&smile), format!("{header}{}", expected.replace(' ', "")), "{json}");
}

#[test]
fn documents_are_those_of_jackson() {
    check(BY_VALUE, "{}", "fa fb");
    check(BY_VALUE, " [ ] ", "f8 f9");
    check(BY_VALUE, "[null,true,false,\"\",0,-1]", "f8 21 23 22 20 c0 c1 f9");
    check(BY_VALUE, r#"{"a":1,"é":"é","":{"a":"b"}}"#, "fa 80 61 c2 c0c3a9 80c3a9 20 fa 40 4062 fb fb");
    check(
        BY_VALUE,
        r#"[1.5,12345678901,16]"#,
        "f8 29 00 3f 7c 00 00 00 00 00 00 00 25 01 3b 7e 34 0e aa 24 a0 f9"
            .replace("01 3b 7e 34 0e aa", &variable(24_691_357_802))
            .as_str(),
    );
    check(SHARED, r#"["ab","ab","c","ab"]"#, "f8 416162 01 4063 01 f9");
    check(BY_VALUE, r#"["ab","ab"]"#, "f8 416162 416162 f9");
}

fn variable(value: u64) -> String {
    let mut out = Output::default();
    out.variable(value);
    hex(out.written())
}

#[test]
fn strings_have_the_form_of_their_length() {
    for (text, token) in
        [("a".repeat(64), 0x7F), ("a".repeat(65), 0xE0), ("a".repeat(2666), 0xE0), ("a".repeat(2667), 0xE4)]
    {
        assert_eq!(encode(BY_VALUE, &format!("\"{text}\"")).unwrap()[4], token);
    }
    for (text, token) in [("é".repeat(32), 0xBE), ("é".repeat(33), 0xE4)] {
        assert_eq!(encode(BY_VALUE, &format!("\"{text}\"")).unwrap()[4], token);
    }
    for (name, token) in
        [("a".repeat(64), 0xBF), ("a".repeat(65), 0x34), ("é".repeat(28), 0xF6), ("é".repeat(29), 0x34)]
    {
        assert_eq!(encode(BY_VALUE, &format!("{{\"{name}\":1}}")).unwrap()[5], token);
    }
}

#[test]
fn references_never_have_the_bytes_of_ends() {
    let names: Vec<String> = (0..1500).map(|n| format!("\"name{n}\":{}", n % 7)).collect();
    let values: Vec<String> = (0..1500).map(|n| format!("\"value{n}\"")).collect();
    let json = format!("[{{{0}}},{{{0}}},{{{0}}},[{1}],[{1}],[{1}]]", names.join(","), values.join(","));
    for options in [BY_VALUE, SHARED] {
        let smile = encode(options, &json).unwrap();
        assert!(!smile.contains(&0xFE) && !smile.contains(&SEPARATOR));
        assert_eq!(decode(&smile).unwrap(), json);
    }
}

#[test]
fn each_document_is_encoded_independently() {
    let documents = [
        r#"{"a":"x","b":{"a":"x","c":[{"a":1},{"a":2}]},"d":"x"}"#,
        r#"{"a":"x","b":{"c":"x"}}"#,
        "[1",
        r#"{"d":"x","a":"y\"","\"":1,"\\":2}"#,
        r#"{"a":{"a":{"a":1},"b":"x"}}"#,
    ];
    for options in [BY_VALUE, SHARED] {
        let mut encoder = SmileEncoder::new(options);
        for document in documents.iter().cycle().take(20) {
            let mut out = Vec::new();
            let found = encoder.encode(document.as_bytes(), &mut out);
            assert_eq!(found.map(|()| out), encode(options, document));
        }
    }
}

#[test]
fn invalid_json_is_refused() {
    for json in [
        "",
        " ",
        "{",
        "[",
        "[1",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\" 1}",
        "{\"a\":1,}",
        "{,}",
        "{1:2}",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1}",
        "{\"a\":1]",
        "1 2",
        "{}{}",
        "nul",
        "tru",
        "falsy",
        "'a'",
        "[\"a",
        "\u{feff}{}",
        "NaN",
        "[-]",
        "+1",
        "[\"\\ud800\"]",
        "[\"\u{1}\"]",
    ] {
        assert!(matches!(encode(BY_VALUE, json), Err(EncodeError::Invalid { .. })), "{json}");
    }
    let mut out = b"kept".to_vec();
    let error = SmileEncoder::new(BY_VALUE).encode(b"[\"\xff\"]", &mut out).unwrap_err();
    assert_eq!(error.to_string(), "the document is not JSON at byte 2: not UTF-8");
    assert_eq!(out, b"kept");
}

#[test]
fn a_name_twice_in_one_object_is_refused() {
    for json in [
        r#"{"a":1,"a":2}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"{"a":{"a":1},"a":2}"#,
        r#"{"a":[{"a":1},{"a":1}],"b":{},"a":2}"#,
        r#"{"":1,"":2}"#,
        r#"[{"a":1},{"b":{"a":{"b":1,"a":2}},"b":1}]"#,
    ] {
        assert!(matches!(encode(BY_VALUE, json), Err(EncodeError::DuplicateName { .. })), "{json}");
    }
    for json in
        [r#"{"a":{"a":{"a":1}},"b":{"a":1,"b":2}}"#, r#"[{"a":1},{"a":1}]"#, r#"{"a":[{"a":1},{"a":1}],"b":{"a":1}}"#]
    {
        assert_eq!(decode(&encode(BY_VALUE, json).unwrap()).unwrap(), json);
    }
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(decode(&encode(BY_VALUE, &nested(DEPTH_MAX)).unwrap()).unwrap(), nested(DEPTH_MAX));
    assert_eq!(encode(BY_VALUE, &nested(DEPTH_MAX + 1)), Err(EncodeError::TooDeep { at: DEPTH_MAX }));
    let smile = [&b":)\n\x01"[..], &[token::START_ARRAY; DEPTH_MAX + 1]].concat();
    assert!(decode(&smile).unwrap_err().reason.contains("1000"));
}

#[test]
fn names_are_bounded() {
    let name = |len: usize| format!("{{\"{0}\":1,\"b\":{{\"{0}\":2}}}}", "a".repeat(len));
    assert_eq!(decode(&encode(BY_VALUE, &name(NAME_LEN_MAX)).unwrap()).unwrap(), name(NAME_LEN_MAX));
    assert_eq!(encode(BY_VALUE, &name(NAME_LEN_MAX + 1)), Err(EncodeError::NameTooLong { at: 2 }));
    let smile = [&b":)\n\x01\xFA\x34"[..], &[b'a'; 3 * NAME_LEN_MAX + 1], b"\xFC\xC2\xFB"].concat();
    assert!(decode(&smile).unwrap_err().reason.contains("50,000"));
}

#[test]
fn a_stream_of_documents_is_read_one_by_one() {
    // The second document has a header of its own; the third refers to names of the second.
    let mut stream = encode(BY_VALUE, r#"{"a":1}"#).unwrap();
    stream.push(SEPARATOR);
    stream.extend(encode(BY_VALUE, r#"{"b":2}"#).unwrap());
    stream.extend([token::START_OBJECT, token::NAME_SHARED_SHORT, 0xC6, token::END_OBJECT]);
    let mut decoder = SmileDecoder::default();
    let (mut out, mut at) = (Vec::new(), 0);
    while at < stream.len() {
        at += decoder.decode(&stream[at..], &mut out).unwrap();
    }
    assert_eq!(String::from_utf8(out).unwrap(), r#"{"a":1}{"b":2}{"b":3}"#);
    assert_eq!(SmileDecoder::default().decode(&[0xC0], &mut Vec::new()).unwrap_err().reason, "no header");
}

/// Any JSON value whose text equals the text that the decoder writes.
fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let text = "[a-c\\\\\"é€😀\u{0}-\u{20}]{0,12}|[a-z]{60,70}|.*";
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        (-40..40_i64).prop_map(Into::into),
        // serde_json reads these exactly. number.rs tests all others.
        any::<i32>().prop_map(|n| (f64::from(n) / 16.0).into()),
        text.prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 60, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Into::into),
            prop::collection::vec((text, inner), 0..8)
                .prop_map(|fields| fields.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

proptest! {
    #[test]
    fn documents_survive_a_round_trip(documents in prop::collection::vec(any_json(), 1..5), shared_values: bool, pretty: bool) {
        let mut encoder = SmileEncoder::new(SmileOptions { shared_values, decimals: Decimals::ByValue });
        for document in documents {
            let json = if pretty { serde_json::to_string_pretty(&document) } else { serde_json::to_string(&document) };
            let mut smile = Vec::new();
            encoder.encode(json.unwrap().as_bytes(), &mut smile).unwrap();
            prop_assert!(!smile.contains(&0xFE) && !smile.contains(&0xFF));
            let back = decode(&smile).unwrap();
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&back).unwrap(), document);
            // Decoded text is spelled as a server would spell it.
            let mut again = Vec::new();
            let options = SmileOptions { shared_values, decimals: Decimals::ByText };
            SmileEncoder::new(options).encode(back.as_bytes(), &mut again).unwrap();
            prop_assert_eq!(again, smile);
        }
    }

    #[test]
    fn no_bytes_make_the_decoder_panic(options in 0..8_u8, bytes: Vec<u8>) {
        let smile = [&b":)\n"[..], &[options], &bytes].concat();
        let mut out = b"kept".to_vec();
        match SmileDecoder::default().decode(&smile, &mut out) {
            // serde_json limits exponents, so the value is not built.
            Ok(read) => {
                prop_assert!(read <= smile.len());
                prop_assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&out[4..]).is_ok());
            }
            Err(_) => prop_assert_eq!(out, b"kept"),
        }
    }

    #[test]
    fn spoiled_documents_make_no_panic(document in any_json(), at: prop::sample::Index, byte: u8) {
        let mut smile = encode(SHARED, &document.to_string()).unwrap();
        let at = at.index(smile.len());
        smile[at] = byte;
        let mut out = Vec::new();
        if SmileDecoder::default().decode(&smile, &mut out).is_ok() {
            prop_assert!(std::str::from_utf8(&out).is_ok());
        }
    }

    #[test]
    fn no_text_makes_the_encoder_panic(json in "[\\[\\]{}:,\"\\\\u0-9eE.+-a-f \u{0}-\u{1f}é]{0,40}") {
        let found = encode(SHARED, &json);
        if found.is_ok() {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
        }
    }
}
