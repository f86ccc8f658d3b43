//! AWS credentials and regions, from where the AWS tools keep them: the environment and the profile files
//! (`~/.aws/credentials`, `~/.aws/config`). Roles, single sign-on and instance metadata are left to those tools:
//! `aws configure export-credentials --format env`, or a profile with `credential_process`.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials as Keys;
use tokio::sync::Mutex;

use super::auth::Secret;
use super::error::{BoxError, SetupError};
use super::sigv4::Service;

/// Temporary credentials are asked for again when they have less than this left.
const RENEW_BEFORE: Duration = Duration::from_secs(300);

/// How long a `credential_process` may take.
const PROCESS_MAX: Duration = Duration::from_secs(60);

/// What the user says about signing. What is left out is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AwsOptions {
    /// What to sign for. Default: what the host name says (`….es.amazonaws.com`, `….aoss.amazonaws.com`), else `es`.
    pub service: Option<Service>,
    /// The region. Default: `AWS_REGION`, `AWS_DEFAULT_REGION`, the profile's `region`, the host name, in this order.
    pub region: Option<String>,
    /// The profile. Where it is named here, it wins over keys in the environment. Default: `AWS_PROFILE`, else
    /// `default`.
    pub profile: Option<String>,
}

/// Where the keys for signing come from.
pub struct AwsCredentials(Source);

enum Source {
    Fixed(Keys),
    Process { command: String, last: Mutex<Option<Keys>> },
}

impl fmt::Debug for AwsCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::Fixed(keys) => write!(f, "{}", keys.access_key_id()),
            Source::Process { .. } => f.write_str("credential_process"),
        }
    }
}

impl AwsCredentials {
    /// Keys that do not change while the program runs.
    pub fn fixed(access_key_id: &str, secret_access_key: &Secret, session_token: Option<&Secret>) -> Self {
        let token = session_token.map(|token| token.expose().to_owned());
        AwsCredentials(Source::Fixed(Keys::from_keys(access_key_id, secret_access_key.expose(), token)))
    }

    fn process(command: String) -> Self {
        AwsCredentials(Source::Process { command, last: Mutex::new(None) })
    }

    /// The keys to sign with at `now`; a process is run again when what it gave is about to expire.
    pub async fn current(&self, now: SystemTime) -> Result<Keys, BoxError> {
        match &self.0 {
            Source::Fixed(keys) => Ok(keys.clone()),
            Source::Process { command, last } => {
                let mut last = last.lock().await;
                if let Some(keys) = last.as_ref().filter(|keys| lasts(keys, now)) {
                    return Ok(keys.clone());
                }
                let keys = run(command).await?;
                *last = Some(keys.clone());
                Ok(keys)
            }
        }
    }
}

fn lasts(keys: &Keys, now: SystemTime) -> bool {
    keys.expiry().is_none_or(|expiry| expiry > now + RENEW_BEFORE)
}

/// What the credentials are looked for in: the environment and the home folder, or a test's.
pub struct Surroundings<'a> {
    /// Looks up an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The home folder.
    pub home: Option<PathBuf>,
}

impl Surroundings<'static> {
    /// Those of this process.
    pub fn of_process() -> Self {
        Surroundings { variable: &|name| std::env::var(name).ok(), home: std::env::home_dir() }
    }
}

/// Finds service, region and credentials for signing requests to `host`.
///
/// # Errors
/// [`SetupError::Credentials`] that says where was looked and what to set.
pub fn find(
    options: &AwsOptions,
    host: &str,
    around: &Surroundings<'_>,
) -> Result<(Service, String, AwsCredentials), SetupError> {
    let variable = |name: &str| (around.variable)(name).filter(|value| !value.is_empty());
    let from_host = service_and_region(host);
    let service = options.service.or(from_host.map(|(service, _)| service)).unwrap_or(Service::Es);

    let profile_name = options.profile.clone().or_else(|| variable("AWS_PROFILE"));
    let profile = Profile::read(profile_name.as_deref().unwrap_or("default"), around)?;
    let region = options
        .region
        .clone()
        .or_else(|| variable("AWS_REGION"))
        .or_else(|| variable("AWS_DEFAULT_REGION"))
        .or_else(|| profile.get("region").map(str::to_owned))
        .or_else(|| from_host.map(|(_, region)| region.to_owned()))
        .ok_or_else(|| {
            SetupError::Credentials(format!(
                "no AWS region: the host {host} does not name it; give one, set AWS_REGION, or put it into the profile"
            ))
        })?;
    if let Some((_, named)) = from_host.filter(|(_, named)| *named != region) {
        tracing::warn!("requests to {host} are signed for the region {region}, though its name says {named}");
    }

    let in_environment = match (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")) {
        (Some(id), Some(secret)) => {
            let token = variable("AWS_SESSION_TOKEN").map(Secret::new);
            Some(AwsCredentials::fixed(&id, &Secret::new(secret), token.as_ref()))
        }
        (Some(_), None) | (None, Some(_)) => {
            return Err(SetupError::Credentials(
                "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set; set both or none".into(),
            ));
        }
        (None, None) => None,
    };
    let credentials = match in_environment {
        Some(keys) if options.profile.is_none() => keys,
        _ => profile.credentials(profile_name.is_some())?,
    };
    Ok((service, region, credentials))
}

/// What a profile says about region and credentials.
#[cfg(feature = "cloud")]
pub struct OfProfile {
    /// The region.
    pub region: Option<String>,
    /// The keys.
    pub credentials: Option<AwsCredentials>,
}

/// Looks into the profile that `AWS_PROFILE` names, else `default`, without looking at keys in the environment.
///
/// # Errors
/// [`SetupError::Credentials`] where the profile was named, or has something, and it cannot be used.
#[cfg(feature = "cloud")]
pub fn of_profile(around: &Surroundings<'_>) -> Result<OfProfile, SetupError> {
    let named = (around.variable)("AWS_PROFILE").filter(|name| !name.is_empty());
    let profile = Profile::read(named.as_deref().unwrap_or("default"), around)?;
    let region = profile.get("region").map(str::to_owned);
    let keys = ["aws_access_key_id", "aws_secret_access_key", "credential_process"];
    let has_keys = keys.iter().any(|key| profile.get(key).is_some());
    // A default profile that only names a region leaves the keys to the machine's own identity.
    let credentials = if named.is_some() || has_keys { Some(profile.credentials(named.is_some())?) } else { None };
    Ok(OfProfile { region, credentials })
}

/// Service and region as Amazon's host names have them: `NAME.REGION.es.amazonaws.com`,
/// `NAME.REGION.aoss.amazonaws.com` and the dual-stack `NAME.aos.REGION.on.aws`, `NAME.aoss.REGION.on.aws`.
fn service_and_region(host: &str) -> Option<(Service, &str)> {
    if let Some(rest) = host.strip_suffix(".amazonaws.com").or_else(|| host.strip_suffix(".amazonaws.com.cn")) {
        let (rest, service) = rest.rsplit_once('.')?;
        let (_, region) = rest.rsplit_once('.')?;
        return Some((service.parse().ok()?, region));
    }
    let (rest, region) = host.strip_suffix(".on.aws")?.rsplit_once('.')?;
    match rest.rsplit_once('.')?.1 {
        "aos" => Some((Service::Es, region)),
        "aoss" => Some((Service::Aoss, region)),
        _ => None,
    }
}

/// The settings of one profile, those of the credentials file over those of the config file.
struct Profile {
    name: String,
    settings: HashMap<String, String>,
    looked_in: [Option<PathBuf>; 2],
}

impl Profile {
    fn read(name: &str, around: &Surroundings<'_>) -> Result<Profile, SetupError> {
        let path = |variable: &str, file: &str| {
            (around.variable)(variable)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
                .or_else(|| Some(around.home.as_ref()?.join(".aws").join(file)))
        };
        let config = path("AWS_CONFIG_FILE", "config");
        let credentials = path("AWS_SHARED_CREDENTIALS_FILE", "credentials");
        let mut settings = HashMap::new();
        for (file, prefix) in [(&config, "profile "), (&credentials, "")] {
            let Some(file) = file else { continue };
            match std::fs::read_to_string(file) {
                Ok(text) => settings.extend(section(&text, name, prefix)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(source) => {
                    return Err(SetupError::File { what: "the AWS profiles in", path: file.clone(), source });
                }
            }
        }
        Ok(Profile { name: name.to_owned(), settings, looked_in: [credentials, config] })
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.settings.get(key).map(String::as_str)
    }

    fn credentials(&self, named: bool) -> Result<AwsCredentials, SetupError> {
        let name = &self.name;
        match (self.get("aws_access_key_id"), self.get("aws_secret_access_key")) {
            (Some(id), Some(secret)) => {
                let token = self.get("aws_session_token").map(Secret::new);
                return Ok(AwsCredentials::fixed(id, &Secret::new(secret), token.as_ref()));
            }
            (Some(_), None) | (None, Some(_)) => {
                return Err(SetupError::Credentials(format!(
                    "the AWS profile {name} has only one of aws_access_key_id and aws_secret_access_key"
                )));
            }
            (None, None) => {}
        }
        if let Some(command) = self.get("credential_process") {
            return Ok(AwsCredentials::process(command.to_owned()));
        }
        let elsewhere = ["role_arn", "sso_session", "sso_start_url", "web_identity_token_file", "credential_source"];
        if let Some(key) = elsewhere.iter().find(|key| self.settings.contains_key(**key)) {
            return Err(SetupError::Credentials(format!(
                "the AWS profile {name} uses {key}, which only the AWS tools follow; set the variables that \
                 `aws configure export-credentials --profile {name} --format env` prints, or give a profile whose \
                 credential_process is `aws configure export-credentials --profile {name}`"
            )));
        }
        let looked_in: Vec<String> = self.looked_in.iter().flatten().map(|path| path.display().to_string()).collect();
        let looked_in = looked_in.join(" and ");
        Err(SetupError::Credentials(if named {
            format!("no credentials for the AWS profile {name} in {looked_in}")
        } else {
            format!(
                "no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile of {looked_in}"
            )
        }))
    }
}

/// The settings of one section of a profile file. Sections are named `[NAME]` in the credentials file and
/// `[profile NAME]` in the config file, where `[default]` is also taken. Indented lines belong to nested settings,
/// which are of no use here.
fn section(text: &str, name: &str, prefix: &str) -> HashMap<String, String> {
    let mut settings = HashMap::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with([' ', '\t', '#', ';']) {
            continue;
        }
        if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let header = header.trim();
            let of_profile = header.strip_prefix(prefix).map(str::trim) == Some(name);
            inside = of_profile || (name == "default" && header == "default");
        } else if let (true, Some((key, value))) = (inside, line.split_once('=')) {
            let end = [" #", " ;", "\t#", "\t;"].iter().filter_map(|comment| value.find(comment)).min();
            settings.insert(key.trim().to_lowercase(), value[..end.unwrap_or(value.len())].trim().to_owned());
        }
    }
    settings
}

/// Runs a `credential_process` with the system's shell and reads what it prints (version 1 of the format in the AWS SDKs
/// and Tools Reference Guide, "Process credential provider").
async fn run(command: &str) -> Result<Keys, BoxError> {
    let mut shell = if cfg!(windows) {
        let mut shell = tokio::process::Command::new("cmd");
        shell.arg("/C");
        shell
    } else {
        let mut shell = tokio::process::Command::new("sh");
        shell.arg("-c");
        shell
    };
    shell.arg(command).stdin(Stdio::null()).stderr(Stdio::inherit()).kill_on_drop(true);
    let output = tokio::time::timeout(PROCESS_MAX, shell.output())
        .await
        .map_err(|_| format!("the credential_process of the AWS profile took longer than {} s", PROCESS_MAX.as_secs()))?
        .map_err(|error| format!("the credential_process of the AWS profile could not be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("the credential_process of the AWS profile failed with {}", output.status).into());
    }
    parse_process_output(&output.stdout)
}

fn parse_process_output(output: &[u8]) -> Result<Keys, BoxError> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Output {
        version: u32,
        access_key_id: String,
        secret_access_key: String,
        session_token: Option<String>,
        expiration: Option<String>,
    }
    // The parser's message could quote a key, so only the place is told.
    let output: Output = serde_json::from_slice(output).map_err(|error| {
        format!(
            "the credential_process of the AWS profile printed something else than its JSON (line {}, column {})",
            error.line(),
            error.column()
        )
    })?;
    if output.version != 1 {
        return Err(
            format!("the credential_process of the AWS profile speaks version {}, expected 1", output.version).into()
        );
    }
    let mut keys = Keys::from_keys(output.access_key_id, output.secret_access_key, output.session_token);
    if let Some(text) = output.expiration {
        let expiry = parse_rfc3339(&text).ok_or_else(|| {
            format!("the credential_process of the AWS profile gave the expiration {text:?}, expected RFC 3339")
        })?;
        *keys.expiry_mut() = Some(expiry);
    }
    Ok(keys)
}

/// A moment like `2026-01-31T12:00:00Z` or `2026-01-31T12:00:00.5+01:00`, to the second.
pub(super) fn parse_rfc3339(text: &str) -> Option<SystemTime> {
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    let separators = [(4, "-"), (7, "-"), (13, ":"), (16, ":")];
    if !separators.iter().all(|&(at, expected)| text.get(at..at + 1) == Some(expected)) || !(1..=12).contains(&month) {
        return None;
    }
    let zone = text.get(19..)?.trim_start_matches(['.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    let offset = match zone {
        "Z" | "z" => 0,
        _ => {
            let (hours, minutes) = zone.get(1..)?.split_once(':')?;
            let seconds = hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60;
            match zone.as_bytes().first()? {
                b'+' => seconds,
                b'-' => -seconds,
                _ => return None,
            }
        }
    };
    // Days since 1970-01-01 of the proleptic Gregorian calendar, years beginning in March (Hinnant's days_from_civil).
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(u64::try_from(seconds).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "search-x.eu-west-1.es.amazonaws.com";

    struct World {
        folder: tempfile::TempDir,
        variables: HashMap<&'static str, String>,
    }

    impl World {
        fn new(variables: &[(&'static str, &str)]) -> Self {
            let variables = variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
            World { folder: tempfile::tempdir().unwrap(), variables }
        }

        fn file(self, name: &str, text: &str) -> Self {
            std::fs::create_dir_all(self.folder.path().join(".aws")).unwrap();
            std::fs::write(self.folder.path().join(".aws").join(name), text).unwrap();
            self
        }

        fn find(&self, options: &AwsOptions, host: &str) -> Result<(Service, String, AwsCredentials), SetupError> {
            let variable = |name: &str| self.variables.get(name).cloned();
            let around = Surroundings { variable: &variable, home: Some(self.folder.path().to_owned()) };
            find(options, host, &around)
        }

        fn key(&self, options: &AwsOptions) -> String {
            match self.find(options, HOST).unwrap().2.0 {
                Source::Fixed(keys) => {
                    format!("{} {} {:?}", keys.access_key_id(), keys.secret_access_key(), keys.session_token())
                }
                Source::Process { command, .. } => command,
            }
        }

        fn refusal(&self, options: &AwsOptions) -> String {
            self.find(options, HOST).err().unwrap().to_string()
        }
    }

    fn profile(name: &str) -> AwsOptions {
        AwsOptions { profile: Some(name.into()), ..Default::default() }
    }

    const FILES: [(&str, &str); 2] = [
        (
            "credentials",
            "# keys\n[default]\naws_access_key_id = D\naws_secret_access_key=ds=\n\n[team]\naws_access_key_id=T ; old\n\
             aws_secret_access_key=ts\naws_session_token=tt\n",
        ),
        (
            "config",
            "[default]\nregion = us-west-2\n[profile team]\nregion=eu-north-1\ns3 =\n  region = no\n\
             [profile role]\nrole_arn = arn:x\n[profile tool]\ncredential_process = /bin/tool --x \"a b\"\n",
        ),
    ];

    fn with_files(variables: &[(&'static str, &str)]) -> World {
        FILES.iter().fold(World::new(variables), |world, (name, text)| world.file(name, text))
    }

    #[test]
    fn keys_come_from_the_environment_then_from_the_profile() {
        let keys = [("AWS_ACCESS_KEY_ID", "E"), ("AWS_SECRET_ACCESS_KEY", "es"), ("AWS_SESSION_TOKEN", "et")];
        assert_eq!(with_files(&keys).key(&AwsOptions::default()), "E es Some(\"et\")");
        assert_eq!(with_files(&keys).key(&profile("team")), "T ts Some(\"tt\")");
        assert_eq!(with_files(&[]).key(&AwsOptions::default()), "D ds= None");
        assert_eq!(with_files(&[("AWS_PROFILE", "team")]).key(&AwsOptions::default()), "T ts Some(\"tt\")");
        assert_eq!(with_files(&[]).key(&profile("tool")), "/bin/tool --x \"a b\"");
    }

    #[test]
    fn other_places_for_the_files() {
        let world = World::new(&[]).file("elsewhere", "[default]\naws_access_key_id=X\naws_secret_access_key=xs\n");
        let path = world.folder.path().join(".aws/elsewhere").display().to_string();
        let variables = HashMap::from([("AWS_SHARED_CREDENTIALS_FILE", path)]);
        assert_eq!(World { variables, ..world }.key(&AwsOptions::default()), "X xs None");
    }

    #[test]
    fn what_is_missing_is_said() {
        let nothing = World::new(&[]).refusal(&AwsOptions::default());
        assert!(nothing.contains("set AWS_ACCESS_KEY_ID"), "{nothing}");
        let half = World::new(&[("AWS_ACCESS_KEY_ID", "E")]).refusal(&AwsOptions::default());
        assert!(half.contains("only one of"), "{half}");
        let role = with_files(&[]).refusal(&profile("role"));
        assert!(role.contains("role_arn") && role.contains("export-credentials"), "{role}");
        let unknown = with_files(&[]).refusal(&profile("nobody"));
        assert!(unknown.contains("no credentials for the AWS profile nobody"), "{unknown}");
    }

    #[test]
    fn the_region_is_the_first_that_is_found() {
        let keys = [("AWS_ACCESS_KEY_ID", "E"), ("AWS_SECRET_ACCESS_KEY", "es")];
        let region = |world: &World, options: &AwsOptions| world.find(options, HOST).unwrap().1;
        let bare = World::new(&keys);
        assert_eq!(region(&bare, &AwsOptions::default()), "eu-west-1");
        assert_eq!(region(&with_files(&keys), &AwsOptions::default()), "us-west-2");
        assert_eq!(region(&with_files(&keys), &profile("team")), "eu-north-1");
        let mut variables = keys.to_vec();
        variables.push(("AWS_DEFAULT_REGION", "ap-south-1"));
        assert_eq!(region(&with_files(&variables), &AwsOptions::default()), "ap-south-1");
        variables.push(("AWS_REGION", "ap-south-2"));
        assert_eq!(region(&with_files(&variables), &AwsOptions::default()), "ap-south-2");
        let given = AwsOptions { region: Some("sa-east-1".into()), ..Default::default() };
        assert_eq!(region(&with_files(&variables), &given), "sa-east-1");
        let none = bare.find(&AwsOptions::default(), "search.example.org").err().unwrap().to_string();
        assert!(none.contains("no AWS region"), "{none}");
    }

    #[test]
    fn host_names_tell_service_and_region() {
        assert_eq!(service_and_region(HOST), Some((Service::Es, "eu-west-1")));
        assert_eq!(service_and_region("x.us-east-1.aoss.amazonaws.com"), Some((Service::Aoss, "us-east-1")));
        assert_eq!(service_and_region("x.cn-north-1.es.amazonaws.com.cn"), Some((Service::Es, "cn-north-1")));
        assert_eq!(service_and_region("search-x.aos.us-east-1.on.aws"), Some((Service::Es, "us-east-1")));
        assert_eq!(service_and_region("s3.eu-west-1.amazonaws.com"), None);
        assert_eq!(service_and_region("localhost"), None);
    }

    #[test]
    fn moments() {
        let seconds = |text| parse_rfc3339(text).map(|t| t.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs());
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("2015-08-30T12:36:00Z"), Some(1_440_938_160));
        assert_eq!(seconds("2024-02-29T23:59:59.123+01:00"), Some(1_709_247_599));
        assert_eq!(seconds("2024-02-29T23:59:59-00:30"), Some(1_709_252_999));
        assert_eq!(seconds("tomorrow"), None);
        assert_eq!(seconds("2024-02-29T23:59:59"), None);
    }

    #[test]
    fn what_a_process_prints() {
        let keys = parse_process_output(
            br#"{"Version":1,"AccessKeyId":"A","SecretAccessKey":"S","SessionToken":"T","Expiration":"2015-08-30T12:36:00Z"}"#,
        )
        .unwrap();
        assert_eq!((keys.access_key_id(), keys.session_token()), ("A", Some("T")));
        let expiry = keys.expiry().unwrap();
        assert!(lasts(&keys, expiry - Duration::from_secs(301)));
        assert!(!lasts(&keys, expiry - Duration::from_secs(299)));
        let other = parse_process_output(br#"{"Version":1,"AccessKeyId":"hunter2"}"#).unwrap_err().to_string();
        assert!(other.contains("something else") && !other.contains("hunter2"), "{other}");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_process_is_run_once_while_its_keys_last() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let command = format!(
            "echo run >> '{}'; echo '{{\"Version\":1,\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"S\",\"Expiration\":\"2015-08-30T12:36:00Z\"}}'",
            log.display()
        );
        let credentials = AwsCredentials::process(command);
        let expiry = parse_rfc3339("2015-08-30T12:36:00Z").unwrap();
        for (now, runs) in
            [(expiry - Duration::from_secs(3600), 1), (expiry - Duration::from_secs(600), 1), (expiry, 2)]
        {
            assert_eq!(credentials.current(now).await.unwrap().access_key_id(), "A");
            assert_eq!(std::fs::read_to_string(&log).unwrap().lines().count(), runs);
        }
        let failing = AwsCredentials::process("exit 3".into()).current(expiry).await.unwrap_err().to_string();
        assert!(failing.contains("failed with"), "{failing}");
    }
}
