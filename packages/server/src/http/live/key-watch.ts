/**
 * Ends live connections with the key that opened them: at once for a key that is revoked through this server, or through another node.
 * Expiry, and a revocation on the command line, send no notice; keys in use are therefore looked up every two seconds.
 */
import type { Actor } from '../../conversation/index.ts'
import type { Log } from '../../observability/index.ts'
import type { Authenticate } from '../core/auth.ts'

/** Longest time in milliseconds for which a connection outlives its key, without the look-up itself. */
const KEY_CHECK_MS = 2000

type Guarded = { key: string; ends: Set<() => void> }

export class KeyWatch {
  readonly #authenticate: Authenticate
  readonly #log: Log
  readonly #everyMs: number
  readonly #byKeyId = new Map<string, Guarded>()
  #timer: NodeJS.Timeout | undefined

  constructor(authenticate: Authenticate, log: Log, everyMs = KEY_CHECK_MS) {
    this.#authenticate = authenticate
    this.#log = log
    this.#everyMs = everyMs
  }

  /** Calls `end` once when `key` becomes invalid; stops watching when `closed` resolves. */
  guard({ keyId }: Actor, key: string | undefined, end: () => void, closed: Promise<void>): void {
    if (key === undefined) return
    let guarded = this.#byKeyId.get(keyId)
    if (guarded === undefined) this.#byKeyId.set(keyId, (guarded = { key, ends: new Set() }))
    const { ends } = guarded
    ends.add(end)
    this.#timer ??= setInterval(() => void this.#checkAll(), this.#everyMs).unref()
    void closed.then(() => {
      ends.delete(end)
      if (ends.size === 0 && this.#byKeyId.get(keyId)?.ends === ends) this.#forget(keyId)
    })
  }

  /** Looks one key up; null: all that are in use. Never rejects: a failed look-up says nothing about the key. */
  async check(keyId: string | null): Promise<void> {
    if (keyId === null) return this.#checkAll()
    const guarded = this.#byKeyId.get(keyId)
    if (guarded === undefined) return
    try {
      if ((await this.#authenticate(guarded.key)) !== null) return
    } catch (error) {
      this.#log.warn({ err: error, key_id: keyId }, 'key in use not looked up')
      return
    }
    const ends = [...guarded.ends]
    if (this.#byKeyId.get(keyId) === guarded) this.#forget(keyId)
    for (const end of ends) end()
  }

  async #checkAll(): Promise<void> {
    // A set may change during iteration: added keys are visited, removed ones are not.
    for (const keyId of this.#byKeyId.keys()) await this.check(keyId)
  }

  #forget(keyId: string): void {
    this.#byKeyId.delete(keyId)
    if (this.#byKeyId.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
