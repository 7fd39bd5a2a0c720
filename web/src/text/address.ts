// Addresses in texts of others.

/** Returns the address of a link that may be followed, or `null`: only the web and mail, and nothing relative. */
export function allowedAddress(address: string): string | null {
  try {
    const url = new URL(address.trim());
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}
