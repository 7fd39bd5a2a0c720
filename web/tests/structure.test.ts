// The sources as a whole: no files that import each other in a circle.
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const SOURCES = path.resolve(import.meta.dirname, '../src');

/** What each file imports, by their paths: types and what is loaded later too. */
function importsOf(files: ReadonlyMap<string, string>): Map<string, string[]> {
  const graph = new Map<string, string[]>();
  for (const [file, text] of files) {
    const found: string[] = [];
    for (const [, given = ''] of text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/g)) {
      const to = path.posix.join(path.posix.dirname(file), given);
      const ways = [`${to}.ts`, `${to}.tsx`, `${to}/index.ts`, `${to}/index.tsx`, `${to}.d.ts`];
      const present = ways.find((way) => files.has(way));
      if (present === undefined) throw new Error(`${file} imports ${given}, which is no source`);
      found.push(present);
    }
    graph.set(file, found);
  }
  return graph;
}

/** The first circle of imports, as the files along it, or none. */
function circle(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const walk = (file: string, way: readonly string[]): string[] => {
    const at = way.indexOf(file);
    if (at >= 0) return [...way.slice(at), file];
    if (done.has(file)) return [];
    for (const next of graph.get(file) ?? []) {
      const found = walk(next, [...way, file]);
      if (found.length > 0) return found;
    }
    done.add(file);
    return [];
  };
  for (const file of graph.keys()) {
    const found = walk(file, []);
    if (found.length > 0) return found;
  }
  return [];
}

describe('the sources', () => {
  it('import each other in no circle', () => {
    const names = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name));
    const files = new Map(
      names.map((name) => [name.split(path.sep).join('/'), readFileSync(path.join(SOURCES, name), 'utf8')]),
    );
    const graph = importsOf(files);
    expect(graph.size).toBeGreaterThan(150);
    expect([...graph.values()].flat().length).toBeGreaterThan(500);
    expect(circle(graph)).toEqual([]);
  });

  it('would be found in a circle', () => {
    const files = new Map([
      ['a.ts', "import { b } from './in/b';"],
      ['in/b.tsx', "import type { c } from '../c';"],
      ['c.ts', "const a = await import('./a');"],
    ]);
    expect(circle(importsOf(files))).toEqual(['a.ts', 'in/b.tsx', 'c.ts', 'a.ts']);
  });
});
