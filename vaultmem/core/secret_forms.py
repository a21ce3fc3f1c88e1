"""The forms that providers give their keys: by these they are known wherever they stand."""

from __future__ import annotations

import re
from typing import NamedTuple


class Form(NamedTuple):
    """One kind of secret. It is looked for where its `sign` stands in the text, which is cheap to find."""

    kind: str
    sign: str
    pattern: re.Pattern[str]


_BEFORE, _AFTER = r"(?<![A-Za-z0-9_-])", r"(?![A-Za-z0-9_])"


def _form(kind: str, sign: str, body: str) -> Form:
    return Form(kind, sign, re.compile(f"{_BEFORE}{body}{_AFTER}"))


# Lengths are limited, so that no text makes a search slow.
FORMS = (
    _form("AWS key", "AKIA", r"AKIA[A-Z2-7]{16}"),
    _form("AWS key", "ASIA", r"ASIA[A-Z2-7]{16}"),
    _form("AWS key", "ABIA", r"ABIA[A-Z2-7]{16}"),
    _form("GitHub token", "gh", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _form("GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    _form("GitLab token", "gl", r"gl(?:pat|dt|rt|ptt|oas|soat|cbt|ft|imt|agent)-[\w-]{20,255}"),
    _form("Slack token", "xox", r"xox[abeoprs]-[A-Za-z0-9-]{10,255}"),
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
    _form("Hugging Face token", "hf_", r"hf_[A-Za-z0-9]{30,100}"),
    _form("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _form("PyPI token", "pypi-", r"pypi-[\w-]{50,1000}"),
    _form("SendGrid key", "SG.", r"SG\.[\w-]{16,32}\.[\w-]{32,64}"),
    _form("Telegram token", ":AA", r"\d{8,10}:AA[\w-]{30,40}"),
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
    _form("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    Form("storage key", "AccountKey=", re.compile(r"(?<=AccountKey=)[A-Za-z0-9+/]{40,100}={0,2}")),
    _form("JWT", "eyJ", r"eyJ[\w-]{10,2000}\.eyJ[\w-]{10,8000}\.[\w-]{10,2000}"),
)  # fmt: skip
