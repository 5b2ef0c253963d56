/** A short name of a browser and its system, for the list of sessions: `Firefox on Linux`. */
export function browserName(userAgent: string): string {
  const browser = nameIn(BROWSERS, userAgent) ?? 'Browser'
  const system = nameIn(SYSTEMS, userAgent)
  return system === null ? browser : `${browser} on ${system}`
}

/** In this order: browsers also name those that they resemble. */
const BROWSERS = { Edg: 'Edge', Firefox: 'Firefox', Chrome: 'Chrome', Safari: 'Safari' }
const SYSTEMS = { Android: 'Android', iPhone: 'iPhone', iPad: 'iPad', Windows: 'Windows', Mac: 'macOS', Linux: 'Linux' }

const nameIn = (names: Readonly<Record<string, string>>, text: string): string | null =>
  Object.entries(names).find(([part]) => text.includes(part))?.[1] ?? null
