import { useRef } from "preact/hooks";
import { useWorkspace } from "../app/workspace";
import { Button } from "../design/Button";

interface UploadButtonProps {
  readonly label?: string;
  readonly look?: "primary" | "quiet";
}

/** Any file may be chosen: the server opens it and knows better than a file name whether it is a video. */
export function UploadButton({ label = "Upload", look = "primary" }: UploadButtonProps) {
  const { uploads } = useWorkspace();
  const input = useRef<HTMLInputElement>(null);
  const choose = (field: HTMLInputElement) => {
    uploads.add([...(field.files ?? [])]);
    field.value = ""; // so that choosing the same file again is a change
  };
  return (
    <>
      <Button look={look} icon="upload" onClick={() => input.current?.click()}>
        {label}
      </Button>
      <input ref={input} type="file" multiple hidden onChange={({ currentTarget }) => choose(currentTarget)} />
    </>
  );
}
