// The page works without this. It makes it quick: forms without a new page, results while one types, long lists,
// keys, and what changes elsewhere. Documents come by XMLHttpRequest, which parses HTML and runs nothing of it; no
// string becomes HTML here, so the browser can forbid that for all of the page (Trusted Types). Where none comes, the
// person is told, and what is on the page stays.

const one = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

function load(method, address, body, shown = "1") {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open(method, address);
    request.responseType = "document";
    if (body) request.setRequestHeader("Content-Type", "application/x-www-form-urlencoded");
    else request.setRequestHeader("X-Vaultmem", shown); // the notice of an action is for the page that asked for it
    request.onload = () => {
      const isOurs = Boolean(request.response && one("#content", request.response));
      one("#ended").hidden = isOurs;
      resolve(isOurs ? request : null);
    };
    request.onerror = () => { isThere(false); resolve(null); };
    request.send(body);
  });
}

// --- showing what came

function put(into, from, sent) {
  if (!into || !from) return;
  const id = document.activeElement?.id, top = scrollY;
  const opened = all("details[open][id], li[id] details[open]", into).filter((each) => !each.contains(sent)).map(handle);
  const typed = all("textarea", into).filter((field) => field.value !== field.defaultValue && field.form !== sent);
  into.replaceChildren(...from.childNodes);
  Object.assign(into.dataset, from.dataset);
  for (const details of all("details", into)) if (opened.includes(handle(details))) details.open = true;
  for (const old of typed) for (const field of all(`textarea[name=${old.name}]`, into)) {
    field.value = old.value;
    field.form.elements.id.value = old.form.elements.id.value; // typed into the text that was seen then
  }
  lost = id || lost;
  refocus();
  ready(into);
  scrollTo(0, top); // a long list was short for a moment
}

let lost = ""; // the id of what had the focus; a row of a long list may still have to come
function refocus() {
  const back = lost && !one(":focus") && document.getElementById(lost);
  if (!back) return;
  back.focus({ preventScroll: true });
  lost = "";
}

function handle(details) {
  const row = details.closest("[id]");
  return `${row?.id}/${row ? all("details", row).indexOf(details) : 0}`;
}

const language = document.documentElement.lang;
const locale = navigator.languages.find((name) => name.startsWith(language)) || language; // en-GB writes a day as en-US does not
let chosen = []; // what a refresh has to choose again, also in rows that come later
function ready(root) {
  for (const time of all("time[datetime]", root)) {
    const isDay = !time.dateTime.includes("T");
    const moment = new Date(isDay ? `${time.dateTime}T00:00` : time.dateTime); // a day alone would be that of Greenwich
    const form = isDay ? { dateStyle: "medium" } : { dateStyle: "medium", timeStyle: "short" };
    if (!Number.isNaN(+moment)) time.textContent = moment.toLocaleString(locale, form);
  }
  for (const box of all("input[type=checkbox]", root)) if (chosen.includes(box.value)) box.checked = true;
  for (const list of all(".list", root)) long(list);
}

const edits = () => one("#editor[open]") || document.activeElement?.closest("#content textarea, #content input, #content select");
let isDue = false; // whether a refresh waits until nothing is edited
async function refresh() {
  if (!one("#content") || (isDue = Boolean(edits()))) return;
  const answer = await load("GET", location.href);
  if (answer?.status !== 200 || (isDue = Boolean(edits()))) return; // one may have begun to type meanwhile
  chosen = all(".row :checked").map((box) => box.value);
  put(one("#content"), one("#content", answer.response));
}
for (const name of ["focusout", "toggle"]) {
  document.addEventListener(name, () => isDue && setTimeout(refresh, 300), true); // a click may come of it
}
addEventListener("pageshow", (event) => event.persisted && location.reload()); // it heard nothing while it was away

// --- forms

document.addEventListener("submit", async (event) => {
  const form = event.target, button = event.submitter;
  if (form.method !== "post" || "whole" in form.dataset || "whole" in (button?.dataset ?? {})) return;
  event.preventDefault();
  const fields = new URLSearchParams(new FormData(form, button));
  if (button) button.disabled = true;
  try {
    const row = form.closest(".row"), next = row?.nextElementSibling || row?.previousElementSibling;
    const answer = await load("POST", button?.getAttribute("formaction") || form.action, fields);
    if (!answer) return;
    const shown = answer.response, failed = one("#notice .problem", shown);
    put(one("#notice"), one("#notice", shown));
    if (failed && one("#editor[open]")) return; // what was typed stays where it is
    chosen = [];
    history.replaceState(null, "", answer.responseURL);
    document.title = shown.title;
    put(one("#content"), one("#content", shown), form);
    if (next?.id) document.getElementById(next.id)?.focus();
  } finally {
    if (button) button.disabled = false;
  }
});

let typed = 0;
async function type({ target }) {
  if (target.type === "range") target.nextElementSibling.textContent = target.value;
  const form = target.form, turn = ++typed;
  if (!form?.dataset.typed) return;
  const address = `${form.action}?${new URLSearchParams(new FormData(form))}`;
  const answer = await load("GET", address, null, "part");
  if (turn !== typed || !answer) return; // a later key was faster
  history.replaceState(null, "", address);
  put(one(form.dataset.typed), one(form.dataset.typed, answer.response) || one("#content", answer.response));
  one("#announcement").textContent = one(`${form.dataset.typed} .count`)?.textContent ?? ""; // not all that was found
}
document.addEventListener("input", type);
document.addEventListener("change", type);

document.addEventListener("toggle", async (event) => {
  const details = event.target;
  if (!details.open || !details.dataset.part || details.dataset.loaded) return;
  details.dataset.loaded = "1";
  const answer = await load("GET", details.dataset.part);
  if (!answer) return delete details.dataset.loaded;
  details.append(...one("#content", answer.response).childNodes);
}, true);

// --- long lists: only what is near the window is there

function long(list) {
  const total = +list.dataset.total, first = list.firstElementChild;
  if (!first || total <= list.children.length) return days(list);
  list.classList.add("virtual");
  const height = first.getBoundingClientRect().height;
  list.style.height = `${total * height}px`;
  const known = new Map(), asked = new Set();
  const place = (row) => { row.style.top = `${row.dataset.at * height}px`; known.set(+row.dataset.at, row); };
  all(".row", list).forEach(place);
  const show = async () => {
    if (!list.isConnected) return removeEventListener("scroll", show);
    const top = -list.getBoundingClientRect().top / height;
    const from = Math.max(0, Math.floor(top) - 20), to = Math.min(total, Math.ceil(top + innerHeight / height) + 20);
    for (const [at, row] of known) {
      const isNear = at >= from && at < to;
      if (!isNear && row.isConnected && !row.contains(document.activeElement) && !one(":checked", row)) row.remove();
      // In order, for keys and readers that go from one row to the next.
      if (isNear && !row.isConnected) list.insertBefore(row, all(".row", list).find((each) => +each.dataset.at > at) ?? null);
    }
    days(list);
    refocus();
    for (let start = Math.floor(from / 100) * 100; start < to; start += 100) {
      if (asked.has(start)) continue;
      asked.add(start);
      const query = list.dataset.rows.includes("?") ? "&" : "?";
      const answer = await load("GET", `${list.dataset.rows}${query}offset=${start}`);
      if (answer?.status !== 200) return asked.delete(start);
      for (const row of all(".row", answer.response)) {
        if (known.has(+row.dataset.at)) continue;
        place(document.adoptNode(row));
        ready(row);
      }
      show();
    }
  };
  addEventListener("scroll", show, { passive: true });
  show();
}

const dayOf = new Intl.DateTimeFormat(locale, { dateStyle: "full" });
function days(list) {
  for (const row of list.children) {
    const time = one("time", row), before = row.previousElementSibling;
    row.dataset.day ??= time ? dayOf.format(new Date(time.dateTime)) : ""; // in the zone of the person
    const isNext = before && row.dataset.at - before.dataset.at === 1;
    row.toggleAttribute("data-first", isNext ? row.dataset.day !== before.dataset.day : row.dataset.at === "0");
  }
}

// --- keys

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const field = event.target.closest("input:not([type=checkbox]), textarea, select");
  if (field && event.key !== "Escape") return;
  const rows = all("#content .row[tabindex], #content .turn");
  const row = document.activeElement?.closest?.(".row, .turn");
  const at = rows.indexOf(row), key = event.key;
  if (field) field.blur(); // and no more: a field for searching would be emptied, and the results with it
  else if (key === "/") (one("#search input") || one("#find input"))?.focus();
  else if (key === "j" || key === "k") step(row, rows[at + (key === "j" ? 1 : -1)], rows);
  else if (key === "x" && row) one("input[type=checkbox]", row)?.click();
  else if (key === "e" && one("#editor")) {
    one("#editor").open = true;
    one("#editor textarea").focus();
  } else if (key === "Enter" && row && event.target === row) one("a", row)?.click();
  else if ("aersu".includes(key)) {
    // Of a list no row is meant before one is chosen: a stray key would drop the first.
    const buttons = all(`[data-key=${key}]`).filter((each) => each.checkVisibility());
    const button = (row && buttons.find((each) => row.contains(each)))
      || buttons.find((each) => (row ? each.closest("#several, #notice") : !each.closest("#content .row")));
    if (!button) return;
    button.click();
  } else return;
  event.preventDefault();
});

function step(from, to, rows) {
  if (!from) rows.find((row) => row.getBoundingClientRect().bottom > 0)?.focus();
  // Of a long list, the row beside this one may still have to come; the one that is there is far away.
  else if (to && !(Math.abs(to.dataset.at - from.dataset.at) > 1)) to.focus();
}

// --- what changes elsewhere: one stream for all tabs, since a browser has six connections to a server

const waves = new BroadcastChannel("vaultmem");
let waiting = 0;
function changed(kinds) {
  const live = one("#content")?.dataset.live?.split(" ") || [];
  if (!kinds.some((kind) => live.includes(kind))) return;
  clearTimeout(waiting);
  waiting = setTimeout(refresh, 50);
}
waves.onmessage = ({ data }) => (Array.isArray(data) ? changed(data) : isThere(data));
const isThere = (is) => {
  if (is && !one("#stopped").hidden) refresh(); // nobody told of what changed meanwhile
  one("#stopped").hidden = is;
};

function listen() {
  return new Promise((resolve) => {
    const stream = new EventSource("/ui/events");
    stream.onmessage = (event) => {
      const kinds = event.data.split(" ");
      changed(kinds);
      waves.postMessage(kinds);
    };
    stream.onopen = stream.onerror = () => {
      isThere(stream.readyState === EventSource.OPEN);
      waves.postMessage(stream.readyState === EventSource.OPEN);
      if (stream.readyState === EventSource.CLOSED) resolve();
    };
    addEventListener("pagehide", () => { stream.close(); resolve(); }, { once: true });
  });
}

// --- coming in

const entrance = one("#entrance"), secret = location.hash.slice(1);
if (!entrance) {
  ready(document);
  navigator.locks.request("vaultmem-events", listen);
} else if (secret) {
  history.replaceState(null, "", location.pathname);
  const answer = await fetch("/ui/enter", { method: "POST", body: secret, headers: { "X-Vaultmem": "1" } });
  if (answer.ok) location.replace("/ui/");
  else entrance.textContent = (await answer.json()).error;
}
