/** Addresses of the public internet. Addresses that a conversation names are fetched from nowhere else. Source: agent-core.md 10.10. */
import ipaddr from 'ipaddr.js'

/** The only IPv6 range of which the registry has assigned parts to the public internet. Source: RFC 4291, 2.4; RFC 3587. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3')
/** IETF protocol assignments. Source: RFC 2928. */
const PROTOCOL_ASSIGNMENTS = ipaddr.parseCIDR('2001::/23')

/** True for the text of an address that the public internet can reach; false for a name. */
export function isPublicAddress(address: string): boolean {
  // Only the usual spellings: `ipaddr.js` also reads octal, hexadecimal and shortened IPv4 addresses.
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return ipaddr.IPv4.parse(address).range() === 'unicast'
  if (!ipaddr.IPv6.isValid(address)) return false
  const parsed = ipaddr.IPv6.parse(address)
  return parsed.range() === 'unicast' && parsed.match(GLOBAL_UNICAST) && !parsed.match(PROTOCOL_ASSIGNMENTS)
}
