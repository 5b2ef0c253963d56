/**
 * A running external agent and the protocol with it. The library pairs requests with answers; updates are taken out of the
 * stream before it, so that they are heard in order and none comes after the answer that it preceded.
 */
import type { ClientContext, Stream } from '@agentclientprotocol/sdk'
import { ParleyError } from '@parley/protocol'
import { abortable, sleep } from '../../lib/index.ts'
import type { Process, Workspace } from '../../workspace/index.ts'
import type { Log } from '../gateway.ts'
import { AcpFailure } from './failure.ts'
import { messageIn, readLines, type Message } from './lines.ts'

/** Characters of one line of noise that are logged. */
const MAX_LOGGED_CHARS = 4000
/** Milliseconds between the end of a program and the end of what it said, whichever is first. */
const LAST_WORDS_MS = 1000
const STILL_THERE = { exit_code: null, signal: null }
/** Milliseconds that the program gets to end by itself once its input is closed. */
const CLOSE_MS = 5000

export type Update = { sessionId: string; update: Record<string, unknown> & { sessionUpdate: string } }

export type PermissionRequest = {
  sessionId: string
  toolCall: Record<string, unknown> & { toolCallId: string }
  options: { optionId: string; name: string; kind: string }[]
}
export type PermissionAnswer = { outcome: { outcome: 'cancelled' } | { outcome: 'selected'; optionId: string } }

/** Who hears what the agent says of its own accord. */
export type Listener = {
  onUpdate(update: Update): void
  onPermission(request: PermissionRequest, signal: AbortSignal): Promise<PermissionAnswer>
}

export type ConnectionDeps = {
  workspace: Pick<Workspace, 'spawn'>
  /** Takes secret values out of what is logged. */
  redacted: (text: string) => string
  log: Log
}

export class Connection implements AsyncDisposable {
  readonly pid: number
  readonly #process: Process
  readonly #context: ClientContext
  readonly #closed: AbortSignal
  readonly #end: (error: unknown) => void
  #over: Promise<void> | null = null

  private constructor(process: Process, context: ClientContext, closed: AbortSignal, end: (error: unknown) => void) {
    this.pid = process.pid
    this.#process = process
    this.#context = context
    this.#closed = closed
    this.#end = end
  }

  /** Starts the program and speaks to it; nothing has been said yet. @throws AcpFailure `ACPSpawnError`. */
  static async open(
    { argv, env }: { argv: readonly string[]; env: Readonly<Record<string, string>> },
    listener: Listener,
    { workspace, redacted, log }: ConnectionDeps,
    signal: AbortSignal,
  ): Promise<Connection> {
    const { client, RequestError } = await import('@agentclientprotocol/sdk')
    const process = await workspace.spawn({ argv, env }, signal).catch((error: unknown) => {
      if (signal.aborted || !(error instanceof ParleyError)) throw error
      throw new AcpFailure('ACPSpawnError', `The agent could not be started: ${error.message}`, error)
    })
    const noise = (stream: string) => (line: string) => {
      if (line.trim() !== '')
        log.warn({ stream, line: redacted(line.slice(0, MAX_LOGGED_CHARS)) }, 'the external agent wrote')
    }
    const app = client({ name: 'parley' })
      .onRequest('session/request_permission', raw, async ({ params, signal: own }) =>
        listener.onPermission(params as PermissionRequest, own),
      )
      .onRequest('*', ({ method }) => {
        // Extensions are optional by definition; what was not offered is refused by name.
        if (method.startsWith('_')) return {}
        throw RequestError.methodNotFound(method)
      })
      .onNotification('*', () => undefined)
    const connection = app.connect({
      readable: readable(process, listener, noise('stdout')),
      writable: writable(process),
    } as Stream)
    readLines(process.stderr, noise('stderr')).catch(() => undefined)
    // What it had said before is heard first; a child of it may hold its output open for longer.
    const onExit = async () => {
      const exit = await process.exited
      await sleep(LAST_WORDS_MS, new AbortController().signal)
      connection.close(ended(exit))
    }
    onExit().catch(() => undefined)
    return new Connection(process, connection.agent, connection.signal, (error) => connection.close(error))
  }

  get isOpen(): boolean {
    return !this.#closed.aborted
  }

  /** Aborts when nothing more can be said. */
  get closed(): AbortSignal {
    return this.#closed
  }

  /**
   * Asks the agent. An abort ends the waiting and tells the agent that nobody waits.
   * @throws the agent's own error (with a numeric `code`), AcpFailure when it has ended, the signal's reason.
   */
  async request(method: string, params: object, signal: AbortSignal): Promise<Record<string, unknown>> {
    signal.throwIfAborted()
    try {
      const options = { cancellationSignal: signal, stopWaitingOnCancel: true }
      const answer: unknown = await this.#context.request<unknown, object>(method, params, options)
      return typeof answer === 'object' && answer !== null ? (answer as Record<string, unknown>) : {}
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (this.#closed.aborted) throw this.#closed.reason ?? error
      throw error
    }
  }

  /** Tells the agent; an agent that has ended hears nothing. */
  async notify(method: string, params: object): Promise<void> {
    await this.#context.notify<object>(method, params).catch(() => undefined)
  }

  /** Ends the program and everything that it started; safe to call twice. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#over ??= this.#close()
    return this.#over
  }

  async #close(): Promise<void> {
    this.#end(new AcpFailure('ACPPromptError', 'The agent was closed.'))
    // A program that ends by itself may leave children in its group; they go with it.
    const late = setTimeout(() => void this.#process.kill('SIGKILL').catch(() => undefined), CLOSE_MS)
    try {
      await this.#process[Symbol.asyncDispose]()
    } catch {
      // The runner is gone, and the program with it.
    }
    clearTimeout(late)
  }
}

const raw = (params: unknown): unknown => params

function ended({ exit_code, signal }: { exit_code: number | null; signal: string | null }): AcpFailure {
  const how = signal !== null ? `by ${signal}` : exit_code === null ? '' : `with exit code ${exit_code}`
  return new AcpFailure('ACPPromptError', `The agent's process ended ${how}`.trimEnd() + '.')
}

function readable(process: Process, listener: Listener, noise: (line: string) => void): ReadableStream<unknown> {
  let isOpen = true
  return new ReadableStream<unknown>({
    start(controller) {
      const fail = (error: unknown) => {
        if (isOpen) controller.error(error)
        isOpen = false
      }
      readLines(process.stdout, (line) => {
        const message = messageIn(line)
        if (!isOpen) return
        if (message === null) noise(line)
        else if (isUpdate(message)) listener.onUpdate(message.params as Update)
        else controller.enqueue(message)
      })
        .then(async () =>
          fail(ended(await abortable(process.exited, AbortSignal.timeout(LAST_WORDS_MS)).catch(() => STILL_THERE))),
        )
        .catch(fail)
    },
    cancel() {
      isOpen = false
    },
  })
}

function isUpdate({ method, id, params }: Message): boolean {
  if (method !== 'session/update' || id !== undefined) return false
  const { update } = (params ?? {}) as Partial<Update>
  return typeof update === 'object' && update !== null
}

function writable(process: Process): WritableStream<unknown> {
  const writer = process.stdin.getWriter()
  const encoder = new TextEncoder()
  return new WritableStream<unknown>({
    write: (message) => writer.write(encoder.encode(`${JSON.stringify(message)}\n`)),
    // The program's input stays open until the program is closed.
    close: () => undefined,
  })
}
