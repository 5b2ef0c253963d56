/** Classes of addresses, for requests that the server makes for its users. Pure. Source: docs/security.md, Requests for users; agent-core.md 10.10. */
import ipaddr from 'ipaddr.js'

/** `metadata`: services of clouds that give credentials to every program of the machine. `reserved`: everything that no other class contains. */
export type AddressClass = 'public' | 'loopback' | 'private' | 'link-local' | 'metadata' | 'reserved'

/** Metadata services outside of the link-local networks: EC2 over IPv6, Alibaba Cloud, Oracle Cloud, Azure. */
const METADATA = ['169.254.169.254', 'fd00:ec2::254', '100.100.100.200', '192.0.0.192', '168.63.129.16']
const METADATA_TEXTS: ReadonlySet<string> = new Set(METADATA.map((text) => ipaddr.parse(text).toNormalizedString()))

/** The only IPv6 range of which the registry has assigned parts to the public internet. Source: RFC 4291, 2.4; RFC 3587. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3')

const CLASSES: Readonly<Record<string, AddressClass>> = {
  loopback: 'loopback',
  // This machine, on most systems.
  unspecified: 'loopback',
  private: 'private',
  uniqueLocal: 'private',
  carrierGradeNat: 'private',
  linkLocal: 'link-local',
  unicast: 'public',
}

/** The class of the text of an address; null for a name, and for unusual spellings of addresses. */
export function addressClass(text: string): AddressClass | null {
  const address = parsed(text)
  if (address === null) return null
  if (METADATA_TEXTS.has(address.toNormalizedString())) return 'metadata'
  const inner = address.kind() === 'ipv6' ? translated(address as ipaddr.IPv6) : null
  // A translator is no way to a public address, because the policy of its network is unknown.
  if (inner !== null) return addressClass(inner) === 'public' ? 'reserved' : addressClass(inner)
  const found = CLASSES[address.range()] ?? 'reserved'
  if (found !== 'public' || address.kind() === 'ipv4') return found
  return address.match(GLOBAL_UNICAST) ? 'public' : 'reserved'
}

/** True when a network such as `10.0.0.0/8` contains the address. */
export function isInNetwork(text: string, network: string): boolean {
  const address = parsed(text)
  if (address === null) return false
  const [base, bits] = ipaddr.parseCIDR(network)
  return base.kind() === address.kind() && address.match(base, bits)
}

/** The IPv4 address that a translator (NAT64, 6to4) reaches under an IPv6 address; null for all others. */
function translated(address: ipaddr.IPv6): string | null {
  const bytes = address.toByteArray()
  if (address.range() === 'rfc6052') return bytes.slice(12).join('.')
  return address.range() === '6to4' ? bytes.slice(2, 6).join('.') : null
}

/** An IPv4 address that is written as an IPv6 one is that IPv4 address. */
function parsed(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  // Only the usual spellings: `ipaddr.js` also reads octal, hexadecimal and shortened IPv4 addresses.
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text)
  const plain = text.replace(/%.*$/, '')
  if (!ipaddr.IPv6.isValid(plain)) return null
  const address = ipaddr.IPv6.parse(plain)
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}
