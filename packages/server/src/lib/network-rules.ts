/** Network rules of a sandbox: parsing and matching of its list of hosts. Pure. Source: docs/security.md, The sandbox. */

/** Network access of a sandbox: all, none, or listed hosts through a proxy. */
export type Network = boolean | readonly string[]

type Entry = { host: string; isSuffix: boolean; port: number | null }

/** Ports of an entry without a port. */
const USUAL_PORTS = [80, 443]
const ENTRY = /^(?<wild>\*\.)?(?<host>\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9._-]*[a-z0-9])?)(?::(?<port>\d{1,5}))?$/

/** `host`, `*.host` or `[address]`, each with or without a port; null for anything else. */
function readEntry(text: string): Entry | null {
  const { wild, host, port } = ENTRY.exec(text.toLowerCase())?.groups ?? {}
  if (host === undefined) return null
  const number = port === undefined ? null : Number(port)
  if (number !== null && (number < 1 || number > 65_535)) return null
  return { host: bare(host), isSuffix: wild !== undefined, port: number }
}

export const isHostEntry = (text: string): boolean => readEntry(text) !== null

/** Removes the brackets of an address and the final dot of a name. */
const bare = (host: string): string =>
  host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')

/**
 * The entry that allows `host` at `port`; null when none does. `isNamed`: the entry names this host without a wildcard. Only such
 * an entry can give access to this machine.
 */
export function matchHost(list: readonly string[], host: string, port: number): { isNamed: boolean } | null {
  const name = bare(host)
  for (const entry of list.map(readEntry)) {
    if (entry === null) continue
    const isHost = entry.isSuffix ? name.endsWith(`.${entry.host}`) : name === entry.host
    const isPort = entry.port === null ? USUAL_PORTS.includes(port) : entry.port === port
    if (isHost && isPort) return { isNamed: !entry.isSuffix }
  }
  return null
}

/** True for loopback and link-local addresses, to which a public name must not resolve. */
export function isOwnAddress(address: string): boolean {
  const plain = address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '')
  return /^(?:127\.|0\.|169\.254\.)/.test(plain) || plain === '::' || plain === '::1' || /^fe[89ab]/.test(plain)
}
