// Runs the jq of the npm package jq-wasm as a command: arguments, environment, standard streams, exit status, and the files that it
// may read. The package offers one function over texts; its program is a whole jq all the same.
'use strict';
const fs = require('fs');
const path = require('path');
const { createRequire } = require('module');

const file = path.join(__dirname, 'node_modules', 'jq-wasm', 'dist', 'index.cjs');
let source = fs.readFileSync(file, 'utf8');
// The program's file system and environment are private to the package.
function replace(from, to) {
  if (!source.includes(from)) throw new Error('jq-wasm has changed: no ' + from);
  source = source.replace(from, to);
}
replace('preRun() {', 'preRun() { return moduleArg.setUp(FS, ENV);');
replace('version: () => version\n', 'version: () => version, program: () => import_jq.default\n');
const loaded = { exports: {} };
new Function('module', 'exports', 'require', '__dirname', '__filename', source)(
  loaded, loaded.exports, createRequire(file), path.dirname(file), file);

let input = Buffer.alloc(0), read = 0;
function stdin() {
  if (read === input.length) {
    const chunk = Buffer.alloc(65536);
    let n = 0;
    for (;;) {
      try { n = fs.readSync(0, chunk, 0, chunk.length, null); break; } catch (e) {
        if (e.code === 'EOF' || e.code === 'EISDIR' || e.code === 'EBADF') break;
        if (e.code !== 'EAGAIN') throw e;
      }
    }
    input = chunk.subarray(0, n);
    read = 0;
    if (n === 0) return null;
  }
  return input[read++];
}
function output(fd) {
  let bytes = [];
  const flush = () => {
    let b = Buffer.from(bytes);
    bytes = [];
    while (b.length > 0) {
      try { b = b.subarray(fs.writeSync(fd, b)); } catch (e) {
        if (e.code === 'EPIPE') process.kill(process.pid, 'SIGPIPE');
        if (e.code !== 'EAGAIN') throw e;
      }
    }
  };
  return { put(c) { if (c !== null) { bytes.push(c); if (c === 10 || bytes.length > 8192) flush(); } }, flush };
}
// What is small enough to be a case's is copied into the program's file system.
function copy(FS, name, depth) {
  let st;
  try { st = fs.statSync(name); } catch { return; }
  if (st.isDirectory()) {
    FS.mkdirTree(name);
    if (depth > 0) for (const n of fs.readdirSync(name)) copy(FS, path.join(name, n), depth - 1);
  } else if (st.size < 1 << 26) {
    FS.mkdirTree(path.dirname(name));
    try { FS.writeFile(name, fs.readFileSync(name)); } catch { return; }
    FS.chmod(name, st.mode & 0o777);
  }
}
const out = output(1), err = output(2);
loaded.exports.program({
  wasmBinary: fs.readFileSync(path.join(path.dirname(file), 'build', 'jq.wasm')),
  thisProgram: 'jq',
  setUp(FS, ENV) {
    FS.init(stdin, out.put, err.put);
    for (const k of Object.keys(ENV)) delete ENV[k];
    Object.assign(ENV, process.env);
    const cwd = process.cwd();
    for (const a of process.argv.slice(2)) {
      const name = a.startsWith('-L') ? a.slice(2) : a;
      if (name !== '/dev/stdin' && name !== '/' && (name.startsWith('/') || name.startsWith('..'))) copy(FS, path.resolve(name), 3);
    }
    if (cwd !== '/') copy(FS, cwd, 6);
    if (process.env.HOME && process.env.HOME !== '/' && process.env.HOME !== cwd) copy(FS, path.join(process.env.HOME, '.jq'), 3);
    FS.chdir(cwd);
  },
}).then((jq) => {
  const status = jq.callMain(process.argv.slice(2));
  out.flush();
  err.flush();
  process.exitCode = status;
}).catch((e) => {
  out.flush();
  err.flush();
  console.error(e);
  process.exitCode = 134;
});
