/** A running program with pipes to a server: stdio MCP servers, ACP agents. */
import type { ChildProcess } from 'node:child_process'
import type { Readable } from 'node:stream'
import { exitOf } from './exec.ts'
import { signalGroup } from './process-tree.ts'
import type { OutputStream, RunnerEvent } from './ipc/protocol.ts'

/** The connection that a program's pipes are attached to. */
export interface Holder {
  /** Sends an event. Returns false when the holder's buffer is full; it then calls `onDrain` once. */
  send(event: RunnerEvent, onDrain: () => void): boolean
}

type Exit = { exit_code: number | null; signal: string | null }

/**
 * Without a holder, nothing is read from the pipes: the program blocks in its next write, and no byte of its protocol is
 * lost.
 */
export class Pipes {
  readonly handle: number
  readonly #child: ChildProcess
  #holder: Holder | null = null
  #exit: Exit | null = null
  readonly #ended = new Set<OutputStream>()
  #paused = { stdout: false, stderr: false }
  readonly exited: Promise<Exit>

  /** @param record called with the exit before any holder receives it */
  constructor(handle: number, child: ChildProcess, record: (exit: Exit) => void) {
    this.handle = handle
    this.#child = child
    child.stdin?.on('error', () => undefined)
    this.#read('stdout', child.stdout)
    this.#read('stderr', child.stderr)
    this.exited = exitOf(child).then((exit) => {
      record(exit)
      this.#exit = exit
      this.#sendExit()
      return exit
    })
  }

  get pid(): number {
    return this.#child.pid ?? -1
  }

  get isHeld(): boolean {
    return this.#holder !== null
  }

  isHeldBy(holder: Holder): boolean {
    return this.#holder === holder
  }

  #read(stream: OutputStream, from: Readable | null): void {
    from?.pause()
    from?.on('data', (data: Buffer) => {
      const event = { event: 'output', process: this.handle, stream, data: data.toString('base64') } as const
      const holder = this.#holder
      const canTakeMore =
        holder?.send(event, () => {
          if (this.#holder === holder && !this.#paused[stream]) from.resume()
        }) ?? true
      if (!canTakeMore) from.pause()
    })
    from?.once('close', () => {
      this.#ended.add(stream)
      this.#holder?.send({ event: 'end', process: this.handle, stream }, () => undefined)
    })
  }

  /** Sends everything that was not read yet, and all later output, to `holder`. */
  attach(holder: Holder): void {
    this.#holder = holder
    this.#paused = { stdout: false, stderr: false }
    for (const stream of this.#ended) holder.send({ event: 'end', process: this.handle, stream }, () => undefined)
    this.#sendExit()
    this.#child.stdout?.resume()
    this.#child.stderr?.resume()
  }

  detach(): void {
    this.#holder = null
    this.#child.stdout?.pause()
    this.#child.stderr?.pause()
  }

  /** Signals the whole process group. */
  signal(name: NodeJS.Signals): void {
    signalGroup(this.pid, name)
  }

  /** Pauses or resumes a stream on request of the holder. */
  flow(stream: OutputStream, isPaused: boolean): void {
    this.#paused[stream] = isPaused
    const from = this.#child[stream]
    if (isPaused) from?.pause()
    else if (this.#holder !== null) from?.resume()
  }

  #sendExit(): void {
    if (this.#exit !== null) this.#holder?.send({ event: 'exit', process: this.handle, ...this.#exit }, () => undefined)
  }

  /** Writes to standard input; null closes it. Resolves when the pipe has taken the bytes, with false when it is closed. */
  input(data: Buffer | null): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const { stdin } = this.#child
    if (stdin === null || stdin.destroyed || stdin.writableEnded) resolve(data === null)
    else if (data === null) stdin.end(() => resolve(true))
    else stdin.write(data, (error) => resolve(error === null || error === undefined))
    return promise
  }
}
