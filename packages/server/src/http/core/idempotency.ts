/**
 * `Idempotency-Key`: a request that is sent again with its key gets the answer of the first one.
 *
 * Invariants
 *   K1. The key is stored before the request takes effect, and the answer before it is sent.
 *   K2. A request is carried out again only if it is known that the first one changed nothing.
 *   K3. A key belongs to one user, one role, and one method, path, query and body.
 *
 * Source: decisions.md, Retried requests.
 */
import { createHash } from 'node:crypto'
import type { Actor } from '../../conversation/index.ts'
import type { Log } from '../../observability/index.ts'
import type { Cipher } from '../../secrets/index.ts'
import type { IdempotencyStore, KeyedRequest } from '../../storage/index.ts'
import { InvalidInput } from '../input/validation.ts'
import { type Answer, answeredBefore, OUTCOME_UNKNOWN, STILL_AT_WORK, tookEffect } from './errors.ts'

/** Milliseconds for which a key is remembered. */
const KEPT_MS = 24 * 3600 * 1000
/** Requests remembered for one user, and bytes of their sealed answers; the oldest are forgotten first. */
const KEPT = { atMost: 1000, maxBytes: 64 * 1024 * 1024 }
/** Bytes of an answer; of a longer one only the fact is stored that the request took effect. */
const MAX_ANSWER_BYTES = 512 * 1024
/** Requests of one user between two removals of the oldest. */
const PRUNE_EVERY = 50
/** Milliseconds between two removals of expired answers. */
const EXPIRE_EVERY_MS = 3600 * 1000

const HEADER = 'Idempotency-Key'
const SYNTAX = /^[\x21-\x7e]{1,255}$/

type IdempotencyDeps = {
  store: IdempotencyStore
  cipher: Pick<Cipher, 'seal' | 'open'>
  log: Pick<Log, 'warn'>
  now?: () => Date
}

/** An answer that continues after its headers. */
type Streamed = { stream: unknown }
/** A request with the header. `url`: path and query as they were sent. */
type Keyed = { key: string; actor: Actor; method: string; url: string; body: Buffer | undefined }

/** Runs requests that carry an `Idempotency-Key`. One object for each store. */
export class IdempotentRequests implements Disposable {
  readonly #deps: IdempotencyDeps
  readonly #now: () => Date
  /** Digests of the requests that this process carries out, by user and key. */
  readonly #active = new Map<string, string>()
  /** Requests begun by each user since the start of the process. */
  readonly #begun = new Map<string, number>()
  readonly #timer: NodeJS.Timeout

  constructor(deps: IdempotencyDeps) {
    this.#deps = deps
    this.#now = deps.now ?? (() => new Date())
    this.#timer = setInterval(() => void this.expire(), EXPIRE_EVERY_MS).unref()
  }

  /**
   * The answer to a request: the stored one, or that of `perform`, which must not reject.
   * @param closing aborts when the server closes, which makes the outcome of an unfinished request unknown
   * @throws InvalidInput for a malformed key, and for the key of another request; ParleyError `unavailable` of the store
   */
  async answer<S extends Streamed>(
    request: Keyed,
    perform: () => Promise<Answer | S>,
    closing: AbortSignal,
  ): Promise<Answer | S> {
    const { store } = this.#deps
    const { key } = request
    const { user } = request.actor
    if (!SYNTAX.test(key)) throw refused(key, MALFORMED)
    const digest = digestOf(request)
    const place = JSON.stringify([user, key])
    const since = new Date(this.#now().getTime() - KEPT_MS).toISOString()
    const earlier = await store.get(user, key, since)
    const active = this.#active.get(place)
    if ((active ?? earlier?.digest ?? digest) !== digest) throw refused(key, OF_ANOTHER)
    if (active !== undefined) return STILL_AT_WORK
    if (earlier !== null) return this.#replay(earlier)
    this.#active.set(place, digest)
    try {
      if (!(await store.begin(user, key, { digest, at: this.#now().toISOString(), since }))) return STILL_AT_WORK
      this.#prune(user)
      const answer = await perform()
      await this.#end(user, key, answer, closing.aborted)
      return answer
    } finally {
      this.#active.delete(place)
    }
  }

  /** Deletes expired answers, which may contain secrets. Never rejects. */
  async expire(): Promise<void> {
    const before = new Date(this.#now().getTime() - KEPT_MS).toISOString()
    try {
      while ((await this.#deps.store.expire(before)) > 0) {
        // Each slice is a transaction of its own, so that other writes are not held up.
      }
    } catch (err) {
      this.#deps.log.warn({ err }, 'expired answers not removed')
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  #replay({ state, sealed }: KeyedRequest): Answer {
    if (state === 'begun') return OUTCOME_UNKNOWN
    return answeredBefore(sealed === null ? null : this.#opened(sealed))
  }

  /** Null when the key of the store was replaced. */
  #opened(sealed: string): Answer | null {
    try {
      return JSON.parse(this.#deps.cipher.open(sealed)) as Answer
    } catch (err) {
      this.#deps.log.warn({ err }, 'stored answer not readable')
      return null
    }
  }

  /** Stores the outcome. When that fails, the request stays begun, so its outcome is unknown to those that follow. */
  async #end(user: string, key: string, answer: Answer | Streamed, isClosing: boolean): Promise<void> {
    const { store, cipher, log } = this.#deps
    try {
      const effect = tookEffect(answer, isClosing)
      if (effect === false) await store.forget(user, key)
      if (effect !== true) return
      const text = 'stream' in answer ? null : JSON.stringify(answer)
      const isKept = text !== null && Buffer.byteLength(text) <= MAX_ANSWER_BYTES
      await store.answered(user, key, isKept ? cipher.seal(text) : null)
    } catch (err) {
      log.warn({ user, err }, 'outcome of a request with an Idempotency-Key not stored')
    }
  }

  /** Forgets the oldest requests of a user from time to time, without holding up the request. */
  #prune(user: string): void {
    const begun = this.#begun.get(user) ?? 0
    this.#begun.set(user, begun + 1)
    if (begun % PRUNE_EVERY > 0) return
    const { store, log } = this.#deps
    store.prune(user, KEPT).catch((err: unknown) => log.warn({ user, err }, 'oldest answers not removed'))
  }
}

/** The role is a part of it: an answer must not reach a key that may not make the request. */
function digestOf({ actor, method, url, body }: Keyed): string {
  const digest = createHash('sha256').update(`${actor.role} ${method} ${url}\n`)
  return digest.update(body ?? '').digest('hex')
}

const MALFORMED = 'must have 1 to 255 visible ASCII characters; send a new random UUID'
const OF_ANOTHER =
  'belongs to another request; repeat that one with the same method, path, query and body, or send this one with a new key'

const refused = (input: string, why: string): InvalidInput =>
  new InvalidInput([
    {
      type: 'value_error',
      loc: ['header', HEADER],
      msg: `Value error, the ${HEADER} ${why}`,
      input,
      ctx: { error: {} },
    },
  ])
