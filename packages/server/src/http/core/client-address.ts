/**
 * The address that a request is counted under: that of the connection, or behind a proxy that the operator trusts, the one that
 * the proxy reports. Source: docs/security.md, Behind a proxy.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIP } from 'node:net'

type Request = {
  headers: IncomingHttpHeaders
  socket?: { remoteAddress?: string | undefined } | undefined
}

/** Undefined when the connection has already ended. */
export type AddressOf = (request: Request) => string | undefined

/** @param trusted addresses of proxies, or networks such as `10.0.0.0/8`; only their `X-Forwarded-For` is read */
export function createAddressOf(trusted: readonly string[]): AddressOf {
  const proxies = new BlockList()
  for (const entry of trusted) {
    const [address = '', bits] = entry.split('/')
    const family = familyOf(address)
    if (bits === undefined) proxies.addAddress(address, family)
    else proxies.addSubnet(address, Number(bits), family)
  }
  const isProxy = (address: string) => proxies.check(address, familyOf(address))
  return ({ headers, socket }) => {
    const peer = plain(socket?.remoteAddress)
    if (peer === undefined || !isProxy(peer)) return peer
    const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',')
    // Each proxy appends the address it was reached from; what stands before the last untrusted one is the client's own claim.
    let last = peer
    for (const text of forwarded.toReversed()) {
      const address = plain(text.trim())
      if (address === undefined || isIP(address) === 0) return last
      last = address
      if (!isProxy(address)) return address
    }
    return last
  }
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** An IPv4 address has one form, also when it arrives over IPv6. */
const plain = (address: string | undefined): string | undefined => address?.replace(/^::ffff:(?=\d+\.)/i, '')
