/**
 * Completion callbacks: reports the end of each run to the caller that started an automation. Sources: interface.md, Workspace
 * variants; agent-core.md 12.9, F64.
 *
 * Invariants
 *   A1. The begin and the end of a run are stored before anything is sent, so a killed process loses no callback.
 *   A2. Each run is reported once. If the answer is lost, the callback is repeated with the same `webhook-id`.
 *   A3. The status is `COMPLETED` only for a run that has finished.
 */
import type { Log } from '../observability/index.ts'
import { createHmac, randomUUID } from 'node:crypto'
import type { ConversationExecutionStatus, ConversationId } from '@parley/protocol'
import { operatorFetch } from '../egress/index.ts'
import { backoffMs, sleep, timeoutSignal, type Backoff } from '../lib/index.ts'
import type { CallbackStore } from '../storage/index.ts'
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
  /** Resumes the pending callbacks of an earlier process. `endOf` returns the end of a conversation's run; null: it continues. */
  recover(endOf: (id: ConversationId) => Promise<RunEnd | null>): Promise<void>
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
  oldFolder,
  log,
  backoff = BACKOFF,
  giveUpMs = GIVE_UP_MS,
}: CompletionsOptions): Completions {
  const closing = new AbortController()
  const runs = new Map<ConversationId, PendingCallback>()
  const delivering = new Set<Promise<void>>()

  const write = (owed: PendingCallback) =>
    store.put({ id: owed.id, conversation_id: owed.conversation_id, json: JSON.stringify(owed) })

  async function conclude(owed: PendingCallback, end: RunEnd): Promise<void> {
    const due = {
      ...owed,
      callback: callbackOf(owed.conversation_id, end, target.runId),
      due_at: new Date().toISOString(),
    }
    await write(due)
    startDelivery(due)
  }

  function startDelivery(owed: PendingCallback): void {
    const work = deliver(owed).catch((error: unknown) => {
      // The callback stays stored, and the next process resumes it.
      if (!closing.signal.aborted)
        log.error({ conversation_id: owed.conversation_id, err: error }, 'completion callback failed')
    })
    delivering.add(work)
    void work.finally(() => delivering.delete(work))
  }

  async function deliver(owed: PendingCallback): Promise<void> {
    const { conversation_id } = owed
    for (let attempt = 1; ; attempt++) {
      closing.signal.throwIfAborted()
      const refusal = await post(target, owed, closing.signal)
      if (refusal === null) return store.remove(owed.id)
      log.warn({ conversation_id, attempt, reason: refusal }, 'completion callback not accepted')
      if (Date.now() - Date.parse(owed.due_at ?? '') > giveUpMs) {
        log.error({ conversation_id, attempts: attempt }, 'completion callback given up')
        return store.park(owed.id)
      }
      await sleep(backoffMs(backoff, attempt), closing.signal)
    }
  }

  return {
    async began(conversation_id) {
      if (runs.has(conversation_id)) return
      const owed: PendingCallback = { id: randomUUID(), conversation_id, callback: null, due_at: null }
      runs.set(conversation_id, owed)
      await write(owed)
    },

    async ended(id, end) {
      const owed = runs.get(id)
      if (owed === undefined) return
      runs.delete(id)
      await conclude(owed, end)
    },

    async recover(endOf) {
      await takeOldCallbacks(oldFolder, store)
      for (const { json } of await store.owed()) {
        const owed = JSON.parse(json) as PendingCallback
        if (owed.callback !== null) {
          startDelivery(owed)
          continue
        }
        const end = await endOf(owed.conversation_id)
        if (end === null) runs.set(owed.conversation_id, owed)
        else await conclude(owed, end)
      }
    },

    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the server is closing'))
      await Promise.allSettled(delivering)
    },
  }
}

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
