"use strict";
/* Only in `litmus watch`: asks whether something changed, and swaps the page's content if so. */
(() => {
  let version = document.body.dataset.version;
  const state = () => document.querySelector(".live");
  async function refresh() {
    try {
      const answer = await (await fetch("/version", { cache: "no-store" })).json();
      state()?.classList.remove("lost");
      if (answer.version === version) return;
      const text = await (await fetch("/", { cache: "no-store" })).text();
      const fresh = new DOMParser().parseFromString(text, "text/html");
      const open = [...document.querySelectorAll("details[open][id]")].map((d) => d.id);
      const focused = document.activeElement?.id;
      const scroll = scrollY;
      document.querySelector("main").replaceWith(fresh.querySelector("main"));
      document.getElementById("litmus-data").textContent = fresh.getElementById("litmus-data").textContent;
      document.title = fresh.title;
      litmus.start();
      for (const id of open) document.getElementById(id)?.setAttribute("open", "");
      if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
      scrollTo({ top: scroll, behavior: "instant" });
      version = answer.version;
      document.body.dataset.version = version;
    } catch {
      state()?.classList.add("lost");
    }
  }
  setInterval(refresh, 2000);
})();
