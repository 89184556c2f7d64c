// Shows what has changed on the page, and leaves what is being typed alone.
"use strict";
const look = async () => {
  try {
    const answer = await fetch(location.pathname, { cache: "no-store" });
    if (!answer.ok) return;
    const now = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      const fresh = now.getElementById(part.id);
      if (fresh && fresh.innerHTML !== part.innerHTML) part.replaceChildren(...fresh.childNodes);
    }
  } catch {
    // The demo has ended: the page stays as it was.
  }
};
setInterval(() => { if (!document.hidden) look(); }, 1500);
