/**
 * The header of a request that one node passes on to another: who passes it on, for which client, until when.
 *
 * Invariants
 *   H1. Only a holder of the secret key of the server makes a valid hop. It is valid for one method and one address.
 *   H2. A request with a hop is not passed on again.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import type { NodeNumber } from '../../storage/index.ts'

/** What the node that passes a request on says about it. */
export type Hop = {
  from: NodeNumber
  /** The address that the request is counted under; null when the connection had ended. */
  address: string | null
  /** Name of the server as the client sent it. */
  host: string | null
}

/** Method and address of a request as it is sent. */
export type Target = { method: string; url: string }

export const HOP_HEADER = 'x-parley-hop'
/** Name of the key that authenticates hops, which is derived from the secret key. */
export const HOP_KEY = 'hop between nodes'

/** Milliseconds for which a hop is valid. The clocks of nodes may differ by this time at most. */
const VALID_MS = 300_000

const Payload = z.tuple([z.int(), z.number(), z.string().nullable(), z.string().nullable()])

export class Hops {
  readonly #key: Uint8Array
  readonly #now: () => number

  constructor(key: Uint8Array, now: () => number = Date.now) {
    this.#key = key
    this.#now = now
  }

  /** The value of the header for a request to another node. */
  sign({ from, address, host }: Hop, target: Target): string {
    const payload = Buffer.from(JSON.stringify([from, this.#now() + VALID_MS, address, host])).toString('base64url')
    return `${payload}.${this.#mac(payload, target).toString('base64url')}`
  }

  /** The hop in the headers of a request; null without one, `refused` for one that is not valid. */
  read(headers: IncomingHttpHeaders, target: Target): Hop | 'refused' | null {
    const text = headers[HOP_HEADER]
    if (text === undefined) return null
    const [payload = '', mac = ''] = String(text).split('.')
    const given = Buffer.from(mac, 'base64url')
    const wanted = this.#mac(payload, target)
    if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return 'refused'
    const [from, until, address, host] = Payload.parse(JSON.parse(Buffer.from(payload, 'base64url').toString()))
    const leftMs = until - this.#now()
    return leftMs < 0 || leftMs > 2 * VALID_MS ? 'refused' : { from, address, host }
  }

  #mac(payload: string, { method, url }: Target): Buffer {
    return createHmac('sha256', this.#key).update(`${payload}\n${method}\n${url}`).digest()
  }
}
