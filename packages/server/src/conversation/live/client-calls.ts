/**
 * Calls that a client executes, and that wait for its result.
 *
 * Invariants
 *   C1. A result is on disk before its client receives the acknowledgement; a killed server still has it.
 *   C2. A call gets one result. A second result, or one after the call's deadline, is refused.
 *   C3. The deadline of a call is on disk too: a restart does not extend it.
 *   C4. No file of a call remains once its answer is stored, because secrets are masked only there.
 */
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  ParleyError,
  type ClientToolSpec,
  type ConversationId,
  type ConversationState,
  type EventId,
} from '@parley/protocol'
import { writeDurably } from '../../lib/index.ts'
import type { ClientCalls, ClientResult } from '../../tools/index.ts'
import type { ConversationRecord } from '../record/record.ts'

/** Number of files that are kept; more calls are never open at once. */
const MAX_FILES = 400

export class ClientCallBoard {
  readonly #folderOf: (id: ConversationId) => string
  readonly #waiting = new Map<string, Waiter>()

  /** @param folderOf returns a conversation's own folder, which is created when first used */
  constructor(folderOf: (id: ConversationId) => string) {
    this.#folderOf = (id) => join(folderOf(id), 'client_calls')
  }

  /**
   * Takes the result of an open call (C1, C2). Results of one conversation are taken one after the other.
   * @throws ParleyError `conflict`.
   */
  async take(id: ConversationId, callId: EventId, result: ClientResult): Promise<void> {
    const dir = this.#folderOf(id)
    const waiter = this.#waiting.get(callId)
    // From here on the deadline does not apply: the result is going to be acknowledged.
    waiter?.hold()
    try {
      // The timer of a wait is exact; the stored deadline follows the clock, which may have been set meanwhile.
      const isLate = waiter?.isLate ?? hasPassed(await readJson(fileOf(dir, callId, 'time')))
      if (isLate) throw tooLate(callId)
      if ((await readResult(dir, callId)) !== null) throw answered(callId)
      await writeJson(dir, fileOf(dir, callId, 'result'), result)
    } catch (error) {
      waiter?.release()
      throw error
    }
    // A wait that begins meanwhile finds the result on disk, or is resolved here.
    this.#waiting.get(callId)?.resolve(result)
  }

  /** Returns the client calls of a conversation's agent. `withoutSlot` runs work without occupying a run slot. */
  of(id: ConversationId, lend: <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>): ClientCalls {
    const dir = this.#folderOf(id)
    return {
      known: (callId) => readResult(dir, callId),
      result: async (callId, timeoutMs, signal) => {
        signal.throwIfAborted()
        const begun = await readJson<Time>(fileOf(dir, callId, 'time'))
        // Never later than a call that begins now: after the clock was set back, the stored deadline is too far ahead.
        const deadline = Math.min(begun?.deadline ?? Number.POSITIVE_INFINITY, Date.now() + timeoutMs)
        if (begun?.deadline !== deadline) await writeJson(dir, fileOf(dir, callId, 'time'), { deadline })
        return lend(() => this.#wait(dir, callId, deadline, signal), signal)
      },
    }
  }

  /** Removes the files of a call whose answer is stored. */
  async forget(id: ConversationId, callId: EventId): Promise<void> {
    const dir = this.#folderOf(id)
    await rm(fileOf(dir, callId, 'time'), { force: true })
    await rm(fileOf(dir, callId, 'result'), { force: true })
  }

  async #wait(dir: string, callId: string, deadline: number, signal: AbortSignal): Promise<ClientResult | null> {
    const waiter = new Waiter(deadline)
    const onAbort = () => waiter.reject(signal.reason as Error)
    // From here on results resolve the waiter; earlier results are on disk.
    this.#waiting.set(callId, waiter)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      signal.throwIfAborted()
      return (await readResult(dir, callId)) ?? (await waiter.result)
    } finally {
      waiter.end()
      signal.removeEventListener('abort', onAbort)
      this.#waiting.delete(callId)
    }
  }
}

type Time = { deadline: number }
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
const fileOf = (dir: string, callId: string, what: 'time' | 'result'): string =>
  join(dir, `${callId.replaceAll(/[^\w-]/g, '_')}.${what}.json`)

const readResult = (dir: string, callId: string) => readJson<ClientResult>(fileOf(dir, callId, 'result'))

async function readJson<T>(path: string): Promise<T | null> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as T
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

async function writeJson(dir: string, path: string, value: unknown): Promise<void> {
  await writeDurably(path, JSON.stringify(value))
  const names = (await readdir(dir)).filter((name) => name.endsWith('.json')).toSorted()
  for (const name of names.slice(0, -MAX_FILES)) await rm(join(dir, name), { force: true })
}
