//! Credentials and certificates, from options. Secrets come from files, the environment, a prompt
//! or the program.

use std::path::Path;
use std::sync::Arc;

use super::Environment;
use crate::options::{LoginOptions, OptionError, OptionErrorKind, SourceLoginOptions};
use inrush_cluster::transport::aws::{AwsOptions, Service, Signer};
use inrush_cluster::transport::{Credentials, NodeUrl, Secret, SetupError, TlsOptions};

const PASSWORD_ENV: &str = "INRUSH_PASSWORD";
const API_KEY_ENV: &str = "INRUSH_API_KEY";
const BEARER_ENV: &str = "INRUSH_BEARER";

/// The names of options and environment variables.
struct Names {
    /// The prefix of the options.
    prefix: &'static str,
    password_env: &'static str,
    api_key_env: &'static str,
    bearer_env: &'static str,
}

/// The names for the target cluster.
const TARGET: Names =
    Names { prefix: "", password_env: PASSWORD_ENV, api_key_env: API_KEY_ENV, bearer_env: BEARER_ENV };

/// The names for the source cluster.
const SOURCE: Names = Names {
    prefix: "from_",
    password_env: "INRUSH_FROM_PASSWORD",
    api_key_env: "INRUSH_FROM_API_KEY",
    bearer_env: "INRUSH_FROM_BEARER",
};

/// The names for a schema registry, which has no API keys.
const REGISTRY: Names = Names {
    prefix: "registry_",
    password_env: "INRUSH_REGISTRY_PASSWORD",
    api_key_env: "",
    bearer_env: "INRUSH_REGISTRY_BEARER",
};

/// The names for the place of look-ups, which has no API keys.
const FETCH: Names = Names {
    prefix: "fetch_",
    password_env: "INRUSH_FETCH_PASSWORD",
    api_key_env: "",
    bearer_env: "INRUSH_FETCH_BEARER",
};

/// The way to authenticate, before any secret is read.
#[derive(Debug, PartialEq, Eq)]
enum Way<'a> {
    None,
    Basic(&'a str, Place<'a>),
    ApiKey(Place<'a>),
    Bearer(Place<'a>),
    Aws(Service),
}

/// The place of a secret.
#[derive(Debug, PartialEq, Eq)]
enum Place<'a> {
    File(&'a Path),
    Environment(&'a str),
    Held(&'a Secret),
    Prompt,
}

impl LoginOptions {
    /// The credentials for the cluster with the nodes `urls`. None for the local node, which needs
    /// none. It may prompt for a password.
    ///
    /// # Errors
    /// Options that contradict each other, and secrets that cannot be read.
    pub fn credentials(&self, urls: &[NodeUrl], environment: &Environment) -> Result<Credentials, OptionError> {
        find(self, urls, &TARGET, environment)
    }

    /// Certificates.
    ///
    /// # Errors
    /// Options that contradict each other.
    pub fn tls(&self) -> Result<TlsOptions, OptionError> {
        tls(self, &TARGET)
    }
}

impl SourceLoginOptions {
    /// The credentials for the source cluster.
    ///
    /// # Errors
    /// As [`LoginOptions::credentials`].
    pub fn credentials(&self, url: &NodeUrl, environment: &Environment) -> Result<Credentials, OptionError> {
        find(&self.to_login(), std::slice::from_ref(url), &SOURCE, environment)
    }

    /// The user and the password, where a user is given. It may prompt for the password.
    ///
    /// # Errors
    /// As [`LoginOptions::credentials`].
    pub(super) fn user_and_password(&self, environment: &Environment) -> Result<Option<(String, Secret)>, OptionError> {
        match way(&self.to_login(), false, &SOURCE, environment)? {
            Way::Basic(user, place) => {
                let password = secret(&place, &format!("password of {user}"), environment)?;
                Ok(Some((user.to_owned(), password)))
            }
            // Variables of the environment are for a cluster.
            _ => Ok(None),
        }
    }

    /// Certificates.
    ///
    /// # Errors
    /// Options that contradict each other.
    pub fn tls(&self) -> Result<TlsOptions, OptionError> {
        tls(&self.to_login(), &SOURCE)
    }
}

/// The file or the variable of a password.
type PasswordPlace<'a> = (Option<&'a Path>, Option<&'a str>);

/// The credentials for a schema registry.
pub(super) fn of_registry(
    user: Option<&str>,
    place: PasswordPlace<'_>,
    environment: &Environment,
) -> Result<Credentials, OptionError> {
    of_service(user, place, &REGISTRY, environment)
}

/// The credentials for a web service of look-ups.
pub(super) fn of_fetch(
    user: Option<&str>,
    place: PasswordPlace<'_>,
    environment: &Environment,
) -> Result<Credentials, OptionError> {
    of_service(user, place, &FETCH, environment)
}

/// The password for a database of look-ups, whose address has the user.
pub(super) fn password_of_fetch(
    (file, env): PasswordPlace<'_>,
    environment: &Environment,
) -> Result<Option<Secret>, OptionError> {
    let of_environment = environment.is_set(FETCH.password_env).then_some(Place::Environment(FETCH.password_env));
    let place = place("password", file, env, None)?.or(of_environment);
    place.map(|place| secret(&place, "password", environment)).transpose()
}

/// A user and the place of the password, or a token of the environment.
fn of_service(
    user: Option<&str>,
    (file, env): PasswordPlace<'_>,
    names: &Names,
    environment: &Environment,
) -> Result<Credentials, OptionError> {
    let login = LoginOptions {
        user: user.map(str::to_owned),
        password_file: file.map(Path::to_owned),
        password_env: env.map(str::to_owned),
        ..LoginOptions::default()
    };
    match way(&login, false, names, environment)? {
        Way::Basic(user, place) => {
            let password = secret(&place, &format!("password of {user}"), environment)?;
            Credentials::basic(user, password).map_err(setup)
        }
        Way::Bearer(place) => Ok(Credentials::Bearer(secret(&place, "bearer token", environment)?)),
        Way::None | Way::ApiKey(_) | Way::Aws(_) => Ok(Credentials::None),
    }
}

fn tls(login: &LoginOptions, names: &Names) -> Result<TlsOptions, OptionError> {
    let prefix = names.prefix;
    if login.cert.is_some() != login.key.is_some() {
        let message =
            format!("option `{prefix}cert` and option `{prefix}key` go together, but only one of them is given");
        return Err(OptionError::conflict(message));
    }
    if login.insecure && login.ca.is_some() {
        let message =
            format!("option `{prefix}insecure` accepts any certificate, so option `{prefix}ca` has no effect");
        return Err(OptionError::conflict(message).hint(format!("leave option `{prefix}insecure` out")));
    }
    Ok(TlsOptions {
        ca_file: login.ca.clone(),
        client_cert_file: login.cert.clone(),
        client_key_file: login.key.clone(),
        insecure: login.insecure,
    })
}

fn find(
    login: &LoginOptions,
    urls: &[NodeUrl],
    names: &Names,
    environment: &Environment,
) -> Result<Credentials, OptionError> {
    match way(login, urls.is_empty(), names, environment)? {
        Way::None => Ok(Credentials::None),
        Way::Basic(user, place) => {
            let password = secret(&place, &format!("password of {user}"), environment)?;
            Credentials::basic(user, password).map_err(setup)
        }
        Way::ApiKey(place) => Ok(Credentials::ApiKey(secret(&place, "API key", environment)?)),
        Way::Bearer(place) => Ok(Credentials::Bearer(secret(&place, "bearer token", environment)?)),
        Way::Aws(service) => {
            let options = AwsOptions {
                service: Some(service),
                region: login.aws_region.clone(),
                profile: login.aws_profile.clone(),
            };
            let host = urls.first().map_or("", NodeUrl::host);
            Ok(Credentials::SigV4(Arc::new(Signer::find(&options, host))))
        }
    }
}

fn setup(error: SetupError) -> OptionError {
    OptionError::unusable(error.to_string()).coded(error.code())
}

/// Chooses the way to authenticate, without reading a secret.
fn way<'a>(
    login: &'a LoginOptions,
    local: bool,
    names: &Names,
    environment: &Environment,
) -> Result<Way<'a>, OptionError> {
    let prefix = names.prefix;
    let LoginOptions { user, aws_sigv4, .. } = login;
    let key = place("API key", login.api_key_file.as_deref(), login.api_key_env.as_deref(), login.api_key.as_ref())?;
    let bearer =
        place("bearer token", login.bearer_file.as_deref(), login.bearer_env.as_deref(), login.bearer.as_ref())?;
    let password =
        place("password", login.password_file.as_deref(), login.password_env.as_deref(), login.password.as_ref())?;
    let given = [user.is_some(), key.is_some(), bearer.is_some(), aws_sigv4.is_some()];
    let given = given.into_iter().filter(|given| *given).count();
    if given > 1 {
        return Err(OptionError::conflict("more than one way to authenticate is given").hint(format!(
            "choose one of option `{prefix}user`, an API key, a bearer token and option `{prefix}aws_sigv4`"
        )));
    }
    if password.is_some() && user.is_none() {
        return Err(OptionError::conflict("a password is given, but no user")
            .hint(format!("name the user with option `{prefix}user`")));
    }
    if aws_sigv4.is_none() && (login.aws_region.is_some() || login.aws_profile.is_some()) {
        let message =
            format!("option `{prefix}aws_region` and option `{prefix}aws_profile` need option `{prefix}aws_sigv4`");
        return Err(OptionError::conflict(message)
            .hint(format!("add option `{prefix}aws_sigv4=es`, or option `{prefix}aws_sigv4=aoss` for Serverless")));
    }
    if local {
        // The environment's credentials are for another cluster.
        return match given {
            0 => Ok(Way::None),
            _ => Err(OptionError::conflict("credentials are given, but the local node needs none")
                .hint("name their cluster with option `to=URL`")),
        };
    }
    if let Some(user) = user {
        let password = password.map_or_else(|| place_of_password(user, names, environment), Ok)?;
        return Ok(Way::Basic(user, password));
    }
    if let Some(service) = aws_sigv4 {
        return Ok(Way::Aws(*service));
    }
    match (key, bearer) {
        (Some(key), _) => Ok(Way::ApiKey(key)),
        (None, Some(bearer)) => Ok(Way::Bearer(bearer)),
        (None, None) => way_of_environment(names, environment),
    }
}

/// Where the password of a user is for whom none is given.
fn place_of_password<'a>(user: &str, names: &Names, environment: &Environment) -> Result<Place<'a>, OptionError> {
    if environment.is_set(names.password_env) {
        return Ok(Place::Environment(names.password_env));
    }
    if environment.password.is_some() {
        return Ok(Place::Prompt);
    }
    let prefix = names.prefix;
    let message = format!("option `{prefix}user={user}` has no password, and there is no terminal for a prompt");
    let hint =
        format!("give it with option `{prefix}password_file=FILE`, or in the environment as {}", names.password_env);
    Err(OptionError::new(OptionErrorKind::Missing, message).coded(inrush_core::Code::BadCredentials).hint(hint))
}

fn way_of_environment<'a>(names: &Names, environment: &Environment) -> Result<Way<'a>, OptionError> {
    let (key, bearer) = (names.api_key_env, names.bearer_env);
    match (environment.is_set(key), environment.is_set(bearer)) {
        (true, true) => Err(OptionError::conflict(format!("both {key} and {bearer} are set"))
            .hint(format!("unset one of them, or choose with option `{}api_key_env={key}`", names.prefix))),
        (true, false) => Ok(Way::ApiKey(Place::Environment(key))),
        (false, true) => Ok(Way::Bearer(Place::Environment(bearer))),
        (false, false) => Ok(Way::None),
    }
}

fn place<'a>(
    what: &str,
    file: Option<&'a Path>,
    env: Option<&'a str>,
    held: Option<&'a Secret>,
) -> Result<Option<Place<'a>>, OptionError> {
    match (file, env, held) {
        (None, None, None) => Ok(None),
        (Some(file), None, None) => Ok(Some(Place::File(file))),
        (None, Some(name), None) => Ok(Some(Place::Environment(name))),
        (None, None, Some(secret)) => Ok(Some(Place::Held(secret))),
        (_, _, Some(_)) => {
            Err(OptionError::conflict(format!("the {what} is given directly, and by file or environment"))
                .hint("leave all but one of them out"))
        }
        (Some(_), Some(_), None) => {
            Err(OptionError::conflict(format!("the {what} is given by file and by environment"))
                .hint("leave one of the two options out"))
        }
    }
}

fn secret(place: &Place<'_>, what: &str, environment: &Environment) -> Result<Secret, OptionError> {
    match place {
        Place::File(path) => Secret::from_file(path).map_err(setup),
        Place::Held(secret) => Ok((*secret).clone()),
        // The message does not repeat an invalid name, which may be the secret itself.
        Place::Environment(name)
            if !name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_') =>
        {
            Secret::from_env(name).map_err(|_| {
                OptionError::unusable(format!("the environment variable for the {what} is not set or empty"))
                    .hint("give the variable's name, not the secret itself")
            })
        }
        Place::Environment(name) => Secret::from_env(name).map_err(setup),
        Place::Prompt => match &environment.password {
            Some(ask) => ask(what).map_err(|error| OptionError::unusable(format!("cannot read the {what}: {error}"))),
            None => {
                Err(OptionError::unusable(format!("the {what} is not given, and there is no terminal for a prompt")))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(set: &'static [&'static str], has_prompt: bool) -> Environment {
        let environment = Environment::new(|name| set.contains(&name).then(|| "x".into()));
        if has_prompt { environment.with_prompt(|_| Ok(Secret::new("asked"))) } else { environment }
    }

    fn check(login: LoginOptions, set: &'static [&'static str], prompt: bool, expected: Result<Way<'_>, &str>) {
        match (way(&login, false, &TARGET, &environment(set, prompt)), expected) {
            (Ok(way), Ok(expected)) => assert_eq!(way, expected),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (found, expected) => panic!("{found:?} is not {expected:?}"),
        }
    }

    fn user() -> LoginOptions {
        LoginOptions { user: Some("u".into()), ..LoginOptions::default() }
    }

    #[test]
    fn a_password_comes_from_the_first_place_that_has_it() {
        let file = LoginOptions { password_file: Some("f".into()), ..user() };
        check(file, &[PASSWORD_ENV], true, Ok(Way::Basic("u", Place::File(Path::new("f")))));
        let env = LoginOptions { password_env: Some("MINE".into()), ..user() };
        check(env, &[PASSWORD_ENV], true, Ok(Way::Basic("u", Place::Environment("MINE"))));
        check(user(), &[PASSWORD_ENV, API_KEY_ENV], true, Ok(Way::Basic("u", Place::Environment(PASSWORD_ENV))));
        check(user(), &[], true, Ok(Way::Basic("u", Place::Prompt)));
        check(user(), &[], false, Err("no terminal for a prompt"));
        let held = LoginOptions { password: Some(Secret::new("p")), ..user() };
        check(held.clone(), &[PASSWORD_ENV], false, Ok(Way::Basic("u", Place::Held(&Secret::new("p")))));
        let twice = LoginOptions { password_env: Some("X".into()), ..held };
        check(twice, &[], false, Err("the password is given directly, and by file or environment"));
    }

    #[test]
    fn the_environment_is_used_where_it_is_clear() {
        let none = LoginOptions::default;
        check(none(), &[], true, Ok(Way::None));
        check(none(), &[PASSWORD_ENV], true, Ok(Way::None));
        check(none(), &[API_KEY_ENV], true, Ok(Way::ApiKey(Place::Environment(API_KEY_ENV))));
        check(none(), &[BEARER_ENV], true, Ok(Way::Bearer(Place::Environment(BEARER_ENV))));
        check(none(), &[API_KEY_ENV, BEARER_ENV], true, Err("both INRUSH_API_KEY and INRUSH_BEARER"));
        let bearer = LoginOptions { bearer_file: Some("f".into()), ..none() };
        check(bearer, &[API_KEY_ENV], true, Ok(Way::Bearer(Place::File(Path::new("f")))));
    }

    #[test]
    fn the_source_has_options_and_variables_of_its_own() {
        let variables = environment(&["INRUSH_PASSWORD", "INRUSH_API_KEY"], false);
        assert_eq!(way(&LoginOptions::default(), false, &SOURCE, &variables), Ok(Way::None));
        let error = way(&user(), false, &SOURCE, &variables).unwrap_err();
        assert!(error.to_string().contains("option `from_user=u` has no password"), "{error}");
        let variables = environment(&["INRUSH_FROM_API_KEY"], false);
        let none = LoginOptions::default();
        let found = way(&none, false, &SOURCE, &variables);
        assert_eq!(found, Ok(Way::ApiKey(Place::Environment("INRUSH_FROM_API_KEY"))));
    }

    #[test]
    fn options_that_do_not_fit_together() {
        let none = LoginOptions::default;
        check(LoginOptions { api_key_file: Some("f".into()), ..user() }, &[], true, Err("more than one way"));
        check(LoginOptions { password_file: Some("f".into()), ..none() }, &[], true, Err("no user"));
        check(LoginOptions { aws_region: Some("r".into()), ..none() }, &[], true, Err("need option `aws_sigv4`"));
        let twice = LoginOptions { bearer_file: Some("f".into()), bearer_env: Some("B".into()), ..none() };
        check(twice, &[], true, Err("by file and by environment"));
        assert!(LoginOptions { cert: Some("c".into()), ..none() }.tls().is_err());
        assert!(LoginOptions { ca: Some("c".into()), insecure: true, ..none() }.tls().is_err());
        assert!(LoginOptions { ca: Some("c".into()), ..none() }.tls().is_ok());
    }

    #[test]
    fn the_local_node_gets_no_credentials_of_others() {
        let all = Environment::new(|_| Some("x".into()));
        assert_eq!(way(&LoginOptions::default(), true, &TARGET, &all), Ok(Way::None));
        assert!(way(&user(), true, &TARGET, &all).unwrap_err().to_string().contains("needs none"));
    }

    #[test]
    fn a_secret_in_place_of_a_name_is_not_printed() {
        let read = |name| secret(&Place::Environment(name), "password of u", &Environment::empty());
        let error = read("hunter2-secret").unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
        let error = read("INRUSH_TEST_UNSET").unwrap_err().to_string();
        assert!(error.contains("INRUSH_TEST_UNSET"), "{error}");
    }
}
