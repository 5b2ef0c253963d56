/**
 * Tells whoever started an automation how each run of a remote workspace has ended. Sources: seed: Workspace variants;
 * agent-core.md 12.9, F64.
 *
 * Invariants
 *   A1. A run is written down when it begins and when it ends, before anything is sent: a process that is killed owes what it owed.
 *   A2. Each run is told once. Should an answer get lost, it is told again under the same `webhook-id`.
 *   A3. `COMPLETED` is said of a run that has finished, and of no other.
 */
import { createHmac, randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConversationExecutionStatus, ConversationId } from '@parley/protocol'
import { backoffMs, sleep, type Backoff } from '../lib/index.ts'

export type CallbackTarget = {
  url: string
  /** Bearer token; also the key of the signature. */
  apiKey: string | null
  /** Repeated in every callback. */
  runId: string | null
}

export type RunEnd = {
  execution_status: ConversationExecutionStatus
  /** Why it did not finish. */
  error: string | null
  /** USD, of the whole conversation; null when it is not known. */
  cost: number | null
}

/** The body that is posted. */
export type Callback = {
  status: 'COMPLETED' | 'FAILED'
  execution_status: ConversationExecutionStatus
  conversation_id: ConversationId
  run_id?: string
  error?: string
  cost?: number
}

export type CompletionsOptions = {
  target: CallbackTarget
  /** Holds what is owed; made when first needed. */
  folder: string
  log: { warn(fields: object, message: string): void; error(fields: object, message: string): void }
  backoff?: Backoff
  /** Milliseconds after which a callback that nobody takes is set aside. */
  giveUpMs?: number
}

export interface Completions extends AsyncDisposable {
  /** A run begins, or goes on after a restart or an approval. */
  began(id: ConversationId): Promise<void>
  /** The run that has begun is over. Without one, nothing is owed. Resolves when it is written down; telling goes on by itself. */
  ended(id: ConversationId, end: RunEnd): Promise<void>
  /** Takes up what an earlier process left. `endOf` says how a conversation stands that began a run; null: it goes on. */
  recover(endOf: (id: ConversationId) => Promise<RunEnd | null>): Promise<void>
}

/** Milliseconds for one answer. Source: agent-core.md 12.9. */
const ANSWER_MS = 10_000
const BACKOFF: Backoff = { baseMs: 1_000, maxMs: 5 * 60_000 }
const GIVE_UP_MS = 24 * 3600_000

/** One run as it is written down. `callback` is null while it goes on. */
type Owed = { id: string; conversation_id: ConversationId; callback: Callback | null; due_at: string | null }

export function openCompletions({
  target,
  folder,
  log,
  backoff = BACKOFF,
  giveUpMs = GIVE_UP_MS,
}: CompletionsOptions): Completions {
  const closing = new AbortController()
  const runs = new Map<ConversationId, Owed>()
  const telling = new Set<Promise<void>>()
  const fileOf = ({ id }: Owed) => join(folder, `${id}.json`)

  async function write(owed: Owed): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const path = fileOf(owed)
    await writeFile(`${path}.new`, JSON.stringify(owed), { mode: 0o600, flush: true })
    await rename(`${path}.new`, path)
  }

  async function conclude(owed: Owed, end: RunEnd): Promise<void> {
    const due = {
      ...owed,
      callback: callbackOf(owed.conversation_id, end, target.runId),
      due_at: new Date().toISOString(),
    }
    await write(due)
    tell(due)
  }

  function tell(owed: Owed): void {
    const work = deliver(owed).catch((error: unknown) => {
      // What is not told stays written down, and the next process takes it up.
      if (!closing.signal.aborted)
        log.error({ conversation_id: owed.conversation_id, err: error }, 'a completion callback failed')
    })
    telling.add(work)
    void work.finally(() => telling.delete(work))
  }

  async function deliver(owed: Owed): Promise<void> {
    const { conversation_id } = owed
    for (let attempt = 1; ; attempt++) {
      closing.signal.throwIfAborted()
      const refusal = await post(target, owed, closing.signal)
      if (refusal === null) return rm(fileOf(owed), { force: true })
      log.warn({ conversation_id, attempt, reason: refusal }, 'a completion callback was not taken')
      if (Date.now() - Date.parse(owed.due_at ?? '') > giveUpMs) {
        log.error({ conversation_id, attempts: attempt }, 'a completion callback was given up')
        return rename(fileOf(owed), `${fileOf(owed)}.parked`)
      }
      await sleep(backoffMs(backoff, attempt), closing.signal)
    }
  }

  return {
    async began(conversation_id) {
      if (runs.has(conversation_id)) return
      const owed: Owed = { id: randomUUID(), conversation_id, callback: null, due_at: null }
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
      const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return []
        throw error
      })
      for (const name of names.filter((each) => each.endsWith('.json'))) {
        const owed = JSON.parse(await readFile(join(folder, name), 'utf8')) as Owed
        if (owed.callback !== null) {
          tell(owed)
          continue
        }
        const end = await endOf(owed.conversation_id)
        if (end === null) runs.set(owed.conversation_id, owed)
        else await conclude(owed, end)
      }
    },

    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the server is closing'))
      await Promise.allSettled(telling)
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

/** Null when it was taken, otherwise why not. */
async function post({ url, apiKey }: CallbackTarget, owed: Owed, signal: AbortSignal): Promise<string | null> {
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
    const limit = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
    // A redirect would carry result and signature to a place that nobody configured.
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal: limit })
    await response.body?.cancel()
    return response.ok ? null : `answered ${response.status}`
  } catch (error) {
    signal.throwIfAborted()
    return error instanceof Error ? error.message : String(error)
  }
}
