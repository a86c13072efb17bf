// A conversation while the page is open: what happens is put in its place. Reading, sending and deciding work without this.
"use strict";

const place = document.querySelector("[data-events]");
const items = document.getElementById("items");
const form = document.getElementById("say");
const box = document.getElementById("text");
const notice = document.getElementById("notice");
const kept = place ? `draft ${new URL(place.dataset.events, window.location).pathname}` : "";
const READING = 4000; // milliseconds: what passes can be read before it goes
let last = "";
let sending = "";
let atSending = false;
let outdated = false;
let newestBefore = 0;

function nearEnd() {
  return window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 160;
}

function toEnd() {
  window.scrollTo(0, document.documentElement.scrollHeight);
}

// What a person has opened stays open.
function keepOpen(old, fresh) {
  const open = [...old.querySelectorAll("details[open][data-call]")].map((each) => each.dataset.call);
  for (const each of fresh.querySelectorAll("details[data-call]")) each.open = open.includes(each.dataset.call);
}

// Times as the clock of whoever looks has them: the day only when it is another one.
function localTimes(inside) {
  for (const each of inside.querySelectorAll(".item > header time, .decided > summary time")) {
    const at = new Date(each.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const today = at.toDateString() === new Date().toDateString();
    const day = today ? {} : { day: "numeric", month: "short" };
    each.textContent = at.toLocaleString([], { ...day, hour: "2-digit", minute: "2-digit" });
    each.title = at.toLocaleString();
  }
}

function put(target, html) {
  const fresh = fragment(html);
  keepOpen(target, fresh);
  target.replaceChildren(fresh);
  if (window.htmx) window.htmx.process(target);
}

function fragment(html) {
  const made = document.createElement("template");
  made.innerHTML = html.trim();
  localTimes(made.content);
  return made.content;
}

// A question that still waits stays as it is: somebody may be writing in it.
function asks(item) {
  return item.querySelector(".question form") !== null;
}

function position(item) {
  return Number(item?.id.slice(5) ?? 0);
}

function newest() {
  return position([...items.querySelectorAll(".item:not(.event)")].at(-1));
}

// What passes goes when something newer was said, which may be there before it, and once it could be read.
function letPass() {
  const passing = notice?.querySelector("[data-passing]");
  if (passing && newest() > newestBefore) window.setTimeout(() => passing.remove(), READING);
}

function putItem(html) {
  const fresh = fragment(html).firstElementChild;
  const old = document.getElementById(fresh.id);
  if (old && asks(old) && asks(fresh)) return;
  if (old) {
    keepOpen(old, fresh);
    old.replaceWith(fresh);
    window.htmx?.process(fresh);
    return;
  }
  items.querySelector(".nothing")?.remove();
  const after = [...items.children].find((each) => position(each) > position(fresh));
  items.insertBefore(fresh, after ?? null);
  window.htmx?.process(fresh);
  letPass();
}

// Questions come and go one by one, so that nothing that somebody writes is lost.
function putQuestions(html) {
  const target = document.getElementById("questions");
  const fresh = [...fragment(html).children];
  const wanted = new Set(fresh.map((each) => each.id));
  for (const old of [...target.children]) if (!wanted.has(old.id)) old.remove();
  for (const each of fresh) {
    if (target.querySelector(`#${CSS.escape(each.id)}`)) continue;
    target.append(each);
    window.htmx?.process(each);
  }
}

const PARTS = {
  item: putItem,
  live: (html) => put(document.getElementById("live"), html),
  state: (html) => put(document.getElementById("state"), html),
  tree: (html) => put(document.getElementById("tree"), html),
  questions: putQuestions,
  reload: () => { outdated = true; reload(); },
};

// Not before the answer to what was just sent: else it would come back as a draft.
function reload() {
  if (outdated && !atSending) window.location.assign(window.location.pathname);
}

function listen(wait) {
  const address = new URL(place.dataset.events, window.location);
  if (last) address.searchParams.set("after", last);
  const source = new EventSource(address);
  const lost = document.getElementById("lost");
  source.addEventListener("open", () => { lost.hidden = true; wait = 1000; });
  for (const [kind, show] of Object.entries(PARTS)) {
    source.addEventListener(kind, (event) => {
      const follow = nearEnd();
      if (kind === "item" && event.lastEventId) last = event.lastEventId;
      show(JSON.parse(event.data));
      if (follow) toEnd();
    });
  }
  source.addEventListener("error", () => {
    lost.hidden = false;
    if (source.readyState !== EventSource.CLOSED) return;
    window.setTimeout(() => listen(Math.min(wait * 2, 30000)), wait);
  });
}

function say(text, problem) {
  const line = document.createElement("p");
  line.className = problem ? "problem" : "note";
  line.textContent = text;
  notice.replaceChildren(line);
}

// What is typed outlives a reload, and a gateway that is away.
function keepDraft() {
  if (box.value) window.sessionStorage.setItem(kept, box.value);
  else window.sessionStorage.removeItem(kept);
}

function showAttached() {
  const names = [...form.elements.files.files].map((each) => each.name);
  document.getElementById("attached").textContent = names.join(", ");
}

function offer() {
  const list = document.querySelector(".commands");
  const typed = box.value;
  const command = typed.startsWith("/") && !typed.includes("\n");
  if (command) list.open = true;
  else if (list.dataset.opened) list.open = false;
  list.dataset.opened = command ? "yes" : "";
  const name = typed.split(" ")[0];
  for (const each of list.querySelectorAll("[data-command]")) {
    each.hidden = command && !(each.dataset.command.startsWith(name) || name.startsWith(each.dataset.command));
  }
}

localTimes(document);
if (place) listen(1000);
if (place && !window.location.hash) toEnd();

function attend() {
  box.addEventListener("input", () => { offer(); keepDraft(); });
  if (!box.value) box.value = window.sessionStorage.getItem(kept) ?? "";
  box.addEventListener("paste", (event) => {
    if (!event.clipboardData.files.length) return;
    form.elements.files.files = event.clipboardData.files;
    showAttached();
    event.preventDefault();
  });
  form.elements.files.addEventListener("change", showAttached);
  form.addEventListener("htmx:beforeRequest", (event) => {
    if (!box.value.trim() && !form.elements.files.files.length) event.preventDefault();
    else { sending = box.value; atSending = true; }
  });
  form.addEventListener("htmx:afterRequest", () => { atSending = false; reload(); });
  document.body.addEventListener("chat-sent", (event) => {
    box.value = box.value.startsWith(sending) ? box.value.slice(sending.length).trimStart() : box.value;
    keepDraft();
    form.elements.files.value = "";
    showAttached();
    form.elements.once.value = event.detail.once;
    offer();
    toEnd();
  });
  form.classList.add("scripted");
  if (form.dataset.early) form.requestSubmit();
}
// Now htmx, which comes first, is ready, too: what is sent goes by it.
if (form) document.addEventListener("DOMContentLoaded", attend);
document.body.addEventListener("htmx:beforeRequest", () => { newestBefore = newest(); });
document.body.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target !== notice) return;
  letPass();
  toEnd();
});
document.body.addEventListener("htmx:sendError", () => say("The gateway does not answer. What you wrote is still here; send it again.", true));
document.body.addEventListener("htmx:responseError", (event) => {
  const told = new DOMParser().parseFromString(event.detail.xhr.responseText, "text/html");
  say(told.querySelector(".problem")?.textContent ?? "This did not work.", true);
});

// Deciding without leaving the conversation.
place?.addEventListener("submit", async (event) => {
  const sent = event.target;
  if (!sent.closest(".question")) return;
  event.preventDefault();
  const fields = new URLSearchParams(new FormData(sent, event.submitter));
  newestBefore = newest();
  try {
    const told = await fetch(sent.action, { method: "POST", body: fields, headers: { "HX-Request": "true" } });
    const text = await told.text();
    if (told.ok) { put(notice, text); letPass(); }
    else say(new DOMParser().parseFromString(text, "text/html").querySelector(".problem")?.textContent ?? "This did not work.", true);
  } catch {
    say("The gateway does not answer, and nothing was decided.", true);
  }
});
