/**
 * Host names for which this server answers. A page under a foreign name that resolves to this address later (DNS rebinding) is
 * same-origin with this server, so neither CORS nor its origin stops it; but the `Host` of its requests is the foreign name. An
 * address is no name and cannot be rebound.
 */
import { isIP } from 'node:net'

/** True when a `Host` header names this server. A request without one comes from no browser. */
export type IsOurHost = (host: string | undefined) => boolean

/** @param names names besides this machine's own: exact ones, `*.example.org` for all below, `*` for any */
export function createHosts(names: readonly string[]): IsOurHost {
  const listed = names.map((name) => name.toLowerCase().replace(/\.$/, ''))
  return (header) => {
    if (header === undefined) return true
    const name = nameIn(header)
    return name !== null && (isAddress(name) || isLocalName(name) || listed.some((one) => covers(one, name)))
  }
}

/** True when a page requests the origin that served it; then the list of origins does not matter. */
export function isSameOrigin(origin: string, host: string | undefined): boolean {
  return host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase()
}

const covers = (listed: string, name: string): boolean =>
  listed === '*' || listed === name || (listed.startsWith('*.') && name.endsWith(listed.slice(1)))

const isAddress = (name: string): boolean => isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0
const isLocalName = (name: string): boolean => name === 'localhost' || name.endsWith('.localhost')

/** The host without the port; null for an invalid header. */
function nameIn(header: string): string | null {
  const found = /^(\[[0-9a-f:.]+\]|[^\s:/@?#[\]]+)(?::\d{1,5})?$/i.exec(header)
  return found === null ? null : found[1]!.toLowerCase().replace(/\.$/, '')
}
