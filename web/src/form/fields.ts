// Forms for values: which fields there are, and what was filled in.

export type FieldKind = 'text' | 'long' | 'number' | 'integer' | 'boolean' | 'choice' | 'json';

export interface Field {
  name: string;
  kind: FieldKind;
  isRequired: boolean;
  /** What is there at first. */
  initial: string;
  note: string;
  choices: readonly unknown[];
}

export interface Filled {
  values: Record<string, unknown>;
  /** Fields that cannot be read, or are missing. */
  problems: Record<string, 'missing' | 'invalid'>;
}

type Schema = Record<string, unknown>;

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function kindOf(type: unknown): FieldKind {
  const name: unknown = Array.isArray(type) ? type.find((entry) => entry !== 'null') : type;
  switch (name) {
    case 'number':
    case 'integer':
    case 'boolean':
      return name;
    case 'object':
    case 'array':
    case 'any':
      return 'json';
    default:
      return 'text';
  }
}

/** Writes a value as a field shows it. */
export function written(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The field of a value with a JSON Schema, or with none. */
export function fieldOf(name: string, schema: unknown, isRequired: boolean, initial?: unknown): Field {
  const given = isObject(schema) ? schema : {};
  const choices = Array.isArray(given['enum']) ? (given['enum'] as unknown[]) : [];
  const kind = choices.length > 0 ? 'choice' : kindOf(given['type']);
  const start: unknown = initial ?? given['default'];
  return {
    name,
    kind: kind === 'text' && given['format'] === 'textarea' ? 'long' : kind,
    isRequired,
    initial: written(start),
    note: typeof given['description'] === 'string' ? given['description'] : '',
    choices,
  };
}

/** The fields of an object with a schema; `null` where the schema has none that are named. */
export function fieldsOf(schema: unknown): Field[] | null {
  if (!isObject(schema) || !isObject(schema['properties'])) return null;
  const required = Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : [];
  return Object.entries(schema['properties']).map(([name, of]) => fieldOf(name, of, required.includes(name)));
}

/** The fields of a prompt: its variables, with what its schema says of them. */
export function promptFields(prompt: {
  variables: readonly string[];
  required: readonly string[];
  defaults: Record<string, unknown>;
  input: unknown;
}): Field[] {
  const properties = isObject(prompt.input) && isObject(prompt.input['properties']) ? prompt.input['properties'] : {};
  const names = [...new Set([...prompt.variables, ...Object.keys(properties)])];
  return names.map((name) => fieldOf(name, properties[name], prompt.required.includes(name), prompt.defaults[name]));
}

function read(field: Field, text: string): { value?: unknown } | 'invalid' {
  switch (field.kind) {
    case 'number':
    case 'integer': {
      const value = Number(text);
      const isValid = Number.isFinite(value) && (field.kind === 'number' || Number.isInteger(value));
      return isValid ? { value } : 'invalid';
    }
    case 'boolean':
      return { value: text === 'true' };
    case 'choice':
      return { value: field.choices.find((choice) => written(choice) === text) ?? text };
    case 'json':
      try {
        return { value: JSON.parse(text) as unknown };
      } catch {
        return 'invalid';
      }
    default:
      return { value: text };
  }
}

/** Reads what was filled in. Empty fields have no value. */
export function filled(fields: readonly Field[], texts: Readonly<Record<string, string>>): Filled {
  const values: Record<string, unknown> = {};
  const problems: Filled['problems'] = {};
  for (const field of fields) {
    const text = texts[field.name] ?? field.initial;
    if (text.trim() === '') {
      if (field.isRequired && field.kind !== 'boolean') problems[field.name] = 'missing';
      continue;
    }
    const result = read(field, text);
    if (result === 'invalid') problems[field.name] = 'invalid';
    else values[field.name] = result.value;
  }
  return { values, problems };
}
