import { expect, test } from "vitest";
import { nextTheme, themeOf, THEMES } from "../../src/app/theme";
import { dismiss, shownForMs, tell, tellProblem, toasts } from "../../src/app/messages";

test("the toggle goes through all themes and comes back", () => {
  expect(THEMES.map(nextTheme)).toEqual(["light", "dark", "system"]);
});

test.each([null, "", "sepia"])("stored %j means: as the system", (stored) => expect(themeOf(stored)).toBe("system"));

test("toasts are few, the oldest go first, problems stay longer", () => {
  ["1", "2", "3", "4"].forEach((text) => tell(text));
  tellProblem({ code: "conflict", message: "it is busy", hint: "wait" });
  expect(toasts.value.map(({ text }) => text)).toEqual(["2", "3", "4", "It is busy."]);
  const [news, problem] = [toasts.value[0], toasts.value.at(-1)];
  if (news === undefined || problem === undefined) throw new Error("two toasts are there");
  expect(shownForMs(problem)).toBeGreaterThan(shownForMs(news));
  dismiss(news.id);
  expect(toasts.value).toHaveLength(3);
});
