/**
 * One connection that is a session of its own: its locks, settings and subscriptions are those of one backend of the server. Each question has
 * a deadline of the client, because a server that is gone answers nothing.
 */
import { Socket } from 'node:net'
import pg from 'pg'
import { QueryFailure } from './failures.ts'

/** Longest time, in milliseconds, for an orderly end. */
const END_MS = 1_000

export type SessionOptions = {
  url: string
  /** As the server shows it. */
  name: string
  /** Milliseconds for connecting and for each answer. */
  deadlineMs: number
}

export class Session {
  readonly #client: pg.Client
  readonly #socket: Socket
  readonly #deadlineMs: number
  readonly #ended = Promise.withResolvers<void>()

  private constructor({ url, name, deadlineMs }: SessionOptions) {
    this.#deadlineMs = deadlineMs
    this.#socket = new Socket()
    this.#client = new pg.Client({
      connectionString: url,
      application_name: name,
      connectionTimeoutMillis: deadlineMs,
      keepAlive: true,
      stream: () => this.#socket,
    })
    // What follows from the end of a connection is at `ended`.
    this.#client.on('error', () => undefined)
    this.#client.on('end', () => this.#ended.resolve())
    this.#socket.on('close', () => this.#ended.resolve())
  }

  /** @throws QueryFailure */
  static async open(options: SessionOptions): Promise<Session> {
    const session = new Session(options)
    try {
      await session.#inTime(session.#client.connect())
    } catch (error) {
      session.destroy()
      throw new QueryFailure(error)
    }
    return session
  }

  /** Resolves when the connection has ended, whatever the reason is. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  /** Runs one statement. The connection is broken when the answer is late. @throws QueryFailure */
  async query<Row>(text: string, ...values: (string | number | null)[]): Promise<Row[]> {
    try {
      return (await this.#inTime(this.#client.query(text, values))).rows as Row[]
    } catch (error) {
      throw new QueryFailure(error)
    }
  }

  onNotification(listener: (payload: string) => void): void {
    this.#client.on('notification', ({ payload }) => listener(payload ?? ''))
  }

  /** Breaks the connection at once, also when the server does not answer. */
  destroy(): void {
    this.#socket.destroy()
    this.#ended.resolve()
  }

  /** Ends the session in an orderly way, or breaks the connection when that takes too long. */
  async end(): Promise<void> {
    await this.#inTime(this.#client.end(), Math.min(END_MS, this.#deadlineMs)).catch(() => undefined)
    this.destroy()
  }

  async #inTime<T>(answer: Promise<T>, deadlineMs = this.#deadlineMs): Promise<T> {
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      late.reject(new Error(`no answer within ${deadlineMs} ms`))
      this.destroy()
    }, deadlineMs)
    try {
      return await Promise.race([answer, late.promise])
    } finally {
      clearTimeout(timer)
      // It may reject after the deadline.
      answer.catch(() => undefined)
    }
  }
}
