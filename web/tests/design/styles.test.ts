/** Class names and tokens are text to the compiler; a misspelt one would only look wrong. */
import { expect, test } from "vitest";

const sheets = import.meta.glob<string>("../../src/**/*.css", { query: "?raw", import: "default", eager: true });
const components = import.meta.glob<string>("../../src/**/*.tsx", { query: "?raw", import: "default", eager: true });
const modules = Object.entries(sheets).filter(([path]) => path.endsWith(".module.css"));

function matches(text: string, pattern: RegExp): Set<string> {
  return new Set([...text.matchAll(pattern)].map(([, name]) => name ?? ""));
}

const definedBy = (sheet: string) => matches(sheet.replace(/\/\*[\s\S]*?\*\//g, ""), /\.([a-zA-Z][\w-]*)/g);

test("every class that a component uses is in its sheet, and every class of a sheet is used", () => {
  const wrong = modules.flatMap(([path, sheet]) => {
    const component = components[path.replace(".module.css", ".tsx")] ?? "";
    const used = matches(component, /styles\.(\w+)/g);
    const defined = definedBy(sheet);
    const isChosen = component.includes("styles["); // by a variable: which ones, the test cannot see
    const missing = [...used].filter((name) => !defined.has(name));
    const idle = [...defined].filter((name) => !used.has(name) && !isChosen);
    return [...missing.map((name) => `${path} lacks .${name}`), ...idle.map((name) => `${path}: .${name} is idle`)];
  });
  expect(modules.length).toBeGreaterThan(10);
  expect(wrong).toEqual([]);
});

test("colours come from the tokens", () => {
  const own = Object.entries(sheets).filter(
    ([path, sheet]) => !path.endsWith("tokens.css") && /oklch\(|#[0-9a-f]{3}/i.test(sheet),
  );
  expect(own.map(([path]) => path)).toEqual([]);
});

test("every token that is used exists, and every token is used", () => {
  const all = Object.values(sheets).join("\n") + Object.values(components).join("\n");
  const used = matches(all, /var\((--[\w-]+)/g);
  const defined = matches(all, /[\s{"](--[\w-]+)"?:/g);
  expect([...used].filter((name) => !defined.has(name))).toEqual([]);
  expect([...defined].filter((name) => !used.has(name))).toEqual([]);
});
