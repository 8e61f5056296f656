// A button with `data-copy` puts its text where one can paste it. Where the browser does not allow it, the name stands
// beside the button, to be selected.
import { tell } from "./undo.js";

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  const text = button.dataset.copy;
  try {
    await navigator.clipboard.writeText(text);
    tell(`Copied ${text}`);
  } catch {
    tell(`This browser does not let a page copy. Select ${text} beside the button.`);
  }
});
