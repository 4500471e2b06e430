// Keeps the page current: the server draws it, this only puts the new one in the place of the old.

const EVERY_MS = 3000;

async function renew() {
  try {
    const answer = await fetch("/", { cache: "no-store" });
    const drawn = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = drawn.querySelector("main");
    const shown = document.querySelector("main");
    if (fresh && fresh.innerHTML !== shown.innerHTML) shown.replaceWith(fresh);
  } catch {
    // It was stopped; when it is back, the next turn shows it.
  }
  setTimeout(renew, EVERY_MS);
}

setTimeout(renew, EVERY_MS);
