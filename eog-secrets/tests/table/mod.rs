//! The kinds of secrets, and how canaries of each are drawn.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use memchr::memmem;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;

/// A kind of secret: forms in which it is quoted, `{}` for the secret.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) forms: &'static [&'static str],
    pub(crate) canary: Canary,
    pub(crate) reach: Reach,
}

/// How far masking may reach.
#[derive(PartialEq, Eq)]
pub(crate) enum Reach {
    /// To the end of the line.
    Line,
    /// To the end of the text: a block that nothing ends.
    Rest,
}

/// How a canary is drawn.
pub(crate) enum Canary {
    /// So many letters of both cases and digits.
    Mixed(usize),
    /// So many small letters and digits.
    Lower(usize),
    /// So many capitals and digits.
    Upper(usize),
    /// So many hexadecimal digits.
    Hex(usize),
    /// So many digits.
    Digits(usize),
    /// Base64 of so many random bytes.
    Base64(usize),
    /// Lines of base64 of so many random bytes, as in PEM.
    Lines(usize),
    /// So many letters and digits, and signs of this set.
    Signs(usize, &'static str),
    /// Four words.
    Words,
    /// A word of small letters.
    Word,
    /// Two short parts and a comma.
    Parts,
    /// A JSON Web Token.
    Jwt,
    /// Base64 of text that this makes with a password.
    Encoded(&'static str),
    /// A UUID.
    Uuid,
}

/// A drawn secret, and the pieces of it that must not survive.
#[derive(Clone)]
pub(crate) struct Drawn {
    pub(crate) text: String,
    pieces: Vec<String>,
}

impl Drawn {
    pub(crate) fn survives(&self, masked: &str) -> bool {
        let is_there = |piece: &String| memmem::find(masked.as_bytes(), piece.as_bytes()).is_some();
        self.pieces.iter().any(is_there)
    }
}

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";

/// Words that passphrases are made of.
const PASSPHRASE: [&str; 12] = [
    "horse", "battery", "staple", "orbit", "walnut", "velvet", "copper", "meadow", "lantern",
    "pickle", "glacier", "tulip",
];

fn letters(random: &mut ChaCha8Rng, length: usize, sets: &[&str]) -> String {
    let all: Vec<char> = sets.concat().chars().collect();
    // One of each set, so that no draw is a plain word by chance.
    let mut drawn: Vec<char> = sets
        .iter()
        .filter_map(|set| set.chars().collect::<Vec<_>>().choose(random).copied())
        .collect();
    while drawn.len() < length {
        drawn.extend(all.choose(random));
    }
    drawn.rotate_left(length / 3);
    drawn.into_iter().collect()
}

fn bytes(random: &mut ChaCha8Rng, length: usize) -> Vec<u8> {
    (0..length).map(|_| random.random()).collect()
}

impl Canary {
    pub(crate) fn draw(&self, random: &mut ChaCha8Rng) -> Drawn {
        let whole = |text: String| Drawn { pieces: vec![text.clone()], text };
        match self {
            Self::Mixed(length) => whole(letters(random, *length, &[LOWER, UPPER, DIGITS])),
            Self::Lower(length) => whole(letters(random, *length, &[LOWER, DIGITS])),
            Self::Upper(length) => whole(letters(random, *length, &[UPPER, DIGITS])),
            Self::Hex(length) => whole(letters(random, *length, &["abcdef", DIGITS])),
            Self::Digits(length) => whole(letters(random, *length, &[DIGITS])),
            Self::Signs(length, signs) => {
                whole(letters(random, *length, &[signs, LOWER, UPPER, DIGITS]))
            }
            Self::Base64(length) => whole(STANDARD.encode(bytes(random, *length))),
            Self::Lines(length) => {
                let body = STANDARD.encode(bytes(random, *length));
                let lines: Vec<String> = body
                    .as_bytes()
                    .chunks(64)
                    .map(|line| String::from_utf8_lossy(line).into_owned())
                    .collect();
                Drawn { text: lines.join("\n"), pieces: lines }
            }
            Self::Words => {
                let words: Vec<String> = (0..4)
                    .filter_map(|_| PASSPHRASE.choose(random))
                    .map(|word| (*word).to_owned())
                    .collect();
                Drawn { text: words.join(" "), pieces: words }
            }
            Self::Word => whole((*PASSPHRASE.choose(random).expect("words")).to_owned()),
            Self::Parts => {
                let parts = [letters(random, 4, &[LOWER]), letters(random, 4, &[LOWER])];
                let text = parts.join(",");
                Drawn { pieces: vec![format!("{},", parts[0]), format!(",{}", parts[1])], text }
            }
            Self::Jwt => {
                let head = URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256","typ":"JWT"}"#);
                let subject = letters(random, 8, &[LOWER, DIGITS]);
                let body = URL_SAFE_NO_PAD.encode(format!(r#"{{"sub":"{subject}"}}"#));
                let sign = URL_SAFE_NO_PAD.encode(bytes(random, 32));
                Drawn { text: format!("{head}.{body}.{sign}"), pieces: vec![body, sign] }
            }
            Self::Encoded(form) => {
                let password = letters(random, 10, &[LOWER, DIGITS]);
                whole(STANDARD.encode(form.replace("{}", &password)))
            }
            Self::Uuid => {
                let hex = letters(random, 32, &["abcdef", DIGITS]);
                let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
                whole(parts.join("-"))
            }
        }
    }
}

const fn kind(name: &'static str, canary: Canary, forms: &'static [&'static str]) -> Kind {
    Kind { name, forms, canary, reach: Reach::Line }
}

use Canary::{
    Base64, Digits, Encoded, Hex, Jwt, Lines, Lower, Mixed, Parts, Signs, Upper, Uuid, Word, Words,
};

/// All kinds.
pub(crate) const KINDS: &[Kind] = &[
    // Names in free text.
    kind(
        "password after a name",
        Lower(9),
        &[
            "login with password={} failed",
            "password: {}",
            "DB_PASSWORD={} npm start",
            "passwd:{}, host:db",
            "cannot connect (pwd={})",
            "user=bob;password={};database=shop",
            "config password => {}",
        ],
    ),
    kind(
        "password that is a plain word",
        Word,
        &[
            "password={} refused",
            "db.password = {}",
            "\"password\": \"{}\"",
            "mysql_root_password: {}",
        ],
    ),
    kind(
        "password with a slash",
        Signs(10, "/"),
        &[
            "password={} refused",
            "postgres://bob:{}@db:5432/shop",
            "\"password\":\"{}\"",
            "amqp://bob:{}@mq/vhost",
        ],
    ),
    kind(
        "password with signs",
        Signs(12, "!@#$%^*+=?:~|"),
        &["password={} refused", "DB_PASS='{}'", "\"passwd\":\"{}\"", "password: {}"],
    ),
    kind(
        "several words after a name",
        Words,
        &[
            "password: {}",
            "login failed, password: {}",
            "passphrase={}",
            "password = {}\nhost = db",
            "db_password={} host=db",
            "\"passphrase\": \"{}\"",
            "mnemonic: {}",
        ],
    ),
    kind(
        "comma in a value",
        Parts,
        &["password={} refused", "password: {}", "Password={};Server=db", "pwd={},user=bob"],
    ),
    kind(
        "password is",
        Lower(9),
        &[
            "the password is {}",
            "Password is: {}",
            "new password for bob is {}",
            "password for user bob: {}",
            "password was set to {} by admin",
            "the root password is now {}.",
        ],
    ),
    kind(
        "quoted value",
        Signs(14, " ,;"),
        &[
            "password='{}' refused",
            "password: \"{}\"",
            "{'password': '{}'}",
            "{\"secret_key\":\"{}\"}",
            "password=`{}`",
            "token=b'{}x1'",
        ],
    ),
    kind(
        "escaped JSON",
        Lower(9),
        &[
            r#"body: "{\"user\":\"bob\",\"password\":\"{}\"}""#,
            r#"{\\\"password\\\":\\\"{}\\\",\\\"a\\\":1}"#,
            r"{\u0022password\u0022:\u0022{}\u0022}",
            "{&quot;password&quot;:&quot;{}&quot;}",
            r#"\npassword=\"{}\"\n"#,
        ],
    ),
    kind(
        "percent-encoded query",
        Lower(9),
        &[
            "next=%2Flogin%3Fuser%3Dbob%26password%3D{}%26x%3D1",
            "token%3D{}1A",
            "body: password%3A{}",
            "r=password%253D{}",
        ],
    ),
    kind(
        "query parameter",
        Mixed(14),
        &[
            "GET /x?token={}&y=1 200",
            "https://host/x?access_token={}",
            "https://host/x?y=1&api_key={}#frag",
            "GET /cb?code={}Aa1x&state=1",
            "POST /login?user=bob&password={} HTTP/1.1",
        ],
    ),
    kind(
        "XML element",
        Lower(9),
        &[
            "<password>{}</password>",
            "<db:Password>{}</db:Password>",
            "<apiKey>{}</apiKey>",
            "&lt;password&gt;{}&lt;/password&gt;",
            "<add key=\"DbPassword\" value=\"{}\" />",
            "<user name=\"bob\" password=\"{}\"/>",
        ],
    ),
    kind(
        "key of an application",
        Mixed(20),
        &[
            "MY_APP_KEY={}",
            "export BILLING_KEY={}",
            "STRIPE_WEBHOOK_KEY: {}",
            "APP_KEY=base64:{}",
            "ENCRYPTION_KEY={} started",
        ],
    ),
    kind(
        "key that is a UUID",
        Uuid,
        &["API_KEY={}", "MY_APP_KEY={}", "x-api-key: {}", "\"apiKey\":\"{}\""],
    ),
    kind(
        "API key",
        Lower(20),
        &["api_key={}", "\"apiKey\": \"{}\"", "X-API-Key: {}", "API key: {}", "--api-key {}"],
    ),
    kind(
        "token",
        Mixed(24),
        &[
            "token={}",
            "access_token: {}",
            "refreshToken\":\"{}\"",
            "auth-token: {}",
            "invalid token: {}",
            "X-Vault-Token: {}",
            "CSRF_TOKEN={}",
            "//registry.npmjs.org/:_authToken={}",
        ],
    ),
    kind(
        "client secret",
        Mixed(24),
        &[
            "client_secret={}",
            "clientSecret: {}",
            "\"client_secret\":\"{}\"",
            "AZURE_CLIENT_SECRET={}",
            "secret: {}",
        ],
    ),
    kind(
        "flag",
        Lower(9),
        &[
            "run --password {} --port 80",
            "run --password={} --port 80",
            "run --db-password \"{}\"",
            "args: [\"--password\", \"{}\"]",
            "--admin-password='{}'",
        ],
    ),
    kind(
        "environment of a container",
        Lower(9),
        &[
            r#"{"name":"DB_PASSWORD","value":"{}"}"#,
            "- name: DB_PASSWORD\n  value: {}\n",
            r#"{\"name\":\"DB_PASSWORD\",\"value\":\"{}\"}"#,
            "- name: DB_PASSWORD\n  value: \"{}\"\n",
        ],
    ),
    kind(
        "YAML",
        Lower(9),
        &[
            "db:\n  password: {}\n  host: db",
            "password: |\n  {}\nhost: db",
            "  - password: {}",
            "password: >-\n  {}",
        ],
    ),
    kind(
        "connection string",
        Lower(9),
        &[
            "Server=db;User Id=sa;Password={};Encrypt=true",
            "Server=db;Uid=sa;Pwd={}",
            "Driver=x;Pwd={{}};Server=db",
            "host=db user=bob password={} sslmode=disable",
            "jdbc:mysql://db/shop?user=bob&password={}",
        ],
    ),
    // Headers.
    kind(
        "Authorization: Bearer",
        Mixed(20),
        &[
            "Authorization: Bearer {}",
            "authorization: bearer {}",
            "-H 'Authorization: Bearer {}' https://host",
            "\"Authorization\":\"Bearer {}\"",
            "Authorization=Bearer%20{}",
            "headers: map[Authorization:[Bearer {}]]",
            "sent bearer {} to host",
        ],
    ),
    kind(
        "Authorization: Basic",
        Encoded("bob:{}"),
        &[
            "Authorization: Basic {}",
            "\"authorization\": \"Basic {}\"",
            "proxy-authorization: basic {}",
            "('Authorization', 'Basic {}')",
        ],
    ),
    kind(
        "Authorization: Token",
        Mixed(20),
        &[
            "Authorization: Token {}",
            "Authorization: token {}",
            "\"Authorization\": \"Token {}\"",
            "Authorization: Token token=\"{}\"",
        ],
    ),
    kind(
        "Authorization of another scheme",
        Mixed(20),
        &[
            "Authorization: ApiKey {}",
            "Authorization: {}",
            "Authorization: GenieKey {}",
            "Authorization: Foo {}",
            "Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/x, Signature={}",
            "Authorization: Digest username=\"bob\", response=\"{}\"",
        ],
    ),
    kind(
        "Cookie",
        Mixed(16),
        &[
            "Cookie: sid={}",
            "Cookie: theme=dark; sid={}; lang=en",
            "\"Cookie\": \"a=b; session={}\"",
            "-H 'cookie: a={}'",
            "JSESSIONID={}",
        ],
    ),
    kind(
        "Set-Cookie",
        Mixed(16),
        &[
            "Set-Cookie: sid={}; Path=/; HttpOnly",
            "set-cookie: a={}",
            "\"Set-Cookie\":[\"sid={}; Secure\"]",
        ],
    ),
    // Addresses.
    kind(
        "password in a URL",
        Lower(9),
        &[
            "postgres://bob:{}@db:5432/shop",
            "https://bob:{}@host/x",
            "redis://:{}@cache:6379/0",
            "dial amqp://bob:{}@mq: refused",
            "mongodb+srv://bob:{}@c0.example.org/?w=1",
        ],
    ),
    kind(
        "token in a URL",
        Mixed(20),
        &[
            "https://{}@host/x.git",
            "https://{}:x-oauth-basic@github.com/o/r",
            "https://oauth2:{}@gitlab.com/o/r.git",
            "git clone https://{}@github.com/o/r",
        ],
    ),
    kind(
        "Go data source name",
        Signs(10, "/!"),
        &[
            "root:{}@tcp(db:3306)/shop",
            "dsn=\"bob:{}@tcp(10.0.0.1:3306)/shop?parseTime=true\"",
            "open bob:{}@unix(/tmp/mysql.sock)/shop: refused",
        ],
    ),
    kind(
        "Azure AccountKey",
        Base64(64),
        &[
            "DefaultEndpointsProtocol=https;AccountName=x;AccountKey={};EndpointSuffix=core.windows.net",
            "AccountKey={}",
            "Endpoint=sb://x.example.org/;SharedAccessKeyName=Root;SharedAccessKey={}",
        ],
    ),
    kind(
        "Azure SAS",
        Mixed(43),
        &[
            "https://x.blob.core.windows.net/c/b?sv=2022&se=2025&sig={}%3D&sp=r",
            "SharedAccessSignature=sv=2022&sig={}%3D",
            "?sig={}",
        ],
    ),
    kind(
        "signed address of AWS",
        Hex(64),
        &[
            "https://b.s3.amazonaws.com/o?X-Amz-Expires=60&X-Amz-Signature={}",
            "GET /o?X-Amz-Signature={}&x=1",
        ],
    ),
    kind(
        "JWT",
        Jwt,
        &["token {} expired", "jwt={}", "\"id_token\":\"{}\"", "{}", "user bob,{},ok"],
    ),
    kind(
        "JWT in a URL path",
        Jwt,
        &[
            "GET /verify/{} 200",
            "https://host/reset/{}/confirm",
            "https://host/x#{}",
            "GET /verify/{}?x=1",
        ],
    ),
    kind(
        "Slack webhook",
        Mixed(24),
        &[
            "https://hooks.slack.com/services/T012ABCDE/B012ABCDE/{}",
            "POST hooks.slack.com/services/T012ABCDE/B012ABCDE/{} 200",
            "https://hooks.slack.com/workflows/T012ABCDE/{}",
        ],
    ),
    kind(
        "Discord webhook",
        Mixed(60),
        &[
            "https://discord.com/api/webhooks/123456789012345678/{}",
            "https://discordapp.com/api/v10/webhooks/123456789012345678/{}",
        ],
    ),
    kind(
        "webhook of another chat",
        Uuid,
        &[
            "https://open.feishu.cn/open-apis/bot/v2/hook/{}",
            "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key={}",
            "https://hc-ping.com/{}",
            "https://x.webhook.office.com/webhookb2/{}@0/IncomingWebhook/x",
            "https://chat.example.org/hooks/{}",
        ],
    ),
    kind(
        "Telegram bot",
        Mixed(35),
        &[
            "https://api.telegram.org/bot123456789:{}/sendMessage",
            "https://api.telegram.org/file/bot123456789:{}/x",
            "https://api.telegram.org/bot123456789%3A{}/getMe",
        ],
    ),
    // Tokens by their beginning.
    kind("GitHub user token", Mixed(36), &["ghu_{}", "key ghu_{} end", "(ghu_{})"]),
    kind("GitHub personal token", Mixed(36), &["ghp_{}", "clone with ghp_{}, ok", "github_pat_{}"]),
    kind("short GitHub token", Mixed(16), &["gho_{}", "'ghs_{}'", "ghr_{}"]),
    kind("GitLab token", Mixed(20), &["glpat-{}", "[gldt-{}]", "glrt-{} failed"]),
    kind("Slack app token", Lower(40), &["xapp-1-A012ABCDEF-1234567890123-{}", "xapp-{}"]),
    kind(
        "Slack bot token",
        Mixed(24),
        &["xoxb-1234567890-1234567890-{}", "xoxp-{}", "xoxe.xoxp-1-{}"],
    ),
    kind("webhook signing secret", Mixed(32), &["whsec_{}", "secret whsec_{} wrong"]),
    kind("Google OAuth token", Mixed(40), &["ya29.{}", "got ya29.a0{}_x-{}"]),
    kind("Google API key", Mixed(35), &["AIza{}", "?x=AIza{}"]),
    kind("npm token", Mixed(36), &["npm_{}", "npm ERR npm_{} expired"]),
    kind("Hugging Face token", Mixed(34), &["hf_{}", "HF hf_{} denied"]),
    kind("Vault token", Mixed(28), &["hvs.{}", "vault hvs.CAES{} denied", "hvb.{}"]),
    kind("SendGrid key", Mixed(22), &["SG.{}.{}", "key SG.{}.{}x ok", "SG.{}"]),
    kind("Stripe key", Mixed(24), &["sk_live_{}", "rk_test_{}", "used sk_live_{}."]),
    kind("key of a model", Mixed(40), &["sk-{}", "sk-proj-{}", "wrong key: sk-ant-api03-{}"]),
    kind("AWS access key id", Upper(16), &["AKIA{}", "key ASIA{} denied"]),
    kind(
        "AWS secret key",
        Base64(30),
        &[
            "{}",
            "creds AKIAIOSFODNN7EXAMPLE {}",
            "aws_secret_access_key = {}",
            "aws_secret_access_key={}",
            "SecretAccessKey: {}",
            "found {} in file",
        ],
    ),
    kind("key of a vendor", Hex(40), &["datadog_thing: {}", "DATADOG = \"{}\"", "meraki: {}"]),
    // Keys.
    Kind {
        name: "PEM block",
        canary: Lines(300),
        forms: &[
            "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
            "key: -----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY----- ok",
            "-----BEGIN OPENSSH PRIVATE KEY-----\n{}",
        ],
        reach: Reach::Rest,
    },
    kind("PEM body without header", Lines(200), &["{}", "MIIEpAIBAAKCAQEA{}", "key:\n{}"]),
    kind(
        "client-key-data",
        Base64(90),
        &[
            "client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQp{}",
            "    client-key-data: {}",
            "\"client-key-data\":\"{}\"",
            "LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0tLS0tCk{}",
        ],
    ),
    // Commands and statements.
    kind(
        "flags of logins and shares",
        Mixed(12),
        &[
            "docker login -u bob -p {} registry.example.org",
            "[\"docker\",\"login\",\"-u\",\"bob\",\"-p\",\"{}\"]",
            "+ podman login --username bob -p {} quay.io",
            "sqlcmd -S db -U sa -P {} -Q \"select 1\"",
            "net use Z: \\\\fs\\share {} /user:corp\\bob",
            "net use \\\\fs\\share /user:bob {}",
            "bindpw {}",
            "bindpw: {}",
            "olcRootPW {}",
            "jdbc:oracle:thin:scott/{}@db:1521/orcl",
            "sqlplus scott/{}@orcl",
        ],
    ),
    kind(
        "a value on the next line",
        Lower(12),
        &[
            "password:\n  {}\nuser: bob",
            "Password:\n{}",
            "Password:\n{} again",
            "<password>\n  {}\n</password>",
        ],
    ),
    kind(
        "properties of XML",
        Lower(12),
        &[
            "<property><name>db.password</name><value>{}</value></property>",
            "<property>\n<name>javax.jdo.option.ConnectionPassword</name>\n<value>{}</value>",
            "<entry key=\"password\">{}</entry>",
            "<add key=\"DbPassword\" value=\"{}\" />",
            "<key>password</key><string>{}</string>",
        ],
    ),
    kind(
        "tokens of forms and databases",
        Mixed(24),
        &[
            "POST /login csrftoken={}",
            "Cookie csrftoken={}; a=b",
            "mysql://x AVNS_{}",
            "pw AVNS_{} ok",
        ],
    ),
    kind(
        "other spellings of a name",
        Lower(12),
        &[
            "{\"pass\\u0077ord\":\"{}\"}",
            "\\u0070assword=\\u0022{}\\u0022",
            "url?a=1\\u0026password\\u003d{}",
            "\u{ff50}\u{ff41}\u{ff53}\u{ff53}\u{ff57}\u{ff4f}\u{ff52}\u{ff44}\u{ff1d}{}",
        ],
    ),
    kind(
        "other words for password",
        Lower(12),
        &[
            "Passwort: {}",
            "das Kennwort lautet {}",
            "mot de passe : {}",
            "contraseña={}",
            "senha: {}",
            "пароль: {}",
            "密码：{}",
            "パスワード={}",
            "비밀번호: {}",
            "wachtwoord={}",
        ],
    ),
    kind(
        "IDENTIFIED BY",
        Lower(9),
        &[
            "CREATE USER 'bob'@'%' IDENTIFIED BY '{}'",
            "alter user bob identified by {};",
            "IDENTIFIED WITH mysql_native_password BY \"{}\"",
            "\"stmt\":\"CREATE USER bob IDENTIFIED BY '{}'\"",
        ],
    ),
    kind(
        "statement with a password",
        Lower(9),
        &[
            "ALTER ROLE bob WITH PASSWORD '{}'",
            "SET PASSWORD FOR bob = PASSWORD('{}')",
            "CREATE USER bob PASSWORD '{}' VALID UNTIL 'x'",
        ],
    ),
    kind(
        "-pPASSWORD",
        Mixed(10),
        &[
            "mysql -uroot -p{} shop",
            "mysqladmin ping -p{}",
            "-p{}",
            "sshpass -p {} ssh host",
            "[\"mysqladmin\",\"ping\",\"-p{}\"]",
        ],
    ),
    kind(
        "-u user:password",
        Lower(9),
        &[
            "curl -u bob:{} https://host",
            "curl --user bob:{} https://host",
            "curl -s -u 'bob:{}' https://host",
            "[\"-u\",\"bob:{}\"]",
        ],
    ),
    kind(
        "password of a client",
        Lower(9),
        &[
            "redis-cli -h cache -a {} ping",
            "ldapsearch -x -D cn=a -w {} -b dc=x",
            "machine host login bob password {}",
        ],
    ),
    kind("SMTP authentication", Encoded("\u{0}bob\u{0}{}"), &["AUTH PLAIN {}", "C: AUTH LOGIN {}"]),
    kind(
        "hash of a password",
        Mixed(40),
        &[
            "root:$6$saltsalt${}:19000:0",
            "$2b$12${}abcdefghijk",
            "{SSHA}{}",
            "$argon2id$v=19$m=65536${}",
        ],
    ),
    // Codes.
    kind(
        "one-time code",
        Digits(6),
        &[
            "your code is {}",
            "OTP: {}",
            "otp={}",
            "verification code {} sent to bob",
            "one-time password is {}",
            "{} is your login code",
            "2FA code: {}",
            "Use code {} to sign in",
            "\"otp\":\"{}\"",
            "pin: {}",
        ],
    ),
    // Objects.
    kind(
        "data of a Secret",
        Encoded("{}"),
        &[
            r#"{"apiVersion":"v1","data":{"user":"{}"},"kind":"Secret"}"#,
            "kind: Secret\nmetadata:\n  name: login\ndata:\n  user: {}\n",
            r#"{\"data\":{\"user\":\"{}\"},\"kind\":\"Secret\"}"#,
            "kind: Secret\nstringData:\n  user: {}\n",
        ],
    ),
    kind(
        "base64 of text with a secret",
        Encoded("db_password={} and more"),
        &["{}", "data: {}", "value \"{}\" read", "x={}"],
    ),
    kind(
        "Docker auth",
        Encoded("bob:{}"),
        &[
            r#"{"auths":{"registry.example.org":{"auth":"{}"}}}"#,
            r#"{\"auths\":{\"r\":{\"auth\":\"{}\"}}}"#,
            "\"auth\": \"{}\"",
            "_auth={}",
        ],
    ),
    kind(
        "Docker configuration in base64",
        Encoded(r#"{"auths":{"r.io":{"auth":"{}"}}}"#),
        &[".dockerconfigjson: {}", "\"{}\""],
    ),
];
