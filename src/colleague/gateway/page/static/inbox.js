// The inbox: notifications, and copying drafts.
"use strict";

const seen = { total: null };

function total() {
  return Number(document.querySelector("[data-total]")?.dataset.total ?? 0);
}

function offerNotifications() {
  const button = document.getElementById("notify");
  if (button && "Notification" in window) button.hidden = Notification.permission !== "default";
}

function notify() {
  const now = total();
  const more = seen.total !== null && now > seen.total;
  seen.total = now;
  if (!more || !document.hidden || !("Notification" in window) || Notification.permission !== "granted") return;
  const said = new Notification("Colleague", { body: `${now} ${now === 1 ? "thing waits" : "things wait"} for you`, tag: "inbox" });
  said.addEventListener("click", () => { window.focus(); said.close(); });
}

function markDecided() {
  for (const each of document.querySelectorAll("[data-decided]")) {
    const card = document.getElementById(`q-${each.dataset.decided}`);
    if (!card || card.classList.contains("settled")) continue;
    card.classList.add("settled");
    const said = document.createElement("p");
    said.className = "settled-by";
    said.textContent = each.textContent;
    card.prepend(said);
  }
}

function textOf(card) {
  const part = (selector) => card.querySelector(selector)?.innerText ?? "";
  return card.querySelector(".mail") ? part(".mail .body") : part(".fields");
}

function ready() {
  offerNotifications();
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = !navigator.clipboard;
  markDecided();
}

document.addEventListener("click", async (event) => {
  if (event.target.id === "notify") {
    await Notification.requestPermission();
    offerNotifications();
  }
  const from = event.target.dataset?.copy;
  if (!from) return;
  await navigator.clipboard.writeText(textOf(document.getElementById(from)));
  event.target.textContent = "Copied";
});
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target.id === "items") notify();
  ready();
});
document.addEventListener("DOMContentLoaded", () => { seen.total = total(); ready(); });
