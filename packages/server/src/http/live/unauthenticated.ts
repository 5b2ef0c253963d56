/** Counts the sockets whose key is not known yet, in all and by address. Source: docs/security.md, Limits. */
import { networkOf } from '../core/rate-limits.ts'
import type { LiveLimits } from './connections.ts'

export type Full = 'address' | 'server'

export class UnauthenticatedSockets {
  readonly #limits: Pick<LiveLimits, 'maxUnauthenticated' | 'maxUnauthenticatedPerAddress'>
  readonly #perNetwork = new Map<string, number>()
  #count = 0

  constructor(limits: Pick<LiveLimits, 'maxUnauthenticated' | 'maxUnauthenticatedPerAddress'>) {
    this.#limits = limits
  }

  /** Reserves a place until it is disposed of; or says which limit is reached. Of IPv6, a /64 network counts as one address. */
  take(address: string | undefined): Disposable | Full {
    const network = networkOf(address)
    const taken = this.#perNetwork.get(network) ?? 0
    if (taken >= this.#limits.maxUnauthenticatedPerAddress) return 'address'
    if (this.#count >= this.#limits.maxUnauthenticated) return 'server'
    this.#perNetwork.set(network, taken + 1)
    this.#count += 1
    let isHeld = true
    return {
      [Symbol.dispose]: () => {
        if (!isHeld) return
        isHeld = false
        this.#count -= 1
        const left = (this.#perNetwork.get(network) ?? 1) - 1
        if (left === 0) this.#perNetwork.delete(network)
        else this.#perNetwork.set(network, left)
      },
    }
  }
}
