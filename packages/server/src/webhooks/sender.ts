/**
 * Sends the due deliveries of one target. The store has the waiting deliveries and their times; this class has only the running
 * attempts. A lane is the sequence of notifications, or of batches, of one conversation.
 *
 * Invariants
 *   W1. A delivery is repeated until its end is recorded, so it is sent at least once, also after a kill.
 *   W2. At most one delivery of a lane is running; the store returns the next one only after the end of the previous.
 *   W3. The store is read only for a reason: a commit, the end of an attempt, or the time of the next one.
 *   W4. An attempt begins only while its sender leads the target (`SenderTerm`), and when its node may begin effects (`confirm`).
 */
import type { Log } from '../observability/index.ts'
import { hexId } from '@parley/protocol'
import { shownEvent } from '../secrets/index.ts'
import type { Delivery, DeliveryBody, OutboxStore, SenderTerm } from '../storage/index.ts'
import { post, TIMEOUT_MS } from './post.ts'
import { TargetAvailability } from './availability.ts'
import { classifyResponse, type DeliveryDecision, GIVE_UP_MS, MIN_FAILING_MS } from './retry.ts'
import { signatureHeaders } from './sign.ts'
import type { WebhookTarget } from './target.ts'

/** Maximum number of concurrent attempts per target. */
const MAX_CONCURRENT = 16
/** Bounds of what may wait for one target: deliveries, and bytes of notifications. */
const MAX_WAITING = 100_000
const MAX_WAITING_BYTES = 1024 * 1024 * 1024
/** Milliseconds before the next read after the store failed. */
const STORE_PAUSE_MS = 1000
/** Longest timer in milliseconds. Timers stop while a machine sleeps, so the clock is checked this often. */
const MAX_TIMER_MS = 60_000

export type SenderDeps = {
  target: WebhookTarget
  outbox: OutboxStore
  /** That of this sender. */
  term: SenderTerm
  /** Resolves when this node may begin an effect. */
  confirm: (signal: AbortSignal) => Promise<void>
  log: Pick<Log, 'warn' | 'error'>
  /** Called with deliveries that an attempt, or a bound of what may wait, has brought to this outcome. */
  onOutcome?: (outcome: 'delivered' | 'retried' | 'parked', count: number) => void
  /** Called when a batch of events was delivered or parked. */
  onBatchEnd: (id: Delivery['conversation_id']) => void
  timeoutMs?: number
  /** Milliseconds of a clock that is never set. Default: `performance.now`. */
  uptimeMs?: () => number
  /** Bounds for tests. */
  maxWaiting?: number
  maxWaitingBytes?: number
  /** Milliseconds before the next read after the store failed. Default: 1 s. */
  storePauseMs?: number
}

export class Sender implements AsyncDisposable {
  readonly #deps: SenderDeps
  readonly #closing = new AbortController()
  readonly #running = new Map<string, Promise<void>>()
  readonly #availability: TargetAvailability
  readonly #uptimeMs: () => number
  readonly #storePauseMs: number
  #scanning: Promise<void> | null = null
  #mustScan = false
  #timer: NodeJS.Timeout | undefined

  constructor(deps: SenderDeps) {
    this.#deps = deps
    this.#uptimeMs = deps.uptimeMs ?? (() => performance.now())
    this.#storePauseMs = deps.storePauseMs ?? STORE_PAUSE_MS
    this.#availability = new TargetAvailability(deps.target.retry_delay * 1000)
  }

  /** Reads the due deliveries and starts them. */
  wake(): void {
    this.#mustScan = true
    if (this.#scanning !== null || this.#closing.signal.aborted) return
    this.#scanning = this.#scan().finally(() => {
      this.#scanning = null
      if (this.#mustScan) this.wake()
    })
  }

  async #scan(): Promise<void> {
    const { outbox, target, log } = this.#deps
    clearTimeout(this.#timer)
    while (this.#mustScan && !this.#closing.signal.aborted) {
      this.#mustScan = false
      try {
        const now = await outbox.now()
        const at = now.toISOString()
        const freeSlots = () => this.#availability.freeSlots(this.#running.size, MAX_CONCURRENT, this.#uptimeMs())
        // Running deliveries are still due, so that MAX_CONCURRENT rows include a free one if there is any.
        const due = freeSlots() > 0 ? await outbox.due(target.base_url, at, MAX_CONCURRENT) : []
        for (const delivery of due) if (freeSlots() > 0) this.#start(delivery)
        const probeInMs = this.#availability.probeInMs(this.#uptimeMs())
        if (probeInMs !== null) {
          // The end of a running attempt wakes the sender.
          if (this.#running.size === 0) this.#wakeIn(probeInMs)
          continue
        }
        const next = await outbox.nextDue(target.base_url, at)
        if (next !== null) this.#wakeIn(Date.parse(next) - now.getTime())
      } catch (error) {
        log.error({ err: error, target: target.base_url }, 'webhook deliveries not read')
        this.#wakeIn(this.#storePauseMs)
      }
    }
  }

  #wakeIn(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#closing.signal.aborted) return
    this.#timer = setTimeout(() => this.wake(), Math.min(Math.max(ms, 1), MAX_TIMER_MS))
    this.#timer.unref()
  }

  #start(delivery: Delivery): void {
    if (this.#running.has(delivery.id)) return
    const attempt = this.#attempt(delivery).finally(() => {
      this.#running.delete(delivery.id)
    })
    const handled = attempt.then(
      (isBegun) => (isBegun ? this.wake() : this.#wakeIn(this.#storePauseMs)),
      (error: unknown) => {
        if (this.#closing.signal.aborted) return
        this.#deps.log.error({ err: error, delivery: delivery.id }, 'webhook delivery not recorded')
        this.#wakeIn(this.#storePauseMs)
      },
    )
    this.#running.set(delivery.id, handled)
  }

  /** False when the attempt did not begin (W4). */
  async #attempt(delivery: Delivery): Promise<boolean> {
    const { target, outbox, term, confirm, log, onBatchEnd, onOutcome, timeoutMs = TIMEOUT_MS } = this.#deps
    const { signal } = this.#closing
    await confirm(signal)
    const begun = await outbox.begin(delivery.id, term)
    if (begun.kind === 'refused') return false
    const beganMs = this.#uptimeMs()
    const { url, headers, text } = request(target, delivery, begun.body, begun.at)
    const response = begun.body === null ? null : await post(url, headers, text, timeoutMs, signal)
    const at = new Date(begun.at.getTime() + this.#uptimeMs() - beganMs)
    const isSent = response?.kind !== 'unreachable'
    if (response?.kind === 'unreachable') this.#availability.onUnreachable(this.#uptimeMs())
    if (response?.kind === 'response') this.#availability.onResponse()
    const first = delivery.first_attempt_at === null ? at.getTime() : Date.parse(delivery.first_attempt_at)
    const progress = {
      baseMs: target.retry_delay * 1000,
      attempts: delivery.attempts + 1,
      ageMs: at.getTime() - Date.parse(delivery.queued_at),
      sinceFirstMs: at.getTime() - first,
    }
    const decision: DeliveryDecision =
      response === null
        ? { status: 'parked', reason: 'what it carried is no longer stored' }
        : classifyResponse(response, progress)
    const last_status = response?.kind === 'response' ? response.status : null
    const outcome = { at: at.toISOString(), last_status, isSent, term, ...recordedOutcome(decision, at) }
    await outbox.record(delivery.id, outcome)
    onOutcome?.(decision.status === 'pending' ? 'retried' : decision.status, 1)
    if (decision.status === 'pending') {
      await this.#parkOld()
      return true
    }
    if (decision.status === 'parked') {
      const { id, conversation_id, topic } = delivery
      log.warn(
        { target: target.base_url, delivery: id, conversation_id, topic, reason: decision.reason },
        'webhook delivery parked',
      )
    }
    if (delivery.kind === 'events') onBatchEnd(delivery.conversation_id)
    return true
  }

  /** Parks the deliveries that are older than a day, once the target has been unreachable for a while. */
  async #parkOld(): Promise<void> {
    if (this.#availability.unreachableMs(this.#uptimeMs()) < MIN_FAILING_MS) return
    const queuedBefore = new Date((await this.#deps.outbox.now()).getTime() - GIVE_UP_MS).toISOString()
    await this.#park({ queuedBefore }, 'the target was unreachable; given up after a day')
  }

  /** Parks the oldest deliveries beyond the bounds of what may wait for one target. */
  async parkSurplus(): Promise<void> {
    const { maxWaiting = MAX_WAITING, maxWaitingBytes = MAX_WAITING_BYTES } = this.#deps
    const which = { atMost: maxWaiting, maxBytes: maxWaitingBytes }
    await this.#park(which, 'too many deliveries waited for the target')
  }

  async #park(which: Parameters<OutboxStore['park']>[1]['which'], reason: string): Promise<void> {
    const { outbox, target, log, onBatchEnd, onOutcome } = this.#deps
    let count = 0
    for (let isDone = false; !isDone && !this.#closing.signal.aborted;) {
      const except = [...this.#running.keys()]
      const at = (await outbox.now()).toISOString()
      const { parked, batches } = await outbox.park(target.base_url, { which, at, reason, except })
      for (const id of batches) onBatchEnd(id)
      count += parked
      isDone = parked === 0
    }
    if (count === 0) return
    onOutcome?.('parked', count)
    log.warn({ target: target.base_url, count, reason }, 'webhook deliveries parked')
    this.wake()
  }

  /** Aborts the running attempts. Their deliveries stay pending, and the next process sends them. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('closing'))
    clearTimeout(this.#timer)
    await this.#scanning
    await Promise.all(this.#running.values())
  }
}

function recordedOutcome(decision: DeliveryDecision, at: Date) {
  switch (decision.status) {
    case 'delivered':
      return { status: decision.status, last_error: null }
    case 'parked':
      return { status: decision.status, last_error: decision.reason }
    case 'pending': {
      const next_attempt_at = new Date(at.getTime() + decision.waitMs).toISOString()
      return { status: decision.status, last_error: decision.reason, next_attempt_at }
    }
  }
}

/** Paths of notifications whose body is not a conversation. */
const PATHS: Readonly<Record<string, string>> = { 'conversation.waiting': '/waiting' }

/** URL, headers and body of a delivery. Source: agent-server-wire.md 7; decisions.md, Where webhooks go. */
function request(
  target: WebhookTarget,
  { id, conversation_id, topic, sequence }: Delivery,
  body: DeliveryBody | null,
  now: Date,
) {
  const isBatch = body?.kind === 'events'
  const path = isBatch ? `/events/${hexId(conversation_id)}` : (PATHS[topic] ?? '/conversations')
  const text = isBatch ? JSON.stringify(body.events.map(({ event }) => shownEvent(event))) : (body?.payload ?? '')
  const headers = {
    ...lowerCaseNames(target.headers),
    'content-type': 'application/json',
    'x-parley-event': topic,
    'x-parley-sequence': String(sequence),
    ...(target.api_key === null ? {} : { 'x-session-api-key': target.api_key }),
    ...signatureHeaders(id, Math.floor(now.getTime() / 1000), text, target.secret),
  }
  return { url: target.base_url + path, headers, text }
}

/** Headers with lower-case names, so that those of Parley replace configured ones of the same name. */
const lowerCaseNames = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
