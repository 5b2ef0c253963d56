/**
 * A runner of another protocol in the same data directory: an older one after an upgrade, or a newer one. It keeps the commands
 * that it has, gets no new ones, and is ended after the last of them.
 *
 * Invariants
 *   O1. It gets no request. Its greeting, its ledger, the marks of its processes and SIGTERM are all that is used.
 *   O2. A connection to it stays open while anything runs there, because without one it would end its processes after a while.
 *   O3. Its ledger is removed only after everything in it is on disk in the own one.
 * Source: docs/decisions/0012-a-new-runner-beside-an-old-one.md, Decision.
 */
import { rmSync, watch, type FSWatcher } from 'node:fs'
import type { Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { conversationMark, runnerMark } from './environment.ts'
import { forgetGroup, groupsOf, knownGroups, runnerOf } from './groups/process-groups.ts'
import { FrameReader } from './ipc/frames.ts'
import { outputsName } from './ipc/names.ts'
import { connectRunner, type Place } from './ipc/place.ts'
import { LedgerReader, otherProtocols } from './ledger/ledger-reader.ts'
import type { Ledger } from './ledger/ledger.ts'
import { endProcesses, findProcesses, sendSignal } from './process-tree.ts'

/** Milliseconds between two checks for its last program, because the end of a process that is no child has no event. */
const CHECK_MS = 10_000
const SOON_MS = 25
/** Milliseconds that the processes of dead runners wait for its greeting before they are ended. */
const GREETING_MS = 5_000
/** Milliseconds after SIGTERM until it is killed; it gives its processes five seconds. */
const END_MS = 10_000

export type OtherRunnerEvents = {
  /** Everything of it is in the own ledger, and its process has ended. */
  onEnd: () => void
  log: (text: string) => void
}

export class OtherRunner {
  readonly ledger: LedgerReader
  readonly #place: Place
  readonly #socket: Socket | null
  readonly #closed = Promise.withResolvers<void>()
  readonly #greeting = Promise.withResolvers<void>()
  #pid: number | null = null
  #hasLeft = false
  #pauseMs = SOON_MS
  #watcher: FSWatcher | null = null
  #timer: NodeJS.Timeout | null = null
  #killing: NodeJS.Timeout | null = null

  private constructor(place: Place, protocol: number, socket: Socket | null) {
    this.#place = place
    this.#socket = socket
    this.ledger = new LedgerReader(place.home, protocol, socket !== null)
    const frames = new FrameReader()
    const onData = (data: Buffer) => {
      const [{ event, pid } = {}] = frames.push(data)
      if (event !== 'hello' || typeof pid !== 'number') return
      this.#pid = pid
      this.#greeting.resolve()
      socket?.off('data', onData).resume()
    }
    socket?.on('data', onData)
    socket?.on('error', () => socket.destroy())
    socket?.once('close', () => {
      this.#closed.resolve()
      this.#greeting.resolve()
    })
  }

  /** The other runners that have a ledger in this place, living and dead. Connects to the living ones. */
  static find(place: Place): Promise<OtherRunner[]> {
    return Promise.all(
      otherProtocols(place.home).map(
        async (protocol) => new OtherRunner(place, protocol, await connectRunner(place, protocol)),
      ),
    )
  }

  get isAlive(): boolean {
    return this.ledger.isAlive
  }

  /** Marks of its processes; of those of one conversation when it is named. Null until its pid is known. */
  #mark(conversation?: string): string | null {
    if (this.#pid === null) return null
    const { root } = this.#place
    return (conversation === undefined ? '' : conversationMark(root, conversation)) + runnerMark(root, this.#pid)
  }

  /** Its pid, once it has greeted; null when it does not, for example because it was stopped. */
  async greeted(): Promise<number | null> {
    await Promise.race([this.#greeting.promise, delay(GREETING_MS, undefined, { ref: false })])
    return this.#pid
  }

  /** Copies its records until it has ended. To be called once, after its ledger was given to the own one. */
  async drain(ledger: Ledger, { onEnd, log }: OtherRunnerEvents): Promise<void> {
    if (this.#socket !== null && !this.#socket.destroyed) {
      log(`a runner of protocol ${this.ledger.protocol} keeps its commands until they end`)
      const update = () => this.#update(ledger, log)
      // Without a watcher, for which the system may lack resources, the timer reads the ledger.
      try {
        const { name } = this.ledger
        this.#watcher = watch(this.#place.home, (_, changed) => void (changed === name && update()))
        this.#watcher.on('error', () => this.#watcher?.close())
      } catch (error) {
        log(`ledger of another runner is not watched: ${String(error)}`)
      }
      void this.#greeting.promise.then(update)
      await this.#closed.promise
      if (this.#hasLeft) return
    }
    this.#stop()
    this.ledger.isAlive = false
    // A runner that was killed leaves its processes behind.
    const mark = this.#mark()
    const groups = knownGroups(this.#place).filter((group) => runnerOf(group) === this.#pid)
    if (mark !== null) await endProcesses({ mark, leaders: new Set(), groups })
    for (const group of groups) forgetGroup(this.#place.home, group)
    this.#complete(ledger, log)
    onEnd()
  }

  #update(ledger: Ledger, log: (text: string) => void): void {
    if (!this.isAlive || this.#hasLeft) return
    let hasCall = true
    try {
      hasCall = ledger.follow(this.ledger)
      if (!hasCall && !this.#hasProgram()) return void this.end()
    } catch (error) {
      // The disk is full, for example. The lines are read again by the next runner, or after the end of the other one.
      log(`ledger of another runner not copied: ${String(error)}`)
    }
    // The last programs mostly end together with the last call.
    this.#pauseMs = hasCall ? SOON_MS : Math.min(CHECK_MS, this.#pauseMs * 2)
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#update(ledger, log), hasCall ? CHECK_MS : this.#pauseMs).unref()
  }

  /** True while a program of it runs. A shell without one is not a program. */
  #hasProgram(): boolean {
    const mark = this.#mark()
    if (mark === null) return true
    // Elsewhere, only the calls are known.
    if (process.platform !== 'linux') return !this.ledger.isReadable
    return findProcesses({ mark, leaders: new Set() }).some(
      ({ leadsTerminal, isKeeper }) => !leadsTerminal && !isKeeper,
    )
  }

  #complete(ledger: Ledger, log: (text: string) => void): void {
    const { home } = this.#place
    try {
      ledger.complete(this.ledger)
      // Its lines have an unknown form, and a later version will read them.
      if (!this.ledger.isReadable) return
      rmSync(join(home, outputsName(this.ledger.protocol)), { recursive: true, force: true })
      rmSync(join(home, this.ledger.name), { force: true })
    } catch (error) {
      log(`ledger of another runner not taken over: ${String(error)}`)
    }
  }

  /** Ends the processes of a conversation that this runner started. */
  async endConversation(conversation: string): Promise<void> {
    const mark = this.#mark(conversation)
    const groups = groupsOf(this.#place, conversation).filter((group) => runnerOf(dirname(group)) === this.#pid)
    if (mark !== null) await endProcesses({ mark, leaders: new Set(), groups })
  }

  /** Tells it to end, and its processes with it. Resolves when it has. One that never greeted is left alone. */
  async end(): Promise<void> {
    const [pid, socket] = [this.#pid, this.#socket]
    if (socket === null || socket.destroyed) return
    if (pid === null) return this.leave()
    // Its connection is open, so the pid is still its own.
    if (this.#killing === null) sendSignal(pid, 'SIGTERM')
    this.#killing ??= setTimeout(() => !socket.destroyed && sendSignal(pid, 'SIGKILL'), END_MS)
    await this.#closed.promise
  }

  /** Disconnects without a change. */
  leave(): void {
    this.#hasLeft = true
    this.#stop()
    this.#socket?.destroy()
  }

  #stop(): void {
    this.#watcher?.close()
    if (this.#timer !== null) clearTimeout(this.#timer)
    if (this.#killing !== null) clearTimeout(this.#killing)
  }
}
