"""Credentials go, look-alikes stay."""

from __future__ import annotations

import json

import pytest

from compaction import redaction
from compaction.redaction import redact
from tests.cost import within
from tests.slow import one_in, slow

LETTERS = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY"
HEX = "3f786850e387550fdab836ed7e6dc881"
AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
NO_DIGIT = "wJalrXUtnFEMI/KxMDENG/bPxRfiCYEXAMPLEKEY"  # 40 characters, as AWS' secrets have
PEM = "-----BEGIN {0}PRIVATE KEY{1}-----\nMIIEow\nabc=\n-----END {0}PRIVATE KEY{1}-----"

# A text, the secret in it, what is shown instead of it.
KINDS = [
    (f"gsk_{LETTERS}", f"gsk_{LETTERS}", "API key"),
    (f"xai-{LETTERS}", f"xai-{LETTERS}", "API key"),
    (f"sk-or-v1-{HEX}", f"sk-or-v1-{HEX}", "API key"),
    (f"nvapi-{LETTERS} tvly-x", f"nvapi-{LETTERS}", "API key"),
    (f"r8_{LETTERS}", f"r8_{LETTERS}", "API key"),
    (f"lsv2_pt_{HEX}_0123456789", f"lsv2_pt_{HEX}_0123456789", "API key"),
    (f"whsec_{LETTERS}", f"whsec_{LETTERS}", "Stripe key"),
    ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE", "AWS access key"),
    (f"aws_secret_access_key = {AWS_SECRET}\nregion = eu", AWS_SECRET, "key"),
    (f"AWS_SECRET_ACCESS_KEY={AWS_SECRET}", AWS_SECRET, "key"),
    (f'{{"SecretAccessKey": "{AWS_SECRET}"}}', AWS_SECRET, "key"),
    (f"aws_session_token=FwoGZXIvYXdzE{LETTERS}", f"FwoGZXIvYXdzE{LETTERS}", "token"),
    (f"ghp_{LETTERS}abcd", f"ghp_{LETTERS}abcd", "GitHub token"),
    (f"git clone https://x:ghs_{LETTERS}abcd@github.com/a/b", f"ghs_{LETTERS}abcd", "GitHub token"),
    (f"glpat-{LETTERS}", f"glpat-{LETTERS}", "GitLab token"),
    (f"glrt-{LETTERS}", f"glrt-{LETTERS}", "GitLab token"),
    ("xoxb-123456789012-abcdefghij", "xoxb-123456789012-abcdefghij", "Slack token"),
    ("https://hooks.slack.com/services/T0AB12CD/B0AB12CD/abcdefghij1234", "abcdefghij1234", "Slack webhook"),
    (f"https://discord.com/api/webhooks/123456789012/{LETTERS}", LETTERS, "Discord webhook"),
    (f"AIza{LETTERS}abc", f"AIza{LETTERS}abc", "Google key"),
    (f"hf_{LETTERS}", f"hf_{LETTERS}", "Hugging Face token"),
    (f"npm_{LETTERS}abcd", f"npm_{LETTERS}abcd", "package registry token"),
    (f"dckr_pat_{LETTERS}", f"dckr_pat_{LETTERS}", "package registry token"),
    (f"shpat_{HEX}", f"shpat_{HEX}", "Shopify token"),
    (f"dop_v1_{HEX}{HEX}", f"dop_v1_{HEX}", "cloud token"),
    (f"dapi{HEX}", f"dapi{HEX}", "cloud token"),
    (f"glsa_{LETTERS}_12345678", f"glsa_{LETTERS}", "service token"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3", "eyJzdWIiOiIxMjM0In0", "JSON web token"),
    (PEM.format("RSA ", ""), "MIIEow", "private key"),
    (PEM.format("OPENSSH ", ""), "MIIEow", "private key"),
    (PEM.format("PGP ", " BLOCK"), "MIIEow", "private key"),
    (PEM.format("", "").replace("\n", "\\n"), "MIIEow", "private key"),
    ("Authorization: Bearer abcdef0123456789", "abcdef0123456789", "bearer token"),
    ('curl -H "Authorization: token abcdef0123456789"', "abcdef0123456789", "credentials"),
    ("Authorization: Basic dXNlcjpwYXNzd29yZDEy", "dXNlcjpwYXNzd29yZDEy", "basic credentials"),
    ("Cookie: sessionid=abcdef0123456789; theme=dark", "abcdef0123456789", "cookie"),
    ("postgres://app:s3cr3t@db.local/app", "s3cr3t", "password in an address"),
    ("redis://:hunter@cache:6379/0", "hunter", "password in an address"),
    ("mongodb+srv://a:b%40c@h.example/x", "b%40c", "password in an address"),
    ("https://a.example/b?x=1&sig=abcdefghij%2Fklmnopqrst%3D", "abcdefghij%2Fklmnopqrst%3D", "signature"),
    ("Server=db;User Id=sa;Password=hunter;Encrypt=yes", "hunter", "password"),
    (f"AccountName=a;AccountKey={AWS_SECRET}==;", AWS_SECRET, "key"),
    ("DB_PASSWORD=correcthorse", "correcthorse", "password"),
    ("POSTGRES_PASSWORD: correcthorse", "correcthorse", "password"),
    ("export MY_TOKEN=abcd$efgh", "abcd$efgh", "token"),
    ("  password: hunter22 # for the test", "hunter22", "password"),
    ("[db]\npassword = hunter22\n", "hunter22", "password"),
    ("""password: "it's a secret" """, "it's a secret", "password"),
    ('{"password": "a\\"b\\"c 1"}', "a\\", "password"),
    (r'{"a": "{\"password\": \"it\\u0027s 1\"}"}', "s 1", "password"),
    ("curl -u admin:hunter https://a.example", "hunter", "password"),
    ("sshpass -p hunter ssh a@b", "hunter", "password"),
    ("mysql -u root -phunter db", "hunter", "password"),
    ("machine a.example login bob password hunter", "hunter", "password"),
    ("deploy --api-key abcdef123456", "abcdef123456", "key"),
    ('apiKey: "abcdefgh"', "abcdefgh", "key"),
    # as people and models write them down
    ("**Password:** hunter22", "hunter22", "password"),
    ("- `password`: **hunter22**", "hunter22", "password"),
    ("The password is hunter22, by the way.", "hunter22", "password"),
    ("my API key: abcdef123456", "abcdef123456", "key"),
    ("Passwort: hunter22", "hunter22", "password"),
    ("mot de passe : hunter22", "hunter22", "password"),
    ("密码：hunter22", "hunter22", "password"),
    # as programs do
    ("DB_PASS=correcthorse", "correcthorse", "password"),
    ("smtp_pass = hunter2222", "hunter2222", "password"),
    ("os.environ['API_KEY'] = 'abcdefgh'", "abcdefgh", "key"),
    (f"AZURE_OPENAI_KEY={HEX}", HEX, "key"),
    (f"https://maps.example/api?key={LETTERS}", LETTERS, "key"),
    ("<password>correcthorse</password>", "correcthorse", "password"),
    ("password1=hunter22&password2=hunter22", "hunter22", "password"),
    ("wget --user=a --password=correcthorse http://a.example", "correcthorse", "password"),
    ("gpg --batch --passphrase hunter22 -d a", "hunter22", "password"),
    (f"Cookie: theme=dark; session={LETTERS}", LETTERS, "cookie"),
    (f"Cookie: a={LETTERS}; b={HEX}", HEX, "cookie"),
    (f"curl -b 'session={LETTERS}' https://a.example", LETTERS, "cookie"),
    ("postgres://app:s3c@ret@db.local/app", "ret@", "password in an address"),
    (f"AKIAIOSFODNN7EXAMPLE,{AWS_SECRET}", AWS_SECRET, "AWS access key"),
    (f"eyJhbGciOiJSU0EtT0FFUCJ9.{LETTERS}.48V1_ALb6US0.{LETTERS}.XFBoMYUZodet", "48V1_ALb6US0", "JSON web token"),
    (f"xoxd-{LETTERS}", f"xoxd-{LETTERS}", "Slack token"),
    (f"secret_{LETTERS}{LETTERS[:11]}", f"{LETTERS}{LETTERS[:11]}", "service token"),
    (f"tskey-auth-{LETTERS}", f"tskey-auth-{LETTERS}", "cloud token"),
    ('{"args": ["login", "--password", "correcthorse"]}', "correcthorse", "password"),
    ('{"headers": [{"Name": "Authorization", "Value": "abcdefghijklmn"}]}', "abcdefghijklmn", "authorization"),
    ('{"passwords": ["correcthorse"]}', "correcthorse", "password"),
    ('{"new_password_confirmation": "correcthorse"}', "correcthorse", "password"),
    # an apostrophe inside of quotes
    ("password = 'don't tell'", "don't tell", "password"),
    ("password='it''s a secret', port=1", "s a secret", "password"),
    ("api_key='abc'def123'", "abc'def123", "key"),
    (r"""in {\"password\": \"it's a secret\", \"a\": 1}""", "s a secret", "password"),
    # without a digit
    (f"aws_secret_access_key = {NO_DIGIT}\n", NO_DIGIT, "key"),
    (f"aws configure set aws_secret_access_key {NO_DIGIT}", NO_DIGIT, "key"),
    (f'in {{\\"SecretAccessKey\\": \\"{NO_DIGIT}\\"}}', NO_DIGIT, "key"),
    (f"AccountName=a;AccountKey={NO_DIGIT}abcd==;EndpointSuffix=a.example", NO_DIGIT, "key"),
    (f"SharedAccessKeyName=a;SharedAccessKey={NO_DIGIT}=", NO_DIGIT, "key"),
    ("Cookie: sessionid=abcdefghijkl; theme=dark", "abcdefghijkl", "cookie"),
    ("> Set-Cookie: sid=abcdefghijklmno; Path=/; HttpOnly", "abcdefghijklmno", "cookie"),
    ("-H 'cookie: theme=dark; csrftoken=AbCdEfGhIjKl'", "AbCdEfGhIjKl", "cookie"),
    ("sr=a.example&sig=abcdefghij%2Fklmnop&se=1", "abcdefghij%2Fklmnop", "signature"),
    (r"https://a.example/b?x=1\u0026sig=abcdefghijklmnopqrst", "abcdefghijklmnopqrst", "signature"),
    (f"https://{LETTERS}@github.com/a/b.git", LETTERS, "token in an address"),
    (f"git+https://{HEX}@a.example/b", HEX, "token in an address"),
    (rf"https:\/\/{LETTERS}@a.example\/b", LETTERS, "token in an address"),
    ("https://a.example/?user=a&password=correcthorse&x=1", "correcthorse", "password"),
    ("password: hunter", "hunter", "password"),
    ("The user is bob.\n- **Password:** `hunter`\n- Host: a", "hunter", "password"),
    ("Passwort: geheim!", "geheim", "password"),
    ("password is correcthorse", "correcthorse", "password"),
    ("The password is hunter, by the way.", "hunter", "password"),
    ("The password was `hunter`.\nIt is now another.", "hunter", "password"),
    ("never use password hunter2 in prod", "hunter2", "password"),
    ("never use password hunter2... in prod", "hunter2", "password"),
    ("Set the password to hunter2, please", "hunter2", "password"),
    ("das Passwort ist Sommer2024", "Sommer2024", "password"),
    ("密码是hunter22", "hunter22", "password"),
    ("пароль hunter22", "hunter22", "password"),
    ("ALTER USER a WITH PASSWORD 'correcthorse';", "correcthorse", "password"),
    ('log in as root with the password "hunter"', "hunter", "password"),
    ("url=jdbc:x\nspring.datasource.password=hunter\nport=1", "hunter", "password"),
]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"export OPENAI_API_KEY=sk-proj-{LETTERS}", f"sk-proj-{LETTERS}"),
        (f"key sk-ant-api03-{LETTERS}", f"sk-ant-api03-{LETTERS}"),
        ("aws AKIAIOSFODNN7EXAMPLE here", "AKIAIOSFODNN7EXAMPLE"),
        (f"git clone with ghp_{LETTERS}abcd", f"ghp_{LETTERS}abcd"),
        (f"github_pat_{LETTERS}{LETTERS}", f"github_pat_{LETTERS}{LETTERS}"),
        ("xoxb-123456789012-abcdefghij", "xoxb-123456789012-abcdefghij"),
        (f"AIza{LETTERS}abc", f"AIza{LETTERS}abc"),
        (f"glpat-{LETTERS}", f"glpat-{LETTERS}"),
        (f"hf_{LETTERS}", f"hf_{LETTERS}"),
        ("stripe sk" + f"_live_{LETTERS}", "sk" + f"_live_{LETTERS}"),
        (f"bot 123456789:AA{LETTERS}x", f"AA{LETTERS}x"),
        ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3", "eyJzdWIiOiIxMjM0In0"),
        ("Authorization: Bearer abcdef0123456789", "abcdef0123456789"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZDEy", "dXNlcjpwYXNzd29yZDEy"),
        ("postgres://app:s3cr3t@db.local/app", "s3cr3t"),
        ('{"password": "correct horse"}', "correct horse"),
        (r'{"content": "{\"api_key\": \"abcdefgh\"}"}', "abcdefgh"),
        ("DB_PASSWORD=hunter22", "hunter22"),
        ("password: hunter22", "hunter22"),
        ("login --password hunter22 --user bob", "hunter22"),
        ("client_secret='abcdefgh'", "abcdefgh"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----\nrest", "MIIEow"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEow and cut off", "MIIEow"),
        (f"İİ the dotted capitals and sk-{LETTERS}", f"sk-{LETTERS}"),
    ],
)
def test_credentials_are_redacted(text: str, secret: str) -> None:
    cleaned = redact(text)
    assert secret in text and secret not in cleaned and "[REDACTED]" in cleaned
    assert redact(cleaned) == cleaned


@pytest.mark.parametrize(
    "text",
    [
        "My reservation is XEHM4B, the other one 59XX6W.",
        "user mia_li_3668 paid with credit_card_4421486 and certificate_7504069",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "id 550e8400-e29b-41d4-a716-446655440000, call_ORFOG4jtgQK83YBzrDBgOTUy",
        "max_tokens=4096, token_count: 31,000, token: 31,000",
        "The password must never be shown; reset the token first.",
        "password = request.POST['password']",
        "token = get_token()\nself.token = token",
        "api_key: ${API_KEY}, secret=<your secret>, password=***",
        "https://example.com/a:b@c?token=",
        "https://docs.example.com:8080/path",
        "a basic understanding of things, the bearer of news",
        "sk-learn and task-runner-for-everything-in-the-shop",
        "password: str, token: Optional[str] = None",
        "2024-05-24T13:00:00 at 12:30, price $7,222",
        f"git show {HEX}{HEX[:8]}, sha256:{HEX}{HEX}, etag {HEX}",
        "20240524_130000_3f786850 is a session, msg_01XFDUDYJgAACzvnptvVoYEL a message, toolu_01A09q90qw90lq917835lq9",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "PWD=/home/user1/project2, GOOGLE_APPLICATION_CREDENTIALS=/etc/keys/a1.json",
        "Bearer authentication and basic authentication are explained below",
        "password = get_password2(user)\npassword = settings.DB['pass1']",
        '{"next_page_token": "CAUQAA", "tokens": 31000, "token": "the"}',
        "for(token=next;token<end;token++){}",
        "The mysql -p option asks; curl -u asks too.",
        "pip install key-value-store; SG.something; hf_hub_download(repo)",
        "The password is hashed, the token is base64-encoded, the secret is sha256 of it.",
        "all tests pass: 12 of 12, bypass=1000000, first_pass: done",
        "a cookie: crumbs; SORT_KEY=created_at, ?key=value, PRIMARY_KEY = 'id'",
        "http://localhost:8080/a?to=bob@a.example and http://localhost:8080 or bob@a.example",
        "<token></token><secret>${SECRET}</secret>, the password: it is yours",
        '{"args": ["--password", "--user", "bob"], "passwords": [], "secrets": {"count": "four"}}',
        "The password is required. The password is wrong, the password was changed, and it is hashed.",
        "Password: required\nPassword: string\nPassword: ********\nPassword: str | None\n",
        "Enter your password to continue. Password reset, password manager, password field 2, password step 3",
        "the password is read via\n  getpass, so the password is there\n  for an hour",
        "user.password = password\n    password = args.pw\n    password=password,\n)\npassword = newValue\n",
        "login(user, password=given)\npassword: data.value\npassword: newValue\n{ password: hunter, user: bob }",
        '"passwd:name", "passwd:uid" password sha256 password utf8, password oauth2, password base64',
        'the field "password" "confirm", a wrong password \'passwd\', input type="password" name="password"',
        "https://someorganisation@dev.azure.com/x https://bob@a.example https://registry.example/@scope/name@1.2.3",
        "https://medium.example/@a-rather-long-user-name-2024/post ssh://git@github.com/a/b git@github.com:a/b.git",
        "Set-Cookie: <name>=<value>; Cookie: name=value; the cookie: a=b",
        "sig=inspect.signature(function_of_mine) and &sig=${signature} and ?sig=short",
        "it's the user's password, isn't it? 'password' isn't 'passwd', and 'key' isn't 'token'",
        "-----BEGIN PGP MESSAGE-----\nhQEMA\n-----END PGP MESSAGE-----",
        "",
    ],
)
def test_look_alikes_stay(text: str) -> None:
    assert redact(text) == text and redaction.redact_shown(text) == text


@pytest.mark.parametrize(("text", "secret", "kind"), KINDS)
def test_each_kind_is_redacted_and_named(text: str, secret: str, kind: str) -> None:
    redacted = redaction.redact_shown(text)
    assert secret in text and secret not in redacted and f"[redacted: {kind}]" in redacted
    assert secret not in redaction.redact_value(text)
    assert redaction.redact_shown(redacted) == redacted
    if text.startswith("{"):
        assert json.loads(redacted).keys() == json.loads(text).keys()


def test_a_value_is_redacted_by_its_key_and_by_its_shape() -> None:
    value = {
        "db_password": "correct horse",
        "pin": {"password": 123456},
        "headers": {"Authorization": "xyzxyzxyzxyz"},
        "env": [{"name": "DB_PASSWORD", "value": "hunter"}, {"name": "DB_HOST", "value": "hunter"}],
        "arguments": json.dumps({"clientSecret": "abcdefgh", "n": 1.5, "text": 'say "hi"\n'}),
        f"sk-{LETTERS}": [b"token ghp_" + LETTERS.encode() + b"abcd\xff"],
        "usage": {"total_tokens": 4096, "token": 7},
    }
    redacted = redaction.redact_shown_value(value)
    assert redacted["db_password"] == "[redacted: password]" and redacted["pin"]["password"] == "[redacted: password]"
    assert redacted["headers"] == {"Authorization": "[redacted: authorization]"}
    assert [entry["value"] for entry in redacted["env"]] == ["[redacted: password]", "hunter"]
    assert json.loads(redacted["arguments"]) == {"clientSecret": "[redacted: secret]", "n": 1.5, "text": 'say "hi"\n'}
    assert redacted["[redacted: API key]"] == [b"token [redacted: GitHub token]\xff"]
    assert redacted["usage"] == value["usage"] and redaction.redact_shown_value(redacted) == redacted


def test_json_stays_json_and_what_holds_no_secret_stays_as_it_was_written() -> None:
    plain = '{ "a" :1, "note": "the password is asked for",\t"b":[ ] }'
    assert redaction.redact_shown(plain) == plain
    laid_out = json.dumps({"password": "it's \\ \" odd", "b": [1, "ä"]}, indent=4)
    assert json.loads(redaction.redact_shown(laid_out)) == {"password": "[redacted: password]", "b": [1, "ä"]}
    assert "\n" in redaction.redact_shown(laid_out)
    broken = '{"password": "correct horse", '
    assert redaction.redact_shown(broken) == '{"password": "[redacted: password]", '


def test_nothing_that_is_nested_too_deeply_to_be_searched_is_shown() -> None:
    deep: object = "password=hunter22"
    for _ in range(400):
        deep = [deep]
    assert "hunter22" not in json.dumps(redaction.redact_shown_value(deep))
    for depth in (400, 50_000):
        assert "hunter22" not in redaction.redact_shown("[" * depth + '"password=hunter22"' + "]" * depth)


def test_a_private_key_goes_as_a_whole() -> None:
    """Also one longer than most, quoted in a mail, or cut off behind the headers that PGP writes."""
    lines = "\n".join(f"lQOYBF{LETTERS}{LETTERS[:26]}" for _ in range(600))
    body = f"Version: GnuPG v2\nComment: made by a-b\n\n{lines}\n=aB3d"
    whole = f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n{body}\n-----END PGP PRIVATE KEY BLOCK-----"
    cut_off = whole[: whole.rindex("=aB3d")]
    for text in (
        whole,
        cut_off,
        whole.replace("\n", "\n> "),
        cut_off.replace("\n", "\n> "),
        whole.replace("\n", "\\n"),
    ):
        assert redact(f"Here: {text}").rstrip("> ").rstrip() == "Here: [REDACTED]"
        assert "lQOYBF" not in "".join(redaction.redact_all([text], [4_000]))


SPOKEN = """
never use password hunter2 in prod
never use password hunter2... in prod
Never use the password Tr0ub4dor&3 for prod
use pwd hunter2 for root
use the secret abc123def456 for signing
use token 9f8e7d6c5b4a for the API
Use the token 9f8e7d6c5b4a.
use api key abc123def456ghi in prod
never use password 12345678 in prod
never use password h4x0r in prod
with password correcthorse7 and go on
The db password s3cr3tPW works on staging
use passphrase blue42whale for the key
my password hunter2 expired last week
Please don't put password qwerty123 anywhere
root password toor1 stays
Try user admin password hunter2 next
the admin's password hunter2 must go
(password hunter2)
das Passwort hunter2 gilt nur hier
la contraseña hunter2 es vieja
пароль hunter2 для базы
change the password to hunter2 today
with password of hunter2 in prod
never use password `hunter2` in prod
""".strip().splitlines()
SECRETS = [
    "hunter2",
    "Tr0ub4dor&3",
    "abc123def456ghi",
    "abc123def456",
    "9f8e7d6c5b4a",
    "12345678",
    "h4x0r",
    "correcthorse7",
    "s3cr3tPW",
    "blue42whale",
    "qwerty123",
    "toor1",
]
TALK = """
password reset
the password field
password must have 12 characters
password reset for user42 went out
the password policy needs 12 characters and 1 digit
password length 12, password length12
password step 3 of 4, password step3
password attempt 3 failed, password attempt3 failed
the password reset2 endpoint
password test_login_3 fails, password tests3 pass
password id42, password page1, password item3
password issue1234, password PR1234 merged, password GH1234
password JIRA-1234 is open
password api2 call, password dialog2, password users2.csv
reset the password in 24h, password 90days old, password 12chars long
password rules: 12 characters
password from 2019-05-01 on
password ISO27001 audit, password RFC8018, password SHA512
no password needed on 10.0.0.1
password authentication on port 22
never use password managers in prod
use password authentication in prod, use password hashing
use the token bucket algorithm, use token 42, with token count 4096
use the secret ingredient, with the secret meeting at 10am
use api key authentication, use the api key of step2
the token T1 of the grammar, token expires2
max token 4096, use pwd to see it
""".strip().splitlines()


@pytest.mark.parametrize("text", SPOKEN)
def test_a_secret_that_is_only_named_is_redacted(text: str) -> None:
    cleaned = redact(text)
    secret = next(secret for secret in SECRETS if secret in text)
    assert secret not in cleaned and cleaned.replace("[REDACTED]", secret) == text
    assert secret not in redaction.redact_shown(text)


@pytest.mark.parametrize("text", TALK)
def test_talk_of_passwords_stays(text: str) -> None:
    assert redact(text) == text and redaction.redact_shown(text) == text


HOSTILE = [
    "use token a1", "use the secret ", "with password 1", "using api key a",
    "sk-", "sk-1-", "eyJ-", "glpat-" + "a" * 20 + "-", "-----BEGIN PRIVATE KEY-----\n", "token=1", "xoxb-aaaaaaaaaa-",
    "AIza-", "pypi-", "bearer/", "://a:", "token=1(", "token='", 'secret="a', "password: ", "TOKEN=a", "curl -u ",
    "mysql ", "machine a login ", "cookie: a=", "authorization: ", "-----BEGIN PRIVATE KEY-----\nMIIEow",
    "secret = a1", "password=a;b", r"password\": \"a", "cookie: a=1;", "curl -b a=b;", "A_KEY=", "?key=1", "password**",
    "password is ", "password>a", "AKIAIOSFODNN7EXAMPLE,", "_pass", "密码", "eyJ-aaaaaaaa.", "://a:@",
    "token='a'b", "token=''", r"token=\"a'b", "aws_secret_access_key=", "secret_access_key a", "AccountKey=a+",
    "://aB3", "sig=a%", "&sig=", "password a1", "password to ", "password is a", "password: a!", "?password=a",
    "\npassword=a", "password 'a", "password (", "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: ",
    "cookie: a=123456;",
    "-----BEGIN PRIVATE KEY-----\n> ", "-", "'", " ", "a", "password ",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("piece", one_in(3, HOSTILE))
def test_looking_for_credentials_grows_with_the_text(piece: str) -> None:
    """A quadratic search takes minutes for this; a second stands for "never"."""
    text = piece * (100_000 // len(piece))
    assert within(1, redact, f"-----BEGIN PRIVATE KEY-----\n{text}")
    assert within(1, redaction.redact_shown_value, {"password": text, "name": text, "value": [text]})


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["token='a'b", *slow("password is ", "-----BEGIN PRIVATE KEY-----\n", "a", "cookie: a=1;")]
)
def test_every_way_to_look_for_credentials_grows_with_the_text(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    for value in (text, [text], {text: text}, json.dumps({"password": text, "text": text})):
        assert within(1, redaction.redact_value, value)
        assert within(1, redaction.redact_shown_value, value)
    for look in (redact, redaction.redact_shown, redaction.redact_start):
        assert within(1, look, text)
    assert within(1, redaction.redact_all, [text, text], [4_000, 40_000])


@pytest.mark.parametrize("secret", ["hunter2Zq81secret", "Xk7qTz91vbn", "pass3Word8Token"])
@pytest.mark.parametrize(
    "said",
    [
        "never use password {} in prod",
        "never use the password {} in production",
        "mot de passe : {}",
        "mot de passe {}",
        "mdp: {}",
        "wachtwoord: {}",
        "hasło: {}",
        "heslo je {}",
        "şifre: {}",
        "mật khẩu: {}",
        "รหัสผ่าน: {}",
        "| password | {} |",
        "password (prod): {}",
        "password for the db: {}",
        "the db password, {}, is old",
        "password of ana is {}",
        "password must be {}",
        "password ({})",
    ],
)
def test_a_password_that_is_said_goes_whatever_words_it_has_in_it(said: str, secret: str) -> None:
    assert secret not in redact(said.format(secret))
    assert secret not in redaction.redact_shown(said.format(secret))
    assert secret not in redaction.redact_shown_value({"content": said.format(secret)})["content"]


@pytest.mark.parametrize(
    "text",
    [
        "the password is stored with Base64Encoder",
        "password hashes use Sha256Hasher and Pbkdf2Sha512Hasher",
        "the password field of UserV2Form, see Login2faView",
        "passwords of the release of 2026-09-01 are in the vault",
        "parola d'ordine: una lunga",
        "heslo je dlouhé a bezpečné",
        "mot de passe oublié : voir la page 12",
        "the password rules of iPhone12Pro",
        "password reset in a94a8fe5ccb19ba61c4c0873d391e987982fbbd3",
    ],
)
def test_what_names_things_beside_a_word_for_a_password_stays(text: str) -> None:
    assert redact(text) == text
