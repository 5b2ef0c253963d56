/**
 * The metrics of one server: what the modules report while they work, and values that are read when the text is written.
 *
 * Invariants
 *   M1. No label has an id, the name of a user, a path, an address or a text that a model chose. Values outside of the known ones
 *       count as `other`.
 *   M2. A report costs a few map operations; the number of series does not grow with conversations.
 */
import { METRICS } from './catalogue.ts'
import { watchEventLoop } from './event-loop.ts'
import { Counter, exposition, gauge, Histogram, type Definition, type Family, type Sample } from './families.ts'

/** One request to a model. */
export type ModelRequest = {
  /** Prefix of the provider in the name of the model, such as `anthropic`. */
  provider: string
  seconds: number
  /** Code of the failure; null: it was answered. `cancelled`: the caller no longer wants the answer. */
  error: string | null
}

/** One call of a tool. */
export type ToolCallEnd = { tool: string; seconds: number; outcome: 'ok' | 'error' | 'cancelled' }

/** What became of an attempt to pass a request on; `lost`: the owner may have carried it out. */
export type ForwardOutcome = 'answered' | 'not_owner' | 'unreached' | 'lost'

/** `orphan`: a conversation without an owner that the node found by itself. `refused`: another node was faster, or there is none. */
export type ClaimOutcome = 'claimed' | 'orphan' | 'refused' | 'failed'

/** One call of the store that has ended, such as `events.page`. `hasFailed`: it was refused, or an error occurred. */
export type StoreCall = { call: string; seconds: number; hasFailed: boolean }

/** Values that are read for each text. One that cannot be read within two seconds is left out of the text. */
export type GaugeReaders = {
  runs: () => { held: number; waiting: number }
  starts: () => { held: number; waiting: number }
  queuedDeliveries: () => Promise<{ pending: number; parked: number }>
  liveConversations: () => number
  sockets: () => number
}

export type ServerMetricsOptions = {
  /** Version of Parley. */
  version: string
  /** Names of the standard tools; asked once, for the first call. */
  tools: () => readonly string[]
}

/** Milliseconds for one value; a store that does not answer must not keep the other metrics from being seen. */
const READ_MS = 2_000

export class ServerMetrics implements Disposable {
  readonly #turns = new Counter(METRICS.turns)
  readonly #steps = new Counter(METRICS.steps)
  readonly #modelRequests = new Histogram(METRICS.modelRequests)
  readonly #modelErrors = new Counter(METRICS.modelErrors)
  readonly #toolCalls = new Histogram(METRICS.toolCalls)
  readonly #storeCalls = new Histogram(METRICS.storeCalls)
  readonly #storeErrors = new Counter(METRICS.storeErrors)
  readonly #appendRetries = new Counter(METRICS.appendRetries)
  readonly #forwards = new Counter(METRICS.forwards)
  readonly #claims = new Counter(METRICS.claims)
  readonly #deliveries = new Counter(METRICS.deliveries)
  readonly #eventLoopDelay = new Histogram(METRICS.eventLoopDelay)
  readonly #toolNames: () => readonly string[]
  #tools: ReadonlySet<string> | null = null
  readonly #version: string
  #eventLoop: Disposable | null = null
  #writing: Promise<string> | null = null

  constructor({ version, tools }: ServerMetricsOptions) {
    this.#version = version
    this.#toolNames = tools
  }

  /** @param end status of the conversation after the turn */
  turnEnded(end: string): void {
    this.#turns.add(1, end)
  }

  stepped(): void {
    this.#steps.add(1)
  }

  modelRequest({ provider, seconds, error }: ModelRequest): void {
    const isFailure = error !== null && error !== 'cancelled'
    this.#modelRequests.observe(seconds, provider, isFailure ? 'error' : (error ?? 'ok'))
    if (isFailure) this.#modelErrors.add(1, provider, error)
  }

  toolCall({ tool, seconds, outcome }: ToolCallEnd): void {
    this.#tools ??= new Set(this.#toolNames())
    this.#toolCalls.observe(seconds, this.#tools.has(tool) ? tool : 'other', outcome)
  }

  storeCall({ call, seconds, hasFailed }: StoreCall): void {
    this.#storeCalls.observe(seconds, call)
    if (hasFailed) this.#storeErrors.add(1, call)
  }

  appendRetried(): void {
    this.#appendRetries.add(1)
  }

  forwarded(kind: 'request' | 'socket', outcome: ForwardOutcome): void {
    this.#forwards.add(1, kind, outcome)
  }

  /** @param count conversations with this outcome */
  claimed(outcome: ClaimOutcome, count: number): void {
    if (count > 0) this.#claims.add(count, outcome)
  }

  /** @param count deliveries with this outcome */
  delivery(outcome: 'delivered' | 'retried' | 'parked', count: number): void {
    this.#deliveries.add(count, outcome)
  }

  /** The text of all metrics. Requests at the same time get the same text, so that they cannot multiply the work of reading it. */
  text(readers: GaugeReaders): Promise<string> {
    this.#eventLoop ??= watchEventLoop(this.#eventLoopDelay)
    this.#writing ??= this.#text(readers).finally(() => {
      this.#writing = null
    })
    return this.#writing
  }

  [Symbol.dispose](): void {
    this.#eventLoop?.[Symbol.dispose]()
  }

  async #text(readers: GaugeReaders): Promise<string> {
    const { rss, heapUsed, heapTotal, external } = process.memoryUsage()
    const { user, system } = process.cpuUsage()
    const gauges = await Promise.all([
      read(METRICS.runs, async () => slots('running', readers.runs())),
      read(METRICS.starts, async () => slots('running', readers.starts())),
      read(METRICS.queuedDeliveries, async () => byName(await readers.queuedDeliveries())),
      read(METRICS.liveConversations, async () => [single(readers.liveConversations())]),
      read(METRICS.sockets, async () => [single(readers.sockets())]),
    ])
    return exposition([
      this.#turns,
      this.#steps,
      this.#modelRequests,
      this.#modelErrors,
      this.#toolCalls,
      this.#storeCalls,
      this.#storeErrors,
      this.#appendRetries,
      this.#forwards,
      this.#claims,
      this.#deliveries,
      this.#eventLoopDelay,
      ...gauges.filter((family) => family !== null),
      gauge(METRICS.residentMemory, [single(rss)]),
      gauge(METRICS.heap, byName({ used: heapUsed, reserved: heapTotal, external })),
      gauge(METRICS.cpu, [single((user + system) / 1e6)]),
      gauge(METRICS.startTime, [single(performance.timeOrigin / 1000)]),
      gauge(METRICS.build, [{ labels: [this.#version, process.versions.node], value: 1 }]),
    ])
  }
}

const single = (value: number): Sample => ({ labels: [], value })
const byName = (values: Readonly<Record<string, number>>): Sample[] =>
  Object.entries(values).map(([name, value]) => ({ labels: [name], value }))
const slots = (held: string, of: { held: number; waiting: number }): Sample[] =>
  byName({ [held]: of.held, waiting: of.waiting })

/** Null when the value cannot be read in time. */
async function read(definition: Definition, samples: () => Promise<Sample[]>): Promise<Family | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>()
  const timer = setTimeout(resolve, READ_MS, null)
  const reading = samples().then(
    (found) => gauge(definition, found),
    () => null,
  )
  const family = await Promise.race([reading, late])
  clearTimeout(timer)
  return family
}
