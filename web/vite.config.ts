import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** The theme is set by the entry script: nothing may be painted before it ran, or a dark page begins with a flash. */
function renderAfterEntry(): Plugin {
  return {
    name: "render-after-entry",
    transformIndexHtml: (html) => html.replace('<script type="module"', '<script type="module" blocking="render"'),
  };
}

export default defineConfig({
  plugins: [renderAfterEntry()],
  build: {
    assetsInlineLimit: 0, // the content security policy of the page allows no data: addresses for these
    chunkSizeWarningLimit: 600, // hls.js, which is loaded with the first video only
    modulePreload: { polyfill: false },
    // The application, and the page that only plays.
    rolldownOptions: { input: ["index.html", "player.html"] },
    license: { fileName: "licenses.md" }, // what others wrote travels with its terms
  },
  // Files share a worker: loading the modules anew for each of them takes four times as long as the tests.
  test: { include: ["tests/**/*.test.ts"], css: true, isolate: false, pool: "threads" },
});
