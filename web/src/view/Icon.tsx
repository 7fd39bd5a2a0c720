// The signs of buttons. They say nothing to screen readers: the buttons have names.

const PATHS = {
  plus: 'M12 5v14M5 12h14',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14M20 20l-4-4',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  again: 'M20 12a8 8 0 1 1-2.6-5.9M20 4v4h-4',
  copy: 'M9 9h10v10H9zM5 15V5h10',
  branch: 'M7 5v14M7 9c0 4 10 2 10 7v3M7 5h.01M7 19h.01M17 19h.01',
  left: 'M15 6l-6 6 6 6',
  right: 'M9 6l6 6-6 6',
  down: 'M6 9l6 6 6-6',
  up: 'M12 19V5M6 11l6-6 6 6',
  stop: 'M7 7h10v10H7z',
  close: 'M6 6l12 12M18 6L6 18',
  bookmark: 'M7 4h10v16l-5-4-5 4z',
  label: 'M4 12V5a1 1 0 0 1 1-1h7l8 8-8 8zM8.5 8.5h.01',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13',
  list: 'M4 6h16M4 12h16M4 18h10',
  panel: 'M4 5h16v14H4zM15 5v14',
  settings: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4',
  help: 'M9 9a3 3 0 1 1 4.2 2.8c-.8.4-1.2 1-1.2 2.2M12 18h.01',
  end: 'M12 5v12M6 12l6 6 6-6',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  fork: 'M6 4v6c0 3 12 1 12 5v5M6 10v10',
  wide: 'M9 7l-5 5 5 5M15 7l5 5-5 5M4 12h16',
  eye: 'M2 12c3-5 6-7 10-7s7 2 10 7c-3 5-6 7-10 7s-7-2-10-7M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6',
  check: 'M5 13l4 4L19 7',
  columns: 'M4 5h4v14H4zM10 5h4v14h-4zM16 5h4v14h-4z',
  compare: 'M12 4v16M4 8h5M4 12h5M4 16h3M15 8h5M15 12h3M15 16h5',
  graph: 'M9 4h6v4H9zM4 16h6v4H4zM14 16h6v4h-6zM12 8v4M7 16v-4h10v4',
  onward: 'M4 12h13M12 6l6 6-6 6M21 5v14',
  pen: 'M5 19l1-4L16 5l3 3L9 18zM13 8l3 3',
  score: 'M5 20V11M10 20V5M15 20v-7M20 20V8',
  merge: 'M7 4v5c0 4 10 3 10 8v3M17 4v5c0 4-10 3-10 8v3',
  target: 'M12 4v3M12 17v3M4 12h3M17 12h3M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8',
  back: 'M10 6l-6 6 6 6M4 12h16',
  minus: 'M5 12h14',
  fit: 'M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5',
  attach: 'M19 11l-7.5 7.5a4.5 4.5 0 0 1-6.4-6.4L13 4.3a3 3 0 0 1 4.3 4.3l-7.8 7.7a1.5 1.5 0 0 1-2.1-2.1L14 7.6',
  microphone: 'M12 4a3 3 0 0 0-3 3v4a3 3 0 0 0 6 0V7a3 3 0 0 0-3-3M6 11a6 6 0 0 0 12 0M12 17v3',
  upload: 'M12 16V5M7 9l5-5 5 5M5 20h14',
  filter: 'M4 6h16M7 12h10M10 18h4',
  prompt: 'M5 5h14v11H9l-4 4zM9 9h6M9 12h4',
  flow: 'M9 4h6v4H9zM4 16h6v4H4zM14 16h6v4h-6zM12 8v4M7 16v-4h10v4',
  model: 'M8 8h8v8H8zM5 5h14v14H5zM9 5V2M15 5V2M9 22v-3M15 22v-3M5 9H2M5 15H2M22 9h-3M22 15h-3',
  tool: 'M15 4a5 5 0 0 0-5 7l-6 6 3 3 6-6a5 5 0 0 0 7-5l-3 3-3-1-1-3z',
  usage: 'M5 20V10M12 20V4M19 20v-7',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
