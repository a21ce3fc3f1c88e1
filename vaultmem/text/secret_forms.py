"""The forms that providers give their keys: by these they are known wherever they stand."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from vaultmem.text.patterns import lazy
from vaultmem.text.secret_values import is_placeholder, mark


class Form(NamedTuple):
    """One kind of secret. It is looked for where its `sign` stands in the text, which is cheap to find."""

    kind: str
    sign: str
    pattern: re.Pattern[str]
    open_end: re.Pattern[str] | None = None  # the same, whatever letters stand behind it


_BEFORE, _AFTER = r"(?<![A-Za-z0-9_-])", r"(?![A-Za-z0-9_])"


def _form(kind: str, sign: str, body: str) -> Form:
    whole = f"{_BEFORE}{body}"
    return Form(kind, sign, re.compile(f"{whole}{_AFTER}"), re.compile(whole))


# Lengths are limited, so that no text makes a search slow.
FORMS = (
    _form("AWS key", "AKIA", r"AKIA[A-Z0-9]{16}"),
    _form("AWS key", "ASIA", r"ASIA[A-Z0-9]{16}"),
    _form("AWS key", "ABIA", r"ABIA[A-Z0-9]{16}"),
    _form("AWS key", "ABSK", r"ABSK[A-Za-z0-9+/]{100,200}={0,2}"),
    _form("Azure secret", "Q~", r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    _form("GitHub token", "gh", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _form("GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    _form("GitLab token", "gl", r"gl(?:pat|dt|rt|ptt|oas|soat|cbt|ft|imt|agent)-[\w-]{20,255}"),
    _form("GitLab token", "GR1348941", r"GR1348941[\w-]{20,50}"),
    _form("Slack token", "xox", r"xox[abcdeoprs]-(?:\d-)?[A-Za-z0-9%-]{10,255}"),
    _form("Slack token", "xapp-", r"xapp-\d-[A-Z0-9]{5,20}-\d{5,20}-[a-f0-9]{32,128}"),
    Form(
        "Slack webhook", "hooks.slack.com/",
        re.compile(r"(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[\w/-]{20,200}"),
    ),
    Form(
        "Discord webhook", "/api/webhooks/", re.compile(r"(?<=/api/webhooks/)\d{15,22}/[\w-]{30,100}")
    ),
    _form("Google key", "AIza", r"AIza[\w-]{35}"),
    _form("Google key", "GOCSPX-", r"GOCSPX-[\w-]{20,40}"),
    _form("Google token", "ya29.", r"ya29\.[\w-]{20,1000}"),
    _form("Anthropic key", "sk-ant-", r"sk-ant-[\w-]{20,255}"),
    _form("OpenRouter key", "sk-or-", r"sk-or-v\d-[0-9a-f]{40,128}"),
    _form("OpenAI key", "sk-", r"sk-(?:proj|svcacct|admin|None)-[\w-]{20,255}"),
    _form("OpenAI key", "sk-", r"sk-(?=[A-Za-z]{0,100}\d)[A-Za-z0-9]{32,100}"),
    _form("Stripe key", "k_live_", r"[spr]k_live_[A-Za-z0-9]{16,255}"),
    _form("Stripe key", "k_test_", r"[sr]k_test_[A-Za-z0-9]{16,255}"),
    _form("webhook secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,255}"),
    _form("Square token", "sq0", r"sq0(?:atp|csp|idp)-[\w-]{22,60}"),
    _form("Twilio key", "SK", r"SK[0-9a-f]{32}"),
    _form("Mailgun key", "key-", r"key-[0-9a-f]{32}"),
    _form("Mailchimp key", "-us", r"[0-9a-f]{32}-us\d{1,2}"),
    _form("Brevo key", "xkeysib-", r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    _form("Hugging Face token", "api_org_", r"api_org_[A-Za-z0-9]{30,100}"),
    _form("Hugging Face token", "hf_", r"hf_[A-Za-z0-9]{30,100}"),
    _form("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _form("PyPI token", "pypi-", r"pypi-[\w-]{50,1000}"),
    _form("RubyGems key", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    _form("Docker token", "dckr_", r"dckr_(?:pat|oat)_[\w-]{27,60}"),
    _form("SendGrid key", "SG.", r"SG\.[\w-]{16,32}\.[\w-]{32,64}"),
    _form("Telegram token", ":AA", r"\d{8,10}:AA[\w-]{30,40}"),
    _form("Discord token", ".", r"[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27,45}"),
    _form("DigitalOcean token", "_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _form("Databricks token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?"),
    _form("Shopify token", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _form("Tailscale key", "tskey-", r"tskey-[a-z]{2,12}-[\w-]{16,100}"),
    _form("Vault token", "hv", r"hv[sbr]\.[\w-]{24,300}"),
    _form("Linear key", "lin_api_", r"lin_api_[A-Za-z0-9]{32,64}"),
    _form("Notion token", "ntn_", r"ntn_[A-Za-z0-9]{40,64}"),
    _form("Groq key", "gsk_", r"gsk_[A-Za-z0-9]{40,64}"),
    _form("xAI key", "xai-", r"xai-[A-Za-z0-9]{60,100}"),
    _form("Replicate token", "r8_", r"r8_[A-Za-z0-9]{37}"),
    _form("Atlassian token", "ATATT3", r"ATATT3[\w=-]{60,300}"),
    _form("Grafana token", "gl", r"gl(?:sa|c)_[A-Za-z0-9+/_]{32,300}={0,2}"),
    _form("Sentry token", "sntry", r"sntry[su]_[A-Za-z0-9+/=_]{60,400}"),
    _form("Doppler token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,80}"),
    _form("Pulumi token", "pul-", r"pul-[0-9a-f]{40}"),
    _form("Terraform token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,90}"),
    _form("Supabase token", "sb", r"sb(?:p_[0-9a-f]{40}|_secret_[\w-]{20,60})"),
    _form("PlanetScale token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[\w.-]{32,64}"),
    _form("Postman key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _form("New Relic key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    _form("Figma token", "figd_", r"figd_[\w-]{36,60}"),
    _form("Airtable token", "pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _form("Perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{40,60}"),
    _form("Dropbox token", "sl.", r"sl\.(?:u\.)?[\w-]{100,1500}"),
    _form("1Password token", "ops_eyJ", r"ops_eyJ[\w-]{100,2000}={0,2}"),
    _form("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    Form("storage key", "SharedAccessKey=", re.compile(r"(?<=SharedAccessKey=)[A-Za-z0-9+/]{40,100}={0,2}")),
    Form("storage key", "sig=", re.compile(r"(?<=[?&;]sig=)(?:[A-Za-z0-9+/_-]|%[0-9A-Fa-f]{2}){40,120}={0,2}")),
    Form("storage key", "AccountKey=", re.compile(r"(?<=AccountKey=)[A-Za-z0-9+/]{40,100}={0,2}")),
    _form("JWT", "eyJ", r"eyJ[\w-]{10,2000}\.eyJ[\w-]{10,8000}\.[\w-]{10,2000}"),
)  # fmt: skip
_LEADS = lazy(  # how keys begin that stand on a line of their own
    r"A(?:KIA|SIA|BIA|BSK|Iza|TATT3|GE-SEC)|gh[pousr]_|github_pat_|gl[a-z]{2,5}[-_]|xox[a-z]-|xapp-|GOCSPX-|ya29\.|sk-|[spr]k_(?:live|test)_"
    r"|whsec_|hf_|api_org_|npm_|pypi-|rubygems_|dckr_|SG\.|do[opr]_v1_|dapi|shp[a-z]{2}_|tskey-|hv[sbr]\.|lin_api_|ntn_|gsk_|xai-|r8_"
    r"|eyJ|sntry|dp\.|pul-|sbp_|pscale_|PMAK-|NRAK-|figd_|pplx-|sl\.|ops_eyJ|sq0|xkeysib-|key-|GR13"
)


def known_forms(text: str, found: list[str]) -> str:
    """The text with a mark in place of each key that has a form of its own."""
    for form in FORMS:
        if form.sign in text:
            text = form.pattern.sub(_whole(form.kind, found), text)
    return text


def begins_one(run: str) -> bool:
    """Whether a run of letters begins as keys do, and so does not go on with one."""
    return _LEADS.match(run) is not None


def _whole(kind: str, found: list[str]) -> Callable[[re.Match[str]], str]:
    """Replaces a match by its mark. An example out of a manual is marked as well: nobody needs it, and who says that a
    key with EXAMPLE in it opens nothing?"""

    def replaced(_: re.Match[str]) -> str:
        found.append(kind)
        return mark(kind)

    return replaced


# Private keys in a text, as files and mails hold them: a line that begins them, letters, a line that ends them.

_KIND = "private key"
_NAME = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?"
_BEGIN = lazy(rf"-{{4,5}} ?BEGIN {_NAME}-{{4,5}}")
_END = lazy(rf"-{{4,5}} ?END {_NAME}-{{4,5}}")
_HEADER = lazy(r"(?:^|\n|\\n)[ \t>]{0,16}[A-Z][A-Za-z-]{2,30}:[^\n\\]{0,200}")
_BETWEEN = lazy(r"(?:\\r|\\n|[\s>\"'`,;|\\])+")
_LETTERS = lazy(r"[A-Za-z0-9+/=]+$")
_CUT_OFF = lazy(r"(?:\s{0,4}(?:\\n)?[ \t>]{0,8}[A-Za-z0-9+/=]{24,200}(?:\\n)?){1,1000}")
_PUTTY = lazy(
    r"(?<=\nPrivate-Lines: )\d{1,3}(?:\n[ \t>]{0,16}[A-Za-z0-9+/=]{1,80}(?=\n|\Z)){1,200}"
)
_FEWEST = 4  # letters that are a key and no dash or dots


def private_keys(text: str, found: list[str]) -> str:
    """The text with a mark in place of each private key."""
    if "PRIVATE KEY" not in text and "Private-Lines: " not in text:
        return text
    begins = list(_BEGIN.finditer(text))
    parts: list[str] = []
    at = 0
    for number, begin in enumerate(begins):
        if begin.start() < at:
            continue
        following = begins[number + 1].start() if number + 1 < len(begins) else len(text)
        end = _key_end(text, begin.end(), following)
        if end is not None:
            parts += [text[at : begin.start()], mark(_KIND)]
            found.append(_KIND)
            at = end
    text = "".join([*parts, text[at:]])
    return _PUTTY.sub(lambda _: _told(found), text)


def _told(found: list[str]) -> str:
    found.append(_KIND)
    return mark(_KIND)


def _key_end(text: str, begin: int, most: int) -> int | None:
    """Where the key ends whose first line ends at `begin`; None when no key is behind it, as where a manual tells how
    one begins."""
    closing = _END.search(text, begin, most)
    if closing and _is_key(text[begin : closing.start()]):
        return closing.end()
    cut_off = _CUT_OFF.match(text, begin, most)
    return cut_off.end() if cut_off else None


def _is_key(body: str) -> bool:
    """Whether what stands between the two lines is a key, however short and however it is broken, and not words or the
    dots of an example."""
    runs = [run for run in _BETWEEN.split(_HEADER.sub("", body)) if run]
    solid = [run for run in runs if _LETTERS.match(run) and not _is_word(run)]
    if len(runs) == 1 and not solid and "\n" in body and _LETTERS.match(runs[0]):
        solid = runs  # alone on its line: nobody writes a word there
    size = sum(map(len, solid))
    if size < _FEWEST or is_placeholder("".join(runs)[:200]):
        return False
    return 5 * size >= 4 * sum(map(len, runs))


def _is_word(run: str) -> bool:
    return len(run) <= 20 and run.isalpha() and (run.islower() or run.istitle())
