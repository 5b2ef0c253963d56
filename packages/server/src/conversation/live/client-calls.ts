/**
 * Calls that a client executes, and that wait for its result.
 *
 * Invariants
 *   C1. A result is stored before its client receives the acknowledgement; a killed server still has it.
 *   C2. A call gets one result. A second result, or one after the call's deadline, is refused.
 *   C3. The deadline of a call is stored too: a restart does not extend it.
 *   C4. Both are notes, which are deleted when the answer of the call is stored; in files, as version 0.1.0 stored them, they are removed
 *       then, because secrets are masked only in the answer.
 */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  ParleyError,
  type ClientToolSpec,
  type ConversationId,
  type ConversationState,
  type EventId,
} from '@parley/protocol'
import type { NoteOwner } from '../../storage/index.ts'
import type { ClientCalls, ClientResult } from '../../tools/index.ts'
import type { CallNotes, OpenCallNotes } from '../../workspace/index.ts'
import type { ConversationRecord } from '../record/record.ts'

export class ClientCallBoard {
  readonly #notes: OpenCallNotes
  readonly #folderOf: (id: ConversationId) => string
  readonly #waiting = new Map<string, Waiter>()

  /** @param folderOf returns a conversation's own folder, in which version 0.1.0 stored results */
  constructor(notes: OpenCallNotes, folderOf: (id: ConversationId) => string) {
    this.#notes = notes
    this.#folderOf = (id) => join(folderOf(id), 'client_calls')
  }

  /**
   * Takes the result of an open call (C1, C2). Results of one conversation are taken one after the other.
   * @throws ParleyError `conflict`.
   */
  async take(owner: NoteOwner, callId: EventId, result: ClientResult): Promise<void> {
    const stored = this.#storedOf(owner)
    const waiter = this.#waiting.get(callId)
    // From here on the deadline does not apply: the result is going to be acknowledged.
    waiter?.hold()
    try {
      // The timer of a wait is exact; the stored deadline follows the clock, which may have been set meanwhile.
      const isLate = waiter?.isLate ?? hasPassed(await stored.read<Time>(callId, 'time'))
      if (isLate) throw tooLate(callId)
      if ((await stored.read<ClientResult>(callId, 'result')) !== null) throw answered(callId)
      await stored.write(callId, 'result', result)
    } catch (error) {
      waiter?.release()
      throw error
    }
    // A wait that begins meanwhile finds the stored result, or is resolved here.
    this.#waiting.get(callId)?.resolve(result)
  }

  /** Returns the client calls of a conversation's agent. `withoutSlot` runs work without occupying a run slot. */
  of(owner: NoteOwner, lend: <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>): ClientCalls {
    const stored = this.#storedOf(owner)
    return {
      known: (callId) => stored.read<ClientResult>(callId, 'result'),
      result: async (callId, timeoutMs, signal) => {
        signal.throwIfAborted()
        const begun = await stored.read<Time>(callId, 'time')
        // Never later than a call that begins now: after the clock was set back, the stored deadline is too far ahead.
        const deadline = Math.min(begun?.deadline ?? Number.POSITIVE_INFINITY, Date.now() + timeoutMs)
        if (begun?.deadline !== deadline) await stored.write(callId, 'time', { deadline }, signal)
        return lend(() => this.#wait(stored, callId, deadline, signal), signal)
      },
    }
  }

  /** Removes the files of a call whose answer is stored; its notes are deleted with the answer. */
  async forget(id: ConversationId, callId: EventId): Promise<void> {
    const dir = this.#folderOf(id)
    await rm(fileOf(dir, callId, 'time'), { force: true })
    await rm(fileOf(dir, callId, 'result'), { force: true })
  }

  #storedOf(owner: NoteOwner): Stored {
    return new Stored(this.#notes(owner), this.#folderOf(owner.id))
  }

  async #wait(stored: Stored, callId: string, deadline: number, signal: AbortSignal): Promise<ClientResult | null> {
    const waiter = new Waiter(deadline)
    const onAbort = () => waiter.reject(signal.reason as Error)
    // From here on results resolve the waiter; earlier results are stored.
    this.#waiting.set(callId, waiter)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      signal.throwIfAborted()
      return (await stored.read<ClientResult>(callId, 'result')) ?? (await waiter.result)
    } finally {
      waiter.end()
      signal.removeEventListener('abort', onAbort)
      this.#waiting.delete(callId)
    }
  }
}

type Time = { deadline: number }
type What = 'time' | 'result'
const KIND = { time: 'client_deadline', result: 'client_result' } as const
const hasPassed = (time: Time | null): boolean => time !== null && time.deadline <= Date.now()

/** A wait for one result, up to a deadline. */
class Waiter {
  readonly result: Promise<ClientResult | null>
  readonly resolve: (result: ClientResult | null) => void
  readonly reject: (reason: Error) => void
  readonly #timer: NodeJS.Timeout
  #isHeld = false
  isLate = false

  constructor(deadline: number) {
    const { promise, resolve, reject } = Promise.withResolvers<ClientResult | null>()
    // An aborted wait has rejected already.
    promise.catch(() => undefined)
    this.result = promise
    this.resolve = resolve
    this.reject = reject
    // A timer may fire slightly early; the deadline on disk is exact.
    this.#timer = setTimeout(() => this.#pass(), deadline - Date.now() + 5)
  }

  hold(): void {
    this.#isHeld = true
  }

  release(): void {
    this.#isHeld = false
    if (this.isLate) this.resolve(null)
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  #pass(): void {
    // While it is held, a result that is being taken still counts.
    if (!this.#isHeld) this.resolve(null)
    this.isLate = true
  }
}

/**
 * Checks that a result may be posted for this call now.
 * @param isThere true when the conversation has an event with this id
 * @throws ParleyError `not_found`, `bad_request` or `conflict` with the reason
 */
export function expectAwaited(
  state: ConversationState,
  record: Pick<ConversationRecord, 'client_tools' | 'agent'>,
  action_id: EventId,
  isThere: boolean,
): void {
  const open = state.open_actions.find(({ id }) => id === action_id)
  if (open === undefined) {
    if (isThere) throw answered(action_id)
    throw new ParleyError('not_found', `Event not found: ${action_id}`, { details: { event_id: action_id } })
  }
  const tool = specsOf(record).find(({ name }) => name === open.tool_name)
  if (tool?.awaits_result !== true)
    throw new ParleyError(
      'bad_request',
      `The tool ${open.tool_name} awaits no result. Declare it in client_tools with awaits_result to post one.`,
    )
  if (state.awaiting_approval?.actions.some((waiting) => waiting.action_id === action_id) === true)
    throw new ParleyError('conflict', `The call ${action_id} waits for a confirmation first. Perform it after that.`)
}

/** Existing clients also list their tools among those of the agent. */
function specsOf({ client_tools, agent }: Pick<ConversationRecord, 'client_tools' | 'agent'>): ClientToolSpec[] {
  const named =
    agent.kind === 'Agent' ? agent.tools.map(({ params }) => params['spec'] as ClientToolSpec | undefined) : []
  return [...client_tools, ...named.filter((spec) => spec !== undefined)]
}

const answered = (call: string): ParleyError =>
  new ParleyError('conflict', `The call ${call} waits for no result any more: it has one, or was ended.`)
const tooLate = (call: string): ParleyError =>
  new ParleyError('conflict', `The time for a result of the call ${call} has passed.`)

/** The server makes call ids, but a file name must not depend on that. */
const fileOf = (dir: string, callId: string, what: What): string =>
  join(dir, `${callId.replaceAll(/[^\w-]/g, '_')}.${what}.json`)

/** Deadlines and results of the calls of one conversation. */
class Stored {
  readonly #notes: CallNotes
  readonly #folder: string

  constructor(notes: CallNotes, folder: string) {
    this.#notes = notes
    this.#folder = folder
  }

  async read<T>(callId: string, what: What): Promise<T | null> {
    const text = (await this.#notes.read(KIND[what], callId)) ?? (await readIfThere(fileOf(this.#folder, callId, what)))
    return text === null ? null : (JSON.parse(text) as T)
  }

  /** With a signal, a store that refuses the write is waited for. */
  write(callId: string, what: What, value: unknown, signal?: AbortSignal): Promise<void> {
    return this.#notes.write(KIND[what], callId, JSON.stringify(value), signal)
  }
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
