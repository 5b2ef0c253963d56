/** Which addresses of a text may become links. Pure. */

const ALLOWED = new Set(['http:', 'https:', 'mailto:'])

/** A link that may be shown. `host`: where it leads, when its text names another host, or none is visible in it; otherwise empty. */
export type SafeLink = { href: string; host: string }

/** The link of an address; null for an address that is shown as text only. */
export function safeLink(address: string, text: string): SafeLink | null {
  const url = urlOf(address)
  if (url === null) return null
  if (url.protocol === 'mailto:') return { href: url.href, host: '' }
  if (url.username !== '' || url.password !== '') return null
  return { href: url.href, host: looksLikeAddress(text) && !names(text, url.host) ? url.host : '' }
}

/** Host of an image's address; empty when it has none that can be named. */
export const hostOf = (address: string): string => urlOf(address)?.host ?? ''

/** True for an image whose bytes are in its address; only kinds that cannot contain scripts. */
export const isDataImage = (address: string): boolean => /^data:image\/(?:png|jpeg|gif|webp);base64,/i.test(address)

function urlOf(address: string): URL | null {
  if (!URL.canParse(address)) return null
  const url = new URL(address)
  return ALLOWED.has(url.protocol) ? url : null
}

/** A text with a host in it must name the real one: `https://bank.example` above another address is a trap. */
const looksLikeAddress = (text: string) => /(?:^|\s|\/\/)[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/u.test(text)

function names(text: string, host: string): boolean {
  const [found] = /[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+(?::\d+)?/u.exec(text) ?? []
  return found !== undefined && (found.toLowerCase() === host || `www.${found.toLowerCase()}` === host)
}
