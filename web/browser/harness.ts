// A browser over a real server. ALLOQUY_PAGE_URL names a running one; or else the program that ALLOQUY_PROGRAM names is
// started, with a store of its own. ALLOQUY_PAGE_FOLDER names a folder with a built page that takes the place of the program's: the
// page is tried without building the program. A program that serves no page gets that of ../server/page.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';

const FOLDER = process.env['ALLOQUY_PAGE_FOLDER'];
const PAGE = FOLDER ?? path.resolve(import.meta.dirname, '../../server/page');
const CHROMIUM = process.env['ALLOQUY_CHROMIUM'] ?? '/usr/bin/chromium';
const PROGRAM = process.env['ALLOQUY_PROGRAM'];
const ADDRESS = process.env['ALLOQUY_PAGE_URL'];

/** Why these tests cannot run here, or `null`. */
export function missing(): string | null {
  if (!existsSync(CHROMIUM)) return `there is no ${CHROMIUM}: install chromium, or name it in ALLOQUY_CHROMIUM`;
  if (!PROGRAM && !ADDRESS) return 'neither ALLOQUY_PROGRAM nor ALLOQUY_PAGE_URL is set';
  return null;
}

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' data: blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export interface Served {
  /** Where the page is. */
  url: string;
  /** Sends a request to the API, and returns its answer. */
  api: <T>(method: string, path: string, body?: unknown, key?: string) => Promise<T>;
  /** Runs the program with other arguments on the same store, and returns what it prints. */
  run: (args: readonly string[]) => Promise<string>;
  close: () => Promise<void>;
}

/** Starts the server, or uses the one that runs. */
export async function serve(
  args: readonly string[] = [],
  before: (served: Served) => Promise<void> = noWork,
): Promise<Served> {
  if (ADDRESS) return served(ADDRESS, () => Promise.reject(new Error('this server was not started here')), noWork);
  const folder = await mkdtemp(path.join(tmpdir(), 'alloquy-page-'));
  const run = (given: readonly string[]) => output(start(given, folder));
  await before(served('', run, noWork));
  const child = start(['serve', '--model', 'pocket@none', '--bind', '127.0.0.1:0', ...args], folder);
  const api = await addressOf(child);
  const hasPage = await fetch(api).then((response) => response.headers.get('content-type')?.startsWith('text/html'));
  const proxy = hasPage && FOLDER === undefined ? null : await serveFiles(new URL(api), hasPage === true);
  const url = proxy ? `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/` : api;
  return served(url, run, async () => {
    proxy?.closeAllConnections();
    proxy?.close();
    child.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });
}

async function noWork(): Promise<void> {
  // Nothing is to be done.
}

function served(url: string, run: Served['run'], close: Served['close']): Served {
  const api = async <T>(method: string, of: string, body?: unknown, key?: string): Promise<T> => {
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    if (key) headers['authorization'] = `Bearer ${key}`;
    const init: RequestInit = { method, headers };
    if (body !== undefined) init.body = JSON.stringify(body);
    const response = await fetch(new URL(of, url), init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${of}: ${response.status} ${text}`);
    return JSON.parse(text) as T;
  };
  return { url, api, run, close };
}

function start(args: readonly string[], folder: string): ChildProcess {
  const env: NodeJS.ProcessEnv = {
    PATH: process.env['PATH'],
    HOME: folder,
    XDG_CONFIG_HOME: folder,
    XDG_DATA_HOME: folder,
    XDG_STATE_HOME: folder,
    HF_HOME: path.join(folder, 'models'),
    ALLOQUY_STORE: `sqlite:${path.join(folder, 'store.db')}`,
  };
  return spawn(PROGRAM ?? '', args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
}

function output(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    let errors = '';
    child.stdout?.on('data', (piece: Buffer) => (text += piece.toString()));
    child.stderr?.on('data', (piece: Buffer) => (errors += piece.toString()));
    child.on('exit', (code) => (code === 0 ? resolve(text) : reject(new Error(errors))));
  });
}

/** Waits until the program says where it serves. */
function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stderr?.on('data', (piece: Buffer) => {
      text += piece.toString();
      const found = /serving at (http:\/\/[^/\s]+\/)/.exec(text);
      if (found?.[1]) resolve(found[1]);
    });
    child.on('exit', () => reject(new Error(`the server ended: ${text}`)));
  });
}

/** Serves the built page, and passes everything else to the server. */
async function serveFiles(api: URL, knowsPage: boolean): Promise<Server> {
  const server = createServer((asked, answer) => {
    const name = new URL(asked.url ?? '/', 'http://page').pathname;
    const file = name === '/' ? 'index.html' : name.startsWith('/page/') ? name.slice('/page/'.length) : null;
    // A program without a page does not say what it can do either.
    if (name === '/v1/alloquy/page' && !knowsPage)
      answer.writeHead(200, { 'content-type': 'application/json' }).end('{"models":[]}');
    else if (file === null || file.includes('..')) pass(api, asked, answer);
    else void answerFile(file, answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

async function answerFile(file: string, answer: ServerResponse): Promise<void> {
  try {
    const content = await readFile(path.join(PAGE, file));
    const type = TYPES[path.extname(file)] ?? 'application/octet-stream';
    answer.writeHead(200, { 'content-type': type, 'content-security-policy': POLICY }).end(content);
  } catch {
    answer.writeHead(404).end();
  }
}

function pass(api: URL, asked: IncomingMessage, answer: ServerResponse): void {
  const headers = { ...asked.headers, host: api.host };
  const passed = request(new URL(asked.url ?? '/', api), { method: asked.method, headers }, (given) => {
    answer.writeHead(given.statusCode ?? 502, given.headers);
    given.pipe(answer);
  });
  passed.on('error', () => answer.destroy());
  answer.on('close', () => passed.destroy());
  asked.pipe(passed);
}

let browser: Browser | undefined;

/** A page whose errors, refused contents and requests elsewhere are noted. */
export interface Watched {
  page: Page;
  context: BrowserContext;
  /** What went wrong so far: errors of scripts, what the policy refused, requests to other servers. */
  problems: string[];
}

export interface View {
  width?: number;
  height?: number;
  scheme?: 'light' | 'dark';
  contrast?: 'more';
  isTouch?: boolean;
  locale?: string;
}

export async function openPage(url: string, view: View = {}): Promise<Watched> {
  browser ??= await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  const context = await browser.newContext({
    viewport: { width: view.width ?? 1360, height: view.height ?? 860 },
    colorScheme: view.scheme ?? 'light',
    contrast: view.contrast ?? 'no-preference',
    hasTouch: view.isTouch ?? false,
    locale: view.locale ?? 'en-GB',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(`console: ${message.text()}`);
  });
  const { origin } = new URL(url);
  page.on('request', (sent) => {
    const of = sent.url();
    if (!of.startsWith(`${origin}/`) && !of.startsWith('data:') && !of.startsWith('blob:'))
      problems.push(`request: ${of}`);
  });
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(url);
  return { page, context, problems };
}

export async function closeBrowser(): Promise<void> {
  await browser?.close();
  browser = undefined;
}
