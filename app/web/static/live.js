// Keeps a page live: on "changed" the page is fetched again and <main> swapped.
// The page is of use without this file.
"use strict";
(() => {
  const light = document.getElementById("live");
  let stream = null;
  let busy = false;
  let again = false;
  let missed = false; // something may have changed while we did not listen

  const show = (state, text) => {
    light.dataset.state = state;
    light.querySelector("span").textContent = text;
  };

  const refresh = async () => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const answer = await fetch(location.href, { cache: "no-store", headers: { Accept: "text/html" } });
      if (answer.status === 401) {
        location.reload(); // the session is over: the way in, with its own policy
        return;
      }
      const text = await answer.text();
      const page = new DOMParser().parseFromString(text, "text/html");
      const next = page.querySelector("main");
      if (next) {
        document.title = page.title;
        swap(next);
      }
    } catch {
      missed = true; // the stream says when the server is back
    } finally {
      busy = false;
      if (again) {
        again = false;
        setTimeout(refresh, 300);
      }
    }
  };

  const swap = (next) => {
    const main = document.querySelector("main");
    const focus = document.activeElement && document.activeElement.dataset.key;
    const scrolled = [...main.querySelectorAll("[data-scroll]")].map((e) => [e.dataset.scroll, e.scrollLeft]);
    const opened = [...main.querySelectorAll("details[data-key]")].map((e) => [e.dataset.key, e.open]);
    const logs = new Map([...main.querySelectorAll("pre[data-log]")].map((e) => [e.dataset.log, e]));
    const bottoms = [...logs.values()].map((e) => [e, e.scrollTop]);
    next.querySelectorAll("pre[data-log]").forEach((e) => {
      const old = logs.get(e.dataset.log);
      if (old) e.replaceWith(old);
    });
    main.replaceWith(next);
    for (const [key, open] of opened) {
      const e = keyed(next, key);
      if (e) e.open = open;
    }
    for (const [key, at] of scrolled) {
      const e = next.querySelector(`[data-scroll="${CSS.escape(key)}"]`);
      if (e) e.scrollLeft = at;
    }
    for (const [e, at] of bottoms) e.scrollTop = at;
    if (focus) {
      const e = keyed(next, focus);
      if (e) e.focus({ preventScroll: true });
    }
    dress(next);
  };

  const keyed = (root, key) => root.querySelector(`[data-key="${CSS.escape(key)}"]`);

  // Moments in this reader's own time zone, on hover.
  const dress = (root) => {
    root.querySelectorAll("time[datetime]").forEach((e) => {
      e.title = new Date(e.getAttribute("datetime")).toLocaleString();
    });
  };

  const mostLog = 200000;
  const followLogs = async () => {
    for (const e of document.querySelectorAll("pre[data-log]:not([data-done])")) {
      try {
        const query = new URLSearchParams({ build: e.dataset.log, after: e.dataset.next });
        const answer = await fetch("/api/log?" + query, { cache: "no-store" });
        if (!answer.ok) continue;
        const part = await answer.json();
        const bottom = e.scrollHeight - e.scrollTop - e.clientHeight < 24;
        if (part.text) e.textContent = (e.textContent + part.text).slice(-mostLog);
        e.dataset.next = part.next;
        if (part.done) e.dataset.done = "";
        if (bottom) e.scrollTop = e.scrollHeight;
      } catch {
        return;
      }
    }
  };

  // A hidden tab holds no connection: browsers allow six to one server.
  const listen = () => {
    if (document.hidden) {
      if (stream) stream.close();
      stream = null;
      missed = true;
      return;
    }
    if (stream) return;
    stream = new EventSource("/events");
    stream.addEventListener("open", () => {
      show("on", "live");
      if (missed) {
        missed = false;
        refresh();
      }
    });
    stream.addEventListener("changed", refresh);
    stream.addEventListener("error", () => {
      missed = true;
      show("off", "reconnecting");
      if (stream && stream.readyState === EventSource.CLOSED) {
        stream = null;
        setTimeout(listen, 3000);
        refresh(); // is it the session that is over?
      }
    });
  };

  // j and k walk through the rows.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || (event.key !== "j" && event.key !== "k")) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    const rows = [...document.querySelectorAll("a[data-row]")];
    if (rows.length === 0) return;
    const at = rows.indexOf(document.activeElement);
    const to = at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + (event.key === "j" ? 1 : -1)));
    rows[to].focus();
    event.preventDefault();
  });

  dress(document);
  document.querySelectorAll("pre[data-log]").forEach((e) => (e.scrollTop = e.scrollHeight));
  if (light) {
    document.addEventListener("visibilitychange", listen);
    listen();
    setInterval(() => document.hidden || followLogs(), 1500);
    setInterval(() => document.hidden || refresh(), 30000); // "in 4 min" grows old
  }
})();
