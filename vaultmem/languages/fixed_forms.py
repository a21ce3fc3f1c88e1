"""Facts that sentences of a fixed form state: how often something happens, on which floor something is, where somebody
moved."""

from __future__ import annotations

import re
from typing import NamedTuple

# Names that people move to and go on living where they do: programs, companies, methods, faiths, teams, days.

_PROGRAMS = """
ableton airtable akka alacritty android anki ansible apache arch argo asana astro authelia authentik azerty backblaze
basecamp bazel bitbucket bitwarden blender bluesky bootstrap borg brave bun caddy calibre cassandra centos chrome
chromium cinnamon circleci clickup clojure cloudflare colemak confluence containerd coreboot couchdb cursor dart
datadog davinci debezium debian deno digitalocean discord django docker dropbox drupal duckdb duckduckgo dvorak
eclipse edge elasticsearch electron elixir emacs erlang esbuild evernote excel express fastapi fastmail fedora feedly
figma firebase firefox fish flask flutter fly forgejo freebsd gatsby ghost ghostty gimp git gitea github gitlab gmail
gnome go godot gradle grafana graphql groovy hadoop haskell helix heroku hetzner home-assistant hugo hyprland i3
immich influxdb inkscape instagram intellij ionic ios ipad iphone iterm jaeger java jekyll jellyfin jenkins jest
jetbrains jira joomla joplin julia jupyter kafka kagi kde keepass keepassxc kernel keycloak kibana kindle kobo kotlin
krita kubernetes laravel lastpass libre-office libreoffice lightroom linear linode linux logseq lua mac macbook macos
magento manjaro mariadb mastodon matlab matrix mattermost maven mercurial meson metabase minio mint miro mocha mongo
mongodb mysql nano nats neovim netbeans netbsd netdata netlify nextcloud nginx nix nixos node nomad notion npm nushell
nvidia obsidian office onedrive openbox openbsd opensearch opensuse openvpn opera outlook ovh pages pandas pandoc
paperless perl photoprism php phpstorm pinterest pixel plausible playwright plex pnpm podman polars postfix postgres
postgresql powershell premiere prettier prisma prometheus proton protonmail proxmox pulumi puppet pycharm python
pytorch qt quarto qwerty rails rancher raycast react readwise reddit redis remix roam rollup rstudio ruby rust safari
salesforce scala scaleway selenium sentry shopify signal sketch skype slack snapchat solid spacemacs sqlite
stackoverflow steam sublime substack supabase svelte swift syncthing synology tailscale tailwind tauri teams telegram
terraform threads thunderbird tiktok tmux todoist traccar traefik travis trello truenas tuxedo twitch twitter
typescript typst ubuntu unity unreal uv vaultwarden vercel viber vim vite vivaldi vmware void vs vscode vue vultr warp
wayland webpack wechat weechat wezterm whatsapp windows wireguard woocommerce wordpress xcode xfce xmpp yaml yarn
youtube zed zig zoom zotero zsh zulip
"""
_COMPANIES = """
accenture activision adidas adobe adyen aetna airbnb airbus aldi alibaba allianz alphabet amazon amd amex anthropic
apple arm asos atlassian audi autodesk aws axa azure baidu bain barclays basf bayer binance blackrock block bloomberg
bmw boeing bolt booking bosch boston-consulting bp broadcom bytedance canonical canva capgemini cern chevron chime
cisco citi citibank coca-cola coinbase comcast costco credit-suisse crowdstrike databricks deepmind deliveroo dell
deloitte deutsche-bank deutsche-telekom dhl disney doordash dyson ebay ee epic ericsson ernst etsy expedia exxon
facebook fedex ferrari ford gm goldman google grab grammarly honda hp hsbc huawei hubspot hulu ibm ikea infosys ing
intel intuit jpmorgan klarna klm kpmg kraken lego lenovo lg lidl linkedin lloyds lufthansa lyft mastercard mckinsey
mediatek mercedes merck meta metro-bank microsoft mistral monzo morgan-stanley nasa natwest nestle nestlé netflix nike
nintendo nissan nokia nordea novartis nubank openai oracle palantir panasonic paypal pepsi perplexity pfizer philips
pinduoduo porsche pricewaterhouse procter pwc qualcomm rabobank raiffeisen red-hat renault revolut robinhood roche
roku rolls-royce ryanair sainsbury samsung sap schwab servicenow shein shell siemens skoda snap snowflake softbank
sony spacex spotify starling stripe suse t-mobile tcs telefonica tencent tesco tesla toyota trade-republic tsmc twilio
uber ubisoft unilever ups valve verizon visa vodafone volkswagen volvo walmart waymo wells-fargo wework whole-foods
wikimedia wikipedia wipro wise workday xai xiaomi yahoo yandex yelp zalando zendesk zillow zoho
"""
_ASSISTANTS = """
alexa bard bing chatgpt claude codeium codex cohere copilot cortana deepseek devin gemini gemma gpt grok hugging-face
huggingface kimi langchain llama llamaindex midjourney ollama openrouter opus phi qwen siri sonnet stable-diffusion
tabnine windsurf
"""
_WAYS = """
adventist agile anglican atkins baptist bdd buddhist catholic christian christianity ddd devops dsdm fasting
flexitarian gitflow gitops gluten gtd halal hindu islam jainist jewish judaism kanban keto kosher lean lutheran
methodist microservices mob mormon muslim okrs orthodoxy pair paleo pentecostal pescatarian pomodoro quaker remote
rest safe scrum scrumban serverless shinto sikhi sufi tdd trunk vegan vegetarian waterfall whole-grain xp zettelkasten
"""
_PARTS = """
accounting administration april august backend building chapter class compliance consulting data december department
design desk engineering february finance floor friday frontend full-time gate grade group hr it january july june
legal level line logistics management march marketing monday november october operations part-time phase plan platform
procurement product qa research room row sales saturday seat section security september slide stage step sunday
support table team thursday tier tuesday version wednesday week
"""
_NAMES = frozenset(
    name.replace("-", " ")
    for names in (_PROGRAMS, _COMPANIES, _ASSISTANTS, _WAYS, _PARTS)
    for name in names.split()
)
_MOST_WORDS = max(name.count(" ") for name in _NAMES) + 1
_BETWEEN = re.compile(r"[\s'’.-]+")
_DOCTRINE = re.compile(r"\w{3,}ism", re.IGNORECASE)
# LibreOffice, DuckDuckGo; in a place such a letter stands only behind a syllable: McAllen, DeKalb, SoHo.
_COMPOUND = re.compile(r"(?!(?:Mac|Des|Les|Van|Fitz)[A-Z])(?:[A-Z][a-z]{2,}|[a-z]+)[A-Z]|.*\d")


def is_no_place(name: str) -> bool:
    """Whether it begins as the name of something where nobody lives does: "Apple Music", "Team Blue", "Node.js"."""
    words = [word for word in _BETWEEN.split(name.removeprefix("the ")) if word]
    if any(_COMPOUND.match(word) or _DOCTRINE.fullmatch(word) for word in words):
        return True
    lower = [word.lower() for word in words[:_MOST_WORDS]]
    return any(" ".join(lower[:count]) in _NAMES for count in range(1, len(lower) + 1))


_LONGEST = 70  # characters of what happens
_COUNTS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen".split()
)
_ORDINALS = (
    "ground first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
).split()
_HAN_DIGITS = {**{sign: at for at, sign in enumerate("零一二三四五六七八九十")}, "两": 2}
_UNITS = {  # as written: (counted in, how many of these)
    "minute": ("minutes", 1), "hour": ("minutes", 60), "day": ("days", 1), "week": ("days", 7),
    "month": ("months", 1), "quarter": ("months", 3), "year": ("months", 12), "分钟": ("minutes", 1),
    "小时": ("minutes", 60), "天": ("days", 1), "周": ("days", 7), "星期": ("days", 7), "月": ("months", 1),
    "年": ("months", 12),
}  # fmt: skip
_EVERY = re.compile(
    rf"(?P<what>\S.{{2,{_LONGEST}}}?)\s+every\s+(?:(?P<count>\d{{1,4}}|{'|'.join(_COUNTS[2:])}|other)\s+)?"
    r"(?P<unit>minute|hour|day|week|month|quarter|year)s?$",
    re.IGNORECASE,
)
_HAN_EVERY = re.compile(
    r"(?P<before>[^，。]{0,30}?)每(?:隔)?(?P<count>\d{1,4}|[一二两三四五六七八九十])?\s*个?"
    r"(?P<unit>分钟|小时|天|周|星期|月|年)(?![一二三四五六七日天末\d])\s*(?P<after>[^，。]{0,30})$"
)
_FLOOR = re.compile(
    rf"(?P<subject>\S.{{0,60}}?)\s+is\s+(?:located\s+|now\s+)?on\s+the\s+"
    rf"(?P<level>\d{{1,3}}(?:st|nd|rd|th)|{'|'.join(_ORDINALS)})\s+floor$",
    re.IGNORECASE,
)
_HAN_FLOOR = re.compile(
    r"(?P<subject>[^，。不没]{1,20}?)(?:就|现在)?(?:是)?在\s*第?(?P<level>\d{1,3}|[一二三四五六七八九]?十?[一二三四五六七八九]?)[楼层]$"
)
_MOVED = re.compile(
    r"(?P<subject>[^\s'’]+(?:\s[^\s'’]+){0,2}?)(?:\s+(?:have|has)|['’](?:ve|s))?(?:\s+(?:just|now|recently|finally|then|already|"
    r"since|also))*\s+(?i:moved|relocated)(?:\s+back)?(?:\s+from\s+\S+(?:\s\S+){0,2})?\s+to\s+"
    r"(?P<value>(?:[A-Z][\w'’.-]*|(?<=\s)(?:de|del|di|da|do|la|of|the|am|upon)(?=\s[A-Z]))"
    r"(?:\s(?:[A-Z][\w'’.-]*|(?:de|del|di|da|do|la|of|the|am|upon)(?=\s[A-Z])))*)"
    r"(?:\s+(?:\(|(?:with|for|from|because|recently|now|again|permanently|"
    r"this|last|yesterday|(?:\w+\s)?\w+\s(?:days?|weeks?|months?)\sago|on|to (?:live|be|work|study|join|start))\b).*)?$"
)
_MOVES = re.compile(r"\b(?:moved|relocated)\b.*\bto\b|搬(?:家)?[到去来回]", re.IGNORECASE)
_HAN_MOVED = re.compile(
    r"(?P<subject>[^，。搬]{1,8}?)(?:[（(][^（）()]*[）)])?(?:从[\u4e00-\u9fff]{2,8})?"
    r"(?:已经?|刚刚?|刚才|最近|又|全家|一家){0,3}搬(?:家)?(?:到|去|来|回)了?"
    r"(?P<value>[\u4e00-\u9fff]{2,10}?)(?:去|来)?(?:了|住|生活|工作|定居|上学)*(?:\s*[（(].*)?$"
)
# Who moved lately still lives there; "last month" alone speaks of what is over.
_LATELY = re.compile(
    r"(?:^|\s)(?:last (?:week|month)|yesterday|(?:(?:a few|some|\w+)\s)?(?:days?|weeks?|months?)\sago)\b"
    r"|上个?月|上周|昨天|前天|之前不久",
    re.IGNORECASE,
)
_HAN_NO_PLACE = re.compile(
    r"[新旧楼层房家那这里外隔附近宿舍公司办学校]|云|服务器|平台|系统|仓库|[一二两三四五六七八九十几半]个?[年月天周]"
)
# Who came as a child, or for some time, may have moved on; and who came from a company lives where they lived.
_LONG_AGO = re.compile(
    r"\s(?:when|after|before|at the age)\s|\sfor\s+(?:now|(?:(?:an?|the|this|my|our|their|about|almost|nearly|only|"
    rf"just|another|next|whole|few|couple|of|some|several|half|many|\d+|{'|'.join(_COUNTS)})\s+)+(?:days?|weeks?|"
    r"weekend|months?|years?|decades?|spring|summer|autumn|fall|winter|season|semester|term|holidays?|vacation|while|bit|time))\b",
    re.IGNORECASE,
)
_AS_A_CHILD = re.compile(
    r"\b(?:when (?:\w+\s){1,3}(?:was|were)|at the age of|as an? (?:\w+\s)?(?:baby|toddler|child|kid|"
    r"boy|girl|teen(?:ager)?|student))\b",
    re.IGNORECASE,
)
_CAME_FROM = re.compile(r"\sfrom\s+(?:the\s)?(?P<name>[A-Z][\w'’.-]*(?:\s[A-Z][\w'’.-]*)*)")
# What is denied, or said of somebody who is not named, states nothing here.
_OPEN = re.compile(
    r"(?:^|\s)(?:not|never|don['’]?t|doesn['’]?t|no longer|nobody)(?:\s|$)|^(?:he|she|it|they|this|that)\s|^there$"
    r"|[不没他她它]",
    re.IGNORECASE,
)
_FILLING = re.compile(
    r"^(?:(?:we|i|please|always)\s+)+|(?<!\S)(?:the|our|my|your|all|an?)\s+", re.IGNORECASE
)


class Said(NamedTuple):
    """What a sentence of a fixed form says of whom; there is one such value at a time."""

    subject: str
    property: str
    value: str


def said(clause: str) -> Said | None:
    """The fact of a clause that has one of these forms."""
    return _every(clause) or _han_every(clause) or _floor(clause) or _moved(clause)


def settled(sentence: str) -> str:
    """A sentence without what says that a move was lately; any other as it is."""
    return _LATELY.sub("", sentence) if _MOVES.search(sentence) else sentence


def is_of_childhood(sentence: str) -> bool:
    """Whether it tells of a move so long ago that more may have followed."""
    return _MOVES.search(sentence) is not None and _AS_A_CHILD.search(sentence) is not None


def _every(clause: str) -> Said | None:
    found = _EVERY.match(clause)
    return _rhythm(found["what"], found["count"] or "1", found["unit"]) if found else None


def _han_every(clause: str) -> Said | None:
    found = _HAN_EVERY.match(clause)
    if not found:
        return None
    what = f"{found['before']}{found['after']}".removeprefix("我们").replace("一次", "")
    return _rhythm(what.replace("要", ""), found["count"] or "1", found["unit"])


def _rhythm(what: str, count: str, unit: str) -> Said | None:
    """Rhythms in other units than days may be the same: a month and 30 days are not compared."""
    what = _FILLING.sub("", what.strip())
    if _OPEN.search(what) or len(what) < 2:
        return None
    counted, size = _UNITS[unit.lower()]
    return Said(what, f"every so many {counted}", str(_counted(count.lower()) * size))


def _counted(word: str) -> int:
    if word.isdecimal():
        return int(word)
    if word == "other":
        return 2
    return _HAN_DIGITS[word] if word in _HAN_DIGITS else _COUNTS.index(word)


def _floor(clause: str) -> Said | None:
    found = _FLOOR.match(clause) or _HAN_FLOOR.match(clause)
    if not found or not found["level"] or _OPEN.search(found["subject"]):
        return None
    return Said(found["subject"], "floor", _level(found["level"].lower()))


def _level(word: str) -> str:
    if word in _ORDINALS:
        return str(_ORDINALS.index(word))
    digits = re.match(r"\d+", word)
    if digits:
        return str(int(digits[0]))
    tens, ten, ones = word.partition("十")
    if not ten:
        return str(_HAN_DIGITS[word])
    return str(10 * _HAN_DIGITS.get(tens, 1) + _HAN_DIGITS.get(ones, 0))


def _moved(clause: str) -> Said | None:
    """Who moved somewhere lives there. Precision before recall: a place is a name, and no tool that people move to."""
    if not _MOVES.search(clause):
        return None
    clause = _LATELY.sub("", clause).strip()
    found = _MOVED.match(clause)
    if found:
        is_home = _is_home(found["value"], clause, clause[found.end("value") :])
    else:
        found = _HAN_MOVED.match(clause)
        is_home = found is not None and not _HAN_NO_PLACE.search(found["value"])
    if not found or not is_home or _OPEN.search(found["subject"]):
        return None
    return Said(found["subject"], "lives in", found["value"])


def _is_home(place: str, clause: str, rest: str) -> bool:
    """Whether who moved there lives there now, by the name and by what else is said of it."""
    if is_no_place(place) or _LONG_AGO.search(rest):
        return False
    return not any(is_no_place(each["name"]) for each in _CAME_FROM.finditer(clause))
