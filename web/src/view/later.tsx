// Components that are loaded when they are first shown.
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { fail } from '../state/notices';

export function later(load: () => Promise<ComponentType>): ComponentType {
  return laterWith<Record<string, never>>(load as () => Promise<ComponentType<Record<string, never>>>) as ComponentType;
}

/** The same for a component with properties. */
export function laterWith<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null;
  return function Later(props: Props) {
    const [, setLoaded] = useState<ComponentType<Props> | null>(null);
    useEffect(() => {
      if (loaded) return;
      load().then((component) => {
        loaded = component;
        setLoaded(() => component);
      }, fail);
    }, []);
    const Loaded = loaded;
    return Loaded ? <Loaded {...props} /> : null;
  };
}
