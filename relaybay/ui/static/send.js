// Forms with `data-quiet` are sent without leaving the page; what they changed comes as fragments. The attribute's words
// are said when it is done. Anything but "done, go on" is sent again the plain way: a refusal changed nothing, and its
// page shows it at the form.
import { refresh } from "./live.js";
import { say } from "./say.js";
import { tell } from "./undo.js";

export async function post(address, body) {
  const answer = await fetch(address, { method: "POST", body, redirect: "manual" });
  return answer.type === "opaqueredirect";
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (event.defaultPrevented || !("quiet" in form.dataset)) return;
  event.preventDefault();
  if (form.classList.contains("sending")) return;
  const submitter = event.submitter;
  const address = submitter?.getAttribute("formaction") || form.getAttribute("action");
  form.classList.add("sending");
  form.setAttribute("aria-busy", "true");
  try {
    const done = await post(address, new URLSearchParams(new FormData(form, submitter))).catch(() => null);
    if (done === null) {
      // Sent again it could be there twice: whether it was carried out is what nobody knows here.
      tell("The server did not answer. What you sent may be there already: look before you send it again.", "fault");
      return;
    }
    if (!done) {
      sendPlainly(form, submitter);
      return;
    }
    empty(form);
    giveBack(form.dataset);
    if (form.dataset.quiet) say(form.dataset.quiet);
    await refresh();
    document.dispatchEvent(new CustomEvent("relaybay:done", { detail: { form } }));
  } finally {
    form.classList.remove("sending");
    form.removeAttribute("aria-busy");
  }
});

// Also of what a refused form came with; and ready for the next one.
function empty(form) {
  form.reset();
  const fields = [...form.querySelectorAll("textarea, input:not([type])")];
  for (const field of fields) field.value = "";
  if (form.contains(document.activeElement)) fields[0]?.focus();
}

// What was taken back is ready to be written on, before whatever was typed since.
function giveBack({ text, textTo }) {
  const field = textTo && document.getElementById(textTo);
  if (!field) return;
  field.value = [text, field.value].filter(Boolean).join("\n\n");
  field.focus();
}

// Who writes a text sends it from where they are: Enter alone makes a line.
document.addEventListener("keydown", (event) => {
  const field = event.target;
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
  if (event.altKey || event.shiftKey || !field.matches?.("textarea") || !field.form) return;
  event.preventDefault();
  if (!event.repeat) field.form.requestSubmit();
});

function sendPlainly(form, submitter) {
  delete form.dataset.quiet;
  form.requestSubmit(submitter?.isConnected && submitter.form === form ? submitter : undefined);
}
