/**
 * A running external agent and the ACP connection to it. The SDK pairs requests with answers. Updates are taken out of the
 * stream before the SDK reads it, so that they arrive in order and before the answer that they preceded.
 */
import type { ClientContext, Stream } from '@agentclientprotocol/sdk'
import { ParleyError } from '@parley/protocol'
import { abortable, sleep } from '../../../lib/index.ts'
import type { Process, Workspace } from '../../../workspace/index.ts'
import type { Log } from '../../agent.ts'
import { AcpFailure } from '../failure.ts'
import { messageIn, readLines, type Message } from './lines.ts'

/** Characters that are logged of one line that is not a message. */
const MAX_LOGGED_CHARS = 4000
/** Milliseconds between the exit of the program and the end of its output, whichever comes first. */
const DRAIN_MS = 1000
const NO_EXIT = { exit_code: null, signal: null }
/** Milliseconds that the program gets to exit after its input is closed. */
const CLOSE_MS = 5000

export type Update = { sessionId: string; update: Record<string, unknown> & { sessionUpdate: string } }

export type PermissionRequest = {
  sessionId: string
  toolCall: Record<string, unknown> & { toolCallId: string }
  options: { optionId: string; name: string; kind: string }[]
}
export type PermissionAnswer = { outcome: { outcome: 'cancelled' } | { outcome: 'selected'; optionId: string } }
export const CANCELLED: PermissionAnswer = { outcome: { outcome: 'cancelled' } }

/** Receives the updates and requests that the agent sends on its own initiative. */
export type ConnectionListener = {
  onUpdate(update: Update): void
  onPermissionRequest(request: PermissionRequest, signal: AbortSignal): Promise<PermissionAnswer>
}

export type ConnectionDeps = {
  workspace: Pick<Workspace, 'spawn'>
  /** Removes secret values from a text that is logged. */
  redacted: (text: string) => string
  log: Log
}

export class Connection implements AsyncDisposable {
  readonly pid: number
  readonly #process: Process
  readonly #context: ClientContext
  readonly #closed: AbortSignal
  readonly #end: (error: unknown) => void
  #closing: Promise<void> | null = null

  private constructor(process: Process, context: ClientContext, closed: AbortSignal, end: (error: unknown) => void) {
    this.pid = process.pid
    this.#process = process
    this.#context = context
    this.#closed = closed
    this.#end = end
  }

  /** Starts the program and connects to it, without sending anything. @throws AcpFailure `ACPSpawnError`. */
  static async open(
    { argv, env }: { argv: readonly string[]; env: Readonly<Record<string, string>> },
    listener: ConnectionListener,
    { workspace, redacted, log }: ConnectionDeps,
    signal: AbortSignal,
  ): Promise<Connection> {
    const { client, RequestError } = await import('@agentclientprotocol/sdk')
    const process = await workspace.spawn({ argv, env }, signal).catch((error: unknown) => {
      if (signal.aborted || !(error instanceof ParleyError)) throw error
      throw new AcpFailure('ACPSpawnError', `The agent could not be started: ${error.message}`, error)
    })
    const logNoise = (stream: string) => (line: string) => {
      if (line.trim() !== '')
        log.warn({ stream, line: redacted(line.slice(0, MAX_LOGGED_CHARS)) }, 'output of the external agent')
    }
    const app = client({ name: 'parley' })
      .onRequest('session/request_permission', raw, async ({ params, signal: own }) =>
        listener.onPermissionRequest(params as PermissionRequest, own),
      )
      .onRequest('*', ({ method }) => {
        // Extensions are optional by definition; a method that was not offered is refused.
        if (method.startsWith('_')) return {}
        throw RequestError.methodNotFound(method)
      })
      .onNotification('*', () => undefined)
    const connection = app.connect({
      readable: readable(process, listener, logNoise('stdout')),
      writable: writable(process),
    } as Stream)
    readLines(process.stderr, logNoise('stderr')).catch(() => undefined)
    // Pending output is read first. The delay is bounded, because a child of the program may keep the output open.
    const onExit = async () => {
      const exit = await process.exited
      await sleep(DRAIN_MS, new AbortController().signal)
      connection.close(processEnded(exit))
    }
    onExit().catch(() => undefined)
    return new Connection(process, connection.agent, connection.signal, (error) => connection.close(error))
  }

  get isOpen(): boolean {
    return !this.#closed.aborted
  }

  /** Aborts when the connection is closed. */
  get closed(): AbortSignal {
    return this.#closed
  }

  /**
   * Sends a request and returns the result. An abort ends the wait and sends a cancellation to the agent.
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

  /** Sends a notification; does nothing when the agent has ended. */
  async notify(method: string, params: object): Promise<void> {
    await this.#context.notify<object>(method, params).catch(() => undefined)
  }

  /** Ends the program and everything that it started; safe to call twice. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#end(new AcpFailure('ACPPromptError', 'The agent was closed.'))
    // A program that exits by itself may leave children in its process group; they are killed too.
    const killTimer = setTimeout(() => void this.#process.kill('SIGKILL').catch(() => undefined), CLOSE_MS)
    try {
      await this.#process[Symbol.asyncDispose]()
    } catch {
      // The runner has ended, and the program with it.
    }
    clearTimeout(killTimer)
  }
}

/** Accepts any parameters; the SDK would drop unknown members. */
const raw = (params: unknown): unknown => params

function processEnded({ exit_code, signal }: { exit_code: number | null; signal: string | null }): AcpFailure {
  const how = signal !== null ? `by ${signal}` : exit_code === null ? '' : `with exit code ${exit_code}`
  return new AcpFailure('ACPPromptError', `The agent's process ended ${how}`.trimEnd() + '.')
}

function readable(
  process: Process,
  listener: ConnectionListener,
  onNoise: (line: string) => void,
): ReadableStream<unknown> {
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
        if (message === null) onNoise(line)
        else if (isUpdate(message)) listener.onUpdate(message.params as Update)
        else controller.enqueue(message)
      })
        .then(async () =>
          fail(processEnded(await abortable(process.exited, AbortSignal.timeout(DRAIN_MS)).catch(() => NO_EXIT))),
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
