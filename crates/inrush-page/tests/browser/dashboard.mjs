// The dashboard of examples/metrics is one of Grafana: TypeScript checks it against Grafana's own
// types, which are generated from its schema.
//
// Environment: INRUSH_NODE_MODULES and WORK (a folder).

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const { INRUSH_NODE_MODULES: modules, WORK } = process.env;
const file = new URL("../../../../examples/metrics/dashboard.json", import.meta.url);
const composable = "@grafana/schema/dist/esm/raw/composable";
const types = `
import type { Dashboard, Panel } from "@grafana/schema";
import type * as Stat from "${composable}/stat/panelcfg/x/StatPanelCfg_types.gen";
import type * as Series from "${composable}/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen";

/** What JSON has: the values of an enum in its place. */
type Plain<T> = T extends string
  ? \`\${T}\`
  : T extends (infer Item)[]
    ? Plain<Item>[]
    : T extends object
      ? { [Key in keyof T]: Plain<T[Key]> }
      : T;
type Any = Record<string, unknown>;
type Of<Type extends string, Options, Custom> = Omit<Panel<Any, Custom & Any>, "options" | "type"> & {
  type: Type;
  options?: Partial<Options>;
};
type OurPanel = Of<"stat", Stat.Options, object> | Of<"timeseries", Series.Options, Partial<Series.FieldConfig>>;
export type Board = Plain<Omit<Dashboard, "panels"> & { panels: OurPanel[] }>;
`;
const folder = join(WORK, "dashboard");
mkdirSync(folder);
symlinkSync(modules, join(folder, "node_modules"));
writeFileSync(join(folder, "types.ts"), types);

/** What the compiler says of a dashboard. */
function findings(name, text) {
  writeFileSync(join(folder, name), `import type { Board } from "./types";\nexport const board: Board = ${text};\n`);
  const flags = ["--noEmit", "--strict", "--skipLibCheck", "--module", "esnext", "--moduleResolution", "bundler"];
  const checked = spawnSync(process.execPath, [join(modules, "typescript/bin/tsc"), ...flags, name], {
    cwd: folder,
    encoding: "utf8",
  });
  return checked.stdout + checked.stderr;
}

const text = readFileSync(file, "utf8");
assert.equal(findings("board.ts", text), "");
// Something that Grafana does not know is found.
const wrong = text.replace('"showLegend": true', '"showLegend": "yes"');
assert.notEqual(wrong, text);
assert.match(findings("wrong.ts", wrong), /error TS2322: .*string.*boolean/);
console.log(`dashboard: ${JSON.parse(text).panels.length} panels are those of Grafana's schema`);
