// Code in colours: the names of the classes come from highlight.js, and the elements are made here.
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import cpp from 'highlight.js/lib/languages/cpp';
import csharp from 'highlight.js/lib/languages/csharp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import kotlin from 'highlight.js/lib/languages/kotlin';
import makefile from 'highlight.js/lib/languages/makefile';
import markdown from 'highlight.js/lib/languages/markdown';
import php from 'highlight.js/lib/languages/php';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import shell from 'highlight.js/lib/languages/shell';
import sql from 'highlight.js/lib/languages/sql';
import swift from 'highlight.js/lib/languages/swift';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { decodeEntities } from './entities';

const LANGUAGES = {
  bash,
  c,
  cpp,
  csharp,
  css,
  diff,
  go,
  ini,
  java,
  javascript,
  json,
  kotlin,
  makefile,
  markdown,
  php,
  python,
  ruby,
  rust,
  shell,
  sql,
  swift,
  typescript,
  xml,
  yaml,
};
for (const [name, grammar] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, grammar);

/** A piece of code, and the class of its colour. */
export interface Coloured {
  text: string;
  kind: string;
}

/** How long code may be that is coloured. */
const LIMIT = 20_000;
/** How many pieces may be in colours. */
const PIECES = 4000;

/** Returns the pieces of code, or `null` where the language is not known or the code is too long. */
export function colours(code: string, name: string): Coloured[] | null {
  if (code.length > LIMIT || !hljs.getLanguage(name)) return null;
  const found = piecesOf(hljs.highlight(code, { language: name, ignoreIllegals: true }).value);
  return found.length > PIECES ? null : found;
}

/** Reads the output of highlight.js, which has only spans with a class and text. Whatever else there is, is text. */
export function piecesOf(output: string): Coloured[] {
  const found: Coloured[] = [];
  const open: string[] = [];
  const add = (text: string) => {
    if (text !== '') found.push({ text: decodeEntities(text), kind: open[open.length - 1] ?? '' });
  };
  let begin = 0;
  for (const match of output.matchAll(/<span class="([\w -]*)">|<\/span>/g)) {
    add(output.slice(begin, match.index));
    begin = match.index + match[0].length;
    if (match[1] === undefined) open.pop();
    else open.push(match[1]);
  }
  add(output.slice(begin));
  return found;
}
