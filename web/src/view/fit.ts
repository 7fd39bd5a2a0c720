// The height of a field that grows with its text.

export function fit(area: HTMLTextAreaElement, most: number): void {
  area.style.height = 'auto';
  area.style.height = `${Math.min(area.scrollHeight + 2, most)}px`;
}
