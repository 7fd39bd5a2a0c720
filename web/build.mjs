// Builds the page into ../server/page: index.html, assets with the digests of their contents in their names, the licences
// of what is bundled, and DIGEST. The same sources give the same bytes.
import { createHash } from 'node:crypto';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import * as esbuild from 'esbuild';

/** What the first paint may weigh, gzipped. */
const BUDGET = 60_000;
const here = path.dirname(fileURLToPath(import.meta.url));
const argument = process.argv.find((given) => given.startsWith('--out='));
const out = path.resolve(here, argument ? argument.slice('--out='.length) : '../server/page');

async function bundle() {
  return esbuild.build({
    absWorkingDir: here,
    entryPoints: { app: 'src/main.tsx', style: 'src/style/index.css', late: 'src/style/late.css' },
    bundle: true,
    splitting: true,
    format: 'esm',
    target: ['es2022', 'chrome111', 'firefox113', 'safari16.4'],
    minify: true,
    legalComments: 'none',
    charset: 'utf8',
    metafile: true,
    write: false,
    outdir: 'assets',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'warning',
  });
}

/** Returns the outputs that are loaded before anything is drawn: the entries, and what they import statically. */
function first(metafile) {
  const names = new Set();
  const add = (name) => {
    if (names.has(name)) return;
    names.add(name);
    for (const used of metafile.outputs[name].imports) {
      if (used.kind === 'import-statement' && !used.external) add(used.path);
    }
  };
  for (const [name, output] of Object.entries(metafile.outputs)) {
    if (output.entryPoint === 'src/main.tsx' || output.entryPoint === 'src/style/index.css') add(name);
  }
  return [...names].sort();
}

function page(names, late) {
  const scripts = names.filter((name) => name.endsWith('.js'));
  const entry = scripts.find((name) => path.basename(name).startsWith('app-'));
  const preloads = scripts.filter((name) => name !== entry);
  const style = names.find((name) => name.endsWith('.css'));
  const lines = [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">',
    '<meta name="color-scheme" content="light dark">',
    '<meta name="referrer" content="no-referrer">',
    '<title>Alloquy</title>',
    `<link rel="icon" type="image/svg+xml" href="page/icon.svg">`,
    `<link rel="stylesheet" href="page/${style}">`,
    `<meta name="late-style" content="page/${late}">`,
    ...preloads.map((name) => `<link rel="modulepreload" href="page/${name}">`),
    `<script type="module" src="page/${entry}"></script>`,
    '</head>',
    '<body>',
    '<div id="app"></div>',
    '<noscript>This page needs JavaScript. The API of this server is at /openapi.json.</noscript>',
    '</body>',
    '</html>',
  ];
  return `${lines.join('\n')}\n`;
}

/** Returns the packages whose code is in the outputs. */
function packages(metafile) {
  const names = new Set();
  for (const output of Object.values(metafile.outputs)) {
    for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
      const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
      if (found && bytesInOutput > 0) names.add(found[1]);
    }
  }
  return [...names].sort();
}

async function licences(metafile) {
  const parts = ['The page of `alloquy serve` contains code of these packages.\n'];
  for (const name of packages(metafile)) {
    const folder = path.join(here, 'node_modules', name);
    const about = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8'));
    const file = (await readdir(folder)).sort().find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`${name}: its package has no file with a license, so it cannot be bundled`);
    const text = await readFile(path.join(folder, file), 'utf8');
    parts.push(`${name} ${about.version} (${about.license})\n\n${text.replace(/\r\n/g, '\n').trim()}\n`);
  }
  return parts.join(`\n${'-'.repeat(80)}\n\n`);
}

/** SHA-256 over the sorted names and contents. */
function digest(files) {
  const hash = createHash('sha256');
  for (const name of [...files.keys()].sort()) {
    const content = files.get(name);
    hash.update(`${name}\0${content.length}\0`);
    hash.update(content);
  }
  return hash.digest('hex');
}

function report(metafile, files) {
  const early = first(metafile);
  let sum = 0;
  for (const name of [...files.keys()].filter((name) => /\.(js|css)$/.test(name)).sort()) {
    const size = gzipSync(files.get(name), { level: 9 }).length;
    const isEarly = early.includes(name);
    if (isEarly) sum += size;
    console.log(`${isEarly ? 'first paint' : 'when needed'}  ${String(size).padStart(7)} B gzip  ${name}`);
  }
  console.log(`first paint: ${sum} of ${BUDGET} bytes, gzipped`);
  if (sum > BUDGET) throw new Error(`the first paint has ${sum} bytes, at most ${BUDGET}: load something later`);
}

const built = await bundle();
const files = new Map();
for (const output of built.outputFiles) {
  files.set(`assets/${path.basename(output.path)}`, Buffer.from(output.contents));
}
const outputs = Object.entries(built.metafile.outputs).map(([name, output]) => [
  `assets/${path.basename(name)}`,
  output,
]);
built.metafile.outputs = Object.fromEntries(outputs);
for (const output of Object.values(built.metafile.outputs)) {
  for (const used of output.imports) if (!used.external) used.path = `assets/${path.basename(used.path)}`;
}
const late = [...files.keys()].find((name) => path.basename(name).startsWith('late-'));
files.set('index.html', Buffer.from(page(first(built.metafile), late)));
files.set('icon.svg', await readFile(path.join(here, 'src/style/icon.svg')));
files.set('LICENSES.txt', Buffer.from(await licences(built.metafile)));
report(built.metafile, files);
await rm(out, { recursive: true, force: true });
await mkdir(path.join(out, 'assets'), { recursive: true });
for (const [name, content] of files) await writeFile(path.join(out, name), content);
const sum = digest(files);
await writeFile(path.join(out, 'DIGEST'), `${sum}\n`);
console.log(`digest: ${sum}`);
