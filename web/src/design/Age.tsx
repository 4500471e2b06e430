import { now } from "../kernel/clock";
import { formatAge, formatDate } from "../kernel/format";

export function Age({ since }: { readonly since: string }) {
  return (
    <time dateTime={since} title={formatDate(since)}>
      {formatAge(since, now.value)}
    </time>
  );
}
