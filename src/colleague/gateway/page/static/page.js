// Keys of the inbox (j, k, y, n, e, r), and the count in the title. Everything works without this, too.
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

let focused = "";
document.addEventListener("htmx:beforeSwap", () => {
  focused = document.activeElement?.closest("article.question")?.id ?? "";
});
document.addEventListener("htmx:afterSwap", () => {
  const total = document.querySelector("[data-total]")?.dataset.total;
  if (total !== undefined) document.title = (total === "0" ? "" : `(${total}) `) + "Inbox · Colleague";
  document.getElementById(focused)?.focus({ preventScroll: true });
});
function isTouched(field) {
  if (field.matches("select")) return [...field.options].some((each) => each.selected !== each.defaultSelected);
  return field.type === "checkbox" ? field.checked !== field.defaultChecked : field.value !== field.defaultValue;
}

function isWriting() {
  if (document.activeElement?.matches("#items :is(input:not([type=hidden], [type=checkbox]), textarea)")) return true;
  const inForms = "#items details.edit[open] :is(input:not([type=hidden]), textarea, select)";
  return [...document.querySelectorAll(inForms)].some(isTouched);
}

// What somebody is writing is not taken away from under their hands, also when they began while the list loaded.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.detail.elt.id === "items" && isWriting()) event.preventDefault();
});
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.requestConfig?.elt.id === "items" && isWriting()) event.detail.shouldSwap = false;
});
