/** Recognises the addresses of this machine. Source: docs/security.md, The sandbox. */
import { networkInterfaces } from 'node:os'
import { isOwnAddress } from '../../../lib/index.ts'

/** True for loopback and link-local addresses, and for every address that a network interface of this machine has now. */
export function leadsHere(address: string): boolean {
  if (isOwnAddress(address)) return true
  const plain = address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '')
  return Object.values(networkInterfaces()).some((card) => card?.some((own) => own.address.toLowerCase() === plain))
}
