// Theme, rows and keys take effect at once; the server keeps them in its cookie, as it does without a script.
for (const form of document.querySelectorAll("[data-preferences]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const body = new URLSearchParams(new FormData(form, event.submitter));
    const root = document.documentElement;
    const before = root.dataset.letters;
    for (const name of ["theme", "rows", "letters"]) if (body.has(name)) root.dataset[name] = body.get(name);
    const scheme = document.querySelector("meta[name=color-scheme]");
    if (scheme) scheme.content = root.dataset.theme === "system" ? "light dark" : root.dataset.theme;
    for (const button of document.querySelectorAll("[data-preferences] button[name=theme]")) {
      button.setAttribute("aria-pressed", String(button.value === root.dataset.theme));
    }
    for (const choice of document.querySelectorAll("[data-preferences] input[type=radio]")) {
      choice.checked = root.dataset[choice.name] === choice.value;
    }
    if (root.dataset.letters !== before) document.dispatchEvent(new CustomEvent("relaybay:letters"));
    fetch(form.action, { method: "POST", body, redirect: "manual" }).catch(() => form.submit());
  });
}
