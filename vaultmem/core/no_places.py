"""Names that people move to and go on living where they do: programs, companies, methods, faiths, teams, days."""

from __future__ import annotations

import re

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
