/** Which addresses lead to this machine. Source: docs/security.md, The sandbox. */
import { networkInterfaces } from 'node:os'
import { isOwnAddress } from '../../lib/index.ts'

/** Its loopback and its link, and whatever address a network card of it has now. */
export function leadsHere(address: string): boolean {
  if (isOwnAddress(address)) return true
  const plain = address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '')
  return Object.values(networkInterfaces()).some((card) => card?.some((own) => own.address.toLowerCase() === plain))
}
