// The colours, patterns and names of origins.
import { ORIGINS } from '../../api/inspecting';
import { inspecting } from '../../language/inspecting';

/** The class of an origin; one that is new here has that of the unknown. */
export function originClass(origin: string | null): string {
  const is = ORIGINS.some((known) => known === origin);
  return `origin origin-${is ? (origin ?? '') : 'unknown'}`;
}

export function originName(origin: string | null): string {
  return origin === null ? inspecting.value.originUnknown : inspecting.value.origin(origin);
}
