/**
 * The runner: owns every process of every conversation of one data directory, and outlives the servers that ask for them.
 *
 * Invariants
 *   R1. Nothing ends because a connection ends, except what nobody could ever ask for again: programs without a call id.
 *   R2. A request with an older epoch than the newest seen for its conversation is refused (W3).
 *   R3. Without any server for `orphanExitMs`, or with no way for one to come, everything is ended. With nothing to keep
 *       for `idleExitMs`, the runner ends.
 *   R4. After `bye`, nothing that comes in is begun; whoever asked may ask the next runner.
 */
import { existsSync, watch } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { Connection } from './connection.ts'
import { rootMark, startMark } from './environment.ts'
import { Ledger } from './ledger.ts'
import type { Pipes } from './pipes.ts'
import { becomeRunner, type Place } from './place.ts'
import { endProcesses } from './process-tree.ts'
import { PROTOCOL, Refusal, type PingAnswer, type Request } from './protocol.ts'
import type { Reply } from './reply.ts'
import { Residence } from './residence.ts'
import { Sandbox } from './sandbox.ts'

export type RunnerOptions = {
  place: Place
  idleExitMs: number
  orphanExitMs: number
  log: (text: string) => void
  onEnd: () => void
}

/** On a busy machine a caller may take this long to come, or to say what it wants. */
const FIRST_REQUEST_MS = 3_000

type Scoped = Extract<Request, { conversation: string }>

export class Runner {
  readonly #options: RunnerOptions
  readonly #server: Server
  readonly #sandbox: Sandbox
  readonly #connections = new Set<Connection>()
  readonly #residences = new Map<string, Residence>()
  readonly #releasing = new Map<string, Promise<void>>()
  readonly #pipes = new Map<number, Pipes>()
  #ledger: Ledger | null = null
  #nextHandle = 1
  #open = 0
  #isEnding = false
  #hasStarted = false
  #isLost = false
  /** Somebody has connected. */
  #isMet = false
  #idle: NodeJS.Timeout | null = null
  #orphaned: NodeJS.Timeout | null = null
  /** What must be over before anything is begun: leftovers of a runner that died. */
  #swept: Promise<unknown> = Promise.resolve()

  constructor(options: RunnerOptions) {
    this.#options = options
    this.#sandbox = new Sandbox(options.place.home, options.place.sockets)
    this.#server = createServer((socket) =>
      this.#welcome(
        new Connection(socket, {
          onRequest: (request, connection) => this.#take(request, connection),
          onClose: (connection) => this.#farewell(connection),
          onBroken: (error) => options.log(`a connection was cut: ${String(error)}`),
        }),
      ),
    )
  }

  /** Listens; false when this place has a living runner already. */
  async start(): Promise<boolean> {
    const { place } = this.#options
    const path = await becomeRunner(this.#server, place)
    if (path === null) {
      this.#server.close()
      return false
    }
    // Without its name, with its data directory most likely, it can be found by no server any more.
    const names = watch(place.sockets, () => {
      if (existsSync(path)) return
      this.#isLost = true
      this.#watch()
    })
    names.on('error', () => names.close())
    this.#ledger = new Ledger(place.home)
    if (this.#ledger.wasInterrupted) this.#swept = endProcesses({ mark: rootMark(place.root), leaders: new Set() })
    this.#watch()
    return true
  }

  #welcome(connection: Connection): void {
    if (this.#isEnding) return connection.end()
    this.#isMet = true
    this.#connections.add(connection)
    connection.send({ event: 'hello', protocol: PROTOCOL, pid: process.pid })
    if (this.#idle !== null) clearTimeout(this.#idle)
    // Whoever comes has something to ask and is given the time for it.
    this.#idle = setTimeout(() => void this.end(), Math.max(this.#options.idleExitMs, FIRST_REQUEST_MS))
    this.#watch()
  }

  #farewell(connection: Connection): void {
    this.#connections.delete(connection)
    for (const reply of connection.waiting.values()) {
      for (const residence of this.#residences.values()) residence.leave(reply)
      reply.refuse('unavailable', 'the connection was closed')
    }
    for (const residence of this.#residences.values()) residence.letGo(connection)
    this.#watch()
  }

  #take(request: Request, connection: Connection): void {
    if (this.#isEnding) return
    this.#open += 1
    const epoch = 'epoch' in request ? (request.epoch ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY
    const reply = connection.reply(request.id, epoch, () => {
      this.#open -= 1
      this.#watch()
    })
    this.#watch()
    this.#perform(request, connection, reply).catch((error: unknown) => {
      if (error instanceof Refusal) return reply.refuse(error.code, error.message)
      this.#options.log(`request ${request.op} failed: ${error instanceof Error ? error.stack : String(error)}`)
      reply.refuse('internal', error instanceof Error ? error.message : String(error))
    })
  }

  async #perform(request: Request, connection: Connection, reply: Reply): Promise<void> {
    switch (request.op) {
      case 'ping':
        return reply.ok(this.#vitals())
      case 'cancel': {
        const target = connection.waiting.get(request.target)
        if (target !== undefined) {
          for (const residence of this.#residences.values()) residence.leave(target)
          target.refuse('unavailable', 'cancelled')
        }
        return reply.ok({})
      }
      case 'input': {
        const data = request.data === null ? null : Buffer.from(request.data, 'base64')
        const isTaken = (await this.#pipes.get(request.process)?.input(data)) ?? data === null
        return isTaken ? reply.ok({}) : reply.refuse('unavailable', 'the program no longer reads its input')
      }
      case 'signal':
        this.#pipes.get(request.process)?.signal(request.signal)
        return reply.ok({})
      case 'flow':
        this.#pipes.get(request.process)?.flow(request.stream, request.isPaused)
        return reply.ok({})
      case 'shutdown':
        reply.ok({})
        return this.end()
      default:
        return this.#performScoped(request, connection, reply)
    }
  }

  async #performScoped(request: Scoped, connection: Connection, reply: Reply): Promise<void> {
    const { conversation } = request
    this.#admit(conversation, request.epoch)
    const ledger = this.#knownLedger()
    if (request.op === 'release') return this.#release(conversation, reply)
    if (request.op === 'claim') return reply.ok({})
    if (request.op === 'forget') {
      ledger.forget(conversation, request.calls)
      return reply.ok({})
    }
    if (request.op === 'ledger') {
      return reply.ok({
        entries: Object.fromEntries(request.calls.map((call) => [call, ledger.entry(conversation, call)])),
      })
    }
    await this.#swept
    await this.#releasing.get(conversation)
    this.#admit(conversation, request.epoch)
    if (request.op === 'interrupt') {
      await this.#residences.get(conversation)?.interrupt()
      return reply.ok({})
    }
    const residence = this.#reside(conversation)
    this.#hasStarted = true
    if (request.op === 'exec') return residence.exec(request.call, request.spec, reply)
    if (request.op === 'terminal') return residence.terminal(request.spec, reply)
    const pipes = await residence.spawn(request.call, request.spec, connection, reply, () => this.#nextHandle++)
    this.#pipes.set(pipes.handle, pipes)
    void pipes.exited.then(() => this.#pipes.delete(pipes.handle))
    if (!this.#connections.has(connection)) residence.letGo(connection)
  }

  /** R2. A newer epoch turns away everybody who still waits with an older one. */
  #admit(conversation: string, epoch: number | null): void {
    if (epoch === null) return
    const ledger = this.#knownLedger()
    const newest = ledger.epochOf(conversation)
    if (epoch < newest) {
      throw new Refusal('stale_epoch', `conversation ${conversation} has a newer owner: epoch ${newest}, not ${epoch}`)
    }
    if (epoch === newest) return
    ledger.claim(conversation, epoch)
    this.#residences.get(conversation)?.fence(epoch)
  }

  #reside(conversation: string): Residence {
    const known = this.#residences.get(conversation)
    if (known !== undefined) return known
    const { root, home } = this.#options.place
    const onChange = () => {
      if (fresh.isEmpty && this.#residences.get(conversation) === fresh) this.#residences.delete(conversation)
      this.#watch()
    }
    const fresh: Residence = new Residence(conversation, {
      root,
      home,
      ledger: this.#knownLedger(),
      sandbox: this.#sandbox,
      onChange,
    })
    this.#residences.set(conversation, fresh)
    return fresh
  }

  async #release(conversation: string, reply: Reply): Promise<void> {
    const before = this.#releasing.get(conversation) ?? Promise.resolve()
    const residence = this.#reside(conversation)
    const released = before.then(() => residence.release())
    this.#releasing.set(conversation, released)
    try {
      await released
    } finally {
      if (this.#releasing.get(conversation) === released) {
        this.#releasing.delete(conversation)
        this.#residences.delete(conversation)
      }
    }
    reply.ok({})
  }

  #vitals(): PingAnswer {
    let processes = 0
    let terminals = 0
    for (const residence of this.#residences.values()) {
      processes += residence.processes
      terminals += residence.hasShell ? 1 : 0
    }
    return { pid: process.pid, processes, terminals, rssBytes: process.memoryUsage.rss() }
  }

  /** R3. Looks at what there is to keep, and sets or stops the two clocks. */
  #watch(): void {
    if (this.#isLost && this.#connections.size === 0) return void this.end()
    const { processes, terminals } = this.#vitals()
    const hasWork = processes + terminals + this.#open + this.#releasing.size > 0
    const { idleExitMs, orphanExitMs } = this.#options
    if (hasWork && this.#idle !== null) {
      clearTimeout(this.#idle)
      this.#idle = null
    }
    // Whoever started it is on the way.
    const patienceMs = this.#isMet ? idleExitMs : Math.max(idleExitMs, FIRST_REQUEST_MS)
    if (!hasWork) this.#idle ??= setTimeout(() => void this.end(), patienceMs)
    if (this.#connections.size > 0 && this.#orphaned !== null) {
      clearTimeout(this.#orphaned)
      this.#orphaned = null
    }
    if (this.#connections.size === 0) this.#orphaned ??= setTimeout(() => void this.end(), orphanExitMs)
  }

  /** Ends every process, then this one. What is on record stays on disk for the next runner. */
  async end(): Promise<void> {
    if (this.#isEnding) return
    this.#isEnding = true
    for (const connection of this.#connections) {
      // R4: what has begun is not begun again by the next runner.
      for (const reply of connection.waiting.values()) reply.refuse('unavailable', 'the runner was told to end')
      connection.send({ event: 'bye' })
    }
    this.#server.close()
    // Not all of the data directory: the next runner may have begun already. Programs that left their group are found by the mark.
    if (this.#hasStarted) await endProcesses({ mark: startMark(this.#options.place.root), leaders: new Set() })
    for (const connection of this.#connections) connection.end()
    this.#options.onEnd()
  }

  #knownLedger(): Ledger {
    if (this.#ledger === null) throw new Refusal('unavailable', 'the runner is not ready yet')
    return this.#ledger
  }
}
