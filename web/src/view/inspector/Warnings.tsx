// What was not done as requested, in sentences.
import { inspecting } from '../../language/inspecting';
import { plainName } from '../../text/plain';

/** Returns a warning as a sentence; one that is new here as its name and its values. */
export function sentenceOf(warning: unknown): string {
  if (typeof warning === 'string') return inspecting.value.warning(warning, () => '') || plainName(warning);
  if (typeof warning !== 'object' || warning === null) return String(warning);
  const [name = '', fields] = Object.entries(warning)[0] ?? [];
  const given = (field: string) => {
    const value =
      typeof fields === 'object' && fields !== null ? (fields as Record<string, unknown>)[field] : undefined;
    return plainName(typeof value === 'string' ? value : JSON.stringify(value ?? null));
  };
  return inspecting.value.warning(name, given) || plainName(JSON.stringify(warning));
}

export function Warnings({ warnings }: { warnings: readonly unknown[] }) {
  if (warnings.length === 0) return null;
  return (
    <ul class="warning-list" aria-label={inspecting.value.warnings}>
      {warnings.map((warning, index) => (
        <li key={index}>{sentenceOf(warning)}</li>
      ))}
    </ul>
  );
}
