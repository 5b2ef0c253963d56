/**
 * Live connections end with the key that opened them. A key that is revoked through this server ends them at once. A key that
 * expires, or is revoked from the command line, tells nobody: the keys in use are looked up again every two seconds.
 */
import type { Actor } from '../../conversation/index.ts'
import type { Log } from '../../observability/index.ts'
import type { Authenticate } from '../auth.ts'

/** Longest time that a connection outlives its key, in milliseconds, apart from the look-up itself. */
export const KEY_CHECK_MS = 2000

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

  /** Calls `end` once when `key` is good no longer; forgets it when `closed` resolves. */
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

  /** Looks one key up now. Never rejects: a look-up that fails says nothing about the key. */
  async check(keyId: string): Promise<void> {
    const guarded = this.#byKeyId.get(keyId)
    if (guarded === undefined) return
    try {
      if ((await this.#authenticate(guarded.key)) !== null) return
    } catch (error) {
      this.#log.warn({ err: error, key_id: keyId }, 'a key in use could not be looked up')
      return
    }
    const ends = [...guarded.ends]
    if (this.#byKeyId.get(keyId) === guarded) this.#forget(keyId)
    for (const end of ends) end()
  }

  async #checkAll(): Promise<void> {
    // A set of keys may change while it is walked: those that come are asked too, those that go are not.
    for (const keyId of this.#byKeyId.keys()) await this.check(keyId)
  }

  #forget(keyId: string): void {
    this.#byKeyId.delete(keyId)
    if (this.#byKeyId.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
