/**
 * Completion callbacks: reports the end of each run to the caller that started an automation. Sources: interface.md, Workspace
 * variants; agent-core.md 12.9, F64.
 *
 * Invariants
 *   A1. The begin and the end of a run are stored before anything is sent, so a killed process loses no callback.
 *   A2. Each run is reported once. If the answer is lost, the callback is repeated with the same `webhook-id`.
 *   A3. The status is `COMPLETED` only for a run that has finished.
 *   A4. Of the nodes that share a store, one sends a callback: the one that the row names. Those of a node that has ended are taken by another
 *       one, and the callback of a run that moves to another node moves with it.
 */
import type { Log } from '../observability/index.ts'
import { createHmac, randomUUID } from 'node:crypto'
import type { ConversationExecutionStatus, ConversationId } from '@parley/protocol'
import { operatorFetch } from '../egress/index.ts'
import { backoffMs, sleep, timeoutSignal, type Backoff, isStoreUnavailable } from '../lib/index.ts'
import type { CallbackStore, NodeNumber, OwedCallback } from '../storage/index.ts'
import { takeOldCallbacks } from './old-callbacks.ts'

export type CallbackTarget = {
  url: string
  /** Bearer token; also the key of the signature. */
  apiKey: string | null
  /** Repeated in every callback. */
  runId: string | null
}

export type RunEnd = {
  execution_status: ConversationExecutionStatus
  /** Reason why the run did not finish. */
  error: string | null
  /** USD, of the whole conversation; null when unknown. */
  cost: number | null
}

/** Body of a callback. */
type Callback = {
  status: 'COMPLETED' | 'FAILED'
  execution_status: ConversationExecutionStatus
  conversation_id: ConversationId
  run_id?: string
  error?: string
  cost?: number
}

export type CompletionsOptions = {
  target: CallbackTarget
  store: CallbackStore
  /** The node that sends, and how it learns that another one may have ended. */
  coordination: { node: NodeNumber; onOrphans(listener: () => void): Disposable }
  /** Returns the end of a conversation's run that an earlier node did not store; null: it continues. */
  endOf: (id: ConversationId) => Promise<RunEnd | null>
  /** Folder in which version 0.1.0 kept the callbacks that were owed. */
  oldFolder: string
  log: Pick<Log, 'warn' | 'error'>
  backoff?: Backoff
  /** Milliseconds after which an undelivered callback is parked. */
  giveUpMs?: number
}

export interface Completions extends AsyncDisposable {
  /** Records that a run begins, or continues after a restart or an approval. */
  began(id: ConversationId): Promise<void>
  /** Records the end of the run that has begun, if there is one. Resolves when it is stored; delivery continues in the background. */
  ended(id: ConversationId, end: RunEnd): Promise<void>
  /** Takes the callbacks of nodes that have ended, now and whenever another one may have, until disposal. */
  recover(): Promise<void>
}

/** Milliseconds to wait for an answer. Source: agent-core.md 12.9. */
const ANSWER_MS = 10_000
const BACKOFF: Backoff = { baseMs: 1_000, maxMs: 5 * 60_000 }
const GIVE_UP_MS = 24 * 3600_000

/** The stored form of one run. `callback` is null while the run continues. */
type PendingCallback = { id: string; conversation_id: ConversationId; callback: Callback | null; due_at: string | null }

export function openCompletions({
  target,
  store,
  coordination,
  endOf,
  oldFolder,
  log,
  backoff = BACKOFF,
  giveUpMs = GIVE_UP_MS,
}: CompletionsOptions): Completions {
  const { node } = coordination
  const closing = new AbortController()
  const ends = new DisposableStack()
  /** Ids of the callbacks of runs that have begun here. */
  const runs = new Map<ConversationId, string>()
  const working = new Set<Promise<void>>()

  async function conclude(id: string, conversation_id: ConversationId, end: RunEnd): Promise<void> {
    const callback = callbackOf(conversation_id, end, target.runId)
    const due: PendingCallback = { id, conversation_id, callback, due_at: new Date().toISOString() }
    // Otherwise another node reports the run.
    if (await store.end(rowOf(due), node)) startDelivery(due)
  }

  /** The disposal waits for `work`. What fails stays stored, and a later node resumes it. */
  function inBackground(work: Promise<void>, onFailure: (error: unknown) => void): void {
    const caught = work.catch((error: unknown) => {
      if (!closing.signal.aborted) onFailure(error)
    })
    working.add(caught)
    void caught.finally(() => working.delete(caught))
  }

  const report = (conversation_id: ConversationId, work: Promise<void>): void =>
    inBackground(work, (err) => log.error({ conversation_id, err }, 'completion callback failed'))

  const startDelivery = (owed: PendingCallback): void => report(owed.conversation_id, deliver(owed))

  async function deliver(owed: PendingCallback): Promise<void> {
    const { conversation_id } = owed
    for (let attempt = 1; ; attempt++) {
      closing.signal.throwIfAborted()
      const refusal = await send(owed, attempt === 1)
      if (refusal === null) return
      log.warn({ conversation_id, attempt, reason: refusal }, 'completion callback not accepted')
      if (Date.now() - Date.parse(owed.due_at ?? '') > giveUpMs) {
        log.error({ conversation_id, attempts: attempt }, 'completion callback given up')
        return store.park(owed.id)
      }
      await sleep(backoffMs(backoff, attempt), closing.signal)
    }
  }

  /** Returns null when nothing is left to send here, otherwise the reason. */
  async function send(owed: PendingCallback, isFirst: boolean): Promise<string | null> {
    try {
      // While this node waited, another one may have taken the callback of a node that seemed to have ended.
      if (!isFirst && !(await store.isOf(owed.id, node))) return null
      const refusal = await post(target, owed, closing.signal)
      if (refusal === null) await store.remove(owed.id)
      return refusal
    } catch (error) {
      closing.signal.throwIfAborted()
      if (!isStoreUnavailable(error)) throw error
      return 'the store cannot be reached'
    }
  }

  async function resume({ json }: OwedCallback): Promise<void> {
    const owed = JSON.parse(json) as PendingCallback
    if (owed.callback !== null) return startDelivery(owed)
    const end = await endOf(owed.conversation_id)
    if (end !== null) await conclude(owed.id, owed.conversation_id, end)
  }

  // Repeated by the next sign that a node may have ended.
  const notTaken = (err: unknown): void => log.warn({ err }, 'completion callbacks not taken over')
  let taking: Promise<void> | null = null
  const take = (): Promise<void> => {
    const takeNow = async () => {
      for (const owed of await store.take(node)) report(owed.conversation_id, resume(owed))
    }
    return (taking ??= takeNow().finally(() => {
      taking = null
    }))
  }

  return {
    async began(conversation_id) {
      const opened: PendingCallback = { id: randomUUID(), conversation_id, callback: null, due_at: null }
      runs.set(conversation_id, await store.begin(rowOf(opened), node))
    },

    async ended(conversation_id, end) {
      // A run that began at another node, and ends without having continued here.
      const id = runs.get(conversation_id) ?? (await store.openOf(conversation_id))
      runs.delete(conversation_id)
      if (id !== null) await conclude(id, conversation_id, end)
    },

    async recover() {
      await takeOldCallbacks(oldFolder, store, node)
      await take()
      ends.use(coordination.onOrphans(() => inBackground(take(), notTaken)))
    },

    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the server is closing'))
      ends.dispose()
      while (working.size > 0) await Promise.allSettled(working)
    },
  }
}

const rowOf = (owed: PendingCallback): OwedCallback => ({
  id: owed.id,
  conversation_id: owed.conversation_id,
  is_open: owed.callback === null,
  json: JSON.stringify(owed),
})

function callbackOf(
  conversation_id: ConversationId,
  { execution_status, error, cost }: RunEnd,
  runId: string | null,
): Callback {
  return {
    status: execution_status === 'finished' ? 'COMPLETED' : 'FAILED',
    execution_status,
    conversation_id,
    ...(runId === null ? {} : { run_id: runId }),
    ...(error === null ? {} : { error }),
    ...(cost === null ? {} : { cost }),
  }
}

/** Returns null when the callback was accepted, otherwise the reason. */
async function post(
  { url, apiKey }: CallbackTarget,
  owed: PendingCallback,
  signal: AbortSignal,
): Promise<string | null> {
  const body = JSON.stringify(owed.callback)
  const timestamp = String(Math.floor(Date.now() / 1000))
  const headers: Record<string, string> = {
    'Content-Type': 'application/json',
    'webhook-id': owed.id,
    'webhook-timestamp': timestamp,
  }
  if (apiKey !== null) {
    headers['Authorization'] = `Bearer ${apiKey}`
    const mac = createHmac('sha256', apiKey).update(`${owed.id}.${timestamp}.${body}`).digest('base64')
    headers['webhook-signature'] = `v1,${mac}`
  }
  try {
    const limit = AbortSignal.any([signal, timeoutSignal(ANSWER_MS)])
    // A redirect would send result and signature to an address that is not configured.
    const response = await operatorFetch(url, { method: 'POST', headers, body, redirect: 'manual', signal: limit })
    await response.body?.cancel()
    return response.ok ? null : `answered ${response.status}`
  } catch (error) {
    signal.throwIfAborted()
    return error instanceof Error ? error.message : String(error)
  }
}
