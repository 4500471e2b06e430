// One look at a page of results: which posts are in the document, and how the page is. It changes nothing.
() => {
  const POST = 'article[data-testid="tweet"]';
  const QUOTE = 'div[role="link"], [data-testid="quotedTweet"]';
  const column = document.querySelector('[data-testid="primaryColumn"]') ?? document.body;

  // The network draws emoji as pictures.
  const words = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    if (node.nodeName === "IMG") return node.alt;
    return [...node.childNodes].map(words).join("");
  };

  const length = (player) => {
    const ends = [...player.querySelectorAll("*")].filter((each) => !each.children.length);
    return ends.map((each) => each.textContent.trim()).find((text) => /^\d{1,2}(:\d\d){1,2}$/.test(text)) ?? null;
  };

  // `belongs` tells what is of this post from what is of the one that it quotes, or that quotes it.
  const told = (box, belongs, more) => {
    const own = (selector) => [...box.querySelectorAll(selector)].filter(belongs);
    const time = own("time").find((each) => each.closest('a[href*="/status/"]'));
    const text = own('[data-testid="tweetText"]')[0];
    return {
      link: time?.closest("a").href ?? null,
      moment: time?.getAttribute("datetime") ?? null,
      text: text ? words(text) : "",
      cut: own('[data-testid="tweet-text-show-more-link"]').length > 0,
      videos: own('[data-testid="videoPlayer"]').map(length),
      ...more,
    };
  };

  const both = (article) => {
    // Around an article the mark means an advert; inside of one it is around every video.
    const promoted = article.closest('[data-testid="placementTracking"]') !== null;
    const quotes = [...article.querySelectorAll(QUOTE)].filter((each) => each.querySelector('[data-testid="User-Name"]'));
    const quoteOf = (node) => quotes.find((each) => each.contains(node)) ?? null;
    const posts = [told(article, (node) => quoteOf(node) === null, { promoted, quoted: false })];
    for (const quote of quotes) posts.push(told(quote, (node) => quoteOf(node) === quote, { promoted, quoted: true }));
    return posts;
  };

  const articles = [...document.querySelectorAll(POST)].filter((each) => !each.parentElement.closest(POST));
  const retries = [...column.querySelectorAll("button")].some((each) => /^(retry|try again)$/i.test(each.textContent.trim()));
  const failed = retries || document.querySelector('[data-testid="error-detail"]') !== null;
  const empty = column.querySelector('[data-testid="emptyState"], [data-testid="empty_state_header_text"]') !== null;
  return {
    url: location.href,
    failed,
    empty,
    loading: document.readyState === "loading" || column.querySelector('[role="progressbar"]') !== null,
    atEnd: innerHeight + scrollY >= document.documentElement.scrollHeight - 2,
    posts: articles.flatMap(both),
  };
}
