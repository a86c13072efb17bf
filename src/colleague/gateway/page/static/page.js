// Keys of the inbox (j, k, y, n, e, r), the count in the title, and parts that load again by themselves (data-live).
// Everything works without this, too.
"use strict";

function questions() {
  return [...document.querySelectorAll("article.question")];
}

function move(step) {
  const all = questions();
  if (!all.length) return;
  const at = all.findIndex((each) => each.contains(document.activeElement));
  all[Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + step))].focus();
}

function press(key) {
  const article = document.activeElement?.closest("article.question");
  const target = article?.querySelector(`[data-key="${key}"]`);
  if (!target) return;
  if (target.matches("input")) target.focus();
  else target.click();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, textarea, select")) return;
  if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if ("yner".includes(event.key)) press(event.key);
  else return;
  event.preventDefault();
});

function isTouched(field) {
  if (field.matches("select")) return [...field.options].some((each) => each.selected !== each.defaultSelected);
  return field.type === "checkbox" ? field.checked !== field.defaultChecked : field.value !== field.defaultValue;
}

function isWriting(part) {
  const text = "input:not([type=hidden], [type=checkbox]), textarea";
  if (part.contains(document.activeElement) && document.activeElement.matches(text)) return true;
  return [...part.querySelectorAll(`${text}, select, details.edit[open] input[type=checkbox]`)].some(isTouched);
}

// What somebody is writing is not taken away from under their hands, also when they began while the part loaded.
document.addEventListener("htmx:beforeRequest", (event) => {
  const part = event.detail.elt;
  if (part.matches("[data-live]") && isWriting(part)) event.preventDefault();
});

// Nor is what somebody is pressing: a click counts only where it began. The part loads again when it is over.
const pressing = { now: false, missed: new Set() };
document.addEventListener("pointerdown", () => { pressing.now = true; }, true);
for (const end of ["pointerup", "pointercancel", "contextmenu"]) { // a menu may swallow the release
  document.addEventListener(end, () => {
    pressing.now = false;
    const missed = [...pressing.missed];
    pressing.missed.clear();
    setTimeout(() => { for (const part of missed) window.htmx?.trigger(part, "sse:changed"); });
  }, true);
}

const before = { focused: "", opened: [], ticked: [], scrolled: [] };
document.addEventListener("htmx:beforeSwap", (event) => {
  const asked = event.detail.requestConfig?.elt;
  const live = asked?.matches("[data-live]");
  if (live && pressing.now) pressing.missed.add(asked);
  if (live && (pressing.now || isWriting(asked))) event.detail.shouldSwap = false;
  const part = event.detail.target;
  if (!part.matches("[data-live]")) return;
  const active = document.activeElement;
  before.focused = active?.closest("article.question")?.id || active?.id || "";
  before.opened = [...part.querySelectorAll("details[open][id]")].map((each) => each.id);
  before.ticked = [...part.querySelectorAll("input[type=checkbox]:checked")].map((each) => [each.name, each.value]);
  before.scrolled = [...part.querySelectorAll("[id]")].filter((each) => each.scrollTop).map((each) => [each.id, each.scrollTop]);
});
document.addEventListener("htmx:afterSwap", (event) => {
  const total = document.querySelector("[data-total]")?.dataset.total;
  if (total !== undefined) document.title = (total === "0" ? "" : `(${total}) `) + "Inbox · Colleague";
  const part = event.detail.target;
  if (!part.matches("[data-live]")) return;
  for (const [name, value] of before.ticked) {
    const same = `input[name="${CSS.escape(name)}"][value="${CSS.escape(value)}"]`; // another value is another thing
    const box = part.querySelector(same);
    if (box) box.checked = true;
  }
  document.getElementById(before.focused)?.focus({ preventScroll: true });
});
document.addEventListener("htmx:afterSettle", (event) => {
  if (!event.detail.target.matches("[data-live]")) return;
  for (const id of before.opened) document.getElementById(id)?.setAttribute("open", "");
  for (const [id, top] of before.scrolled) document.getElementById(id)?.scrollTo(0, top);
});

// What is unfolded is loaded: when it opens, or, opened before htmx knew the part it is in, when htmx does.
// A load that failed is tried again when it is opened the next time.
function loadUnfolded(part) {
  for (const link of part.querySelectorAll("details[open][hx-get] > .loaded > a:only-child")) {
    window.htmx?.trigger(link.closest("details"), "unfold");
  }
}
document.addEventListener("toggle", (event) => loadUnfolded(event.target), true);
document.addEventListener("htmx:load", (event) => loadUnfolded(event.target));

// What somebody wrote before htmx knew the field is checked, too.
document.addEventListener("htmx:load", (event) => {
  for (const field of event.target.querySelectorAll("[name^='field:'][hx-post]")) {
    if (isTouched(field)) window.htmx?.trigger(field, "check");
  }
});
