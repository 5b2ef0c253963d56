/**
 * What a remote workspace asks its agent server, and how long it keeps asking.
 *
 * Invariants
 *   K1. Everything asked here may be asked twice: what has an effect is keyed by its call, on the other side.
 *   K2. Nothing waits for ever: a server that is away is asked again until the patience ends, a silent one twice.
 *   K3. The key travels in its header alone, and is in no message.
 */
import { CallError, WorkspaceClient } from '@parley/client'
import { ParleyError, type RemoteWorkspace } from '@parley/protocol'
import { backoffMs, sleep } from '../../lib/index.ts'
import { openConnections, ReadTimeout, type Connections } from './connections.ts'
import { shellLine } from './quote.ts'

/** Milliseconds that a server may be away in the middle of something. */
export const PATIENCE_MS = 60_000
/** Attempts that may end in silence. */
const SILENCES = 2
/** Answers of 500 to the same request, until it counts as refused. */
const FAILURES = 3
const BACKOFF = { baseMs: 100, maxMs: 2_000 }
/** Seconds that a script has beyond the time that it waits by itself. */
const SCRIPT_SECONDS = 60

export type LinkOptions = Pick<RemoteWorkspace, 'host' | 'api_key' | 'read_timeout' | 'max_connections'>

/** Where a request gives up. */
export type Patience = { patienceMs?: number }

export class RemoteLink implements Disposable {
  /** Scheme, host and port, for people. */
  readonly origin: string
  readonly readTimeoutMs: number
  readonly #connections: Connections
  readonly #client: WorkspaceClient

  constructor({ host, api_key, read_timeout, max_connections }: LinkOptions) {
    this.origin = new URL(host).origin
    this.readTimeoutMs = read_timeout * 1000
    this.#connections = openConnections({ readTimeoutMs: this.readTimeoutMs, maxConnections: max_connections })
    this.#client = new WorkspaceClient({
      baseUrl: host,
      ...(api_key === null ? {} : { apiKey: api_key }),
      retries: 0,
      fetch: this.#connections.fetch,
    })
  }

  /**
   * Runs a script of ours to its end; what it prints.
   * @param waitMs milliseconds that the script itself may wait
   * @throws ParleyError `unavailable`, `forbidden`, `unsupported`; so does every call below.
   */
  async run(
    script: string,
    args: readonly string[],
    signal: AbortSignal,
    { waitMs = 0, ...patience }: { waitMs?: number } & Patience = {},
  ): Promise<string> {
    const command = shellLine(['/bin/sh', '-c', script, 'parley', ...args])
    const timeout = Math.ceil(waitMs / 1000) + SCRIPT_SECONDS
    const { exit_code, stdout, stderr } = await this.#patiently(
      () => this.#client.execute(command, { timeout }, signal),
      signal,
      patience,
    )
    if (exit_code === 0) return stdout
    const said = `${stdout}${stderr}`.trim().slice(-500)
    throw new ParleyError(
      'unavailable',
      `${this.origin} could not do what a workspace needs (exit code ${exit_code}): ${said}`,
    )
  }

  /** Starts a line of `/bin/sh` that goes on by itself. */
  async start(line: string, timeoutSeconds: number, signal: AbortSignal): Promise<void> {
    await this.#patiently(() => this.#client.start(line, { timeout: timeoutSeconds }, signal), signal)
  }

  async upload(path: string, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    await this.#patiently(() => this.#client.upload(path, bytes, signal), signal)
  }

  download(path: string, signal: AbortSignal): Promise<Uint8Array> {
    return this.#patiently(() => this.#client.download(path, signal), signal)
  }

  async #patiently<T>(
    ask: () => Promise<T>,
    signal: AbortSignal,
    { patienceMs = PATIENCE_MS }: Patience = {},
  ): Promise<T> {
    const begun = performance.now()
    let silences = 0
    let failures = 0
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted()
      try {
        return await ask()
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof CallError)) throw error
        if (isSilence(error)) silences += 1
        if (error.status === 500) failures += 1
        const elapsedMs = performance.now() - begun
        const isOver = elapsedMs >= patienceMs || silences >= SILENCES || failures >= FAILURES
        if (!error.isPassing || isOver) throw this.#told(error, elapsedMs)
        await sleep(error.retryAfterMs ?? 20 + backoffMs(BACKOFF, attempt), signal)
      }
    }
  }

  /** In words for the model and for people. */
  #told(error: CallError, elapsedMs: number): ParleyError {
    const { status } = error
    const details = { host: this.origin, status }
    if (status === 401 || status === 403) {
      const message = `The agent server at ${this.origin} refused the key of this workspace (${status}). Start a conversation whose workspace has a valid api_key.`
      return new ParleyError('forbidden', message, { details: { ...details, reason: 'remote_refused' }, cause: error })
    }
    if (isSilence(error)) {
      const message = `The agent server at ${this.origin} did not answer: ${SILENCES} times nothing was heard for ${this.readTimeoutMs / 1000} s (read_timeout).`
      return new ParleyError('unavailable', message, { details: { ...details, reason: 'remote_silent' }, cause: error })
    }
    if (status === null || error.isPassing) {
      const message = `The agent server at ${this.origin} could not be reached for ${Math.round(elapsedMs / 1000)} s: ${error.message}`
      return new ParleyError('unavailable', message, { details: { ...details, reason: 'remote_away' }, cause: error })
    }
    if (status === 404) return new ParleyError('not_found', error.message, { details, cause: error })
    if (status === 400) return new ParleyError('bad_request', error.message, { details, cause: error })
    const message = `The agent server at ${this.origin} does not serve what a workspace needs: ${error.message}`
    return new ParleyError('unsupported', message, { details: { ...details, reason: 'remote_unfit' }, cause: error })
  }

  [Symbol.dispose](): void {
    this.#connections[Symbol.dispose]()
  }
}

function isSilence(error: CallError): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof ReadTimeout) return true
  }
  return false
}
