/** Rules for the addresses that the server may request for its users. Pure. Source: docs/security.md, Requests for users. */
import { isAddressOrNetwork, isHostEntry, matchHost } from '../lib/index.ts'
import { addressClass, isInNetwork, type AddressClass } from './address-class.ts'

/**
 * The words `public` and `any`, hosts with or without a port as in the list of a sandbox, and networks. An address that no rule
 * allows is refused.
 */
export type EgressRules = readonly string[]

const isNetwork = (text: string): boolean => text.includes('/') && isAddressOrNetwork(text)

export const isEgressRule = (text: string): boolean =>
  text === 'public' || text === 'any' || isNetwork(text) || isHostEntry(text)

/** @param host the host that a user named; @param address the address that it has, or resolves to */
export type Target = { host: string; port: number; address: string }

/** The class of the address when it is refused; null when it is allowed. */
export function refusedClass(rules: EgressRules, { host, port, address }: Target): AddressClass | null {
  const found = addressClass(address) ?? 'reserved'
  const isSensitive = found === 'metadata' || found === 'link-local'
  if (rules.some((rule) => isNetwork(rule) && isInNetwork(address, rule))) return null
  const entry = matchHost(rules.filter(isHostEntry), host, port)
  // A name leads to sensitive addresses only where the list contains the address itself, and a pattern not to this machine either.
  const isAllowedHost =
    entry !== null && (entry.isNamed ? !isSensitive || host === address : found !== 'loopback' && !isSensitive)
  if (isAllowedHost) return null
  if (rules.includes('any') && !isSensitive) return null
  return rules.includes('public') && found === 'public' ? null : found
}
