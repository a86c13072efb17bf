// Search in the documentation as one types. It needs no server: the index is a script beside the pages, which
// is loaded when the field gets the focus. Without scripts, the field of the gateway asks the server.
"use strict";
(() => {
  const form = document.querySelector("form[data-index]");
  if (!form) return;
  const field = form.querySelector("input");
  const list = document.getElementById("found");
  const most = 20, around = 90;
  let sections = null;

  window.colleagueDocs = (index) => { sections = index; show(); };

  function load() {
    if (sections || form.dataset.asked) return;
    form.dataset.asked = "yes";
    const script = document.createElement("script");
    script.src = form.dataset.index;
    script.addEventListener("error", () => { delete form.dataset.asked; say("The index cannot be loaded."); });
    document.head.append(script);
  }

  function found(words) {
    const has = (text) => words.every((word) => text.toLowerCase().includes(word));
    const hits = sections.filter(([, , heading, , text]) => has(`${heading}\n${text}`));
    const inHeading = ([, title, heading]) => has(`${title} ${heading}`);
    return [...hits.filter(inHeading), ...hits.filter((hit) => !inHeading(hit))];
  }

  function excerpt(text, word) {
    const at = Math.max(0, text.toLowerCase().indexOf(word));
    const begin = Math.max(0, at - around), end = at + around;
    return (begin ? "…" : "") + text.slice(begin, end).trim() + (end < text.length ? "…" : "");
  }

  function entry([name, title, heading, fragment, text], words) {
    const item = document.createElement("li"), link = document.createElement("a"), about = document.createElement("p");
    link.href = form.dataset.root + name + form.dataset.ending + (fragment ? `#${fragment}` : "");
    link.textContent = heading && heading !== title ? `${title}: ${heading}` : title;
    about.textContent = excerpt(text, words[0]);
    item.append(link, about);
    return item;
  }

  function say(text) {
    const item = document.createElement("li");
    item.textContent = text;
    list.replaceChildren(item);
    list.hidden = false;
  }

  function show() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) { list.hidden = true; return; }
    if (!sections) { load(); return; }
    const hits = found(words);
    if (!hits.length) { say("Nothing has all of these words."); return; }
    list.replaceChildren(...hits.slice(0, most).map((hit) => entry(hit, words)));
    list.hidden = false;
  }

  form.hidden = false;
  field.addEventListener("focus", load);
  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { field.value = ""; show(); }
  });
  form.addEventListener("submit", (event) => {
    if (form.dataset.ending) event.preventDefault();
  });
  if (field.value) load();
})();
