/**
 * Makes images smaller, one after the other, each in a worker thread of its own.
 *
 * Invariants
 *   S1. The number of pixels is checked before anything is decoded, and time and memory of the worker have limits.
 *   S2. The same image gives the same result, also after a restart. Results are kept within a limit, so that a conversation pays once.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { abortable, timeoutSignal } from '../../lib/index.ts'
import type { ImageFacts } from './file-facts.ts'
import { SENT_BYTES, SENT_SIDE } from './limits.ts'
import type { ShrinkJob, ShrinkResult } from './shrink-worker.ts'

/** Pixels of the largest image that is decoded; each needs about twenty bytes of memory. */
export const MAX_PIXELS = 25_000_000
/** Characters of base64 of the largest image that is decoded. */
const MAX_CHARS = 28 * 1024 * 1024
/** Milliseconds for one image; a large one takes seconds on a busy machine. */
const TIMEOUT_MS = 30_000
/** Characters of results in memory. */
const MAX_KEPT_CHARS = 32 * 1024 * 1024
/** What an entry without a result counts. */
const ENTRY_CHARS = 1000

type Kept = { result: Promise<ShrinkResult | null>; chars: number }

export class ImageShrinker {
  readonly #kept = new Map<string, Kept>()
  #chars = 0
  #last: Promise<unknown> = Promise.resolve()
  readonly #closing = new AbortController()

  /**
   * Resolves with a form of the image that every vendor accepts; null when there is none.
   * @param data plain base64
   * @throws the signal's reason when aborted; the work itself continues for others that wait for it.
   */
  shrink(data: string, facts: ImageFacts, signal: AbortSignal): Promise<ShrinkResult | null> {
    if (facts.width * facts.height > MAX_PIXELS || data.length > MAX_CHARS) return Promise.resolve(null)
    const key = createHash('sha256').update(data).digest('base64')
    const known = this.#kept.get(key)
    const kept = known ?? { result: this.#next(data, facts), chars: 0 }
    // The newest entry is the last one to be dropped.
    this.#kept.delete(key)
    this.#kept.set(key, kept)
    if (known === undefined)
      kept.result.then(
        (result) => this.#count(key, kept, result),
        () => this.#kept.delete(key),
      )
    return abortable(kept.result, signal)
  }

  [Symbol.dispose](): void {
    this.#closing.abort(new Error('the server is closing'))
    this.#kept.clear()
  }

  #next(data: string, { type, orientation }: ImageFacts): Promise<ShrinkResult | null> {
    const job: ShrinkJob = { data, type, orientation, bytes: SENT_BYTES, side: SENT_SIDE }
    const result = this.#last.then(() => run(job, this.#closing.signal))
    this.#last = result.catch(() => undefined)
    return result
  }

  #count(key: string, kept: Kept, result: ShrinkResult | null): void {
    if (this.#kept.get(key) !== kept) return
    kept.chars = ENTRY_CHARS + (result?.data.length ?? 0)
    this.#chars += kept.chars
    for (const [oldest, { chars }] of this.#kept) {
      if (this.#chars <= MAX_KEPT_CHARS) return
      this.#kept.delete(oldest)
      this.#chars -= chars
    }
  }
}

/** Null when the image cannot be decoded within the limits. */
async function run(workerData: ShrinkJob, closing: AbortSignal): Promise<ShrinkResult | null> {
  closing.throwIfAborted()
  const late = timeoutSignal(TIMEOUT_MS)
  // The streams are not passed on: a library that fails may write about the image.
  const worker = new Worker(new URL('./shrink-worker.ts', import.meta.url), {
    workerData,
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  })
  worker.unref()
  try {
    const [result] = (await once(worker, 'message', { signal: AbortSignal.any([closing, late]) })) as [
      ShrinkResult | null,
    ]
    return result
  } catch (error) {
    if (late.aborted || (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY') return null
    throw error
  } finally {
    await worker.terminate()
  }
}
