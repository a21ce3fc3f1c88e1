"""A corpus of fake secrets, and of texts that only look like secrets."""

import base64
import json
import random
import string

LETTERS = random.Random(7)


def any_of(alphabet: str, length: int) -> str:
    """Random-looking text, the same in each run, so that failures can be repeated."""
    return "".join(LETTERS.choices(alphabet, k=length))


WORD = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
KEY_LINES = "\n".join(any_of(WORD + "+/", 64) for _ in range(5))


def pem(kind: str, body: str = KEY_LINES) -> str:
    return f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----"


def jwt() -> str:
    parts = [
        {"alg": "HS256", "typ": "JWT"},
        {"sub": "1234567890", "name": "Anne", "iat": 1516239022},
    ]
    coded = [base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=") for p in parts]
    return ".".join([*coded, any_of(WORD, 43)])


GITHUB = "ghp_" + any_of(WORD, 34) + "4q"
# Text, and the part that must be removed.
ON_THE_NEXT_LINE = [
    ("api_key:\n  8fA2kd93Lq01zz7Yp4", "8fA2kd93"),
    ("token: >-\n  8fA2kd93Lq01zz7Yp4\nnext: 1", "8fA2kd93"),
    ("**Password:**\n> hunter2!x", "hunter2"),
]
SHORT_KEYS = [
    (pem("RSA PRIVATE KEY", "MIIBVgIB"), "MIIBVgIB"),
    (pem("PRIVATE KEY", "abcdefgh"), "abcdefgh"),
    (pem("EC PRIVATE KEY", "Ab3="), "Ab3="),
    ("-----BEGIN PRIVATE KEY-----MIIBVQ==-----END PRIVATE KEY-----", "MIIBVQ"),
    ("> " + pem("PRIVATE KEY", "MIIB\nVgIB").replace("\n", "\n> "), "VgIB"),
    (json.dumps({"key": pem("PRIVATE KEY", "MIIBVgIB")}), "MIIBVgIB"),
    (pem("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\nMIIBVgIB"), "MIIB"),
    (pem("PGP PRIVATE KEY BLOCK", "Version: GnuPG v2\n\nlQOYBF\n=abcd"), "lQOYBF"),
    (pem("PRIVATE KEY", "\n".join(["MIIBVgIBADANBgk"] * 6)), "MIIBVg"),
    (f"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n{KEY_LINES}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----", KEY_LINES[:40]),
    (f"PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 5\n{KEY_LINES}\nPrivate-MAC: x", KEY_LINES[:40]),
]  # fmt: skip
MORE = [
    (f"AKIAQRSTUVWXYZ234567,{any_of(WORD, 34)}9a/8x7", "9a/8x7"),
    ("ghu_" + any_of(WORD, 36), "ghu_"), ("ghr_" + any_of(WORD, 36), "ghr_"),
    ("xoxc-" + "1234567890-" + any_of(WORD, 30), "xoxc"), ("xoxe.xoxp-1-" + any_of(WORD, 60), "xoxp"),
    ("Endpoint=sb://x.example.net/;SharedAccessKeyName=Root;SharedAccessKey=" + any_of(WORD, 43) + "=", "AccessKey=A"[:9] + "\n"),
    ("https://x.blob.example.net/c/f?sv=2022-11-02&sig=" + any_of(WORD, 40) + "%2Bab%3D&se=2027", "%2Bab"),
    ("Server=db;User Id=anne;Password=s3same-x7;Encrypt=true", "s3same"),
    ("a1b8Q~" + any_of(WORD, 32), "8Q~"), ("SK" + any_of(HEX, 32), "SK"), ("key-" + any_of(HEX, 32), "key-"),
    (any_of(HEX, 32) + "-us12", "-us12"), ("dckr_pat_" + any_of(WORD, 27), "dckr_"), ("glsa_" + any_of(WORD, 32) + "_1a2b3c4d", "glsa_"),
    ("sq0atp-" + any_of(WORD, 22), "sq0atp"), ("rubygems_" + any_of(HEX, 48), "rubygems_"), ("figd_" + any_of(WORD, 40), "figd_"),
    ("sbp_" + any_of(HEX, 40), "sbp_"), ("pplx-" + any_of(WORD, 48), "pplx-"), ("pul-" + any_of(HEX, 40), "pul-"),
    ("PMAK-" + any_of(HEX, 24) + "-" + any_of(HEX, 34), "PMAK"), ("dp.pt." + any_of(WORD, 43), "dp.pt"),
    ("M" + any_of(WORD, 23) + "." + any_of(WORD, 6) + "." + any_of(WORD, 38), "."),
    ("default login anne password op3n-x", "op3n"),
    ("<add key='x' connectionString='Server=a;Password=hunter2x;' />", "hunter2x"),
    ("mongodb+srv://anne:s3same@cluster0.example.org/app", "s3same"),
    ("api_key = '8fA2kd93Lq01zz7Yp4Vb'", "8fA2"), ("X-API-Key: 8fA2kd93Lq01zz7Yp4Vb", "8fA2"),
    ("OPENAI_API_KEY=\"sk-" + "proj-" + any_of(WORD, 50) + "\"", "sk-proj"),
    ("-H 'PRIVATE-TOKEN: glpat-" + any_of(WORD, 20) + "'", "glpat"),
]  # fmt: skip
IMAGE = base64.b64encode(random.Random(3).randbytes(2_000)).decode()
NEAR_MISSES = [
    'publicKeyToken="1fc8b3b9a1e18e3b"', "Culture=neutral, PublicKeyToken=b77a5c561934e089", "public_key_token: b77a5c561934e089",
    "Version=4.0.0.0, Culture=neutral, PublicKeyToken=31bf3856ad364e35, processorArchitecture=MSIL",
    f"data:image/png;base64,{IMAGE}", "![x](data:image/png;base64,\n" + "\n".join(IMAGE[n : n + 76] for n in range(0, 1_900, 76)) + "\n)",
    "commits:\n3f786850e387550fdab836ed7e6dc881de23001b\n89e6c98d92887913cadf06b2adb97f26cde4849b\n",
    "ids:\n550e8400-e29b-41d4-a716-446655440000\n7f8d9e00-1a2b-4c3d-8e9f-0123456789ab\n",
    "The password:\nask Anne", "Passwords:\n- of the router\n- of the bank", "token:\n  the smallest unit\n", "secret:\n  secretName: web-tls\n",
    "The token:\nsee-below", "Password:\n\n2026-11-22", "```\npassword:\n```\n",
    "ghp_\nis how a GitHub token begins", "a key begins with sk-\nfollowed\nby letters", "sk-\nlearn", "AKIA\nand\nmore\nwords",
    "one\ntwo\nthree4\nfive5\nsix\n", "tea\ncoffee2\n> milk3\n> beer4\n",
    pem("RSA PRIVATE KEY", "..."), pem("RSA PRIVATE KEY", "<your key here>"), pem("PRIVATE KEY", "xxxxxxxx"), pem("PRIVATE KEY", ""),
    pem("PRIVATE KEY", "and then the letters of it in lines of 64"),
    "-----BEGIN RSA PRIVATE KEY----- and -----END RSA PRIVATE KEY-----",
    "It begins with -----BEGIN PRIVATE KEY-----. See 3f786850e387550fdab836ed7e6dc881de23001b\n\nand all of the words in between. It ends with -----END PRIVATE KEY-----.",
    "return (login, password)\nlogin_i = 0 if _netrc[0] else 1", "the login asks for a password twice", "key-value stores", "key-0123456789abcdef",
    "SKU SK1234567890", "patience.", "sb_public_anon", "pul-ley", "sl.wikipedia.org", "dp.pt is a domain", "sq0 is no square", "hv.sunrise",
    "https://maps.example.org/?sig=short&x=1", "signature=634f92ab", "AccountKey=<key>", "SharedAccessKey=...;",
    "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
    '"integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="',
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "Merge: 3f78685 89e6c98", "etag W/\"33a64df551425fcc55e4d42a148795d9\"",
    "bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "ISBN 978-3-16-148410-0", "IBAN DE89 3704 0044 0532 0130 00", "arXiv:2301.12345v2",
    "https://youtu.be/dQw4w9WgXcQ?t=42", "https://docs.example.org/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit", "doi:10.1038/s41586-020-2649-2",
    "^block-id-3f7a9c", "((550e8400-e29b-41d4-a716-446655440000))", "[[2026-11-22]] #daily", "eyJ.eyJ.x", "the nonce: 0x1f2e3d4c",
    "MIT-SHM", "Not.Really.AToken", "import numpy as np; rng = np.random.default_rng(12345)", "np.array([0.1, 0.2]).astype('float32')",
    "assert token_type == 'bearer1'", "<Token>", "tokenizer: cl100k_base", "pad_token_id=50256", "eos_token='<|endoftext|>'",
    "for token in tokens:\n    print(token)", "password_hash: bcrypt", "if (!password) throw new Error('password missing');",
    "passes = 3; bypass: none; compass: north-12", "the key is under the mat", "monkey: banana123",
]  # fmt: skip
# Text, and the part that must be removed.
SECRETS = [
    *ON_THE_NEXT_LINE, *SHORT_KEYS, *MORE,
    (pem("PRIVATE KEY"), KEY_LINES[:64]),
    (pem("RSA PRIVATE KEY"), KEY_LINES[70:100]),
    (pem("EC PRIVATE KEY"), KEY_LINES[:64]),
    (pem("OPENSSH PRIVATE KEY"), KEY_LINES[:64]),
    (pem("ENCRYPTED PRIVATE KEY"), KEY_LINES[:64]),
    (pem("PGP PRIVATE KEY BLOCK"), KEY_LINES[:64]),
    ("> " + pem("PRIVATE KEY").replace("\n", "\n> "), KEY_LINES[:64]),
    (json.dumps({"private_key": pem("PRIVATE KEY")}), KEY_LINES[:64]),
    (f"cut off:\n-----BEGIN RSA PRIVATE KEY-----\n{KEY_LINES}\n\nThat was it.", KEY_LINES[-60:]),
    ("my key is AKIA" + any_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16), "AKIA"),
    ("temporary: ASIA" + any_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16), "ASIA"),
    (f"aws_secret_access_key = {any_of(WORD, 36)}9a/8", "9a/8"),
    ("ghp_" + any_of(WORD, 36), "ghp_"),
    ("gho_" + any_of(WORD, 36), "gho_"),
    ("token ghs_" + any_of(WORD, 36) + ".", "ghs_"),
    ("github_pat_" + any_of(WORD, 22) + "_" + any_of(WORD, 59), "github_pat_"),
    ("glpat-" + any_of(WORD, 20), "glpat-"),
    ("xoxb-" + "123456789012-1234567890123-" + any_of(WORD, 24), "xoxb"),
    ("xoxp-" + "1234567890-" + any_of(WORD, 30), "xoxp"),
    ("xapp-1-A0123456789-1234567890123-" + any_of(HEX, 64), "xapp"),
    ("https://hooks.slack.com/services/T01ABCDEF/B01ABCDEF/" + any_of(WORD, 24), "/B01"),
    ("https://discord.com/api/webhooks/123456789012345678/" + any_of(WORD, 68), "1234567890"),
    ("AIza" + any_of(WORD, 35), "AIza"),
    ("GOCSPX-" + any_of(WORD, 28), "GOCSPX"),
    ("ya29." + any_of(WORD, 60), "ya29"),
    ("sk-" + "ant-api03-" + any_of(WORD, 93), "sk-ant"),
    ("export ANTHROPIC_API_KEY=sk-" + "ant-" + any_of(WORD, 40), "sk-ant"),
    ("sk-" + "proj-" + any_of(WORD + "-_", 80) + "a1", "sk-proj"),
    ("sk-" + any_of(WORD, 46) + "1a", "sk-"),
    ("sk-" + "or-v1-" + any_of(HEX, 64), "sk-or"),
    ("sk_" + "live_" + any_of(WORD, 24), "sk_live"),
    ("rk_" + "live_" + any_of(WORD, 24), "rk_live"),
    ("sk_" + "test_" + any_of(WORD, 24), "sk_test"),
    ("whsec_" + any_of(WORD, 32), "whsec_"),
    ("hf_" + any_of(string.ascii_letters, 34), "hf_"),
    ("//registry.npmjs.org/:_authToken=npm_" + any_of(WORD, 36), "npm_"),
    ("pypi-" + "AgEIcHlwaS5vcmc" + any_of(WORD, 80), "pypi-"),
    ("SG." + any_of(WORD, 22) + "." + any_of(WORD, 43), "SG."),
    ("bot 1234567890:AA" + any_of(WORD, 33), ":AA"),
    ("dop_v1_" + any_of(HEX, 64), "dop_v1"),
    ("dapi" + any_of(HEX, 32), "dapi"),
    ("shpat_" + any_of(HEX, 32), "shpat"),
    ("tskey-auth-" + any_of(WORD, 17) + "-" + any_of(WORD, 32), "tskey"),
    ("hvs." + any_of(WORD, 90), "hvs."),
    ("gsk_" + any_of(WORD, 52), "gsk_"),
    ("AGE-SECRET-KEY-1" + any_of(string.ascii_uppercase + "234567", 58), "KEY-1"),
    ("AccountName=me;AccountKey=" + any_of(WORD, 86) + "==;EndpointSuffix=x", "=="),
    (jwt(), "eyJ"),
    (f"Authorization: Bearer {jwt()}", "eyJ"),
    (f"curl -H 'Authorization: Bearer {any_of(WORD, 20)}4x7y' https://api.example.org", "4x7y"),
    ("Authorization: Basic " + base64.b64encode(b"anne:open sesame").decode(), "YW5u"),
    ("postgres://anne:s3same@db.example.org:5432/app", "s3same"),
    ("the mirror is https://bot:geheim@git.example.org/x.git", "geheim"),
    ("redis://:p4ssw0rd-x@localhost:6379/0", "p4ssw0rd"),
    ("machine example.org login anne password sesame", "sesame"),
    ("machine example.org\n  login anne\n  password op3n-sesame\n", "op3n"),
    ("curl -u anne:opensesame https://example.org", "opensesame"),
    ("password: hunter2", "hunter2"),
    ("Password: `hunter2!`", "hunter2"),
    ("**Password:** hunter22", "hunter22"),
    ("the wifi password is Tr0mbone-77", "Tr0mbone"),
    ("The Wi-Fi password at home is Tr0mbone-Delft-77!", "Tr0mbone"), ("Das Passwort vom Router ist Tr0mbone-77", "Tr0mbone"),
    ("DB_PASSWORD=correct7horse", "correct7"), ("the wifi password is tulip-anvil-river-candle, ok", "tulip"),
    ("mein passwort für den rechner ist tulpe-amboss-fluss-kerze bitte merken", "amboss"),
    ("export DB_PASS='b4ttery staple'".replace(" staple", ""), "b4ttery"),
    ('"password": "P@ssword!x"', "P@ss"),
    ('{\\"password\\":\\"hunter2x\\"}', "hunter2x"),
    ("passwd = 12345678", "12345678"),
    ("密码：abc12345，别告诉别人", "abc12345"),
    ("我的密码是 abc12345", "abc12345"),
    ("Passwort: geheim99", "geheim99"),
    (f"API_KEY={any_of(WORD, 28)}1b2c", "1b2c"),
    (f"api key: {any_of(HEX, 24)}1b2c3d4e", "1b2c"),
    (f"client_secret: '{any_of(WORD, 28)}1b2c'", "1b2c"),
    (f"TELEGRAM_TOKEN={any_of(WORD, 28)}1b2c", "1b2c"),
    (f"https://example.org/feed?token={any_of(WORD, 20)}1b2c&page=2", "1b2c"),
    (f"deploy --token {any_of(WORD, 20)}1b2c", "1b2c"),
    ('token: "kEXXNwNcfn3yszGgviTz"', "kEXX"),  # one in seven random strings has no two separate digits
    ("The API key is qiVZYnszphJHvZqHIYml7nWu", "qiVZ"),
    ("x-api-key: BXRTdjqyBfXwzJFzualNXfSRyG8fLifj", "BXRT"),
    ("AKIAIOSFODNN7EXAMPLE", "7EXAMPLE"),  # from a manual, which is impossible to tell
    ("AKIA1234567890ABCDEF", "7890ABC"), ("sk_live_" + "0" * 24, "0000"), ("ghp_" + "x" * 36, "xxxx"),
    ("password=secret123", "secret123"), ("password: token42!", "token42"), ('api_key = "abcdef1234567890"', "abcdef"),
    ("mysql --password s3same-x7!", "s3same"),
    ("<password>hunter2x</password>", "hunter2x"),
    (f"secret => '{any_of(HEX, 36)}1b2c'", "1b2c"),
]  # fmt: skip

PLAIN = [
    *NEAR_MISSES,
    "password: see-the-vault", "db_password: prod-db-user-password-name",
    "Anne prefers trains to planes.", "The password must have at least 12 characters.",
    "password: ask Anne", "Password: required", "password: string;", "password: str = ''", "password = getpass()",
    "password = config.database.password", 'password=os.environ["DB_PASSWORD"]', "password: {{ vault_password1 }}",
    "password: ${DB_PASSWORD1}", "password: <your password>", "password: ********", "password: changeme123",
    "password: your-password-1", "the password is base64 encoded", "the password is sha256 hashed with a salt",
    "password is 12-characters long", "the password of a guest is 12-characters long", "passwords: 2 of 3 are weak", "the password manager is 1Password",
    "I forgot my password again on 2026-11-22.", "password: bcrypt", "new password: 2026-11-22",
    "The secret is patience.", "secret: kubernetes-secret-name-1", "token: gpt-4o-mini-2024-07-18",
    "token: OAuth2AccessToken", "secret: MyVerySecretTokenProviderV2", "api key: XMLHttpRequestApiKeyName",
    "token: DefaultIOSAppTokenHolder9", "max_tokens: 128000", "max_tokens=4096 temperature=0.7", "token_count: 1234567890123456",
    "tokens: 1234567890abcdef1234", "a token is the smallest unit of text", "token: the smallest unit that a model reads",
    "next token prediction is all you need", "secretary: Anne12345678 Miller", "api key rotation: every 90 days",
    "API key: see the wiki", "primary key: user_id_2", "foreign_key: order_item_id_3", "key: value1234567890abcd",
    "keyboard: ThinkPad-T480s-2018", "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "fixed in 3f78685, see 89e6c98d92887913cadf06b2adb97f26cde4849b",
    "id: 550e8400-e29b-41d4-a716-446655440000", "the page 7f8d9e00-1a2b-4c3d-8e9f-0123456789ab links to it",
    "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "md5 d41d8cd98f00b204e9800998ecf8427e", "https://example.org/path?page=2&sort=desc", "ssh://git@example.org:22/x.git",
    "https://user:password@example.org", "https://user:<pass>@example.org/", "http://localhost:8080/@anne",
    "mail anne@example.org: 10:30@office", "git@github.com:anne/notes.git", "see https://medium.com/@anne/what-1234567890",
    "AKIA is how such a key begins", "a GitHub token begins with ghp_ and has 40 letters",
    "sk-learn and sk-image are nicknames", "sk-ant- is the beginning of a key", "hf_transfer is a package",
    "npm_config_registry=https://registry.example.org", "xoxb- stands for bot", "eyJ is how base64 of a brace begins",
    "It begins with -----BEGIN RSA PRIVATE KEY----- and ends with -----END RSA PRIVATE KEY-----.",
    pem("PUBLIC KEY"), pem("CERTIFICATE"), pem("PGP PUBLIC KEY BLOCK"),
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0mXy1bR9y8c7p6o5n4m3l2k1j0i9h8g7f6e5d4c3b2 anne@home",
    "密码学是一门有趣的学科。", "密码：请找王小明要2号钥匙", "令牌环网是八十年代的技术。", "我把密码忘了，请重置。",
    "密码是什么？", "这个词元（token）是模型读的最小单位：大约0.75个单词",
    "def login(user: str, password: str) -> Token: ...", "if password == other_password: return token",
    'parser.add_argument("--password", help="the password")', "secret = secrets.token_hex(32)",
    "token = jwt.encode(payload, key, algorithm='HS256')", "const token = await getToken();",
    "this.password = user.password1;", "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "![[image-20261122103000.png]]", "[[Password Manager]] and [[API Key]]", "#token/secret #password",
    "bearer bonds are a kind of security", "Bearer tokens: see RFC 6750", "Authorization: Bearer <token>",
    "- [ ] change the password of the router 📅 2026-12-01", "| password | who knows it |\n| --- | --- |",
    "curl -u user:password https://example.org", "login with the password from the envelope",
    "token: /run/secrets/token-file-1", "password: ~/.config/pass1", "secret: https://vault.example.org/v1/kv2",
    "pwd", "pwd: /home/anne/project2", "my passport: expires 2031-05-03", "password-store 1.7.4 is out",
    "Passwort: siehe Zettel", "TODO: token refresh after 3600s", "auth token: expires in 3600 seconds",
    "storage key: screenshots20241122", "session key: meetingnotes20240105", "token: conversation20231105",
    "account key: subscription2025", "license key: visualstudio2022enterprise", "secret: iPhoneXSMaxVSiPadOS",
    "access key is AbCdEfGhIjKlMnOpQrStUvWxYz",
    "The session key: F#m, then B7, E, A.", "AppKey: none", "private key: never share it",
]  # fmt: skip
