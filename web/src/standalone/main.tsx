/** The page that only plays: behind a share link, and in frames of other sites. It has no session and stores nothing. */
import "../design/tokens.css";
import "../design/base.css";
import { render } from "preact";
import { sourceOf } from "./address";
import { StandalonePlayer } from "./StandalonePlayer";

const root = document.getElementById("app");
const source = sourceOf(location.pathname);
if (root !== null && source !== null) render(<StandalonePlayer source={source} />, root);
