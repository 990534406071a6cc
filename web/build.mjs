// Builds the dashboard: one script, one style sheet, one page, the licences of bundled parts, and a digest of the sources.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const page = join(here, "..", "src", "agent_exec", "apps", "serve", "page");

const sources = ["build.mjs", "package-lock.json", "package.json", "tsconfig.json"];
for (const entry of readdirSync(join(here, "src"), { recursive: true, withFileTypes: true })) {
  if (entry.isFile()) sources.push(join(entry.parentPath, entry.name).slice(here.length + 1).replaceAll("\\", "/"));
}
sources.sort();

mkdirSync(page, { recursive: true });
const result = await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.tsx" },
  outdir: page,
  bundle: true,
  minify: true,
  charset: "utf8",
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
});

const bundled = new Set();
for (const input of Object.keys(result.metafile.inputs)) {
  const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
  if (found) bundled.add(found[1]);
}
const parts = [...bundled].sort().map((name) => {
  const { version, license } = JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8"));
  const text = readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8").trim();
  return { name, version, license, text };
});
const licences = parts.map((part) => `## ${part.name} ${part.version} (${part.license})\n\n${part.text}\n`);
writeFileSync(join(page, "licenses.md"), `# Parts of the dashboard by others\n\n${licences.join("\n")}`);
writeFileSync(join(page, "index.html"), readFileSync(join(here, "src", "index.html")));

const digest = (folder, names) => {
  const hash = createHash("sha256");
  for (const name of names) {
    const data = readFileSync(join(folder, name));
    hash.update(`${name}\0${data.length}\0`).update(data);
  }
  return hash.digest("hex");
};
const built = {
  sources: digest(here, sources),
  files: digest(page, ["app.css", "app.js", "index.html", "licenses.md"]),
  parts: Object.fromEntries(parts.map((part) => [part.name, part.version])),
};
writeFileSync(join(page, "built.json"), `${JSON.stringify(built, null, 2)}\n`);
