import type { Log } from '../log.ts'

/** A place outside of the store to which audit records are copied. */
export interface AuditSink {
  /** Queues a record of plain JSON members; never throws and never waits. */
  write(record: object): void
  /** Delivers what is queued, for at most two seconds. Never rejects. */
  close(): Promise<void>
}

/** Records of one delivery. */
const BATCH = 500
/** Records kept while the place cannot be written; beyond that, the oldest are dropped and counted. */
const MAX_WAITING = 10_000
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [1000, 60_000]
const CLOSE_MS = 2000

/** Delivers records in order and repeats a delivery that fails, so that a record may arrive twice. */
export class SinkQueue implements AuditSink {
  readonly #name: string
  readonly #deliver: (records: readonly object[]) => Promise<void>
  readonly #log: Log
  #waiting: object[] = []
  /** Records of the current delivery, which is repeated until it succeeds. */
  #batch: object[] = []
  #lost = 0
  #isFailing = false
  #waitMs = FIRST_WAIT_MS
  #running: Promise<void> | null = null
  #wake: (() => void) | null = null
  #isClosing = false

  /** @param name for log lines, such as the path of a file */
  constructor(name: string, deliver: (records: readonly object[]) => Promise<void>, log: Log) {
    this.#name = name
    this.#deliver = deliver
    this.#log = log
  }

  write(record: object): void {
    this.#waiting.push(record)
    if (this.#waiting.length > MAX_WAITING) {
      this.#waiting.shift()
      this.#lost += 1
    }
    this.#running ??= this.#run()
  }

  async close(): Promise<void> {
    this.#isClosing = true
    this.#wake?.()
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, CLOSE_MS)
    await Promise.race([this.#running ?? Promise.resolve(), late])
    clearTimeout(timer)
    const records = this.#batch.length + this.#waiting.length
    if (records > 0) this.#log.error({ sink: this.#name, records }, 'audit records not delivered before the stop')
  }

  async #run(): Promise<void> {
    while (this.#batch.length > 0 || this.#waiting.length > 0) {
      if (this.#batch.length === 0) {
        const about = this.#lost === 0 ? [] : [{ at: new Date().toISOString(), action: 'LOST', count: this.#lost }]
        this.#lost = 0
        this.#batch = [...about, ...this.#waiting.splice(0, BATCH)]
      }
      try {
        await this.#deliver(this.#batch)
        this.#batch = []
        this.#works()
      } catch (error) {
        this.#failed(error)
        if (this.#isClosing) break
        await this.#pause()
      }
    }
    this.#running = null
  }

  /** Reported once until it works again. */
  #failed(error: unknown): void {
    if (!this.#isFailing) this.#log.error({ sink: this.#name, err: error }, 'audit sink failed; it is tried again')
    this.#isFailing = true
  }

  #works(): void {
    if (this.#isFailing) this.#log.info({ sink: this.#name }, 'audit sink works again')
    this.#isFailing = false
    this.#waitMs = FIRST_WAIT_MS
  }

  async #pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    const timer = setTimeout(resolve, this.#waitMs).unref()
    await promise
    clearTimeout(timer)
    this.#wake = null
    this.#waitMs = Math.min(this.#waitMs * 2, LONGEST_WAIT_MS)
  }
}
