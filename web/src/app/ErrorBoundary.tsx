import { Component, type ComponentChildren } from "preact";
import { Button } from "../design/Button";
import { Notice } from "../design/Notice";

/** A mistake of ours in one component must not leave a blank page. */
export class ErrorBoundary extends Component<{ readonly children: ComponentChildren }, { readonly broken: boolean }> {
  override state = { broken: false };

  static override getDerivedStateFromError() {
    return { broken: true };
  }

  override componentDidCatch(error: unknown): void {
    reportError(error); // to the console, and to whatever listens for uncaught errors
  }

  override render() {
    if (!this.state.broken) return this.props.children;
    return (
      <Notice
        icon="alert"
        title="This page stopped working"
        actions={<Button onClick={() => location.reload()}>Reload</Button>}
      >
        Reload it. Unfinished uploads continue when you choose their files again.
      </Notice>
    );
  }
}
