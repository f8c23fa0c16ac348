// Runs scripts with just-bash: one JSON string a line on standard input, one JSON object a line on standard output.
//   node peer.mjs PACKAGE_DIR DATA_DIR
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [pkg, dir] = process.argv.slice(2);
const { Bash } = await import(join(pkg, "dist/bundle/index.js"));
const files = {};
const walk = (rel) => {
  for (const name of readdirSync(join(dir, rel))) {
    const path = join(rel, name);
    if (statSync(join(dir, path)).isDirectory()) walk(path);
    else files["/home/user/" + path] = readFileSync(join(dir, path));
  }
};
walk("");
const many = Number.MAX_SAFE_INTEGER;
const executionLimits = {};
for (const name of [
  "maxCommandCount", "maxLoopIterations", "maxAwkIterations", "maxSedIterations", "maxJqIterations", "maxQueryElements", "maxWorkUnits",
  "maxTraversalEntries", "maxTraversalWork", "maxLiveBytes", "maxInputBytes", "maxFileSystemBytes", "maxArchiveBytes", "maxArchiveEntryBytes",
  "maxGlobOperations", "maxStringLength", "maxArrayElements", "maxOutputSize", "maxCallDepth",
]) executionLimits[name] = many;
const bash = new Bash({ files, cwd: "/home/user", env: { LC_ALL: "C.UTF-8" }, executionLimits });
console.log("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const start = performance.now();
  let res;
  try {
    res = await bash.exec(JSON.parse(line));
  } catch (e) {
    res = { exitCode: -1, stdout: "", stderr: String(e) };
  }
  const ms = performance.now() - start;
  console.log(JSON.stringify({ ms, exit: res.exitCode, stdout: res.stdout.slice(0, 65536), stderr: res.stderr.slice(0, 500) }));
}
