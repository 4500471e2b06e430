import "./design/tokens.css";
import "./design/base.css";
import { render } from "preact";
import { App } from "./app/App";
import { startRouter } from "./app/router";
import { startTheme } from "./app/theme";
import { authDoor } from "./session/door";
import { enter } from "./session/entry";
import { linkToken } from "./session/link";
import { createSession } from "./session/session";
import { exclusive, shareAcrossTabs } from "./session/tabs";

const root = document.getElementById("app");
if (root === null) throw new Error("the page has no place for the application");

startTheme();
startRouter();
const session = createSession({ door: authDoor, now: Date.now, exclusive });
shareAcrossTabs(session);
void enter(session);
// A sign-in link that is pasted into an open page does not load it again.
addEventListener("hashchange", () => {
  if (linkToken(location.hash) !== null) void enter(session);
});
render(<App session={session} />, root);
