/** The server of the sequences: it is killed and restarted while they run, and each request for a decision is recorded. */
import { tempDir } from '../../../packages/server/testing/temp.ts'
import { startRunning, type Answered, type Running } from '../../../packages/server/testing/restartable-server.ts'
import { watchChanges } from './changes.ts'
import { startEffects, type Effects } from './effects.ts'
import { sequenceModel, type SequenceModel } from './model.ts'
import { loseArguments, openStoredLogs, type Positions, type StoredLogs } from './stored-logs.ts'

/** Least milliseconds between two restarts, so that sequences make progress in between. */
const BETWEEN_RESTARTS_MS = 4_000

/** A request that may have decided about a batch. `before`, `after`: `seq` of the log around it. */
export type Decision = {
  id: string
  accepts: boolean
  /** The batch that it named. */
  batch: string | null
  /** 0: the server was killed before it answered. */
  status: number
  /** True when it was refused because no client had received the batch. */
  isUnseen: boolean
  before: number
  after: number
  answeredAt: number
}

/** An answer that showed a client what waits. `seq`: how much of the log it can have shown. */
export type Shown = { id: string; askedAt: number; seq: number; text: string }

export type Place = AsyncDisposable & {
  readonly logs: StoredLogs
  readonly effects: Effects
  readonly model: SequenceModel
  folder(seed: number): string
  file(...parts: string[]): string
  /** The address of the model server. */
  modelUrl(): string
  /** Waits while the server restarts. A request that a kill cut off has status 0, unless it reads, and is then repeated. */
  call(method: string, path: string, body?: unknown): Promise<Answered>
  /** Resolves at the next commit of the server or held call, or after a second. */
  changed(): Promise<void>
  /**
   * Restarts the server, after a SIGKILL or a SIGTERM; does nothing right after a restart. `losesArguments`: the store loses the
   * real arguments of all calls that are stored in masked form.
   */
  restart(how: 'kill' | 'end', losesArguments: boolean): Promise<void>
  readonly restarts: number
  /** When the last restart had ended, by `performance.now()`; infinite while one is under way. */
  readonly restartedAt: number
  /** Requests that have no answer yet, each with the seconds since it was sent. */
  unanswered(): string[]
  /** The end of the server's log. */
  log(): string
}

const CUT: Answered = { status: 0, body: {}, text: '' }

export async function startPlace(): Promise<Place> {
  await using stack = new AsyncDisposableStack()
  const work = stack.use(await tempDir())
  const folder = (seed: number): string => work.file('work', String(seed))
  const model = sequenceModel(folder)
  // One key sends many requests; rate limits would only end sequences early. Conversations leave memory all the time.
  const env = {
    PARLEY_RATE_LIMIT_PER_MINUTE: '0',
    PARLEY_IDLE_UNLOAD_SECONDS: '0.2',
    PARLEY_LOG_LEVEL: 'warn',
  }
  const server: Running = stack.use(await startRunning(model.respond, env, 'process', { forgets: true }))
  const logs = stack.use(openStoredLogs(server.file('data', 'parley.db')))
  const changes = stack.use(watchChanges(() => logs.version()))
  const effects = stack.use(await startEffects((): Positions => logs.positions(), changes.report))
  const unanswered = new Map<symbol, { what: string; since: number }>()
  let ready: Promise<unknown> = Promise.resolve()
  let restarts = 0
  let restartedAt = performance.now()

  async function call(method: string, path: string, body?: unknown): Promise<Answered> {
    const request = Symbol(path)
    unanswered.set(request, { what: `${method} ${path}`, since: performance.now() })
    try {
      return await answerTo(method, path, body)
    } finally {
      unanswered.delete(request)
    }
  }

  async function answerTo(method: string, path: string, body?: unknown): Promise<Answered> {
    for (;;) {
      const current = ready
      await current
      // Another restart may have begun meanwhile.
      if (current !== ready) continue
      const before = restarts
      try {
        return await server.call(method, path, body)
      } catch (error) {
        if (restarts === before) throw error
        if (method !== 'GET') {
          await ready
          return CUT
        }
      }
    }
  }

  const owned = stack.move()
  return {
    logs,
    effects,
    model,
    folder,
    file: (...parts) => server.file(...parts),
    modelUrl: () => server.model.url,
    call,
    changed: () => changes.next(),
    async restart(how, losesArguments) {
      if (performance.now() - restartedAt < BETWEEN_RESTARTS_MS) return
      restartedAt = Number.POSITIVE_INFINITY
      restarts += 1
      const restarted = server[how === 'kill' ? 'kill' : 'restart'](() => {
        effects.cut()
        if (losesArguments) loseArguments(server.file('data', 'parley.db'))
      })
      ready = restarted
      await restarted
      restartedAt = performance.now()
    },
    get restarts() {
      return restarts
    },
    get restartedAt() {
      return restartedAt
    },
    unanswered() {
      const now = performance.now()
      return [...unanswered.values()].map(({ what, since }) => `${what} (${((now - since) / 1000).toFixed(1)} s)`)
    },
    log: () => server.log(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
