//! Brokers that want a login, or are reached by TLS.

use std::sync::LazyLock;

use inrush_kafka::{KafkaAddress, KafkaOptions, KafkaSource, Until};

use crate::broker::Broker;
use crate::reader::{Reader, ids, keys};
use crate::topic::Topic;

static BROKER: LazyLock<Broker> = LazyLock::new(Broker::with_logins);

/// A bounded load by one of the listeners, with these properties of librdkafka.
fn options(topic: &Topic, listener: &str, properties: &[(&str, &str)]) -> KafkaOptions {
    let address = format!("kafka://{}/{}", BROKER.logins[listener], topic.name);
    let mut options = KafkaOptions::new(KafkaAddress::parse(&address).unwrap());
    options.group = listener.to_owned();
    options.member = Some(String::new());
    options.until = Some(Until::Latest);
    options.properties = properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    options
}

fn refused(options: KafkaOptions) -> String {
    KafkaSource::open(options).err().unwrap().to_string()
}

#[test]
fn topics_are_read_with_logins_and_tls() {
    let topic = BROKER.topic(1);
    let authority = BROKER.authority();
    let user = [("sasl.username", "alice"), ("sasl.password", "alice-secret")];
    let by = |protocol, mechanism| [("security.protocol", protocol), ("sasl.mechanism", mechanism)];
    let tls = ("ssl.ca.location", authority.as_str());
    for (number, (listener, properties)) in [
        ("sasl", [&by("sasl_plaintext", "PLAIN")[..], &user].concat()),
        ("sasl", [&by("sasl_plaintext", "SCRAM-SHA-512")[..], &user].concat()),
        ("tls", vec![("security.protocol", "ssl"), tls]),
        ("sasl_tls", [&by("sasl_ssl", "SCRAM-SHA-512")[..], &user, &[tls]].concat()),
        ("sasl_tls", [&by("sasl_ssl", "PLAIN")[..], &user, &[tls]].concat()),
    ]
    .into_iter()
    .enumerate()
    {
        let (from, to) = (number as u32 * 10, number as u32 * 10 + 10);
        topic.count(1, from, to);
        let mut options = options(&topic, listener, &properties);
        options.group = "logins".to_owned();
        assert_eq!(ids(&Reader::open(options).finish().unwrap()), keys(1, from, to), "{listener}: {number}");
    }
}

#[test]
fn topics_are_read_with_a_token() {
    use base64::Engine as _;

    let topic = BROKER.topic(1);
    topic.count(1, 0, 10);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let claims = format!("{{\"sub\":\"loader\",\"iat\":{now},\"exp\":{}}}", now + 3600);
    let part = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
    let mut options =
        options(&topic, "oauth", &[("security.protocol", "sasl_plaintext"), ("sasl.mechanism", "OAUTHBEARER")]);
    options.token_file = Some(file.clone());
    let error = refused(options.clone());
    assert!(error.contains("the token file") && error.contains("option `from_bearer_file`"), "{error}");
    std::fs::write(&file, format!("{}.{}.\n", part("{\"alg\":\"none\"}"), part(&claims))).unwrap();
    assert_eq!(ids(&Reader::open(options).finish().unwrap()), keys(1, 0, 10));
}

#[test]
fn a_wrong_login_is_an_error_at_once() {
    let topic = BROKER.topic(1);
    for mechanism in ["PLAIN", "SCRAM-SHA-512"] {
        let began = std::time::Instant::now();
        let error = refused(options(
            &topic,
            "sasl",
            &[
                ("security.protocol", "sasl_plaintext"),
                ("sasl.mechanism", mechanism),
                ("sasl.username", "alice"),
                ("sasl.password", "hunter2"),
            ],
        ));
        println!("{:?}: {error}", began.elapsed());
        assert!(error.contains(&BROKER.logins["sasl"]) && error.contains("uthentication"), "{error}");
        assert!(error.contains("option `from_user`") && !error.contains("hunter2"), "{error}");
    }
}

#[test]
fn a_certificate_of_an_unknown_authority_is_an_error_at_once() {
    let topic = BROKER.topic(1);
    let began = std::time::Instant::now();
    let error = refused(options(&topic, "tls", &[("security.protocol", "ssl")]));
    println!("{:?}: {error}", began.elapsed());
    assert!(error.contains(&BROKER.logins["tls"]) && error.contains("certificate"), "{error}");
    assert!(error.contains("option `from_ca`"), "{error}");
}
