/** Checks that the nodes of a store can tell each other apart and reach each other. */
import { ParleyError } from '@parley/protocol'
import type { LiveNode } from './coordination.ts'

/**
 * Why a node may not work beside another live one, and the remedy; null: it may.
 * @param comparesAddresses false: that of `self` is not known yet
 */
export function faultBeside(self: LiveNode, other: LiveNode, comparesAddresses: boolean): string | null {
  const place = self.places.find((id) => other.places.includes(id))
  if (place !== undefined)
    return (
      `another server that is running (node ${other.n}) uses a data directory with the same id (${place}): one is a copy of the other. ` +
      'Stop that server, or remove the file `place` of the copy'
    )
  if (!comparesAddresses) return null
  if (self.url === '')
    return 'another server uses the same database: set PARLEY_NODE_URL to the address at which other servers reach this one'
  if (other.url === '')
    return `another server uses the same database (node ${other.n}) and has no address for other servers: set PARLEY_NODE_URL there, and restart it`
  if (self.url === other.url)
    return `another server uses the same database (node ${other.n}) and has the same address for other servers, ${self.url}: set PARLEY_NODE_URL to another one`
  return null
}

export const conflict = (fault: string): ParleyError => new ParleyError('conflict', fault)
