/** Moments as a field for date and time has them: by the clock of whoever looks. Pure. */

export function localInput(moment: number | null): string {
  if (moment === null) return "";
  const date = new Date(moment);
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()];
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()];
  return `${day.map(padded).join("-")}T${time.map(padded).join(":")}`;
}

function padded(figure: number, index: number): string {
  return String(figure).padStart(figure > 999 && index === 0 ? 4 : 2, "0");
}

export function momentOfInput(text: string): number | null {
  const moment = text === "" ? NaN : new Date(text).getTime();
  return Number.isNaN(moment) ? null : moment;
}
