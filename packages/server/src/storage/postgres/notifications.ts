/**
 * Messages between nodes, by LISTEN and NOTIFY on a connection of their own. A NOTIFY holds a lock of the whole database until its commit, so it
 * never runs in the transaction of an append, and a node sends at most one in 50 ms.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { NodeNumber } from '../contract/nodes.ts'
import type { Notifications } from '../contract/shared.ts'
import { explained } from './failures.ts'
import { Session } from './session.ts'

export type NotificationOptions = {
  url: string
  /** Host, port and name of the database, for messages. */
  name: string
  node: NodeNumber
  /** Milliseconds between signs of life of the connection; each is answered within this time. Default 5,000. */
  pingMs?: number
}

const CHANNEL = 'parley'
const PING_MS = 5_000
/** Milliseconds between two messages of a node. */
const EVERY_MS = 50
const RECONNECT_AFTER_MS: readonly number[] = [20, 100, 300, 1_000]
/** The server allows 8,000 bytes. */
const MAX_BYTES = 7_500
/** Subjects of one topic that wait; more become one message about all of them. */
const MAX_SUBJECTS = 500
/** Messages in one NOTIFY: `[number of the sender, [topic, subject], …]`. */
const SEND_SQL = `SELECT pg_notify('${CHANNEL}', $1)`
const LISTEN_SQL = `LISTEN ${CHANNEL}`
const SETTINGS_SQL = `SELECT set_config('idle_session_timeout', '0', false)`

/** @throws ParleyError `unavailable` */
export async function openNotifications(options: NotificationOptions): Promise<Notifications> {
  const notifications = new PostgresNotifications(options)
  try {
    await notifications.start()
  } catch (error) {
    throw explained(error, options.name)
  }
  return notifications
}

type OnMessage = (topic: string, subject: string | null) => void

class PostgresNotifications implements Notifications {
  readonly #options: NotificationOptions
  readonly #ending = new AbortController()
  readonly #onMessage = new Set<OnMessage>()
  readonly #onMissed = new Set<() => void>()
  /** Subjects by topic. */
  #waiting = new Map<string, Set<string | null>>()
  #session: Session | null = null
  #sending: Promise<void> | null = null
  #sentAt = -Infinity
  #keeping: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: NotificationOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    this.#begin(await this.#connect())
    this.#timer = setInterval(() => void this.#query('SELECT 1'), this.#options.pingMs ?? PING_MS)
    this.#timer.unref()
  }

  send(topic: string, subject: string | null): void {
    const subjects = this.#waiting.get(topic) ?? new Set()
    this.#waiting.set(topic, subjects)
    if (subject === null || subjects.size >= MAX_SUBJECTS) {
      subjects.clear()
      subjects.add(null)
    } else if (!subjects.has(null)) subjects.add(subject)
    this.#sending ??= this.#sendSoon()
  }

  async flush(): Promise<void> {
    await this.#sendNow()
  }

  onMessage(listener: OnMessage): Disposable {
    this.#onMessage.add(listener)
    return { [Symbol.dispose]: () => void this.#onMessage.delete(listener) }
  }

  onMissed(listener: () => void): Disposable {
    this.#onMissed.add(listener)
    return { [Symbol.dispose]: () => void this.#onMissed.delete(listener) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.#sendNow()
    this.#ending.abort()
    const session = this.#session
    this.#session = null
    await session?.end()
    await this.#keeping
    await this.#sending
  }

  async #sendSoon(): Promise<void> {
    const wait = this.#sentAt + EVERY_MS - performance.now()
    // Messages of this turn of the event loop are one.
    await sleep(Math.max(0, wait), undefined, { signal: this.#ending.signal }).catch(() => undefined)
    this.#sending = null
    await this.#sendNow()
  }

  /** Without a connection, the messages wait for the next one. */
  async #sendNow(): Promise<void> {
    if (this.#session === null || this.#waiting.size === 0) return
    const waiting = this.#waiting
    this.#waiting = new Map()
    this.#sentAt = performance.now()
    const messages = [...waiting].flatMap(([topic, subjects]) =>
      [...subjects].map((subject) => [topic, subject] as const),
    )
    for (const payload of payloadsOf(this.#options.node, messages)) await this.#query(SEND_SQL, payload)
  }

  async #query(text: string, ...values: string[]): Promise<void> {
    const session = this.#session
    await session?.query(text, ...values).catch(() => session.destroy())
  }

  async #connect(): Promise<Session> {
    const { url, node, pingMs = PING_MS } = this.#options
    const session = await Session.open({ url, name: `parley notifications ${node}`, deadlineMs: pingMs })
    try {
      session.onNotification((payload) => this.#receive(payload))
      await session.query(SETTINGS_SQL)
      await session.query(LISTEN_SQL)
      return session
    } catch (error) {
      session.destroy()
      throw error
    }
  }

  #begin(session: Session): void {
    this.#session = session
    void session.ended.then(() => {
      if (this.#session !== session) return
      this.#session = null
      if (!this.#ending.signal.aborted) this.#keeping = this.#again()
    })
  }

  async #again(): Promise<void> {
    const { signal } = this.#ending
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const wait = RECONNECT_AFTER_MS[Math.min(attempt, RECONNECT_AFTER_MS.length - 1)]!
      await sleep(wait, undefined, { signal, ref: false }).catch(() => undefined)
      if (signal.aborted) return
      const session = await this.#connect().catch(() => null)
      if (session === null) continue
      if (signal.aborted) return session.end()
      this.#begin(session)
      for (const listener of this.#onMissed) listener()
      return this.#sendNow()
    }
  }

  #receive(payload: string): void {
    const [from, ...messages] = JSON.parse(payload) as [NodeNumber, ...[string, string | null][]]
    if (from === this.#options.node) return
    for (const [topic, subject] of messages) for (const listener of this.#onMessage) listener(topic, subject)
  }
}

/** Messages as texts that one NOTIFY each can carry. */
function payloadsOf(node: NodeNumber, messages: readonly (readonly [string, string | null])[]): string[] {
  const payloads: string[] = []
  let text = ''
  for (const message of messages) {
    const item = JSON.stringify(message)
    if (text !== '' && Buffer.byteLength(text) + Buffer.byteLength(item) > MAX_BYTES) {
      payloads.push(`[${node}${text}]`)
      text = ''
    }
    text += `,${item}`
  }
  return [...payloads, `[${node}${text}]`]
}
