//! The connection to the brokers: encryption, the login, and properties of librdkafka.

use inrush_cluster::transport::Secret;
use inrush_cluster::transport::aws::AwsOptions;
use inrush_kafka::{KafkaOptions, SaslMechanism};

use crate::options::{Environment, KafkaGroupOptions, OptionError, Pair, SourceLoginOptions};

/// Properties that options of a load set, and these options.
const OWN_PROPERTIES: [(&str, &str); 12] = [
    ("auto.offset.reset", "on_offset_gap"),
    ("bootstrap.servers", "sources"),
    ("enable.ssl.certificate.verification", "from_insecure"),
    ("group.id", "group"),
    ("group.instance.id", "member"),
    ("metadata.broker.list", "sources"),
    ("sasl.mechanism", "kafka_sasl"),
    ("sasl.mechanisms", "kafka_sasl"),
    ("sasl.username", "from_user"),
    ("ssl.ca.location", "from_ca"),
    ("ssl.certificate.location", "from_cert"),
    ("ssl.key.location", "from_key"),
];

/// Properties on which the settlement of documents depends.
const FIXED_PROPERTIES: [&str; 7] = [
    "acks",
    "delivery.timeout.ms",
    "enable.auto.commit",
    "enable.auto.offset.store",
    "enable.partition.eof",
    "message.timeout.ms",
    "request.required.acks",
];

/// How a client logs in.
enum Login {
    None,
    Password(String, Secret, SaslMechanism),
    /// The token of a file.
    Token,
    /// Credentials of AWS.
    Aws(AwsOptions),
}

impl KafkaGroupOptions {
    /// Sets the login, the encryption of the connection, and the properties of librdkafka that the
    /// user gives.
    ///
    /// # Errors
    /// A login that cannot be used, and properties that are secrets or are set by other options.
    pub(crate) fn connect(
        &self,
        options: &mut KafkaOptions,
        login: &SourceLoginOptions,
        environment: &Environment,
    ) -> Result<(), OptionError> {
        let mut all = Vec::new();
        let mut add = |name: &str, value: &str| all.push((name.to_owned(), value.to_owned()));
        let tls = login.tls()?;
        let has_tls = self.kafka_tls || tls.insecure || tls.ca_file.is_some() || tls.client_cert_file.is_some();
        let way = way(self, login, environment)?;
        let protocol = match (&way, has_tls) {
            (Login::None, false) => None,
            (Login::None, true) => Some("ssl"),
            (Login::Password(..) | Login::Token, false) => Some("sasl_plaintext"),
            // Brokers of Amazon MSK take such tokens by TLS only.
            (Login::Aws(_), _) | (_, true) => Some("sasl_ssl"),
        };
        if let Some(protocol) = protocol {
            add("security.protocol", protocol);
        }
        match way {
            Login::None => {}
            Login::Password(user, password, mechanism) => {
                add("sasl.mechanism", mechanism.name());
                add("sasl.username", &user);
                add("sasl.password", password.expose());
            }
            Login::Token => {
                add("sasl.mechanism", SaslMechanism::OauthBearer.name());
                options.token_file.clone_from(&login.from_bearer_file);
            }
            Login::Aws(aws) => {
                add("sasl.mechanism", SaslMechanism::AwsIam.name());
                options.aws_iam = Some(aws);
            }
        }
        if tls.insecure {
            add("enable.ssl.certificate.verification", "false");
        }
        for (name, path) in [
            ("ssl.ca.location", &tls.ca_file),
            ("ssl.certificate.location", &tls.client_cert_file),
            ("ssl.key.location", &tls.client_key_file),
        ] {
            if let Some(path) = path {
                let text = path.to_str().ok_or_else(|| {
                    OptionError::unusable(format!("the path {} is not UTF-8, as librdkafka expects it", path.display()))
                })?;
                add(name, text);
            }
        }
        for Pair { name, value } in &self.kafka_option {
            check_property(name)?;
            all.push((name.clone(), value.clone()));
        }
        options.properties = all;
        Ok(())
    }
}

/// Chooses the login.
fn way(kafka: &KafkaGroupOptions, login: &SourceLoginOptions, environment: &Environment) -> Result<Login, OptionError> {
    check_login(kafka, login)?;
    if kafka.kafka_sasl == Some(SaslMechanism::AwsIam) {
        let (region, profile) = (login.from_aws_region.clone(), login.from_aws_profile.clone());
        return Ok(Login::Aws(AwsOptions { service: None, region, profile }));
    }
    let user = login.user_and_password(environment)?;
    let has_token = login.from_bearer_file.is_some();
    if has_token && user.is_some() {
        let message = "option `from_user` and option `from_bearer_file` are two logins";
        return Err(OptionError::conflict(message).of("from_bearer_file").hint("choose one"));
    }
    match (kafka.kafka_sasl, user) {
        (None | Some(SaslMechanism::OauthBearer), None) if has_token => Ok(Login::Token),
        (None, None) => Ok(Login::None),
        (mechanism, Some((user, password))) if mechanism != Some(SaslMechanism::OauthBearer) => {
            Ok(Login::Password(user, password, mechanism.unwrap_or_default()))
        }
        (mechanism, _) => {
            let name = mechanism.unwrap_or_default().name();
            let message = format!("option `kafka_sasl` is {name}, but no login of that kind is given");
            Err(OptionError::conflict(message).of("kafka_sasl").hint(
                "name the user with option `from_user`, or with oauthbearer the file of the token with option `from_bearer_file`",
            ))
        }
    }
}

/// Refuses logins of clusters, and those that a mechanism does not have.
fn check_login(kafka: &KafkaGroupOptions, login: &SourceLoginOptions) -> Result<(), OptionError> {
    let refused = |given: &[(&'static str, bool)], why: &str, hint: &str| {
        let Some((name, _)) = given.iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
        Err(OptionError::conflict(format!("option `{name}` {why}")).of(name).hint(hint))
    };
    refused(
        &[
            ("from_api_key_file", login.from_api_key_file.is_some()),
            ("from_api_key_env", login.from_api_key_env.is_some()),
            ("from_bearer_env", login.from_bearer_env.is_some()),
            ("from_aws_sigv4", login.from_aws_sigv4.is_some()),
        ],
        "is for clusters of Elasticsearch and OpenSearch, not for Kafka",
        "give option `from_user` and a password, option `from_bearer_file`, option `kafka_sasl=aws-iam`, or option \
         `from_cert` and option `from_key`",
    )?;
    if kafka.kafka_sasl == Some(SaslMechanism::AwsIam) {
        return refused(
            &[
                ("from_user", login.from_user.is_some()),
                ("from_password_file", login.from_password_file.is_some()),
                ("from_password_env", login.from_password_env.is_some()),
                ("from_bearer_file", login.from_bearer_file.is_some()),
            ],
            "is another login than option `kafka_sasl=aws-iam`, which uses credentials of AWS",
            "leave one of them out",
        );
    }
    refused(
        &[("from_aws_region", login.from_aws_region.is_some()), ("from_aws_profile", login.from_aws_profile.is_some())],
        "is for a login with credentials of AWS, which is not asked for",
        "give option `kafka_sasl=aws-iam`, or leave it out",
    )
}

/// Refuses properties that hold secrets, and those that other options set.
fn check_property(name: &str) -> Result<(), OptionError> {
    let refused = |why: String, hint: String| {
        Err(OptionError::value("kafka_option", format!("the property {name} {why}")).hint(hint))
    };
    if let Some((_, option)) = OWN_PROPERTIES.iter().find(|(own, _)| *own == name) {
        return refused("is set by another option".to_owned(), format!("give option `{option}`"));
    }
    if FIXED_PROPERTIES.contains(&name) {
        let why = "decides which records count as loaded, which is inrush's work".to_owned();
        return refused(why, "leave it out".to_owned());
    }
    let is_secret = name.contains("password") || name.contains("secret") || name == "ssl.key.pem";
    if is_secret {
        let why = "is a secret, and every user of the machine can read arguments".to_owned();
        let hint = match name.starts_with("sasl.") {
            true => "give the password in a file with option `from_password_file`, or in the environment",
            false => "name a key without a password with option `from_key`, and let only this user read its file",
        };
        return refused(why, hint.to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{refused, resolved};
    use super::*;
    use serde_json::json;

    fn property(options: &KafkaOptions, name: &str) -> Option<String> {
        options.properties.iter().find(|(found, _)| found == name).map(|(_, value)| value.clone())
    }

    #[test]
    fn the_connection_follows_from_the_options() {
        let (plain, _) = resolved(&[]).unwrap();
        assert!(plain.properties.is_empty());
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "hunter2\n").unwrap();
        let user = [("from_user", json!("me")), ("from_password_file", json!(secret))];
        let (login, _) = resolved(&user).unwrap();
        assert_eq!(property(&login, "security.protocol").unwrap(), "sasl_plaintext");
        assert_eq!(property(&login, "sasl.password").unwrap(), "hunter2");
        assert!(!format!("{login:?}").contains("hunter2"));
        let token = [("from_bearer_file", json!("/token"))];
        let (bearer, _) = resolved(&token).unwrap();
        assert_eq!(property(&bearer, "sasl.mechanism").unwrap(), "OAUTHBEARER");
        assert_eq!(bearer.token_file.as_deref(), Some(std::path::Path::new("/token")));
        let tls = [("kafka_tls", json!(true)), ("kafka_sasl", json!("scram-sha-512"))];
        let (both, _) = resolved(&[user.as_slice(), &tls].concat()).unwrap();
        assert_eq!(property(&both, "security.protocol").unwrap(), "sasl_ssl");
        assert_eq!(property(&both, "sasl.mechanism").unwrap(), "SCRAM-SHA-512");
        let (ca, _) = resolved(&[("from_ca", json!("/ca.pem")), ("kafka_option", json!("client.rack=a"))]).unwrap();
        assert_eq!(property(&ca, "security.protocol").unwrap(), "ssl");
        assert_eq!(property(&ca, "ssl.ca.location").unwrap(), "/ca.pem");
        assert_eq!(property(&ca, "client.rack").unwrap(), "a");
    }

    #[test]
    fn credentials_of_aws_need_no_other_login() {
        let iam = ("kafka_sasl", json!("aws-iam"));
        let given = [iam.clone(), ("from_aws_region", json!("eu-west-1")), ("from_aws_profile", json!("p"))];
        let (options, _) = resolved(&given).unwrap();
        assert_eq!(property(&options, "security.protocol").unwrap(), "sasl_ssl");
        assert_eq!(property(&options, "sasl.mechanism").unwrap(), "OAUTHBEARER");
        let aws = options.aws_iam.unwrap();
        assert_eq!((aws.region.as_deref(), aws.profile.as_deref()), (Some("eu-west-1"), Some("p")));
        for other in [("from_user", json!("me")), ("from_bearer_file", json!("/token"))] {
            refused(&[iam.clone(), other], "is another login than option `kafka_sasl=aws-iam`");
        }
        refused(&given[1..], "give kafka_sasl = \"aws-iam\"");
    }

    #[test]
    fn logins_and_properties_that_cannot_be_used_are_refused() {
        for (name, value, expected) in [
            ("from_bearer_env", json!("X"), "not for Kafka"),
            ("from_aws_sigv4", json!("es"), "not for Kafka"),
            ("kafka_sasl", json!("plain"), "no login of that kind is given"),
            ("kafka_sasl", json!("oauthbearer"), "no login of that kind is given"),
            ("kafka_option", json!("group.id=x"), "give group"),
            ("kafka_option", json!("enable.auto.commit=true"), "decides which records count as loaded"),
            ("kafka_option", json!("acks=1"), "decides which records count as loaded"),
            ("kafka_option", json!("ssl.key.password=x"), "is a secret"),
        ] {
            refused(&[(name, value)], expected);
        }
    }
}
