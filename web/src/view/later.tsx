// Components that are loaded when they are first shown.
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { fail } from '../state/notices';

export function later(load: () => Promise<ComponentType>): ComponentType {
  let loaded: ComponentType | null = null;
  return function Later() {
    const [, setLoaded] = useState<ComponentType | null>(null);
    useEffect(() => {
      if (loaded) return;
      load().then((component) => {
        loaded = component;
        setLoaded(() => component);
      }, fail);
    }, []);
    const Loaded = loaded;
    return Loaded ? <Loaded /> : null;
  };
}
