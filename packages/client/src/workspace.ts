/** Commands and files of an agent server's machine. Source: agent-server-wire.md 1.7, 1.8. */
import type { BashCommand, BashOutput, ServerInfo } from '@parley/protocol'
import { call, open, type Server } from './call.ts'
import { newConversationId } from './conversation-id.ts'
import { CallError } from './errors.ts'
import * as routes from './routes.gen.ts'

export type CommandOptions = {
  /** Absolute path; default: the working directory of the server. */
  cwd?: string
  /** Seconds after which the server ends the command; default 300. */
  timeout?: number
}

export type CommandResult = {
  /** −1 when the time limit passed or the command could not be started. */
  exit_code: number
  stdout: string
  stderr: string
}

export class WorkspaceClient {
  readonly #server: Server

  constructor(server: Server) {
    this.#server = server
  }

  /** Version, tools and uptime; needs no key. */
  info(signal?: AbortSignal): Promise<ServerInfo> {
    return call(this.#server, routes.serverInfo, {}, signal)
  }

  /**
   * Runs a line of `/bin/sh` to its end. Never repeated, because the server cannot tell a repetition from a second command.
   * @throws CallError for a refusal or a missing answer; the command may still be running then.
   */
  async execute(command: string, options: CommandOptions = {}, signal?: AbortSignal): Promise<CommandResult> {
    const last = await call(this.#server, routes.executeBashCommand, { body: { command, ...options } }, signal)
    // The answer contains only the last piece of a long output.
    const pieces = last.order === 0 ? [last] : await this.outputs(last.command_id, -1, signal)
    const text = (stream: 'stdout' | 'stderr') => pieces.map((piece) => piece[stream] ?? '').join('')
    return { exit_code: last.exit_code ?? -1, stdout: text('stdout'), stderr: text('stderr') }
  }

  /** Starts a line of `/bin/sh` and resolves at once. Never repeated. */
  start(command: string, options: CommandOptions = {}, signal?: AbortSignal): Promise<BashCommand> {
    return call(this.#server, routes.startBashCommand, { body: { command, ...options } }, signal)
  }

  /** Outputs of a command after the number `after` (−1: all), in order; the last output of an ended command has its exit code. */
  async outputs(commandId: string, after: number, signal?: AbortSignal): Promise<BashOutput[]> {
    const outputs: BashOutput[] = []
    let page_id: string | null | undefined
    do {
      const query = {
        kind__eq: 'BashOutput' as const,
        command_id__eq: commandId,
        sort_order: 'TIMESTAMP' as const,
        limit: 100,
        ...(after >= 0 ? { order__gt: after } : {}),
        ...(page_id ? { page_id } : {}),
      }
      const { items, next_page_id } = await call(this.#server, routes.searchBashEvents, { query }, signal)
      for (const item of items) if (item.kind === 'BashOutput') outputs.push(item)
      page_id = next_page_id
    } while (page_id !== null)
    return outputs.toSorted((a, b) => a.order - b.order)
  }

  /** Writes a file at an absolute path; missing directories are created. */
  async upload(path: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void> {
    const request = { query: { path }, upload: multipart(bytes), isRepeatable: true }
    await call(this.#server, routes.uploadFile, request, signal)
  }

  /** Creates a directory and its missing parents. */
  async createDirectory(path: string, signal?: AbortSignal): Promise<void> {
    await call(this.#server, routes.createDirectory, { query: { path } }, signal)
  }

  /** The bytes of a file by its absolute path. */
  async download(path: string, signal?: AbortSignal): Promise<Uint8Array> {
    const response = await open(this.#server, routes.downloadFile, { query: { path } }, signal)
    const bytes = await response.arrayBuffer().catch((cause: unknown) => {
      signal?.throwIfAborted()
      throw new CallError('the connection broke', { status: null, cause })
    })
    return new Uint8Array(bytes)
  }
}

/** One file as the only part of a form. */
function multipart(bytes: Uint8Array): { type: string; bytes: Uint8Array<ArrayBuffer> } {
  const boundary = `parley-${newConversationId()}`
  const head = new TextEncoder().encode(
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="file"\r\n` +
      'Content-Type: application/octet-stream\r\n\r\n',
  )
  const tail = new TextEncoder().encode(`\r\n--${boundary}--\r\n`)
  const body = new Uint8Array(head.length + bytes.length + tail.length)
  body.set(head, 0)
  body.set(bytes, head.length)
  body.set(tail, head.length + bytes.length)
  return { type: `multipart/form-data; boundary=${boundary}`, bytes: body }
}
