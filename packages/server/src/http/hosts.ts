/**
 * For which host names this server answers. A page under a name of a stranger, which was pointed at this address later (DNS
 * rebinding), is same-origin with whatever answers there, so that neither CORS nor its own origin stops it; the `Host` that
 * its requests carry is the stranger's name. An address is no name, and cannot be pointed elsewhere.
 */
import { isIP } from 'node:net'

/** Whether a `Host` header names this server. One that is absent comes from no browser. */
export type IsOurHost = (host: string | undefined) => boolean

/** @param names beside this machine's own: exact ones, `*.example.org` for all below, `*` for any. */
export function createHosts(names: readonly string[]): IsOurHost {
  const listed = names.map((name) => name.toLowerCase().replace(/\.$/, ''))
  return (header) => {
    if (header === undefined) return true
    const name = nameIn(header)
    return name !== null && (isAddress(name) || isLocalName(name) || listed.some((one) => covers(one, name)))
  }
}

/** Whether a page comes from the very place that it speaks to: no other site, whatever the list of origins says. */
export function isSameOrigin(origin: string, host: string | undefined): boolean {
  return host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase()
}

const covers = (listed: string, name: string): boolean =>
  listed === '*' || listed === name || (listed.startsWith('*.') && name.endsWith(listed.slice(1)))

const isAddress = (name: string): boolean => isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0
const isLocalName = (name: string): boolean => name === 'localhost' || name.endsWith('.localhost')

/** Without the port; null for what is no host. */
function nameIn(header: string): string | null {
  const found = /^(\[[0-9a-f:.]+\]|[^\s:/@?#[\]]+)(?::\d{1,5})?$/i.exec(header)
  return found === null ? null : found[1]!.toLowerCase().replace(/\.$/, '')
}
