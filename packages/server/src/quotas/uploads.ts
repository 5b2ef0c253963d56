import type { UsageStore } from '../storage/index.ts'
import type { LimitsOf } from './limits.ts'
import { tooLarge, tooMuch } from './refusal.ts'

const DAY_MS = 24 * 3600 * 1000

/** Bytes that arrived on one day, numbered from 1970, of uploads that may not have ended. */
type Day = { number: number; bytes: number }

/** Limits of the bytes of one upload, and of those of a day in UTC. */
export class Uploads {
  readonly #limits: LimitsOf
  readonly #usage: UsageStore
  readonly #now: () => Date
  readonly #days = new Map<string, Promise<Day>>()

  constructor(limits: LimitsOf, usage: UsageStore, now: () => Date) {
    this.#limits = limits
    this.#usage = usage
    this.#now = now
  }

  /**
   * The pieces of an upload, counted. Their sum is stored before the reader gets to the end, so that no file is complete uncounted;
   * that of an upload that is cut off is stored, too.
   * @throws ParleyError `too_large`, `rate_limited`
   */
  async *counted(user: string, pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    const { upload_bytes: most, upload_bytes_per_day: mostOfDay } = this.#limits(user)
    let bytes = 0
    const count = async (more: number) => {
      bytes += more
      const day = await this.#today(user)
      day.bytes += more
      if (bytes > most) throw tooLarge('upload_bytes', most)
      if (day.bytes > mostOfDay) throw this.#dayIsFull(mostOfDay, day.bytes)
    }
    try {
      await count(0)
      for await (const piece of pieces) {
        await count(piece.length)
        yield piece
      }
    } finally {
      if (bytes > 0) await this.#usage.addUpload(user, this.#now(), bytes)
    }
  }

  /** The count of the day, read from the store at most once a day. */
  async #today(user: string): Promise<Day> {
    const now = this.#now()
    const number = Math.floor(now.getTime() / DAY_MS)
    const known = this.#days.get(user)
    if (known !== undefined) {
      const day = await known
      if (day.number === number || this.#days.get(user) !== known) return day
    }
    const read = this.#usage.of(user, now).then(({ uploaded_bytes }) => ({ number, bytes: uploaded_bytes }))
    this.#days.set(user, read)
    read.catch(() => this.#days.delete(user))
    return read
  }

  #dayIsFull(limit: number, used: number) {
    const retryAfterSeconds = Math.ceil((DAY_MS - (this.#now().getTime() % DAY_MS)) / 1000)
    return tooMuch({ name: 'upload_bytes_per_day', limit, used, retryAfterSeconds })
  }
}
