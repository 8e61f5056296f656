// Forms with `data-quiet` are sent without leaving the page; what they changed comes as fragments. The attribute's words
// are said when it is done. Anything but "done, go on" is sent again the plain way: a refusal changed nothing, and its
// page shows it at the form.
import { refresh } from "./live.js";
import { say } from "./say.js";

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
    if (!(await post(address, new URLSearchParams(new FormData(form, submitter))))) {
      sendPlainly(form, submitter);
      return;
    }
    form.reset();
    if (form.dataset.quiet) say(form.dataset.quiet);
    await refresh();
    document.dispatchEvent(new CustomEvent("relaybay:done", { detail: { form } }));
  } catch {
    // No answer: the browser's own page says so better than anything here could.
    sendPlainly(form, submitter);
  } finally {
    form.classList.remove("sending");
    form.removeAttribute("aria-busy");
  }
});

function sendPlainly(form, submitter) {
  delete form.dataset.quiet;
  form.requestSubmit(submitter?.isConnected && submitter.form === form ? submitter : undefined);
}
