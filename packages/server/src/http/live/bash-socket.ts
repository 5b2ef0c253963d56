/** The socket of commands outside a conversation: `/sockets/bash-events`. Source: agent-server-wire.md 2.1, 2.2, 2.5. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  type BashError,
  type BashEvent,
  eventTimestamp,
  ExecuteBashRequest,
  laxConversationId,
  ParleyError,
} from '@parley/protocol'
import type { Actor } from '../../conversation/index.ts'
import type { Log } from '../../observability/index.ts'
import type { Quotas } from '../../quotas/index.ts'
import type { AuditLog } from '../../storage/index.ts'
import { toAnswer } from '../core/errors.ts'
import type { Bash } from '../../workspace/index.ts'
import { read } from '../input/validation.ts'
import { isIntroduction } from './first-frame.ts'
import { failuresOf, readJsonFrame } from './json-frame.ts'
import type { Forwarding } from '../forward/forwarding.ts'
import { relaySocket } from '../forward/socket-relay.ts'
import type { Client, Handshakes, Purpose } from './handshake.ts'
import type { SocketConnection } from './socket-connection.ts'
import { textFrame } from './text-frame.ts'
import { upgradeUrl } from './upgrade-url.ts'

export type BashSocketDeps = {
  bash: Bash
  forwarding: Forwarding
  handshakes: Handshakes
  log: Log
  touch: () => void
  /** Largest frame of a client, in bytes. */
  frameLimitBytes: number
  audit: AuditLog
  /** Counts frames as requests of their user. */
  requests: Quotas['requests']
}

/** Action in the audit log for a command over a socket. */
const ACTION = 'COMMAND /sockets/bash-events'

/** Source: agent-server-wire.md 10.1. Per user, because users do not see each other's commands. */
const MAX_SOCKETS = 50
const PAGE = 100
/** Largest number of unsent bytes. A slower reader is disconnected; it can reconnect and search. */
const HIGH_WATER_BYTES = 16 * 1024 * 1024

/** Commands belong to the machine, and a key that may only read reaches conversations alone. */
const WRITERS_ONLY = { code: 4003, reason: 'This key may only read conversations' } as const
/** This server runs on several machines. */
const NAME_A_MACHINE = { code: 4009, reason: 'Name a machine with conversation_id in the address' } as const
const NOT_FOUND = { code: 4004, reason: 'Conversation not found' } as const
const TOO_MANY = { code: 1013, reason: 'Too many connections' } as const
const TOO_SLOW = { code: 1013, reason: 'Too slow' } as const
const FAILED = { code: 1011, reason: 'Internal Server Error' } as const

export class BashSockets {
  readonly #deps: BashSocketDeps
  readonly #perUser = new Map<string, number>()

  constructor(deps: BashSocketDeps) {
    this.#deps = deps
  }

  /** True for an upgrade request to this socket. */
  static isFor(request: IncomingMessage): boolean {
    return /^\/sockets\/bash-events\/?(?:\?|$)/.test(request.url ?? '')
  }

  /** Answers an upgrade request with a socket or a bare 403. Never rejects. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const all = resendsAll(upgradeUrl(request).searchParams)
    const { handshakes, frameLimitBytes } = this.#deps
    const purpose: Purpose | null =
      all === null
        ? null
        : { serve: (connection, client) => this.#serveAtMachine(connection, all, client, request), frameLimitBytes }
    await handshakes.answer(request, socket, head, purpose)
  }

  /** Where several nodes share the store, a conversation in the query names the machine. */
  async #serveAtMachine(
    connection: SocketConnection,
    all: boolean,
    client: Client,
    request: IncomingMessage,
  ): Promise<void> {
    const { forwarding, log } = this.#deps
    if (forwarding.isShared) {
      const id = laxConversationId().safeParse(upgradeUrl(request).searchParams.get('conversation_id'))
      if (!id.success && !forwarding.isAlone) return connection.close(NAME_A_MACHINE)
      if (id.success && !(await forwarding.isOwn(id.data, client.actor))) return connection.close(NOT_FOUND)
      if (
        id.success &&
        (await relaySocket(connection, { id: id.data, ...client, request }, forwarding, log)) === 'ended'
      )
        return
    }
    await this.#serve(connection, all, client.actor)
  }

  async #serve(connection: SocketConnection, all: boolean, actor: Actor): Promise<void> {
    const { log } = this.#deps
    try {
      if (actor.role === 'read-only') return connection.close(WRITERS_ONLY)
      const open = this.#perUser.get(actor.user) ?? 0
      if (open >= MAX_SOCKETS) return connection.close(TOO_MANY)
      this.#perUser.set(actor.user, open + 1)
      void connection.closed.then(() => this.#leave(actor.user))
      await this.#attach(connection, all, actor)
    } catch (error) {
      if (connection.signal.aborted) return
      log.error({ err: error }, 'socket failed unexpectedly')
      connection.close(FAILED)
    }
  }

  #leave(user: string): void {
    const left = (this.#perUser.get(user) ?? 1) - 1
    if (left === 0) this.#perUser.delete(user)
    else this.#perUser.set(user, left)
  }

  /** Sends the stored events, then new ones; an event in both is sent once. */
  async #attach(connection: SocketConnection, all: boolean, actor: Actor): Promise<void> {
    const { bash } = this.#deps
    const send = (event: BashEvent | BashError) => {
      if (connection.writer.untakenBytes > HIGH_WATER_BYTES) return connection.close(TOO_SLOW)
      connection.writer.write([textFrame(JSON.stringify(event))])
    }
    let early: BashEvent[] | null = []
    const listening = bash.listen(actor.user, (event) => (early === null ? send(event) : void early.push(event)))
    void connection.closed.then(() => listening[Symbol.dispose]())
    const sent = new Set<string>()
    let page: { items: BashEvent[]; next: string | null } = { items: [], next: null }
    if (all) {
      do {
        const from = page.next === null ? {} : { from: page.next }
        page = await bash.search(actor.user, { order: 'asc', limit: PAGE, ...from })
        for (const event of page.items) {
          await connection.writer.room(connection.signal)
          send(event)
          sent.add(event.id)
        }
      } while (page.next !== null)
    }
    for (const event of early) if (!sent.has(event.id)) send(event)
    early = null
    connection.onFrame((data, isBinary) => this.#receive(actor, send, data, isBinary))
  }

  /** Handles a command of the client. Its errors are sent to this client only, and the socket stays open. */
  async #receive(actor: Actor, send: (event: BashError) => void, data: Buffer, isBinary: boolean): Promise<void> {
    const problem = (code: string, detail: string) => {
      const id = randomUUID().replaceAll('-', '')
      send({ id, timestamp: `${eventTimestamp(new Date())}Z`, code, detail, kind: 'BashError' })
    }
    const refusal = this.#deps.requests.refusalOf(actor.user)
    if (refusal !== null) return problem('ParleyError', refusal.message)
    if (isBinary) return problem('KeyError', "'text'")
    const frame = await readJsonFrame(data)
    if ('detail' in frame) return problem('JSONDecodeError', frame.detail)
    if (isIntroduction(frame.value)) return
    const request = read(ExecuteBashRequest, frame.value, [])
    if (request.value === undefined) return problem('ValidationError', failuresOf(request))
    const done = (status: number) => this.#deps.audit.note({ action: ACTION, actor, status })
    try {
      this.#deps.touch()
      await this.#deps.bash.start(actor.user, request.value)
      done(200)
    } catch (error) {
      done(toAnswer(error, this.#deps.log).status)
      if (error instanceof ParleyError) return problem('ParleyError', error.message)
      problem(error instanceof Error ? error.constructor.name : 'Error', 'Internal Server Error')
    }
  }
}

/** Null for parameters that refuse the handshake; this socket has no `since`. */
function resendsAll(query: URLSearchParams): boolean | null {
  const mode = query.get('resend_mode')
  if (mode !== null) return mode === 'all' ? true : null
  return /^(?:true|t|1|yes|y|on)$/i.test(query.get('resend_all') ?? '')
}
