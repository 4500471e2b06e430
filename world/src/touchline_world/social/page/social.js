// Fills the timeline: loads posts in pages while one scrolls, and keeps only those near the window in the document.
// Whatever people wrote goes in as text; nothing here builds markup from it.

const KEPT_ABOVE = 1.5; // windows
const KEPT_BELOW = 2;
const LONG_TEXT = 280;
const GUESSED_HEIGHT = 140;

const timeline = document.querySelector("[data-source]");
const { root, source, query, tab } = timeline.dataset;
const cells = []; // { make, height, node }
let cursor = "";
let state = "more"; // more, loading, end, failed

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function picture(name, ...paths) {
  const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  drawing.setAttribute("viewBox", "0 0 24 24");
  drawing.setAttribute("aria-hidden", "true");
  drawing.setAttribute("class", name);
  for (const path of paths) {
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    line.setAttribute("d", path);
    drawing.append(line);
  }
  return drawing;
}

const ICONS = {
  reply: ["M4 5h16v11h-7l-5 4v-4H4z"],
  retweet: ["M7 20V7m0 0L3.5 10.5M7 7l3.5 3.5M17 4v13m0 0 3.5-3.5M17 17l-3.5-3.5"],
  like: ["M12 20s-8-4.6-8-10.4C4 6.5 6.2 5 8.2 5 10 5 11.300 6 12 7.400 12.700 6 14 5 15.800 5 17.800 5 20 6.500 20 9.600 20 15.400 12 20 12 20z"],
};

function hue(text) {
  let sum = 0;
  for (const letter of text) sum = (sum * 31 + letter.codePointAt(0)) % 360;
  return sum;
}

function avatar(post) {
  const made = element("div", { class: "avatar", "data-testid": "Tweet-User-Avatar", "aria-hidden": "true" });
  made.textContent = [...post.name.trim()][0]?.toUpperCase() ?? "?";
  made.style.backgroundColor = `hsl(${hue(post.handle)} 55% 42%)`;
  return made;
}

function badge() {
  const made = picture("verified", "M12 2l2.600 2.100 3.300-.3.9 3.200 2.800 1.800-1.200 3.100 1.200 3.100-2.800 1.800-.9 3.200-3.300-.3L12 22l-2.600-2.300-3.300.3-.9-3.200L2.400 15l1.200-3.100-1.200-3.100 2.800-1.800.9-3.200 3.300.3z", "M8 12l3 3 5-6");
  made.setAttribute("data-testid", "icon-verified");
  made.setAttribute("role", "img");
  made.removeAttribute("aria-hidden");
  made.setAttribute("aria-label", "Verified account");
  return made;
}

function permalink(post) {
  return `${root}/${encodeURIComponent(post.handle)}/status/${post.id}`;
}

function author(post) {
  const profile = `${root}/search?${new URLSearchParams({ q: `from:${post.handle}`, f: "live" })}`;
  const name = element("a", { class: "name", href: profile, role: "link" }, element("span", { dir: "auto" }, post.name));
  const handle = element("a", { class: "handle", href: profile, tabindex: "-1" }, element("span", {}, `@${post.handle}`));
  const line = element("div", { class: "author", "data-testid": "User-Name" }, name, post.verified ? badge() : null, handle);
  if (!post.promoted) {
    // Adverts have no time, as on the real network.
    const time = element("time", { datetime: post.created_at }, post.age);
    line.append(element("span", { class: "dot", "aria-hidden": "true" }, "·"));
    line.append(element("a", { class: "time", href: permalink(post), dir: "ltr", role: "link" }, time));
  }
  return line;
}

function words(text) {
  const parts = text.split(/((?:^|(?<=\s))[#@][\p{L}\p{N}_]+)/u);
  return parts.map((part) => (/^[#@]/.test(part) ? element("span", { class: "tag" }, part) : part));
}

function written(post, whole) {
  const body = element("div", { class: "text", "data-testid": "tweetText", lang: post.language, dir: "auto" });
  const letters = [...post.text];
  const cut = !whole && letters.length > LONG_TEXT;
  body.append(...words(cut ? letters.slice(0, LONG_TEXT).join("") : post.text));
  if (!cut) return [body];
  const more = element("a", { class: "more", href: permalink(post), "data-testid": "tweet-text-show-more-link" }, "Show more");
  body.append("…");
  return [body, more];
}

function player(post, video) {
  const shown = element("video", { preload: "none", playsinline: true, loop: true, poster: video.poster, "aria-label": "Embedded video" });
  shown.muted = true;
  const play = element("button", { class: "play", type: "button", "aria-label": "Play this video" }, picture("", "M8 5l11 7-11 7z"));
  play.addEventListener("click", () => {
    shown.src = video.source;
    shown.controls = true;
    play.remove();
    length.remove();
    shown.play().catch(() => box.append(element("p", { class: "unplayable" }, "The media could not be played.")));
  });
  const length = element("a", { class: "length", href: `${permalink(post)}/video/${video.number}` }, video.duration);
  const box = element("div", { class: "player", "data-testid": "videoPlayer" });
  if (video.blocked) box.append(element("p", { class: "unplayable" }, "This media is not available in your country."));
  else box.append(element("div", { "data-testid": "videoComponent" }, shown), play);
  box.append(length);
  // The real network counts views of every video in such a box. Only around an article it means an advert.
  return element("div", { "data-testid": "placementTracking" }, box);
}

function videos(post) {
  if (!post.videos.length) return null;
  const made = element("div", { class: "videos", "data-count": post.videos.length });
  made.append(...post.videos.map((video) => player(post, video)));
  return made;
}

function quotation(post) {
  if (post.removed) return element("div", { class: "quoted gone" }, "This post is unavailable.");
  const line = author(post);
  line.prepend(avatar(post));
  return element("div", { class: "quoted", role: "link", tabindex: "0", "data-testid": "quotedTweet" }, line, ...written(post, false), videos(post));
}

function actions(post) {
  const titles = { reply: "replies", retweet: "reposts", like: "likes" };
  const label = Object.entries(titles).map(([kind, title]) => `${post.counts[kind]} ${title}`).join(", ");
  const group = element("div", { class: "actions", role: "group", "aria-label": label });
  for (const kind of Object.keys(titles)) {
    const count = element("span", { "data-testid": "app-text-transition-container" }, post.counts[kind] === "0" ? "" : post.counts[kind]);
    group.append(element("span", { class: kind, "data-testid": kind }, picture("", ...ICONS[kind]), count));
  }
  return group;
}

function article(post, whole) {
  const content = element("div", { class: "content" }, author(post), ...written(post, whole), videos(post));
  if (post.quoted) content.append(quotation(post.quoted));
  content.append(actions(post));
  const made = element("article", { role: "article", tabindex: "0", "data-testid": "tweet" }, avatar(post), content);
  if (!post.promoted) return made;
  made.append(element("span", { class: "advert" }, "Ad"));
  return element("div", { "data-testid": "placementTracking" }, made);
}

function notice(kind, title, text, action) {
  const made = element("div", { class: "empty", "data-testid": kind });
  made.append(element("h2", { "data-testid": "empty_state_header_text" }, title));
  made.append(element("p", { "data-testid": "empty_state_body_text" }, text));
  if (action) {
    const button = element("button", { type: "button" }, "Retry");
    button.addEventListener("click", action);
    made.append(button);
  }
  return made;
}

const spinner = element("div", { class: "spinner", role: "progressbar", "aria-label": "Loading" });

// --- the virtual list

const list = element("div", { class: "list" });
timeline.append(list, spinner);

function add(make) {
  cells.push({ make, height: 0, node: null });
}

function place(cell, top) {
  if (!cell.node) {
    cell.node = element("div", { class: "cell", "data-testid": "cellInnerDiv" }, cell.make());
    list.append(cell.node);
    cell.height = cell.node.offsetHeight;
  }
  cell.node.style.transform = `translateY(${top}px)`;
}

function draw() {
  const start = list.getBoundingClientRect().top + window.scrollY;
  const from = window.scrollY - start - KEPT_ABOVE * window.innerHeight;
  const until = window.scrollY - start + (1 + KEPT_BELOW) * window.innerHeight;
  let top = 0;
  for (const cell of cells) {
    if (!cell.height && top >= until) break; // so that nobody jumps over what was never shown
    if (top < until && top + (cell.height || GUESSED_HEIGHT) > from) {
      place(cell, top);
    } else if (cell.node) {
      cell.node.remove();
      cell.node = null;
    }
    top += cell.height || GUESSED_HEIGHT;
  }
  list.style.minHeight = `${top}px`;
  if (state === "more" && top < until) load();
}

function failed(text) {
  state = "failed";
  spinner.remove();
  const again = notice("error-detail", "Something went wrong. Try reloading.", text, () => {
    again.remove();
    timeline.append(spinner);
    load();
  });
  timeline.append(again);
}

async function load() {
  state = "loading";
  try {
    const wanted = query === undefined ? "" : `?${new URLSearchParams({ q: query, f: tab, cursor })}`;
    const answer = await fetch(source + wanted, { credentials: "same-origin" });
    if (answer.status === 401) return window.location.reload(); // the server then shows the form to sign in
    const told = await answer.json();
    if (told.errors) return failed(told.errors[0].message);
    for (const post of told.posts) add(() => article(post, query === undefined));
    cursor = told.cursor ?? "";
    state = told.cursor ? "more" : "end";
  } catch {
    return failed("The network does not answer.");
  }
  if (state === "end") ended();
  draw();
}

function ended() {
  spinner.remove();
  if (cells.length) return;
  const hint = query ? "Try searching for something else." : "Write what you look for, such as a name and a club.";
  timeline.append(notice("emptyState", query ? `No results for “${query}”` : "Search Terrace", hint));
}

let width = window.innerWidth;
function resized() {
  if (width === window.innerWidth) return draw();
  width = window.innerWidth;
  for (const cell of cells) {
    cell.node?.remove();
    Object.assign(cell, { node: null, height: 0 });
  }
  draw();
}

window.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
window.addEventListener("resize", resized);
load();
