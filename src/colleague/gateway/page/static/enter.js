// Enter sends, from the first moment on: pressed before the page is ready, it counts when the page is.
"use strict";

document.addEventListener("keydown", (event) => {
  if (event.target.id !== "text" || event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  const form = event.target.form;
  if (form.matches(".scripted")) form.requestSubmit();
  else form.dataset.early = "yes";
});
