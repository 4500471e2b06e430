import { useMemo } from "preact/hooks";
import { Link } from "../app/Link";
import { storedPath } from "../app/routes";
import { useWorkspace } from "../app/workspace";
import { IconButton } from "../design/Button";
import { classes } from "../design/classes";
import { look, Row } from "../design/Row";
import { now } from "../kernel/clock";
import { formatBytes } from "../kernel/format";
import { StateChip } from "../library/StateChip";
import { undelete } from "./acts";
import type { Stored } from "./model";
import styles from "./StoredRow.module.css";
import { usePin } from "./usePin";
import { copiesWords, endWords, locationView, pinningWords } from "./words";

interface StoredRowProps {
  readonly stored: Stored;
  readonly onAct: () => void;
}

/** A row that nothing has happened to is not compared again. */
export function StoredRow({ stored, onAct }: StoredRowProps) {
  const { request, mayChange } = useWorkspace();
  const { wanted, toggle } = usePin(stored, onAct);
  const end = wanted === null ? endWords(stored, now.value) : pinningWords(wanted);
  return useMemo(() => {
    const { title, artifactHash, artifactType, sizeBytes, localCopies, canBeUndeleted, deletedAt, pinned } = stored;
    const name = title === "" ? artifactHash : title;
    return (
      <Row class={styles.row}>
        <div class={look.words}>
          <Link to={storedPath(artifactHash)} class={look.title}>
            {name}
          </Link>
          <p class={look.facts}>
            <span>{artifactType}</span>
            {sizeBytes !== null && <span>{formatBytes(sizeBytes)}</span>}
            {localCopies > 0 && <span>{copiesWords(localCopies)}</span>}
            <span>{end}</span>
          </p>
        </div>
        <StateChip state={locationView(stored)} />
        {mayChange && (
          <div class={classes(look.above, styles.acts)}>
            {deletedAt === null && (
              <IconButton
                icon="pin"
                class={classes(pinned && styles.pinned)}
                label={`Pin ${name}`}
                aria-pressed={pinned}
                aria-busy={wanted !== null}
                onClick={toggle}
              />
            )}
            {canBeUndeleted && (
              <IconButton
                icon="replay"
                label={`Undelete ${name}`}
                onClick={() => void undelete(request, stored).then(onAct)}
              />
            )}
          </div>
        )}
      </Row>
    );
  }, [stored, end, wanted, mayChange, onAct]);
}
