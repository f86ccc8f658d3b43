// Numbers, sizes and times as words. The units are those of the terminal's progress.

const NO_VALUE = "–";

/** `1,234,567`. */
function formatCount(number) {
  if (!Number.isFinite(number)) return NO_VALUE;
  return Math.round(number)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `1 document`, `2 documents`. */
function formatCounted(number, one) {
  return `${formatCount(number)} ${one}${Math.round(number) === 1 ? "" : "s"}`;
}

/** A count in few characters, for axes: `0`, `850`, `1.2k`, `35M`. */
function formatShort(number) {
  if (!Number.isFinite(number)) return NO_VALUE;
  for (const [size, name] of [
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ]) {
    if (number >= size) return `${trimmed(number / size)}${name}`;
  }
  return trimmed(number);
}

/** `512 B`, `1.5 KiB`, `2.0 MiB`. */
function formatBytes(bytes) {
  if (!Number.isFinite(bytes)) return NO_VALUE;
  if (bytes < 1024) return `${Math.round(bytes)} B`;
  const names = ["KiB", "MiB", "GiB", "TiB", "PiB"];
  let [value, name] = [bytes / 1024, 0];
  while (value >= 1023.95 && name + 1 < names.length) [value, name] = [value / 1024, name + 1];
  return `${value.toFixed(1)} ${names[name]}`;
}

/** A size that a plan or an option chose, with three digits: `512 B`, `1.5 KiB`, `358 KiB`. */
function formatSize(bytes) {
  const [number, unit] = formatBytes(bytes).split(" ");
  return unit ? `${trimmed(Number(number))} ${unit}` : number;
}

/** A size in few characters, for axes: `512B`, `1.5K`, `96M`. */
function formatShortBytes(bytes) {
  if (!Number.isFinite(bytes)) return NO_VALUE;
  const names = ["B", "K", "M", "G", "T"];
  let [value, name] = [bytes, 0];
  while (value >= 1023.5 && name + 1 < names.length) [value, name] = [value / 1024, name + 1];
  return `${trimmed(value)}${names[name]}`;
}

/** At most three digits. */
function trimmed(value) {
  const digits = value >= 100 || Number.isInteger(value) ? 0 : value >= 10 ? 1 : 2;
  return Number(value.toFixed(digits)).toString();
}

/** A time span: `12 ms`, `0.4 s`, `2 min 05 s`, `3 h 07 min`. */
function formatSeconds(seconds) {
  if (!Number.isFinite(seconds) || seconds < 0) return NO_VALUE;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const two = (number) => number.toString().padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
}

/** A duration of requests: `850 µs`, `12 ms`, `1.25 s`. */
function formatMillis(millis) {
  if (!Number.isFinite(millis)) return NO_VALUE;
  if (millis === 0) return "0 ms";
  if (millis >= 1000) return `${(millis / 1000).toFixed(2)} s`;
  return millis >= 10 ? `${Math.round(millis)} ms` : `${millis.toFixed(1)} ms`;
}

/** A moment of the load as a clock: `0:07`, `12:30`, `3:07:00`. */
function formatClock(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const two = (number) => number.toString().padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

/** `12.3 %`; never rounded to 0 or to 100. */
function formatPercent(part) {
  if (!Number.isFinite(part)) return NO_VALUE;
  if (part > 0 && part < 0.001) return "< 0.1 %";
  const tenths = part >= 1 ? 1000 : Math.min(999, Math.round(part * 1000));
  return `${(tenths / 10).toFixed(1)} %`;
}
