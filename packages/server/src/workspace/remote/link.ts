/**
 * Requests of a remote workspace to its agent server, with retries.
 *
 * Invariants
 *   K1. Every request may be repeated: the other side identifies requests with an effect by their call.
 *   K2. Every request ends: an unreachable server is retried until the retry budget is used up, a silent one once.
 *   K3. The API key is sent in its header only, and appears in no message.
 */
import { CallError, WorkspaceClient } from '@parley/client'
import { ParleyError, type RemoteWorkspace } from '@parley/protocol'
import { egressRefusalIn, type Egress } from '../../egress/index.ts'
import { backoffMs, sleep } from '../../lib/index.ts'
import { openConnections, ReadTimeout, type Connections } from './connections.ts'
import { shellLine } from './quote.ts'

/** Milliseconds of retries while a server cannot be reached. */
const RETRY_BUDGET_MS = 60_000
/** Read timeouts of one request, until it fails. */
const MAX_READ_TIMEOUTS = 2
/** Answers with status 500 to one request, until it fails. */
const MAX_FAILURES = 3
const BACKOFF = { baseMs: 100, maxMs: 2_000 }
/** Seconds that a script may take beyond its own waiting time. */
const SCRIPT_SECONDS = 60

export type LinkOptions = Pick<RemoteWorkspace, 'host' | 'api_key' | 'read_timeout' | 'max_connections'>

/** Milliseconds after which a request is not retried; default `RETRY_BUDGET_MS`. */
export type RetryBudget = { retryBudgetMs?: number }

/** Working directory of a command there; absent: that of the server. */
type Directory = { cwd?: string | undefined }

export class RemoteLink implements Disposable {
  /** Scheme, host and port, for people. */
  readonly origin: string
  readonly readTimeoutMs: number
  readonly #connections: Connections
  readonly #client: WorkspaceClient

  constructor({ host, api_key, read_timeout, max_connections }: LinkOptions, egress: Pick<Egress, 'agents'>) {
    this.origin = new URL(host).origin
    this.readTimeoutMs = read_timeout * 1000
    this.#connections = openConnections({
      egress,
      readTimeoutMs: this.readTimeoutMs,
      maxConnections: max_connections,
    })
    this.#client = new WorkspaceClient({
      baseUrl: host,
      ...(api_key === null ? {} : { apiKey: api_key }),
      retries: 0,
      fetch: this.#connections.fetch,
    })
  }

  /**
   * Runs a script to its end and returns its output.
   * @param waitMs milliseconds that the script itself may wait
   * @throws ParleyError `unavailable`, `forbidden`, `unsupported`; so do the methods below.
   */
  async run(
    script: string,
    args: readonly string[],
    signal: AbortSignal,
    { waitMs = 0, cwd, ...retryBudget }: { waitMs?: number } & Directory & RetryBudget = {},
  ): Promise<string> {
    const command = shellLine(['/bin/sh', '-c', script, 'parley', ...args])
    const timeout = Math.ceil(waitMs / 1000) + SCRIPT_SECONDS
    const { exit_code, stdout, stderr } = await this.#retrying(
      () => this.#client.execute(command, { timeout, ...(cwd === undefined ? {} : { cwd }) }, signal),
      signal,
      retryBudget,
    )
    if (exit_code === 0) return stdout
    const output = `${stdout}${stderr}`.trim().slice(-500)
    throw new ParleyError(
      'unavailable',
      `${this.origin} could not do what a workspace needs (exit code ${exit_code}): ${output}`,
      { details: { exit_code } },
    )
  }

  /** Starts a line of `/bin/sh` in the background. */
  async start(line: string, timeoutSeconds: number, signal: AbortSignal, { cwd }: Directory = {}): Promise<void> {
    const options = { timeout: timeoutSeconds, ...(cwd === undefined ? {} : { cwd }) }
    await this.#retrying(() => this.#client.start(line, options, signal), signal)
  }

  /** Creates a directory and its missing parents. */
  async createDirectory(path: string, signal: AbortSignal, retryBudget: RetryBudget = {}): Promise<void> {
    await this.#retrying(() => this.#client.createDirectory(path, signal), signal, retryBudget)
  }

  async upload(path: string, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    await this.#retrying(() => this.#client.upload(path, bytes, signal), signal)
  }

  download(path: string, signal: AbortSignal): Promise<Uint8Array> {
    return this.#retrying(() => this.#client.download(path, signal), signal)
  }

  async #retrying<T>(
    ask: () => Promise<T>,
    signal: AbortSignal,
    { retryBudgetMs: budgetMs = RETRY_BUDGET_MS }: RetryBudget = {},
  ): Promise<T> {
    const begun = performance.now()
    let readTimeouts = 0
    let failures = 0
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted()
      try {
        return await ask()
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof SyntaxError) throw this.#notUnderstood(error)
        if (!(error instanceof CallError)) throw error
        const refusal = egressRefusalIn(error)
        if (refusal !== null) throw new ParleyError('forbidden', refusal.message, { cause: refusal })
        if (isReadTimeout(error)) readTimeouts += 1
        if (error.status === 500) failures += 1
        const elapsedMs = performance.now() - begun
        const isOver = elapsedMs >= budgetMs || readTimeouts >= MAX_READ_TIMEOUTS || failures >= MAX_FAILURES
        if (!error.isPassing || isOver) throw this.#asParleyError(error, elapsedMs)
        await sleep(error.retryAfterMs ?? 20 + backoffMs(BACKOFF, attempt), signal)
      }
    }
  }

  /** The error with a message for the model and for people. */
  #asParleyError(error: CallError, elapsedMs: number): ParleyError {
    const { status } = error
    const details = { host: this.origin, status }
    if (status === 401 || status === 403) {
      const message = `The agent server at ${this.origin} refused the key of this workspace (${status}). Start a conversation whose workspace has a valid api_key.`
      return new ParleyError('forbidden', message, { details: { ...details, reason: 'remote_refused' }, cause: error })
    }
    if (isReadTimeout(error)) {
      const message = `The agent server at ${this.origin} did not answer: ${MAX_READ_TIMEOUTS} times no data was received for ${this.readTimeoutMs / 1000} s (read_timeout).`
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

  /** The message of the parser would quote the answer. */
  #notUnderstood(cause: SyntaxError): ParleyError {
    const message = `The server at ${this.origin} does not answer as an agent server.`
    return new ParleyError('unsupported', message, { details: { host: this.origin, reason: 'remote_unfit' }, cause })
  }

  [Symbol.dispose](): void {
    this.#connections[Symbol.dispose]()
  }
}

function isReadTimeout(error: CallError): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof ReadTimeout) return true
  }
  return false
}
