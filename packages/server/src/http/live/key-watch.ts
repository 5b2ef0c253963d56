/**
 * Ends live connections with the key that opened them: at once for a key that is revoked through this server, or through another node.
 * Expiry, and a revocation on the command line, send no notice; keys in use are therefore looked up every two seconds.
 */
import type { Actor } from '../../conversation/index.ts'
import type { Log } from '../../observability/index.ts'
import type { Authenticate } from '../core/auth.ts'

/** Longest time in milliseconds for which a connection outlives its key, without the look-up itself. */
const KEY_CHECK_MS = 2000

type Guarded = { keyId: string; ends: Set<() => void> }

export class KeyWatch {
  readonly #authenticate: Authenticate
  readonly #log: Log
  readonly #everyMs: number
  /** By the key, or the token of a login session, that a connection was opened with. A key and its sessions share an id. */
  readonly #guarded = new Map<string, Guarded>()
  #timer: NodeJS.Timeout | undefined

  constructor(authenticate: Authenticate, log: Log, everyMs = KEY_CHECK_MS) {
    this.#authenticate = authenticate
    this.#log = log
    this.#everyMs = everyMs
  }

  /** Calls `end` once when `key` becomes invalid; stops watching when `closed` resolves. */
  guard({ keyId }: Actor, key: string | undefined, end: () => void, closed: Promise<void>): void {
    if (key === undefined) return
    let guarded = this.#guarded.get(key)
    if (guarded === undefined) this.#guarded.set(key, (guarded = { keyId, ends: new Set() }))
    const { ends } = guarded
    ends.add(end)
    this.#timer ??= setInterval(() => void this.check(null), this.#everyMs).unref()
    void closed.then(() => {
      ends.delete(end)
      if (ends.size === 0 && this.#guarded.get(key)?.ends === ends) this.#forget(key)
    })
  }

  /** Looks up a key and its login sessions; null: all that are in use. Never rejects: a failed look-up says nothing about the key. */
  async check(keyId: string | null): Promise<void> {
    // A map may change during iteration: added keys are visited, removed ones are not.
    for (const [key, guarded] of this.#guarded)
      if (keyId === null || guarded.keyId === keyId) await this.#checkOne(key, guarded)
  }

  async #checkOne(key: string, guarded: Guarded): Promise<void> {
    try {
      if ((await this.#authenticate(key)) !== null) return
    } catch (error) {
      this.#log.warn({ err: error, key_id: guarded.keyId }, 'key in use not looked up')
      return
    }
    const ends = [...guarded.ends]
    if (this.#guarded.get(key) === guarded) this.#forget(key)
    for (const end of ends) end()
  }

  #forget(key: string): void {
    this.#guarded.delete(key)
    if (this.#guarded.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
