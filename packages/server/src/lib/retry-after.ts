/** Milliseconds that a `Retry-After` header asks to wait, given in seconds or as a date; null when it is absent or unreadable. */
export function retryAfterMs(header: string | null | undefined, nowMs: number): number | null {
  const value = header?.trim() ?? ''
  const ms = /^[\d.]+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs
  return Number.isFinite(ms) ? Math.max(0, ms) : null
}
